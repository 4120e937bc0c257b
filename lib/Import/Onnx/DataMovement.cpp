//===- DataMovement.cpp - reshapes, transposes, concatenations ---------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Operators.h"
#include "mlir/IR/TypeUtilities.h"
#include "octet/Support/Quote.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

/// The node's input with another shape: a constant keeps its name, a value gets an nn.reshape.
static LogicalResult reshapeInput(Node &node, ShapeRef shape) {
  auto count = countElements(shape);
  if (!count || *count != countElements(node.shape(0)))
    return node.invalid("makes the shape " + printShape(shape) + " from " +
                        printShape(node.shape(0)));
  if (const HostTensor *tensor = node.constant(0))
    return node.setResult(reshape(*tensor, shape), /*keepName=*/true);
  auto input = node.any(0);
  return failed(input) ? failure() : node.setResult(node.reshape(*input, shape));
}

LogicalResult octet::onnx_import::importIdentity(Node &node) {
  return node.setResult(node.entry(0));
}

/// The mask of elements that are kept, all of them: made of an element-wise operator, which
/// vanishes where nothing reads it.
static LogicalResult setKept(Node &node) {
  auto x = node.any(0);
  auto yes = node.materialize(
      {node.nameConstant("kept"), {}, std::vector<int64_t>{1}, onnx::TensorProto::BOOL});
  if (failed(x) || failed(yes))
    return failure();
  auto isItself =
      node.createAs<nn::CompareOp>(node.builder().getI1Type(), nn::Predicate::equal, *x, *x);
  return node.setResult(node.compute<nn::OrOp>(isItself, yes), 1);
}

/// How an input of the network is given so that `flag`, which it or its opposite is, does not hold.
static std::string explainFlag(Value flag) {
  bool holds = false;
  while (Operation *op = flag.getDefiningOp()) {
    if (!isa<nn::NotOp, nn::CastOp, nn::ReshapeOp>(op))
      return "";
    holds ^= isa<nn::NotOp>(op);
    flag = op->getOperand(0);
  }
  auto name = dyn_cast<NameLoc>(flag.getLoc());
  return name ? "; make it a constant with --input-value " + escapeText(name.getName()) + "=" +
                    (holds ? "1" : "0")
              : "";
}

/// Dropout does nothing at inference, unless its third input asks for training, and then nothing at
/// a ratio of 0.
LogicalResult octet::onnx_import::importDropout(Node &node) {
  if (node.has(2)) {
    if (!node.constant(2))
      return node.unsupported("training_mode computed at run time" +
                              explainFlag(node.entry(2).value));
    auto training = node.integers(2, "training_mode");
    if (failed(training))
      return failure();
    auto ratio = node.constant(1) ? node.constant(1)->floats() : std::nullopt;
    bool dropsNothing = ratio && ratio->size() == 1 && ratio->front() == 0;
    if (training->size() != 1 || (training->front() && !dropsNothing))
      return node.unsupported("training_mode");
  }
  // Before, the mask had the type of the input.
  if (node.wants(1) && node.opset() >= 10 && failed(setKept(node)))
    return failure();
  return node.setResult(node.entry(0));
}

/// 0 copies a dimension (unless allowzero is set), -1 stands for what is left.
LogicalResult octet::onnx_import::importReshape(Node &node) {
  auto target = node.integers(1, "a shape");
  if (failed(target))
    return failure();
  Shape input = node.shape(0), shape = *target;
  int64_t open = -1, rest = *countElements(input);
  for (auto [i, size] : llvm::enumerate(shape)) {
    if (size == 0 && !node.getInt("allowzero", 0))
      size = i < input.size() ? input[i] : -2;
    if (size < -1 || (size == -1 && open >= 0))
      return node.invalid("cannot make the shape " + printShape(*target) + " from " +
                          printShape(input));
    if (size == -1)
      open = i;
  }
  if (open >= 0) {
    shape[open] = 1;
    auto known = countElements(shape);
    shape[open] = known && *known > 0 ? rest / *known : 0;
  }
  return reshapeInput(node, shape);
}

/// Two dimensions: everything before `axis` and everything from it on.
LogicalResult octet::onnx_import::importFlatten(Node &node) {
  Shape input = node.shape(0);
  int64_t axis = node.getInt("axis", 1), rank = input.size();
  if (axis < -rank || axis > rank)
    return node.invalid("has the axis " + Twine(axis) + "; its input has " + Twine(rank) +
                        " dimensions");
  axis = axis < 0 ? axis + rank : axis;
  return reshapeInput(node, {*countElements(ShapeRef(input).take_front(axis)),
                             *countElements(ShapeRef(input).drop_front(axis))});
}

LogicalResult octet::onnx_import::importSqueeze(Node &node) {
  Shape input = node.shape(0), shape;
  auto axes = node.integersFrom("axes", 1);
  if (failed(axes) || (*axes && failed(node.normalizeAxes(**axes, input.size()))))
    return failure();
  for (auto [i, size] : llvm::enumerate(input)) {
    bool removed = *axes ? llvm::is_contained(**axes, (int64_t)i) : size == 1;
    if (removed && size != 1)
      return node.invalid("removes the dimension " + Twine(i) + " of " + printShape(input));
    if (!removed)
      shape.push_back(size);
  }
  return reshapeInput(node, shape);
}

LogicalResult octet::onnx_import::importUnsqueeze(Node &node) {
  Shape shape = node.shape(0);
  auto axes = node.integersFrom("axes", 1);
  if (failed(axes))
    return failure();
  if (!*axes)
    return node.invalid("lacks its axes");
  if (failed(node.normalizeAxes(**axes, shape.size() + (*axes)->size())))
    return failure();
  llvm::sort(**axes);
  for (int64_t axis : **axes)
    shape.insert(shape.begin() + axis, 1);
  return reshapeInput(node, shape);
}

LogicalResult octet::onnx_import::importTranspose(Node &node) {
  int64_t rank = node.rank(0);
  Shape reversed = allAxes(rank);
  std::reverse(reversed.begin(), reversed.end());
  Shape permutation = node.getInts("perm").value_or(reversed);
  if ((int64_t)permutation.size() != rank)
    return node.invalid("has a perm that is no permutation of " + Twine(rank) + " dimensions");
  if (failed(node.normalizeAxes(permutation, rank)))
    return failure();
  if (const HostTensor *tensor = node.constant(0))
    return node.setResult(transpose(*tensor, permutation), /*keepName=*/true);
  auto input = node.any(0);
  if (failed(input))
    return failure();
  if (llvm::is_sorted(permutation))
    return node.setResult(node.entry(0));
  return node.setResult(node.create<nn::TransposeOp>(*input, permutation));
}

/// Concatenates constants; pieces of equal length lie between positions of the axes before it.
static LogicalResult foldConcat(Node &node, int64_t axis) {
  HostTensor result{"", node.shape(0), node.constant(0)->data, node.constant(0)->type};
  for (unsigned i = 1; i < node.numInputs(); ++i)
    result.shape[axis] += node.shape(i)[axis];
  if (!countElements(result.shape, kMaxConstantElements))
    return node.unsupported("a computed constant of shape " + printShape(result.shape));
  std::visit(
      [&](auto &values) {
        using Vector = std::decay_t<decltype(values)>;
        values.clear();
        for (int64_t row = 0, rows = *countElements(ShapeRef(result.shape).take_front(axis));
             row < rows; ++row) {
          for (unsigned i = 0; i < node.numInputs(); ++i) {
            const Vector &source = *std::get_if<Vector>(&node.constant(i)->data);
            size_t length = source.size() / rows;
            values.insert(values.end(), source.begin() + row * length,
                          source.begin() + (row + 1) * length);
          }
        }
      },
      result.data);
  return node.setResult(std::move(result));
}

LogicalResult octet::onnx_import::importConcat(Node &node) {
  SmallVector<Value> inputs;
  Shape first = node.has(0) ? node.shape(0) : Shape();
  if (!node.attribute("axis"))
    return node.invalid("lacks its attribute 'axis'");
  auto axis = node.normalizeAxis(node.getInt("axis", 0), first.size());
  if (failed(axis))
    return failure();
  for (unsigned i = 0; i < node.numInputs(); ++i) {
    if (!node.has(i))
      return node.invalid("lacks its input " + Twine(i));
    Shape shape = node.shape(i);
    bool fits = shape.size() == first.size();
    for (int64_t d = 0; fits && d < (int64_t)shape.size(); ++d)
      fits = d == *axis || shape[d] == first[d];
    bool sameType =
        !node.allConstant() || node.constant(i)->data.index() == node.constant(0)->data.index();
    if (!fits || !sameType)
      return node.invalid("has inputs of shape " + printShape(first) + " and " + printShape(shape) +
                          " that do not fit or differ in their type");
  }
  if (node.allConstant())
    return foldConcat(node, *axis);
  for (unsigned i = 0; i < node.numInputs(); ++i) {
    if (node.constant(i) && node.constant(i)->size() == 0)
      continue;
    auto input = node.any(i);
    if (failed(input))
      return failure();
    inputs.push_back(*input);
    if (getElementTypeOrSelf(*input) != getElementTypeOrSelf(inputs[0]))
      return node.invalid("has inputs of different types");
  }
  return node.setResult(inputs.size() == 1 ? FailureOr<Value>(inputs[0])
                                           : node.create<nn::ConcatOp>(inputs, *axis));
}

//===----------------------------------------------------------------------===//
// Blocks of pixels
//===----------------------------------------------------------------------===//

/// The input [N, C, H, W] seen as `view`, permuted, and seen as `result`.
static LogicalResult setRearranged(Node &node, ShapeRef view, ShapeRef permutation,
                                   ShapeRef result) {
  auto input = node.any(0);
  if (failed(input))
    return failure();
  auto moved = node.create<nn::TransposeOp>(node.reshape(*input, view), permutation);
  return failed(moved) ? failure() : node.setResult(node.reshape(*moved, result));
}

/// The blocksize, by which channels (squared) or height and width can be divided; else an error.
static FailureOr<int64_t> readBlockSize(Node &node, bool dividesChannels) {
  Shape shape = node.shape(0);
  int64_t block = node.getInt("blocksize", 0);
  bool fits = shape.size() == 4 && block >= 1 && block < (1 << 15);
  if (fits && dividesChannels)
    fits = shape[1] % (block * block) == 0;
  else if (fits)
    fits = shape[2] % block == 0 && shape[3] % block == 0;
  if (!fits)
    return node.invalid("has blocks of " + Twine(block) + " for an input of shape " +
                        printShape(shape));
  return block;
}

/// The place in the block is the channel's slower index (DCR) or its faster one (CRD).
LogicalResult octet::onnx_import::importDepthToSpace(Node &node) {
  auto read = readBlockSize(node, /*dividesChannels=*/true);
  if (failed(read))
    return failure();
  Shape s = node.shape(0);
  int64_t block = *read, depth = s[1] / (block * block);
  Shape result{s[0], depth, s[2] * block, s[3] * block};
  if (node.getString("mode", "DCR") == "DCR")
    return setRearranged(node, {s[0], block, block, depth, s[2], s[3]}, {0, 3, 4, 1, 5, 2}, result);
  return setRearranged(node, {s[0], depth, block, block, s[2], s[3]}, {0, 1, 4, 2, 5, 3}, result);
}

LogicalResult octet::onnx_import::importSpaceToDepth(Node &node) {
  auto read = readBlockSize(node, /*dividesChannels=*/false);
  if (failed(read))
    return failure();
  Shape s = node.shape(0);
  int64_t block = *read, height = s[2] / block, width = s[3] / block;
  bool isDepthFirst = node.getString("mode", "DCR") == "DCR";
  return setRearranged(node, {s[0], s[1], height, block, width, block},
                       isDepthFirst ? Shape{0, 3, 5, 1, 2, 4} : Shape{0, 1, 3, 5, 2, 4},
                       {s[0], s[1] * block * block, height, width});
}
