//===- FuseElementwise.cpp - chains of element-wise ops as one step --------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Buffers.h"
#include "Groups.h"
#include "Images.h"

namespace octet {
#define GEN_PASS_DEF_FUSEELEMENTWISEPASS
#include "octet/Codegen/Passes.h.inc"
} // namespace octet

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

/// More would not stay in registers.
static constexpr size_t kMostOps = 16, kMostInputs = 8;

static bool isRoot(Operation *op) { return op->hasTrait<nn::Elementwise>() || isa<QuantizeOp>(op); }

namespace {
/// Operators that are computed element by element for the result of the last of them.
class Chain {
public:
  explicit Chain(Operation *root) : root(root) {
    parts.insert(root);
    for (size_t i = 0; i < parts.size(); ++i)
      for (Value operand : parts[i]->getOperands())
        add(operand.getDefiningOp());
    addProduct();
  }

  bool isWorthwhile() const { return parts.size() > 1; }
  GroupOp makeGroup() { return moveIntoGroup(parts.getArrayRef()); }

private:
  /// Adds an op all of whose readers are parts already; else one of them adds it later, or it is
  /// read elsewhere.
  void add(Operation *op) {
    if (!op || parts.size() == kMostOps || parts.contains(op) || !isElementwisePart(op) ||
        getTensorType(op->getResult(0)).getShape() != getTensorType(root->getResult(0)).getShape())
      return;
    if (!llvm::all_of(op->getUsers(), [&](Operation *user) { return parts.contains(user); }))
      return;
    parts.insert(op);
    if (getInputs().size() > kMostInputs)
      parts.remove(op);
  }

  /// Adds the only product whose results the parts read, if what they read beside has the elements
  /// of the result, or those of a row of it.
  void addProduct() {
    llvm::SetVector<Value> inputs = getInputs();
    auto isRow = [&](Value input) {
      ArrayRef<int64_t> shape = getTensorType(input).getShape();
      return shape.empty() || ShapedType::getNumElements(shape.drop_back()) == 1;
    };
    Operation *product = nullptr;
    for (Value input : inputs) {
      Operation *op = input.getDefiningOp();
      bool isAlike =
          getTensorType(input).getShape() == getTensorType(root->getResult(0)).getShape();
      if (!isAlike && !isRow(input))
        return;
      if (op && isAlike && isRealProduct(op) && op->hasOneUse() && !product)
        product = op;
    }
    if (product)
      parts.insert(product);
  }

  llvm::SetVector<Value> getInputs() const { return codegen::getInputs(parts.getArrayRef()); }

  Operation *root;
  llvm::SetVector<Operation *> parts;
};
} // namespace

namespace {
/// See Passes.td.
struct FuseElementwise : octet::impl::FuseElementwisePassBase<FuseElementwise> {
  void runOnOperation() override {
    llvm::DenseSet<Value> images = findImages(getOperation());
    auto isDense = [&](Operation *op) { return !images.contains(op->getResult(0)); };
    for (Block &block : getOperation().getBody()) {
      Operation *next = block.empty() ? nullptr : &block.back();
      while (Operation *op = next) {
        next = op->getPrevNode();
        if (!isRoot(op) || !isDense(op))
          continue;
        Chain chain(op);
        if (!chain.isWorthwhile())
          continue;
        next = chain.makeGroup()->getPrevNode();
        ++numFused;
      }
    }
  }
};
} // namespace
