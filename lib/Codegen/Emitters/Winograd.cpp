//===- Winograd.cpp - convolutions by fewer products ----------------------===//
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

static constexpr int64_t kLanes = kPanelOutputs;
/// A caller's stack may be small. So few channels also have sums of which four times each fits in
/// i32; on the way there they may wrap.
static constexpr int64_t kMostStackBytes = 80 * 1024;
static_assert(kMostStackBytes / (4 * 16 * 2) * 9 * 128 * 255 <
              std::numeric_limits<int32_t>::max() / 4);

//===----------------------------------------------------------------------===//
// One axis
//===----------------------------------------------------------------------===//

/// With a stride of two, even inputs are those of a filter of the outer taps; the middle one is
/// multiplied as it is.
WinogradAxis::Values WinogradAxis::transformInput(KernelBuilder &b, ArrayRef<Value> in) const {
  if (taps == 1)
    return Values(in);
  if (stride == 1)
    return {b.sub(in[0], in[2]), b.add(in[1], in[2]), b.sub(in[2], in[1]), b.sub(in[1], in[3])};
  return {b.sub(in[0], in[2]), in[2], b.sub(in[2], in[4]), in[1], in[3]};
}

WinogradAxis::Values WinogradAxis::transformFilter(KernelBuilder &b, ArrayRef<Value> w) const {
  if (taps == 1)
    return Values(w);
  Value outer = b.add(w[0], w[2]);
  if (stride == 1)
    return {b.add(w[0], w[0]), b.add(outer, w[1]), b.sub(outer, w[1]), b.add(w[2], w[2])};
  return {w[0], outer, w[2], w[1], w[1]};
}

WinogradAxis::Values WinogradAxis::transformSums(KernelBuilder &b, ArrayRef<Value> sums) const {
  if (taps == 1)
    return Values(sums);
  if (stride == 1)
    return {b.add(b.add(sums[0], sums[1]), sums[2]), b.sub(b.sub(sums[1], sums[2]), sums[3])};
  return {b.add(b.add(sums[0], sums[1]), sums[3]), b.add(b.sub(sums[1], sums[2]), sums[4])};
}

namespace {
/// The values of a tile, [row][column].
using Grid = SmallVector<WinogradAxis::Values>;
using Transform = WinogradAxis::Values (WinogradAxis::*)(KernelBuilder &, ArrayRef<Value>) const;
} // namespace

/// Transforms rows, then columns.
static Grid transformGrid(KernelBuilder &b, ArrayRef<WinogradAxis::Values> grid,
                          const WinogradAxis &vertical, const WinogradAxis &horizontal,
                          Transform transform) {
  Grid rows =
      llvm::map_to_vector(grid, [&](const auto &row) { return (horizontal.*transform)(b, row); });
  Grid result;
  for (size_t x = 0; x < rows[0].size(); ++x) {
    auto column = llvm::map_to_vector(rows, [&](const auto &row) { return row[x]; });
    auto values = (vertical.*transform)(b, column);
    result.resize(values.size());
    for (auto [row, value] : llvm::zip(result, values))
      row.push_back(value);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Which convolutions, and how many tiles
//===----------------------------------------------------------------------===//

/// Of outputs so far apart, in elements of taps; 0: no stride.
static WinogradAxis getAxis(int64_t taps, int64_t outputStep, int64_t tapStep) {
  return {taps, taps > 1 && outputStep % tapStep == 0 ? outputStep / tapStep : 0};
}

WinogradTiles::WinogradTiles(const DenseShape &shape, const TileProducts &products)
    : shape(shape), products(products),
      vertical(getAxis(shape.kernelRows, shape.inRow, shape.kernelRowStep)),
      horizontal(getAxis(shape.kernelColumns, shape.inPixel, shape.kernelColumnStep)) {}

/// At least 1.4 times fewer: transforms take time.
bool WinogradTiles::savesProducts() const {
  int64_t products = outputRows() * outputColumns() * vertical.taps * horizontal.taps;
  return 10 * products >= 14 * countPlaces();
}

bool WinogradTiles::fits() const {
  constexpr int64_t kFewestTiles = 9;
  return products.readsI16() && shape.isInteger && shape.groups == 1 && shape.filterGroups == 1 &&
         shape.pixelsPerVector == 1 && vertical.isKnown() && horizontal.isKnown() &&
         savesProducts() && shape.channels >= kLanes && shape.channels % products.inputs() == 0 &&
         shape.rows >= outputRows() && shape.columns >= outputColumns() &&
         countTiles() >= kFewestTiles && kGroup * bytesPerTile() <= kMostStackBytes;
}

int64_t WinogradTiles::mostTiles() const {
  constexpr int64_t kMost = 16;
  return llvm::alignDown(std::min(kMost, kMostStackBytes / bytesPerTile()), kGroup);
}

/// As many as have room share weights that lie far away; else all threads have some.
int64_t WinogradTiles::tilesPerBlock() const {
  constexpr int64_t kFewestBlocks = 8, kNear = 256 * 1024;
  if (shape.panels() * countPlaces() * placeSize() > kNear)
    return mostTiles();
  return std::clamp<int64_t>(llvm::alignDown(countTiles() / kFewestBlocks, kGroup), kGroup,
                             mostTiles());
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
  return {image, b.getBlock(row, shape.rows, outputRows()),
          b.getBlock(column, shape.columns, outputColumns())};
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// The channels [begin, end) of all panels, one behind the other. Bounds: channels.
static void writeWinograd(EmittedCode &c, Value from, Value to, Index channels, Index begin,
                          Index end, const WinogradAxis &vertical, const WinogradAxis &horizontal) {
  Index tap = channels * kLanes; // elements
  int64_t taps = vertical.taps * horizontal.taps, places = vertical.places() * horizontal.places();
  c.loop(begin, end, [&](Index position) {
    Index panel = position / channels, channel = position % channels;
    c.loop(c.index(0), c.index(kLanes), [&](Index lane) {
      Index source = panel * taps * tap + channel / 4 * (4 * kLanes) + lane * 4 + channel % 4;
      Index target = panel * places * tap + channel / 2 * (2 * kLanes) + lane * 2 + channel % 2;
      Grid filter(vertical.taps);
      for (int64_t i = 0; i < taps; ++i)
        filter[i / horizontal.taps].push_back(
            arith::ExtSIOp::create(c.b, c.b.getI16Type(), c.b.load(from, source + tap * i)));
      Index place = target;
      for (ArrayRef<Value> row :
           transformGrid(c.b, filter, vertical, horizontal, &WinogradAxis::transformFilter))
        for (Value value : row) {
          c.b.store(value, to, place);
          place = place + tap;
        }
    });
  });
}

KernelArgument WinogradTiles::transformWeights(ProgramEmitter &emitter,
                                               KernelArgument panels) const {
  Builder b = emitter.getBuilder();
  int64_t bytes = shape.panels() * countPlaces() * placeSize();
  std::string function = llvm::formatv("write_winograd_{0}x{1}_{2}x{3}", vertical.taps,
                                       horizontal.taps, vertical.places(), horizontal.places());
  KernelArgument words = emitter.prepare(
      {function,
       panels,
       MemRefType::get({bytes / 2}, b.getI16Type()),
       {shape.channels},
       shape.panels() * shape.channels},
      [&](EmittedCode &c, Value from, Value to, ArrayRef<Index> bounds, Index begin, Index end) {
        writeWinograd(c, from, to, bounds[0], begin, end, vertical, horizontal);
      });
  return {words.address, MemRefType::get({bytes}, b.getI8Type())};
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

void WinogradTiles::allocate(KernelBuilder &b) {
  int64_t vectors = countPlaces() * mostTiles();
  transformed = b.allocateOnStack(vectors * shape.channels * 2, b.getI8Type());
  sums = b.allocateOnStack(vectors * kLanes, b.getI32Type());
}

/// Sixteen channels of a tile.
void WinogradTiles::transformChannels(KernelBuilder &b, Value input, Value from, Value to) {
  auto words = VectorType::get({kLanes}, b.getI16Type());
  Grid inputs(vertical.places());
  for (int64_t y = 0; y < vertical.places(); ++y) {
    Value row = b.addIndex(from, y * shape.kernelRowStep);
    for (int64_t x = 0; x < horizontal.places(); ++x) {
      Value bytes = b.load(input, b.addIndex(row, x * shape.kernelColumnStep));
      inputs[y].push_back(arith::ExtUIOp::create(b, words, bytes));
    }
  }
  int64_t place = 0;
  for (ArrayRef<Value> row :
       transformGrid(b, inputs, vertical, horizontal, &WinogradAxis::transformInput))
    for (Value value : row) {
      Value at = b.addIndex(to, place++ * mostTiles() * shape.channels * 2);
      vector::StoreOp::create(b, b.bitcast(value, b.getI8Type()), transformed, ValueRange{at});
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

/// The sums of a group of tiles at one place, over all channels.
SmallVector<Value> WinogradTiles::multiplySteps(KernelBuilder &b, Value weights, Value weightsBase,
                                                Value in) {
  SmallVector<Value> zeros(kGroup, b.constI(0));
  return b.loop(
      b.index(0), b.index(shape.channels / 2), 1, zeros, [&](Value step, ValueRange carried) {
        Value loaded = products.load(
            b, weights, b.addIndex(weightsBase, b.mulIndex(step, products.partSize())));
        Value at = b.addIndex(in, b.mulIndex(step, 4));
        SmallVector<Value> next;
        for (auto [i, sum] : llvm::enumerate(carried)) {
          Value two = products.broadcast(b, transformed, b.addIndex(at, i * shape.channels * 2));
          next.push_back(products.multiplyAdd(b, sum, products.fromBytes(b, two), loaded));
        }
        return next;
      });
}

void WinogradTiles::multiply(KernelBuilder &b, Value weights, Value block, Value panel) {
  Value groups = countGroups(b, block);
  b.loop(0, countPlaces(), [&](Value place) {
    Value weightsBase =
        b.mulIndex(b.addIndex(b.mulIndex(panel, countPlaces()), place), placeSize());
    b.loop(b.index(0), groups, 1, [&](Value group) {
      Value first = b.addIndex(b.mulIndex(place, mostTiles()), b.mulIndex(group, kGroup));
      auto done = multiplySteps(b, weights, weightsBase, b.mulIndex(first, shape.channels * 2));
      for (auto [i, sum] : llvm::enumerate(done))
        b.store(sum, sums, b.mulIndex(b.addIndex(first, i), kLanes));
    });
  });
}

SmallVector<Value> WinogradTiles::transformSums(KernelBuilder &b, Value tile) {
  Grid grid(vertical.places());
  Value base = b.mulIndex(tile, kLanes);
  for (int64_t place = 0; place < countPlaces(); ++place)
    grid[place / horizontal.places()].push_back(
        b.load(sums, b.addIndex(base, place * mostTiles() * kLanes)));
  SmallVector<Value> results;
  int64_t shift = vertical.shift() + horizontal.shift();
  for (ArrayRef<Value> row :
       transformGrid(b, grid, vertical, horizontal, &WinogradAxis::transformSums))
    for (Value sum : row)
      results.push_back(shift == 0 ? sum : arith::ShRSIOp::create(b, sum, b.constI(shift)));
  return results;
}
