//===- EmitReduction.h - code that reads strided tensors --------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_DIALECT_OCTET_OBSERVERS_EMITREDUCTION_H
#define OCTET_LIB_DIALECT_OCTET_OBSERVERS_EMITREDUCTION_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace octet {

struct StridedDim {
  int64_t size, stride;
};

/// A strided tensor as a flat memref of f32: element (i, j, ...) lies at i * stride_i + j *
/// stride_j + ...
struct FlatTensor {
  mlir::Value memory;
  llvm::SmallVector<StridedDim> dims; ///< by descending stride; neighbours that lie densely are one
  std::optional<StridedDim> channel;  ///< the dimension that was left out of `dims`
};

/// `data` without its shape. `channelAxis` < 0: all dimensions are in `dims`.
FlatTensor flatten(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value data,
                   int64_t channelAxis = -1);

using LoopBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
    mlir::OpBuilder &, mlir::Location, mlir::Value index, mlir::ValueRange carried)>;

/// Loops over `dims`; `body` gets the index of the element and the carried values and returns their
/// successors.
llvm::SmallVector<mlir::Value> emitLoops(mlir::OpBuilder &builder, mlir::Location loc,
                                         llvm::ArrayRef<StridedDim> dims, mlir::Value base,
                                         mlir::ValueRange carried, LoopBody body);

/// A reduction of vectors of values to a pair of vectors.
struct MinMax {
  mlir::Value min, max;
};

/// Largest power of two up to `size` and 16.
int64_t getLanes(int64_t size);

/// Whether infinite values take part (and a NaN wins), or only finite numbers count.
enum class Values { All, Finite };

/// The smallest and largest element of `tensor` over its `dims`, from element `base` on: two
/// scalars.
MinMax emitMinMax(mlir::OpBuilder &builder, mlir::Location loc, const FlatTensor &tensor,
                  mlir::Value base, Values values = Values::All);
/// The same for `lanes` neighbouring elements at a time: two vectors.
MinMax emitMinMaxOfLanes(mlir::OpBuilder &builder, mlir::Location loc, const FlatTensor &tensor,
                         mlir::Value base, int64_t lanes);

/// [N.stat.min_max] min(a, b) and max(a, b), where a NaN wins. A zero may come out with either
/// sign, also of what is computed from it by these two: emitPlusZero must be the last step before a
/// value is kept.
mlir::Value emitMin(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value a, mlir::Value b);
mlir::Value emitMax(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value a, mlir::Value b);
/// Negative zero becomes zero, everything else stays.
mlir::Value emitPlusZero(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x);

/// A constant of `type`, f32 or a vector of it, whose elements are `value`.
mlir::Value emitFloat(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type, float value);
mlir::Value emitIndex(mlir::OpBuilder &builder, mlir::Location loc, int64_t value);
/// The state as `count` elements, from byte `offset` on.
mlir::Value emitStateView(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value state,
                          mlir::Type element, int64_t count, int64_t offset = 0);
mlir::Value emitStateView(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value state,
                          mlir::Type element, int64_t count, mlir::Value offset);

} // namespace octet

#endif // OCTET_LIB_DIALECT_OCTET_OBSERVERS_EMITREDUCTION_H
