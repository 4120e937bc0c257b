//===- ChosenAxis.h - operators that compute row by row ---------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_IMPORT_ONNX_CHOSENAXIS_H
#define OCTET_LIB_IMPORT_ONNX_CHOSENAXIS_H

#include "Node.h"

namespace octet::onnx_import {

/// Along which dimension of its results a node has rows, if its inputs have them along one
/// dimension, one mask chooses them, and each row of the results depends on that of the inputs
/// alone. Inputs are constants, values, or rows that are chosen (Masked::elements).
std::optional<int64_t> findChosenAxis(const Node &node, llvm::ArrayRef<Entry> inputs);

/// The same of Expand and Reshape, whose sizes may follow from the number of rows: the dimension,
/// and how many rows there have one truth value of the mask.
struct ChosenRows {
  int64_t axis, repeat;
};
std::optional<ChosenRows> findExpandedRows(const Node &node, llvm::ArrayRef<Entry> inputs,
                                           const Masked &masked);
std::optional<ChosenRows> findReshapedRows(const Node &node, llvm::ArrayRef<Entry> inputs,
                                           const Masked &masked);

} // namespace octet::onnx_import

#endif // OCTET_LIB_IMPORT_ONNX_CHOSENAXIS_H
