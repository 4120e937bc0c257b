//===- Equalize.cpp - equal ranges of weights in consecutive layers -------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// [N.equalize] With W1 the weights of an output channel and W2 those that read it, W1 / s and W2 *
// s compute the same; s = sqrt(range(W1) / range(W2)) makes both ranges their geometric mean. A
// layer in the middle of a chain has a part in two pairs, so that the pairs are repeated.
//
//===----------------------------------------------------------------------===//

#include "Scaling.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "octet/Pipelines/Passes.h"
#include "llvm/ADT/MapVector.h"
#include <cmath>

namespace octet {
#define GEN_PASS_DEF_EQUALIZEPASS
#include "octet/Pipelines/Passes.h.inc"
} // namespace octet

using namespace mlir;
using namespace octet;

/// Makes the ranges of each channel between the layers equal.
static void equalize(ScaledLayer &first, ScaledLayer &second) {
  constexpr double kLeastRange = 1e-9;
  SmallVector<double, 0> factors, inverse;
  for (auto [written, read] : llvm::zip_equal(first.getOutputRanges(), second.getInputRanges())) {
    double factor = std::sqrt(written / (read + kLeastRange));
    factors.push_back(factor > 0 && std::isfinite(factor) ? factor : 1);
    inverse.push_back(1 / factors.back());
  }
  first.scaleOutputs(inverse);
  second.scaleInputs(factors);
}

static double getChange(ArrayRef<double> before, ArrayRef<double> after) {
  double squares = 0;
  for (auto [a, b] : llvm::zip_equal(before, after))
    squares += (a - b) * (a - b);
  return std::sqrt(squares);
}

namespace {
/// See Passes.td.
struct Equalize : octet::impl::EqualizePassBase<Equalize> {
  using EqualizePassBase::EqualizePassBase;

  void runOnOperation() override {
    llvm::MapVector<Operation *, ScaledLayer> layers;
    getOperation().walk([&](nn::ProductOpInterface product) {
      if (auto layer = ScaledLayer::get(product))
        layers.insert({product, std::move(*layer)});
    });
    SmallVector<std::pair<ScaledLayer *, ScaledLayer *>> pairs;
    llvm::SetVector<ScaledLayer *> changed;
    for (auto &[op, layer] : layers) {
      auto found = layers.find(getOnlyReader(layer.getProduct()));
      if (found == layers.end())
        continue;
      pairs.push_back({&layer, &found->second});
      changed.insert(&layer);
      changed.insert(&found->second);
    }
    numPairs += pairs.size();
    for (int64_t i = 0; i < iterations; ++i) {
      double change = 0;
      std::vector<std::vector<double>> before;
      for (ScaledLayer *layer : changed)
        before.push_back(layer->getWeights().vec());
      for (auto [first, second] : pairs)
        equalize(*first, *second);
      for (auto [layer, weights] : llvm::zip_equal(changed, before))
        change += getChange(weights, layer->getWeights());
      if (change < threshold)
        break;
    }
    for (ScaledLayer *layer : changed)
      layer->write();
  }
};
} // namespace
