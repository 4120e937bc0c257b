//===- MixtureOfExperts.h - MoE and QMoE ------------------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_IMPORT_ONNX_MIXTUREOFEXPERTS_H
#define OCTET_LIB_IMPORT_ONNX_MIXTUREOFEXPERTS_H

#include "Compose.h"

namespace octet::onnx_import {

/// Each row of the input goes through the k experts with the highest scores; the results are
/// summed, weighted by the softmax of the scores. An expert is
///   W2 * activation(W1 * x + b1) + b2, or, gated, W2 * (activation(W1 * x + b1) * (W3 * x + b3)) +
///   b2
/// All experts are computed for all rows, as two products of all their matrices one below the
/// other; the weight of an expert that is not chosen is 0.
class MixtureImporter {
public:
  virtual ~MixtureImporter() = default;
  llvm::LogicalResult run();

protected:
  enum { kInput, kScores };
  /// Which inputs the matrices and biases of all experts are.
  struct Places {
    unsigned first, firstBias, second, secondBias, third, thirdBias;
  };
  MixtureImporter(Node &node, Places places)
      : node(node), places(places), activation(node.getString("activation_type", "relu")) {}

  /// The shape of the real numbers that input `i` holds, [experts, rows, columns].
  virtual Shape matrixShape(unsigned i) = 0;
  /// Rows of the matrices of input `i`, numbered through all experts; each row of the result is
  /// `perRow` of them, one behind the other.
  virtual MaybeValue join(unsigned i, llvm::ArrayRef<int64_t> rows, int64_t perRow) = 0;
  /// The experts' weights, [rows, experts], 0 for those that are not chosen.
  virtual MaybeValue weigh(mlir::Value scores, MaybeValue isChosen) = 0;
  virtual llvm::LogicalResult checkMore() { return llvm::success(); }
  /// The softmax of the scores of those that are chosen, 0 for others.
  MaybeValue softmaxOfChosen(mlir::Value scores, MaybeValue isChosen);

  Node &node;
  Places places;
  int64_t rows = 0, columns = 0, experts = 0, hidden = 0;

private:
  bool isGated() const { return activation == "swiglu"; }
  llvm::LogicalResult checkInputs();
  MaybeValue route();
  /// The first products and biases of all experts, [rows, experts * hidden]: those from `start` on,
  /// `step` apart.
  MaybeValue project(mlir::Value x, int64_t start, int64_t step);
  MaybeValue activate(mlir::Value rows);
  /// G * sigmoid(alpha * G) * (L + beta) of g and l clamped to `swiglu_limit`.
  MaybeValue gate(MaybeValue g, MaybeValue l);
  MaybeValue combine(mlir::Value hiddens, mlir::Value weights);

  llvm::StringRef activation;
};

} // namespace octet::onnx_import

#endif // OCTET_LIB_IMPORT_ONNX_MIXTUREOFEXPERTS_H
