//===- NNShapes.cpp - shape inference of nn ops ---------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Dialect/NN/NN.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace octet::nn;

using Shape = llvm::SmallVector<int64_t>;
using ShapeResult = llvm::FailureOr<Shape>;

/// The largest number in an attribute, so that products of two of them fit into 64 bits.
static constexpr int64_t kLargest = INT32_MAX;

LogicalResult octet::nn::verifyInferredShape(Operation *op) {
  auto shape = cast<InferShapeOpInterface>(op).inferResultShape();
  if (failed(shape))
    return failure();
  auto actual = cast<RankedTensorType>(op->getResult(0).getType()).getShape();
  if (llvm::ArrayRef<int64_t>(*shape) != actual)
    return op->emitOpError("expected result shape [") << *shape << "], but got [" << actual << "]";
  return success();
}

ShapeResult octet::nn::broadcastShapes(Operation *op, llvm::ArrayRef<int64_t> lhs,
                                       llvm::ArrayRef<int64_t> rhs) {
  Shape result(std::max(lhs.size(), rhs.size()), 1);
  auto merge = [&](llvm::ArrayRef<int64_t> shape) {
    for (auto [i, size] : llvm::enumerate(shape)) {
      int64_t &out = result[result.size() - shape.size() + i];
      if (out != 1 && size != 1 && out != size)
        return false;
      out = out == 1 ? size : out;
    }
    return true;
  };
  if (!merge(lhs) || !merge(rhs))
    return op->emitOpError("expected shapes that broadcast, but got [")
           << lhs << "] and [" << rhs << "]";
  return result;
}

static LogicalResult expectRank(Operation *op, Value value, int64_t rank, StringRef what) {
  int64_t actual = cast<RankedTensorType>(value.getType()).getRank();
  if (actual == rank)
    return success();
  return op->emitOpError("expected ") << what << " of rank " << rank << ", but got rank " << actual;
}

static LogicalResult expectVector(Operation *op, Value value, int64_t size, StringRef what) {
  auto shape = cast<RankedTensorType>(value.getType()).getShape();
  if (shape.size() == 1 && shape[0] == size)
    return success();
  return op->emitOpError("expected ")
         << what << " of shape [" << size << "], but got [" << shape << "]";
}

/// The window arithmetic of convolutions and pools; appends H' and W'.
static LogicalResult appendWindowShape(Operation *op, llvm::ArrayRef<int64_t> input,
                                       llvm::ArrayRef<int64_t> kernel,
                                       llvm::ArrayRef<int64_t> strides,
                                       llvm::ArrayRef<int64_t> pads,
                                       llvm::ArrayRef<int64_t> dilations, Shape &result) {
  if (kernel.size() != 2 || strides.size() != 2 || dilations.size() != 2 || pads.size() != 4)
    return op->emitOpError("expected two kernel sizes, strides and dilations, and four pads");
  for (int i = 0; i < 2; ++i) {
    if (kernel[i] < 1 || strides[i] < 1 || dilations[i] < 1 || pads[i] < 0 || pads[i + 2] < 0 ||
        std::max({kernel[i], strides[i], dilations[i], pads[i], pads[i + 2]}) > kLargest)
      return op->emitOpError("expected positive kernel sizes, strides and dilations, and "
                             "non-negative pads, all below 2^31");
    int64_t room = input[2 + i] + pads[i] + pads[i + 2] - dilations[i] * (kernel[i] - 1) - 1;
    if (room < 0)
      return op->emitOpError("expected a window inside the padded input, but it is larger by ")
             << -room;
    result.push_back(room / strides[i] + 1);
  }
  return success();
}

ShapeResult ConvOp::inferResultShape() {
  if (failed(expectRank(*this, getInput(), 4, "input")) ||
      failed(expectRank(*this, getFilter(), 4, "filter")))
    return failure();
  auto input = getInput().getType().getShape(), filter = getFilter().getType().getShape();
  int64_t groups = getGroups();
  if (groups < 1 || input[1] % groups || filter[0] % groups || input[1] / groups != filter[1])
    return emitOpError("expected a filter for ")
           << input[1] << " input channels in " << groups << " groups, but got [" << filter << "]";
  if (getBias() && failed(expectVector(*this, getBias(), filter[0], "bias")))
    return failure();
  Shape result{input[0], filter[0]};
  if (failed(appendWindowShape(*this, input, filter.drop_front(2), getStrides(), getPads(),
                               getDilations(), result)))
    return failure();
  return result;
}

ShapeResult LinearOp::inferResultShape() {
  if (failed(expectRank(*this, getFilter(), 2, "filter")))
    return failure();
  auto input = getInput().getType().getShape(), filter = getFilter().getType().getShape();
  if (input.empty() || input.back() != filter[1])
    return emitOpError("expected an input whose last dimension is ")
           << filter[1] << ", but got [" << input << "]";
  if (getBias() && failed(expectVector(*this, getBias(), filter[0], "bias")))
    return failure();
  Shape result(input);
  result.back() = filter[0];
  return result;
}

ShapeResult MatmulOp::inferResultShape() {
  auto lhs = getLhs().getType().getShape(), rhs = getRhs().getType().getShape();
  if (lhs.size() < 2 || rhs.size() < 2 || lhs.back() != rhs[rhs.size() - 2])
    return emitOpError("expected matrices that multiply, but got [")
           << lhs << "] and [" << rhs << "]";
  auto batch = broadcastShapes(*this, lhs.drop_back(2), rhs.drop_back(2));
  if (failed(batch))
    return failure();
  batch->push_back(lhs[lhs.size() - 2]);
  batch->push_back(rhs.back());
  return batch;
}

template <typename PoolOp> static ShapeResult inferPool(PoolOp op) {
  if (failed(expectRank(op, op.getInput(), 4, "input")))
    return failure();
  auto input = op.getInput().getType().getShape();
  Shape result{input[0], input[1]};
  if (failed(appendWindowShape(op, input, op.getKernel(), op.getStrides(), op.getPads(),
                               op.getDilations(), result)))
    return failure();
  return result;
}

ShapeResult MaxPoolOp::inferResultShape() { return inferPool(*this); }
ShapeResult AvgPoolOp::inferResultShape() { return inferPool(*this); }

ShapeResult FmaOp::inferResultShape() {
  auto shape = getX().getType().getShape();
  for (Value operand : {getFactor(), getShift()}) {
    auto result =
        broadcastShapes(*this, shape, cast<RankedTensorType>(operand.getType()).getShape());
    if (failed(result))
      return failure();
    if (ArrayRef<int64_t>(*result) != shape)
      return emitOpError("expected a factor and a shift that broadcast to [")
             << shape << "], but got [" << *result << "]";
  }
  return Shape(shape);
}

ShapeResult BatchNormOp::inferResultShape() {
  auto shape = getInput().getType().getShape();
  if (shape.size() < 2)
    return emitOpError("expected an input of rank 2 or more, but got rank ") << shape.size();
  for (Value parameter : {getScale(), getBias(), getMean(), getVariance()})
    if (failed(expectVector(*this, parameter, shape[1], "parameters")))
      return failure();
  return Shape(shape);
}

ShapeResult octet::nn::inferReducedShape(Operation *op, ArrayRef<int64_t> input,
                                         ArrayRef<int64_t> axes, bool keepDims) {
  Shape result;
  if (std::adjacent_find(axes.begin(), axes.end(), std::greater_equal<>()) != axes.end() ||
      llvm::any_of(axes, [&](int64_t a) { return a < 0 || a >= (int64_t)input.size(); }))
    return op->emitOpError("expected ascending axes inside rank ") << input.size();
  for (auto [i, size] : llvm::enumerate(input)) {
    bool reduced = llvm::is_contained(axes, (int64_t)i);
    if (!reduced || keepDims)
      result.push_back(reduced ? 1 : size);
  }
  return result;
}

ShapeResult ReduceOp::inferResultShape() {
  return inferReducedShape(*this, getInput().getType().getShape(), getAxes(), getKeepDims());
}

ShapeResult CumulativeSumOp::inferResultShape() {
  auto shape = getInput().getType().getShape();
  if (getAxis() >= shape.size())
    return emitOpError("expected an axis inside rank ")
           << shape.size() << ", but got " << getAxis();
  return Shape(shape);
}

ShapeResult TopKOp::inferResultShape() {
  Shape result(getInput().getType().getShape());
  if (result.empty() || getK() < 1 || (int64_t)getK() > result.back())
    return emitOpError("expected from 1 to ")
           << (result.empty() ? 0 : result.back()) << " of each row, but got " << getK();
  result.back() = getK();
  return result;
}

ShapeResult SoftmaxOp::inferResultShape() {
  auto shape = getInput().getType().getShape();
  if (getAxis() >= shape.size())
    return emitOpError("expected an axis inside rank ")
           << shape.size() << ", but got " << getAxis();
  return Shape(shape);
}

ShapeResult SelectOp::inferResultShape() {
  auto values = broadcastShapes(*this, getYes().getType().getShape(), getNo().getType().getShape());
  return failed(values) ? values
                        : broadcastShapes(*this, getCondition().getType().getShape(), *values);
}

ShapeResult CastOp::inferResultShape() { return Shape(getInput().getType().getShape()); }

ShapeResult GatherOp::inferResultShape() {
  auto data = getData().getType().getShape();
  if (getAxis() >= data.size())
    return emitOpError("expected an axis inside rank ") << data.size() << ", but got " << getAxis();
  Shape result(data.take_front(getAxis()));
  llvm::append_range(result, getIndices().getType().getShape());
  llvm::append_range(result, data.drop_front(getAxis() + 1));
  return result;
}

ShapeResult ScatterOp::inferResultShape() {
  auto data = getData().getType().getShape(), updates = getUpdates().getType().getShape();
  if (data.empty())
    return emitOpError("expected data of rank 1 or more, but got a scalar");
  if (failed(expectRank(*this, getIndices(), 1, "indices")))
    return failure();
  Shape expected(data);
  expected[0] = getIndices().getType().getDimSize(0);
  if (updates != ArrayRef<int64_t>(expected))
    return emitOpError("expected updates [") << expected << "], but got [" << updates << "]";
  return Shape(data);
}

ShapeResult TableOp::inferResultShape() { return Shape(getInput().getType().getShape()); }

ShapeResult ConcatOp::inferResultShape() {
  if (getInputs().empty())
    return emitOpError("expected at least one input");
  Shape result(cast<RankedTensorType>(getInputs()[0].getType()).getShape());
  int64_t axis = getAxis();
  if (axis < 0 || axis >= (int64_t)result.size())
    return emitOpError("expected an axis inside rank ") << result.size() << ", but got " << axis;
  for (Value input : getInputs().drop_front()) {
    auto shape = cast<RankedTensorType>(input.getType()).getShape();
    for (auto [i, size] : llvm::enumerate(shape))
      if (shape.size() != result.size() || ((int64_t)i != axis && size != result[i]))
        return emitOpError("expected inputs that agree outside axis ")
               << axis << ", but got [" << shape << "]";
    result[axis] += shape[axis];
  }
  return result;
}

ShapeResult PadOp::inferResultShape() {
  Shape result(getInput().getType().getShape());
  if (getLow().size() != result.size() || getHigh().size() != result.size())
    return emitOpError("expected ") << result.size() << " pads on each side";
  for (auto [size, low, high] : llvm::zip(result, getLow(), getHigh())) {
    if (low < 0 || high < 0 || std::max(low, high) > kLargest)
      return emitOpError("expected non-negative pads below 2^31");
    size += low + high;
  }
  return result;
}

/// Whether `count` elements from `start` on, `step` apart, are among `size` ones.
static bool isInside(int64_t size, int64_t start, int64_t count, int64_t step) {
  if (count < 0 || step == 0)
    return false;
  if (count == 0)
    return true;
  if (start < 0 || start >= size)
    return false;
  uint64_t distance = step > 0 ? uint64_t(step) : -uint64_t(step);
  return uint64_t(count - 1) <= uint64_t(step > 0 ? size - 1 - start : start) / distance;
}

ShapeResult SliceOp::inferResultShape() {
  auto input = getInput().getType().getShape();
  if (getStarts().size() != input.size() || getSizes().size() != input.size() ||
      getSteps().size() != input.size())
    return emitOpError("expected ") << input.size() << " starts, sizes and steps";
  for (auto [size, start, count, step] : llvm::zip(input, getStarts(), getSizes(), getSteps()))
    if (!isInside(size, start, count, step))
      return emitOpError("expected a slice inside [") << input << "]";
  return Shape(getSizes());
}

ShapeResult TransposeOp::inferResultShape() {
  auto input = getInput().getType().getShape();
  Shape result, seen(input.size(), 0);
  for (int64_t axis : getPermutation()) {
    if (axis < 0 || axis >= (int64_t)input.size() || seen[axis]++)
      return emitOpError("expected a permutation of ") << input.size() << " dimensions";
    result.push_back(input[axis]);
  }
  if (result.size() != input.size())
    return emitOpError("expected a permutation of ") << input.size() << " dimensions";
  return result;
}

ShapeResult ResizeOp::inferResultShape() {
  if (failed(expectRank(*this, getInput(), 4, "input")))
    return failure();
  auto arePositive = [](auto values) {
    return values.size() == 2 && llvm::all_of(values, [](auto value) { return value > 0; });
  };
  if (!arePositive(getSize()) || !arePositive(getScales()))
    return emitOpError("expected two positive sizes and two positive scales");
  auto input = getInput().getType().getShape();
  return Shape{input[0], input[1], getSize()[0], getSize()[1]};
}
