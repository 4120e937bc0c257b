//===- Bounds.h - the least and the largest number --------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers that are computed in the run, but cannot be any: exporters bound sizes and positions, and
// the bounds may be all that matters, or the same.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_IMPORT_ONNX_BOUNDS_H
#define OCTET_LIB_IMPORT_ONNX_BOUNDS_H

#include "Node.h"
#include "octet/Numerics/Arithmetic.h"

namespace octet::onnx_import {

using Number = numerics::HostIntegers::Number;

/// The least and the largest number that an element may be.
struct Bounds {
  Number low, high;
  bool isOne() const { return low == high; }
};

/// Of each element of a value; of real numbers that may be any, or NaN, nothing is known.
using ElementBounds = llvm::SmallVector<std::optional<Bounds>>;
using BoundsMap = llvm::DenseMap<mlir::Value, ElementBounds>;

/// The law of an element-wise op for one element of its operands, if it has one.
std::optional<Number> applyLaw(mlir::Operation *op, llvm::ArrayRef<Number> operands);
/// A constant of integers or f32 from numbers of the laws.
HostTensor makeTensor(ShapeRef shape, llvm::ArrayRef<Number> numbers, mlir::Type element);

/// The bounds of a value of few elements; `known` are those of others, to which it adds. `depth`
/// ops were followed to find it.
ElementBounds findBounds(mlir::Value value, BoundsMap &known, int64_t depth = 0);

/// The constant that a value of few elements is, whatever is given in the run.
std::optional<HostTensor> findOnlyValue(mlir::Value value);

} // namespace octet::onnx_import

#endif // OCTET_LIB_IMPORT_ONNX_BOUNDS_H
