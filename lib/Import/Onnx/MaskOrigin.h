//===- MaskOrigin.h - what a mask was made of -------------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_IMPORT_ONNX_MASKORIGIN_H
#define OCTET_LIB_IMPORT_ONNX_MASKORIGIN_H

#include "Compose.h"

namespace octet::onnx_import {

/// The first value with the same elements, each of which `repeat` elements of a mask have, one
/// behind the other: exporters expand a mask of rows to one of elements, and compute it again.
struct MaskOrigin {
  mlir::Value mask;
  int64_t repeat = 1;
};
MaskOrigin findMaskOrigin(mlir::Value mask);
/// Along an axis, which slices of a value may have an element that is not 0, as far as its ops say.
std::optional<llvm::SmallVector<bool>> findPossible(mlir::Value value, int64_t axis,
                                                    int64_t depth = 0);
/// The value whose copies a value is along an axis, and their number.
MaskOrigin findRepeated(mlir::Value value, int64_t axis);

/// Rows along a dimension of a tensor, of which one truth value of the mask chooses `repeat`.
Entry makeElements(Masked masked, int64_t axis, int64_t repeat, Entry of);
/// Positions as such rows: those of all rows. Other entries stay as they are.
Entry listPositions(const Entry &entry);
/// Whether indices are the positions of all rows of a tensor of this shape, in order.
bool countsAll(const Entry &indices, ShapeRef data);

/// Sizes that were computed of the number of truth values that hold in `masked`: as constants of
/// which all hold, and of which one more does; nothing if they are other sizes.
std::optional<std::pair<HostTensor, HostTensor>>
readSizes(mlir::Value sizes, const Masked &masked,
          llvm::function_ref<HostTensorRef(mlir::Value)> getConstant);

/// The mask as one truth value for each row.
MaybeValue flattenMask(Node &node, const Masked &masked);

} // namespace octet::onnx_import

#endif // OCTET_LIB_IMPORT_ONNX_MASKORIGIN_H
