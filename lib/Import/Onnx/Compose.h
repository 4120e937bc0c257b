//===- Compose.h - what several operators are composed of -------*- C++ -*- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arithmetic that ONNX has in many operators, as nn ops. Values are those of `Node::compute`: after
// an error they are missing, and so is what follows.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_IMPORT_ONNX_COMPOSE_H
#define OCTET_LIB_IMPORT_ONNX_COMPOSE_H

#include "Node.h"

namespace octet::onnx_import {

using MaybeValue = llvm::FailureOr<mlir::Value>;

/// x to a constant power: by products, roots and quotients where these are exact, else nn.pow.
MaybeValue raiseTo(Node &node, MaybeValue x, float power);

enum class Reduction { mean, sum, max, min, product };

/// `x` reduced over `axes`, which are kept with size 1 or removed.
MaybeValue reduce(Node &node, MaybeValue x, Reduction reduction, ShapeRef axes,
                  bool keepDims = true);
/// log(sum(exp(x))) over `axes`, which are kept with size 1; no exponential of it overflows.
MaybeValue reduceLogSumExp(Node &node, MaybeValue x, ShapeRef axes);

/// What normalization over some axes computes, by the functions that ONNX gives; `inverse`: of the
/// deviation.
struct Normalized {
  MaybeValue mean, inverse, result;
};
/// (x - mean) * (1 / sqrt(variance + epsilon))
Normalized normalize(Node &node, MaybeValue x, ShapeRef axes, float epsilon);
/// x * (1 / sqrt(mean(x^2) + epsilon)); it has no mean.
Normalized normalizeByMeanSquare(Node &node, MaybeValue x, ShapeRef axes, float epsilon);

/// Truth values: whether two numbers are so.
MaybeValue compare(Node &node, nn::Predicate predicate, MaybeValue lhs, MaybeValue rhs);
/// Elements of `yes` where `condition` holds, else of `no`, which has elements of the same type.
MaybeValue select(Node &node, MaybeValue condition, MaybeValue yes, MaybeValue no);

/// `value` as i64, or an error if it holds floats.
MaybeValue toIndices(Node &node, MaybeValue value);
/// A constant of integers, named after the node's result and its role.
MaybeValue integerConstant(Node &node, llvm::StringRef role, ShapeRef shape,
                           std::vector<int64_t> values);
/// `indices` into `size` elements, counted from the beginning: those below 0 are not.
MaybeValue countFromBeginning(Node &node, MaybeValue indices, int64_t size);
/// Sets the result to ScatterND of the updates for which `mask`, of the shape of the tuples, holds.
llvm::LogicalResult scatterChosen(Node &node, mlir::Value mask);

/// [batch, length, heads * size] as [batch, heads, length, size], and back.
MaybeValue splitHeads(Node &node, MaybeValue rows, int64_t heads);
MaybeValue joinHeads(Node &node, MaybeValue heads);

/// An image whose channels move from its second to its last dimension, or back.
llvm::FailureOr<Entry> moveChannels(Node &node, const Entry &image, bool toLast);

/// `x` behind itself along `axis`, `count` times in all.
MaybeValue repeatAlong(Node &node, MaybeValue x, int64_t axis, int64_t count);

} // namespace octet::onnx_import

#endif // OCTET_LIB_IMPORT_ONNX_COMPOSE_H
