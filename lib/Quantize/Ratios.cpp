//===- Ratios.cpp - what stays float in front of logarithms and quotients -===//
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

/// Whether `op` adds up or averages numbers.
static bool isMean(Operation *op) {
  return isa<nn::ReduceSumOp, nn::ReduceMeanOp, nn::AvgPoolOp>(op);
}

/// Whether a spectrum is computed of such operators: sums and products, powers, magnitudes, moves.
static bool isOfSpectra(Operation *op) {
  return op->hasTrait<nn::DataMovement>() || isMean(op) ||
         isa<nn::ProductOpInterface, nn::AddOp, nn::SubOp, nn::MulOp, nn::DivOp, nn::FmaOp,
             nn::NegOp, nn::AbsOp, nn::SqrtOp, nn::PowOp, nn::BatchNormOp, nn::GatherOp, nn::CastOp,
             YieldOp>(op);
}

/// Whether `op` keeps values apart from zero, in front of a logarithm.
static bool isClamp(Operation *op) { return isa<nn::MaxOp, nn::MinOp, nn::ClipOp, nn::ReluOp>(op); }

/// Whether all operators of a group, or the only one, satisfy `holds`.
static bool allOf(Operation *op, function_ref<bool(Operation *)> holds) {
  auto group = dyn_cast<GroupOp>(op);
  return group ? llvm::all_of(group.getBody().getOps(),
                              [&](Operation &inner) { return holds(&inner); })
               : holds(op);
}

static bool hasProduct(Operation *op) {
  return !allOf(op, [](Operation *inner) { return !isa<nn::ProductOpInterface>(inner); });
}

/// What computes the operands of `ratio` from inputs of the network, if these are operators of
/// spectra alone, with clamps behind the last product at most; else nothing.
static SmallVector<Operation *> findFrontEnd(Operation *ratio) {
  /// A value and whether (1) a product lies between it and those given.
  SetVector<std::pair<Value, unsigned>> reached;
  for (Value value : ratio->getOperands())
    reached.insert({value, 0u});
  SmallVector<Operation *> found;
  for (size_t i = 0; i < reached.size(); ++i) {
    auto [value, isBehind] = reached[i];
    Operation *op = value.getDefiningOp();
    if (!op || isConstant(value))
      continue;
    auto isAllowed = [&, isBehind = isBehind](Operation *inner) {
      if (isMean(inner) && isa<nn::DivOp>(ratio))
        return false; // a normalization, of which no single number is small
      return isOfSpectra(inner) || (!isBehind && isClamp(inner));
    };
    if (!allOf(op, isAllowed))
      return {};
    found.push_back(op);
    for (Value operand : op->getOperands())
      reached.insert({operand, isBehind || hasProduct(op) ? 1u : 0u});
  }
  return found;
}

DenseSet<Operation *> octet::findRatioOps(Block &block) {
  DenseSet<Operation *> found;
  for (Operation &op : block)
    if (isa<nn::LogOp>(op) || (isa<nn::DivOp>(op) && !isConstant(op.getOperand(1))))
      found.insert_range(findFrontEnd(&op));
  return found;
}
