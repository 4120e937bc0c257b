//===- Movement.cpp - operators that move elements ------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every operator here is a strided copy, or several. Storage values are copied as they are:
// quantized operands and results have equal parameters, because octet-lower converts the others by
// a table [N.concat].
//
//===----------------------------------------------------------------------===//

#include "Emitters.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

static ArrayRef<int64_t> shapeOf(Value value) { return getTensorType(value).getShape(); }

namespace {
/// result[resultBase + sum i[d] * resultSteps[d]] = input[inputBase + sum i[d] * inputSteps[d]],
/// counted in elements.
struct StridedCopy {
  SmallVector<int64_t> shape, inputSteps, resultSteps;
  int64_t inputBase = 0, resultBase = 0;
  /// Where both sides are bytes with the same channels and the same pitch: what lies between two
  /// pixels may go along.
  int64_t channels = 0, pitch = 0;
  /// Elements between those that are copied may be read, and as many behind the last one.
  bool mayReadBetween = false;

  void addDimension(int64_t size, int64_t inputStep, int64_t resultStep) {
    shape.push_back(size);
    inputSteps.push_back(inputStep);
    resultSteps.push_back(resultStep);
  }
  /// Dimensions in the order of the result's memory, without those of one element, and merged where
  /// both sides allow.
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
  copy.mayReadBetween = mayReadBetween;
  for (size_t d : order) {
    bool isPixel = pitch && shape[d] == channels && inputSteps[d] == 1 && resultSteps[d] == 1;
    int64_t size = isPixel ? pitch : shape[d];
    bool merges = !copy.shape.empty() && copy.resultSteps.back() == size * resultSteps[d] &&
                  copy.inputSteps.back() == size * inputSteps[d];
    if (!merges) {
      copy.addDimension(size, inputSteps[d], resultSteps[d]);
      continue;
    }
    copy.shape.back() *= size;
    copy.inputSteps.back() = inputSteps[d];
    copy.resultSteps.back() = resultSteps[d];
  }
  if (copy.shape.empty())
    copy.addDimension(1, 1, 1);
  return copy;
}

void codegen::copyRun(KernelBuilder &b, Value from, Value fromAt, Value to, Value toAt,
                      int64_t size) {
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

/// n rows of n elements become columns: log2(n) times, rows i and i + n / 2 are interleaved.
static SmallVector<Value> transposeSquare(KernelBuilder &b, SmallVector<Value> rows) {
  int64_t n = rows.size();
  SmallVector<int64_t> low, high;
  for (int64_t i = 0; i < n / 2; ++i) {
    low.append({i, n + i});
    high.append({n / 2 + i, n + n / 2 + i});
  }
  for (int64_t stage = 1; stage < n; stage *= 2) {
    SmallVector<Value> next;
    for (int64_t i = 0; i < n / 2; ++i) {
      next.push_back(vector::ShuffleOp::create(b, rows[i], rows[i + n / 2], low));
      next.push_back(vector::ShuffleOp::create(b, rows[i], rows[i + n / 2], high));
    }
    rows = next;
  }
  return rows;
}

namespace {
/// A copy in which one dimension is side by side on the one side and another one on the other side,
/// in blocks of rows and columns of these two; the last block may overlap the one before.
class Transposition {
public:
  Transposition(const StridedCopy &copy, Type element)
      : copy(copy), columns(16 / (element.getIntOrFloatBitWidth() / 8)),
        type(VectorType::get({columns}, element)),
        rowAxis(llvm::find(copy.inputSteps, 1) - copy.inputSteps.begin()),
        columnAxis(copy.shape.size() - 1) {
    if (rowAxis >= columnAxis)
      return;
    rows = copy.shape[rowAxis] >= kMostRows ? kMostRows : columns;
    blocks.assign(copy.shape.begin(), copy.shape.end() - 1);
    blocks[rowAxis] = llvm::divideCeil(copy.shape[rowAxis], rows);
  }

  bool isOne() const {
    return rowAxis < columnAxis && copy.resultSteps.back() == 1 && copy.shape[rowAxis] >= rows &&
           copy.shape.back() >= columns;
  }
  int64_t getRange() const { return ShapedType::getNumElements(blocks); }

  void emit(KernelBuilder &b, ValueRange args, Value begin, Value end) const {
    b.loop(begin, end, 1, [&](Value unit) {
      SmallVector<Value> indices = b.splitIndex(unit, blocks);
      Value firstRow = b.getBlock(indices[rowAxis], copy.shape[rowAxis], rows);
      int64_t squares = countSquares();
      b.loopOverBlocks(copy.shape.back(), squares * columns, [&](Value column) {
        SmallVector<Value> at(indices);
        at.push_back(column);
        for (int64_t row = 0; row < rows; row += columns) {
          at[rowAxis] = b.addIndex(firstRow, row);
          b.loop(0, squares, [&](Value square) {
            at.back() = b.addIndex(column, b.mulIndex(square, columns));
            emitSquare(b, args, at);
          });
        }
      });
    });
  }

private:
  /// Side by side in the result, one after the other: where its rows lie far from each other, as
  /// those of planes do, whole cache lines are written before the next ones.
  int64_t countSquares() const {
    constexpr int64_t kOfLine = 4;
    bool isFar = copy.resultSteps[rowAxis] > copy.inputSteps[columnAxis];
    return isFar && copy.shape.back() >= kOfLine * columns ? kOfLine : 1;
  }

  void emitSquare(KernelBuilder &b, ValueRange args, ArrayRef<Value> at) const {
    Value from = b.linearIndex(at, copy.inputSteps, copy.inputBase);
    Value to = b.linearIndex(at, copy.resultSteps, copy.resultBase);
    SmallVector<Value> square;
    for (int64_t i = 0; i < columns; ++i)
      square.push_back(vector::LoadOp::create(
          b, type, args[0], ValueRange{b.addIndex(from, i * copy.inputSteps[columnAxis])}));
    for (auto [i, value] : llvm::enumerate(transposeSquare(b, square)))
      vector::StoreOp::create(b, value, args[1],
                              ValueRange{b.addIndex(to, i * copy.resultSteps[rowAxis])});
  }

  /// So many of the input's elements side by side are a cache line for floats.
  static constexpr int64_t kMostRows = 16;

  const StridedCopy &copy;
  int64_t columns; ///< 16 bytes
  VectorType type;
  size_t rowAxis, columnAxis;  ///< side by side in the input, in the result
  int64_t rows = 1;            ///< of a block
  SmallVector<int64_t> blocks; ///< of rows, of each index of the other dimensions
};
} // namespace

/// A copy of elements that lie side by side on both sides, in blocks.
static void emitFlatCopy(ProgramEmitter &emitter, Operation *op, const Signature &signature,
                         const StridedCopy &copy) {
  constexpr int64_t kMostElements = 1024;
  int64_t size = copy.shape[0], block = std::min(size, kMostElements);
  emitter.addStep(op, kernel::Kernels::copy, signature.arguments, llvm::divideCeil(size, block),
                  [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
                    b.loop(begin, end, 1, [&](Value unit) {
                      Value at = b.getBlock(unit, size, block);
                      copyRun(b, args[0], b.addIndex(at, copy.inputBase), args[1],
                              b.addIndex(at, copy.resultBase), block);
                    });
                  });
}

/// Every second or fourth byte becomes bytes side by side: the low ones of wider integers.
static void copySparseRun(KernelBuilder &b, Value from, Value fromAt, int64_t step, Value to,
                          Value toAt, int64_t size) {
  constexpr int64_t kLanes = 16;
  b.loopOverBlocks(size, kLanes, [&](Value at) {
    Value bytes = vector::LoadOp::create(b, VectorType::get({step * kLanes}, b.getI8Type()), from,
                                         ValueRange{b.addIndex(fromAt, b.mulIndex(at, step))});
    Value wide = b.bitcast(bytes, b.getIntegerType(8 * step));
    Value low = arith::TruncIOp::create(b, VectorType::get({kLanes}, b.getI8Type()), wide);
    vector::StoreOp::create(b, low, to, ValueRange{b.addIndex(toAt, at)});
  });
}

static void emitCopy(ProgramEmitter &emitter, Operation *op, Value input, Value result,
                     const StridedCopy &given) {
  StridedCopy copy = given.normalized();
  Signature signature(emitter);
  int source = signature.add(emitter.getBuffer(input)),
      target = signature.add(emitter.getBuffer(result));
  Transposition transposition(copy, getStorageType(getTensorType(input)));
  if (emitter.has(kernel::Kernels::transpose) && transposition.isOne())
    return emitter.addStep(op, kernel::Kernels::transpose, signature.arguments,
                           transposition.getRange(),
                           [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
                             transposition.emit(b, args, begin, end);
                           });
  bool hasRuns =
      !emitter.getLevel().isScalar() && copy.inputSteps.back() == 1 && copy.resultSteps.back() == 1;
  if (hasRuns && copy.shape.size() == 1)
    return emitFlatCopy(emitter, op, signature, copy);
  bool hasSparseRuns = !emitter.getLevel().isScalar() && copy.mayReadBetween &&
                       llvm::is_contained({2, 4}, copy.inputSteps.back()) &&
                       copy.resultSteps.back() == 1 && copy.shape.back() >= 16;
  emitter.addStep(
      op, kernel::Kernels::copy, signature.arguments, copy.shape[0],
      [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
        ArrayRef<int64_t> walked(copy.shape);
        bool walksRuns = hasRuns || hasSparseRuns;
        emitLoopNest(b, walksRuns ? walked.drop_back() : walked, begin, end, [&](ValueRange i) {
          Value from =
              b.linearIndex(i, ArrayRef(copy.inputSteps).take_front(i.size()), copy.inputBase);
          Value to =
              b.linearIndex(i, ArrayRef(copy.resultSteps).take_front(i.size()), copy.resultBase);
          if (hasRuns)
            return copyRun(b, args[source], from, args[target], to, copy.shape.back());
          if (hasSparseRuns)
            return copySparseRun(b, args[source], from, copy.inputSteps.back(), args[target], to,
                                 copy.shape.back());
          b.store(b.load(args[source], from), args[target], to);
        });
      });
}

/// Both tensors by their own strides over `shape`, the result from `offsets` on.
static StridedCopy copyInto(Value input, Value result, ArrayRef<int64_t> shape,
                            ArrayRef<int64_t> offsets = {}) {
  Strides from = getStrides(getTensorType(input)), to = getStrides(getTensorType(result));
  StridedCopy copy;
  copy.inputBase = from.offset;
  copy.resultBase = to.offset;
  for (size_t d = 0; d < shape.size(); ++d) {
    copy.addDimension(shape[d], from.steps[d], to.steps[d]);
    copy.resultBase += offsets.empty() ? 0 : offsets[d] * to.steps[d];
  }
  nn::LayoutAttr inLayout = getLayout(getTensorType(input)),
                 outLayout = getLayout(getTensorType(result));
  bool areBytes = getStorageType(getTensorType(input)).isInteger(8) &&
                  getStorageType(getTensorType(result)).isInteger(8);
  if (areBytes && inLayout && outLayout && inLayout.getChannels() == outLayout.getChannels() &&
      shapeOf(input)[1] == shapeOf(result)[1]) {
    copy.channels = shapeOf(input)[1];
    copy.pitch = inLayout.getChannels();
  }
  return copy;
}

LogicalResult codegen::emitConcat(ProgramEmitter &emitter, nn::ConcatOp op) {
  int64_t position = 0;
  for (Value input : op.getInputs()) {
    SmallVector<int64_t> offsets(shapeOf(input).size(), 0);
    offsets[op.getAxis()] = position;
    emitCopy(emitter, op, input, op.getResult(),
             copyInto(input, op.getResult(), shapeOf(input), offsets));
    position += shapeOf(input)[op.getAxis()];
  }
  return success();
}

LogicalResult codegen::emitSlice(ProgramEmitter &emitter, nn::SliceOp op) {
  if (emitter.isView(op.getResult()))
    return success();
  StridedCopy copy = copyInto(op.getInput(), op.getResult(), op.getSizes());
  for (size_t d = 0; d < copy.shape.size(); ++d) {
    copy.inputBase += op.getStarts()[d] * copy.inputSteps[d];
    copy.inputSteps[d] *= op.getSteps()[d];
  }
  emitCopy(emitter, op, op.getInput(), op.getResult(), copy);
  return success();
}

/// A transposition, whose result lies at `to`.
static void emitTransposition(ProgramEmitter &emitter, Operation *op, nn::TransposeOp transpose,
                              Value result, const Strides &to) {
  Value input = transpose.getInput();
  Strides from = getStrides(getTensorType(input));
  if (auto reshape = input.getDefiningOp<nn::ReshapeOp>(); reshape && isReadThrough(reshape)) {
    from = *getReshapedStrides(reshape.getInput().getType(), shapeOf(input));
    input = reshape.getInput();
  }
  StridedCopy copy;
  copy.inputBase = from.offset;
  copy.resultBase = to.offset;
  copy.mayReadBetween =
      result != transpose.getResult() && getStorageType(getTensorType(input)).isInteger(8);
  for (auto [d, axis] : llvm::enumerate(transpose.getPermutation()))
    copy.addDimension(transpose.getType().getDimSize(d), from.steps[axis], to.steps[d]);
  emitCopy(emitter, op, input, result, copy);
}

LogicalResult codegen::emitTranspose(ProgramEmitter &emitter, nn::TransposeOp op) {
  if (!isPartOfShuffle(op))
    emitTransposition(emitter, op, op, op.getResult(), getStrides(op.getType()));
  return success();
}

void codegen::emitWholeCopy(ProgramEmitter &emitter, Operation *op, Value input, Value result) {
  emitCopy(emitter, op, input, result, copyInto(input, result, shapeOf(result)));
}

LogicalResult codegen::emitRelayout(ProgramEmitter &emitter, nn::RelayoutOp op) {
  emitWholeCopy(emitter, op, op.getInput(), op.getResult());
  return success();
}

/// A reshape keeps row-major order: a dense tensor can be walked with the other side's shape.
LogicalResult codegen::emitReshape(ProgramEmitter &emitter, nn::ReshapeOp op) {
  RankedTensorType in = op.getInput().getType(), out = op.getResult().getType();
  if (getAliasRoot(op.getResult()) != op.getResult())
    return success(); // shares its input's memory
  if (auto moved = op.getInput().getDefiningOp<nn::TransposeOp>();
      moved && isPartOfShuffle(moved)) {
    emitTransposition(emitter, op, moved, op.getResult(),
                      *getReshapedStrides(out, moved.getType().getShape()));
    return success();
  }
  bool inIsDense = isRowMajor(in), outIsDense = isRowMajor(out);
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
bool codegen::emitRepeat(ProgramEmitter &emitter, nn::ResizeOp op) {
  ArrayRef<int64_t> in = shapeOf(op.getInput()), out = shapeOf(op.getResult());
  for (int i = 0; i < 2; ++i)
    if (out[2 + i] != in[2 + i] * op.getScales()[i])
      return false;
  bool isFloor = op.getCoordinates() == nn::CoordinateMode::asymmetric &&
                 op.getNearest() == nn::NearestMode::floor;
  if (op.getMode() != nn::ResizeMode::nearest || !isFloor || out[2] % in[2] != 0 ||
      out[3] % in[3] != 0)
    return false;
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
  return true;
}

/// The padding value everywhere; the input is copied over it.
static void emitFill(ProgramEmitter &emitter, nn::PadOp op) {
  float value = op.getValue().convertToFloat();
  Type element = op.getType().getElementType();
  emitPointwise(emitter, op, kernel::Kernels::fill, {}, op.getResult(),
                [&](KernelBuilder &b, ValueRange) {
                  if (nn::holdsReals(op.getType()))
                    return b.constF(value);
                  Type integer = element.isInteger(1) ? element : b.getI64Type();
                  auto number = b.getIntegerAttr(integer, static_cast<int64_t>(value));
                  return b.splat(arith::ConstantOp::create(b, number));
                });
}

LogicalResult codegen::emitPad(ProgramEmitter &emitter, nn::PadOp op) {
  emitFill(emitter, op);
  emitCopy(emitter, op, op.getInput(), op.getResult(),
           copyInto(op.getInput(), op.getResult(), shapeOf(op.getInput()), op.getLow()));
  return success();
}
