//===- FuseElementwise.cpp - chains of element-wise ops as one step --------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Buffers.h"
#include "Emitters/Fused.h"
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
  /// Whether it is an epilogue.
  bool hasProduct = false;
  GroupOp makeGroup() { return moveIntoGroup(parts.getArrayRef()); }

private:
  /// Adds an op all of whose readers are parts already; else one of them adds it later, or it is
  /// read elsewhere.
  void add(Operation *op) {
    if (!op || parts.size() == kMostOps || parts.contains(op) || !isElementwisePart(op) ||
        getTensorType(op->getResult(0)).getShape() != getTensorType(root->getResult(0)).getShape())
      return;
    if (!isReadByParts(op))
      return;
    parts.insert(op);
    if (getInputs().size() > kMostInputs)
      parts.remove(op);
  }

  bool isReadByParts(Operation *op) const {
    return llvm::all_of(op->getUsers(), [&](Operation *user) { return parts.contains(user); });
  }

  /// Adds a product whose result only the parts read, if what they read beside has the elements of
  /// the result, or one for each channel, or one.
  void addProduct() {
    llvm::SetVector<Value> inputs = getInputs();
    for (Value input : inputs) {
      Operation *op = input.getDefiningOp();
      if (!op || !fits(op))
        continue;
      inputs.remove(input);
      if (llvm::all_of(inputs, [&](Value other) { return isReadBeside(op, other); })) {
        parts.insert(op);
        hasProduct = true;
      }
      return;
    }
  }

  /// Convolutions to floats store floats, and their many sums leave no registers for a long chain.
  bool fits(Operation *op) const {
    RankedTensorType type = getTensorType(root->getResult(0));
    bool isStored = isQuantized(type) || type.getElementType().isF32(); // as what products store
    if (getTensorType(op->getResult(0)).getShape() != type.getShape() || !isStored)
      return false;
    return isRealProduct(op) ? op->hasOneUse()
                             : isConvToFloat(op) && isReadByParts(op) && !isQuantized(type) &&
                                   llvm::none_of(parts, [](Operation *part) {
                                     return hasLongChain(FusedOp(part));
                                   });
  }

  static bool isReadBeside(Operation *product, Value other) {
    ArrayRef<int64_t> shape = getTensorType(product->getResult(0)).getShape(),
                      own = getTensorType(other).getShape();
    int64_t axis = cast<nn::ProductOpInterface>(product).getResultChannelAxis(),
            place = axis + (int64_t)own.size() - (int64_t)shape.size(),
            elements = ShapedType::getNumElements(own);
    bool isPerChannel = place >= 0 && own[place] == elements;
    return elements == 1 || ((own == shape || isPerChannel) && fillsVectors(product, shape[axis]));
  }

  /// Vectors of fewer channels would be read beyond the end of what lies beside.
  static bool fillsVectors(Operation *product, int64_t channels) {
    constexpr int64_t kLanes = 16;
    auto conv = dyn_cast<nn::ConvOp>(product);
    bool hasGroups = conv && conv.getGroups() > 1 && !conv.isDepthwise();
    return isRealProduct(product) || (channels >= kLanes && !hasGroups);
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
        if (!isRoot(op))
          continue;
        Chain chain(op);
        if (!chain.isWorthwhile() || !(chain.hasProduct || isDense(op)))
          continue;
        next = chain.makeGroup()->getPrevNode();
        ++numFused;
      }
    }
  }
};
} // namespace
