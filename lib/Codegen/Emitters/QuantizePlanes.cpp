//===- QuantizePlanes.cpp - float planes to interleaved bytes -------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A network input is dense NCHW; what reads it wants NHWC bytes. Sixteen pixels of up to four
// planes at a time: each plane's values are quantized in lanes and shifted to their byte of the
// pixel's lane, or, where values are rounded to i16, those of two planes are joined.
//
//===----------------------------------------------------------------------===//

#include "DynamicScale.h"
#include "EpilogueBounds.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

namespace {
/// Pixels in rows of at least sixteen.
struct Planes {
  int64_t rows,
      pixels; ///< rows of side-by-side pixels of an image, in the source and in the result
  int64_t outRow, outPixel, outBase;
};
} // namespace

static std::optional<Planes> getPlanes(RankedTensorType in, RankedTensorType out) {
  nn::LayoutAttr layout = getLayout(out);
  if (!layout || getLayout(in) || in.getRank() != 4 || layout.getChannels() % 4 || !isByte(out))
    return std::nullopt;
  Strides y = getStrides(out);
  int64_t height = in.getDimSize(2), width = in.getDimSize(3);
  if (!hasBorder(out) && height * width >= 16)
    return Planes{1, height * width, y.steps[2], y.steps[3], y.offset};
  if (width >= 16)
    return Planes{height, width, y.steps[2], y.steps[3], y.offset};
  return std::nullopt;
}

namespace {
/// Joins the values of four channels, one after the other: in lanes of i32, or, where values are
/// rounded to i16, in two vectors of these, which are interleaved.
class FourChannels {
public:
  FourChannels(KernelBuilder &b, bool isSigned)
      : b(b), isSigned(isSigned), size(b.level.convertsByAdding ? 2 : 4), parts(4 / size),
        type(VectorType::get({16}, b.getIntegerType(8 * size))) {}

  void add(Value i32) {
    Value value = size == 4 ? i32 : arith::TruncIOp::create(b, type, i32).getResult();
    Value &part = parts[count / size];
    if (size == 2) {
      part = part ? joinLowBytes(part, value) : value;
    } else {
      if (isSigned)
        value = arith::AndIOp::create(b, value, constant(255));
      if (int64_t bits = 8 * (count % size))
        value = arith::ShLIOp::create(b, value, constant(bits));
      part = part ? arith::OrIOp::create(b, part, value) : value;
    }
    ++count;
  }
  /// The bytes of sixteen pixels.
  Value getBytes() const {
    if (size == 4)
      return b.bitcast(parts[0], b.getI8Type());
    SmallVector<int64_t> order;
    for (int64_t pixel = 0; pixel < 16; ++pixel)
      order.append({pixel, 16 + pixel});
    Value second = parts[1] ? parts[1] : constant(0);
    return b.bitcast(vector::ShuffleOp::create(b, parts[0], second, order), b.getI8Type());
  }

private:
  /// The low bytes of two vectors of i16 in turn: one instruction.
  Value joinLowBytes(Value first, Value second) {
    SmallVector<int64_t> order;
    for (int64_t byte = 0; byte < 32; byte += 2)
      order.append({byte, 32 + byte});
    return b.bitcast(vector::ShuffleOp::create(b, b.bitcast(first, b.getI8Type()),
                                               b.bitcast(second, b.getI8Type()), order),
                     b.getI16Type());
  }
  Value constant(int64_t value) const {
    auto element = b.getIntegerAttr(type.getElementType(), value);
    return arith::ConstantOp::create(b, DenseElementsAttr::get(type, (Attribute)element));
  }

  KernelBuilder &b;
  bool isSigned;
  int64_t size; ///< bytes of an element
  SmallVector<Value> parts;
  VectorType type;
  int64_t count = 0;
};
} // namespace

namespace {
/// [N.quantize] of sixteen real values of a channel.
using QuantizeChannelFn =
    llvm::function_ref<Value(Value real, const TensorView &y, int64_t channel)>;

/// The step that quantizes planes.
class PlanesStep {
public:
  PlanesStep(ProgramEmitter &emitter, Operation *op)
      : emitter(emitter), op(op), signature(emitter),
        source(signature.addTensor(op->getOperand(0))),
        target(signature.addTensor(op->getResult(0))), in(getTensorType(op->getOperand(0))),
        out(getTensorType(op->getResult(0))), planes(*getPlanes(in, out)) {}

  /// `emitPart` emits the loops, once or more, with a way to quantize.
  void emit(llvm::function_ref<void(KernelBuilder &b, ValueRange args,
                                    llvm::function_ref<void(QuantizeChannelFn)> emitLoops)>
                emitPart);

  Signature &getSignature() { return signature; }

private:
  /// Sixteen pixels of the channels from `channel`: four bytes each.
  Value quantizeFour(KernelBuilder &b, const TensorView &x, const TensorView &y, int64_t channel,
                     Value pixel, QuantizeChannelFn quantizeReal) const;
  void emitBlock(KernelBuilder &b, ValueRange args, Value image, Value row, Value i,
                 QuantizeChannelFn quantizeReal) const;

  ProgramEmitter &emitter;
  Operation *op;
  Signature signature;
  int source, target;
  RankedTensorType in, out;
  Planes planes;
};
} // namespace

Value PlanesStep::quantizeFour(KernelBuilder &b, const TensorView &x, const TensorView &y,
                               int64_t channel, Value pixel, QuantizeChannelFn quantizeReal) const {
  FourChannels joined(b, isSigned(y.type));
  for (int64_t i = channel; i < std::min(channel + 4, x.shape()[1]); ++i) {
    Value real = b.load(x.memory, b.addIndex(pixel, i * x.strides.steps[1]));
    joined.add(quantizeReal(real, y, i));
  }
  return joined.getBytes();
}

void PlanesStep::emitBlock(KernelBuilder &b, ValueRange args, Value image, Value row, Value i,
                           QuantizeChannelFn quantizeReal) const {
  TensorView x = signature.getTensor(source, args), y = signature.getTensor(target, args);
  b.lanes = 16;
  Value pixel = b.getBlock(i, planes.pixels, 16);
  Value from = b.addIndex(b.mulIndex(row, planes.pixels), pixel);
  Value to = b.linearIndex({row, pixel}, {planes.outRow, planes.outPixel}, planes.outBase);
  if (x.shape()[0] > 1) {
    from = b.addIndex(from, b.mulIndex(image, x.strides.steps[0]));
    to = b.addIndex(to, b.mulIndex(image, y.strides.steps[0]));
  }
  int64_t pitch = getLayout(out).getChannels();
  for (int64_t channel = 0; channel < x.shape()[1]; channel += 4) {
    Value bytes = quantizeFour(b, x, y, channel, from, quantizeReal);
    if (pitch == 4) {
      vector::StoreOp::create(b, bytes, y.memory, ValueRange{to});
      continue;
    }
    for (int64_t lane = 0; lane < 16; ++lane) {
      Value four = vector::ExtractStridedSliceOp::create(
          b, bytes, ArrayRef<int64_t>{4 * lane}, ArrayRef<int64_t>{4}, ArrayRef<int64_t>{1});
      vector::StoreOp::create(b, four, y.memory,
                              ValueRange{b.addIndex(to, lane * planes.outPixel + channel)});
    }
  }
  b.lanes = 1;
}

void PlanesStep::emit(llvm::function_ref<void(KernelBuilder &b, ValueRange args,
                                              llvm::function_ref<void(QuantizeChannelFn)>)>
                          emitPart) {
  int64_t blocks = llvm::divideCeil(planes.pixels, 16), images = in.getDimSize(0);
  int64_t unitsPerImage = planes.rows > 1 ? planes.rows : blocks;
  auto emitLoops = [&](KernelBuilder &b, ValueRange args, Value begin, Value end,
                       QuantizeChannelFn quantizeReal) {
    b.loop(begin, end, 1, [&](Value unit) {
      auto [image, i] = b.divideIndex(unit, unitsPerImage, images);
      if (planes.rows == 1)
        return emitBlock(b, args, image, b.index(0), i, quantizeReal);
      b.loop(0, blocks, [&, image = image, row = i](Value i) {
        emitBlock(b, args, image, row, i, quantizeReal);
      });
    });
  };
  emitter.addStep(op, kernel::Kernels::quantize_planes, signature.arguments, images * unitsPerImage,
                  [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
                    emitPart(b, args, [&](QuantizeChannelFn quantizeReal) {
                      emitLoops(b, args, begin, end, quantizeReal);
                    });
                  });
}

static bool readsPlanes(ProgramEmitter &emitter, Operation *op) {
  return emitter.has(kernel::Kernels::quantize_planes) &&
         getPlanes(getTensorType(op->getOperand(0)), getTensorType(op->getResult(0)));
}

bool codegen::emitQuantizePlanes(ProgramEmitter &emitter, QuantizeOp op) {
  if (!readsPlanes(emitter, op))
    return false;
  PlanesStep(emitter, op)
      .emit(
          [&](KernelBuilder &b, ValueRange, llvm::function_ref<void(QuantizeChannelFn)> emitLoops) {
            emitLoops([&](Value real, const TensorView &y, int64_t channel) {
              SmallVector<Value> at{b.index(0), b.index(channel)};
              return quantize(b, real, y, at, -1);
            });
          });
  return true;
}

bool codegen::emitQuantizePlanes(ProgramEmitter &emitter, QuantizeDynamicOp op) {
  if (!readsPlanes(emitter, op) || op.getScale().getType().getRank() > 0)
    return false;
  PlanesStep step(emitter, op);
  int scale = step.getSignature().addTensor(op.getScale()),
      zeroPoint = step.getSignature().addTensor(op.getZeroPoint());
  step.emit([&](KernelBuilder &b, ValueRange args,
                llvm::function_ref<void(QuantizeChannelFn)> emitLoops) {
    auto load = [&](int number) {
      return b.load(step.getSignature().getTensor(number, args).memory, b.index(0));
    };
    emitByScale(b, paramsOf(op.getResult()), load(scale), load(zeroPoint), /*inVectors=*/true,
                [&](QuantizeFn quantizeReal) {
                  emitLoops(
                      [&](Value real, const TensorView &, int64_t) { return quantizeReal(real); });
                });
  });
  return true;
}
