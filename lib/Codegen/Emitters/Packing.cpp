//===- Packing.cpp - dense weights in the order of kernels -----------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Packing.h"
#include "octet/Dialect/NN/Constants.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

std::vector<int32_t> codegen::makeInitialSums(int64_t outputs, const QuantParams &input,
                                              ArrayRef<int8_t> filter, ArrayRef<int32_t> bias,
                                              int64_t channels, int64_t taps,
                                              int64_t outputsPerGroup) {
  std::vector<int32_t> sums;
  for (int64_t o = 0; o < outputs; ++o) {
    int64_t sum = bias.empty() ? 0 : bias[o], firstChannel = o / outputsPerGroup * channels;
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t tap = 0; tap < taps; ++tap)
        sum -= (int64_t)input.zeroPoints[input.axis < 0 ? 0 : firstChannel + c] *
               filter[(o * channels + c) * taps + tap];
    sums.push_back((int32_t)sum); // wraps as the accumulator does; the whole sum is proven to fit
  }
  return sums;
}

int64_t PanelOrder::countElements(int64_t perLane) const {
  int64_t panels = llvm::divideCeil(outputs, kPanelOutputs),
          steps = llvm::divideCeil(tapsPerRun * pitch, perLane);
  return panels * (taps / tapsPerRun) * steps * kPanelOutputs * perLane;
}

/// Writes the lanes [begin, end) of panels; what a run has beyond its elements stays as it is.
/// Bounds: outputs, channels, pitch, taps, taps of a run.
template <int64_t perLane, typename Code, typename From, typename To, typename Index>
static void writePanels(Code &c, From from, To to, ArrayRef<Index> bounds, Index begin, Index end) {
  Index outputs = bounds[0], channels = bounds[1], pitch = bounds[2], taps = bounds[3],
        tapsPerRun = bounds[4], runs = taps / tapsPerRun;
  Index run = (tapsPerRun * pitch + (perLane - 1)) / perLane * (kPanelOutputs * perLane);
  c.loop(begin, end, [&](Index position) {
    Index output = getLaneChannel(c, outputs, c.index(kPanelOutputs), position),
          lane = position / kPanelOutputs * runs * run + position % kPanelOutputs * perLane;
    c.loop(c.index(0), taps, [&](Index tap) {
      Index first = tap % tapsPerRun * pitch, inRun = lane + tap / tapsPerRun * run;
      c.loop(c.index(0), channels, [&](Index channel) {
        Index at = first + channel;
        c.copy(to, inRun + at / perLane * (kPanelOutputs * perLane) + at % perLane, from,
               (output * channels + channel) * taps + tap);
      });
    });
  });
}

static SmallVector<int64_t> getBounds(const PanelOrder &order) {
  return {order.outputs, order.channels, order.pitch, order.taps, order.tapsPerRun};
}

/// Weights of `groups` groups of outputs as those of one, with zeros for the channels of the other
/// groups.
template <typename T>
static std::vector<T> insertZeros(ArrayRef<T> weights, int64_t groups, int64_t outputs) {
  int64_t perOutput = weights.size() / outputs;
  std::vector<T> merged(weights.size() * groups);
  for (int64_t o = 0; o < outputs; ++o)
    llvm::copy(weights.slice(o * perOutput, perOutput),
               merged.begin() + (o * groups + o * groups / outputs) * perOutput);
  return merged;
}

/// Panels of `groups` filters of `order`, made by the compiler.
template <typename T>
static std::vector<T> makePanels(nn::ConstantOp constant, const PanelOrder &order, int64_t groups,
                                 int64_t filterGroups) {
  constexpr int64_t kPerLane = 4 / sizeof(T);
  std::vector<char> bytes = nn::getConstantBytes(constant);
  ArrayRef<T> weights(reinterpret_cast<const T *>(bytes.data()), bytes.size() / sizeof(T));
  int64_t elements = order.countElements(kPerLane), size = weights.size() / groups;
  std::vector<T> panels(groups * elements);
  SmallVector<int64_t> bounds = getBounds(order);
  for (int64_t g = 0; g < groups; ++g) {
    ArrayRef<T> group = weights.slice(g * size, size);
    std::vector<T> merged; // Most weights are as they should be: some have hundreds of megabytes.
    if (filterGroups > 1)
      group = merged = insertZeros(group, filterGroups, order.outputs);
    HostCode host;
    writePanels<kPerLane>(host, group, MutableArrayRef(panels).slice(g * elements, elements),
                          ArrayRef<int64_t>(bounds), (int64_t)0,
                          (int64_t)llvm::alignTo(order.outputs, kPanelOutputs));
  }
  return panels;
}

template <typename T>
static KernelArgument addPanels(ProgramEmitter &emitter, nn::ConstantOp constant,
                                const PanelOrder &order, int64_t groups, int64_t filterGroups) {
  std::string key = "dense/" + getConstantKey(constant);
  for (int64_t part : {order.pitch, order.tapsPerRun, groups, filterGroups})
    key += "/" + std::to_string(part);
  return emitter.getWeights<T>(
      key, [&] { return makePanels<T>(constant, order, groups, filterGroups); });
}

/// Panels a 32nd larger than the weights are made when a model is made: networks with many weights
/// have outputs and channels that fill panels, and those stay pages of the library that processes
/// share.
static constexpr int64_t kMostPadding = 32;

static KernelArgument getElements(ProgramEmitter &emitter, nn::ConstantOp constant,
                                  const PanelOrder &order) {
  ArrayRef<int64_t> shape = constant.getType().getShape();
  int64_t groups = shape[0] / order.outputs, filterGroups = order.channels / shape[1];
  if (isa<FloatType>(getStorageType(constant.getType())))
    return addPanels<float>(emitter, constant, order, groups, filterGroups);
  int64_t bytes = order.countElements(4), elements = constant.getType().getNumElements();
  if (groups * filterGroups > 1 || (bytes - elements) * kMostPadding <= elements)
    return addPanels<int8_t>(emitter, constant, order, groups, filterGroups);
  auto target = MemRefType::get({bytes}, emitter.getBuilder().getI8Type());
  return emitter.prepare({"write_panels", emitter.getRowMajor(constant, OCTET_WEIGHTS_UNIT), target,
                          getBounds(order), (int64_t)llvm::alignTo(order.outputs, kPanelOutputs)},
                         writePanels<4, EmittedCode, Value, Value, codegen::Index>);
}

KernelArgument codegen::getPanels(ProgramEmitter &emitter, nn::ConstantOp weights, PanelOrder order,
                                  bool asI16) {
  KernelArgument elements = getElements(emitter, weights, order);
  return asI16 ? widenToI16(emitter, elements) : elements;
}

std::vector<int8_t> codegen::makeBytePanels(nn::ConstantOp weights, const PanelOrder &order) {
  ArrayRef<int64_t> shape = weights.getType().getShape();
  return makePanels<int8_t>(weights, order, shape[0] / order.outputs, order.channels / shape[1]);
}

/// Of each of [begin, end) groups of 64 bytes.
static void writeI16(EmittedCode &c, Value from, Value to, ArrayRef<codegen::Index>,
                     codegen::Index begin, codegen::Index end) {
  c.loop(begin, end, [&](codegen::Index group) {
    c.loop(c.index(0), c.index(32), [&](codegen::Index word) {
      for (int64_t odd : {0, 1})
        c.copy(to, group * 64 + word + 32 * odd, from, group * 64 + word * 2 + odd);
    });
  });
}

KernelArgument codegen::widenToI16(ProgramEmitter &emitter, KernelArgument bytes) {
  Builder b = emitter.getBuilder();
  int64_t count = bytes.type.getNumElements();
  KernelArgument words = emitter.prepare(
      {"write_i16", bytes, MemRefType::get({count}, b.getI16Type()), {}, count / 64}, writeI16);
  return {words.address, MemRefType::get({count * 2}, b.getI8Type())};
}

/// The runs [begin, end). Bounds: steps of a run. The memory is zero before.
static void writeJoined(EmittedCode &c, Value from, Value to, ArrayRef<codegen::Index> bounds,
                        codegen::Index begin, codegen::Index end) {
  codegen::Index steps = bounds[0], joined = (steps + 1) / 2;
  c.loop(begin, end, [&](codegen::Index run) {
    c.loop(c.index(0), steps, [&](codegen::Index step) {
      codegen::Index source = (run * steps + step) * 64,
                     target = (run * joined + step / 2) * 128 + step % 2 * 4;
      c.loop(c.index(0), c.index(64), [&](codegen::Index byte) {
        c.copy(to, target + byte / 4 * 8 + byte % 4, from, source + byte);
      });
    });
  });
}

KernelArgument codegen::joinSteps(ProgramEmitter &emitter, KernelArgument panels,
                                  int64_t stepsPerRun) {
  int64_t runs = panels.type.getNumElements() / (64 * stepsPerRun);
  auto type = MemRefType::get({runs * (int64_t)llvm::divideCeil(stepsPerRun, 2) * 128},
                              emitter.getBuilder().getI8Type());
  return emitter.prepare({"write_joined", panels, type, {stepsPerRun}, runs}, writeJoined);
}
