//===- MergedViews.h - tensors as long rows ---------------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_EMITTERS_MERGEDVIEWS_H
#define OCTET_LIB_CODEGEN_EMITTERS_MERGEDVIEWS_H

#include "Emitters.h"

namespace octet::codegen {

/// Brings the dimensions of tensors of one shape into the order in which the elements of the first
/// lie, and makes one of neighbours between which there is no gap in any of them. The last one
/// grows until it has so many elements. There is one dimension at least.
void mergeDimensions(llvm::MutableArrayRef<TensorView> views,
                     int64_t enough = std::numeric_limits<int64_t>::max());

/// A shape whose last dimension is 1: an element for each row.
llvm::SmallVector<int64_t> getRows(llvm::ArrayRef<int64_t> shape);

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_EMITTERS_MERGEDVIEWS_H
