//===- Fuse.cpp - folds batch norm, wraps patterns into groups ------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FoldAffine.h"
#include "Plan.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "octet/Dialect/Octet/Origin.h"
#include "octet/Quantize/Passes.h"
#include "octet/Quantize/States.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace octet;

namespace octet {
#define GEN_PASS_DEF_FUSEPASS
#include "octet/Quantize/Passes.h.inc"
} // namespace octet

/// Applies the first fold that ends at `op`.
static bool foldOnto(const Backend &backend, Operation *op) {
  for (FoldOp fold : backend.getFolds()) {
    auto affine = cast<AffineOp>(fold.getBody().front().getTerminator());
    auto match = matchGraph(affine.getRoot().getDefiningOp<MatchOp>(), op);
    if (match && succeeded(foldAffine(fold, *match)))
      return true;
  }
  return false;
}

/// The operator that gives the group its name: the one that reads the weight, else the root.
static Operation *getAnchor(const Match &match) {
  for (auto [leaf, operand] : match.leaves)
    if (isa<WeightOp>(leaf))
      return operand->getOwner();
  return match.getRoot();
}

namespace {
/// What the operators of a match read from outside.
struct Outside {
  /// The operands of the group: those that the leaves matched, in the order of the pattern's
  /// leaves, and those that regions read.
  SetVector<Value> inputs;
  /// Constants that become a part of the group.
  SetVector<Operation *> constants;
};
} // namespace

static Outside getOutside(PatternOp pattern, const Match &match) {
  Outside outside;
  auto addUnlessConstant = [&](Value value) {
    if (Operation *op = value.getDefiningOp(); op && op->hasTrait<OpTrait::ConstantLike>())
      outside.constants.insert(op);
    else
      outside.inputs.insert(value);
  };
  for (Operation &leaf : pattern.getBody().front())
    for (auto [bound, operand] : match.leaves)
      if (bound != &leaf)
        continue;
      else if (isa<AnyOp>(leaf))
        addUnlessConstant(operand->get());
      else
        outside.inputs.insert(operand->get());
  SetVector<Value> captured;
  for (Operation *op : llvm::make_second_range(match.ops))
    getUsedValuesDefinedAbove(op->getRegions(), captured);
  for (Value value : captured)
    if (!llvm::is_contained(llvm::make_second_range(match.ops), value.getDefiningOp()))
      addUnlessConstant(value);
  return outside;
}

/// Wraps the matched operators into a group in the place of the root.
static void wrap(const Backend &backend, PatternOp pattern, const Match &match) {
  Operation *root = match.getRoot();
  auto [inputs, constants] = getOutside(pattern, match);
  Operation *anchor = getAnchor(match);
  OriginPropagation origins(anchor);
  OpBuilder builder(root, &origins);
  auto group = GroupOp::create(builder, anchor->getLoc(), root->getResultTypes(),
                               backend.getReference(pattern), inputs.getArrayRef());
  Block &body = group.getBody().emplaceBlock();
  IRMapping mapping;
  for (Value input : inputs)
    mapping.map(input, body.addArgument(input.getType(), input.getLoc()));
  builder.setInsertionPointToEnd(&body);
  for (Operation *constant : constants)
    builder.clone(*constant, mapping);
  for (auto [_, op] : match.ops)
    builder.clone(*op, mapping);
  auto yielded =
      llvm::map_to_vector(root->getResults(), [&](Value result) { return mapping.lookup(result); });
  YieldOp::create(builder, root->getLoc(), yielded);
  root->replaceAllUsesWith(group);
  for (auto [_, op] : llvm::reverse(match.ops))
    op->erase();
}

/// What a recurrence adds to the product of its state stays as exact as the state: the product of
/// the inputs of all steps.
static DenseSet<Operation *> findGateSums(const Backend &backend, Block &block) {
  std::vector<Unit> units;
  for (Operation &op : block)
    if (auto unit = backend.matchUnit(&op); unit && unit->getOperand<WeightOp>())
      units.push_back(std::move(*unit));
  SmallVector<const Unit *> layers;
  for (const Unit &unit : units)
    layers.push_back(&unit);
  return findGateSums(block, layers);
}

/// What the backend keeps float by structure.
static DenseSet<Operation *> findFloats(const Backend &backend, Block &block) {
  DenseSet<Operation *> floats;
  if (!backend.getNormsReason().empty())
    floats = findNormOps(block);
  if (FloatSumsOp sums = backend.getFloatSums())
    floats.insert_range(findLongSums(block, sums));
  if (!backend.getStatesReason().empty()) {
    floats.insert_range(findGateSums(backend, block));
    floats.insert_range(findScanOps(block));
  }
  return floats;
}

/// Whether an operator of the match that is to stay float reads more than what another operator of
/// the match computes: as part of the unit that operand would be quantized.
static bool bringsIn(const Match &match, const DenseSet<Operation *> &floats) {
  auto isInside = [&](Value value) {
    Operation *op = value.getDefiningOp();
    return op && (op->hasTrait<OpTrait::ConstantLike>() ||
                  llvm::is_contained(llvm::make_second_range(match.ops), op));
  };
  return llvm::any_of(llvm::make_second_range(match.ops), [&](Operation *op) {
    return floats.contains(op) && !llvm::all_of(op->getOperands(), isInside);
  });
}

/// Wraps the longest pattern of more than one operator that ends at `op`; returns the erased
/// operators.
static SmallVector<Operation *> fuseOnto(const Backend &backend, Operation *op,
                                         const DenseSet<Operation *> &floats) {
  for (PatternOp pattern : backend.getPatterns()) {
    if (llvm::hasSingleElement(pattern.getBody().getOps<MatchOp>()))
      continue;
    auto match = matchGraph(getRootMatch(pattern), op);
    if (match && !bringsIn(*match, floats)) {
      wrap(backend, pattern, *match);
      return llvm::to_vector(llvm::make_second_range(match->ops));
    }
  }
  return {};
}

namespace {
struct Fuse : octet::impl::FusePassBase<Fuse> {
  void runOnOperation() override {
    const Backend *backend = getAnalysis<PolicyAnalysis>().getBackend();
    if (!backend)
      return signalPassFailure();
    markAnalysesPreserved<PolicyAnalysis>();
    for (auto function : getOperation().getOps<FunctionOpInterface>())
      for (Block *block : getNetworkBlocks(function))
        fuse(*backend, *block);
  }

  void fuse(const Backend &backend, Block &block) {
    // Forward, so that an operator behind a folded one can be folded, too.
    for (Operation &op : llvm::make_early_inc_range(block))
      numFolded += foldOnto(backend, &op);
    if (llvm::any_of(block, llvm::IsaPred<QuantizeOp, DequantizeOp>))
      return; // Patterns are what the policy quantizes.
    SmallVector<Operation *> ops = llvm::to_vector(llvm::make_pointer_range(block));
    DenseSet<Operation *> erased, floats = findFloats(backend, block);
    for (Operation *op : llvm::reverse(ops)) {
      if (erased.contains(op))
        continue;
      auto matched = fuseOnto(backend, op, floats);
      erased.insert_range(matched);
      numFused += !matched.empty();
    }
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if ((op.hasTrait<OpTrait::ConstantLike>() || isa<FakeQuantizeOp>(op)) && op.use_empty())
        op.erase();
  }
};
} // namespace
