//===- Angles.cpp - what stays float in front of sines and cosines --------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plan.h"
#include "octet/Dialect/NN/NN.h"

using namespace mlir;
using namespace octet;

DenseSet<Operation *> octet::findAngleOps(Block &block) {
  DenseSet<Operation *> found;
  auto passesOn = [](Operation *op) {
    return op->hasTrait<nn::Elementwise>() || op->hasTrait<nn::DataMovement>();
  };
  auto readsAngle = [&](Operation *user) {
    return isa<nn::SinOp, nn::CosOp>(user) || (passesOn(user) && found.contains(user));
  };
  for (Operation &op : llvm::reverse(block))
    if ((passesOn(&op) || isa<nn::ProductOpInterface, GroupOp>(op)) && !op.use_empty() &&
        llvm::all_of(op.getUsers(), readsAngle))
      found.insert(&op);
  return found;
}
