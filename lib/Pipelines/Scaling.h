//===- Scaling.h - factors between the channels of layers -------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the equalizations share: layers of a float network whose weights are constants, and which of
// them a factor for each channel can move between.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_PIPELINES_SCALING_H
#define OCTET_LIB_PIPELINES_SCALING_H

#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/Octet/Octet.h"
#include <optional>

namespace octet {

/// The operand behind one of an operator in groups: that of the outermost group.
mlir::OpOperand &getOuterOperand(mlir::OpOperand &operand);

/// A convolution or linear layer with its weights and bias in f64, which scale() changes and
/// write() writes back.
class ScaledLayer {
public:
  /// Nothing if the weights or the bias are no constants of f32.
  static std::optional<ScaledLayer> get(nn::ProductOpInterface product);

  nn::ProductOpInterface getProduct() const { return product; }
  int64_t getNumInputs() const { return numInputs; }
  int64_t getNumOutputs() const { return numOutputs; }
  llvm::ArrayRef<double> getWeights() const { return weights; }

  /// The largest minus the least of the weights of each output channel, and of those that read each
  /// input channel.
  llvm::SmallVector<double, 0> getOutputRanges() const;
  llvm::SmallVector<double, 0> getInputRanges() const;

  /// Multiplies results, or weights that read an input channel, by its factor.
  void scaleOutputs(llvm::ArrayRef<double> factors);
  void scaleInputs(llvm::ArrayRef<double> factors);

  /// Gives the operator constants of the values as f32.
  void write();

private:
  void
  forEachWeight(llvm::function_ref<void(int64_t index, int64_t output, int64_t input)> use) const;

  nn::ProductOpInterface product;
  int64_t numInputs, numOutputs;
  llvm::SmallVector<double, 0> weights, bias; ///< an empty bias: none
};

/// What an operator that computes with one element of its only operand makes of it, by its law;
/// nothing if `op` is none.
std::optional<float> computeElement(mlir::Operation *op, float element);

/// The layer that alone reads the result of `product`, and whose result is multiplied by s if that
/// is; null if there is none.
nn::ProductOpInterface getOnlyReader(nn::ProductOpInterface product);

} // namespace octet

#endif // OCTET_LIB_PIPELINES_SCALING_H
