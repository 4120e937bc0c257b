//===- MaskedElements.cpp - elements that a mask chooses ---------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `y[mask] = f(x[mask])`, as PyTorch exports it: NonZero gives positions, GatherND the elements
// there, ScatterND puts others there. How many there are depends on data, but what is made of all
// elements, and then chosen by the mask, is the same.
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

LogicalResult GraphImporter::importMasked(const onnx::NodeProto &proto, ArrayRef<Entry> inputs) {
  const Masked &masked =
      *llvm::find_if(inputs, [](const Entry &input) { return !!input.masked; })->masked;
  auto is = [&](size_t i, Masked::Kind kind) {
    return i < inputs.size() && inputs[i].masked && inputs[i].masked->kind == kind &&
           inputs[i].masked->mask == masked.mask;
  };
  auto define = [&](Masked::Kind kind, Entry of = {}) {
    entries[proto.output(0)] = makeMasked(masked, kind, std::move(of));
    return success();
  };
  StringRef type = proto.op_type();
  Node node(*this, proto, opset, inputs);
  ShapeRef mask = shapeOf(masked.mask);
  if (is(0, Masked::columns) && type == "Transpose" &&
      node.getInts("perm").value_or(Shape{1, 0}) == Shape{1, 0})
    return define(Masked::rows);
  if (is(0, Masked::rows) && type == "Shape" && proto.attribute_size() == 0)
    return define(Masked::shape);
  if (is(0, Masked::shape) && type == "Gather" && isConstantOf(inputs[1], {0}))
    return define(Masked::count);
  if (is(0, Masked::count) && llvm::is_contained({"Unsqueeze", "Squeeze", "Reshape", "Cast"}, type))
    return define(Masked::count);
  if (is(1, Masked::rows) && type == "GatherND" && node.getInt("batch_dims", 0) == 0 &&
      (inputs[0].value || inputs[0].tensor) && !inputs[0].masked &&
      ShapeRef(node.shape(0)).take_front(mask.size()) == mask)
    return define(Masked::elements, inputs[0]);
  if (is(1, Masked::count) && type == "Expand" && inputs[0].tensor && inputs[0].tensor->size() == 1)
    return define(Masked::elements, inputs[0]);
  bool isFlat = is(0, Masked::elements) && shapeOf(inputs[0]).size() <= mask.size();
  if (isFlat && type == "Reshape" && isConstantOf(inputs[1], {-1}))
    return define(Masked::elements, inputs[0]);
  if (is(0, Masked::elements) && is(2, Masked::count) && type == "Slice" &&
      isConstantOf(inputs[1], {0}) && inputs.size() > 3 && isConstantOf(inputs[3], {0}) &&
      (inputs.size() == 4 || isConstantOf(inputs[4], {1})))
    return define(Masked::elements, inputs[0]);
  if (isElementwise(type))
    return importOnElements(proto, inputs, masked);
  bool isAssigned = type == "ScatterND" && is(1, Masked::rows) && is(2, Masked::elements) &&
                    !inputs[0].masked && node.getString("reduction", "none") == "none";
  if (!isAssigned || ShapeRef(node.shape(0)).take_front(mask.size()) != mask)
    return failure();
  Entry updates = inputs[2];
  updates.masked = nullptr;
  if (countElements(shapeOf(updates)) != 1 && shapeOf(updates) != node.shape(0))
    return failure();
  auto data = node.any(0), all = node.toValue(updates);
  Shape chosen(mask);
  chosen.resize(node.rank(0), 1);
  return node.setResult(select(node, node.reshape(masked.mask, chosen), all, data));
}
