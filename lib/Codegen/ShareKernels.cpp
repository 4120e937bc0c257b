//===- ShareKernels.cpp - kernels that several levels have ----------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/OperationSupport.h"
#include "octet/Codegen/Passes.h"

namespace octet {
#define GEN_PASS_DEF_SHAREKERNELSPASS
#include "octet/Codegen/Passes.h.inc"
} // namespace octet

using namespace mlir;
using namespace octet;

static const CpuLevel *getLevel(ModuleOp module) {
  auto programs = module.getOps<kernel::ProgramOp>();
  return programs.empty() ? nullptr : lookupCpuLevel((*programs.begin()).getLevel());
}

/// The functions that a level's runs call and that need no other symbol.
static SmallVector<LLVM::LLVMFuncOp> getKernels(ModuleOp module) {
  llvm::SetVector<LLVM::LLVMFuncOp> kernels;
  for (auto program : module.getOps<kernel::ProgramOp>())
    for (auto step : program.getBody().getOps<kernel::StepOp>())
      if (auto func = module.lookupSymbol<LLVM::LLVMFuncOp>(step.getKernel()))
        kernels.insert(func);
  kernels.remove_if([](LLVM::LLVMFuncOp func) {
    return func.isExternal() || func.walk([](Operation *op) {
                                      bool refers = isa<LLVM::CallOp, LLVM::AddressOfOp>(op);
                                      return refers ? WalkResult::interrupt()
                                                    : WalkResult::advance();
                                    })
                                    .wasInterrupted();
  });
  return kernels.takeVector();
}

/// All attributes but the name, for which CPU the function is compiled, and what was of concern for
/// octet-merge-kernels.
static DictionaryAttr getCommonAttributes(LLVM::LLVMFuncOp func) {
  NamedAttrList attributes(func->getAttrDictionary());
  for (StringAttr name :
       {func.getSymNameAttrName(), func.getTargetFeaturesAttrName(), func.getTuneCpuAttrName()})
    attributes.erase(name);
  attributes.erase(kMergeableAttr);
  return attributes.getDictionary(func.getContext());
}

static bool hasEqualCode(LLVM::LLVMFuncOp a, LLVM::LLVMFuncOp b) {
  return OperationEquivalence::isRegionEquivalentTo(&a.getBody(), &b.getBody(),
                                                    OperationEquivalence::IgnoreLocations);
}

namespace {
/// A kernel with the levels that have it, the best first.
using Group = SmallVector<LLVM::LLVMFuncOp>;

/// See Passes.td.
struct ShareKernels : octet::impl::ShareKernelsPassBase<ShareKernels> {
  using ShareKernelsPassBase::ShareKernelsPassBase;

  void runOnOperation() override {
    llvm::MapVector<Attribute, SmallVector<Group, 1>> groups; // of equal attributes
    for (auto module : getOperation().getOps<ModuleOp>()) {
      const CpuLevel *level = getLevel(module);
      if (level && level->sharesKernels)
        for (LLVM::LLVMFuncOp func : getKernels(module))
          addTo(groups[getCommonAttributes(func)], func);
    }
    unsigned number = 0;
    for (auto &[attributes, alike] : groups)
      for (Group &group : alike)
        if (group.size() > 1)
          share(group, number++);
    numShared += number;
    for (auto module : getOperation().getOps<ModuleOp>())
      renameSteps(module);
  }

private:
  static void addTo(SmallVectorImpl<Group> &alike, LLVM::LLVMFuncOp func) {
    auto it = llvm::find_if(alike, [&](Group &group) {
      return group.back()->getParentOp() != func->getParentOp() &&
             hasEqualCode(group.front(), func);
    });
    if (it == alike.end())
      it = alike.insert(alike.end(), Group());
    it->push_back(func);
  }

  /// What the last level has is enough for all.
  void share(Group &group, unsigned number) {
    auto features = group.back().getTargetFeaturesAttr();
    StringAttr core;
    for (LLVM::LLVMFuncOp func : group)
      if (func.getTuneCpuAttr())
        core = func.getTuneCpuAttr();
    std::string name = ("shared_" + llvm::Twine(number) + "_" + group.back().getSymName()).str();
    StringRef level = getLevel(group.back()->getParentOfType<ModuleOp>())->name;
    for (LLVM::LLVMFuncOp func : group) {
      newNames[func->getParentOp()][func.getSymNameAttr()] = {name, level};
      func.setSymName(name);
      func.setTargetFeaturesAttr(features);
      func.setTuneCpuAttr(core);
    }
  }

  void renameSteps(ModuleOp module) {
    const llvm::DenseMap<StringAttr, Shared> &names = newNames[module];
    for (auto program : module.getOps<kernel::ProgramOp>())
      for (auto step : program.getBody().getOps<kernel::StepOp>())
        if (auto it = names.find(step.getKernelAttr().getAttr()); it != names.end()) {
          step.setKernel(it->second.name);
          step.setSharedLevel(it->second.level);
        }
  }

  /// What becomes of a function, by its module and former name.
  struct Shared {
    std::string name;
    StringRef level;
  };
  llvm::DenseMap<Operation *, llvm::DenseMap<StringAttr, Shared>> newNames;
};
} // namespace
