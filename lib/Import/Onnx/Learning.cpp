//===- Learning.cpp - operators around networks in pipelines ------------------ ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of the domain ai.onnx.ml, what scikit-learn's pipelines have in front of and behind a network.
//
//===----------------------------------------------------------------------===//

#include "Compose.h"
#include "Operators.h"
#include "mlir/IR/TypeUtilities.h"
#include <cmath>

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

/// Input 0, numbers of any type, as f32.
static MaybeValue getReals(Node &node) { return node.cast(node.any(0), node.f32()); }

/// A list of floats as a constant that broadcasts to the input: one number, or one per column.
static MaybeValue getColumns(Node &node, StringRef name, float otherwise) {
  std::vector<float> values = node.getFloatList(name);
  int64_t count = values.size();
  if (count == 0)
    return node.number(name, otherwise);
  if (count != 1 && (node.rank(0) == 0 || node.shape(0).back() != count))
    return node.invalid("has " + Twine(count) + " numbers in the attribute " + name +
                        " for an input of shape " + printShape(node.shape(0)));
  return node.materialize(HostTensor{node.nameConstant(name), {count}, std::move(values)});
}

/// (x - offset) * scale
LogicalResult onnx_import::importScaler(Node &node) {
  auto moved = node.compute<nn::SubOp>(getReals(node), getColumns(node, "offset", 0));
  return node.setResult(node.compute<nn::MulOp>(moved, getColumns(node, "scale", 1)));
}

/// Each row divided by its largest element, its sum of magnitudes or its length, but by 0.
LogicalResult onnx_import::importNormalizer(Node &node) {
  if (node.rank(0) == 0)
    return node.invalid("normalizes a scalar");
  StringRef norm = node.getString("norm", "MAX");
  Shape axes{node.rank(0) - 1};
  auto x = getReals(node), size = x;
  if (norm == "MAX")
    size = reduce(node, x, Reduction::max, axes);
  else if (norm == "L1")
    size = reduce(node, node.compute<nn::AbsOp>(x), Reduction::sum, axes);
  else
    size =
        node.compute<nn::SqrtOp>(reduce(node, node.compute<nn::MulOp>(x, x), Reduction::sum, axes));
  auto isZero = compare(node, nn::Predicate::equal, size, node.number("zero", 0));
  return node.setResult(
      node.compute<nn::DivOp>(x, select(node, isZero, node.number("one", 1), size)));
}

/// 1 above the threshold, else 0.
LogicalResult onnx_import::importBinarizer(Node &node) {
  auto threshold = node.number("threshold", node.getFloat("threshold", 0));
  auto isAbove = compare(node, nn::Predicate::less, threshold, getReals(node));
  return node.setResult(node.cast(isAbove, node.f32()));
}

/// Another number in place of those that are missing: NaN, or one that says so.
LogicalResult onnx_import::importImputer(Node &node) {
  float missing = node.getFloat("replaced_value_float", 0);
  auto x = getReals(node), imputed = getColumns(node, "imputed_value_floats", 0);
  if (std::isnan(missing))
    return node.setResult(select(node, compare(node, nn::Predicate::equal, x, x), x, imputed));
  auto isMissing = compare(node, nn::Predicate::equal, x, node.number("missing", missing));
  return node.setResult(select(node, isMissing, imputed, x));
}

/// Columns by their indices, which may be computed at run time; a vector is one row.
LogicalResult onnx_import::importArrayFeatureExtractor(Node &node) {
  auto data = node.any(0), indices = toIndices(node, node.any(1));
  if (failed(data) || failed(indices))
    return failure();
  Shape shape = node.shape(0);
  if (shape.size() < 2)
    shape.insert(shape.begin(), 2 - shape.size(), 1);
  int64_t count = *countElements(node.shape(1)), columns = shape.back();
  if (auto *known = node.constant(1))
    for (int64_t index : *known->integers())
      if (index < 0 || index >= columns)
        return node.invalid("has the index " + Twine(index) + " into " + Twine(columns) +
                            " columns");
  return node.setResult(node.create<nn::GatherOp>(
      node.reshape(*data, shape), node.reshape(*indices, {count}), (int64_t)shape.size() - 1));
}

/// x times the coefficients of each target, and its intercept.
LogicalResult onnx_import::importLinearRegressor(Node &node) {
  Shape shape = node.shape(0);
  if (shape.size() == 1)
    shape.insert(shape.begin(), 1);
  const onnx::AttributeProto *factors = node.attribute("coefficients"),
                             *intercepts = node.attribute("intercepts");
  int64_t targets = node.getInt("targets", 1), columns = shape.back();
  if (shape.size() != 2 || targets < 1 || !factors || factors->floats_size() != targets * columns)
    return node.invalid("has " + Twine(factors ? factors->floats_size() : 0) + " coefficients of " +
                        Twine(targets) + " targets for an input of shape " +
                        printShape(node.shape(0)));
  if (intercepts && intercepts->floats_size() != targets)
    return node.invalid("has " + Twine(intercepts->floats_size()) + " intercepts of " +
                        Twine(targets) + " targets");
  auto make = [&](StringRef role, const onnx::AttributeProto *list, Shape of) {
    std::vector<float> values(list->floats().begin(), list->floats().end());
    return node.materialize(HostTensor{node.nameConstant(role), of, std::move(values)});
  };
  auto x = getReals(node), filter = make("coefficients", factors, {targets, columns});
  auto bias = intercepts ? make("intercepts", intercepts, {targets}) : MaybeValue(Value());
  if (failed(x) || failed(filter) || failed(bias))
    return failure();
  return node.setResult(node.create<nn::LinearOp>(node.reshape(*x, shape), *filter, *bias));
}

/// Whether each element is each of the keys, [..., keys].
static MaybeValue compareWithKeys(Node &node, MaybeValue x, MaybeValue keys) {
  if (failed(x) || failed(keys))
    return failure();
  Shape shape(shapeOf(*x));
  shape.push_back(1);
  return compare(node, nn::Predicate::equal, MaybeValue(node.reshape(*x, shape)), keys);
}

/// 1 for the category that an element is, 0 for others.
LogicalResult onnx_import::importOneHotEncoder(Node &node) {
  auto categories = node.getInts("cats_int64s");
  if (!categories || categories->empty())
    return node.unsupported("categories that are texts; encode them in front of the network");
  auto keys = integerConstant(node, "categories", {(int64_t)categories->size()},
                              {categories->begin(), categories->end()});
  auto x = node.cast(node.any(0), node.builder().getI64Type());
  return node.setResult(node.cast(compareWithKeys(node, x, keys), node.f32()));
}

/// A list of integers or of floats, whose names begin with `role`, behind a first element.
static FailureOr<HostTensor> getList(Node &node, StringRef role, const HostTensor *first) {
  const onnx::AttributeProto *integers = node.attribute((role + "_int64s").str()),
                             *floats = node.attribute((role + "_floats").str());
  HostTensor list{node.nameConstant(role), {}, {}};
  if (integers)
    list.data = std::vector<int64_t>(integers->ints().begin(), integers->ints().end());
  else if (floats)
    list.data = node.getFloatList((role + "_floats").str());
  else
    return node.unsupported(role + " that are texts; encode them outside of the network");
  if (first && integers)
    std::get<0>(list.data).insert(std::get<0>(list.data).begin(), first->integers()->front());
  else if (first)
    std::get<1>(list.data).insert(std::get<1>(list.data).begin(), first->floats()->front());
  list.shape = {list.size()};
  return list;
}

/// The value of the first key that an element is, or the default.
LogicalResult onnx_import::importLabelEncoder(Node &node) {
  bool hasIntegers = !!node.attribute("values_int64s");
  HostTensor integer{"", {1}, std::vector<int64_t>{node.getInt("default_int64", -1)}},
      real{"", {1}, std::vector<float>{node.getFloat("default_float", -0.0f)}};
  auto keys = getList(node, "keys", nullptr);
  auto values = failed(keys) ? keys : getList(node, "values", hasIntegers ? &integer : &real);
  if (failed(values))
    return failure();
  int64_t count = keys->size();
  if (count == 0 || values->size() != count + 1)
    return node.invalid("has " + Twine(count) + " keys and " + Twine(values->size() - 1) +
                        " values");
  Type element = keys->isInteger() ? Type(node.builder().getI64Type()) : node.f32();
  auto is =
      compareWithKeys(node, node.cast(node.any(0), element), node.materialize(std::move(*keys)));
  std::vector<int64_t> ranks; // the first key has the largest
  for (int64_t i = 0; i < count; ++i)
    ranks.push_back(count - i);
  auto rank = select(node, is, integerConstant(node, "ranks", {count}, std::move(ranks)),
                     integerConstant(node, "none", {}, {0}));
  int64_t axis = node.rank(0);
  auto first = reduce(node, rank, Reduction::max, {axis}, /*keepDims=*/false);
  std::vector<int64_t> order{0};
  for (int64_t i = count; i > 0; --i)
    order.push_back(i);
  auto table = node.materialize(gatherElements(*values, values->shape, order));
  if (failed(first) || failed(table))
    return failure();
  return node.setResult(node.create<nn::GatherOp>(*table, *first, /*axis=*/0));
}

/// The columns of all inputs, as floats, side by side.
LogicalResult onnx_import::importFeatureVectorizer(Node &node) {
  Shape sizes = node.getInts("inputdimensions").value_or(Shape());
  SmallVector<Value> parts;
  for (unsigned i = 0; i < node.numInputs(); ++i) {
    Shape shape = node.shape(i);
    if (shape.size() != 2 || i >= sizes.size() || sizes[i] != shape[1])
      return node.invalid("has inputs of shape " + node.printInputShapes() + " for " +
                          printShape(sizes) + " columns");
    auto part = node.cast(node.any(i), node.f32());
    if (failed(part))
      return failure();
    parts.push_back(*part);
  }
  return node.setResult(node.create<nn::ConcatOp>(parts, /*axis=*/1));
}
