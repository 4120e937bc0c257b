//===- Addends.cpp - constants that products are added to -----------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// FMLA overwrites what it adds to. Of a polynomial's coefficients, LLVM keeps one copy in a
// register and copies that for each step of each chain, on the pipes that multiply; a load has
// pipes of its own. LLVM would take a load of a constant out of the loop, so each is a piece of
// assembly, which no two chains share since it also names a factor of its own.
//
//===----------------------------------------------------------------------===//

#include "Internal.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;
using namespace octet;

constexpr unsigned kLanes = 4;                  ///< of a register
constexpr int64_t kRegister = 16, kReach = 256; ///< bytes; offsets from -256 on have nine bits
constexpr size_t kMost = 2 * kReach / kRegister;

/// The number that is added to all lanes, or null.
static ConstantFP *getAddend(const IntrinsicInst &fma) {
  auto *type = dyn_cast<FixedVectorType>(fma.getType());
  auto *constant = dyn_cast<Constant>(fma.getArgOperand(2));
  if (!type || !constant || !type->getElementType()->isFloatTy() ||
      type->getNumElements() % kLanes != 0 || isa<Constant>(fma.getArgOperand(0)))
    return nullptr;
  return dyn_cast_or_null<ConstantFP>(constant->getSplatValue());
}

/// An array of the numbers, each of which fills a register; equal arrays are there once.
static GlobalVariable *getTable(Module &module, ArrayRef<ConstantFP *> numbers) {
  SmallVector<Constant *> rows;
  for (ConstantFP *number : numbers)
    rows.push_back(ConstantVector::getSplat(ElementCount::getFixed(kLanes), number));
  auto *type = ArrayType::get(rows[0]->getType(), rows.size());
  Constant *content = ConstantArray::get(type, rows);
  for (GlobalVariable &global : module.globals())
    if (global.hasPrivateLinkage() && global.hasInitializer() && global.getInitializer() == content)
      return &global;
  auto *table = new GlobalVariable(module, type, /*isConstant=*/true, GlobalValue::PrivateLinkage,
                                   content, "addends");
  table->setAlignment(Align(kRegister));
  return table;
}

/// The load of a register, which depends on `factor` as far as LLVM knows.
static Value *load(IRBuilder<> &b, Value *pointer, int64_t offset, Value *factor) {
  auto *type = FunctionType::get(factor->getType(), {pointer->getType(), factor->getType()},
                                 /*isVarArg=*/false);
  std::string text = "ldur ${0:q}, [$1, #" + std::to_string(offset) + "]";
  return b.CreateCall(InlineAsm::get(type, text, "=w,r,w", /*hasSideEffects=*/false),
                      {pointer, factor});
}

/// Register by register, with an addend of its own.
static Value *split(IntrinsicInst &fma, Value *pointer, int64_t offset) {
  IRBuilder<> b(&fma);
  unsigned lanes = cast<FixedVectorType>(fma.getType())->getNumElements();
  SmallVector<Value *> parts;
  for (unsigned lane = 0; lane < lanes; lane += kLanes) {
    auto slice = [&](Value *vector) {
      auto order =
          to_vector(map_range(seq(lane, lane + kLanes), [](unsigned i) -> int { return i; }));
      return lanes == kLanes ? vector : b.CreateShuffleVector(vector, order);
    };
    Value *x = slice(fma.getArgOperand(0)), *y = slice(fma.getArgOperand(1));
    parts.push_back(
        b.CreateIntrinsic(Intrinsic::fma, {x->getType()}, {x, y, load(b, pointer, offset, x)}));
  }
  return concatenateVectors(b, parts);
}

void octet::reloadAddends(Function &function) {
  if (function.isDeclaration() || !function.getParent()->getTargetTriple().isAArch64() ||
      function.hasFnAttribute(Attribute::VScaleRange))
    return;
  DominatorTree dominators(function);
  LoopInfo loops(dominators);
  SetVector<ConstantFP *> numbers;
  SmallVector<std::pair<IntrinsicInst *, ConstantFP *>> sums;
  for (BasicBlock &block : function)
    for (Instruction &instruction : block)
      if (auto *fma = dyn_cast<IntrinsicInst>(&instruction);
          fma && fma->getIntrinsicID() == Intrinsic::fma && loops.getLoopFor(&block))
        if (ConstantFP *number = getAddend(*fma)) {
          if (numbers.size() < kMost)
            numbers.insert(number);
          if (numbers.contains(number))
            sums.push_back({fma, number});
        }
  if (numbers.empty())
    return;
  IRBuilder<> b(&*function.getEntryBlock().getFirstInsertionPt());
  Value *table = getTable(*function.getParent(), numbers.getArrayRef());
  Value *pointer = hideOrigin(b, b.CreatePtrAdd(table, b.getInt64(kReach)));
  for (auto [fma, number] : sums) {
    int64_t slot = llvm::find(numbers, number) - numbers.begin();
    fma->replaceAllUsesWith(split(*fma, pointer, kRegister * slot - kReach));
    fma->eraseFromParent();
  }
}
