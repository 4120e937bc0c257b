//===- Angles.cpp - what stays float in front of sines and cosines --------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plan.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Support/Constants.h"

using namespace mlir;
using namespace octet;

/// How many times larger than an operand the result of an operator that passes it on may be.
static double getFactor(Operation *op) {
  double factor = 1;
  if (isa<nn::MulOp>(op))
    for (Value operand : op->getOperands())
      if (auto values = getConstantValues<float>(operand); succeeded(values))
        for (float value : *values)
          factor = std::max(factor, std::abs((double)value));
  return factor;
}

DenseSet<Operation *> octet::findAngleOps(Block &block) {
  // Of an angle that is so many times the value, its roundings are as many times as large: what
  // else reads the value does not make up for it.
  constexpr double kFar = 8;
  DenseMap<Operation *, double> factors; // of what is found, up to the sine
  auto passesOn = [](Operation *op) {
    return op->hasTrait<nn::Elementwise>() || op->hasTrait<nn::DataMovement>();
  };
  auto getAngleFactor = [&](Operation *user) -> double {
    if (isa<nn::SinOp, nn::CosOp>(user))
      return 1;
    return passesOn(user) ? factors.lookup(user) * getFactor(user) : 0;
  };
  for (Operation &op : llvm::reverse(block)) {
    bool isProduct = isa<nn::ProductOpInterface, GroupOp>(op);
    if ((!passesOn(&op) && !isProduct) || op.use_empty())
      continue;
    auto ofReaders = llvm::map_to_vector(op.getUsers(), getAngleFactor);
    double most = *llvm::max_element(ofReaders);
    bool isAngle = llvm::all_of(ofReaders, [](double factor) { return factor > 0; });
    if (isAngle || (!isProduct && most >= kFar))
      factors[&op] = most;
  }
  DenseSet<Operation *> found;
  for (auto [op, factor] : factors)
    found.insert(op);
  return found;
}
