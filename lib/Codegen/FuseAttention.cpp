//===- FuseAttention.cpp - attention in integers as one step --------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attention.h"
#include "Groups.h"
#include "MemoryPlan.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "octet/Dialect/Octet/Origin.h"

namespace octet {
#define GEN_PASS_DEF_FUSEATTENTIONPASS
#include "octet/Codegen/Passes.h.inc"
} // namespace octet

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

/// Whether a value will lie in the arena, where a row may be read together with what follows it.
static bool isInside(Value value) {
  Value root = getAliasRoot(value);
  return root.getDefiningOp() && !root.getDefiningOp<nn::ConstantOp>() &&
         llvm::none_of(root.getUsers(),
                       [](Operation *user) { return user->hasTrait<OpTrait::IsTerminator>(); });
}

/// Whether tiles take it: vectors of columns on both sides, and the scores and weights of at least
/// four rows on the stack.
static bool isWorthwhile(Attention &a) {
  constexpr int64_t kFewestRows = 4;
  int64_t columns = a.getColumns(), width = a.values.getType().getShape().back();
  return columns >= 16 && width >= 16 && a.getRows() >= kFewestRows &&
         (columns * 5 + 128) * kFewestRows <= kMostStackBytes && isInside(a.scores.getLhs());
}

/// The quantize that alone reads the result, if kernels store such bytes.
static QuantizeOp getQuantize(Value result) {
  if (!result.hasOneUse())
    return {};
  auto quantize = dyn_cast<QuantizeOp>(*result.user_begin());
  return quantize && isByte(getTensorType(quantize.getResult())) ? quantize : QuantizeOp();
}

/// The group has the memory it works in as its last operand.
static void makeGroup(Attention &a) {
  SmallVector<Operation *> parts = a.getParts();
  if (QuantizeOp quantize = getQuantize(a.getResult()))
    parts.push_back(quantize);
  int64_t bytes =
      a.getNumMatrices() * (PackedOperand(a.scores).bytes() + PackedOperand(a.values).bytes());
  OriginPropagation origins(parts.back());
  OpBuilder builder(parts.back(), &origins);
  Value scratch = tensor::EmptyOp::create(builder, parts.back()->getLoc(), ArrayRef<int64_t>{bytes},
                                          builder.getI8Type());
  moveIntoGroup(parts, scratch);
}

namespace {
/// See Passes.td.
struct FuseAttention : octet::impl::FuseAttentionPassBase<FuseAttention> {
  void runOnOperation() override {
    SmallVector<Attention> found; // before any of them changes the network
    getOperation().walk([&](QuantizeOp weights) {
      if (auto attention = Attention::match(weights); attention && isWorthwhile(*attention))
        found.push_back(*attention);
    });
    for (Attention &attention : found)
      makeGroup(attention);
    numFused += found.size();
  }
};
} // namespace
