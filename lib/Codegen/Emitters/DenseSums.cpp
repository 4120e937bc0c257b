//===- DenseSums.cpp - the sums of a dense tile ---------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DenseSums.h"
#include "SortedSteps.h"
#include <map>

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

int64_t codegen::getRunSize(const DenseShape &shape, const TileProducts &products) {
  int64_t steps = shape.stepsPerRun();
  return products.sortsSteps() ? SortedSteps(steps).bytesPerRun() : steps * products.weightSize();
}

/// The input, `size` elements of each step, that steps multiply with a panel's weights, by step:
/// the same in all lanes, or in all of a pixel's.
SmallVector<SmallVector<Value>> TileSums::loadInput(KernelBuilder &b, Value at, int64_t steps,
                                                    int64_t size) {
  if (int64_t pixels = products.pixelsPerSum(); pixels > 1) {
    auto places = llvm::map_to_vector(
        llvm::seq(pixels), [&](int64_t pixel) { return b.addIndex(at, pixel * shape.inPixel); });
    Inputs inputs;
    for (Value step : products.loadPixels(b, input, places, steps, size))
      inputs.push_back({step});
    return inputs;
  }
  if (shape.pixelsPerVector == 1)
    return products.broadcastSteps(b, input, at, steps);
  Value bytes = products.broadcast(b, input, at);
  for (int64_t pixel = 1; pixel < shape.pixelsPerVector; ++pixel) {
    Value next = products.broadcast(b, input, b.addIndex(at, pixel * shape.inPixel));
    SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, 64));
    for (int64_t byte = 4 * shape.outputs * pixel; byte < 64; ++byte)
      order[byte] += 64;
    bytes = vector::ShuffleOp::create(b, bytes, next, order);
  }
  return {products.split(b, bytes)};
}

/// 64 bytes: `bytes` up to `begin`, from there on the four bytes of a lane, again and again.
static Value insertRepeated(KernelBuilder &b, Value bytes, Value four, int64_t lane,
                            int64_t begin) {
  SmallVector<int64_t> order;
  for (int64_t byte = 0; byte < 64; ++byte)
    order.push_back(4 * lane + byte % 4);
  Value repeated = vector::ShuffleOp::create(b, four, four, order);
  if (begin == 0)
    return repeated;
  for (int64_t byte = 0; byte < 64; ++byte)
    order[byte] = byte < begin ? byte : 64 + byte;
  return vector::ShuffleOp::create(b, bytes, repeated, order);
}

/// The input of all vectors of pixels in a run. Four bytes that a step multiplies are a lane of one
/// of the loads, which follow one another from each of the places that pixels have within four
/// bytes.
SmallVector<TileSums::Inputs> TileSums::loadWindow(KernelBuilder &b, Value at) {
  int64_t pixels = tile.vectors * shape.pixelsPerVector, steps = shape.stepsPerRun();
  std::array<int64_t, 4> lanes{}; ///< of each place
  for (int64_t pixel = 0; pixel < pixels; ++pixel) {
    int64_t first = pixel * shape.inPixel;
    lanes[first % 4] = std::max(lanes[first % 4], first / 4 + steps);
  }
  llvm::DenseMap<int64_t, Value> loaded; ///< by the first byte
  auto getFour = [&](int64_t byte) -> std::pair<Value, int64_t> {
    int64_t place = byte % 4, lane = byte / 4, count = lanes[place];
    int64_t size = count >= 4 ? 4 : count >= 2 ? 2 : 1;
    int64_t first = std::min(lane / size * size, count - size); // the last one overlaps
    Value &bytes = loaded[4 * first + place];
    if (!bytes)
      bytes = products.split(
          b, vector::LoadOp::create(b, VectorType::get({4 * size}, b.getI8Type()), input,
                                    ValueRange{b.addIndex(at, 4 * first + place)}))[0];
    return {bytes, lane - first};
  };
  SmallVector<Inputs> inputs(tile.vectors);
  for (int64_t i = 0; i < tile.vectors; ++i)
    for (int64_t step = 0; step < steps; ++step) {
      Value bytes;
      for (int64_t n = 0; n < shape.pixelsPerVector; ++n) {
        auto [four, lane] = getFour((i * shape.pixelsPerVector + n) * shape.inPixel + 4 * step);
        bytes = insertRepeated(b, bytes, four, lane, 4 * shape.outputs * n);
      }
      inputs[i].push_back({bytes});
    }
  return inputs;
}

/// One part of each step.
static SmallVector<Value> getPart(ArrayRef<SmallVector<Value>> steps, size_t part) {
  return llvm::map_to_vector(steps, [&](auto &step) { return step[part]; });
}

/// The weights of a panel for so many steps.
TileSums::Inputs TileSums::loadPanel(KernelBuilder &b, Value at, int64_t steps) {
  return llvm::map_to_vector(llvm::seq(steps), [&](int64_t step) {
    return products.loadWeights(b, weights, b.addIndex(at, step * products.weightSize()));
  });
}

/// Brings what the panels behind these have for the same steps into the second cache. Beyond the
/// last ones are mostly those of the next layer.
void TileSums::prefetchPanels(KernelBuilder &b, Value w, int64_t steps, int64_t panels) {
  constexpr int64_t kLine = 64;
  int64_t panelSize = shape.stepsPerPanel() * products.weightSize();
  for (int64_t p = panels; p < 2 * panels; ++p)
    for (int64_t at = 0; at < steps * products.weightSize(); at += kLine)
      memref::PrefetchOp::create(b, weights, ValueRange{b.addIndex(w, p * panelSize + at)},
                                 /*isWrite=*/false, /*localityHint=*/2, /*isDataCache=*/true);
}

/// The sums with the products of so many steps of `size` elements, whose input one load brings, or
/// is there already.
SmallVector<Value> TileSums::addSteps(KernelBuilder &b, Value in, Value w, int64_t steps,
                                      int64_t size, int64_t panels, ValueRange carried,
                                      SmallVector<Inputs> pixels) {
  SmallVector<Value> sums(carried);
  pixels.resize(tile.vectors);
  if (sharesLoads())
    pixels = loadWindow(b, in);
  auto load = [&](int64_t i) {
    Value at = b.addIndex(in, i * shape.pixelsPerVector * products.pixelsPerSum() * shape.inPixel);
    if (pixels[i].empty())
      pixels[i] = loadInput(b, at, steps, size);
  };
  bool keepsInput = products.keepsInput(tile.vectors);
  int64_t weightStep = products.weightSize(), panelSize = shape.stepsPerPanel() * weightStep,
          most = std::min(steps, products.stepsPerSum()), together;
  if (prefetches)
    prefetchPanels(b, w, steps, panels);
  for (int64_t step = 0; step < steps; step += together) {
    together = std::min(most, steps - step);
    if (products.partsPerSum() > 1) {
      llvm::for_each(llvm::seq(tile.vectors), load);
      auto inputs = llvm::map_to_vector(pixels, [&](Inputs &of) { return of[step][0]; });
      addParts(b, inputs, b.addIndex(w, step * weightStep), panels, sums);
      continue;
    }
    auto panel = llvm::map_to_vector(llvm::seq(panels), [&](int64_t p) {
      return loadPanel(b, b.addIndex(w, p * panelSize + step * weightStep), together);
    });
    auto add = [&](int64_t i, int64_t p, size_t part) {
      Value &sum = sums[i * panels + p];
      sum = products.multiplyAddSteps(b, sum,
                                      getPart(ArrayRef(pixels[i]).slice(step, together), part),
                                      getPart(panel[p], part));
    };
    for (int64_t i = 0; i < tile.vectors && keepsInput && step == 0; ++i)
      load(i);
    MutableArrayRef<Value> halves = MutableArrayRef(sums).drop_front(tile.vectors * panels);
    auto addHalf = [&](int64_t i) { // with the pixel before
      if (i % 2 == 1 && !halves.empty())
        addHalfPanel(b, b.addIndex(w, panels * panelSize + step * weightStep), pixels[i - 1][step],
                     pixels[i][step], halves[i / 2]);
    };
    size_t parts = panel[0][0].size();
    if (keepsInput) { // Each part of the weights is there while multiplied.
      for (size_t part = 0; part < parts; ++part)
        for (int64_t n = 0; n < tile.vectors * panels; ++n)
          add(n % tile.vectors, n / tile.vectors, part);
      llvm::for_each(llvm::seq(tile.vectors), addHalf);
      continue;
    }
    for (int64_t i = 0; i < tile.vectors; ++i) {
      load(i);
      for (size_t n = 0; n < panels * parts; ++n)
        add(i, n / parts, n % parts);
      addHalf(i);
    }
  }
  return sums;
}

/// The input of two pixels, in eight lanes each, by the second half of a panel, whose first half is
/// that of the panel before.
void TileSums::addHalfPanel(KernelBuilder &b, Value w, ArrayRef<Value> first,
                            ArrayRef<Value> second, Value &sum) {
  for (int64_t part = 0; part < products.parts(); ++part) {
    int64_t size = cast<VectorType>(first[part].getType()).getNumElements();
    SmallVector<int64_t> order = llvm::map_to_vector(
        llvm::seq<int64_t>(0, size), [&](int64_t i) { return i < size / 2 ? i : size + i; });
    Value both = vector::ShuffleOp::create(b, first[part], second[part], order);
    Value at = b.addIndex(w, part * products.partSize());
    sum = products.multiplyAdd(b, sum, both, products.loadSecondHalf(b, weights, at));
  }
}

/// One step of sums that have a value for each part of the weights, which are loaded where they are
/// multiplied: LLVM keeps to that order, and otherwise more of them than registers are there at
/// once.
void TileSums::addParts(KernelBuilder &b, ArrayRef<Value> inputs, Value w, int64_t panels,
                        MutableArrayRef<Value> sums) {
  int64_t parts = products.partsPerSum(), panelSize = shape.stepsPerPanel() * products.weightSize();
  for (int64_t p = 0; p < panels; ++p)
    for (int64_t part = 0; part < parts; ++part) {
      Value at = b.addIndex(w, p * panelSize + part * products.partSize());
      Value multiplied = products.load(b, weights, at);
      for (auto [i, input] : llvm::enumerate(inputs)) {
        Value &sum = sums[((int64_t)i * panels + p) * parts + part];
        sum = products.multiplyAdd(b, sum, input, multiplied);
      }
    }
}

/// The sums over a run: as many steps at a time as a load brings, then half as many, and so on.
SmallVector<Value> TileSums::addRun(KernelBuilder &b, Value in, Value w, int64_t panels,
                                    ValueRange carried) {
  if (products.sortsSteps()) {
    auto pixels = llvm::map_to_vector(llvm::seq(tile.vectors),
                                      [&](int64_t i) { return b.addIndex(in, i * shape.inPixel); });
    return SortedSteps(shape.stepsPerRun()).add(b, products, input, pixels, weights, w, carried);
  }
  if (sharesLoads())
    return addSteps(b, in, w, shape.stepsPerRun(), products.inputs(), panels, carried);
  SmallVector<Value> sums(carried);
  int64_t rest = getRest(), whole = shape.stepsPerRun() - (rest > 0), done = 0,
          together = shape.pixelsPerVector == 1 ? products.stepsPerLoad() : 1;
  for (; together > 0; together /= 2) {
    int64_t count = (whole - done) / together;
    if (count == 0)
      continue;
    int64_t first = done;
    sums = b.loop(b.index(0), b.index(count), 1, sums, [&](Value k, ValueRange inner) {
      auto place = [&](Value base, int64_t size) {
        Value at = b.addIndex(base, b.mulIndex(k, together * size));
        return first == 0 ? at : b.addIndex(at, first * size);
      };
      return addSteps(b, place(in, products.inputs()), place(w, products.weightSize()), together,
                      products.inputs(), panels, inner);
    });
    done += count * together;
  }
  if (rest > 0)
    sums = addSteps(b, b.addIndex(in, whole * products.inputs()),
                    b.addIndex(w, whole * products.weightSize()), /*steps=*/1, rest, panels, sums);
  return sums;
}

/// The sums over a kernel row, as many channels at a time as a load brings: what it brings is
/// multiplied for all pixels whose kernels cover it.
SmallVector<Value> TileSums::addColumns(KernelBuilder &b, Value in, Value w, int64_t panels,
                                        ValueRange carried) {
  int64_t together = products.stepsPerLoad(), size = products.inputs(),
          stepsPerColumn = shape.channels / size;
  return b.loop(
      b.index(0), b.index(stepsPerColumn / together), 1, carried, [&](Value k, ValueRange inner) {
        Value from = b.addIndex(in, b.mulIndex(k, together * size)),
              weightsFrom = b.addIndex(w, b.mulIndex(k, together * products.weightSize()));
        SmallVector<Value> sums(inner);
        std::map<int64_t, Inputs> loaded; ///< by distance from the tile's first input pixel
        for (int64_t column = 0; column < shape.kernelColumns; ++column) {
          SmallVector<Inputs> pixels;
          for (int64_t i = 0; i < tile.vectors; ++i) {
            int64_t place =
                i * products.pixelsPerSum() * shape.inPixel + column * shape.kernelColumnStep;
            Inputs &bytes = loaded[place];
            if (bytes.empty())
              bytes = loadInput(b, b.addIndex(from, place), together, size);
            pixels.push_back(bytes);
          }
          int64_t skipped = column * stepsPerColumn * products.weightSize();
          sums = addSteps(b, from, b.addIndex(weightsFrom, skipped), together, size, panels, sums,
                          pixels);
        }
        return sums;
      });
}

SmallVector<Value> TileSums::add(KernelBuilder &b, Value inBase, Value panelBase, int64_t panels,
                                 SmallVector<Value> acc, const Taps &rows, const Taps &columns) {
  int64_t runSize = getRunSize(shape, products), rowSize = runSize * shape.runsPerRow();
  auto kernelRow = [&](Value in, Value w, ValueRange carried) {
    if (sharesColumns())
      return addColumns(b, in, w, panels, carried);
    if (shape.runsPerRow() == 1)
      return addRun(b, in, w, panels, carried);
    return b.loop(columns.low, columns.high, 1, carried, [&](Value x, ValueRange inner) {
      return addRun(b, b.addIndex(in, b.mulIndex(x, shape.kernelColumnStep)),
                    b.addIndex(w, b.mulIndex(x, runSize)), panels, inner);
    });
  };
  if (shape.kernelRows == 1)
    return kernelRow(inBase, panelBase, acc);
  return b.loop(rows.low, rows.high, 1, acc, [&](Value y, ValueRange inner) {
    return kernelRow(b.addIndex(inBase, b.mulIndex(y, shape.kernelRowStep)),
                     b.addIndex(panelBase, b.mulIndex(y, rowSize)), inner);
  });
}
