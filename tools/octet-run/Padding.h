//===- Padding.h - inputs that are smaller than a bucket ----*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_TOOLS_OCTET_RUN_PADDING_H
#define OCTET_TOOLS_OCTET_RUN_PADDING_H

#include "Runner.h"

namespace octet {

using Shape = llvm::ArrayRef<int64_t>;

/// Writes a row-major array of a shape, and the padding behind its ends, into an input.
void fillUp(const char *array, Shape shape, const octet_tensor &input, double padding, char *to);

/// Appends what of a row-major array of one shape lies within another.
void appendCorner(const char *array, Shape shape, Shape corner, int64_t elementBytes,
                  std::vector<char> &to);

/// What of a bucket's output counts for inputs of these shapes. An axis counts up to an input's
/// size if it is in every bucket as long as that input's axis, and all such axes have one size;
/// else as far as it goes.
std::vector<int64_t> getOutputShape(const Runner &runner, int32_t bucket, size_t output,
                                    llvm::ArrayRef<std::vector<int64_t>> shapes);

} // namespace octet

#endif // OCTET_TOOLS_OCTET_RUN_PADDING_H
