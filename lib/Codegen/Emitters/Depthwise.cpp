//===- Depthwise.cpp - depthwise convolutions -----------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One quad of rows (DepthwiseQuads) serves all output rows of a strip (each with its own weights,
// zero where a row is not its own), and all pixels whose kernels cover it: in registers if these
// hold it, else in memory. A block is 64 channels (its four vectors stay in the order that
// unpacking gives, parameters are permuted instead), sixteen channels, or 64 bytes of a row across
// pixels where channels divide 64. Levels with few registers take 64 bytes in four parts of
// sixteen, each in natural order, which the permuted parameters have in quarters.
//
//===----------------------------------------------------------------------===//

#include "DepthwiseQuads.h"
#include "Epilogue.h"
#include "EpilogueBounds.h"
#include "Packing.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

namespace {

/// The arguments and the code of one depthwise kernel on bytes.
class DepthwiseKernel {
public:
  DepthwiseKernel(ProgramEmitter &emitter, const FusedOp &fused, const DepthwiseShape &shape)
      : emitter(emitter), fused(fused), shape(shape), products(*emitter.getLevel().products),
        quads(shape, products), signature(emitter) {}

  bool addArguments();
  void emit();

private:
  static constexpr int64_t kMostPixels = 16; ///< whose columns' quads are in memory together
  static constexpr int64_t kMostStackBytes = 32 * 1024; ///< a caller's stack may be small
  /// Where the quads of columns that more than one pixel reads are kept.
  enum class Sharing { none, registers, memory };
  Sharing chooseSharing() const;

  /// A part of a block of channels, at a strip of output rows.
  struct Block {
    Value image, firstRow, firstChannel;
    Value position; ///< of its first parameter
    Value weights;  ///< where its weights begin
  };

  struct Channels {
    Value block, first, firstPart;
  };
  Channels getChannels(KernelBuilder &b, Value block) const;
  Value getPosition(KernelBuilder &b, Value block) const;
  int64_t strips() const { return llvm::divideCeil(shape.rows, shape.strip); }
  void emitStrip(KernelBuilder &b, ValueRange args, const Channels &of, Value unit);

  SmallVector<Value> loadColumn(KernelBuilder &b, ValueRange args, Value base) {
    return quads.loadColumn(b, args[input], base);
  }
  SmallVector<Value> loadInitialSums(KernelBuilder &b, ValueRange args, Value position);
  /// Gives the quads of the input column under a kernel column.
  using QuadsFn = function_ref<SmallVector<Value>(Value kernelColumn)>;
  SmallVector<Value> sumColumns(KernelBuilder &b, ValueRange args, ArrayRef<Value> acc,
                                Value weightBase, QuadsFn quadsOf);
  void storePixel(KernelBuilder &b, ValueRange args, ArrayRef<Value> acc, const Block &block,
                  Value place, Value column);
  void emitColumns(KernelBuilder &b, ValueRange args, const Block &block);
  using SumsFn = function_ref<SmallVector<Value>()>;
  void slideColumns(KernelBuilder &b, ValueRange args, const Block &block, SumsFn getInitialSums,
                    Value inBase, Value outBase);
  /// Input columns that the next pixel or block reads again.
  int64_t countShared() const {
    return shape.kernelColumns - shape.columnStride * shape.pixelsPerBlock();
  }
  void shareColumns(KernelBuilder &b, ValueRange args, Value inBase,
                    function_ref<void(Value column, QuadsFn)> emitPixel);
  /// Input columns that so many pixels read.
  int64_t columnsOf(int64_t pixels) const {
    return (pixels - 1) * shape.columnStride + shape.kernelColumns;
  }
  /// Bytes of the quads that are shared in memory.
  int64_t sharedBytes() const { return columnsOf(kMostPixels) * quads.valuesPerColumn() * 64; }

  ProgramEmitter &emitter;
  const FusedOp &fused;
  DepthwiseShape shape;
  const TileProducts &products;
  DepthwiseQuads quads;
  Signature signature;
  int input = -1, weights = -1, initial = -1;
  std::optional<Epilogue> epilogue;
};

} // namespace

bool DepthwiseKernel::addArguments() {
  Value in = fused.getInput(), filter = fused.getOuter(fused.product->getOperand(1));
  auto values = nn::getConstantValues<int8_t>(filter);
  auto bias = getBiasValues<int32_t>(fused);
  if (failed(values) || failed(bias) || failed(getAddends(fused)))
    return false;
  input = signature.add(emitter.getBuffer(in));
  weights = signature.add(getDepthwiseWeights(emitter, filter.getDefiningOp<nn::ConstantOp>(),
                                              shape, products.readsI16()));
  QuantParams params = paramsOf(in);
  auto sums = makeInitialSums(shape.channels, params, *values, *bias, 1,
                              shape.kernelRows * shape.kernelColumns, shape.multiplier);
  ShiftedSums shifted(fused, emitter.getLevel());
  initial = shifted ? shifted.addSums(signature, sums, shape.parameterBlock())
                    : signature.addParameters(sums, shape.parameterBlock());
  epilogue.emplace(fused, signature, shape.parameterBlock(), shifted);
  if (shape.kind == BlockKind::rows8)
    epilogue->readRepeated(shape.blockSize());
  if (shape.parts > 1)
    epilogue->readQuarters(16);
  signature.prepareParameters();
  return true;
}

/// The initial sums of a strip: [output row][vector].
SmallVector<Value> DepthwiseKernel::loadInitialSums(KernelBuilder &b, ValueRange args,
                                                    Value position) {
  if (shape.kind == BlockKind::rows8)
    return {b.reloadRepeated(args[initial], position, shape.blockSize())};
  SmallVector<Value> row, acc;
  for (int64_t out = 0; out < shape.strip; ++out) {
    for (int64_t vector = 0; vector < shape.vectors() && (out == 0 || b.level.reloadsOperands);
         ++vector) {
      Value at = b.addIndex(position, 16 * vector);
      row.push_back(shape.parts > 1 ? b.reloadQuarters(args[initial], at, 16)
                                    : b.reload(args[initial], at));
    }
    llvm::append_range(acc, ArrayRef(row).take_back(shape.vectors()));
  }
  return acc;
}

/// Adds the products of all kernel columns, one after the other: the quads of only one are in
/// registers.
SmallVector<Value> DepthwiseKernel::sumColumns(KernelBuilder &b, ValueRange args,
                                               ArrayRef<Value> acc, Value weightBase,
                                               QuadsFn quadsOf) {
  return b.loop(b.index(0), b.index(shape.kernelColumns), 1, ValueRange(acc),
                [&](Value k, ValueRange carried) {
                  SmallVector<Value> sums(carried), column = quadsOf(k);
                  quads.addProducts(b, args[weights], sums, column,
                                    b.addIndex(weightBase, b.mulIndex(k, quads.bytesPerColumn())));
                  return sums;
                });
}

/// Stores one block at one column, for all output rows of the strip.
void DepthwiseKernel::storePixel(KernelBuilder &b, ValueRange args, ArrayRef<Value> acc,
                                 const Block &block, Value place, Value column) {
  int64_t vectors = shape.vectors();
  bool isQuantizedResult = epilogue->isQuantizedResult();
  SmallVector<Value> all;
  Interleaving interleaving(b);
  for (int64_t i = 0; i < shape.vectorRows() * vectors; ++i) {
    int64_t out = i / vectors, vector = i % vectors;
    SmallVector<Value> indices{block.image, block.firstChannel, b.addIndex(block.firstRow, out),
                               column};
    if (shape.isTransposed)
      std::swap(indices[2], indices[3]);
    all.push_back(
        epilogue->emit(b, args, acc[i], b.addIndex(block.position, 16 * vector), indices, 1));
    interleaving.next();
  }
  if (epilogue->isLong())
    interleaving.finish();
  for (int64_t out = 0; out < shape.strip; ++out) {
    bool isOfTwoRows = shape.kind == BlockKind::rows8;
    ArrayRef<Value> values = ArrayRef(all).slice(isOfTwoRows ? 0 : out * vectors, vectors);
    int64_t valid = shape.kind == BlockKind::channels16 ? shape.channels : shape.blockSize();
    Value stored = values[0];
    if (isQuantizedResult)
      stored = epilogue->pack(b, args, values, /*inLanes=*/vectors == 4);
    if (valid < 16)
      stored = b.slice(stored, isOfTwoRows ? out * valid : 0, valid);
    vector::StoreOp::create(b, stored, epilogue->getResult(args).memory,
                            ValueRange{b.addIndex(place, out * shape.outRow)});
  }
}

DepthwiseKernel::Sharing DepthwiseKernel::chooseSharing() const {
  int64_t shared = countShared();
  bool hasWholeBlocks = shape.kind == BlockKind::flat16
                            ? shape.columns % shape.pixelsPerBlock() == 0
                            : !shape.isFlat();
  if (shape.columnDilation != 1 || shared <= 0 || !hasWholeBlocks)
    return Sharing::none;
  int64_t accumulators = emitter.getLevel().accumulators;
  if (accumulators >= 4 && shared * quads.columnQuads() <= std::min<int64_t>(8, accumulators))
    return Sharing::registers;
  bool fits = sharedBytes() <= kMostStackBytes && !shape.isFlat();
  return fits ? Sharing::memory : Sharing::none;
}

/// All columns of a strip for one block.
void DepthwiseKernel::emitColumns(KernelBuilder &b, ValueRange args, const Block &block) {
  b.lanes = 16;
  Value inBase = b.addIndex(b.addIndex(b.mulIndex(block.firstRow, shape.rowStride * shape.inRow),
                                       shape.getInput(b, block.firstChannel)),
                            shape.inBase);
  Value outBase = b.addIndex(
      b.addIndex(b.mulIndex(block.firstRow, shape.outRow), block.firstChannel), shape.outBase);
  if (shape.images > 1) {
    inBase = b.addIndex(inBase, b.mulIndex(block.image, shape.inImage));
    outBase = b.addIndex(outBase, b.mulIndex(block.image, shape.outImage));
  }
  SmallVector<Value> loaded;
  if (!b.level.reloadsOperands)
    loaded = loadInitialSums(b, args, block.position);
  auto getInitialSums = [&] {
    return b.level.reloadsOperands ? loadInitialSums(b, args, block.position) : loaded;
  };
  int64_t tap = shape.columnDilation * shape.inPixel;
  auto emitPixel = [&](Value column, QuadsFn quadsOf) {
    SmallVector<Value> acc = sumColumns(b, args, getInitialSums(), block.weights, quadsOf);
    storePixel(b, args, acc, block, b.addIndex(outBase, b.mulIndex(column, shape.outPixel)),
               column);
  };
  Sharing sharing = chooseSharing();
  if (shape.isFlat() && sharing != Sharing::registers)
    b.loopOverBlocks(shape.columns * shape.channels, shape.blockSize(), [&](Value first) {
      Value base = b.addIndex(inBase, b.mulIndex(shape.getInput(b, first), shape.columnStride));
      auto quadsOf = [&](Value k) {
        return loadColumn(b, args, b.addIndex(base, b.mulIndex(k, tap)));
      };
      SmallVector<Value> acc = sumColumns(b, args, getInitialSums(), block.weights, quadsOf);
      storePixel(b, args, acc, block, b.addIndex(outBase, first), b.index(0));
    });
  else if (sharing == Sharing::registers)
    slideColumns(b, args, block, getInitialSums, inBase, outBase);
  else if (sharing == Sharing::memory)
    shareColumns(b, args, inBase, emitPixel);
  else
    b.loop(b.index(0), b.index(shape.columns), 1, [&](Value column) {
      Value base = b.addIndex(inBase, b.mulIndex(column, shape.columnStride * shape.inPixel));
      emitPixel(column,
                [&](Value k) { return loadColumn(b, args, b.addIndex(base, b.mulIndex(k, tap))); });
    });
  b.lanes = 1;
}

/// Pixel by pixel, or block by block of a flat row; quads that the next one needs again are carried
/// along.
void DepthwiseKernel::slideColumns(KernelBuilder &b, ValueRange args, const Block &block,
                                   SumsFn getInitialSums, Value inBase, Value outBase) {
  int64_t kept = countShared(), pixels = shape.pixelsPerBlock();
  SmallVector<Value> carried;
  for (int64_t k = 0; k < kept; ++k)
    carried.append(loadColumn(b, args, b.addIndex(inBase, k * shape.inPixel)));
  auto emitBlock = [&](Value column, ValueRange inner) {
    Value base =
        b.addIndex(inBase, b.mulIndex(column, pixels * shape.columnStride * shape.inPixel));
    SmallVector<Value> columns(inner), acc = getInitialSums();
    for (int64_t k = kept; k < shape.kernelColumns; ++k)
      columns.append(loadColumn(b, args, b.addIndex(base, k * shape.inPixel)));
    for (int64_t k = 0; k < shape.kernelColumns; ++k)
      quads.addProducts(
          b, args[weights], acc,
          ArrayRef(columns).slice(k * quads.valuesPerColumn(), quads.valuesPerColumn()),
          b.addIndex(block.weights, k * quads.bytesPerColumn()));
    storePixel(b, args, acc, block,
               b.addIndex(outBase, b.mulIndex(column, pixels * shape.outPixel)), column);
    return SmallVector<Value>(ArrayRef(columns).take_back(kept * quads.valuesPerColumn()));
  };
  int64_t count = shape.columns / pixels, together = shape.kernelColumns;
  if (count < 2 * together) // one turn and a rest: no loop
    together = count;
  bool hasFewValues = (shape.strip == 1 || shape.kind == BlockKind::rows8) && shape.parts == 1;
  if (b.level.registerBits != 128 || !hasFewValues) {
    b.loop(b.index(0), b.index(count), 1, carried, emitBlock);
    return;
  }
  // As many blocks a turn as there are kernel columns: then all columns are where they began, and
  // none was copied. Of more rows or parts, LLVM spills more than that saves.
  carried = b.loop(b.index(0), b.index(count / together), 1, carried, [&](Value i, ValueRange in) {
    SmallVector<Value> columns(in);
    for (int64_t n = 0; n < together; ++n)
      columns = emitBlock(b.addIndex(b.mulIndex(i, together), n), columns);
    return columns;
  });
  b.loop(b.index(count / together * together), b.index(count), 1, carried, emitBlock);
}

/// Some pixels at a time, whose columns' quads are made first.
void DepthwiseKernel::shareColumns(KernelBuilder &b, ValueRange args, Value inBase,
                                   function_ref<void(Value column, QuadsFn)> emitPixel) {
  int64_t pixels = std::min(kMostPixels, shape.columns), vectorsPerColumn = quads.valuesPerColumn();
  Value memory = b.allocateOnStack(sharedBytes(), b.getI8Type());
  auto placeOf = [&](Value column, int64_t vector) {
    return b.addIndex(b.mulIndex(column, vectorsPerColumn * 64), 64 * vector);
  };
  b.loopOverBlocks(shape.columns, pixels, [&](Value first) {
    Value base = b.addIndex(inBase, b.mulIndex(first, shape.columnStride * shape.inPixel));
    b.loop(b.index(0), b.index(columnsOf(pixels)), 1, [&](Value column) {
      for (auto [vector, quad] : llvm::enumerate(
               loadColumn(b, args, b.addIndex(base, b.mulIndex(column, shape.inPixel)))))
        b.store(b.bitcast(quad, b.getI8Type()), memory, placeOf(column, vector));
    });
    b.loop(b.index(0), b.index(pixels), 1, [&](Value pixel) {
      emitPixel(b.addIndex(first, pixel), [&](Value k) {
        Value column = b.addIndex(b.mulIndex(pixel, shape.columnStride), k);
        return llvm::map_to_vector(llvm::seq(vectorsPerColumn), [&](int64_t vector) {
          return products.load(b, memory, placeOf(column, vector));
        });
      });
    });
  });
}

/// Where a block's channels and, of several parts, the first that is not in the block before lie.
DepthwiseKernel::Channels DepthwiseKernel::getChannels(KernelBuilder &b, Value block) const {
  Channels of{block, b.mulIndex(block, shape.blockSize()), b.index(0)};
  if (shape.isFlat())
    return of;
  Value unclamped = of.first;
  of.first =
      b.createIndex<arith::MinUIOp>(unclamped, b.index(shape.firstChannel(shape.blocks() - 1)));
  if (shape.parts > 1)
    of.firstPart = b.createIndex<arith::DivUIOp>(b.createIndex<arith::SubIOp>(unclamped, of.first),
                                                 b.index(shape.partSize()));
  return of;
}

/// Of a block's first parameter. The last sixteen overlap those before where channels are half of
/// sixteen more.
Value DepthwiseKernel::getPosition(KernelBuilder &b, Value block) const {
  int64_t size = shape.blockSize();
  Value position = b.mulIndex(block, size);
  if (shape.channels <= size || shape.channels % shape.parameterBlock() != size)
    return position;
  Value isLast = b.createIndex<arith::DivUIOp>(b.addIndex(block, 1), b.index(shape.blocks()));
  return b.addIndex(position, b.mulIndex(isLast, size));
}

/// A strip of one block.
void DepthwiseKernel::emitStrip(KernelBuilder &b, ValueRange args, const Channels &of, Value unit) {
  auto [image, strip] = b.divideIndex(unit, strips(), shape.images);
  Value firstRow = b.getBlock(strip, shape.rows, shape.strip);
  b.loop(of.firstPart, b.index(shape.parts), 1, [&, image = image](Value part) {
    Value weights = b.mulIndex(b.addIndex(b.mulIndex(of.block, shape.parts), part),
                               shape.vectorRows() * quads.bytesPerRow());
    Value position = b.addIndex(getPosition(b, of.block), b.mulIndex(part, 4));
    emitColumns(b, args,
                {image, firstRow, b.addIndex(of.first, b.mulIndex(part, shape.partSize())),
                 position, weights});
  });
}

void DepthwiseKernel::emit() {
  emitter.addStep(
      fused.op, kernel::Kernels::depthwise, signature.arguments, shape.images * strips(),
      [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
        auto emitBlocks = [&](function_ref<void(Value block)> emitBlock) {
          b.loop(0, shape.blocks(), emitBlock);
        };
        // Blocks are a small part of what lies side by side: it is read while it is near.
        if (shape.kind == BlockKind::rows8)
          return b.loop(begin, end, 1, [&](Value unit) {
            emitBlocks([&](Value block) { emitStrip(b, args, getChannels(b, block), unit); });
          });
        emitBlocks([&](Value block) {
          Channels of = getChannels(b, block);
          b.loop(begin, end, 1, [&](Value unit) { emitStrip(b, args, of, unit); });
        });
      });
}

template <>
bool codegen::emitProductAs<kernel::Kernels::depthwise>(ProgramEmitter &emitter,
                                                        const FusedOp &fused) {
  std::optional<DepthwiseShape> shape = getDepthwiseShape(fused, emitter.getLevel());
  if (!shape)
    return false;
  DepthwiseKernel kernel(emitter, fused, *shape);
  if (!kernel.addArguments())
    return false;
  kernel.emit();
  return true;
}
