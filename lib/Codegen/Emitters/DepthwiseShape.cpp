//===- DepthwiseShape.cpp - what a depthwise kernel walks over ------------===//
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

/// Dot products are of four rows: a kernel of one row is walked over as one of one column.
static void transpose(DepthwiseShape &s) {
  std::swap(s.kernelRows, s.kernelColumns);
  std::swap(s.rowStride, s.columnStride);
  std::swap(s.rowDilation, s.columnDilation);
  std::swap(s.rows, s.columns);
  std::swap(s.inRow, s.inPixel);
  std::swap(s.outRow, s.outPixel);
  s.isTransposed = true;
}

/// `isTight`: pixels lie side by side.
static BlockKind chooseKind(const DepthwiseShape &s, const CpuLevel &level, bool isTight) {
  // Every other pixel, if one shuffle of two vectors brings them side by side.
  bool hasFewRegisters = level.accumulators < 8;
  // Many registers of 16 bytes: no shuffles of more, and columns stay in registers.
  bool hasSmallRegisters = level.registerBits == 128 && level.accumulators >= 4;
  bool canStride = s.columnStride == 1 || (s.columnStride == 2 && s.channels >= 4 &&
                                           (hasSmallRegisters || !hasFewRegisters));
  // Eight channels of two rows: their weights stay in registers, beside the columns.
  bool hasHalfBlocks = hasSmallRegisters && s.strip == 2 && s.inputRows() == 4 &&
                       s.kernelColumns <= 3 && s.columnDilation == 1 && s.channels % 8 == 0;
  if (hasHalfBlocks)
    return BlockKind::rows8;
  if (s.channels >= 64)
    return BlockKind::channels64;
  if (64 % s.channels == 0 && isTight && !s.isTransposed && canStride &&
      s.columns * s.channels >= 64 && !(hasSmallRegisters && s.channels >= 16))
    return hasSmallRegisters ? BlockKind::flat16 : BlockKind::flat64;
  return BlockKind::channels16;
}

std::optional<DepthwiseShape> codegen::getDepthwiseShape(const FusedOp &fused,
                                                         const CpuLevel &level) {
  auto conv = dyn_cast<nn::ConvOp>(fused.product);
  if (!conv)
    return std::nullopt;
  RankedTensorType in = getTensorType(fused.getInput()), out = getTensorType(fused.getResult());
  nn::LayoutAttr inLayout = getLayout(in), outLayout = getLayout(out);
  int64_t channels = out.getDimSize(1), multiplier = channels / in.getDimSize(1);
  if (!inLayout || !outLayout || !conv.isDepthwise() || 8 % multiplier != 0)
    return std::nullopt;
  auto filter = conv.getFilter().getType().getShape();
  Strides x = getStrides(in), y = getStrides(out);
  DepthwiseShape s;
  s.channels = channels;
  s.multiplier = multiplier;
  s.kernelRows = filter[2];
  s.kernelColumns = filter[3];
  s.rowStride = conv.getStrides()[0];
  s.columnStride = conv.getStrides()[1];
  s.rowDilation = conv.getDilations()[0];
  s.columnDilation = conv.getDilations()[1];
  s.rows = out.getDimSize(2);
  s.columns = out.getDimSize(3);
  s.inRow = x.steps[2];
  s.inPixel = x.steps[3];
  s.inBase = x.offset - conv.getPads()[0] * x.steps[2] - conv.getPads()[1] * x.steps[3];
  s.outRow = y.steps[2];
  s.outPixel = y.steps[3];
  s.outBase = y.offset;
  s.images = out.getDimSize(0);
  s.inImage = x.steps[0];
  s.outImage = y.steps[0];
  if (isQuantized(in) && s.kernelRows == 1 && s.kernelColumns > 1)
    transpose(s);
  // Rows that a whole number of quads serves: two for three kernel rows, four for five, where
  // registers hold their sums. They save interleaving, not dot products; at the level with the
  // fewest registers that is not worth the code.
  bool isStrip =
      s.rowStride == 1 && s.rowDilation == 1 && s.kernelRows > 1 && level.accumulators >= 4;
  int64_t wanted = !isStrip ? 1 : s.kernelRows == 5 && level.accumulators >= 8 ? 4 : 2;
  s.strip = std::min(wanted, s.rows);
  bool anyOrder = Epilogue::takesAnyOrder(fused) && isQuantized(out);
  bool isTight =
      inLayout.getChannels() * multiplier == channels && outLayout.getChannels() == channels;
  s.kind = anyOrder ? chooseKind(s, level, isTight) : BlockKind::channels16;
  s.parts = s.blockSize() == 64 && level.accumulators < 8 ? 4 : 1;
  return s;
}

Value DepthwiseShape::getInput(KernelBuilder &b, Value i) const {
  return multiplier == 1 ? i : b.createIndex<arith::DivUIOp>(i, b.index(multiplier));
}

Value DepthwiseShape::repeatChannels(KernelBuilder &b, Value loaded) const {
  if (multiplier == 1)
    return loaded;
  int64_t size = cast<VectorType>(loaded.getType()).getNumElements();
  SmallVector<int64_t> order;
  for (int64_t lane = 0; lane < size * multiplier; ++lane)
    order.push_back(lane / multiplier);
  return vector::ShuffleOp::create(b, loaded, loaded, order);
}
