//===- Winograd.cpp - 3x3 convolutions by fewer products ------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Winograd.h"
#include "../Code.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;
using codegen::Index;

static constexpr int64_t kKernel = 3, kLanes = kPanelOutputs;
/// A caller's stack may be small. So few channels also have sums of which four times each fits in
/// i32; on the way there they may wrap.
static constexpr int64_t kMostStackBytes = 80 * 1024;
static_assert(kMostStackBytes / (4 * WinogradTiles::kPlaces * 2) * kKernel * kKernel * 128 * 255 <
              std::numeric_limits<int32_t>::max() / 4);

bool WinogradTiles::fits() const {
  constexpr int64_t kFewestTiles = 9;
  return products.readsI16() && shape.isInteger && shape.groups == 1 && shape.filterGroups == 1 &&
         shape.pixelsPerVector == 1 && shape.kernelRows == kKernel &&
         shape.kernelColumns == kKernel && shape.hasMergedRow() &&
         shape.inPixel == shape.kernelColumnStep && shape.inRow == shape.kernelRowStep &&
         shape.channels >= kLanes && shape.channels % products.inputs() == 0 &&
         std::min(shape.rows, shape.columns) >= kOutputs && countTiles() >= kFewestTiles &&
         kGroup * bytesPerTile() <= kMostStackBytes;
}

int64_t WinogradTiles::mostTiles() const {
  constexpr int64_t kMost = 16;
  return llvm::alignDown(std::min(kMost, kMostStackBytes / bytesPerTile()), kGroup);
}

/// As many as have room share weights that lie far away; else all threads have some.
int64_t WinogradTiles::tilesPerBlock() const {
  constexpr int64_t kFewestBlocks = 8, kNear = 256 * 1024;
  if (shape.panels() * kPlaces * placeSize() > kNear)
    return mostTiles();
  return std::clamp<int64_t>(llvm::alignDown(countTiles() / kFewestBlocks, kGroup), kGroup,
                             mostTiles());
}

/// Twice the transform of a filter's row or column.
static std::array<Value, WinogradTiles::kInputs> transformFilter(KernelBuilder &b, Value first,
                                                                 Value second, Value third) {
  Value outer = b.add(first, third);
  return {b.add(first, first), b.add(outer, second), b.sub(outer, second), b.add(third, third)};
}

/// The channels [begin, end) of all panels, one behind the other. Bounds: channels.
static void writeWinograd(EmittedCode &c, Value from, Value to, ArrayRef<Index> bounds, Index begin,
                          Index end) {
  Index channels = bounds[0], tap = channels * kLanes;
  auto load = [&](Index at) -> Value {
    return arith::ExtSIOp::create(c.b, c.b.getI16Type(), c.b.load(from, at));
  };
  c.loop(begin, end, [&](Index position) {
    Index panel = position / channels, channel = position % channels;
    c.loop(c.index(0), c.index(kLanes), [&](Index lane) {
      Index source =
          panel * (kKernel * kKernel) * tap + channel / 4 * (4 * kLanes) + lane * 4 + channel % 4;
      Index target = panel * WinogradTiles::kPlaces * tap + channel / 2 * (2 * kLanes) + lane * 2 +
                     channel % 2;
      std::array<std::array<Value, WinogradTiles::kInputs>, kKernel> rows;
      for (int64_t y = 0; y < kKernel; ++y)
        rows[y] = transformFilter(c.b, load(source + tap * (kKernel * y)),
                                  load(source + tap * (kKernel * y + 1)),
                                  load(source + tap * (kKernel * y + 2)));
      for (int64_t x = 0; x < WinogradTiles::kInputs; ++x)
        for (auto [y, value] :
             llvm::enumerate(transformFilter(c.b, rows[0][x], rows[1][x], rows[2][x])))
          c.b.store(value, to, target + tap * (int64_t)(y * WinogradTiles::kInputs + x));
    });
  });
}

KernelArgument WinogradTiles::transformWeights(ProgramEmitter &emitter,
                                               KernelArgument panels) const {
  Builder b = emitter.getBuilder();
  int64_t bytes = shape.panels() * kPlaces * placeSize();
  KernelArgument words = emitter.prepare({"write_winograd",
                                          panels,
                                          MemRefType::get({bytes / 2}, b.getI16Type()),
                                          {shape.channels},
                                          shape.panels() * shape.channels},
                                         writeWinograd);
  return {words.address, MemRefType::get({bytes}, b.getI8Type())};
}

void WinogradTiles::allocate(KernelBuilder &b) {
  int64_t tiles = kPlaces * mostTiles();
  transformed = b.allocateOnStack(tiles * shape.channels * 2, b.getI8Type());
  sums = b.allocateOnStack(tiles * kLanes, b.getI32Type());
}

Value WinogradTiles::countTilesOf(KernelBuilder &b, Value block) const {
  Value left =
      b.createIndex<arith::SubIOp>(b.index(countTiles()), b.mulIndex(block, tilesPerBlock()));
  return b.createIndex<arith::MinUIOp>(left, b.index(tilesPerBlock()));
}

Value WinogradTiles::countGroups(KernelBuilder &b, Value block) const {
  return b.createIndex<arith::DivUIOp>(b.addIndex(countTilesOf(b, block), kGroup - 1),
                                       b.index(kGroup));
}

void WinogradTiles::forTiles(KernelBuilder &b, Value block, function_ref<void(Value)> body) {
  b.loop(b.index(0), countTilesOf(b, block), 1, body);
}

WinogradTiles::Place WinogradTiles::getPlace(KernelBuilder &b, Value block, Value tile) const {
  Value image, row, column;
  // Behind the last tile is that one again.
  tile = b.createIndex<arith::MinUIOp>(b.addIndex(b.mulIndex(block, tilesPerBlock()), tile),
                                       b.index(countTiles() - 1));
  std::tie(row, column) = b.divideIndex(tile, tilesPerRow(), shape.images * rowsOfTiles());
  std::tie(image, row) = b.divideIndex(row, rowsOfTiles(), shape.images);
  return {image, b.getBlock(row, shape.rows, kOutputs),
          b.getBlock(column, shape.columns, kOutputs)};
}

/// The transform of four inputs of a row or column.
static std::array<Value, WinogradTiles::kInputs>
transformFour(KernelBuilder &b, const std::array<Value, WinogradTiles::kInputs> &in) {
  return {b.sub(in[0], in[2]), b.add(in[1], in[2]), b.sub(in[2], in[1]), b.sub(in[1], in[3])};
}

/// Sixteen channels of a tile.
void WinogradTiles::transformChannels(KernelBuilder &b, Value input, Value from, Value to) {
  auto words = VectorType::get({kLanes}, b.getI16Type());
  std::array<std::array<Value, kInputs>, kInputs> rows;
  for (int64_t y = 0; y < kInputs; ++y) {
    std::array<Value, kInputs> in;
    Value row = b.addIndex(from, y * shape.kernelRowStep);
    for (int64_t x = 0; x < kInputs; ++x) {
      Value at = b.addIndex(row, x * shape.kernelColumnStep);
      in[x] = arith::ExtUIOp::create(b, words, b.load(input, at));
    }
    rows[y] = transformFour(b, in);
  }
  int64_t place = mostTiles() * shape.channels * 2;
  for (int64_t x = 0; x < kInputs; ++x) {
    auto column = transformFour(b, {rows[0][x], rows[1][x], rows[2][x], rows[3][x]});
    for (auto [y, value] : llvm::enumerate(column))
      vector::StoreOp::create(b, b.bitcast(value, b.getI8Type()), transformed,
                              ValueRange{b.addIndex(to, (y * kInputs + x) * place)});
  }
}

void WinogradTiles::transformInput(KernelBuilder &b, Value input, Value block) {
  b.loop(b.index(0), b.mulIndex(countGroups(b, block), kGroup), 1, [&](Value tile) {
    auto [image, row, column] = getPlace(b, block, tile);
    Value from = b.addIndex(
        b.addIndex(b.mulIndex(row, shape.inRow), b.mulIndex(column, shape.inPixel)), shape.inBase);
    from = b.addIndex(from, b.mulIndex(image, shape.inImage));
    Value to = b.mulIndex(tile, shape.channels * 2);
    b.loopOverBlocks(shape.channels, kLanes, [&](Value channel) {
      transformChannels(b, input, b.addIndex(from, channel),
                        b.addIndex(to, b.mulIndex(channel, 2)));
    });
  });
}

void WinogradTiles::multiply(KernelBuilder &b, Value weights, Value block, Value panel) {
  int64_t tileSize = shape.channels * 2;
  Value groups = countGroups(b, block);
  b.loop(0, kPlaces, [&](Value place) {
    Value panelBase = b.mulIndex(b.addIndex(b.mulIndex(panel, kPlaces), place), placeSize());
    b.loop(b.index(0), groups, 1, [&](Value group) {
      Value first = b.addIndex(b.mulIndex(place, mostTiles()), b.mulIndex(group, kGroup));
      Value in = b.mulIndex(first, tileSize);
      SmallVector<Value> zeros(kGroup, b.constI(0));
      auto done = b.loop(
          b.index(0), b.index(shape.channels / 2), 1, zeros, [&](Value step, ValueRange carried) {
            Value loaded = products.load(
                b, weights, b.addIndex(panelBase, b.mulIndex(step, products.partSize())));
            Value at = b.addIndex(in, b.mulIndex(step, 4));
            SmallVector<Value> next;
            for (auto [i, sum] : llvm::enumerate(carried)) {
              Value two = products.broadcast(b, transformed, b.addIndex(at, i * tileSize));
              next.push_back(products.multiplyAdd(b, sum, products.fromBytes(b, two), loaded));
            }
            return next;
          });
      for (auto [i, sum] : llvm::enumerate(done))
        b.store(sum, sums, b.mulIndex(b.addIndex(first, i), kLanes));
    });
  });
}

SmallVector<Value> WinogradTiles::transformSums(KernelBuilder &b, Value tile) {
  auto add = [&](Value first, Value second, Value third) {
    return b.add(b.add(first, second), third);
  };
  auto sub = [&](Value first, Value second, Value third) {
    return b.sub(b.sub(first, second), third);
  };
  std::array<std::array<Value, kInputs>, kOutputs> rows;
  Value base = b.mulIndex(tile, kLanes);
  for (int64_t x = 0; x < kInputs; ++x) {
    std::array<Value, kInputs> column;
    for (int64_t y = 0; y < kInputs; ++y)
      column[y] = b.load(sums, b.addIndex(base, (y * kInputs + x) * mostTiles() * kLanes));
    rows[0][x] = add(column[0], column[1], column[2]);
    rows[1][x] = sub(column[1], column[2], column[3]);
  }
  SmallVector<Value> results;
  for (auto &row : rows)
    for (Value sum : {add(row[0], row[1], row[2]), sub(row[1], row[2], row[3])})
      results.push_back(arith::ShRSIOp::create(b, sum, b.constI(2)));
  return results;
}
