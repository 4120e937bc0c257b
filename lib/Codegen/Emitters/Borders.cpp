//===- Borders.cpp - borders of padded images -----------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitters.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

/// The storage value of zero in each channel of a tensor.
template <typename T> static std::vector<T> getZeros(RankedTensorType type) {
  auto quantized = dyn_cast<quant::QuantizedType>(type.getElementType());
  if (!quantized)
    return std::vector<T>(type.getDimSize(1), T(0));
  SmallVector<int32_t> zeroPoints = numerics::getParams(quantized).zeroPoints;
  zeroPoints.resize(type.getDimSize(1), zeroPoints[0]);
  return std::vector<T>(zeroPoints.begin(), zeroPoints.end());
}

namespace {
/// The border of a padded image in the order of memory: gaps of pixels before the first row,
/// between two rows, and behind the last.
struct Border {
  int64_t height, width, firstPixel, pitch, numPixels;

  Border(RankedTensorType type, ArrayRef<int64_t> pads)
      : height(type.getDimSize(2)), width(type.getDimSize(3)), pitch(pads[1] + width + pads[3]) {
    firstPixel = pads[0] * pitch + pads[1];
    numPixels = (pads[0] + height + pads[2]) * pitch;
  }
  /// Pixels of the smallest gap; gaps of none do not count.
  int64_t smallestGap() const {
    int64_t smallest = numPixels;
    for (int64_t gap :
         {firstPixel, pitch - width, numPixels - firstPixel - (height - 1) * pitch - width})
      if (gap > 0)
        smallest = std::min(smallest, gap);
    return smallest;
  }
  void loopOverGaps(KernelBuilder &b, function_ref<void(Value begin, Value end)> body) const {
    b.loop(b.index(0), b.index(height + 1), 1, [&](Value row) {
      Value rowStart = b.addIndex(b.mulIndex(row, pitch), firstPixel);
      Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, row, b.index(0));
      Value isBehind = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, row, b.index(height));
      Value begin =
          arith::SelectOp::create(b, isFirst, b.index(0), b.addIndex(rowStart, width - pitch));
      body(begin, arith::SelectOp::create(b, isBehind, b.index(numPixels), rowStart));
    });
  }
};
} // namespace

/// Fills a border with `zeros`: in blocks as long as a gap allows if they are all the same, else
/// pixel by pixel.
template <typename T>
static void emitBorder(ProgramEmitter &emitter, Operation *op, Value result, const Border &border) {
  RankedTensorType type = getTensorType(result);
  Strides strides = getStrides(type);
  int64_t perPixel = strides.steps[3], channels = type.getDimSize(1);
  std::vector<T> zeros = getZeros<T>(type);
  bool isUniform = llvm::all_equal(zeros);
  int64_t block =
      std::min<int64_t>(64 / sizeof(T), llvm::bit_floor<uint64_t>(border.smallestGap() * perPixel));
  if (isUniform)
    zeros.resize(block, zeros[0]);
  Signature signature(emitter);
  int target = signature.add(emitter.getBuffer(result));
  std::string key = "border/" + std::string(reinterpret_cast<const char *>(zeros.data()),
                                            zeros.size() * sizeof(T));
  int source = signature.addWeights<T>(key, [&] { return zeros; });
  emitter.addStep(op, kernel::Kernels::border, signature.arguments, 1,
                  [&](KernelBuilder &b, ValueRange args, Value, Value) {
                    b.loop(0, type.getDimSize(0), [&](Value image) {
                      Value imageBase = b.mulIndex(image, strides.steps[0]);
                      border.loopOverGaps(b, [&](Value begin, Value end) {
                        if (!isUniform)
                          return b.loop(begin, end, 1, [&](Value pixel) {
                            copyRun(b, args[source], b.index(0), args[target],
                                    b.addIndex(imageBase, b.mulIndex(pixel, perPixel)), channels);
                          });
                        Value first = b.addIndex(imageBase, b.mulIndex(begin, perPixel)),
                              behind = b.addIndex(imageBase, b.mulIndex(end, perPixel));
                        Value last = b.addIndex(behind, -block);
                        b.loop(first, behind, block, [&](Value at) {
                          copyRun(b, args[source], b.index(0), args[target],
                                  b.createIndex<arith::MinUIOp>(at, last), block);
                        });
                      });
                    });
                  });
}

void codegen::emitBorder(ProgramEmitter &emitter, Operation *op, Value result) {
  RankedTensorType type = getTensorType(result);
  nn::LayoutAttr layout = getLayout(type);
  if (!layout || !hasBorder(type))
    return;
  Border border(type, layout.getPads());
  isQuantized(type) ? ::emitBorder<int8_t>(emitter, op, result, border)
                    : ::emitBorder<float>(emitter, op, result, border);
}
