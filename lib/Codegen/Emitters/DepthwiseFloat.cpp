//===- DepthwiseFloat.cpp - depthwise convolutions of floats --------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DepthwiseShape.h"
#include "Epilogue.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

/// The sum over the kernel, its rows unrolled if they are few.
static Value sumTaps(KernelBuilder &b, const DepthwiseShape &s, Value input, Value weights,
                     Value base, Value channel, int64_t padded) {
  constexpr int64_t kMostUnrolled = 49;
  auto sumRow = [&](Value base, Value weight, Value acc) {
    for (int64_t column = 0; column < s.kernelColumns; ++column) {
      Value x = b.load(input, b.addIndex(base, column * s.columnDilation * s.inPixel));
      acc = b.fma(x, b.load(weights, b.addIndex(weight, column * padded)), acc);
    }
    return acc;
  };
  int64_t inRow = s.rowDilation * s.inRow, weightRow = s.kernelColumns * padded;
  if (s.kernelRows * s.kernelColumns > kMostUnrolled)
    return b.loop(b.index(0), b.index(s.kernelRows), 1, b.constF(0),
                  [&](Value row, ValueRange carried) {
                    return SmallVector<Value>{
                        sumRow(b.addIndex(base, b.mulIndex(row, inRow)),
                               b.addIndex(channel, b.mulIndex(row, weightRow)), carried[0])};
                  })[0];
  Value acc = b.constF(0);
  for (int64_t row = 0; row < s.kernelRows; ++row)
    acc = sumRow(b.addIndex(base, row * inRow), b.addIndex(channel, row * weightRow), acc);
  return acc;
}

/// Sixteen channels at a time, taps in the order of [N.conv].
template <>
bool codegen::emitProductAs<kernel::Kernels::depthwise_f32>(ProgramEmitter &emitter,
                                                            const FusedOp &fused) {
  std::optional<DepthwiseShape> shape = getDepthwiseShape(fused, emitter.getLevel());
  if (!shape)
    return false;
  const DepthwiseShape &s = *shape;
  Value in = fused.getOuter(fused.product->getOperand(0)),
        filter = fused.getOuter(fused.product->getOperand(1));
  auto values = nn::getConstantValues<float>(filter);
  auto bias = getBiasValues<float>(fused);
  if (failed(values) || failed(bias))
    return false;
  Signature signature(emitter);
  int64_t taps = s.kernelRows * s.kernelColumns, padded = llvm::alignTo(s.channels, 16);
  int input = signature.add(emitter.getBuffer(in));
  int weights = signature.addWeights<float>(
      "depthwise/" + getConstantKey(filter.getDefiningOp<nn::ConstantOp>()), [&] {
        std::vector<float> packed(taps * padded, 0.0f);
        for (int64_t c = 0; c < s.channels; ++c)
          for (int64_t tap = 0; tap < taps; ++tap)
            packed[tap * padded + c] = (*values)[c * taps + tap];
        return packed;
      });
  std::string biasKey = "start-none/" + std::to_string(padded / 16);
  if (!bias->empty()) {
    Value operand = fused.getOuter(fused.product->getOperand(2));
    biasKey = "start/" + getConstantKey(operand.getDefiningOp<nn::ConstantOp>());
  }
  bias->resize(padded, 0.0f);
  int initial = signature.addWeights<float>(
      biasKey, [&] { return std::vector<float>(bias->begin(), bias->end()); });
  Epilogue epilogue(fused, signature);
  int64_t lanes = std::min<int64_t>(16, s.channels);
  emitter.addStep(
      fused.op, kernel::Kernels::depthwise_f32, signature.arguments, s.images * s.rows,
      [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
        emitLoopNest(
            b, {s.images * s.rows, s.columns, (int64_t)llvm::divideCeil(s.channels, 16)}, begin,
            end, [&](ValueRange i) {
              auto [image, row] = b.divideIndex(i[0], s.rows, s.images);
              Value column = i[1], channel = b.getBlock(i[2], s.channels, 16);
              Value base = b.linearIndex(
                  {image, row, column, channel},
                  {s.inImage, s.rowStride * s.inRow, s.columnStride * s.inPixel, 1}, s.inBase);
              b.lanes = 16;
              Value acc = b.add(sumTaps(b, s, args[input], args[weights], base, channel, padded),
                                b.load(args[initial], channel));
              Value value = epilogue.emit(b, args, acc, channel, {image, channel, row, column}, 1);
              value = b.slice(value, 0, lanes);
              Value place = b.linearIndex({image, row, column, channel},
                                          {s.outImage, s.outRow, s.outPixel, 1}, s.outBase);
              vector::StoreOp::create(b, value, epilogue.getResult(args).memory, ValueRange{place});
              b.lanes = 1;
            });
      });
  return true;
}
