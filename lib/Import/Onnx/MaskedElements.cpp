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
// NonZero gives the others, Gather their indices and updates.
//
//===----------------------------------------------------------------------===//

#include "Compose.h"
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
  if (StringRef(proto.op_type()) != "NonZero" || !mask.value ||
      !cast<RankedTensorType>(mask.value.getType()).getElementType().isInteger(1))
    return failure();
  entries[proto.output(0)] = makeMasked({Masked::columns, &proto, mask.value}, Masked::columns);
  return success();
}

/// Whether the node computes each element from that of each operand alone.
static bool isElementwise(StringRef type) {
  return llvm::is_contained({"Abs",  "Add", "Cast",  "Ceil", "Clip",       "Cos",     "Div",
                             "Erf",  "Exp", "Floor", "Log",  "Max",        "Min",     "Mod",
                             "Mul",  "Neg", "Pow",   "Relu", "Reciprocal", "Round",   "Sigmoid",
                             "Sign", "Sin", "Sqrt",  "Sub",  "Tanh",       "Identity"},
                            type);
}

/// Whether a constant is `values`.
static bool isConstantOf(const Entry &entry, ArrayRef<int64_t> values) {
  const std::vector<int64_t> *integers = entry.tensor ? entry.tensor->integers() : nullptr;
  return integers && ArrayRef(*integers) == values;
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
    if (!input || (input.tensor && input.tensor->size() == 1 && input.tensor->shape.size() <= 1))
      continue;
    bool isChosen =
        input.masked && input.masked->kind == Masked::elements && input.masked->mask == masked.mask;
    if (!isChosen || (chosen && *chosen != shapeOf(input)))
      return failure();
    chosen = shapeOf(input);
  }
  if (failed(importOperator(proto, all)))
    return failure();
  entries[proto.output(0)] = makeMasked(masked, Masked::elements, entries.lookup(proto.output(0)));
  return success();
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
  if (isRows && type == "Shape" && node.proto.attribute_size() == 0)
    return Masked::shape;
  if (reader.is(0, Masked::shape) && type == "Gather" && isConstantOf(reader.inputs[1], {0}))
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
  return type == "Slice" && reader.is(2, Masked::count) && isConstantOf(inputs[1], {0}) &&
         inputs.size() > 3 && isConstantOf(inputs[3], {0}) &&
         (inputs.size() == 4 || isConstantOf(inputs[4], {1}));
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

LogicalResult GraphImporter::importMasked(const onnx::NodeProto &proto, ArrayRef<Entry> inputs) {
  const Masked &masked =
      *llvm::find_if(inputs, [](const Entry &input) { return !!input.masked; })->masked;
  Node node(*this, proto, opset, inputs);
  Reader reader{node, inputs, masked.mask};
  auto define = [&](Masked::Kind kind, Entry of = {}) {
    entries[proto.output(0)] = makeMasked(masked, kind, std::move(of));
    return success();
  };
  if (auto kind = findPositions(reader))
    return define(*kind);
  if (givesElements(reader))
    return define(Masked::elements, inputs[0]);
  if (isElementwise(reader.type()))
    return importOnElements(proto, inputs, masked);
  bool isScatter = reader.type() == "ScatterND" && reader.is(2, Masked::elements) && inputs[0] &&
                   !inputs[0].masked;
  if (isScatter && reader.is(1, Masked::elements)) {
    SmallVector<Entry> all(inputs);
    all[1].masked = all[2].masked = nullptr;
    Node whole(*this, proto, opset, all);
    return scatterChosen(whole, masked.mask);
  }
  bool isAssigned = isScatter && reader.is(1, Masked::rows) && reader.isWhole(0) &&
                    node.getString("reduction", "none") == "none";
  return isAssigned ? assignElements(reader) : failure();
}
