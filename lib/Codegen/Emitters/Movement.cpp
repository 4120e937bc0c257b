//===- Movement.cpp - operators that move elements ------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every operator here is a strided copy, or several. Storage values are copied as they are: quantized operands and
// results have equal parameters.
//
//===----------------------------------------------------------------------===//

#include "Emitters.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

/// An element's position in the other tensor, from its position in the walked one.
using MapFn = function_ref<SmallVector<Value>(KernelBuilder &, ValueRange)>;

/// result[to(i)] = input[from(i)] for all i inside `shape`.
static void emitCopy(ProgramEmitter &emitter, Operation *op, StringRef key, Value input, Value result,
                     ArrayRef<int64_t> shape, MapFn from, MapFn to) {
  Signature signature(emitter);
  int source = signature.addTensor(input), target = signature.addTensor(result);
  signature.addKey(op->getName().getStringRef(), key);
  signature.addKey(shape);
  // The outermost dimension that is worth splitting among threads comes first.
  size_t outer = 0;
  while (outer + 1 < shape.size() && shape[outer] == 1)
    ++outer;
  SmallVector<int64_t> walked(shape);
  walked.insert(walked.begin(), walked[outer]);
  walked.erase(walked.begin() + outer + 1);
  emitter.addStep(op, "copy", signature.key, signature.arguments, walked[0],
                  [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
    TensorView x = signature.getTensor(source, args), y = signature.getTensor(target, args);
    emitLoopNest(b, walked, begin, end, [&](ValueRange i) {
      SmallVector<Value> indices(i.drop_front());
      indices.insert(indices.begin() + outer, i[0]);
      storeRaw(b, loadRaw(b, x, from(b, indices), -1), y, to(b, indices));
    });
  });
}

static SmallVector<Value> same(KernelBuilder &, ValueRange i) { return SmallVector<Value>(i); }

static MapFn sameMap() { return same; }

static ArrayRef<int64_t> shapeOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

/// Indices plus constant offsets.
static SmallVector<Value> shifted(KernelBuilder &b, ValueRange i, ArrayRef<int64_t> offsets) {
  SmallVector<Value> result;
  for (auto [index, offset] : llvm::zip(i, offsets))
    result.push_back(b.addIndex(index, offset));
  return result;
}

LogicalResult codegen::emitConcat(ProgramEmitter &emitter, nn::ConcatOp op) {
  int64_t position = 0;
  for (Value input : op.getInputs()) {
    SmallVector<int64_t> offsets(shapeOf(input).size(), 0);
    offsets[op.getAxis()] = position;
    emitCopy(emitter, op, llvm::Twine(position).str(), input, op.getResult(), shapeOf(input), sameMap(),
             [&](KernelBuilder &b, ValueRange i) { return shifted(b, i, offsets); });
    position += shapeOf(input)[op.getAxis()];
  }
  return success();
}

LogicalResult codegen::emitSlice(ProgramEmitter &emitter, nn::SliceOp op) {
  std::string key;
  llvm::raw_string_ostream os(key);
  llvm::interleave(op.getStarts(), os, ",");
  os << '/';
  llvm::interleave(op.getSteps(), os, ",");
  emitCopy(emitter, op, key, op.getInput(), op.getResult(), op.getSizes(),
           [&](KernelBuilder &b, ValueRange i) {
    SmallVector<Value> source;
    for (auto [index, start, step] : llvm::zip(i, op.getStarts(), op.getSteps()))
      source.push_back(b.addIndex(b.mulIndex(index, step), start));
    return source;
  }, sameMap());
  return success();
}

LogicalResult codegen::emitTranspose(ProgramEmitter &emitter, nn::TransposeOp op) {
  std::string key;
  llvm::raw_string_ostream os(key);
  llvm::interleave(op.getPermutation(), os, ",");
  emitCopy(emitter, op, key, op.getInput(), op.getResult(), shapeOf(op.getResult()),
           [&](KernelBuilder &, ValueRange i) {
    SmallVector<Value> source(i.size());
    for (auto [index, axis] : llvm::zip(i, op.getPermutation()))
      source[axis] = index;
    return source;
  }, sameMap());
  return success();
}

LogicalResult codegen::emitReshape(ProgramEmitter &emitter, nn::ReshapeOp op) {
  if (getAliasRoot(op.getResult()) != op.getResult())
    return success(); // shares its input's memory
  ArrayRef<int64_t> inShape = shapeOf(op.getInput()), outShape = shapeOf(op.getResult());
  emitCopy(emitter, op, "", op.getInput(), op.getResult(), outShape,
           [&](KernelBuilder &b, ValueRange i) {
    Value linear = b.index(0);
    for (auto [index, size] : llvm::zip(i, outShape))
      linear = b.addIndex(b.mulIndex(linear, size), index);
    SmallVector<Value> source(inShape.size());
    for (int64_t d = inShape.size() - 1; d >= 0; --d) {
      Value size = b.index(inShape[d]);
      source[d] = d == 0 ? linear : b.createOrFold<arith::RemUIOp>(linear, size);
      linear = b.createOrFold<arith::DivUIOp>(linear, size);
    }
    return source;
  }, sameMap());
  return success();
}

LogicalResult codegen::emitResize(ProgramEmitter &emitter, nn::ResizeOp op) {
  ArrayRef<int64_t> in = shapeOf(op.getInput()), out = shapeOf(op.getResult());
  bool isWholeFactor = out[2] % in[2] == 0 && out[3] % in[3] == 0;
  bool isFloor = op.getCoordinates() == nn::CoordinateMode::asymmetric && op.getNearest() == nn::NearestMode::floor;
  if (op.getMode() != nn::ResizeMode::nearest || !isWholeFactor || !isFloor)
    return op.emitOpError("has code generation for nearest, asymmetric, floor and whole factors only");
  emitCopy(emitter, op, "", op.getInput(), op.getResult(), out, [&](KernelBuilder &b, ValueRange i) {
    return SmallVector<Value>{i[0], i[1], b.createOrFold<arith::DivUIOp>(i[2], b.index(out[2] / in[2])),
                              b.createOrFold<arith::DivUIOp>(i[3], b.index(out[3] / in[3]))};
  }, sameMap());
  return success();
}

/// Stores one storage value (zero point or real number) at all positions of `shape`.
static void emitFill(ProgramEmitter &emitter, nn::PadOp op) {
  Signature signature(emitter);
  int target = signature.addTensor(op.getResult());
  float value = op.getValue().convertToFloat();
  signature.addKey("fill", value);
  SmallVector<int64_t> shape(shapeOf(op.getResult()));
  emitter.addStep(op, "fill", signature.key, signature.arguments, shape[0],
                  [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
    TensorView y = signature.getTensor(target, args);
    emitLoopNest(b, shape, begin, end, [&](ValueRange i) { storeReal(b, b.constF(value), y, i, -1); });
  });
}

LogicalResult codegen::emitPad(ProgramEmitter &emitter, nn::PadOp op) {
  emitFill(emitter, op);
  emitCopy(emitter, op, "", op.getInput(), op.getResult(), shapeOf(op.getInput()), sameMap(),
           [&](KernelBuilder &b, ValueRange i) { return shifted(b, i, op.getLow()); });
  return success();
}

LogicalResult codegen::emitTable(ProgramEmitter &emitter, nn::TableOp op) {
  Signature signature(emitter);
  int source = signature.addTensor(op.getInput()), target = signature.addTensor(op.getResult());
  ArrayRef<int8_t> entries = op.getTable();
  std::string key = "table/" + std::string(reinterpret_cast<const char *>(entries.data()), entries.size());
  int table = signature.addWeights<int8_t>(key, [&] { return std::vector<int8_t>(entries.begin(), entries.end()); });
  SmallVector<int64_t> shape(shapeOf(op.getResult()));
  if (shape.empty())
    shape.push_back(1);
  emitter.addStep(op, "table", signature.key, signature.arguments, shape[0],
                  [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
    TensorView x = signature.getTensor(source, args), y = signature.getTensor(target, args);
    Value memory = signature.getValue(table, args);
    emitLoopNest(b, shape, begin, end, [&](ValueRange i) {
      Value raw = loadRaw(b, x, i, -1);
      Value q = arith::IndexCastUIOp::create(b, b.getIndexType(), raw);
      Value entry = arith::ExtUIOp::create(b, b.i32(), b.load(memory, q));
      storeRaw(b, entry, y, i);
    });
  });
  return success();
}

/// One rectangle of a padded NHWC buffer: rows [h0, h1), columns [w0, w1) of the padded image.
static void fillRectangle(KernelBuilder &b, const TensorView &y, int64_t h0, int64_t h1, int64_t w0, int64_t w1) {
  if (h0 == h1 || w0 == w1)
    return;
  int64_t row = y.strides.steps[2], column = y.strides.steps[3], image = y.strides.steps[0];
  emitLoopNest(b, {y.shape()[0], h1 - h0, w1 - w0, y.shape()[1]}, b.index(0), b.index(y.shape()[0]), [&](ValueRange i) {
    Value at = b.linearIndex({i[0], i[1], i[2], i[3]}, {image, row, column, 1}, h0 * row + w0 * column);
    if (!y.isQuantized())
      return b.store(b.constF(0), y.memory, at);
    SmallVector<Value> channel{i[0], i[3]};
    b.store(truncate(b, loadParameter(b, y.zeroPoints, kZeroPoints, y.axis, channel, -1)), y.memory, at);
  });
}

void codegen::emitBorder(ProgramEmitter &emitter, Operation *op, Value result) {
  auto type = cast<RankedTensorType>(result.getType());
  nn::LayoutAttr layout = getLayout(type);
  if (!layout || llvm::all_of(layout.getPads(), [](int64_t pad) { return pad == 0; }))
    return;
  Signature signature(emitter);
  int target = signature.addTensor(result);
  emitter.addStep(op, "border", signature.key, signature.arguments, 1, [&](KernelBuilder &b, ValueRange args, Value, Value) {
    TensorView y = signature.getTensor(target, args);
    ArrayRef<int64_t> pads = layout.getPads();
    int64_t height = type.getDimSize(2), width = type.getDimSize(3);
    int64_t paddedWidth = pads[1] + width + pads[3];
    fillRectangle(b, y, 0, pads[0], 0, paddedWidth);
    fillRectangle(b, y, pads[0] + height, pads[0] + height + pads[2], 0, paddedWidth);
    fillRectangle(b, y, pads[0], pads[0] + height, 0, pads[1]);
    fillRectangle(b, y, pads[0], pads[0] + height, pads[1] + width, paddedWidth);
  });
}
