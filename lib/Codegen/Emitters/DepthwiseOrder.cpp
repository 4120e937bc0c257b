//===- DepthwiseOrder.cpp - depthwise weights in the order of kernels -----===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DepthwiseShape.h"
#include "Packing.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;
using codegen::Index;

/// Where a lane's weight of an input row lies among the 64 of a vector.
using PlaceFn = function_ref<Index(Index lane, Index inQuad)>;

/// Writes the lanes [begin, end) of all blocks. Bounds: channels, parts of a block, vectors of a
/// part, output rows of a strip, row stride, kernel rows and columns. The memory is zero before.
static void writeStrips(EmittedCode &c, Value from, Value to, ArrayRef<Index> bounds, Index begin,
                        Index end, PlaceFn getPlace) {
  Index channels = bounds[0], parts = bounds[1], vectors = bounds[2], strip = bounds[3],
        rowStride = bounds[4], kernelRows = bounds[5], kernelColumns = bounds[6];
  Index partSize = vectors * 16, block = parts * partSize;
  Index inputRows = (strip - 1) * rowStride + kernelRows;
  Index columnSize = (inputRows + 3) / 4 * vectors * 64, outputSize = kernelColumns * columnSize;
  // The last of two rows behind whole quads moves by one place.
  Index moved = c.select(inputRows % 4 == 2, inputRows - 1, inputRows);
  c.loop(begin, end, [&](Index position) {
    Index part = position / partSize, vector = position % partSize / 16, lane = position % 16;
    Index first = c.min(part / parts * block, c.max(channels, block) - block);
    Index inPart = lane / 4 * 4 * vectors + vector * 4 + lane % 4;
    Index channel = (first + part % parts * partSize + inPart) % channels;
    Index source = channel * kernelRows * kernelColumns,
          target = part * strip * outputSize + vector * 64;
    c.loop(c.index(0), strip * kernelRows, [&](Index i) {
      Index output = i / kernelRows, kernelRow = i % kernelRows;
      Index row = output * rowStride + kernelRow;
      Index place = target + output * outputSize + row / 4 * vectors * 64 +
                    getPlace(lane, row % 4 + row / moved);
      c.loop(c.index(0), kernelColumns, [&](Index column) {
        c.copy(to, place + column * columnSize, from, source + kernelRow * kernelColumns + column);
      });
    });
  });
}

static void writeDepthwise(EmittedCode &c, Value from, Value to, ArrayRef<Index> bounds,
                           Index begin, Index end) {
  writeStrips(c, from, to, bounds, begin, end,
              [](Index lane, Index inQuad) { return lane * 4 + inQuad; });
}

/// The even rows of a quad before the odd ones, widened as by widenToI16.
static void writeDepthwiseI16(EmittedCode &c, Value from, Value to, ArrayRef<Index> bounds,
                              Index begin, Index end) {
  writeStrips(c, from, to, bounds, begin, end,
              [](Index lane, Index inQuad) { return lane * 2 + inQuad % 2 * 32 + inQuad / 2; });
}

/// The lanes [begin, end) of blocks of eight channels and two output rows. Bounds: kernel rows and
/// columns. The memory is zero before.
static void writePairs(EmittedCode &c, Value from, Value to, ArrayRef<Index> bounds, Index begin,
                       Index end) {
  Index kernelRows = bounds[0], kernelColumns = bounds[1];
  c.loop(begin, end, [&](Index position) {
    Index block = position / 16, lane = position % 16, output = lane / 8;
    Index source = (block * 8 + lane % 8) * kernelRows * kernelColumns;
    Index target = block * kernelColumns * 64 + lane * 4 + output;
    c.loop(c.index(0), kernelRows, [&](Index row) {
      c.loop(c.index(0), kernelColumns, [&](Index column) {
        c.copy(to, target + row + column * 64, from, source + row * kernelColumns + column);
      });
    });
  });
}

KernelArgument codegen::getDepthwiseWeights(ProgramEmitter &emitter, nn::ConstantOp weights,
                                            const DepthwiseShape &shape, bool asI16) {
  Builder b = emitter.getBuilder();
  if (shape.kind == BlockKind::rows8) {
    assert(!asI16 && "levels with rows of eight channels multiply bytes");
    int64_t lanes = shape.channels * 2;
    auto type = MemRefType::get({lanes * 4 * shape.kernelColumns}, b.getI8Type());
    KernelArgument pairs = emitter.prepare({"write_depthwise_pairs",
                                            emitter.getRowMajor(weights, OCTET_WEIGHTS_UNIT),
                                            type,
                                            {shape.kernelRows, shape.kernelColumns},
                                            lanes},
                                           writePairs);
    return {pairs.address, type};
  }
  int64_t lanes = shape.blocks() * shape.blockSize();
  int64_t count = lanes * 4 * shape.strip * shape.kernelColumns * shape.quads();
  KernelArgument order =
      emitter.prepare({asI16 ? "write_depthwise_i16" : "write_depthwise",
                       emitter.getRowMajor(weights, OCTET_WEIGHTS_UNIT),
                       MemRefType::get({count}, asI16 ? b.getI16Type() : b.getI8Type()),
                       {shape.channels, shape.parts, shape.vectors(), shape.strip, shape.rowStride,
                        shape.kernelRows, shape.kernelColumns},
                       lanes},
                      asI16 ? writeDepthwiseI16 : writeDepthwise);
  return {order.address, MemRefType::get({asI16 ? count * 2 : count}, b.getI8Type())};
}
