//===- ConstantScatter.h - ScatterElements of constants ---------*- C++ -*- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_IMPORT_ONNX_CONSTANTSCATTER_H
#define OCTET_LIB_IMPORT_ONNX_CONSTANTSCATTER_H

#include "Node.h"

namespace octet::onnx_import {

/// What a ScatterElements along `axis` makes of constants, such as a sparse bank of filters; none
/// if an operand is no constant, an index is outside, or values are combined.
std::optional<HostTensor> scatterConstants(const Node &node, int64_t axis);

/// The same of a ScatterND: an assignment to slices, as exporters write it.
std::optional<HostTensor> scatterConstantRows(const Node &node);

} // namespace octet::onnx_import

#endif // OCTET_LIB_IMPORT_ONNX_CONSTANTSCATTER_H
