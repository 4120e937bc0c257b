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

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

static ArrayRef<int64_t> shapeOf(Value value) { return typeOf(value).getShape(); }

namespace {
/// result[resultBase + sum i[d] * resultSteps[d]] = input[inputBase + sum i[d] * inputSteps[d]], counted in elements.
struct StridedCopy {
  SmallVector<int64_t> shape, inputSteps, resultSteps;
  int64_t inputBase = 0, resultBase = 0;

  void addDimension(int64_t size, int64_t inputStep, int64_t resultStep) {
    shape.push_back(size);
    inputSteps.push_back(inputStep);
    resultSteps.push_back(resultStep);
  }
  /// Dimensions in the order of the result's memory, without those of one element, and merged where both sides allow.
  StridedCopy normalized() const;
};
} // namespace

StridedCopy StridedCopy::normalized() const {
  SmallVector<size_t> order;
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] != 1)
      order.push_back(d);
  llvm::stable_sort(order, [&](size_t a, size_t b) { return resultSteps[a] > resultSteps[b]; });
  StridedCopy copy;
  copy.inputBase = inputBase;
  copy.resultBase = resultBase;
  for (size_t d : order) {
    bool merges = !copy.shape.empty() && copy.resultSteps.back() == shape[d] * resultSteps[d] &&
                  copy.inputSteps.back() == shape[d] * inputSteps[d];
    if (!merges) {
      copy.addDimension(shape[d], inputSteps[d], resultSteps[d]);
      continue;
    }
    copy.shape.back() *= shape[d];
    copy.inputSteps.back() = inputSteps[d];
    copy.resultSteps.back() = resultSteps[d];
  }
  if (copy.shape.empty())
    copy.addDimension(1, 1, 1);
  return copy;
}

/// One run of side-by-side elements: whole vectors, then what is left by an overlapping vector or one by one.
static void copyRun(KernelBuilder &b, Value from, Value fromAt, Value to, Value toAt, int64_t size) {
  Type element = cast<MemRefType>(from.getType()).getElementType();
  auto copyVector = [&](Value at, int64_t lanes) {
    auto type = VectorType::get({lanes}, element);
    Value value = vector::LoadOp::create(b, type, from, ValueRange{b.addIndex(fromAt, at)});
    vector::StoreOp::create(b, value, to, ValueRange{b.addIndex(toAt, at)});
  };
  int64_t lanes = 64 / (element.getIntOrFloatBitWidth() / 8);
  while (lanes > 1 && lanes > size)
    lanes /= 2;
  int64_t whole = size / lanes * lanes;
  if (whole == lanes)
    copyVector(b.index(0), lanes);
  else
    b.loop(b.index(0), b.index(whole), lanes, [&](Value at) { copyVector(at, lanes); });
  if (size % lanes)
    copyVector(b.index(size - lanes), lanes);
}

static void emitCopy(ProgramEmitter &emitter, Operation *op, Value input, Value result, const StridedCopy &given) {
  StridedCopy copy = given.normalized();
  Signature signature(emitter);
  int source = signature.add(emitter.getBuffer(input)), target = signature.add(emitter.getBuffer(result));
  for (ArrayRef<int64_t> values : {ArrayRef(copy.shape), ArrayRef(copy.inputSteps), ArrayRef(copy.resultSteps)}) {
    signature.addKey(values);
    signature.addKey(";");
  }
  signature.addKey(copy.inputBase, copy.resultBase);
  bool hasRuns = !emitter.getLevel().isScalar && copy.inputSteps.back() == 1 && copy.resultSteps.back() == 1 && copy.shape.size() > 1;
  emitter.addStep(op, "copy", signature.key, signature.arguments, copy.shape[0],
                  [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
    ArrayRef<int64_t> walked(copy.shape);
    emitLoopNest(b, hasRuns ? walked.drop_back() : walked, begin, end, [&](ValueRange i) {
      Value from = b.linearIndex(i, ArrayRef(copy.inputSteps).take_front(i.size()), copy.inputBase);
      Value to = b.linearIndex(i, ArrayRef(copy.resultSteps).take_front(i.size()), copy.resultBase);
      if (hasRuns)
        return copyRun(b, args[source], from, args[target], to, copy.shape.back());
      b.store(b.load(args[source], from), args[target], to);
    });
  });
}

/// Both tensors by their own strides over `shape`, the result from `offsets` on.
static StridedCopy copyInto(Value input, Value result, ArrayRef<int64_t> shape, ArrayRef<int64_t> offsets = {}) {
  Strides from = getStrides(typeOf(input)), to = getStrides(typeOf(result));
  StridedCopy copy;
  copy.inputBase = from.offset;
  copy.resultBase = to.offset;
  for (size_t d = 0; d < shape.size(); ++d) {
    copy.addDimension(shape[d], from.steps[d], to.steps[d]);
    copy.resultBase += offsets.empty() ? 0 : offsets[d] * to.steps[d];
  }
  return copy;
}

LogicalResult codegen::emitConcat(ProgramEmitter &emitter, nn::ConcatOp op) {
  int64_t position = 0;
  for (Value input : op.getInputs()) {
    SmallVector<int64_t> offsets(shapeOf(input).size(), 0);
    offsets[op.getAxis()] = position;
    emitCopy(emitter, op, input, op.getResult(), copyInto(input, op.getResult(), shapeOf(input), offsets));
    position += shapeOf(input)[op.getAxis()];
  }
  return success();
}

LogicalResult codegen::emitSlice(ProgramEmitter &emitter, nn::SliceOp op) {
  StridedCopy copy = copyInto(op.getInput(), op.getResult(), op.getSizes());
  for (size_t d = 0; d < copy.shape.size(); ++d) {
    copy.inputBase += op.getStarts()[d] * copy.inputSteps[d];
    copy.inputSteps[d] *= op.getSteps()[d];
  }
  emitCopy(emitter, op, op.getInput(), op.getResult(), copy);
  return success();
}

LogicalResult codegen::emitTranspose(ProgramEmitter &emitter, nn::TransposeOp op) {
  Strides from = getStrides(op.getInput().getType()), to = getStrides(op.getResult().getType());
  StridedCopy copy;
  copy.inputBase = from.offset;
  copy.resultBase = to.offset;
  for (auto [d, axis] : llvm::enumerate(op.getPermutation()))
    copy.addDimension(shapeOf(op.getResult())[d], from.steps[axis], to.steps[d]);
  emitCopy(emitter, op, op.getInput(), op.getResult(), copy);
  return success();
}

LogicalResult codegen::emitRelayout(ProgramEmitter &emitter, nn::RelayoutOp op) {
  emitCopy(emitter, op, op.getInput(), op.getResult(), copyInto(op.getInput(), op.getResult(), shapeOf(op.getResult())));
  return success();
}

/// A reshape keeps row-major order: a dense tensor can be walked with the other side's shape.
LogicalResult codegen::emitReshape(ProgramEmitter &emitter, nn::ReshapeOp op) {
  RankedTensorType in = op.getInput().getType(), out = op.getResult().getType();
  if (getAliasRoot(op.getResult()) != op.getResult())
    return success(); // shares its input's memory
  bool inIsDense = !getLayout(in) || haveSameOrder(in, in), outIsDense = !getLayout(out) || haveSameOrder(out, out);
  if (!inIsDense && !outIsDense)
    return op.emitOpError("has code generation where one side is dense only");
  ArrayRef<int64_t> shape = inIsDense ? out.getShape() : in.getShape();
  auto dense = RankedTensorType::get(shape, in.getElementType());
  Strides from = getStrides(inIsDense ? dense : in), to = getStrides(inIsDense ? out : dense);
  StridedCopy copy;
  copy.inputBase = from.offset;
  copy.resultBase = to.offset;
  for (size_t d = 0; d < shape.size(); ++d)
    copy.addDimension(shape[d], from.steps[d], to.steps[d]);
  emitCopy(emitter, op, op.getInput(), op.getResult(), copy);
  return success();
}

/// Every input pixel is repeated in a block of the result.
LogicalResult codegen::emitResize(ProgramEmitter &emitter, nn::ResizeOp op) {
  ArrayRef<int64_t> in = shapeOf(op.getInput()), out = shapeOf(op.getResult());
  bool isWholeFactor = out[2] % in[2] == 0 && out[3] % in[3] == 0;
  bool isFloor = op.getCoordinates() == nn::CoordinateMode::asymmetric && op.getNearest() == nn::NearestMode::floor;
  if (op.getMode() != nn::ResizeMode::nearest || !isWholeFactor || !isFloor)
    return op.emitOpError("has code generation for nearest, asymmetric, floor and whole factors only");
  Strides from = getStrides(op.getInput().getType()), to = getStrides(op.getResult().getType());
  StridedCopy copy;
  copy.inputBase = from.offset;
  copy.resultBase = to.offset;
  for (int64_t d = 0; d < 4; ++d) {
    int64_t factor = out[d] / in[d];
    copy.addDimension(in[d], from.steps[d], to.steps[d] * factor);
    if (factor > 1)
      copy.addDimension(factor, 0, to.steps[d]);
  }
  emitCopy(emitter, op, op.getInput(), op.getResult(), copy);
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
  emitCopy(emitter, op, op.getInput(), op.getResult(), copyInto(op.getInput(), op.getResult(), shapeOf(op.getInput()), op.getLow()));
  return success();
}

LogicalResult codegen::emitTable(ProgramEmitter &emitter, nn::TableOp op) {
  Signature signature(emitter);
  int source = signature.addTensor(op.getInput(), Signature::Parameters::none);
  int target = signature.addTensor(op.getResult(), Signature::Parameters::none);
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

/// What stands for zero in each channel of a tensor's pixels, as storage values.
template <typename T>
static std::vector<T> getZeros(RankedTensorType type) {
  auto quantized = dyn_cast<quant::QuantizedType>(type.getElementType());
  if (!quantized)
    return std::vector<T>(type.getDimSize(1), T(0));
  SmallVector<int32_t> zeroPoints = getQuantParams(quantized).zeroPoints;
  zeroPoints.resize(type.getDimSize(1), zeroPoints[0]);
  return std::vector<T>(zeroPoints.begin(), zeroPoints.end());
}

namespace {
/// The border of a padded image in the order of memory: gaps of pixels before the first row, between two rows, and behind
/// the last.
struct Border {
  int64_t height, width, firstPixel, pitch, numPixels;

  Border(RankedTensorType type, ArrayRef<int64_t> pads)
      : height(type.getDimSize(2)), width(type.getDimSize(3)), pitch(pads[1] + width + pads[3]) {
    firstPixel = pads[0] * pitch + pads[1];
    numPixels = (pads[0] + height + pads[2]) * pitch;
  }
  /// Pixels of the smallest gap; gaps of none do not count.
  int64_t smallestGap() const {
    int64_t smallest = numPixels;
    for (int64_t gap : {firstPixel, pitch - width, numPixels - firstPixel - (height - 1) * pitch - width})
      if (gap > 0)
        smallest = std::min(smallest, gap);
    return smallest;
  }
  void loopOverGaps(KernelBuilder &b, function_ref<void(Value begin, Value end)> body) const {
    b.loop(b.index(0), b.index(height + 1), 1, [&](Value row) {
      Value rowStart = b.addIndex(b.mulIndex(row, pitch), firstPixel);
      Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, row, b.index(0));
      Value isBehind = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, row, b.index(height));
      Value begin = arith::SelectOp::create(b, isFirst, b.index(0), b.addIndex(rowStart, width - pitch));
      body(begin, arith::SelectOp::create(b, isBehind, b.index(numPixels), rowStart));
    });
  }
};
} // namespace

/// Fills a border with `zeros`: in blocks as long as a gap allows if they are all the same, else pixel by pixel.
template <typename T>
static void emitBorder(ProgramEmitter &emitter, Operation *op, Value result, const Border &border) {
  RankedTensorType type = typeOf(result);
  Strides strides = getStrides(type);
  int64_t perPixel = strides.steps[3], channels = type.getDimSize(1);
  std::vector<T> zeros = getZeros<T>(type);
  bool isUniform = llvm::all_equal(zeros);
  int64_t block = std::min<int64_t>(64 / sizeof(T), llvm::bit_floor<uint64_t>(border.smallestGap() * perPixel));
  if (isUniform)
    zeros.resize(block, zeros[0]);
  Signature signature(emitter);
  int target = signature.add(emitter.getBuffer(result));
  std::string key = "border/" + std::string(reinterpret_cast<const char *>(zeros.data()), zeros.size() * sizeof(T));
  int source = signature.addWeights<T>(key, [&] { return zeros; });
  signature.addKey(describe(type), isUniform);
  emitter.addStep(op, "border", signature.key, signature.arguments, 1, [&](KernelBuilder &b, ValueRange args, Value, Value) {
    b.loop(0, type.getDimSize(0), [&](Value image) {
      Value imageBase = b.mulIndex(image, strides.steps[0]);
      border.loopOverGaps(b, [&](Value begin, Value end) {
        if (!isUniform)
          return b.loop(begin, end, 1, [&](Value pixel) {
            copyRun(b, args[source], b.index(0), args[target], b.addIndex(imageBase, b.mulIndex(pixel, perPixel)), channels);
          });
        Value first = b.addIndex(imageBase, b.mulIndex(begin, perPixel)), behind = b.addIndex(imageBase, b.mulIndex(end, perPixel));
        Value last = b.addIndex(behind, -block);
        b.loop(first, behind, block, [&](Value at) {
          copyRun(b, args[source], b.index(0), args[target], b.createIndex<arith::MinUIOp>(at, last), block);
        });
      });
    });
  });
}

void codegen::emitBorder(ProgramEmitter &emitter, Operation *op, Value result) {
  RankedTensorType type = typeOf(result);
  nn::LayoutAttr layout = getLayout(type);
  if (!layout || llvm::all_of(layout.getPads(), [](int64_t pad) { return pad == 0; }))
    return;
  Border border(type, layout.getPads());
  isQuantized(type) ? ::emitBorder<int8_t>(emitter, op, result, border) : ::emitBorder<float>(emitter, op, result, border);
}
