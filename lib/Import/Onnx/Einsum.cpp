//===- Einsum.cpp - sums of products by labels of dimensions ------------------ ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// From the first operand on, two terms at a time become one: diagonals are taken, labels that
// nothing else reads are summed, and what is left is a matrix product between transposes.
//
//===----------------------------------------------------------------------===//

#include "Compose.h"
#include "Operators.h"
#include "octet/Support/Quote.h"
#include "llvm/ADT/StringExtras.h"
#include <map>
#include <set>

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

namespace {
/// A letter, or kEllipsis + i for the i-th last dimension of an ellipsis.
using Labels = SmallVector<int>;
constexpr int kEllipsis = 256;

struct Term {
  Value value;
  Labels labels;
  const HostTensor *constant = nullptr; ///< of real numbers that `value` has, if it is known
};
struct Equation {
  SmallVector<Labels> terms;
  Labels result;
};
} // namespace

//===----------------------------------------------------------------------===//
// The equation
//===----------------------------------------------------------------------===//

/// The labels of "ij...k", whose ellipsis stands for `numHidden` dimensions.
static std::optional<Labels> parseLabels(StringRef text, int64_t numHidden) {
  Labels labels;
  while (!text.empty()) {
    if (text.consume_front("...")) {
      for (int64_t i = numHidden; i > 0; --i)
        labels.push_back(kEllipsis + i);
    } else if (llvm::isAlpha(text.front())) {
      labels.push_back(text.front());
      text = text.drop_front();
    } else {
      return std::nullopt;
    }
  }
  return labels;
}

/// Without "->": the ellipsis, then the letters that stand once, in alphabetical order.
static Labels inferResult(ArrayRef<Labels> terms) {
  std::map<int, int> counts;
  for (const Labels &labels : terms)
    for (int label : labels)
      ++counts[label];
  Labels result;
  for (auto [label, count] : llvm::reverse(counts))
    if (label >= kEllipsis)
      result.push_back(label);
  for (auto [label, count] : counts)
    if (label < kEllipsis && count == 1)
      result.push_back(label);
  return result;
}

/// The equation for the node's inputs, or nothing if it does not fit them.
static std::optional<Equation> parseEquation(Node &node, StringRef text) {
  std::string compact(text);
  llvm::erase(compact, ' ');
  auto [left, right] = StringRef(compact).split("->");
  SmallVector<StringRef> parts;
  left.split(parts, ',');
  if (parts.size() != node.numInputs())
    return std::nullopt;
  Equation equation;
  int64_t mostHidden = 0;
  for (auto [i, part] : llvm::enumerate(parts)) {
    bool hides = part.contains("...");
    int64_t numHidden = hides ? node.rank(i) - ((int64_t)part.size() - 3) : 0;
    auto labels = numHidden < 0 ? std::nullopt : parseLabels(part, numHidden);
    if (!labels || (int64_t)labels->size() != node.rank(i))
      return std::nullopt;
    equation.terms.push_back(std::move(*labels));
    mostHidden = std::max(mostHidden, numHidden);
  }
  auto result = StringRef(compact).contains("->") ? parseLabels(right, mostHidden)
                                                  : inferResult(equation.terms);
  if (!result || std::set<int>(result->begin(), result->end()).size() != result->size())
    return std::nullopt;
  for (int label : *result)
    if (llvm::none_of(equation.terms,
                      [&](const Labels &t) { return llvm::is_contained(t, label); }))
      return std::nullopt;
  equation.result = std::move(*result);
  return equation;
}

//===----------------------------------------------------------------------===//
// Terms
//===----------------------------------------------------------------------===//

static int64_t getAxis(ArrayRef<int> labels, int label) {
  return llvm::find(labels, label) - labels.begin();
}

static Labels joinLabels(ArrayRef<Labels> parts) {
  Labels all;
  for (const Labels &part : parts)
    all.append(part);
  return all;
}

/// The term with its dimensions in another order.
static LogicalResult permute(Node &node, Term &term, const Labels &order) {
  Shape permutation;
  for (int label : order)
    permutation.push_back(getAxis(term.labels, label));
  term.labels = order;
  if (llvm::is_sorted(permutation))
    return success();
  auto moved = node.create<nn::TransposeOp>(term.value, permutation);
  if (failed(moved))
    return failure();
  term.value = *moved;
  return success();
}

/// Where a label stands twice: of both dimensions, moved behind the others and seen as one, every
/// element with equal indices.
static LogicalResult takeDiagonals(Node &node, Term &term) {
  for (unsigned first = 0; first < term.labels.size(); ++first) {
    int label = term.labels[first];
    auto *second = std::find(term.labels.begin() + first + 1, term.labels.end(), label);
    if (second == term.labels.end())
      continue;
    *second = -1; // a name of its own
    Labels order;
    llvm::copy_if(term.labels, std::back_inserter(order),
                  [&](int other) { return other != label && other != -1; });
    order.append({label, -1});
    if (failed(permute(node, term, order)))
      return failure();
    Shape shape(shapeOf(term.value));
    int64_t size = shape.pop_back_val();
    if (shape.back() != size)
      return node.invalid("has a label for dimensions of " + Twine(shape.back()) + " and " +
                          Twine(size) + " elements");
    shape.back() = size * size;
    Shape starts(shape.size(), 0), sizes(shape), steps(shape.size(), 1);
    sizes.back() = size;
    steps.back() = size + 1;
    auto diagonal = node.create<nn::SliceOp>(node.reshape(term.value, shape), starts, sizes, steps);
    if (failed(diagonal))
      return failure();
    term.value = *diagonal;
    term.labels.pop_back();
    first = -1; // the order is another one now
  }
  return success();
}

/// Sums over the labels that are not in `needed`.
static LogicalResult sumOthers(Node &node, Term &term, const Labels &needed) {
  Shape axes, shape;
  Labels labels;
  for (auto [axis, label] : llvm::enumerate(term.labels)) {
    if (!llvm::is_contained(needed, label)) {
      axes.push_back(axis);
      continue;
    }
    labels.push_back(label);
    shape.push_back(shapeOf(term.value)[axis]);
  }
  if (axes.empty())
    return success();
  auto sum = reduce(node, term.value, Reduction::sum, axes);
  if (failed(sum))
    return failure();
  term = {node.reshape(*sum, shape), labels, nullptr};
  return success();
}

/// The product of `count` dimensions from `first` on.
static int64_t countFrom(const Term &term, size_t first, size_t count) {
  return *countElements(shapeOf(term.value).slice(first, count));
}

/// Products of integers: of all elements, then their sums; a matrix product is one of floats.
static FailureOr<Term> multiplyIntegers(Node &node, Term lhs, Term rhs, const Labels &needed) {
  Labels labels = lhs.labels;
  Shape shape(shapeOf(lhs.value));
  for (auto [label, size] : llvm::zip(rhs.labels, shapeOf(rhs.value)))
    if (!llvm::is_contained(lhs.labels, label)) {
      labels.push_back(label);
      shape.push_back(1);
    }
  Labels order;
  llvm::copy_if(labels, std::back_inserter(order),
                [&](int label) { return llvm::is_contained(rhs.labels, label); });
  if (failed(permute(node, rhs, order)))
    return failure();
  Shape sizes(labels.size(), 1);
  for (auto [label, size] : llvm::zip(rhs.labels, shapeOf(rhs.value)))
    sizes[getAxis(labels, label)] = size;
  auto product =
      node.create<nn::MulOp>(node.reshape(lhs.value, shape), node.reshape(rhs.value, sizes));
  if (failed(product))
    return failure();
  Term result{*product, labels};
  if (failed(sumOthers(node, result, needed)))
    return failure();
  return result;
}

/// The product with a constant, over the labels `summed`, as a linear layer: its outputs are the
/// labels `right`.
static FailureOr<Term> multiplyByFilter(Node &node, Term lhs, const Term &rhs, const Labels &left,
                                        const Labels &summed, const Labels &right) {
  Shape permutation;
  for (const Labels *labels : {&right, &summed})
    for (int label : *labels)
      permutation.push_back(getAxis(rhs.labels, label));
  HostTensor filter = transpose(*rhs.constant, permutation);
  Shape outputs(ShapeRef(filter.shape).take_front(right.size()));
  int64_t numOutputs = *countElements(outputs), depth = filter.size() / numOutputs;
  auto weights = node.materialize(reshape(filter, {numOutputs, depth}));
  if (failed(weights) || failed(permute(node, lhs, joinLabels({left, summed}))))
    return failure();
  Shape rows(shapeOf(lhs.value).take_front(left.size())), shape(rows);
  if (rows.empty())
    rows.push_back(1);
  rows.push_back(depth);
  auto product = node.create<nn::LinearOp>(node.reshape(lhs.value, rows), *weights, Value());
  if (failed(product))
    return failure();
  llvm::append_range(shape, outputs);
  return Term{node.reshape(*product, shape), joinLabels({left, right})};
}

/// The sum of the products of two terms over all labels that both have and `needed` lacks.
static FailureOr<Term> multiply(Node &node, Term lhs, Term rhs, const Labels &needed) {
  if (!nn::holdsReals(lhs.value.getType()))
    return multiplyIntegers(node, std::move(lhs), std::move(rhs), needed);
  if (lhs.constant && !rhs.constant)
    std::swap(lhs, rhs);
  Labels batch, summed, left, right;
  for (int label : lhs.labels) {
    bool isShared = llvm::is_contained(rhs.labels, label);
    (!isShared ? left : llvm::is_contained(needed, label) ? batch : summed).push_back(label);
  }
  for (int label : rhs.labels)
    if (!llvm::is_contained(lhs.labels, label))
      right.push_back(label);
  if (rhs.constant && !lhs.constant && batch.empty() && !summed.empty())
    return multiplyByFilter(node, std::move(lhs), rhs, left, summed, right);
  if (failed(permute(node, lhs, joinLabels({batch, left, summed}))) ||
      failed(permute(node, rhs, joinLabels({batch, summed, right}))))
    return failure();
  // Leading dimensions broadcast, so that batches stay apart.
  size_t numBatch = batch.size();
  Shape lhsShape(shapeOf(lhs.value).take_front(numBatch)),
      rhsShape(shapeOf(rhs.value).take_front(numBatch));
  lhsShape.append({countFrom(lhs, numBatch, left.size()),
                   countFrom(lhs, numBatch + left.size(), summed.size())});
  rhsShape.append({countFrom(rhs, numBatch, summed.size()),
                   countFrom(rhs, numBatch + summed.size(), right.size())});
  auto product = node.create<nn::MatmulOp>(node.reshape(lhs.value, lhsShape),
                                           node.reshape(rhs.value, rhsShape));
  if (failed(product))
    return failure();
  Shape shape(shapeOf(*product).take_front(numBatch));
  llvm::append_range(shape, shapeOf(lhs.value).slice(numBatch, left.size()));
  llvm::append_range(shape, shapeOf(rhs.value).drop_front(numBatch + summed.size()));
  return Term{node.reshape(*product, shape), joinLabels({batch, left, right})};
}

/// The labels that the result or a term from `next` on reads.
static Labels getNeeded(const Equation &equation, unsigned next) {
  Labels needed = equation.result;
  for (unsigned i = next; i < equation.terms.size(); ++i)
    needed.append(equation.terms[i]);
  return needed;
}

LogicalResult onnx_import::importEinsum(Node &node) {
  StringRef text = node.getString("equation", "");
  auto equation = parseEquation(node, text);
  if (!equation)
    return node.invalid("has the equation " + quote(text) + ", which does not fit its inputs");
  Term result;
  for (unsigned i = 0; i < node.numInputs(); ++i) {
    auto value = node.any(i);
    if (failed(value))
      return failure();
    Term term{*value, equation->terms[i]};
    Labels later = getNeeded(*equation, i + 1), needed = later;
    needed.append(i ? result.labels : Labels());
    if (failed(takeDiagonals(node, term)) || failed(sumOthers(node, term, needed)))
      return failure();
    bool isAsGiven = term.value == *value && nn::holdsReals(term.value.getType());
    term.constant = isAsGiven ? node.constant(i) : nullptr;
    if (i == 0) {
      result = term;
      continue;
    }
    Labels kept = later;
    kept.append(term.labels);
    if (failed(sumOthers(node, result, kept)))
      return failure();
    auto product = multiply(node, result, term, later);
    if (failed(product))
      return failure();
    result = *product;
  }
  if (failed(permute(node, result, equation->result)))
    return failure();
  return node.setResult(result.value);
}
