//===- Depthwise.cpp - depthwise convolutions -----------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bytes of four input rows are interleaved, so that one dot product takes four kernel rows of sixteen channels. One quad
// of rows serves all output rows of a strip (each with its own weights, zero where a row is not its own), and all pixels
// whose kernels cover it: in registers if these hold it, else in memory. A block is 64 channels (its four vectors stay in
// the order that unpacking gives, parameters are permuted instead), sixteen channels, or 64 bytes of a row across pixels
// where channels divide 64. Levels with few registers take 64 bytes in four parts of sixteen, each in natural order, which
// the permuted parameters have in quarters.
//
//===----------------------------------------------------------------------===//

#include "DepthwiseShape.h"
#include "Epilogue.h"
#include "Packing.h"
#include "octet/Dialect/NN/Constants.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

namespace {

/// The arguments and the code of one depthwise kernel on bytes.
class DepthwiseKernel {
public:
  DepthwiseKernel(ProgramEmitter &emitter, const FusedOp &fused, const DepthwiseShape &shape)
      : emitter(emitter), fused(fused), shape(shape), signature(emitter) {}

  bool addArguments();
  void emit();

private:
  static constexpr int64_t kMostPixels = 16;            ///< whose columns' quads are in memory together
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

  Value loadBytes(KernelBuilder &b, ValueRange args, Value at);
  SmallVector<Value> loadColumn(KernelBuilder &b, ValueRange args, Value base);
  Value loadVector(KernelBuilder &b, Value memory, Value place);
  SmallVector<Value> interleave(KernelBuilder &b, ArrayRef<Value> rows);
  SmallVector<Value> loadStart(KernelBuilder &b, ValueRange args, Value position);
  void addProducts(KernelBuilder &b, ValueRange args, MutableArrayRef<Value> acc, ArrayRef<Value> quads, Value weight);
  /// Gives the quads of the input column under a kernel column.
  using QuadsFn = function_ref<SmallVector<Value>(Value kernelColumn)>;
  SmallVector<Value> sumColumns(KernelBuilder &b, ValueRange args, ArrayRef<Value> acc, Value weightBase, QuadsFn quadsOf);
  void storePixel(KernelBuilder &b, ValueRange args, ArrayRef<Value> acc, const Block &block, Value place, Value column);
  void emitColumns(KernelBuilder &b, ValueRange args, const Block &block);
  void slideColumns(KernelBuilder &b, ValueRange args, const Block &block, ArrayRef<Value> initial, Value inBase, Value outBase);
  void shareColumns(KernelBuilder &b, ValueRange args, Value inBase, function_ref<void(Value column, QuadsFn)> emitPixel);
  int64_t columnQuads() const { return shape.quads() * shape.vectors(); }
  /// A quad is one value of bytes or two of words; of one or two rows only, those at even places are enough.
  int64_t valuesPerQuad() const { return emitter.getLevel().multipliesWords ? 2 : 1; }
  int64_t usedValues(int64_t quad) const { return shape.inputRows() - 4 * quad <= 2 ? 1 : valuesPerQuad(); }
  int64_t valuesPerColumn() const {
    int64_t last = shape.quads() - 1;
    return shape.vectors() * (last * valuesPerQuad() + usedValues(last));
  }
  /// Input columns that so many pixels read.
  int64_t columnsOf(int64_t pixels) const { return (pixels - 1) * shape.columnStride + shape.kernelColumns; }
  /// Bytes of the quads that are shared in memory.
  int64_t sharedBytes() const { return columnsOf(kMostPixels) * valuesPerColumn() * 64; }
  // Of weights as the kernel reads them.
  int64_t bytesPerColumn() const { return columnQuads() * valuesPerQuad() * 64; }
  int64_t bytesPerRow() const { return shape.kernelColumns * bytesPerColumn(); }

  ProgramEmitter &emitter;
  const FusedOp &fused;
  DepthwiseShape shape;
  Signature signature;
  int input = -1, weights = -1, start = -1;
  std::optional<Epilogue> epilogue;
};

} // namespace

bool DepthwiseKernel::addArguments() {
  Value in = fused.getOuter(fused.root->getOperand(0)), filter = fused.getOuter(fused.root->getOperand(1));
  auto values = nn::getConstantValues<int8_t>(filter);
  if (failed(values))
    return false;
  SmallVector<int32_t, 0> bias;
  if (fused.root->getNumOperands() > 2) {
    auto biasValues = nn::getConstantValues<int32_t>(fused.getOuter(fused.root->getOperand(2)));
    if (failed(biasValues))
      return false;
    bias = *biasValues;
  }
  input = signature.add(emitter.getBuffer(in));
  octet_depthwise_filter order{};
  order.channels = shape.channels;
  order.blocks = shape.blocks();
  order.parts = shape.parts;
  order.vectors = shape.vectors();
  order.strip = shape.strip;
  order.row_stride = shape.rowStride;
  order.kernel_rows = shape.kernelRows;
  order.kernel_columns = shape.kernelColumns;
  weights = signature.addDepthwiseFilter(filter, order, /*asWords=*/emitter.getLevel().multipliesWords);
  auto params = codegen::getQuantParams(cast<quant::QuantizedType>(getTensorType(in).getElementType()));
  auto starts = makeStart(shape.channels, params, *values, bias, 1, shape.kernelRows * shape.kernelColumns, 1);
  start = signature.addParameters(starts, shape.blockSize());
  signature.addKey((int)shape.kind, shape.strip, shape.isTransposed, describe(getTensorType(in)));
  signature.addKey({shape.kernelRows, shape.kernelColumns, shape.rowStride, shape.columnStride, shape.rowDilation,
                    shape.columnDilation, shape.inBase, shape.images});
  epilogue.emplace(fused, signature, shape.blockSize());
  if (shape.parts > 1)
    epilogue->readQuarters(16);
  return true;
}

/// Unpacks bytes, then words, inside each 16-byte lane: vector g holds bytes 4g..4g+3 of every lane, four rows each.
SmallVector<Value> DepthwiseKernel::interleave(KernelBuilder &b, ArrayRef<Value> rows) {
  int64_t size = shape.partSize();
  auto bytes = VectorType::get({size}, b.getI8Type()), words = VectorType::get({size / 2}, b.getI16Type());
  auto unpack = [&](Value x, Value y, int64_t perLane, bool isHigh) -> Value {
    int64_t total = size / (16 / perLane);
    SmallVector<int64_t> order;
    for (int64_t lane = 0; lane < total; lane += perLane)
      for (int64_t i = 0; i < perLane / 2; ++i) {
        int64_t from = lane + i + (isHigh ? perLane / 2 : 0);
        order.append({from, total + from});
      }
    return vector::ShuffleOp::create(b, x, y, order);
  };
  auto asWords = [&](Value x) -> Value { return vector::BitCastOp::create(b, words, x); };
  Value low01 = asWords(unpack(rows[0], rows[1], 16, false)), high01 = asWords(unpack(rows[0], rows[1], 16, true));
  Value low23 = asWords(unpack(rows[2], rows[3], 16, false)), high23 = asWords(unpack(rows[2], rows[3], 16, true));
  SmallVector<Value> quads;
  for (auto [x, y] : {std::make_pair(low01, low23), std::make_pair(high01, high23)})
    for (bool isHigh : {false, true})
      quads.push_back(vector::BitCastOp::create(b, bytes, unpack(x, y, 8, isHigh)));
  if (size == 64)
    return quads;
  // Sixteen bytes: the four parts are one vector in natural order.
  auto join = [&](Value x, Value y) -> Value {
    int64_t lanes = cast<VectorType>(x.getType()).getNumElements();
    return vector::ShuffleOp::create(b, x, y, llvm::to_vector(llvm::seq<int64_t>(0, 2 * lanes)));
  };
  return {join(join(quads[0], quads[1]), join(quads[2], quads[3]))};
}

/// What one kernel row and column is multiplied with: bytes side by side or, in flat rows of stride 2, of every other pixel.
Value DepthwiseKernel::loadBytes(KernelBuilder &b, ValueRange args, Value at) {
  auto load = [&](Value at) -> Value {
    return vector::LoadOp::create(b, VectorType::get({shape.partSize()}, b.getI8Type()), args[input], ValueRange{at});
  };
  if (shape.kind != BlockKind::flat64 || shape.columnStride == 1)
    return load(at);
  // The second vector begins with the first one's last pixel, so that it ends with the last pixel that is wanted.
  int64_t pixels = 64 / shape.channels;
  SmallVector<int64_t> order;
  for (int64_t pixel = 0; pixel < 2 * pixels; pixel += 2)
    for (int64_t channel = 0; channel < shape.channels; ++channel)
      order.push_back((pixel < pixels ? pixel : pixel + 1) * shape.channels + channel);
  return vector::ShuffleOp::create(b, load(at), load(b.addIndex(at, 64 - shape.channels)), order);
}

/// Quads of all input rows of a strip at one column: [quad][vector], or [quad][vector][even, odd] words. Rows are in the order
/// of octet_depthwise_filter.
SmallVector<Value> DepthwiseKernel::loadColumn(KernelBuilder &b, ValueRange args, Value base) {
  SmallVector<Value> rows, result;
  for (int64_t row = 0; row < shape.inputRows(); ++row)
    rows.push_back(loadBytes(b, args, b.addIndex(base, row * shape.rowDilation * shape.inRow)));
  // Weights are zero at the rows that are there twice.
  if (rows.size() % 4 == 2)
    rows.insert(rows.end() - 1, rows.back());
  while (rows.size() % 4)
    rows.push_back(rows.back());
  for (int64_t quad = 0; quad < shape.quads(); ++quad)
    for (Value bytes : interleave(b, ArrayRef(rows).slice(4 * quad, 4))) {
      if (!b.level.multipliesWords) {
        result.push_back(bytes);
        continue;
      }
      auto [even, odd] = b.widenBytes(bytes, /*isSigned=*/false);
      result.push_back(even);
      if (usedValues(quad) == 2)
        result.push_back(odd);
    }
  return result;
}

/// What the accumulators of a strip start with: [output row][vector].
SmallVector<Value> DepthwiseKernel::loadStart(KernelBuilder &b, ValueRange args, Value position) {
  SmallVector<Value> row, acc;
  for (int64_t vector = 0; vector < shape.vectors(); ++vector) {
    Value at = b.addIndex(position, 16 * vector);
    row.push_back(shape.parts > 1 ? b.loadQuarters(args[start], at, 16) : b.load(args[start], at));
  }
  for (int64_t out = 0; out < shape.strip; ++out)
    acc.append(row);
  return acc;
}

/// Adds the products of one input column's quads; `weight` is where the first output row has the column's weights.
void DepthwiseKernel::addProducts(KernelBuilder &b, ValueRange args, MutableArrayRef<Value> acc, ArrayRef<Value> quads, Value weight) {
  int64_t vectors = shape.vectors();
  for (auto [number, sum] : llvm::enumerate(acc))
    for (int64_t quad = 0; quad < shape.quads(); ++quad)
      for (int64_t part = 0; part < usedValues(quad); ++part) {
        int64_t before = quad * vectors * valuesPerQuad(), vector = number % vectors;
        int64_t at = (before + vector * valuesPerQuad() + part) * 64;
        Value w = loadVector(b, args[weights], b.addIndex(weight, number / vectors * bytesPerRow() + at));
        Value x = quads[before + vector * usedValues(quad) + part];
        if (b.level.multipliesWords)
          sum = kernel::Dot2Op::create(b, sum.getType(), sum, x, w);
        else
          sum = kernel::Dot4Op::create(b, sum.getType(), sum, x, w);
      }
}

/// 64 bytes as the level multiplies them.
Value DepthwiseKernel::loadVector(KernelBuilder &b, Value memory, Value place) {
  Value bytes = vector::LoadOp::create(b, VectorType::get({64}, b.getI8Type()), memory, ValueRange{place});
  return b.level.multipliesWords ? b.bitcast(bytes, b.getI16Type()) : bytes;
}

/// Adds the products of all kernel columns, one after the other: the quads of only one are in registers.
SmallVector<Value> DepthwiseKernel::sumColumns(KernelBuilder &b, ValueRange args, ArrayRef<Value> acc, Value weightBase, QuadsFn quadsOf) {
  return b.loop(b.index(0), b.index(shape.kernelColumns), 1, ValueRange(acc), [&](Value k, ValueRange carried) {
    SmallVector<Value> sums(carried), quads = quadsOf(k);
    addProducts(b, args, sums, quads, b.addIndex(weightBase, b.mulIndex(k, bytesPerColumn())));
    return sums;
  });
}

/// Stores one block at one column, for all output rows of the strip.
void DepthwiseKernel::storePixel(KernelBuilder &b, ValueRange args, ArrayRef<Value> acc, const Block &block, Value place, Value column) {
  int64_t vectors = shape.vectors();
  bool isQuantizedResult = epilogue->isQuantizedResult();
  SmallVector<Value> all;
  Interleaving interleaving(b);
  for (int64_t i = 0; i < shape.strip * vectors; ++i) {
    int64_t out = i / vectors, vector = i % vectors;
    SmallVector<Value> indices{block.image, block.firstChannel, b.addIndex(block.firstRow, out), column};
    if (shape.isTransposed)
      std::swap(indices[2], indices[3]);
    all.push_back(epilogue->emit(b, args, acc[i], b.addIndex(block.position, 16 * vector), indices, 1));
    interleaving.next();
  }
  if (epilogue->isLong())
    interleaving.finish();
  for (int64_t out = 0; out < shape.strip; ++out) {
    ArrayRef<Value> values = ArrayRef(all).slice(out * vectors, vectors);
    int64_t valid = shape.kind == BlockKind::channels16 ? std::min<int64_t>(16, shape.channels) : 16;
    Value stored = values[0];
    if (isQuantizedResult)
      stored = kernel::PackOp::create(b, values, /*inLanes=*/vectors == 4);
    if (valid < 16)
      stored = vector::ExtractStridedSliceOp::create(b, stored, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{valid}, ArrayRef<int64_t>{1});
    vector::StoreOp::create(b, stored, epilogue->getResult(args).memory, ValueRange{b.addIndex(place, out * shape.outRow)});
  }
}

DepthwiseKernel::Sharing DepthwiseKernel::chooseSharing() const {
  int64_t shared = shape.kernelColumns - shape.columnStride;
  if (shape.columnDilation != 1 || shared <= 0)
    return Sharing::none;
  int64_t accumulators = emitter.getLevel().accumulators;
  if (accumulators >= 4 && shared * columnQuads() <= std::min<int64_t>(8, accumulators))
    return Sharing::registers;
  return sharedBytes() <= kMostStackBytes ? Sharing::memory : Sharing::none;
}

/// All columns of a strip for one block.
void DepthwiseKernel::emitColumns(KernelBuilder &b, ValueRange args, const Block &block) {
  b.lanes = 16;
  Value inBase = b.addIndex(b.addIndex(b.mulIndex(block.firstRow, shape.rowStride * shape.inRow), block.firstChannel), shape.inBase);
  Value outBase = b.addIndex(b.addIndex(b.mulIndex(block.firstRow, shape.outRow), block.firstChannel), shape.outBase);
  if (shape.images > 1) {
    inBase = b.addIndex(inBase, b.mulIndex(block.image, shape.inImage));
    outBase = b.addIndex(outBase, b.mulIndex(block.image, shape.outImage));
  }
  SmallVector<Value> initial = loadStart(b, args, block.position);
  int64_t tap = shape.columnDilation * shape.inPixel;
  auto emitPixel = [&](Value column, QuadsFn quads) {
    SmallVector<Value> acc = sumColumns(b, args, initial, block.weights, quads);
    storePixel(b, args, acc, block, b.addIndex(outBase, b.mulIndex(column, shape.outPixel)), column);
  };
  if (shape.kind == BlockKind::flat64)
    b.loopOverBlocks(shape.columns * shape.channels, 64, [&](Value first) {
      Value base = b.addIndex(inBase, b.mulIndex(first, shape.columnStride));
      auto quads = [&](Value k) { return loadColumn(b, args, b.addIndex(base, b.mulIndex(k, tap))); };
      SmallVector<Value> acc = sumColumns(b, args, initial, block.weights, quads);
      storePixel(b, args, acc, block, b.addIndex(outBase, first), b.index(0));
    });
  else if (Sharing sharing = chooseSharing(); sharing == Sharing::registers)
    slideColumns(b, args, block, initial, inBase, outBase);
  else if (sharing == Sharing::memory)
    shareColumns(b, args, inBase, emitPixel);
  else
    b.loop(b.index(0), b.index(shape.columns), 1, [&](Value column) {
      Value base = b.addIndex(inBase, b.mulIndex(column, shape.columnStride * shape.inPixel));
      emitPixel(column, [&](Value k) { return loadColumn(b, args, b.addIndex(base, b.mulIndex(k, tap))); });
    });
  b.lanes = 1;
}

/// Pixel by pixel; quads that the next pixel needs again are carried along.
void DepthwiseKernel::slideColumns(KernelBuilder &b, ValueRange args, const Block &block, ArrayRef<Value> initial, Value inBase, Value outBase) {
  int64_t kept = shape.kernelColumns - shape.columnStride;
  SmallVector<Value> carried;
  for (int64_t k = 0; k < kept; ++k)
    carried.append(loadColumn(b, args, b.addIndex(inBase, k * shape.inPixel)));
  b.loop(b.index(0), b.index(shape.columns), 1, carried, [&](Value column, ValueRange inner) {
    Value base = b.addIndex(inBase, b.mulIndex(column, shape.columnStride * shape.inPixel));
    SmallVector<Value> columns(inner), acc(initial);
    for (int64_t k = kept; k < shape.kernelColumns; ++k)
      columns.append(loadColumn(b, args, b.addIndex(base, k * shape.inPixel)));
    for (int64_t k = 0; k < shape.kernelColumns; ++k)
      addProducts(b, args, acc, ArrayRef(columns).slice(k * valuesPerColumn(), valuesPerColumn()), b.addIndex(block.weights, k * bytesPerColumn()));
    storePixel(b, args, acc, block, b.addIndex(outBase, b.mulIndex(column, shape.outPixel)), column);
    return SmallVector<Value>(ArrayRef(columns).take_back(kept * valuesPerColumn()));
  });
}

/// Some pixels at a time, whose columns' quads are made first.
void DepthwiseKernel::shareColumns(KernelBuilder &b, ValueRange args, Value inBase, function_ref<void(Value column, QuadsFn)> emitPixel) {
  int64_t pixels = std::min(kMostPixels, shape.columns), vectorsPerColumn = valuesPerColumn();
  Value memory = b.allocateOnStack(sharedBytes(), b.getI8Type());
  auto placeOf = [&](Value column, int64_t vector) { return b.addIndex(b.mulIndex(column, vectorsPerColumn * 64), 64 * vector); };
  b.loopOverBlocks(shape.columns, pixels, [&](Value first) {
    Value base = b.addIndex(inBase, b.mulIndex(first, shape.columnStride * shape.inPixel));
    b.loop(b.index(0), b.index(columnsOf(pixels)), 1, [&](Value column) {
      for (auto [vector, quad] : llvm::enumerate(loadColumn(b, args, b.addIndex(base, b.mulIndex(column, shape.inPixel)))))
        b.store(b.bitcast(quad, b.getI8Type()), memory, placeOf(column, vector));
    });
    b.loop(b.index(0), b.index(pixels), 1, [&](Value pixel) {
      emitPixel(b.addIndex(first, pixel), [&](Value k) {
        Value column = b.addIndex(b.mulIndex(pixel, shape.columnStride), k);
        return llvm::map_to_vector(llvm::seq(vectorsPerColumn), [&](int64_t vector) { return loadVector(b, memory, placeOf(column, vector)); });
      });
    });
  });
}

void DepthwiseKernel::emit() {
  int64_t strips = llvm::divideCeil(shape.rows, shape.strip);
  emitter.addStep(fused.op, "depthwise", signature.key, signature.arguments, shape.images * strips,
                  [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
    b.loop(0, shape.blocks(), [&](Value block) {
      Value firstChannel = b.mulIndex(block, shape.blockSize()), firstPart = b.index(0);
      if (shape.kind != BlockKind::flat64) {
        Value unclamped = firstChannel;
        firstChannel = b.createIndex<arith::MinUIOp>(unclamped, b.index(shape.firstChannel(shape.blocks() - 1)));
        // The last block leaves out parts that lie in the one before.
        if (shape.parts > 1)
          firstPart = b.createIndex<arith::DivUIOp>(b.createIndex<arith::SubIOp>(unclamped, firstChannel), b.index(shape.partSize()));
      }
      b.loop(begin, end, 1, [&](Value unit) {
        Value image, strip;
        std::tie(image, strip) = b.divideIndex(unit, strips, shape.images);
        Value firstRow = b.getBlock(strip, shape.rows, shape.strip);
        b.loop(firstPart, b.index(shape.parts), 1, [&](Value part) {
          Value weights = b.mulIndex(b.addIndex(b.mulIndex(block, shape.parts), part), shape.strip * bytesPerRow());
          Value position = b.addIndex(b.mulIndex(block, shape.blockSize()), b.mulIndex(part, 4));
          emitColumns(b, args, {image, firstRow, b.addIndex(firstChannel, b.mulIndex(part, shape.partSize())), position, weights});
        });
      });
    });
  });
}

bool codegen::emitDepthwise(ProgramEmitter &emitter, const FusedOp &fused) {
  auto conv = dyn_cast<nn::ConvOp>(fused.root);
  if (emitter.getLevel().isScalar || !conv)
    return false;
  std::optional<DepthwiseShape> shape = getDepthwiseShape(fused, conv, emitter.getLevel());
  if (!shape)
    return false;
  RankedTensorType in = getTensorType(fused.getOuter(conv.getInput())), out = getTensorType(fused.getResult());
  if (!isQuantized(in))
    return !isQuantized(out) && emitFloatDepthwise(emitter, fused, *shape);
  if (!isUnsignedByte(in) || (isQuantized(out) && !isUnsignedByte(out)))
    return false;
  DepthwiseKernel kernel(emitter, fused, *shape);
  if (!kernel.addArguments())
    return false;
  kernel.emit();
  return true;
}
