//===- Attention.cpp - attention in integers as one step ------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attention.h"
#include "Rows.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

/// Bytes with one scale.
static bool isBytes(Value value) {
  RankedTensorType type = getTensorType(value);
  return isa<quant::UniformQuantizedType>(type.getElementType()) && isByte(type);
}

static bool isRealOf(Value value, ArrayRef<int64_t> shape) {
  RankedTensorType type = getTensorType(value);
  return type.getElementType().isF32() && type.getShape() == shape;
}

/// Bytes times bytes, real numbers, and as many matrices on both sides.
static bool isProduct(nn::MatmulOp op) {
  auto matrices = [](Value value) { return getTensorType(value).getShape().drop_back(2); };
  return op.getType().getRank() >= 2 && isBytes(op.getLhs()) && isBytes(op.getRhs()) &&
         op.getType().getElementType().isF32() &&
         matrices(op.getLhs()) == matrices(op.getResult()) &&
         matrices(op.getRhs()) == matrices(op.getResult());
}

/// What reads the weights, and both results of that.
static bool findReaders(Attention &a) {
  Value weights = a.weights.getResult();
  for (Operation *user : weights.getUsers()) {
    if (auto matmul = dyn_cast<nn::MatmulOp>(user); matmul && !a.values)
      a.values = matmul;
    else if (auto sum = dyn_cast<nn::ReduceSumOp>(user); sum && !a.sum)
      a.sum = sum;
    else
      return false;
  }
  if (!a.values || !a.sum || !isProduct(a.values) || a.values.getRhs() == weights ||
      !reducesRows(a.sum) || !a.values->hasOneUse() || !a.sum->hasOneUse())
    return false;
  a.division = *a.values->user_begin();
  return a.division == *a.sum->user_begin() && a.division->hasTrait<nn::Elementwise>() &&
         isRealOf(a.division->getResult(0), a.values.getType().getShape());
}

/// Adds the division, and a choice of its numbers where nothing else reads them.
static void findResult(Attention &a) {
  a.onValues.insert(a.division);
  Value divided = a.division->getResult(0);
  llvm::SetVector<Operation *> readers(divided.user_begin(), divided.user_end());
  nn::SelectOp select;
  nn::CompareOp compare;
  for (Operation *reader : readers) {
    if (auto op = dyn_cast<nn::SelectOp>(reader))
      select = op;
    else if (auto op = dyn_cast<nn::CompareOp>(reader))
      compare = op;
  }
  if (readers.size() == 2 && select && compare && compare->hasOneUse() &&
      compare.getLhs() == compare.getRhs() && select.getCondition() == compare.getResult() &&
      select.getYes() == divided && getTensorType(select.getNo()).getNumElements() == 1 &&
      select.getType() == divided.getType())
    a.onValues.insert_range(ArrayRef<Operation *>{compare, select});
}

/// Adds what is computed for `parts` alone, from the weights on up to the scores.
static void findProducers(Attention &a, llvm::SetVector<Operation *> &parts) {
  ArrayRef<int64_t> shape = getTensorType(a.weights.getResult()).getShape();
  auto isKnown = [&](Operation *op) {
    auto largest = dyn_cast<nn::ReduceMaxOp>(op);
    if (largest)
      return reducesRows(largest) && isRealOf(largest.getInput(), shape);
    auto matmul = dyn_cast<nn::MatmulOp>(op);
    bool isPart = matmul ? isProduct(matmul) : op->hasTrait<nn::Elementwise>();
    return isPart && isRealOf(op->getResult(0), shape);
  };
  parts.insert(a.weights);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (isa<nn::MatmulOp>(parts[i]))
      continue;
    for (Value operand : parts[i]->getOperands()) {
      Operation *op = operand.getDefiningOp();
      // Where a reader is no part yet, that adds it later, or it is read elsewhere.
      if (op && isKnown(op) &&
          llvm::all_of(op->getUsers(), [&](Operation *user) { return parts.contains(user); }))
        parts.insert(op);
    }
  }
}

/// Adds the parts that compute `value`, each behind those that it reads.
static void collect(Value value, const llvm::SetVector<Operation *> &parts,
                    llvm::SetVector<Operation *> &into) {
  Operation *op = value.getDefiningOp();
  if (!parts.contains(op) || !op->hasTrait<nn::Elementwise>() || into.contains(op))
    return;
  for (Value operand : op->getOperands())
    collect(operand, parts, into);
  into.insert(op);
}

/// Whether the parts are one product, and one difference from the largest of its row.
static bool sortProducers(Attention &a, const llvm::SetVector<Operation *> &parts) {
  for (Operation *op : parts) {
    if (auto matmul = dyn_cast<nn::MatmulOp>(op)) {
      if (a.scores)
        return false;
      a.scores = matmul;
    } else if (auto largest = dyn_cast<nn::ReduceMaxOp>(op)) {
      if (a.largest)
        return false;
      a.largest = largest;
    }
  }
  if (!a.scores || !a.largest || !a.largest->hasOneUse())
    return false;
  a.difference = dyn_cast<nn::SubOp>(*a.largest->user_begin());
  Value scores = a.largest.getInput();
  if (!a.difference || a.difference.getLhs() != scores || !parts.contains(a.difference))
    return false;
  collect(scores, parts, a.onScores);
  llvm::SetVector<Operation *> all;
  collect(a.weights.getInput(), parts, all);
  for (Operation *op : all)
    if (op != a.difference && !a.onScores.contains(op))
      a.onDifferences.insert(op);
  auto readsScores = [&](Operation *op) {
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      Operation *producer = operand.getDefiningOp();
      return producer && (producer == a.scores || a.onScores.contains(producer));
    });
  };
  // g reads the product, and f its result through the difference only.
  bool isOfProduct = scores == a.scores.getResult() || llvm::any_of(a.onScores, readsScores);
  return isOfProduct && llvm::none_of(a.onDifferences, readsScores) && all.contains(a.difference);
}

std::optional<Attention> Attention::match(QuantizeOp weights) {
  Attention attention{};
  attention.weights = weights;
  llvm::SetVector<Operation *> producers;
  if (!isBytes(weights.getResult()) || !findReaders(attention))
    return std::nullopt;
  findProducers(attention, producers);
  if (!sortProducers(attention, producers))
    return std::nullopt;
  findResult(attention);
  return attention;
}

SmallVector<Operation *> Attention::getParts() {
  SmallVector<Operation *> parts{scores, largest, difference, weights, values, sum};
  llvm::append_range(parts, onValues);
  llvm::append_range(parts, onScores);
  llvm::append_range(parts, onDifferences);
  llvm::sort(parts, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return parts;
}
