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
// chooses the first of equal rows, and with Compress, which chooses among them. In mixtures of
// experts, each expert reads the rows that a mask chooses for it.
//
//===----------------------------------------------------------------------===//

#include "ChosenAxis.h"
#include "DistinctRows.h"
#include "GraphImporter.h"
#include "MaskOrigin.h"
#include "Operators.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

static Entry makeMasked(Masked masked, Masked::Kind kind, Entry of = {}) {
  masked.kind = kind;
  of.masked = std::make_shared<const Masked>(std::move(masked));
  return of;
}

static Entry makeIntegers(ShapeRef shape, std::vector<int64_t> values) {
  return {std::make_shared<HostTensor>(HostTensor{"", Shape(shape), std::move(values)}), {}};
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
      !getElementTypeOrSelf(mask.value).isSignlessInteger())
    return failure();
  current = makeOrigin(proto);
  origins.setSource(current);
  Node node(*this, proto, opset, mask);
  auto truths = node.cast(mask.value, node.builder().getI1Type());
  if (failed(truths))
    return failure();
  MaskOrigin origin = findMaskOrigin(*truths);
  entries[proto.output(0)] = makeMasked(
      {Masked::columns, &proto, origin.mask, origin.repeat, shapeOf(mask)}, Masked::columns);
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
  Masked masked{Masked::elements, &proto, found->mask, 1, Shape(shapeOf(found->mask))};
  for (auto [i, value] : llvm::enumerate(elements))
    if (node.wants(i))
      entries[proto.output(i)] =
          i == 2 ? Entry{nullptr, value} : makeElements(masked, 0, 1, Entry{nullptr, value});
  return success();
}

/// Whether a constant is `values`.
static bool isConstantOf(const Entry &entry, ArrayRef<int64_t> values) {
  const std::vector<int64_t> *integers = entry.tensor ? entry.tensor->integers() : nullptr;
  return integers && ArrayRef(*integers) == values;
}

/// The node's results for all rows are those for the ones that are chosen.
LogicalResult GraphImporter::importOnAll(const onnx::NodeProto &proto, ArrayRef<Entry> all,
                                         const Masked &masked) {
  if (failed(importOperator(proto, all)))
    return failure();
  for (const std::string &name : proto.output())
    if (!name.empty())
      entries[name] = makeMasked(masked, Masked::elements, entries.lookup(name));
  return success();
}

namespace {
/// A node that reads what a mask chooses.
struct Reader {
  const Node &node;
  ArrayRef<Entry> inputs;
  const Masked &masked;

  StringRef type() const { return node.proto.op_type(); }
  /// Whether input `i` is of this kind, by the same mask.
  bool is(size_t i, Masked::Kind kind) const {
    return i < inputs.size() && inputs[i].masked && inputs[i].masked->kind == kind &&
           inputs[i].masked->isBySameMask(masked);
  }
  /// Whether input `i` is a tensor that the mask does not choose, whose first dimensions those are
  /// that the positions of input `by` count.
  bool isWhole(size_t i, size_t by) const {
    ShapeRef shape = inputs[by].masked->shape;
    return (inputs[i].value || inputs[i].tensor) && !inputs[i].masked &&
           ShapeRef(node.shape(i)).take_front(shape.size()) == shape;
  }
};
} // namespace

/// The last axis of rows is that of the dimensions of the mask.
static bool squeezesRows(const Reader &reader) {
  auto axes = reader.node.getInts("axes");
  const Entry &last = reader.inputs.back();
  return axes ? *axes == Shape{1} : isConstantOf(last, {1}) || isConstantOf(last, {-1});
}

/// What a node makes of positions.
static std::optional<Masked::Kind> findPositions(const Reader &reader) {
  const Node &node = reader.node;
  StringRef type = reader.type();
  if (reader.is(0, Masked::columns) && type == "Transpose" &&
      node.getInts("perm").value_or(Shape{1, 0}) == Shape{1, 0})
    return Masked::rows;
  if (reader.is(0, Masked::rows) && type == "Squeeze" &&
      reader.inputs[0].masked->shape.size() == 1 && squeezesRows(reader))
    return Masked::places;
  return std::nullopt;
}

/// Elements of the first input, whose dimensions are those of a mask, as rows.
static std::optional<Entry> gatherWhole(const Reader &reader) {
  const Node &node = reader.node;
  bool isTuples = reader.is(1, Masked::rows) && reader.type() == "GatherND" &&
                  node.getInt("batch_dims", 0) == 0,
       isPlaces =
           reader.is(1, Masked::places) && reader.type() == "Gather" && node.getInt("axis", 0) == 0;
  if (!(isTuples || isPlaces) || !reader.isWhole(0, 1))
    return std::nullopt;
  Node owner = node;
  Shape shape{*countElements(reader.inputs[1].masked->shape)};
  llvm::append_range(shape,
                     ShapeRef(node.shape(0)).drop_front(reader.inputs[1].masked->shape.size()));
  const Entry &data = reader.inputs[0];
  Entry rows = data.tensor ? Entry{std::make_shared<HostTensor>(reshape(*data.tensor, shape)), {}}
                           : Entry{nullptr, owner.reshape(data.value, shape), data.integers};
  return makeElements(*reader.inputs[1].masked, 0, reader.masked.repeat, rows);
}

/// Whether this is a slice of all chosen rows, along the first dimension, by a step of 1.
static bool takesAll(const Reader &reader) {
  ArrayRef<Entry> inputs = reader.inputs;
  auto isOrLacks = [&](size_t i, int64_t number) {
    return i >= inputs.size() || !inputs[i] || isConstantOf(inputs[i], {number});
  };
  return reader.type() == "Slice" && reader.is(0, Masked::elements) && inputs.size() > 2 &&
         inputs[0].masked->axis == 0 && isConstantOf(inputs[1], {0}) && inputs[2].masked &&
         inputs[2].masked->kind == Masked::sizes && inputs[2].masked->mask == reader.masked.mask &&
         isConstantOf(inputs[2], {shapeOf(inputs[0])[0]}) && isOrLacks(3, 0) && isOrLacks(4, 1);
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
         reader.is(1, Masked::elements) && reader.inputs[1].value && reader.masked.repeat == 1 &&
         reader.inputs[0].masked->axis == 0 &&
         reader.node.getInt("axis", reader.node.rank(0) == 1 ? 0 : -1) == 0 &&
         shapeOf(reader.inputs[1].value) == shapeOf(reader.masked.mask);
}

/// Positions of the rows that a mask of one dimension may choose, of all rows.
static std::optional<HostTensor> dropImpossible(const Entry &rows) {
  const Masked &masked = *rows.masked;
  auto possible = findPossible(masked.mask, 0);
  if (!possible || masked.shape.size() != 1 || masked.repeat != 1 || !rows.tensor ||
      rows.tensor->size() != (int64_t)possible->size())
    return std::nullopt;
  HostTensor few{"", rows.tensor->shape, std::vector<int64_t>()};
  for (auto [number, isPossible] : llvm::zip_equal(*rows.tensor->integers(), *possible))
    if (isPossible)
      std::get<0>(few.data).push_back(number);
  few.shape[masked.axis] = std::get<0>(few.data).size();
  return few;
}

/// The chosen rows, if the node splits them, along their axis, into parts that are as many as there
/// may be: then those are chosen in every run of a valid network. A traced loop over the experts
/// that any row chose takes them one by one so.
static std::optional<Entry> takeSplit(Node node, const Entry &rows) {
  if (StringRef(node.proto.op_type()) != "Split" || !rows.masked ||
      rows.masked->kind != Masked::elements)
    return std::nullopt;
  auto axis = node.normalizeAxis(node.getInt("axis", 0), shapeOf(rows).size());
  Shape given = node.getInts("split").value_or(Shape());
  const std::vector<int64_t> *sizes = node.constant(1) ? node.constant(1)->integers() : nullptr;
  int64_t count = llvm::sum_of(sizes ? ArrayRef(*sizes) : ArrayRef<int64_t>(given));
  if (failed(axis) || *axis != rows.masked->axis)
    return std::nullopt;
  auto few = dropImpossible(rows);
  if (few && few->shape[*axis] == count)
    return Entry{std::make_shared<HostTensor>(std::move(*few)), {}};
  return shapeOf(rows)[*axis] == count
             ? std::optional(Entry{rows.tensor, rows.value, rows.integers})
             : std::nullopt;
}

/// The shape of chosen rows, which may be a part of it, as sizes.
static Entry makeSizes(const Node &node, const Entry &rows) {
  Shape all = shapeOf(rows), other = all;
  other[rows.masked->axis] += rows.masked->repeat;
  int64_t rank = all.size(), start = node.getInt("start", 0), end = node.getInt("end", rank);
  auto clamp = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank); };
  start = clamp(start), end = std::max(start, clamp(end));
  auto take = [&](ShapeRef shape) {
    ShapeRef part = shape.slice(start, end - start);
    return makeIntegers({end - start}, std::vector<int64_t>(part.begin(), part.end()));
  };
  Masked masked = *rows.masked;
  masked.other = take(other).tensor;
  return makeMasked(std::move(masked), Masked::sizes, take(all));
}

/// What a node makes of sizes, of two numbers of rows.
LogicalResult GraphImporter::importSizes(const onnx::NodeProto &proto, ArrayRef<Entry> inputs,
                                         const Masked &masked) {
  bool isShape =
      llvm::is_contained({"Cast", "Concat", "ConstantOfShape", "Equal", "Gather", "Identity", "Mul",
                          "Reshape", "Slice", "Squeeze", "Unsqueeze", "Where"},
                         StringRef(proto.op_type()));
  SmallVector<Entry> all, other;
  for (const Entry &input : inputs) {
    bool isSizes = input.masked && input.masked->kind == Masked::sizes;
    isShape &= isSizes || (input.tensor && !input.masked) || !input;
    all.push_back(Entry{input.tensor, input.value});
    other.push_back(isSizes ? Entry{input.masked->other, {}} : all.back());
  }
  if (!isShape || failed(importOperator(proto, other)))
    return failure();
  Entry others = take(proto, 0);
  if (failed(importOperator(proto, all)))
    return failure();
  Entry result = take(proto, 0);
  if (!result.tensor || !others.tensor)
    return failure();
  Shape shape = result.tensor->shape;
  if (StringRef(proto.op_type()) == "ConstantOfShape") {
    auto [a, b] = std::mismatch(shape.begin(), shape.end(), others.tensor->shape.begin());
    int64_t count = *countElements(shapeOf(masked.mask));
    if (a == shape.end() || *a % count != 0)
      return failure();
    entries[proto.output(0)] = makeElements(masked, a - shape.begin(), *a / count, result);
    return success();
  }
  if (shape != others.tensor->shape)
    return failure();
  Masked sizes = masked;
  sizes.other = others.tensor;
  bool isSame = result.tensor->data == others.tensor->data;
  entries[proto.output(0)] = isSame ? result : makeMasked(std::move(sizes), Masked::sizes, result);
  return success();
}

/// Indices of rows that are not chosen become 0: there is an element.
static FailureOr<Entry> keepInside(Node &node, const Entry &indices, const Masked &masked) {
  auto mask = flattenMask(node, masked);
  if (failed(mask))
    return failure();
  Shape shape(shapeOf(indices).size(), 1);
  shape[indices.masked->axis] = shapeOf(*mask)[0];
  auto inside = select(node, node.reshape(*mask, shape), toIndices(node, indices.value),
                       integerConstant(node, "not_chosen", {}, {0}));
  return failed(inside) ? FailureOr<Entry>() : FailureOr<Entry>(Entry{nullptr, *inside});
}

/// What Gather or GatherND gives, if all rows are taken in order.
static std::optional<Entry> gatherInOrder(Node &node, const Entry &data, const Entry &indices) {
  bool isTuples = StringRef(node.proto.op_type()) == "GatherND";
  Shape shape = shapeOf(data), counted = shape;
  int64_t axis = node.getInt("axis", 0), rank = shape.size();
  if (!isTuples)
    counted = {shape[axis < 0 ? axis + rank : axis]};
  bool isGather = isTuples || StringRef(node.proto.op_type()) == "Gather";
  if (!isGather || (!isTuples && shapeOf(indices).size() != 1) || !countsAll(indices, counted))
    return std::nullopt;
  if (!isTuples)
    return Entry{data.tensor, data.value, data.integers};
  Shape rows(ShapeRef(shape).drop_front(shapeOf(indices)[1]));
  rows.insert(rows.begin(), shapeOf(indices)[0]);
  return data.tensor ? Entry{std::make_shared<HostTensor>(reshape(*data.tensor, rows)), {}}
                     : Entry{nullptr, node.reshape(data.value, rows), data.integers};
}

/// Nodes that compute each row from that of their operands.
LogicalResult GraphImporter::importOnRows(const onnx::NodeProto &proto, ArrayRef<Entry> inputs,
                                          const Masked &masked) {
  SmallVector<Entry> rows(inputs);
  StringRef type = proto.op_type();
  bool isResized = (type == "Expand" || type == "Reshape") && rows.size() == 2;
  auto get = [&](Value value) { return getConstant(value); };
  auto sizes = isResized && rows[1].value ? readSizes(rows[1].value, masked, get) : std::nullopt;
  if (sizes) {
    Masked of = masked;
    of.other = std::make_shared<HostTensor>(std::move(sizes->second));
    rows[1] = makeMasked(std::move(of), Masked::sizes,
                         Entry{std::make_shared<HostTensor>(std::move(sizes->first)), {}});
  }
  Node node(*this, proto, opset, rows);
  std::optional<ChosenRows> found;
  if (isResized)
    found = type == "Expand" ? findExpandedRows(node, rows, masked)
                             : findReshapedRows(node, rows, masked);
  else if (auto axis = findChosenAxis(node, rows))
    found = ChosenRows{*axis, masked.repeat};
  if (!found)
    return failure();
  bool readsRows = type.starts_with("Gather") && rows[1].masked && !rows[0].masked;
  if (auto whole = readsRows ? gatherInOrder(node, rows[0], rows[1]) : std::nullopt) {
    entries[proto.output(0)] = makeElements(masked, found->axis, found->repeat, *whole);
    return success();
  }
  bool isGathered = type.starts_with("Gather") && rows[1].masked && rows[1].value;
  auto inside =
      isGathered ? keepInside(node, rows[1], masked) : FailureOr<Entry>(rows[1 % rows.size()]);
  if (failed(inside))
    return failure();
  SmallVector<Entry> all(rows);
  if (isGathered)
    all[1] = *inside;
  for (Entry &input : all)
    input.masked = nullptr;
  Masked result = masked;
  result.axis = found->axis, result.repeat = found->repeat;
  return importOnAll(proto, all, result);
}

LogicalResult GraphImporter::importMasked(const onnx::NodeProto &proto, ArrayRef<Entry> inputs) {
  const Masked &masked =
      *llvm::find_if(inputs, [](const Entry &input) { return !!input.masked; })->masked;
  Node node(*this, proto, opset, inputs);
  Reader reader{node, inputs, masked};
  auto define = [&](const Entry &entry) {
    entries[proto.output(0)] = entry;
    return success();
  };
  if (auto kind = findPositions(reader))
    return define(makeMasked(masked, *kind));
  if (auto gathered = gatherWhole(reader))
    return define(*gathered);
  if (takesAll(reader))
    return define(inputs[0]);
  if (compresses(reader)) {
    Masked narrower = masked;
    narrower.mask = findNarrower(node, masked.mask, inputs[1].value);
    return define(makeElements(narrower, 0, 1, {inputs[0].tensor, inputs[0].value}));
  }
  if (StringRef(proto.op_type()).starts_with("Scatter"))
    return scatterRows(proto, inputs, masked);
  SmallVector<Entry> rows(llvm::map_range(inputs, listPositions));
  if (auto taken = takeSplit(node, rows[0])) {
    rows[0] = *taken;
    return importOperator(proto, rows);
  }
  auto isOf = [&](const Entry &row, bool isSizes) {
    return !row.masked || (row.masked->kind == Masked::sizes) == isSizes;
  };
  auto isForeign = [&](const Entry &row) {
    return row.masked && !(row.masked->kind == Masked::sizes ? row.masked->mask == masked.mask
                                                             : row.masked->isBySameMask(masked));
  };
  if (llvm::any_of(rows, isForeign))
    return failure();
  if (reader.type() == "Shape")
    return define(makeSizes(node, rows[0]));
  if (llvm::all_of(rows, [&](const Entry &row) { return isOf(row, true); }) &&
      !(reader.type() == "Expand" || (reader.type() == "Reshape" && !rows[0].masked)))
    return importSizes(proto, rows, masked);
  return importOnRows(proto, rows, masked);
}
