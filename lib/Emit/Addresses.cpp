//===- Addresses.cpp - how functions for a core address memory ------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Neoverse N1 loads a vector register in one operation where the offset has nine bits and a sign
// (LDUR), in two where it is scaled and unsigned (LDR), and two registers in three (LDP). LLVM
// takes LDUR only where the others cannot have the offset. Pointers pass through an empty piece of
// assembly, or LLVM would take them apart again.
//
//===----------------------------------------------------------------------===//

#include "Internal.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Operator.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/SeparateConstOffsetFromGEP.h"
#include "llvm/Transforms/Utils/Local.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"
#include <map>
#include <optional>
#include <set>

using namespace llvm;
using namespace octet;

Value *octet::hideOrigin(IRBuilder<> &b, Value *value) {
  auto *type = FunctionType::get(value->getType(), {value->getType()}, /*isVarArg=*/false);
  return b.CreateCall(InlineAsm::get(type, "", "=r,0", /*hasSideEffects=*/false), {value});
}

namespace {
using Parts = std::vector<std::pair<Value *, int64_t>>; ///< times a factor

/// An access in a loop: what of its address is the same in all turns, and what is not.
struct LoopAccess {
  Instruction *instruction;
  Parts row, column;
  Value *base;
  int64_t offset;
};
} // namespace

static std::optional<LoopAccess> getAccess(Instruction &instruction, const Loop &loop) {
  Value *pointer = getLoadStorePointerOperand(&instruction);
  SmallMapVector<Value *, APInt, 4> parts;
  APInt offset(64, 0);
  while (auto *element = dyn_cast_or_null<GEPOperator>(pointer)) {
    if (!element->collectOffset(instruction.getDataLayout(), 64, parts, offset))
      return std::nullopt;
    pointer = element->getPointerOperand();
  }
  if (!pointer || !loop.isLoopInvariant(pointer))
    return std::nullopt;
  LoopAccess access{&instruction, {}, {}, pointer, offset.getSExtValue()};
  bool areWords = true;
  for (auto &[value, factor] : parts) {
    areWords &= value->getType()->isIntegerTy(64);
    (loop.isLoopInvariant(value) ? access.row : access.column)
        .push_back({value, factor.getSExtValue()});
  }
  if (access.row.empty() || access.column.empty() || !areWords)
    return std::nullopt;
  return access;
}

static Value *addParts(IRBuilder<> &b, Value *pointer, const Parts &parts) {
  for (auto [value, factor] : parts)
    pointer = b.CreatePtrAdd(pointer, b.CreateMul(value, b.getInt64(factor)));
  return pointer;
}

/// In a loop over columns, each row has a register, and all share what counts. LLVM counts in one
/// register for each row and column.
static void separateRows(Loop &loop) {
  std::map<std::pair<Value *, Parts>, Value *> rows;
  std::set<std::pair<Parts, int64_t>> columns;
  SmallVector<LoopAccess> accesses;
  for (BasicBlock *block : loop.blocks())
    for (Instruction &instruction : *block)
      if (auto access = getAccess(instruction, loop)) {
        rows[{access->base, access->row}] = nullptr;
        columns.insert({access->column, access->offset});
        accesses.push_back(*access);
      }
  if (!loop.getLoopPreheader() || accesses.size() <= rows.size() + columns.size())
    return;
  for (LoopAccess &of : accesses) {
    Value *&row = rows[{of.base, of.row}];
    IRBuilder<> before(loop.getLoopPreheader()->getTerminator()), b(of.instruction);
    if (!row)
      row = hideOrigin(before, addParts(before, of.base, of.row));
    unsigned operand = isa<LoadInst>(of.instruction) ? LoadInst::getPointerOperandIndex()
                                                     : StoreInst::getPointerOperandIndex();
    of.instruction->setOperand(operand,
                               b.CreatePtrAdd(addParts(b, row, of.column), b.getInt64(of.offset)));
  }
}

namespace {
/// A load of a vector at a constant distance from a pointer.
struct VectorLoad {
  LoadInst *load;
  int64_t offset, size;
};
} // namespace

constexpr int64_t kRegister = 16, kLeast = 4; ///< bytes; of a part of a register
/// Odd offsets from -256 to 255: neither scaled ones nor those of pairs.
constexpr int64_t kReach = 512, kMiddle = 253;
constexpr int64_t kFewest = 2; ///< registers to load by scaled offsets that are worth a pointer

/// Registers that a load takes, if LLVM scales its offset.
static int64_t countScaled(const VectorLoad &of) {
  bool isScaled = of.offset % std::min(of.size, kRegister) == 0;
  return isScaled ? divideCeil(of.size, kRegister) : 0;
}

/// The loads of registers or a part of one by the pointers that they are at a constant distance
/// from.
static MapVector<Value *, SmallVector<VectorLoad>> collectLoads(Function &function) {
  const DataLayout &layout = function.getParent()->getDataLayout();
  MapVector<Value *, SmallVector<VectorLoad>> loads;
  for (BasicBlock &block : function)
    for (Instruction &instruction : block) {
      auto *load = dyn_cast<LoadInst>(&instruction);
      if (!load || !load->getType()->isVectorTy() || isa<ScalableVectorType>(load->getType()))
        continue;
      int64_t size = layout.getTypeStoreSize(load->getType());
      APInt offset(64, 0);
      Value *base = load->getPointerOperand()->stripAndAccumulateConstantOffsets(
          layout, offset, /*AllowNonInbounds=*/true);
      if (size >= kLeast && size <= kReach && offset.getSExtValue() >= 0)
        loads[base].push_back({load, offset.getSExtValue(), size});
    }
  return loads;
}

/// Of a loop with two turns, LLVM makes a constant of what its counter is in the second one. Counts
/// again where sums are all that a loop has, so that what depends on the counter moves.
static void countTwoTurns(Loop &loop, ScalarEvolution &evolution) {
  bool onlySums =
      loop.getNumBlocks() == 1 && llvm::none_of(*loop.getHeader(), llvm::IsaPred<StoreInst>);
  if (!onlySums || !loop.getLoopPreheader() || evolution.getSmallConstantTripCount(&loop) != 2)
    return;
  for (PHINode &counter : loop.getHeader()->phis()) {
    auto *first = dyn_cast<ConstantInt>(counter.getIncomingValueForBlock(loop.getLoopPreheader()));
    auto *second = dyn_cast<ConstantInt>(counter.getIncomingValueForBlock(loop.getLoopLatch()));
    if (!first || !second || !counter.getType()->isIntegerTy(64))
      continue;
    IRBuilder<> b(loop.getLoopLatch()->getTerminator());
    Value *next = b.CreateAdd(&counter, b.getInt64(second->getSExtValue() - first->getSExtValue()));
    counter.setIncomingValueForBlock(loop.getLoopLatch(), next);
  }
  evolution.forgetLoop(&loop);
}

/// A pointer at this distance from one that moves by a constant in each turn of an innermost loop:
/// it counts by itself, so that nothing copies it. Null if it does not move like that.
static Value *createMoving(Instruction *base, int64_t offset, LoopInfo &loops,
                           ScalarEvolution &evolution) {
  Loop *loop = loops.getLoopFor(base->getParent());
  auto *moves = dyn_cast<SCEVAddRecExpr>(evolution.getSCEV(base));
  if (!loop || !moves || moves->getLoop() != loop || !loop->isInnermost() ||
      !loop->getLoopPreheader() || !loop->getLoopLatch())
    return nullptr;
  auto *step = dyn_cast<SCEVConstant>(moves->getStepRecurrence(evolution));
  SCEVExpander expander(evolution, "start");
  Instruction *before = loop->getLoopPreheader()->getTerminator();
  if (!step || !expander.isSafeToExpandAt(moves->getStart(), before))
    return nullptr;
  Value *start = expander.expandCodeFor(moves->getStart(), base->getType(), before);
  IRBuilder<> outside(before), b(&loop->getHeader()->front());
  PHINode *phi = b.CreatePHI(base->getType(), 2);
  b.SetInsertPoint(loop->getHeader(), loop->getHeader()->getFirstInsertionPt());
  Value *pointer = hideOrigin(b, phi);
  IRBuilder<> last(loop->getLoopLatch()->getTerminator());
  phi->addIncoming(outside.CreatePtrAdd(start, b.getInt64(offset)), loop->getLoopPreheader());
  phi->addIncoming(last.CreatePtrAdd(pointer, b.getInt64(step->getAPInt().getSExtValue())),
                   loop->getLoopLatch());
  return pointer;
}

/// A pointer at this distance from one.
static Value *createPointer(Value *base, int64_t offset, Function &function, LoopInfo &loops,
                            ScalarEvolution &evolution) {
  BasicBlock::iterator place = function.getEntryBlock().getFirstInsertionPt();
  if (auto *definition = dyn_cast<Instruction>(base)) {
    if (Value *moving = createMoving(definition, offset, loops, evolution))
      return moving;
    place = *definition->getInsertionPointAfterDef();
  }
  IRBuilder<> b(place->getParent(), place);
  return hideOrigin(b, b.CreatePtrAdd(base, b.getInt64(offset)));
}

/// Loads at constant distances from a pointer get one in their middle.
static void shortenOffsets(Function &function, LoopInfo &loops, ScalarEvolution &evolution) {
  SmallVector<WeakTrackingVH> replaced;
  for (auto &[base, loads] : collectLoads(function)) {
    llvm::stable_sort(loads, [](auto &a, auto &b) { return a.offset < b.offset; });
    for (size_t first = 0, end; first < loads.size(); first = end) {
      int64_t begin = loads[first].offset, registers = 0;
      for (end = first; end < loads.size() && loads[end].offset + loads[end].size <= begin + kReach;
           ++end)
        registers += countScaled(loads[end]);
      if (registers < kFewest)
        continue;
      Value *pointer = createPointer(base, begin + kMiddle, function, loops, evolution);
      for (const VectorLoad &of : ArrayRef(loads).slice(first, end - first)) {
        IRBuilder<> b(of.load);
        replaced.push_back(of.load->getPointerOperand());
        of.load->setOperand(LoadInst::getPointerOperandIndex(),
                            b.CreatePtrAdd(pointer, b.getInt64(of.offset - begin - kMiddle)));
      }
    }
  }
  RecursivelyDeleteTriviallyDeadInstructionsPermissive(replaced);
}

void octet::chooseAddresses(Function &function, FunctionAnalysisManager &analyses) {
  if (function.isDeclaration() ||
      function.getFnAttribute("tune-cpu").getValueAsString() != "neoverse-n1")
    return;
  // Constants within indices become distances between pointers.
  SeparateConstOffsetFromGEPPass().run(function, analyses);
  DominatorTree dominators(function);
  LoopInfo loops(dominators);
  for (Loop *loop : loops.getLoopsInPreorder())
    if (loop->isInnermost())
      separateRows(*loop);
  EarlyCSEPass().run(function, analyses); // pointers that are the same are one
  analyses.invalidate(function, PreservedAnalyses::none());
  LoopInfo &sameLoops = analyses.getResult<LoopAnalysis>(function);
  auto &evolution = analyses.getResult<ScalarEvolutionAnalysis>(function);
  for (Loop *loop : sameLoops.getLoopsInPreorder())
    countTwoTurns(*loop, evolution);
  shortenOffsets(function, sameLoops, evolution);
}
