//===- FuseRows.cpp - normalizations as one step --------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Buffers.h"
#include "Emitters/Fused.h"
#include "Groups.h"
#include "Images.h"
#include "Rows.h"
#include "llvm/ADT/TypeSwitch.h"

namespace octet {
#define GEN_PASS_DEF_FUSEROWSPASS
#include "octet/Codegen/Passes.h.inc"
} // namespace octet

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

/// Sixteen lanes are the shortest row; more parts or operands would not stay in registers.
static constexpr int64_t kShortest = 16;
static constexpr size_t kMostOps = 24, kMostInputs = 8;

bool codegen::reducesRows(Operation *op) {
  auto isOfRows = [](auto reduce) {
    int64_t rank = reduce.getInput().getType().getRank();
    return reduce.getKeepDims() && reduce.getAxes() == ArrayRef<int64_t>{rank - 1};
  };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<nn::ReduceMeanOp, nn::ReduceSumOp, nn::ReduceMaxOp, nn::ReduceMinOp>(isOfRows)
      .Default(false);
}

SmallVector<int64_t> codegen::getShapeOfRows(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> rows(shape);
  rows.back() = 1;
  return rows;
}

bool codegen::isRowGroup(GroupOp group) {
  auto &body = group.getBody().front().getOperations();
  return llvm::any_of(body, [](Operation &op) { return reducesRows(&op); }) &&
         llvm::none_of(body, llvm::IsaPred<nn::MatmulOp>);
}

static ArrayRef<int64_t> getShape(Value value) { return getTensorType(value).getShape(); }

static bool isReal(Value value) { return getTensorType(value).getElementType().isF32(); }

/// Whether a row's result may be stored: real numbers, or integers by [N.quantize].
static bool isRoot(Operation *op) {
  if (op->getNumResults() != 1 || !(op->hasTrait<nn::Elementwise>() || isa<QuantizeOp>(op)))
    return false;
  RankedTensorType type = getTensorType(op->getResult(0));
  return type.getRank() >= 1 && type.getShape().back() >= kShortest &&
         (isQuantized(type) || isReal(op->getResult(0)));
}

namespace {
/// Operators that are computed row by row for the result of the last of them.
class RowChain {
public:
  explicit RowChain(Operation *root)
      : shape(getShape(root->getResult(0))), rows(getShapeOfRows(shape)) {
    parts.insert(root);
    for (size_t i = 0; i < parts.size(); ++i)
      for (Value operand : parts[i]->getOperands())
        add(operand.getDefiningOp());
    for (Operation *op : parts) // readers come before what they read
      if (llvm::any_of(op->getUsers(), [&](Operation *user) {
            return parts.contains(user) && (reducesRows(user) || reduced.contains(user));
          }))
        reduced.insert(op);
    while (parts.remove_if([&](Operation *op) { return op != root && !belongs(op); }))
      ;
  }

  bool isWorthwhile() const {
    return llvm::any_of(parts, reducesRows) && getInputs(parts.getArrayRef()).size() <= kMostInputs;
  }
  ArrayRef<Operation *> getParts() const { return parts.getArrayRef(); }

private:
  bool isReadByParts(Operation *op) const {
    return llvm::all_of(op->getUsers(), [&](Operation *user) { return parts.contains(user); });
  }

  /// Adds an op all of whose readers are parts already; else one of them adds it later, or it is
  /// read elsewhere.
  void add(Operation *op) {
    if (!op || parts.size() == kMostOps || op->getNumResults() != 1 || !isReadByParts(op))
      return;
    ArrayRef<int64_t> own = getShape(op->getResult(0));
    bool isReduction = reducesRows(op) && isReal(op->getOperand(0)) && isReal(op->getResult(0)) &&
                       getShape(op->getOperand(0)) == ArrayRef(shape);
    bool isElementwise = isElementwisePart(op) && (own == ArrayRef(shape) || own == ArrayRef(rows));
    if (isReduction || isElementwise)
      parts.insert(op);
  }

  /// What reductions read is computed for each of them and for the result: a long chain of
  /// operations is not, nor what a product's epilogue may compute.
  bool belongs(Operation *op) const {
    if (!isReadByParts(op))
      return false;
    if (reducesRows(op) || getShape(op->getResult(0)) == ArrayRef(rows) || !reduced.contains(op))
      return true;
    bool readsProduct = llvm::any_of(op->getOperands(), [](Value operand) {
      Operation *producer = operand.getDefiningOp();
      return producer && isRealProduct(producer);
    });
    return !readsProduct && !hasLongChain(FusedOp(op));
  }

  SmallVector<int64_t> shape, rows;
  llvm::SetVector<Operation *> parts;
  llvm::DenseSet<Operation *> reduced; ///< whose elements a reduction needs
};

/// See Passes.td.
struct FuseRows : octet::impl::FuseRowsPassBase<FuseRows> {
  void runOnOperation() override {
    llvm::DenseSet<Value> images = findImages(getOperation());
    auto isImage = [&](Value value) { return images.contains(value); };
    for (Block &block : getOperation().getBody()) {
      Operation *next = block.empty() ? nullptr : &block.back();
      while (Operation *op = next) {
        next = op->getPrevNode();
        if (!isRoot(op) || isImage(op->getResult(0)))
          continue;
        RowChain chain(op);
        if (!chain.isWorthwhile() || llvm::any_of(getInputs(chain.getParts()), isImage))
          continue;
        next = moveIntoGroup(chain.getParts())->getPrevNode();
        ++numFused;
      }
    }
  }
};
} // namespace
