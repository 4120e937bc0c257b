//===- FuseSoftmax.cpp - softmax of rows as one step ----------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attention.h"
#include "Groups.h"
#include "Images.h"
#include "Rows.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace octet {
#define GEN_PASS_DEF_FUSESOFTMAXPASS
#include "octet/Codegen/Passes.h.inc"
} // namespace octet

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

/// More would not stay in registers.
static constexpr size_t kMostOps = 16, kMostInputs = 8;

bool codegen::isSoftmaxOfRows(nn::SoftmaxOp op) {
  RankedTensorType type = getTensorType(op.getResult());
  constexpr int64_t kShortest = 16, kBytes = 8;
  int64_t length = type.getShape().back();
  return (int64_t)op.getAxis() == type.getRank() - 1 && type.getElementType().isF32() &&
         length >= kShortest && length * kBytes <= kMostStackBytes;
}

namespace {
/// A softmax, and the element-wise operators around it whose values are read by one another only.
class SoftmaxChain {
public:
  explicit SoftmaxChain(nn::SoftmaxOp softmax) : shape(softmax.getType().getShape()) {
    parts.insert(softmax);
    addReaders(softmax);
    for (size_t i = 0; i < parts.size(); ++i)
      for (Value operand : parts[i]->getOperands())
        addProducer(operand.getDefiningOp());
  }

  ArrayRef<Operation *> getParts() const { return parts.getArrayRef(); }

  /// Adds the product that makes the rows and the one that multiplies them, if the scores do not
  /// fit in the second cache. Returns the elements that their units work in, or 0.
  int64_t addProducts() {
    nn::MatmulOp scores = getScores(), values = getValues();
    constexpr int64_t kFewestBytes = 1 << 20, kFewestColumns = 16;
    if (!scores || !values || ShapedType::getNumElements(shape) * 4 < kFewestBytes ||
        shape.size() < 2 || values.getType().getShape().back() < kFewestColumns ||
        values.getType().getShape().drop_back(2) != shape.drop_back(2))
      return 0;
    parts.insert(scores);
    parts.insert(values);
    return FloatAttentionMemory(scores, values).elements();
  }

private:
  static bool isFloat(nn::MatmulOp op) {
    return llvm::all_of(ArrayRef<Value>{op.getLhs(), op.getRhs(), op.getResult()},
                        [](Value value) { return getTensorType(value).getElementType().isF32(); });
  }

  /// The only product that parts read, if nothing else reads it.
  nn::MatmulOp getScores() const {
    nn::MatmulOp scores;
    for (Value input : codegen::getInputs(parts.getArrayRef())) {
      auto op = input.getDefiningOp<nn::MatmulOp>();
      if (!op || getTensorType(input).getShape() != shape)
        continue;
      if (scores || !isFloat(op) ||
          !llvm::all_of(op->getUsers(), [&](Operation *user) { return parts.contains(user); }))
        return {};
      scores = op;
    }
    return scores;
  }

  /// The product that alone reads what the parts compute, as its rows.
  nn::MatmulOp getValues() const {
    for (Operation *op : parts)
      for (Operation *user : op->getUsers()) {
        if (parts.contains(user))
          continue;
        auto values = dyn_cast<nn::MatmulOp>(user);
        bool isOnly = values && op->hasOneUse() && values.getLhs() == op->getResult(0);
        return isOnly && isFloat(values) ? values : nn::MatmulOp();
      }
    return {};
  }

  bool isPart(Operation *op) const {
    return (isElementwisePart(op) || isa<QuantizeOp>(op)) &&
           getTensorType(op->getResult(0)).getShape() == shape;
  }

  /// Adds the operators behind up to the last one of which alone anything else reads the result.
  void addReaders(Operation *softmax) {
    llvm::SetVector<Operation *> grown(parts);
    for (Operation *op = softmax->getNextNode(); op && grown.size() < kMostOps;
         op = op->getNextNode()) {
      bool reads = llvm::any_of(op->getOperands(), [&](Value operand) {
        return operand.getDefiningOp() && grown.contains(operand.getDefiningOp());
      });
      if (!reads)
        continue;
      if (!isPart(op))
        return;
      grown.insert(op);
      auto isInner = [&](Operation *part) {
        return part == op || llvm::all_of(part->getUsers(),
                                          [&](Operation *user) { return grown.contains(user); });
      };
      if (llvm::all_of(grown, isInner) &&
          codegen::getInputs(grown.getArrayRef()).size() <= kMostInputs)
        parts = grown;
      if (isa<QuantizeOp>(op))
        return;
    }
  }

  /// Adds an operator in front all of whose readers are parts, unless a product's epilogue may
  /// compute it.
  void addProducer(Operation *op) {
    auto readsProduct = [](Operation *op) {
      return llvm::any_of(op->getOperands(), [](Value operand) {
        Operation *producer = operand.getDefiningOp();
        return producer && isRealProduct(producer);
      });
    };
    if (!op || parts.size() == kMostOps || parts.contains(op) || !isElementwisePart(op) ||
        !isPart(op) || readsProduct(op) ||
        !llvm::all_of(op->getUsers(), [&](Operation *user) { return parts.contains(user); }))
      return;
    parts.insert(op);
    if (codegen::getInputs(parts.getArrayRef()).size() > kMostInputs)
      parts.remove(op);
  }

  ArrayRef<int64_t> shape;
  llvm::SetVector<Operation *> parts;
};

/// See Passes.td.
struct FuseSoftmax : octet::impl::FuseSoftmaxPassBase<FuseSoftmax> {
  void runOnOperation() override {
    llvm::DenseSet<Value> images = findImages(getOperation());
    auto isImage = [&](Value value) { return images.contains(value); };
    for (nn::SoftmaxOp softmax :
         llvm::to_vector(getOperation().getBody().front().getOps<nn::SoftmaxOp>())) {
      if (!isSoftmaxOfRows(softmax) || isImage(softmax.getResult()))
        continue;
      SoftmaxChain chain(softmax);
      if (llvm::any_of(getInputs(chain.getParts()), isImage))
        continue;
      Value scratch;
      if (int64_t elements = chain.addProducts()) {
        OpBuilder builder(softmax);
        scratch = tensor::EmptyOp::create(builder, softmax.getLoc(), ArrayRef<int64_t>{elements},
                                          builder.getF32Type());
      }
      moveIntoGroup(chain.getParts(), scratch ? ValueRange(scratch) : ValueRange());
      ++numFused;
    }
  }
};
} // namespace
