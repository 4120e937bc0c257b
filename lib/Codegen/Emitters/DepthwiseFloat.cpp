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

/// What sixteen channels of the result read of one pixel.
static Value loadChannels(KernelBuilder &b, const DepthwiseShape &s, Value input, Value at) {
  int64_t lanes = b.lanes;
  b.lanes = lanes / s.multiplier;
  Value loaded = b.load(input, at);
  b.lanes = lanes;
  return s.repeatChannels(b, loaded);
}

/// The sums over the kernel of so many pixels of a row, the kernel's rows unrolled if they are few.
static SmallVector<Value> sumTaps(KernelBuilder &b, const DepthwiseShape &s, int64_t pixels,
                                  Value input, Value weights, Value base, Value channel,
                                  int64_t padded) {
  constexpr int64_t kMostUnrolled = 80;
  auto sumRow = [&](Value base, Value weight, ValueRange carried) {
    SmallVector<Value> sums(carried);
    llvm::DenseMap<int64_t, Value> inputs; // one column is under several pixels' kernels
    for (int64_t column = 0; column < s.kernelColumns; ++column) {
      Value w = b.load(weights, b.addIndex(weight, column * padded));
      for (int64_t pixel = 0; pixel < pixels; ++pixel) {
        int64_t at = pixel * s.columnStride + column * s.columnDilation;
        Value &x = inputs[at];
        if (!x)
          x = loadChannels(b, s, input, b.addIndex(base, at * s.inPixel));
        sums[pixel] = b.fma(x, w, sums[pixel]);
      }
    }
    return sums;
  };
  int64_t inRow = s.rowDilation * s.inRow, weightRow = s.kernelColumns * padded;
  SmallVector<Value> sums(pixels, b.constF(0));
  if (s.kernelRows * s.kernelColumns * pixels > kMostUnrolled)
    return b.loop(b.index(0), b.index(s.kernelRows), 1, sums, [&](Value row, ValueRange carried) {
      return sumRow(b.addIndex(base, b.mulIndex(row, inRow)),
                    b.addIndex(channel, b.mulIndex(row, weightRow)), carried);
    });
  for (int64_t row = 0; row < s.kernelRows; ++row)
    sums = sumRow(b.addIndex(base, row * inRow), b.addIndex(channel, row * weightRow), sums);
  return sums;
}

/// Weights [tap][channel], with zeros behind the last channel.
static std::vector<float> packTaps(ArrayRef<float> values, int64_t channels, int64_t taps,
                                   int64_t padded) {
  std::vector<float> packed(taps * padded, 0.0f);
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t tap = 0; tap < taps; ++tap)
      packed[tap * padded + c] = values[c * taps + tap];
  return packed;
}

static std::string getBiasKey(const FusedOp &fused, int64_t padded) {
  if (fused.product->getNumOperands() < 3)
    return "start-none/" + std::to_string(padded / 16);
  Value bias = fused.getOuter(fused.product->getOperand(2));
  return "start/" + getConstantKey(bias.getDefiningOp<nn::ConstantOp>());
}

/// Sixteen channels of some pixels at a time, taps in the order of [N.conv].
template <>
bool codegen::emitProductAs<kernel::Kernels::depthwise_f32>(ProgramEmitter &emitter,
                                                            const FusedOp &fused) {
  std::optional<DepthwiseShape> shape = getDepthwiseShape(fused, emitter.getLevel());
  if (!shape)
    return false;
  const DepthwiseShape &s = *shape;
  Value in = fused.getInput(), filter = fused.getOuter(fused.product->getOperand(1));
  auto values = nn::getConstantValues<float>(filter);
  auto bias = getBiasValues<float>(fused);
  if (failed(values) || failed(bias))
    return false;
  Signature signature(emitter);
  int64_t taps = s.kernelRows * s.kernelColumns, padded = llvm::alignTo(s.channels, 16);
  int input = signature.add(emitter.getBuffer(in));
  int weights = signature.addWeights<float>(
      "depthwise/" + getConstantKey(filter.getDefiningOp<nn::ConstantOp>()),
      [&] { return packTaps(*values, s.channels, taps, padded); });
  std::string biasKey = getBiasKey(fused, padded);
  bias->resize(padded, 0.0f);
  int initial = signature.addWeights<float>(
      biasKey, [&] { return std::vector<float>(bias->begin(), bias->end()); });
  Epilogue epilogue(fused, signature);
  int64_t lanes = std::min<int64_t>(16, s.channels);
  int64_t pixels =
      std::min(s.columns, std::clamp<int64_t>(emitter.getLevel().accumulators / 2, 1, 8));
  emitter.addStep(
      fused.op, kernel::Kernels::depthwise_f32, signature.arguments, s.images * s.rows,
      [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
        emitLoopNest(
            b,
            {s.images * s.rows, (int64_t)llvm::divideCeil(s.columns, pixels),
             (int64_t)llvm::divideCeil(s.channels, 16)},
            begin, end, [&](ValueRange i) {
              auto [image, row] = b.divideIndex(i[0], s.rows, s.images);
              Value first = b.getBlock(i[1], s.columns, pixels),
                    channel = b.getBlock(i[2], s.channels, 16);
              Value base = b.linearIndex(
                  {image, row, first, s.getInput(b, channel)},
                  {s.inImage, s.rowStride * s.inRow, s.columnStride * s.inPixel, 1}, s.inBase);
              Value place = b.linearIndex({image, row, first, channel},
                                          {s.outImage, s.outRow, s.outPixel, 1}, s.outBase);
              b.lanes = 16;
              SmallVector<Value> sums =
                  sumTaps(b, s, pixels, args[input], args[weights], base, channel, padded);
              for (auto [pixel, sum] : llvm::enumerate(sums)) {
                Value acc = b.add(sum, b.load(args[initial], channel));
                Value value = epilogue.emit(b, args, acc, channel,
                                            {image, channel, row, b.addIndex(first, pixel)}, 1);
                vector::StoreOp::create(b, b.slice(value, 0, lanes),
                                        epilogue.getResult(args).memory,
                                        ValueRange{b.addIndex(place, pixel * s.outPixel)});
              }
              b.lanes = 1;
            });
      });
  return true;
}
