//===- Dense.cpp - convolutions and linear layers as register tiles -------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile holds pixels x panels of sixteen output channels in accumulators, or vectors of two pixels
// of eight channels or four of four. Borders are in the input's buffer, so every tile is alike but
// for the taps that none of its pixels needs; the last tile of a row overlaps the one before.
//
//===----------------------------------------------------------------------===//

#include "DenseKernel.h"
#include "EpilogueBounds.h"
#include "Packing.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

static const TileProducts &chooseProducts(const FusedOp &fused, const DenseShape &shape,
                                          const CpuLevel &level,
                                          std::optional<StepOrders> &orders) {
  if (!shape.isInteger)
    return getFloatProducts();
  Value filter = fused.getOuter(fused.product->getOperand(1));
  auto weights = nn::getConstantValues<int8_t>(filter);
  bool hasLeastWeights = succeeded(weights) && llvm::is_contained(*weights, -128);
  bool fillsHalf = shape.outputs == kPanelOutputs * 3 / 2; // of 32 lanes a quarter: half panels
  bool isPlain = !fillsHalf && succeeded(weights) && shape.filterGroups == 1 &&
                 shape.pixelsPerVector == 1 && shape.stepsPerRun() < StepOrders::kMostSteps &&
                 !WinogradTiles(shape, *level.products).fits();
  auto countSaved = [&]() -> double {
    if (!isPlain)
      return 0;
    PanelOrder order = shape.getPanelOrder(getTensorType(filter).getDimSize(1));
    orders.emplace(makeBytePanels(filter.getDefiningOp<nn::ConstantOp>(), order),
                   shape.stepsPerRun());
    return orders->getSaved();
  };
  auto hasShortResults = [&] {
    return ShiftedSums(fused, level, /*isRepeated=*/shape.pixels() > 1).hasShortResults();
  };
  return level.products->forDense({shape.pixels(), shape.columns, shape.runLength(),
                                   shape.stepsPerPanel(),
                                   shape.panels() * shape.stepsPerPanel() * 64, hasLeastWeights,
                                   countSaved, shape.pixelsPerVector > 1, hasShortResults});
}

DenseKernel::DenseKernel(ProgramEmitter &emitter, const FusedOp &fused, const DenseShape &shape)
    : emitter(emitter), fused(fused), shape(shape), signature(emitter),
      products(chooseProducts(fused, shape, emitter.getLevel(), orders)) {
  this->shape.bytesPerStep = products.inputs();
  int64_t accumulators = products.countSums(emitter.getLevel().accumulators),
          steps = this->shape.stepsPerPanel();
  if (WinogradTiles tiles(this->shape, products); tiles.fits()) {
    winograd.emplace(tiles);
    tile = {winograd->outputColumns(), /*panels=*/1};
    return;
  }
  if (products.sortsSteps()) {
    tile = chooseTile(accumulators, shape.columns, /*panels=*/1, steps);
    return;
  }
  if (!shape.isInteger) {
    tile = chooseFloatTile(emitter.getLevel(), shape.columns, shape.panels(), steps,
                           shape.pixelsPerVector);
    return;
  }
  tile = canHalvePanel()
             ? chooseHalvedTile(accumulators, shape.columns, shape.panels(), steps)
             : chooseTile(accumulators, shape.columns, shape.panels(), steps,
                          shape.pixelsPerVector * products.pixelsPerSum(), products.getTileCosts());
}

bool DenseKernel::addArguments() {
  Value in = fused.getInput(), filter = fused.getOuter(fused.product->getOperand(1));
  auto constant = filter.getDefiningOp<nn::ConstantOp>();
  if (!constant)
    return false;
  int64_t channels = getTensorType(filter).getDimSize(1),
          outputs = getTensorType(filter).getDimSize(0);
  ShiftedSums shifted;
  input = signature.add(emitter.getBuffer(in));
  int64_t block =
      shape.hasPartialGroups() ? 0 : kPanelOutputs; // groups begin anywhere: natural order
  auto addWeights = [&] {
    PanelOrder order = shape.getPanelOrder(channels * shape.filterGroups);
    KernelArgument panels =
        getPanels(emitter, constant, order, /*asI16=*/products.readsI16() && !winograd);
    if (winograd)
      panels = winograd->transformWeights(emitter, panels);
    if (products.sortsSteps())
      panels = SortedSteps(shape.stepsPerRun()).sort(emitter, panels, *orders);
    if (products.readsJoinedSteps())
      panels = joinSteps(emitter, panels, llvm::divideCeil(shape.runLength(), 4));
    weights = signature.add(panels);
  };
  if (shape.isInteger) {
    auto values = nn::getConstantValues<int8_t>(filter);
    auto bias = getBiasValues<int32_t>(fused);
    if (failed(values) || failed(bias) || failed(getAddends(fused)))
      return false;
    addWeights();
    int64_t outputsPerGroup = outputs / (shape.groups * shape.filterGroups);
    auto sums = makeInitialSums(outputs, paramsOf(in), *values, *bias, channels,
                                shape.kernelRows * shape.kernelColumns, outputsPerGroup);
    shifted = ShiftedSums(fused, emitter.getLevel(), /*isRepeated=*/shape.pixels() > 1);
    initial =
        shifted ? shifted.addSums(signature, sums, block) : signature.addParameters(sums, block);
  } else {
    auto sums = getBiasValues<float>(fused);
    if (failed(nn::getConstantValues<float>(filter)) || failed(sums))
      return false;
    addWeights();
    sums->resize(outputs, 0.0f);
    initial = signature.addParameters(*sums, block);
  }
  epilogue.emplace(fused, signature, block, shifted);
  signature.prepareParameters();
  return true;
}

void DenseKernel::emit(const kernel::KernelRow &row) {
  emitter.addStep(fused.op, row, signature.arguments, countUnits(),
                  [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
                    if (winograd)
                      return emitWinograd(b, args, begin, end);
                    if (shape.groups == 1)
                      return emitGroup(b, args, begin, end, Value());
                    b.loop(0, shape.groups,
                           [&](Value group) { emitGroup(b, args, begin, end, group); });
                  });
}

void DenseKernel::emitGroup(KernelBuilder &b, ValueRange args, Value begin, Value end,
                            Value group) {
  Origin origin;
  if (group) {
    origin.in = b.mulIndex(group, shape.channels);
    origin.panel = b.mulIndex(group, shape.panels());
    origin.output = b.mulIndex(group, shape.outputs);
  }
  auto emitPanels = [&](Panels panels) {
    b.loop(begin, end, 1, [&](Value unit) { emitUnit(b, args, unit, origin, panels); });
  };
  if (b.keepsStructure && !tile.hasHalfPanel) // what divides in one shape does not in another
    return b.loopOverBlocks(shape.panels(), tile.panels,
                            [&](Value first) { emitPanels({first, tile.panels}); });
  int64_t whole = wholePanels() / tile.panels, rest = wholePanels() % tile.panels;
  if (tile.hasHalfPanel && rest == 0) {
    --whole;
    rest = tile.panels;
  }
  b.loop(0, whole, [&](Value i) { emitPanels({b.mulIndex(i, tile.panels), tile.panels}); });
  if (rest)
    emitPanels({b.index(whole * tile.panels), rest, tile.hasHalfPanel});
}

void DenseKernel::emitWinograd(KernelBuilder &b, ValueRange args, Value begin, Value end) {
  b.lanes = 16;
  b.registerLanes = products.registerLanes();
  winograd->allocate(b);
  b.loop(begin, end, 1, [&](Value block) {
    winograd->transformInput(b, args[input], block);
    b.loop(0, shape.panels(), [&](Value panel) {
      winograd->multiply(b, args[weights], block, panel);
      winograd->forTiles(b, block, [&](Value number) {
        auto [image, row, column] = winograd->getPlace(b, block, number);
        Origin origin;
        origin.image = image;
        origin.out = b.mulIndex(image, shape.outImage);
        Panels panels{panel, 1};
        Value sums = b.load(args[initial], getPositions(b, origin, panel, 1)[0]);
        auto results = winograd->transformSums(b, number);
        for (Value &result : results)
          result = b.add(result, sums);
        for (int64_t y = 0; y < winograd->outputRows(); ++y)
          storeTile(b, args, ArrayRef(results).slice(y * tile.vectors, tile.vectors), origin,
                    b.addIndex(row, y), column, panels);
      });
    });
  });
  b.lanes = 1;
}

void DenseKernel::emitUnit(KernelBuilder &b, ValueRange args, Value unit, Origin origin,
                           Panels panels) {
  if (shape.images > 1) {
    std::tie(origin.image, unit) = b.divideIndex(unit, unitsPerImage(), shape.images);
    Value inImage = b.mulIndex(origin.image, shape.inImage);
    origin.in = origin.in ? b.addIndex(origin.in, inImage) : inImage;
    origin.out = b.mulIndex(origin.image, shape.outImage);
  }
  if (shape.rows == 1)
    return emitTile(b, args, origin, b.index(0), b.getBlock(unit, shape.columns, tilePixels()),
                    panels);
  b.loopOverBlocks(shape.columns, tilePixels(),
                   [&](Value column) { emitTile(b, args, origin, unit, column, panels); });
}

void DenseKernel::emitTile(KernelBuilder &b, ValueRange args, const Origin &origin, Value row,
                           Value column, Panels of) {
  b.lanes = 16;
  b.registerLanes = products.registerLanes();
  auto [firstPanel, panels, hasHalf] = of;
  SmallVector<Value> positions = getPositions(b, origin, firstPanel, panels);
  auto loadInitialSums = [&](int64_t panel) { return b.load(args[initial], positions[panel]); };
  // Sums that are the initial ones as they lie are loaded for each vector of pixels.
  bool reloads = b.level.reloadsOperands && shape.isInteger && shape.pixels() > 1 &&
                 products.vectorsPerSum() == 1;
  // Integer sums begin with the bias, float sums end with it.
  SmallVector<Value> acc, tileAcc;
  for (int64_t p = 0; p < panels && !reloads; ++p)
    acc.append(shape.isInteger ? products.openSum(b, loadInitialSums(p))
                               : SmallVector<Value>{b.constF(0)});
  for (int64_t i = 0; i < tile.vectors; ++i) {
    for (int64_t p = 0; p < panels && reloads; ++p)
      tileAcc.push_back(b.reload(args[initial], positions[p]));
    tileAcc.append(acc);
  }
  if (hasHalf)
    tileAcc.append(tile.vectors / 2,
                   b.loadRepeated(args[initial], getHalfPosition(b), kPanelOutputs / 2));
  Value inBase = b.addIndex(
      b.addIndex(b.mulIndex(row, shape.inRow), b.mulIndex(column, shape.inPixel)), shape.inBase);
  if (origin.in)
    inBase = b.addIndex(inBase, origin.in);
  int64_t panelSize = shape.kernelRows * shape.runsPerRow() * getRunSize(shape, products);
  Value panel = origin.panel ? b.addIndex(origin.panel, firstPanel) : firstPanel;
  Taps rows = chooseTaps(b, shape.rowWindow, row, 1),
       columns = chooseTaps(b, shape.columnWindow, column, tilePixels());
  tileAcc = TileSums(shape, products, tile, args[input], args[weights], waitsForWeights(b))
                .add(b, inBase, b.mulIndex(panel, panelSize), panels, tileAcc, rows, columns);
  tileAcc = closeSums(b, tileAcc, panels);
  for (int64_t p = 0; p < panels && !shape.isInteger; ++p) {
    Value bias = loadInitialSums(p);
    for (int64_t i = 0; i < tile.vectors; ++i)
      tileAcc[i * panels + p] = b.add(tileAcc[i * panels + p], bias);
  }
  storeTile(b, args, tileAcc, origin, row, column, of);
  b.lanes = 1;
}

Taps DenseKernel::chooseTaps(KernelBuilder &b, const Window &window, Value first,
                             int64_t count) const {
  constexpr double kMostInside = 0.97; // finding them takes time, too
  auto isZero = [](int32_t zeroPoint) { return zeroPoint == 0; };
  bool hasZeros = !shape.isInteger || llvm::all_of(paramsOf(fused.getInput()).zeroPoints, isZero);
  // Kernels of several shapes are alike where structure is kept.
  bool isWorthwhile =
      b.keepsStructure ? !window.isAlwaysInside() : window.getShareInside(count) <= kMostInside;
  if (hasZeros && isWorthwhile)
    return getTaps(b, window, first, count);
  return {b.index(0), b.index(window.kernel), /*origin=*/{}};
}

/// Sums of pixels with panels, one vector for each.
SmallVector<Value> DenseKernel::closeSums(KernelBuilder &b, ArrayRef<Value> sums, int64_t panels) {
  SmallVector<Value> closed(storedVectors() * panels);
  llvm::append_range(closed, sums.drop_front(tile.vectors * panels * products.partsPerSum()));
  int64_t pixels = products.pixelsPerSum(), parts = products.partsPerSum();
  for (int64_t i = 0; i < tile.vectors * panels; ++i)
    for (auto [pixel, vector] :
         llvm::enumerate(products.closeSums(b, sums.slice(i * parts, parts))))
      closed[(i / panels * pixels + pixel) * panels + i % panels] = vector;
  return closed;
}

/// The first output of each panel; the last panel of a group may overlap the one before.
SmallVector<Value> DenseKernel::getOutputs(KernelBuilder &b, const Origin &origin, Value firstPanel,
                                           int64_t panels) {
  SmallVector<Value> outputs;
  for (int64_t p = 0; p < panels; ++p) {
    Value output = b.addIndex(b.mulIndex(firstPanel, 16), 16 * p);
    if (mayOverlap(b, p, panels))
      output = b.clampBlock(output, shape.outputs, 16);
    outputs.push_back(origin.output ? b.addIndex(origin.output, output) : output);
  }
  return outputs;
}

/// Where each panel's values lie in arrays of one value a lane or, in natural order, an output.
SmallVector<Value> DenseKernel::getPositions(KernelBuilder &b, const Origin &origin,
                                             Value firstPanel, int64_t panels) {
  if (shape.hasPartialGroups())
    return getOutputs(b, origin, firstPanel, panels);
  Value first = b.mulIndex(origin.panel ? b.addIndex(origin.panel, firstPanel) : firstPanel, 16);
  return llvm::map_to_vector(llvm::seq(panels),
                             [&](int64_t p) { return b.addIndex(first, 16 * p); });
}

static bool emitTiles(ProgramEmitter &emitter, const FusedOp &fused, const kernel::KernelRow &row) {
  std::optional<DenseShape> shape = getDenseShape(fused);
  if (!shape || (&row == &kernel::Kernels::gemv && shape->pixels() > 1))
    return false;
  DenseKernel kernel(emitter, fused, *shape);
  if (!kernel.addArguments())
    return false;
  kernel.emit(row);
  return true;
}

#define EMIT_TILES(name)                                                                           \
  template <>                                                                                      \
  bool codegen::emitProductAs<kernel::Kernels::name>(ProgramEmitter & emitter,                     \
                                                     const FusedOp &fused) {                       \
    return emitTiles(emitter, fused, kernel::Kernels::name);                                       \
  }
EMIT_TILES(gemv)
EMIT_TILES(dense)
EMIT_TILES(dense_f32)
