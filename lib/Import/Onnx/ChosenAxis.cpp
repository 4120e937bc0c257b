//===- ChosenAxis.cpp - operators that compute row by row ------------------ ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChosenAxis.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

/// Whether the node computes each element from that of each operand alone.
static bool isElementwise(StringRef type) {
  static constexpr StringLiteral names[] = {
#define OCTET_ONNX_UNARY(name, op) #name,
#define OCTET_ONNX_UNARY_FORM(name, op, form, attribute, values) #name,
#include "octet/Dialect/NN/OnnxNames.def"
      "Add",         "And",         "BitwiseAnd", "BitwiseNot",
      "BitwiseOr",   "Cast",        "Ceil",       "Celu",
      "Clip",        "Div",         "Dropout",    "Elu",
      "Equal",       "Floor",       "Greater",    "GreaterOrEqual",
      "HardSigmoid", "Identity",    "IsNaN",      "LeakyRelu",
      "Less",        "LessOrEqual", "Max",        "Min",
      "Mish",        "Mod",         "Mul",        "Neg",
      "Not",         "Or",          "PRelu",      "Pow",
      "Reciprocal",  "Selu",        "Softsign",   "Sqrt",
      "Sub",         "Sum",         "Swish",      "Where",
      "Xor"};
  return llvm::is_contained(names, type);
}

static bool isReduction(StringRef type) {
  return type.starts_with("Reduce") || type == "ArgMax" || type == "ArgMin";
}

/// Samples of a batch are rows.
static bool isOnSamples(StringRef type) {
  return llvm::is_contained({"AveragePool", "BatchNormalization", "Conv", "ConvTranspose",
                             "GlobalAveragePool", "GlobalMaxPool", "GroupNormalization",
                             "InstanceNormalization", "MaxPool"},
                            type);
}

namespace {
class AxisFinder {
public:
  AxisFinder(const Node &node, ArrayRef<Entry> inputs) : node(node), inputs(inputs) {}
  std::optional<int64_t> find() const;

private:
  using Axis = std::optional<int64_t>;

  StringRef type() const { return node.proto.op_type(); }
  bool isChosen(size_t i) const { return i < inputs.size() && inputs[i].masked; }
  int64_t axis(size_t i) const { return inputs[i].masked->axis; }
  /// Of an input, the size of the dimension that is so far from the end.
  int64_t sizeFromEnd(size_t i, int64_t distance) const {
    return distance > node.rank(i) ? 1 : node.shape(i)[node.rank(i) - distance];
  }
  static int64_t normalize(int64_t axis, int64_t rank) { return axis < 0 ? axis + rank : axis; }
  int64_t attributeAxis(int64_t otherwise) const {
    return normalize(node.getInt("axis", otherwise), node.rank(0));
  }
  /// The attribute or the constant input, counted from the beginning of `rank` dimensions.
  std::optional<Shape> axes(StringRef name, size_t i, int64_t rank) const;

  Axis findElementwise() const;
  Axis findGathered() const;
  Axis findConcatenated() const;
  /// Of nodes that read rows as their first operand alone.
  Axis findOfFirst() const;
  Axis findMoved() const;
  Axis findProduct() const;
  Axis findReduced() const;
  /// Whether the node works along other dimensions, one by one, than that of the rows.
  bool isAlongOthers() const;

  const Node &node;
  ArrayRef<Entry> inputs;
};
} // namespace

std::optional<Shape> AxisFinder::axes(StringRef name, size_t i, int64_t rank) const {
  std::optional<Shape> axes = node.getInts(name);
  if (!axes && i < inputs.size() && inputs[i].tensor && inputs[i].tensor->isInteger())
    axes = Shape(ArrayRef(*inputs[i].tensor->integers()));
  if (axes)
    for (int64_t &axis : *axes)
      axis = normalize(axis, rank);
  return axes;
}

/// Other operands are the same for all rows.
AxisFinder::Axis AxisFinder::findElementwise() const {
  int64_t distance = 0, rank = 0;
  for (auto [i, input] : llvm::enumerate(inputs)) {
    if (!input)
      continue;
    rank = std::max(rank, node.rank(i));
    if (isChosen(i) && distance != 0 && node.rank(i) - axis(i) != distance)
      return std::nullopt;
    if (isChosen(i))
      distance = node.rank(i) - axis(i);
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i] && !isChosen(i) && sizeFromEnd(i, distance) != 1)
      return std::nullopt;
  return rank - distance;
}

AxisFinder::Axis AxisFinder::findGathered() const {
  int64_t along = attributeAxis(0);
  if (type() == "GatherElements") {
    bool isAlike = isChosen(0) && isChosen(1) && axis(0) == axis(1) && along != axis(0);
    return isAlike ? Axis(axis(0)) : std::nullopt;
  }
  if (isChosen(0) && isChosen(1))
    return std::nullopt;
  if (type() == "GatherND") {
    bool isTuple = isChosen(1) && axis(1) < node.rank(1) - 1 && node.getInt("batch_dims", 0) == 0;
    return isTuple ? Axis(axis(1)) : std::nullopt;
  }
  if (isChosen(1))
    return along + axis(1);
  if (along == axis(0))
    return std::nullopt;
  return along < axis(0) ? axis(0) + node.rank(1) - 1 : axis(0);
}

AxisFinder::Axis AxisFinder::findConcatenated() const {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!isChosen(i) || axis(i) != axis(0))
      return std::nullopt;
  return attributeAxis(0) == axis(0) ? std::nullopt : Axis(axis(0));
}

AxisFinder::Axis AxisFinder::findMoved() const {
  int64_t rank = node.rank(0);
  if (type() == "Transpose") {
    Shape order = allAxes(rank);
    std::reverse(order.begin(), order.end());
    order = node.getInts("perm").value_or(order);
    return llvm::find(order, axis(0)) - order.begin();
  }
  bool isAdded = type() == "Unsqueeze";
  const HostTensor *given = node.constant(1);
  int64_t count = node.getInts("axes") ? node.getInts("axes")->size() : given ? given->size() : 0;
  auto moved = axes("axes", 1, isAdded ? rank + count : rank);
  if (!moved || (!isAdded && llvm::is_contained(*moved, axis(0))))
    return std::nullopt;
  int64_t result = axis(0);
  llvm::sort(*moved);
  for (int64_t other : *moved)
    if (isAdded)
      result += other <= result;
    else
      result -= other < axis(0);
  return result;
}

AxisFinder::Axis AxisFinder::findProduct() const {
  int64_t rank = node.rank(0), distance = rank - axis(0);
  if (type() == "Gemm") {
    bool isSame = !node.has(2) || sizeFromEnd(2, 2) == 1;
    return isSame && axis(0) == 0 && node.getInt("transA", 0) == 0 ? Axis(0) : std::nullopt;
  }
  if (distance == 1 || (distance > 2 && sizeFromEnd(1, distance) != 1))
    return std::nullopt;
  return node.rank(1) == 1 ? axis(0) : std::max(rank, node.rank(1)) - distance;
}

AxisFinder::Axis AxisFinder::findReduced() const {
  int64_t rank = node.rank(0);
  bool isOne = !type().starts_with("Reduce");
  auto reduced = isOne ? Shape{attributeAxis(0)} : axes("axes", 1, rank);
  if (!reduced || reduced->empty() || llvm::is_contained(*reduced, axis(0)))
    return std::nullopt;
  if (node.getInt("keepdims", 1))
    return axis(0);
  return axis(0) - llvm::count_if(*reduced, [&](int64_t other) { return other < axis(0); });
}

bool AxisFinder::isAlongOthers() const {
  int64_t rank = node.rank(0);
  if (llvm::is_contained({"Softmax", "LogSoftmax", "Hardmax"}, type())) // once of two dimensions
    return node.opset() >= 13 ? attributeAxis(-1) != axis(0) : axis(0) < attributeAxis(1);
  if (llvm::is_contained({"LayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization"},
                         type()))
    return axis(0) < attributeAxis(-1);
  if (type() == "Split")
    return attributeAxis(0) != axis(0);
  if (type() == "TopK" || type() == "LpNormalization")
    return attributeAxis(-1) != axis(0);
  if (type() == "CumSum") {
    auto along = axes("", 1, rank);
    return along && !llvm::is_contained(*along, axis(0));
  }
  if (type() != "Slice")
    return false;
  auto starts = axes("starts", 1, 0), cut = axes("axes", 3, rank);
  if (!cut && starts)
    cut = allAxes(starts->size());
  return cut && !llvm::is_contained(*cut, axis(0));
}

AxisFinder::Axis AxisFinder::findOfFirst() const {
  if (!isChosen(0) || llvm::any_of(inputs.drop_front(), [](const Entry &i) { return !!i.masked; }))
    return std::nullopt;
  if (llvm::is_contained({"Transpose", "Squeeze", "Unsqueeze"}, type()))
    return findMoved();
  if (type() == "MatMul" || type() == "Gemm")
    return findProduct();
  if (isReduction(type()))
    return findReduced();
  bool isRows = isOnSamples(type()) ? axis(0) == 0 : isAlongOthers();
  return isRows ? Axis(axis(0)) : std::nullopt;
}

std::optional<int64_t> AxisFinder::find() const {
  if (isElementwise(type()))
    return findElementwise();
  if (type().starts_with("Gather"))
    return findGathered();
  return type() == "Concat" ? findConcatenated() : findOfFirst();
}

std::optional<int64_t> onnx_import::findChosenAxis(const Node &node, ArrayRef<Entry> inputs) {
  return AxisFinder(node, inputs).find();
}

/// Whether a size follows from the number of rows.
static bool dependsOnRows(const Entry &sizes, size_t i) {
  return sizes.masked && (*sizes.tensor->integers())[i] != (*sizes.masked->other->integers())[i];
}

static int64_t countRows(const Masked &masked) { return *countElements(shapeOf(masked.mask)); }

std::optional<ChosenRows> onnx_import::findExpandedRows(const Node &node, ArrayRef<Entry> inputs,
                                                        const Masked &masked) {
  const Entry &data = inputs[0], &sizes = inputs[1];
  if (!sizes.tensor || !sizes.tensor->isInteger())
    return std::nullopt;
  ArrayRef<int64_t> shape = *sizes.tensor->integers();
  int64_t count = shape.size(), rank = std::max(node.rank(0), count), distance = 0;
  if (data.masked)
    distance = node.rank(0) - data.masked->axis;
  for (int64_t i = 0; i < count; ++i) {
    bool isRows = dependsOnRows(sizes, i), isOther = distance != 0 && distance != count - i;
    if (isRows && (isOther || shape[i] % countRows(masked) != 0))
      return std::nullopt;
    if (isRows)
      distance = count - i;
    else if (!isOther && distance == count - i && shape[i] != 1)
      return std::nullopt;
  }
  bool isWide =
      !data.masked && distance <= node.rank(0) && node.shape(0)[node.rank(0) - distance] != 1;
  if (distance == 0 || isWide)
    return std::nullopt;
  int64_t all = data.masked ? node.shape(0)[data.masked->axis] : shape[count - distance];
  return ChosenRows{rank - distance, all / countRows(masked)};
}

std::optional<ChosenRows> onnx_import::findReshapedRows(const Node &node, ArrayRef<Entry> inputs,
                                                        const Masked &masked) {
  const Entry &data = inputs[0], &sizes = inputs[1];
  if (!data.masked || !sizes.tensor || !sizes.tensor->isInteger())
    return std::nullopt;
  Shape from = node.shape(0), to(ArrayRef(*sizes.tensor->integers()));
  bool copies = !node.getInt("allowzero", 0);
  int64_t open = -1, known = 1, before = 1, all = *countElements(from);
  for (auto [i, size] : llvm::enumerate(to)) {
    if (size == 0 && copies && i < from.size())
      size = from[i];
    if (size < 0)
      open = i;
    else
      known *= size;
  }
  if (open >= 0 && known > 0)
    to[open] = all / known;
  int64_t outer = *countElements(ShapeRef(from).take_front(data.masked->axis));
  for (auto [i, size] : llvm::enumerate(to)) {
    bool isCopied =
        copies && (*sizes.tensor->integers())[i] == 0 && (int64_t)i == data.masked->axis;
    bool follows = (int64_t)i == open || isCopied || dependsOnRows(sizes, i);
    if (before == outer && follows && size % countRows(masked) == 0)
      return ChosenRows{(int64_t)i, size / countRows(masked)};
    before *= size;
  }
  return std::nullopt;
}
