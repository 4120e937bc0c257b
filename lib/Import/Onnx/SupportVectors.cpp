//===- SupportVectors.cpp - SVMRegressor ----------------------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Classes.h"
#include "Operators.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

static MaybeValue makeConstant(Node &node, StringRef role, Shape shape, std::vector<float> values) {
  return node.materialize(HostTensor{node.nameConstant(role), shape, std::move(values)});
}

/// exp(-gamma * |x - v|^2) of each row x and each vector v.
static MaybeValue computeRadial(Node &node, Value x, MaybeValue vectors, float gamma) {
  int64_t rows = shapeOf(x)[0], columns = shapeOf(x)[1];
  auto difference =
      node.compute<nn::SubOp>(MaybeValue(node.reshape(x, {rows, 1, columns})), vectors);
  auto squares = reduce(node, node.compute<nn::MulOp>(difference, difference), Reduction::sum, {2},
                        /*keepDims=*/false);
  return node.compute<nn::ExpOp>(
      node.compute<nn::MulOp>(squares, node.number("negative_gamma", -gamma)));
}

/// The kernel of each row and each vector, [rows, vectors]: of the vectors' product with the row,
/// but for RBF. Its parameters are gamma, coef0 and the degree.
static MaybeValue computeKernel(Node &node, Value x, MaybeValue vectors) {
  StringRef type = node.getString("kernel_type", "LINEAR");
  std::vector<float> parameters = node.getFloatList("kernel_params");
  if (failed(vectors))
    return vectors;
  if (parameters.size() != 3 && type != "LINEAR")
    return node.invalid("has " + Twine(parameters.size()) + " parameters of a kernel");
  if (type == "RBF")
    return computeRadial(node, x, vectors, parameters[0]);
  auto product = node.create<nn::LinearOp>(x, *vectors, Value());
  if (type == "LINEAR")
    return product;
  auto moved =
      node.compute<nn::AddOp>(node.compute<nn::MulOp>(product, node.number("gamma", parameters[0])),
                              node.number("coef0", parameters[1]));
  return type == "POLY" ? raiseTo(node, moved, parameters[2]) : node.compute<nn::TanhOp>(moved);
}

/// The kernels of the support vectors, or without any the columns, times coefficients; plus rho.
LogicalResult onnx_import::importSVMRegressor(Node &node) {
  auto x = getFeatures(node);
  if (failed(x))
    return failure();
  std::vector<float> coefficients = node.getFloatList("coefficients"),
                     rho = node.getFloatList("rho"), vectors = node.getFloatList("support_vectors");
  int64_t columns = shapeOf(*x)[1], count = node.getInt("n_supports", 0);
  bool isLinear = count == 0;
  if (count < 0 || (int64_t)coefficients.size() != (isLinear ? columns : count) ||
      (int64_t)vectors.size() != count * columns || rho.size() != 1)
    return node.invalid("has " + Twine(coefficients.size()) + " coefficients and " +
                        Twine(vectors.size()) + " numbers in " + Twine(count) +
                        " support vectors for an input of shape " + printShape(node.shape(0)));
  int64_t width = coefficients.size();
  auto terms = isLinear ? x
                        : computeKernel(node, *x,
                                        makeConstant(node, "support_vectors", {count, columns},
                                                     std::move(vectors)));
  auto filter = makeConstant(node, "coefficients", {1, width}, std::move(coefficients)),
       bias = makeConstant(node, "rho", {1}, std::move(rho));
  if (failed(terms) || failed(filter) || failed(bias))
    return failure();
  auto result = node.create<nn::LinearOp>(*terms, *filter, *bias);
  if (!node.getInt("one_class", 0))
    return node.setResult(result);
  auto isInside = compare(node, nn::Predicate::less, node.number("zero", 0), result);
  return node.setResult(select(node, isInside, node.number("inside", 1), node.number("out", -1)));
}
