//===- Attention.cpp - products of two activations ------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "octet/Backend/Backend.h"
#include "octet/Dialect/NN/Constants.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/Octet/Origin.h"
#include "octet/Quantize/Passes.h"

namespace octet {
#define GEN_PASS_DEF_PREPAREATTENTIONPASS
#include "octet/Quantize/Passes.h.inc"
} // namespace octet

using namespace mlir;
using namespace octet;

static bool isProductOfActivations(nn::ProductOpInterface product) {
  return isa<nn::MatmulOp>(product);
}

/// Whether one operand is a single row or column, so that each number of the other one counts once:
/// to quantize it takes longer than to multiply.
static bool isOfVector(Operation *product) {
  auto getShape = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getShape().take_back(2);
  };
  ArrayRef<int64_t> lhs = getShape(product->getOperand(0)), rhs = getShape(product->getOperand(1));
  return lhs.size() < 2 || rhs.size() < 2 || lhs[0] == 1 || rhs[1] == 1;
}

double octet::getShareOfProducts(Block &block) {
  int64_t total = 0, ofActivations = 0;
  block.walk([&](nn::ProductOpInterface product) {
    total += product.getNumMultiplyAdds();
    if (isProductOfActivations(product))
      ofActivations += product.getNumMultiplyAdds();
  });
  return total ? (double)ofActivations / (double)total : 0;
}

DenseSet<Operation *> octet::findSmallProducts(Block &block, double share) {
  // Buckets, whose shares differ, are quantized alike.
  Operation *module = block.getParentOp()->getParentOp();
  auto ofBuckets = module ? module->getAttrOfType<FloatAttr>(kBucketAttr) : FloatAttr();
  bool areFew = (ofBuckets ? ofBuckets.getValueAsDouble() : getShareOfProducts(block)) < share;
  DenseSet<Operation *> found;
  block.walk([&](nn::ProductOpInterface product) {
    if (isProductOfActivations(product) && (areFew || (!ofBuckets && isOfVector(product))))
      found.insert(product);
  });
  return found;
}

/// What alone reads `value`, and gives zero where that is NaN, as exporters write behind a softmax
/// whose rows may be masked altogether; or null.
static nn::SelectOp getZeroing(Value value) {
  nn::CompareOp compare;
  nn::SelectOp select;
  for (Operation *user : value.getUsers()) {
    if (auto other = dyn_cast<nn::CompareOp>(user); other && (!compare || compare == other))
      compare = other;
    else if (auto other = dyn_cast<nn::SelectOp>(user); other && (!select || select == other))
      select = other;
    else
      return nullptr;
  }
  if (!compare || !select || compare.getPredicate() != nn::Predicate::equal ||
      compare.getLhs() != compare.getRhs() || !compare->hasOneUse())
    return nullptr;
  Value isNumber = compare.getResult();
  auto complement = dyn_cast<nn::NotOp>(*compare->user_begin());
  if (complement && complement->hasOneUse())
    isNumber = complement.getResult();
  Value number = complement ? select.getNo() : select.getYes(),
        other = complement ? select.getYes() : select.getNo();
  bool isZeroing =
      select.getCondition() == isNumber && number == value && nn::getNumber(other) == 0.0f;
  return isZeroing && select.getType() == value.getType() ? select : nn::SelectOp();
}

/// The product of two activations that alone reads a softmax over rows, as its left operand. Only
/// reshapes that keep the rows are between them, and `zeroing`, if any.
static nn::MatmulOp getReader(nn::SoftmaxOp softmax, nn::SelectOp zeroing) {
  auto shape = softmax.getType().getShape().take_back(2);
  if ((int64_t)softmax.getAxis() != softmax.getType().getRank() - 1 || shape.size() < 2)
    return nullptr;
  Value value = zeroing ? zeroing.getResult() : softmax.getResult();
  while (value.hasOneUse()) {
    OpOperand &use = *value.use_begin();
    if (auto reshape = dyn_cast<nn::ReshapeOp>(use.getOwner());
        reshape && reshape.getType().getShape().take_back(2) == shape) {
      value = reshape.getResult();
      continue;
    }
    auto product = dyn_cast<nn::MatmulOp>(use.getOwner());
    bool isWeighted = product && use.getOperandNumber() == 0 &&
                      !matchPattern(product.getRhs(), m_Constant()) &&
                      product.getType().getRank() == product.getLhs().getType().getRank();
    return isWeighted ? product : nullptr;
  }
  return nullptr;
}

/// The type of a tensor with one element for each row.
static RankedTensorType perRow(RankedTensorType type) {
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = 1;
  return RankedTensorType::get(shape, type.getElementType());
}

/// Lets `operand` read what is in front of a product with a number, which alone it reads, perhaps
/// through reshapes. Returns the number, or 1.
static float takeFactor(OpOperand &operand) {
  OpOperand *reader = &operand;
  while (reader->get().hasOneUse()) {
    if (auto reshape = reader->get().getDefiningOp<nn::ReshapeOp>()) {
      reader = &reshape.getInputMutable();
      continue;
    }
    auto product = reader->get().getDefiningOp<nn::MulOp>();
    for (auto [value, number] :
         product
             ? std::initializer_list<std::pair<Value, Value>>{{product.getLhs(), product.getRhs()},
                                                              {product.getRhs(), product.getLhs()}}
             : std::initializer_list<std::pair<Value, Value>>{})
      if (std::optional<float> factor = nn::getNumber(number);
          factor && *factor > 0 && value.getType() == product.getType()) {
        reader->set(value);
        product->erase();
        return *factor;
      }
    break;
  }
  return 1;
}

static Value multiply(OpBuilder &builder, Location loc, Value value, float factor) {
  if (factor == 1)
    return value;
  auto type = RankedTensorType::get({1}, builder.getF32Type());
  Value number =
      nn::ConstantOp::create(builder, loc, type, DenseElementsAttr::get(type, ArrayRef(factor)));
  return nn::MulOp::create(builder, loc, value.getType(), value, number);
}

/// Moves numbers that the operands are multiplied by behind the product: 8 bits move through
/// reshapes and transpositions then.
static void moveFactors(OpBuilder &builder, OriginPropagation &origins, nn::MatmulOp product) {
  float factor = takeFactor(product.getLhsMutable()) * takeFactor(product.getRhsMutable());
  builder.setInsertionPointAfter(product);
  origins.setSource(getOrigin(product.getOperation()));
  Value result = product.getResult(), scaled = multiply(builder, product.getLoc(), result, factor);
  if (scaled != result)
    result.replaceAllUsesExcept(scaled, scaled.getDefiningOp());
}

/// `value`, or zero where it is NaN.
static Value zeroNaN(OpBuilder &builder, Location loc, Value value, Value zero) {
  auto type = cast<RankedTensorType>(value.getType());
  auto isNumber = nn::CompareOp::create(builder, loc, type.clone(builder.getI1Type()),
                                        nn::Predicate::equal, value, value);
  return nn::SelectOp::create(builder, loc, type, isNumber, value, zero);
}

/// Erases `zeroing` and its condition, which nothing reads any more. The zero.
static Value eraseZeroing(nn::SelectOp zeroing) {
  Operation *condition = zeroing.getCondition().getDefiningOp();
  auto complement = dyn_cast<nn::NotOp>(condition);
  Value zero = complement ? zeroing.getYes() : zeroing.getNo();
  zeroing->erase();
  if (complement) {
    condition = complement.getOperand().getDefiningOp();
    complement->erase();
  }
  condition->erase();
  return zero;
}

/// Rows whose weights `zeroing` made zeros are divided by zero now: it moves behind the division.
static void defer(OpBuilder &builder, OriginPropagation &origins, nn::SoftmaxOp softmax,
                  nn::SelectOp zeroing, nn::MatmulOp product) {
  // The factor of differences is that of the numbers.
  float factor = takeFactor(softmax.getInputMutable());
  builder.setInsertionPoint(softmax);
  origins.setSource(getOrigin(softmax.getOperation()));
  Location loc = softmax.getLoc();
  RankedTensorType type = softmax.getType();
  int64_t axis = type.getRank() - 1;
  Value largest = nn::ReduceMaxOp::create(builder, loc, perRow(type), softmax.getInput(), axis,
                                          /*keep_dims=*/true);
  Value differences = nn::SubOp::create(builder, loc, type, softmax.getInput(), largest);
  Value exponentials =
      nn::ExpOp::create(builder, loc, type, multiply(builder, loc, differences, factor));
  Value zero;
  if (zeroing) {
    zeroing.getResult().replaceAllUsesWith(exponentials);
    zero = eraseZeroing(zeroing);
  } else {
    softmax.getResult().replaceAllUsesWith(exponentials);
  }
  builder.setInsertionPointAfter(product);
  Value weights = product.getLhs();
  RankedTensorType rows = perRow(product.getLhs().getType());
  Value sums = nn::ReduceSumOp::create(builder, loc, rows, weights, rows.getRank() - 1,
                                       /*keep_dims=*/true);
  auto quotient = nn::DivOp::create(builder, loc, product.getType(), product.getResult(), sums);
  Value result = zero ? zeroNaN(builder, loc, quotient, zero) : Value(quotient);
  product.getResult().replaceAllUsesExcept(result, quotient);
  softmax.erase();
}

namespace {
/// See Passes.td.
struct PrepareAttention : octet::impl::PrepareAttentionPassBase<PrepareAttention> {
  using PrepareAttentionPassBase::PrepareAttentionPassBase;

  void runOnOperation() override {
    OriginPropagation origins;
    OpBuilder builder(&getContext(), &origins);
    const Backend *backend = getAnalysis<PolicyAnalysis>().getBackend();
    FloatProductsOp few = backend ? backend->getFloatProducts() : FloatProductsOp();
    SmallVector<nn::SoftmaxOp> softmaxes;
    SmallVector<nn::MatmulOp> products;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal() ||
          (few && !findSmallProducts(function.front(), few.getShare().convertToDouble()).empty()))
        continue;
      llvm::append_range(softmaxes, function.getOps<nn::SoftmaxOp>());
      llvm::append_range(products, function.getOps<nn::MatmulOp>());
    }
    for (nn::MatmulOp product : products)
      moveFactors(builder, origins, product);
    for (nn::SoftmaxOp softmax : softmaxes) {
      nn::SelectOp zeroing = getZeroing(softmax.getResult());
      if (nn::MatmulOp product = getReader(softmax, zeroing)) {
        defer(builder, origins, softmax, zeroing, product);
        ++numDeferred;
      }
    }
  }
};
} // namespace
