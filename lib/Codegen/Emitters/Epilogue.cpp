//===- Epilogue.cpp - what happens to an accumulator ----------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Epilogue.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

static QuantParams paramsOf(Value value) {
  return getQuantParams(cast<quant::QuantizedType>(cast<RankedTensorType>(value.getType()).getElementType()));
}

static float at(ArrayRef<float> values, int64_t i) { return values[values.size() == 1 ? 0 : i]; }

SmallVector<float> codegen::getAccumulatorScales(Operation *root) {
  QuantParams input = paramsOf(root->getOperand(0)), filter = paramsOf(root->getOperand(1));
  auto type = cast<RankedTensorType>(root->getOperand(1).getType());
  int64_t outputs = type.getDimSize(0);
  // A scale per input channel occurs with depthwise convolution only: output channel o reads channel o / multiplier.
  int64_t perInput = input.axis < 0 ? outputs : outputs / (int64_t)input.scales.size();
  SmallVector<float> scales;
  for (int64_t o = 0; o < outputs; ++o)
    scales.push_back(at(input.scales, o / perInput) * at(filter.scales, o));
  return scales;
}

static std::string keyOf(StringRef what, ArrayRef<float> values) {
  std::string key = what.str();
  for (float value : values)
    key += "," + llvm::utohexstr(llvm::bit_cast<uint32_t>(value));
  return key;
}

static int addFloats(Signature &signature, StringRef what, ArrayRef<float> values) {
  // Padded to whole vectors: the last lanes of a block of channels may lie behind the last channel.
  std::vector<float> padded(values.begin(), values.end());
  padded.resize(llvm::alignTo(padded.size(), 16), 0.0f);
  return signature.addWeights<float>(keyOf(what, values), [&] { return padded; });
}

Value Epilogue::getResidual() const {
  Value sum = fused.yielded;
  auto add = sum.getDefiningOp<nn::AddOp>();
  if (!add || fused.body.size() > 2)
    return {};
  Value rootResult = fused.root->getResult(0);
  Value other = add.getLhs() == rootResult ? add.getRhs() : add.getRhs() == rootResult ? add.getLhs() : Value();
  auto dequantize = other ? other.getDefiningOp<DequantizeOp>() : DequantizeOp();
  if (!dequantize || !isa<BlockArgument>(dequantize.getInput()))
    return {};
  Value outer = fused.getOuter(dequantize.getInput());
  bool sameShape = cast<RankedTensorType>(outer.getType()).getShape() ==
                   cast<RankedTensorType>(fused.getResult().getType()).getShape();
  return sameShape ? outer : Value();
}

Epilogue::Form Epilogue::chooseForm() const {
  if (!isQuantized(fused.root->getOperand(0).getType()))
    return Form::floats;
  if (!resultIsQuantized)
    return Form::general;
  if (fused.body.empty())
    return Form::requantize;
  return getResidual() ? Form::residual : Form::general;
}

Epilogue::Epilogue(const FusedOp &fused, Signature &signature)
    : fused(fused), signature(signature), resultIsQuantized(isQuantized(fused.getResult().getType())) {
  form = chooseForm();
  auto type = cast<RankedTensorType>(fused.getResult().getType());
  channelAxis = isa<nn::ConvOp>(fused.root) ? 1 : type.getRank() - 1;
  result = signature.addTensor(fused.getResult());
  signature.addKey("epilogue", (int)form, form == Form::general || form == Form::floats ? fused.describeBody() : "");
  if (form != Form::floats) {
    SmallVector<float> scales = getAccumulatorScales(fused.root);
    if (form != Form::general) {
      QuantParams out = paramsOf(fused.getResult());
      for (auto [c, scale] : llvm::enumerate(scales))
        scale = scale / at(out.scales, c);
      if (form == Form::residual) {
        QuantParams skip = paramsOf(getResidual());
        SmallVector<float> factors;
        for (size_t c = 0; c < std::max(skip.scales.size(), out.scales.size()); ++c)
          factors.push_back(at(skip.scales, c) / at(out.scales, c));
        residual = signature.addTensor(getResidual());
        residualMultiplier = factors.size() == 1
                                 ? signature.addWeights<float>(keyOf("residual", factors),
                                                               [&] { return std::vector<float>(1, factors[0]); })
                                 : addFloats(signature, "residual", factors);
        signature.addKey("factors", factors.size() > 1);
      }
    }
    multiplier = addFloats(signature, "multiplier", scales);
  }
  if (form == Form::general || form == Form::floats)
    for (Value input : fused.getBodyInputs())
      inputs.push_back({input, signature.addTensor(fused.getOuter(input))});
}

Value Epilogue::emitClamped(KernelBuilder &b, ValueRange args, Value scaled, ValueRange indices, int64_t laneAxis) const {
  TensorView view = signature.getTensor(result, args);
  Value zeroPoint = loadParameter(b, view.zeroPoints, kZeroPoints, view.axis, indices, laneAxis);
  Value low = b.loadSplat(view.zeroPoints, b.index(kLow)), high = b.loadSplat(view.zeroPoints, b.index(kHigh));
  return roundAndClamp(b, scaled, low, high, zeroPoint);
}

Value Epilogue::emit(KernelBuilder &b, ValueRange args, Value acc, ValueRange indices, int64_t laneAxis) const {
  TensorView view = signature.getTensor(result, args);
  Value factor = multiplier < 0 ? Value()
                                : loadParameter(b, signature.getValue(multiplier, args), 0, channelAxis, indices, laneAxis);
  if (form == Form::requantize)
    return emitClamped(b, args, b.mul(b.toFloat(acc), factor), indices, laneAxis);
  if (form == Form::residual) {
    TensorView skip = signature.getTensor(residual, args);
    Value zeroPoint = loadParameter(b, skip.zeroPoints, kZeroPoints, skip.axis, indices, laneAxis);
    Value centred = b.toFloat(b.sub(loadRaw(b, skip, indices, laneAxis), zeroPoint));
    Value block = signature.getValue(residualMultiplier, args);
    bool perChannel = cast<MemRefType>(block.getType()).getNumElements() > 1;
    Value skipFactor = loadParameter(b, block, 0, perChannel ? channelAxis : -1, indices, laneAxis);
    return emitClamped(b, args, b.fma(b.toFloat(acc), factor, b.mul(centred, skipFactor)), indices, laneAxis);
  }
  llvm::DenseMap<Value, Value> known;
  known[fused.root->getResult(0)] = form == Form::floats ? acc : b.mul(b.toFloat(acc), factor);
  for (auto [value, number] : inputs) {
    TensorView input = signature.getTensor(number, args);
    alignView(input, view.shape());
    known[value] = loadReal(b, input, indices, laneAxis);
  }
  Value real = emitBody(b, fused, std::move(known));
  if (!resultIsQuantized)
    return real;
  Value scale = loadParameter(b, view.scales, 0, view.axis, indices, laneAxis);
  return emitClamped(b, args, b.div(real, scale), indices, laneAxis);
}

void Epilogue::emitAndStore(KernelBuilder &b, ValueRange args, Value acc, ValueRange indices, int64_t laneAxis) const {
  storeRaw(b, emit(b, args, acc, indices, laneAxis), signature.getTensor(result, args), indices);
}
