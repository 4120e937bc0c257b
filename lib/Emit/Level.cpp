//===- Level.cpp - a level's module made ready for a network ----------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Internal.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/Verifier.h"

using namespace llvm;
using namespace octet;

std::string octet::getLevelSymbol(StringRef prefix, StringRef level, StringRef symbol) {
  return (prefix + "_" + level + "_" + symbol).str();
}

static bool isStepFunction(const Function &function) {
  auto *type = function.getFunctionType();
  return !function.isDeclaration() && type->getReturnType()->isVoidTy() && type->getNumParams() == 3 &&
         type->getParamType(0)->isPointerTy() && type->getParamType(1)->isIntegerTy(64) &&
         type->getParamType(2)->isIntegerTy(64);
}

static Error checkSteps(const LevelCode &level) {
  for (const StepInfo &step : level.steps) {
    const Function *function = level.code.module->getFunction(step.symbol);
    if (!function || !isStepFunction(*function))
      return createStringError("CPU level '" + level.level + "': step '" + step.name + "' calls '" + step.symbol +
                               "', expected a function of (pointer, i64, i64)");
    if (step.range < 1 || step.range > INT32_MAX)
      return createStringError("CPU level '" + level.level + "': step '" + step.name +
                               "' expected a range of 1 to 2147483647, but got " + Twine(step.range));
  }
  return Error::success();
}

/// LLVM spills a vector register without aligning the stack for it, because it decides on the frame before it allocates
/// registers; a 64-byte spill on a 16-byte-aligned stack costs two cache lines each time. So ask for it beforehand.
static void alignStack(Function &function) {
  StringRef features = function.getFnAttribute("target-features").getValueAsString();
  unsigned alignment = features.contains("+avx512f") ? 64 : features.contains("+avx") ? 32 : 0;
  if (!alignment)
    return;
  AttrBuilder attributes(function.getContext());
  attributes.addStackAlignmentAttr(alignment).addAttribute("stackrealign");
  function.addFnAttrs(attributes);
}

static void prepareFunction(Function &function) {
  function.setDoesNotThrow();
  function.setUWTableKind(UWTableKind::None);
  alignStack(function);
}

Error octet::prepareLevel(StringRef prefix, LevelCode &level, TargetMachine &machine) {
  if (Error error = checkSteps(level))
    return error;
  Module &module = *level.code.module;
  module.setModuleIdentifier(prefix);
  module.setSourceFileName(getLevelSymbol(prefix, level.level, ""));
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());

  StringSet<> steps;
  for (const StepInfo &step : level.steps)
    steps.insert(step.symbol);
  for (GlobalValue &value : module.global_values()) {
    if (value.isDeclaration())
      continue;
    bool isStep = steps.contains(value.getName());
    value.setLinkage(isStep ? GlobalValue::ExternalLinkage : GlobalValue::InternalLinkage);
    value.setVisibility(isStep ? GlobalValue::HiddenVisibility : GlobalValue::DefaultVisibility);
    value.setDSOLocal(true);
    value.setName(getLevelSymbol(prefix, level.level, value.getName()));
    if (auto *function = dyn_cast<Function>(&value)) {
      prepareFunction(*function);
      if (!isStep) // Kernels are shared by the steps of a shape; inlining would copy them.
        function->addFnAttr(Attribute::NoInline);
    }
  }
  std::string problem;
  raw_string_ostream stream(problem);
  if (verifyModule(module, &stream))
    return createStringError("CPU level '" + level.level + "': invalid LLVM IR: " + problem);
  return Error::success();
}
