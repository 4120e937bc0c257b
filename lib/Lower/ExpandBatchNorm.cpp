//===- ExpandBatchNorm.cpp - batch norm that no weights took --------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "octet/Dialect/NN/Constants.h"
#include "octet/Dialect/Octet/Octet.h"
#include "octet/Dialect/Octet/Origin.h"
#include "octet/Numerics/FloatOps.h"

using namespace mlir;
using namespace octet;

namespace octet {
#define GEN_PASS_DEF_EXPANDBATCHNORMPASS
#include "octet/Lower/Passes.h.inc"
} // namespace octet

static LogicalResult expand(nn::BatchNormOp op) {
  auto read = [](Value value) { return nn::getConstantValues<float>(GroupOp::lookThrough(value)); };
  auto scale = read(op.getScale()), bias = read(op.getBias()), mean = read(op.getMean()),
       variance = read(op.getVariance());
  if (failed(scale) || failed(bias) || failed(mean) || failed(variance))
    return op.emitOpError("has code generation for constant parameters only");
  SmallVector<float, 0> factors, shifts;
  double epsilon = op.getEpsilon().convertToFloat();
  for (size_t c = 0; c < scale->size(); ++c) {
    numerics::Affine channel =
        numerics::batchNorm((*scale)[c], (*bias)[c], (*mean)[c], (*variance)[c], epsilon);
    factors.push_back(channel.scale);
    shifts.push_back((float)channel.shift);
  }
  auto group = dyn_cast<GroupOp>(op->getParentOp());
  OriginPropagation origins(op);
  OpBuilder builder(group ? group : op.getOperation(), &origins);
  SmallVector<int64_t> shape(op.getResult().getType().getRank() - 1, 1);
  shape[0] = factors.size();
  auto type = RankedTensorType::get(shape, builder.getF32Type());
  auto make = [&](StringRef suffix, ArrayRef<float> values) {
    std::string name =
        (getSourceName(op) + suffix).str(); // nodes may share parameters, but no names
    Value constant = nn::createConstant<float>(builder, op.getLoc(), name, type, values);
    return group ? group.addInput(constant) : constant;
  };
  Value factor = make(".factor", factors), shift = make(".shift", shifts);
  builder.setInsertionPoint(op);
  auto fma = nn::FmaOp::create(builder, op.getLoc(), op.getResult().getType(), op.getInput(),
                               factor, shift);
  if (DecisionAttr decision = getDecision(op))
    fma->setAttr(kDecisionAttr, decision);
  op.getResult().replaceAllUsesWith(fma.getResult());
  op.erase();
  if (group)
    group.dropUnusedInputs();
  return success();
}

FailureOr<int64_t> lower::expandBatchNorms(func::FuncOp function) {
  SmallVector<nn::BatchNormOp> ops;
  function.walk([&](nn::BatchNormOp op) { ops.push_back(op); });
  for (nn::BatchNormOp op : ops)
    if (failed(expand(op)))
      return failure();
  function.walk([](nn::ConstantOp constant) {
    if (constant->use_empty())
      constant->erase();
  });
  return ops.size();
}

namespace {
struct ExpandBatchNorm : octet::impl::ExpandBatchNormPassBase<ExpandBatchNorm> {
  void runOnOperation() override {
    FailureOr<int64_t> count = lower::expandBatchNorms(getOperation());
    if (failed(count))
      return signalPassFailure();
    numExpanded += *count;
  }
};
} // namespace
