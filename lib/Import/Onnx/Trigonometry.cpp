//===- Trigonometry.cpp - circular and hyperbolic functions ------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compose.h"
#include "Operators.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

/// sin(x) / cos(x)
LogicalResult onnx_import::importTan(Node &node) {
  auto x = node.value(0);
  return node.setSmallComputed(
      node.compute<nn::DivOp>(node.compute<nn::SinOp>(x), node.compute<nn::CosOp>(x)));
}

//===----------------------------------------------------------------------===//
// Inverse circular functions
//===----------------------------------------------------------------------===//

/// asin(x) as atan(x / sqrt((1 - x) * (1 + x))), whose factors keep what is left near 1.
static MaybeValue getAsin(Node &node, MaybeValue x) {
  auto one = node.number("one", 1);
  auto square =
      node.compute<nn::MulOp>(node.compute<nn::SubOp>(one, x), node.compute<nn::AddOp>(one, x));
  return node.compute<nn::AtanOp>(node.compute<nn::DivOp>(x, node.compute<nn::SqrtOp>(square)));
}

LogicalResult onnx_import::importAsin(Node &node) {
  return node.setSmallComputed(getAsin(node, node.value(0)));
}

/// pi / 2 - asin(x)
LogicalResult onnx_import::importAcos(Node &node) {
  return node.setSmallComputed(node.compute<nn::SubOp>(node.number("right_angle", 1.57079632679f),
                                                       getAsin(node, node.value(0))));
}

//===----------------------------------------------------------------------===//
// Hyperbolic functions
//===----------------------------------------------------------------------===//

/// exp(x) / 2 as the product of two roots, which overflows only where the result does.
static MaybeValue getHalfExp(Node &node, MaybeValue x, MaybeValue half) {
  auto root = node.compute<nn::ExpOp>(node.compute<nn::MulOp>(x, half));
  return node.compute<nn::MulOp>(node.compute<nn::MulOp>(root, half), root);
}

/// exp(x) / 2 plus or minus exp(-x) / 2.
template <typename OpTy> static LogicalResult importHyperbolic(Node &node) {
  auto x = node.value(0), half = node.number("half", 0.5f);
  return node.setSmallComputed(node.compute<OpTy>(
      getHalfExp(node, x, half), getHalfExp(node, node.compute<nn::NegOp>(x), half)));
}

LogicalResult onnx_import::importSinh(Node &node) { return importHyperbolic<nn::SubOp>(node); }
LogicalResult onnx_import::importCosh(Node &node) { return importHyperbolic<nn::AddOp>(node); }

/// sign(x) * log(|x| + sqrt(x^2 + 1))
LogicalResult onnx_import::importAsinh(Node &node) {
  auto x = node.value(0);
  auto square = node.compute<nn::AddOp>(node.compute<nn::MulOp>(x, x), node.number("one", 1));
  auto sum = node.compute<nn::AddOp>(node.compute<nn::AbsOp>(x), node.compute<nn::SqrtOp>(square));
  return node.setSmallComputed(
      node.compute<nn::MulOp>(node.compute<nn::SignOp>(x), node.compute<nn::LogOp>(sum)));
}

/// log(x + sqrt((x - 1) * (x + 1)))
LogicalResult onnx_import::importAcosh(Node &node) {
  auto x = node.value(0), one = node.number("one", 1);
  auto square =
      node.compute<nn::MulOp>(node.compute<nn::SubOp>(x, one), node.compute<nn::AddOp>(x, one));
  return node.setSmallComputed(
      node.compute<nn::LogOp>(node.compute<nn::AddOp>(x, node.compute<nn::SqrtOp>(square))));
}

/// log((1 + x) / (1 - x)) / 2
LogicalResult onnx_import::importAtanh(Node &node) {
  auto x = node.value(0), one = node.number("one", 1);
  auto ratio =
      node.compute<nn::DivOp>(node.compute<nn::AddOp>(one, x), node.compute<nn::SubOp>(one, x));
  return node.setSmallComputed(
      node.compute<nn::MulOp>(node.compute<nn::LogOp>(ratio), node.number("half", 0.5f)));
}
