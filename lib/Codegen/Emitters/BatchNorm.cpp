//===- BatchNorm.cpp - batch norm that no weights took ---------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitters.h"
#include "octet/Dialect/NN/Constants.h"
#include "octet/Numerics/FloatOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

namespace {
/// y = fma(x, factor[c], shift[c]), as [N.batch_norm] has it.
struct Affine {
  std::vector<float> factor, shift;
};
} // namespace

static FailureOr<Affine> getAffine(nn::BatchNormOp op) {
  auto scale = nn::getConstantValues<float>(op.getScale()), bias = nn::getConstantValues<float>(op.getBias());
  auto mean = nn::getConstantValues<float>(op.getMean()), variance = nn::getConstantValues<float>(op.getVariance());
  if (failed(scale) || failed(bias) || failed(mean) || failed(variance))
    return failure();
  Affine affine;
  double epsilon = op.getEpsilon().convertToFloat();
  for (size_t c = 0; c < scale->size(); ++c) {
    numerics::Affine channel = numerics::batchNorm((*scale)[c], (*bias)[c], (*mean)[c], (*variance)[c], epsilon);
    affine.factor.push_back(channel.scale);
    affine.shift.push_back((float)channel.shift);
  }
  return affine;
}

LogicalResult codegen::emitBatchNorm(ProgramEmitter &emitter, nn::BatchNormOp op) {
  FailureOr<Affine> affine = getAffine(op);
  if (failed(affine))
    return op.emitOpError("has code generation for constant parameters only");
  Signature signature(emitter);
  int source = signature.addTensor(op.getInput()), target = signature.addTensor(op.getResult());
  std::string key = "batch-norm/" + llvm::utohexstr(llvm::bit_cast<uint32_t>(op.getEpsilon().convertToFloat()));
  for (Value parameter : op->getOperands().drop_front())
    key += "/" + getConstantKey(parameter.getDefiningOp<nn::ConstantOp>());
  int factor = signature.addWeights<float>(key + "/factor", [&] { return affine->factor; });
  int shift = signature.addWeights<float>(key + "/shift", [&] { return affine->shift; });
  ArrayRef<int64_t> shape = op.getResult().getType().getShape();
  // Rows first, where there are any: they are what the step's range splits.
  SmallVector<int64_t> dimensions, walked;
  if (shape.size() > 2)
    dimensions.push_back(2);
  dimensions.push_back(0);
  for (int64_t d = 3; d < (int64_t)shape.size(); ++d)
    dimensions.push_back(d);
  for (int64_t d : dimensions)
    walked.push_back(shape[d]);
  emitter.addStep(op, "batch_norm", signature.key, signature.arguments, walked[0],
                  [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
    TensorView x = signature.getTensor(source, args), y = signature.getTensor(target, args);
    bool hasLanes = !b.level.isScalar && x.strides.steps[1] == 1 && y.strides.steps[1] == 1 && shape[1] >= 16;
    emitLoopNest(b, walked, begin, end, [&](ValueRange i) {
      SmallVector<Value> at(shape.size());
      for (auto [d, index] : llvm::zip(dimensions, i))
        at[d] = index;
      b.loopOverBlocks(shape[1], hasLanes ? 16 : 1, [&](Value channel) {
        at[1] = channel;
        b.lanes = hasLanes ? 16 : 1;
        int64_t laneAxis = hasLanes ? 1 : -1;
        Value value = b.fma(loadReal(b, x, at, laneAxis), b.load(args[factor], channel), b.load(args[shift], channel));
        storeReal(b, value, y, at, laneAxis);
        b.lanes = 1;
      });
    });
  });
  return success();
}
