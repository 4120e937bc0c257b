//===- MaskedElements.cpp - elements that a mask chooses ---------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `y[mask] = f(x[mask])`, as PyTorch exports it: NonZero gives positions, GatherND the elements
// there, ScatterND puts others there. How many there are depends on data, but what is made of all
// elements, and then chosen by the mask, is the same. JAX drops invalid rows of a scatter so:
// NonZero gives the others, Gather their indices and updates. TensorFlow counts with Unique, which
// chooses the first of equal rows, and with Compress, which chooses among them.
//
//===----------------------------------------------------------------------===//

#include "Compose.h"
#include "DistinctRows.h"
#include "GraphImporter.h"
#include "Operators.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

static Entry makeMasked(const Masked &masked, Masked::Kind kind, Entry of = {}) {
  of.masked = std::make_shared<const Masked>(Masked{kind, masked.origin, masked.mask});
  return of;
}

bool GraphImporter::refuseMasked(const Entry &entry) {
  if (entry.masked)
    (void)addUnsupported(*entry.masked->origin, kShapedByData);
  return !!entry.masked;
}

LogicalResult GraphImporter::importMask(const onnx::NodeProto &proto, const Entry &mask) {
  if (StringRef(proto.op_type()) == "Unique" && mask.value)
    return importDistinct(proto, mask);
  if (StringRef(proto.op_type()) != "NonZero" || !mask.value ||
      !cast<RankedTensorType>(mask.value.getType()).getElementType().isInteger(1))
    return failure();
  entries[proto.output(0)] = makeMasked({Masked::columns, &proto, mask.value}, Masked::columns);
  return success();
}

LogicalResult GraphImporter::importDistinct(const onnx::NodeProto &proto, const Entry &rows) {
  current = makeOrigin(proto);
  origins.setSource(current);
  Node node(*this, proto, opset, rows);
  auto found = findDistinctRows(node);
  if (failed(found))
    return failure();
  Shape shape = node.attribute("axis") ? node.shape(0) : Shape{shapeOf(found->mask)};
  Value elements[] = {node.reshape(found->rows, shape), found->places, found->which, found->counts};
  for (auto [i, value] : llvm::enumerate(elements))
    if (node.wants(i))
      entries[proto.output(i)] = i == 2 ? Entry{nullptr, value}
                                        : makeMasked({Masked::elements, &proto, found->mask},
                                                     Masked::elements, Entry{nullptr, value});
  return success();
}

/// Whether the node computes each element from that of each operand alone.
static bool isElementwise(StringRef type) {
  return llvm::is_contained({"Abs",        "And",         "Add",
                             "Cast",       "Ceil",        "Clip",
                             "Equal",      "Greater",     "GreaterOrEqual",
                             "Less",       "LessOrEqual", "Not",
                             "Or",         "Where",       "Cos",
                             "Div",        "Erf",         "Exp",
                             "Floor",      "Log",         "Max",
                             "Min",        "Mod",         "Mul",
                             "Neg",        "Pow",         "Relu",
                             "Reciprocal", "Round",       "Sigmoid",
                             "Sign",       "Sin",         "Sqrt",
                             "Sub",        "Tanh",        "Identity"},
                            type);
}

/// Whether a constant is `values`.
static bool isConstantOf(const Entry &entry, ArrayRef<int64_t> values) {
  const std::vector<int64_t> *integers = entry.tensor ? entry.tensor->integers() : nullptr;
  return integers && ArrayRef(*integers) == values;
}

/// The node's result for all elements is that for those that are chosen.
LogicalResult GraphImporter::importOnAll(const onnx::NodeProto &proto, ArrayRef<Entry> all,
                                         const Masked &masked) {
  if (failed(importOperator(proto, all)))
    return failure();
  entries[proto.output(0)] = makeMasked(masked, Masked::elements, entries.lookup(proto.output(0)));
  return success();
}

/// Other operands are chosen by the same mask, of as many dimensions, or the same for all that it
/// chooses.
LogicalResult GraphImporter::importOnElements(const onnx::NodeProto &proto, ArrayRef<Entry> inputs,
                                              const Masked &masked) {
  SmallVector<Entry> all;
  std::optional<Shape> chosen;
  for (const Entry &input : inputs) {
    all.push_back(input);
    all.back().masked = nullptr;
    bool isOne = !input.masked && (input.tensor || input.value) && shapeOf(input).size() <= 1 &&
                 countElements(shapeOf(input)) == 1;
    if (!input || isOne)
      continue;
    bool isChosen =
        input.masked && input.masked->kind == Masked::elements && input.masked->mask == masked.mask;
    if (!isChosen || (chosen && *chosen != shapeOf(input)))
      return failure();
    chosen = shapeOf(input);
  }
  return importOnAll(proto, all, masked);
}

namespace {
/// A node that reads what a mask chooses.
struct Reader {
  const Node &node;
  ArrayRef<Entry> inputs;
  Value mask;

  StringRef type() const { return node.proto.op_type(); }
  /// Whether input `i` is of this kind, by the same mask.
  bool is(size_t i, Masked::Kind kind) const {
    return i < inputs.size() && inputs[i].masked && inputs[i].masked->kind == kind &&
           inputs[i].masked->mask == mask;
  }
  /// Whether input `i` is a tensor that the mask does not choose, whose first dimensions it has.
  bool isWhole(size_t i) const {
    return (inputs[i].value || inputs[i].tensor) && !inputs[i].masked &&
           ShapeRef(node.shape(i)).take_front(shapeOf(mask).size()) == shapeOf(mask);
  }
};
} // namespace

/// The last axis of rows is that of the dimensions of the mask.
static bool squeezesRows(const Reader &reader) {
  auto axes = reader.node.getInts("axes");
  const Entry &last = reader.inputs.back();
  return axes ? *axes == Shape{1} : isConstantOf(last, {1}) || isConstantOf(last, {-1});
}

/// Whether this is a slice from 0 to `end` of the first dimension, by a step of 1.
static bool takesFront(const Reader &reader, function_ref<bool(const Entry &)> isEnd) {
  ArrayRef<Entry> inputs = reader.inputs;
  auto isOrLacks = [&](size_t i, int64_t number) {
    return i >= inputs.size() || !inputs[i] || isConstantOf(inputs[i], {number});
  };
  return reader.type() == "Slice" && inputs.size() > 2 && isConstantOf(inputs[1], {0}) &&
         isEnd(inputs[2]) && isOrLacks(3, 0) && isOrLacks(4, 1);
}

/// What a node makes of positions or of their number.
static std::optional<Masked::Kind> findPositions(const Reader &reader) {
  const Node &node = reader.node;
  StringRef type = reader.type();
  bool isRows = reader.is(0, Masked::rows), isCount = reader.is(0, Masked::count);
  if (reader.is(0, Masked::columns) && type == "Transpose" &&
      node.getInts("perm").value_or(Shape{1, 0}) == Shape{1, 0})
    return Masked::rows;
  if (isRows && type == "Squeeze" && shapeOf(reader.mask).size() == 1 && squeezesRows(reader))
    return Masked::places;
  if ((isRows || reader.is(0, Masked::elements)) && type == "Shape" &&
      node.proto.attribute_size() == 0)
    return Masked::shape;
  if (reader.is(0, Masked::shape) &&
      ((type == "Gather" && isConstantOf(reader.inputs[1], {0})) ||
       takesFront(reader, [](const Entry &end) { return isConstantOf(end, {1}); })))
    return Masked::count;
  if (isCount && llvm::is_contained({"Unsqueeze", "Squeeze", "Reshape", "Cast"}, type))
    return Masked::count;
  return std::nullopt;
}

/// Whether the result is input 0, of which the mask chooses elements.
static bool givesElements(const Reader &reader) {
  const Node &node = reader.node;
  ArrayRef<Entry> inputs = reader.inputs;
  StringRef type = reader.type();
  if (reader.is(1, Masked::rows) && type == "GatherND")
    return node.getInt("batch_dims", 0) == 0 && reader.isWhole(0);
  if (reader.is(1, Masked::places) && type == "Gather")
    return node.getInt("axis", 0) == 0 && reader.isWhole(0);
  if (reader.is(1, Masked::count) && type == "Expand")
    return inputs[0].tensor && inputs[0].tensor->size() == 1;
  if (!reader.is(0, Masked::elements))
    return false;
  if (type == "Reshape")
    return shapeOf(inputs[0]).size() <= shapeOf(reader.mask).size() &&
           isConstantOf(inputs[1], {-1});
  return takesFront(reader, [&](const Entry &) { return reader.is(2, Masked::count); });
}

/// Whether the node computes each row from that of input 0 alone, which a mask of one dimension
/// chooses.
static bool keepsRows(const Reader &reader) {
  auto isMasked = [](const Entry &input) { return !!input.masked; };
  if (!reader.is(0, Masked::elements) || llvm::any_of(reader.inputs.drop_front(), isMasked) ||
      shapeOf(reader.mask).size() != 1 ||
      !llvm::is_contained({"Slice", "Squeeze", "Unsqueeze"}, reader.type()))
    return false;
  size_t i = reader.type() == "Slice" ? 3 : 1;
  const HostTensor *axes = i < reader.inputs.size() ? reader.inputs[i].tensor.get() : nullptr;
  if (!axes || !axes->isInteger())
    return false;
  int64_t rank = reader.node.rank(0) + (reader.type() == "Unsqueeze" ? axes->size() : 0);
  return llvm::all_of(*axes->integers(),
                      [&](int64_t axis) { return axis + (axis < 0 ? rank : 0) > 0; });
}

/// The mask of what `condition` chooses of what `mask` does: one value for one condition.
static Value findNarrower(Node &node, Value mask, Value condition) {
  for (Operation *user : condition.getUsers())
    if (isa<nn::AndOp>(user) && user->getOperand(0) == mask && user->getOperand(1) == condition)
      return user->getResult(0);
  return nn::AndOp::create(node.builder(), node.loc(), mask.getType(), mask, condition);
}

/// Whether the node chooses some of the chosen rows.
static bool compresses(const Reader &reader) {
  return reader.type() == "Compress" && reader.is(0, Masked::elements) &&
         reader.is(1, Masked::elements) && reader.inputs[1].value &&
         reader.node.getInt("axis", reader.node.rank(0) == 1 ? 0 : -1) == 0 &&
         shapeOf(reader.inputs[1].value) == shapeOf(reader.mask);
}

/// ScatterND of chosen elements to the places from where they were taken.
static LogicalResult assignElements(const Reader &reader) {
  Node node = reader.node;
  Entry updates = reader.inputs[2];
  updates.masked = nullptr;
  if (countElements(shapeOf(updates)) != 1 && shapeOf(updates) != node.shape(0))
    return failure();
  auto data = node.any(0), all = node.toValue(updates);
  Shape chosen(shapeOf(reader.mask));
  chosen.resize(node.rank(0), 1);
  return node.setResult(select(node, node.reshape(reader.mask, chosen), all, data));
}

/// Chosen updates at chosen indices, those of ScatterElements as tuples of one.
LogicalResult GraphImporter::scatterElements(const onnx::NodeProto &proto, ArrayRef<Entry> inputs,
                                             const Masked &masked) {
  SmallVector<Entry> all(inputs);
  all[1].masked = all[2].masked = nullptr;
  Node elements(*this, proto, opset, all);
  Shape mask(shapeOf(masked.mask)), data = shapeOf(all[0]), indices = shapeOf(all[1]);
  if (StringRef(proto.op_type()) != "ScatterND") {
    auto tuples = elements.any(1);
    if (data.size() != 1 || indices != mask || failed(tuples))
      return failure();
    indices.push_back(1);
    all[1] = Entry{nullptr, elements.reshape(*tuples, indices)};
  }
  bool isOne = all[2].tensor && all[2].tensor->size() == 1;
  if (isOne && !indices.empty() && indices.back() == (int64_t)data.size())
    all[2].tensor = std::make_shared<HostTensor>(repeat(*all[2].tensor, mask));
  Node whole(*this, proto, opset, all);
  return scatterChosen(whole, masked.mask);
}

LogicalResult GraphImporter::importMasked(const onnx::NodeProto &proto, ArrayRef<Entry> inputs) {
  const Masked &masked =
      *llvm::find_if(inputs, [](const Entry &input) { return !!input.masked; })->masked;
  Node node(*this, proto, opset, inputs);
  Reader reader{node, inputs, masked.mask};
  auto define = [&](const Masked &by, Masked::Kind kind, Entry of = {}) {
    entries[proto.output(0)] = makeMasked(by, kind, std::move(of));
    return success();
  };
  if (auto kind = findPositions(reader))
    return define(masked, *kind);
  if (givesElements(reader))
    return define(masked, Masked::elements, inputs[0]);
  if (compresses(reader)) {
    Value mask = findNarrower(node, masked.mask, inputs[1].value);
    return define({Masked::elements, masked.origin, mask}, Masked::elements, inputs[0]);
  }
  SmallVector<Entry> all(inputs);
  all[0].masked = nullptr;
  if (keepsRows(reader))
    return importOnAll(proto, all, masked);
  if (reader.is(0, Masked::count) && reader.type() == "ConstantOfShape") {
    all[0].tensor = std::make_shared<HostTensor>(HostTensor{"", {1}, std::vector<int64_t>{1}});
    return importOnAll(proto, all, masked);
  }
  if (isElementwise(reader.type()))
    return importOnElements(proto, inputs, masked);
  bool isScatter = reader.is(2, Masked::elements) && inputs[0] && !inputs[0].masked &&
                   llvm::is_contained({"ScatterND", "ScatterElements"}, reader.type());
  if (isScatter && reader.is(1, Masked::elements))
    return scatterElements(proto, inputs, masked);
  bool isAssigned = isScatter && reader.is(1, Masked::rows) && reader.isWhole(0) &&
                    node.getString("reduction", "none") == "none";
  return isAssigned ? assignElements(reader) : failure();
}
