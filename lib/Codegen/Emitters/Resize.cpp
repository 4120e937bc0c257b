//===- Resize.cpp - resampling of images ----------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where each row and column comes from follows from shapes: it is computed here and given to the
// kernel as data.
//
//===----------------------------------------------------------------------===//

#include "Emitters.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

static float roundCoordinate(nn::NearestMode mode, float u) {
  switch (mode) {
  case nn::NearestMode::floor:
    return std::floor(u);
  case nn::NearestMode::ceil:
    return std::ceil(u);
  case nn::NearestMode::round_prefer_floor:
    return std::ceil(u - 0.5f);
  case nn::NearestMode::round_prefer_ceil:
    return std::floor(u + 0.5f);
  }
  llvm_unreachable("unknown nearest mode");
}

namespace {

/// The rows or the columns of a resized image.
class ResizedAxis {
public:
  ResizedAxis(nn::ResizeOp op, int axis)
      : mode(op.getMode()), coordinates(op.getCoordinates()), nearest(op.getNearest()),
        in(op.getInput().getType().getDimSize(2 + axis)), out(op.getSize()[axis]),
        factor(op.getScales()[axis]) {}

  void addArguments(Signature &signature);

  /// The operands of one result: i and j times the step, and g.
  struct Place {
    Value first, second, part;
  };
  /// Without `second` and `part` for nearest.
  Place load(KernelBuilder &b, ValueRange args, Value o, int64_t step) const;

private:
  bool isLinear() const { return mode == nn::ResizeMode::linear; }
  float clamp(float u) const { return std::min(std::max(u, 0.0f), (float)(in - 1)); }
  float getCoordinate(int64_t o) const;
  /// i of every result, then, for linear, j.
  std::vector<int32_t> makeIndices() const;
  std::vector<float> makeParts() const;

  nn::ResizeMode mode;
  nn::CoordinateMode coordinates;
  nn::NearestMode nearest;
  int64_t in, out;
  float factor;
  int indices = -1, parts = -1;
};

} // namespace

/// u of [N.resize].
float ResizedAxis::getCoordinate(int64_t o) const {
  switch (coordinates) {
  case nn::CoordinateMode::asymmetric:
    return (float)o / factor;
  case nn::CoordinateMode::align_corners:
    return out == 1 ? 0.0f : (float)o * (float)(in - 1) / (float)(out - 1);
  case nn::CoordinateMode::pytorch_half_pixel:
    if (out == 1)
      return 0.0f;
    [[fallthrough]];
  case nn::CoordinateMode::half_pixel:
    return ((float)o + 0.5f) / factor - 0.5f;
  }
  llvm_unreachable("unknown coordinate mode");
}

std::vector<int32_t> ResizedAxis::makeIndices() const {
  std::vector<int32_t> result;
  for (int64_t o = 0; o < out; ++o) {
    float u = getCoordinate(o);
    result.push_back(isLinear() ? std::floor(clamp(u)) : clamp(roundCoordinate(nearest, u)));
  }
  for (int64_t o = 0; o < out && isLinear(); ++o)
    result.push_back(std::min<int32_t>(result[o] + 1, in - 1));
  return result;
}

std::vector<float> ResizedAxis::makeParts() const {
  std::vector<float> result;
  for (int64_t o = 0; o < out; ++o) {
    float u = clamp(getCoordinate(o));
    result.push_back(u - std::floor(u));
  }
  return result;
}

void ResizedAxis::addArguments(Signature &signature) {
  std::string key;
  llvm::raw_string_ostream(key) << "resize/" << stringifyResizeMode(mode) << '/'
                                << stringifyCoordinateMode(coordinates) << '/'
                                << stringifyNearestMode(nearest) << '/' << in << '/' << out << '/'
                                << llvm::utohexstr(llvm::bit_cast<uint32_t>(factor));
  indices = signature.addWeights<int32_t>(key, [&] { return makeIndices(); });
  if (isLinear())
    parts = signature.addWeights<float>(key + "/parts", [&] { return makeParts(); });
}

ResizedAxis::Place ResizedAxis::load(KernelBuilder &b, ValueRange args, Value o,
                                     int64_t step) const {
  auto position = [&](Value at) {
    return b.mulIndex(arith::IndexCastOp::create(b, b.getIndexType(), b.load(args[indices], at)),
                      step);
  };
  Place place;
  place.first = position(o);
  if (isLinear()) {
    place.second = position(b.addIndex(o, out));
    place.part = b.load(args[parts], o);
  }
  return place;
}

/// Linear: first along W, then along H. Both tensors are real or quantized.
static void emitInterpolation(KernelBuilder &b, const TensorView &x, const TensorView &y,
                              Value image, Value resultRow, Value resultColumn,
                              const ResizedAxis::Place &row, const ResizedAxis::Place &column) {
  int64_t channels = x.shape()[1];
  bool areVectors =
      !b.level.isScalar() && channels >= 16 && x.strides.steps[1] == 1 && y.strides.steps[1] == 1;
  int64_t laneAxis = areVectors ? 1 : -1;
  b.loopOverBlocks(channels, areVectors ? 16 : 1, [&](Value channel) {
    b.lanes = areVectors ? 16 : 1;
    auto mix = [&](Value part, Value first, Value second) {
      return b.fma(b.splat(part), b.sub(second, first), first);
    };
    auto alongRow = [&](Value h) {
      auto at = [&](Value w) { return loadReal(b, x, {image, channel, h, w}, laneAxis); };
      return mix(column.part, at(column.first), at(column.second));
    };
    Value value = mix(row.part, alongRow(row.first), alongRow(row.second));
    storeReal(b, value, y, {image, channel, resultRow, resultColumn}, laneAxis);
    b.lanes = 1;
  });
}

/// Nearest: the storage values of one pixel.
static void emitPixel(KernelBuilder &b, const TensorView &x, const TensorView &y, Value from,
                      Value to, int64_t channels) {
  if (!b.level.isScalar() && x.strides.steps[1] == 1 && y.strides.steps[1] == 1)
    return copyRun(b, x.memory, from, y.memory, to, channels);
  b.loop(0, channels, [&](Value channel) {
    Value value = b.load(x.memory, b.addIndex(from, b.mulIndex(channel, x.strides.steps[1])));
    b.store(value, y.memory, b.addIndex(to, b.mulIndex(channel, y.strides.steps[1])));
  });
}

LogicalResult codegen::emitResize(ProgramEmitter &emitter, nn::ResizeOp op) {
  if (emitRepeat(emitter, op))
    return success();
  bool isLinear = op.getMode() == nn::ResizeMode::linear;
  Signature signature(emitter);
  auto parameters = isLinear ? Signature::Parameters::all : Signature::Parameters::none;
  int source = signature.addTensor(op.getInput(), parameters);
  int target = signature.addTensor(op.getResult(), parameters);
  ResizedAxis rows(op, 0), columns(op, 1);
  rows.addArguments(signature);
  columns.addArguments(signature);
  ArrayRef<int64_t> shape = op.getResult().getType().getShape();
  emitter.addStep(
      op, isLinear ? kernel::Kernels::resize_linear : kernel::Kernels::resize_nearest,
      signature.arguments, shape[2],
      [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
        TensorView x = signature.getTensor(source, args), y = signature.getTensor(target, args);
        emitLoopNest(b, {shape[2], shape[0], shape[3]}, begin, end, [&](ValueRange i) {
          // Pixels are copied by their positions in memory, and interpolated by their indices.
          ResizedAxis::Place row = rows.load(b, args, i[0], isLinear ? 1 : x.strides.steps[2]),
                             column =
                                 columns.load(b, args, i[2], isLinear ? 1 : x.strides.steps[3]);
          if (isLinear)
            return emitInterpolation(b, x, y, i[1], i[0], i[2], row, column);
          Value from = b.addIndex(b.mulIndex(i[1], x.strides.steps[0]), x.strides.offset);
          Value to = b.linearIndex({i[1], i[0], i[2]},
                                   {y.strides.steps[0], y.strides.steps[2], y.strides.steps[3]},
                                   y.strides.offset);
          emitPixel(b, x, y, b.addIndex(b.addIndex(from, row.first), column.first), to, shape[1]);
        });
      });
  return success();
}
