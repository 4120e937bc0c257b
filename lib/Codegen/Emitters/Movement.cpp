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
#include "StridedCopy.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

static ArrayRef<int64_t> shapeOf(Value value) { return getTensorType(value).getShape(); }

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
