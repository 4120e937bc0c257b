//===- Steps.cpp - steps as data --------------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Internal.h"
#include "octet/Support/Quote.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace octet;

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// The unit of the offsets of an address; see octet_address.
static int64_t getUnit(octet_space space) {
  switch (space) {
  case OCTET_ARENA:
  case OCTET_STATE:
  case OCTET_PREPARED:
    return OCTET_MEMORY_UNIT;
  case OCTET_WEIGHTS:
    return OCTET_WEIGHTS_UNIT;
  case OCTET_INPUT:
  case OCTET_OUTPUT:
  case OCTET_STATUS:
    return 1;
  }
  llvm_unreachable("all cases handled");
}

static StringRef getSpaceName(octet_space space) {
  static constexpr StringLiteral names[] = {"arena", "weights", "state", "prepared",
                                            "input", "output",  "status"};
  return names[space];
}

/// The problem of an address; empty if there is none.
static std::string describeProblem(const ProgramInfo &program, StepAddress address) {
  int64_t unit = getUnit(address.space), units = (int64_t)1 << (32 - OCTET_SPACE_BITS);
  if (address.space == OCTET_INPUT || address.space == OCTET_OUTPUT)
    units = (address.space == OCTET_INPUT ? program.inputs : program.outputs).size();
  if (address.space == OCTET_STATUS)
    units = 1;
  if (address.offset >= 0 && address.offset % unit == 0 && address.offset / unit < units)
    return "";
  return ("expected a multiple of " + Twine(unit) + " below " + Twine(unit * units) + " in '" +
          getSpaceName(address.space) + "', but got " + Twine(address.offset))
      .str();
}

static std::string describeProblem(const ProgramInfo &program, const StepInfo &step,
                                   const Module &module) {
  const Function *function = module.getFunction(step.symbol);
  if (!function || function->isDeclaration() ||
      function->getFunctionType() != getKernelType(module.getContext(), step))
    return ("calls '" + step.symbol + "', expected a function of " + Twine(step.addresses.size()) +
            " pointers and " + Twine(step.bounds.size() + 2) + " i64")
        .str();
  if (step.range < 1 || step.range > INT32_MAX)
    return ("expected a range of 1 to 2147483647, but got " + Twine(step.range)).str();
  for (int64_t bound : step.bounds)
    if (!isInt<32>(bound))
      return ("expected a bound of 32 bits, but got " + Twine(bound)).str();
  for (StepAddress address : step.addresses)
    if (std::string problem = describeProblem(program, address); !problem.empty())
      return problem;
  return "";
}

Error octet::checkSteps(const ProgramInfo &program, const LevelCode &level) {
  for (const std::vector<StepInfo> *steps : {&level.prologue, &level.steps})
    for (const StepInfo &step : *steps)
      if (std::string problem = describeProblem(program, step, *level.code.module);
          !problem.empty())
        return createStringError("CPU level '" + level.level + "': step '" + escapeText(step.name) +
                                 "' " + problem);
  return Error::success();
}

bool StepInfo::operator==(const StepInfo &other) const {
  return std::tie(symbol, range, name, addresses, bounds, sharedLevel) ==
         std::tie(other.symbol, other.range, other.name, other.addresses, other.bounds,
                  other.sharedLevel);
}

size_t LevelCode::countSteps(size_t bucket) const {
  if (bucket < stepsOfBuckets.size())
    return stepsOfBuckets[bucket];
  return steps.size() - sum_of(stepsOfBuckets, size_t(0));
}

size_t octet::countCommonSteps(ArrayRef<StepInfo> first, ArrayRef<StepInfo> second) {
  return std::mismatch(first.begin(), first.end(), second.begin(), second.end()).first -
         first.begin();
}

ArrayRef<StepInfo> octet::getSharedPrologue(ArrayRef<LevelCode> levels) {
  ArrayRef<StepInfo> shared;
  size_t mostSaved = 0;
  for (const LevelCode &level : levels) {
    size_t saved = 0, longest = 0;
    for (const LevelCode &other : levels) {
      size_t common = &other == &level ? 0 : countCommonSteps(level.prologue, other.prologue);
      saved += common;
      longest = std::max(longest, common);
    }
    if (saved > mostSaved) {
      mostSaved = saved;
      shared = ArrayRef(level.prologue).take_front(longest);
    }
  }
  return shared;
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

int32_t octet::encodeAddress(StepAddress address) {
  return (int32_t)(uint32_t)(address.offset / getUnit(address.space) << OCTET_SPACE_BITS |
                             address.space);
}

int32_t ArgumentLists::add(ArrayRef<StepAddress> addresses) {
  return addList(map_to_vector(addresses, encodeAddress));
}

int32_t ArgumentLists::add(ArrayRef<int64_t> bounds) {
  return addList(map_to_vector(bounds, [](int64_t bound) { return (int32_t)bound; }));
}

int32_t ArgumentLists::addList(ArrayRef<int32_t> list) {
  auto [it, isNew] = places.try_emplace(list.vec(), (int32_t)values.size());
  if (isNew) {
    values.push_back(list.size());
    append_range(values, list);
  }
  return it->second;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

FunctionType *octet::getKernelType(LLVMContext &context, const StepInfo &step) {
  SmallVector<Type *> types(step.addresses.size(), PointerType::getUnqual(context));
  types.append(step.bounds.size() + 2, Type::getInt64Ty(context));
  return FunctionType::get(Type::getVoidTy(context), types, /*isVarArg=*/false);
}

Function *octet::createCall(Module &module, StringRef prefix, size_t numArguments) {
  IRBuilder<> builder(module.getContext());
  Type *pointer = builder.getPtrTy(), *i64 = builder.getInt64Ty(), *none = builder.getVoidTy();
  auto *function = Function::Create(
      FunctionType::get(none, {pointer, pointer, i64, i64}, /*isVarArg=*/false),
      GlobalValue::InternalLinkage, prefix + "_call" + Twine(numArguments), module);
  function->setDoesNotThrow();
  function->addFnAttr(Attribute::MinSize);
  function->addFnAttr(Attribute::OptimizeForSize);
  builder.SetInsertPoint(BasicBlock::Create(module.getContext(), "", function));
  // Pointers and 64-bit integers are passed alike on every architecture there is.
  SmallVector<Value *> arguments;
  for (size_t i = 0; i < numArguments; ++i)
    arguments.push_back(
        builder.CreateLoad(i64, builder.CreateConstGEP1_64(i64, function->getArg(1), i)));
  append_range(arguments, ArrayRef<Value *>{function->getArg(2), function->getArg(3)});
  SmallVector<Type *> types(arguments.size(), i64);
  builder.CreateCall(FunctionType::get(none, types, /*isVarArg=*/false), function->getArg(0),
                     arguments);
  builder.CreateRetVoid();
  return function;
}
