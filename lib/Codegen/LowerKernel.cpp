//===- LowerKernel.cpp - micro-kernel ops of one CPU level ----------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MicroKernels/Lowering.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace octet {
#define GEN_PASS_DEF_LOWERKERNELPASS
#include "octet/Codegen/Passes.h.inc"
} // namespace octet

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

namespace {
/// See Passes.td.
struct LowerKernel : octet::impl::LowerKernelPassBase<LowerKernel> {
  using LowerKernelPassBase::LowerKernelPassBase;

  void runOnOperation() override {
    const CpuLevel *cpu = findLevel();
    if (!cpu) {
      getOperation().emitError("expected a known CPU level, but got '") << level << "'";
      return signalPassFailure();
    }
    RewritePatternSet patterns(&getContext());
    populateGenericLowering(patterns);
    if (cpu->arch == "x86_64")
      populateX86Lowering(patterns, *cpu);
    if (cpu->arch == "aarch64")
      populateAArch64Lowering(patterns, *cpu);
    if (!cpu->hasFma) {
      outlineFma(getOperation());
      populateFmaEmulation(patterns);
    }
    walkAndApplyPatterns(getOperation(), std::move(patterns));
    setTargetFeatures(*cpu);
  }

private:
  const CpuLevel *findLevel() {
    // Not stored in the option: one pass object serves the modules of several levels.
    auto programs = getOperation().getOps<kernel::ProgramOp>();
    if (level.empty() && !programs.empty())
      return lookupCpuLevel((*programs.begin()).getLevel());
    return lookupCpuLevel(level);
  }

  static bool hasScalableVectors(func::FuncOp func) {
    auto isScalable = [](Type type) {
      auto vector = dyn_cast<VectorType>(type);
      return vector && vector.isScalable();
    };
    return func
        .walk([&](Operation *op) {
          return llvm::any_of(op->getResultTypes(), isScalable) ? WalkResult::interrupt()
                                                                : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// The one length of SVE's registers that the level's CPUs have, in units of 128 bits.
  LLVM::VScaleRangeAttr getVectorLength(const CpuLevel &cpu) {
    auto length = IntegerAttr::get(IntegerType::get(&getContext(), 32), cpu.scalableBits / 128);
    return LLVM::VScaleRangeAttr::get(&getContext(), length, length);
  }

  /// The target machine is the baseline; each function says what it may use beyond. Functions of
  /// prologues are those of all levels.
  void setTargetFeatures(const CpuLevel &cpu) {
    if (cpu.features.empty())
      return;
    SmallVector<StringRef> features;
    cpu.features.split(features, ',');
    bool isForCore = !cpu.tuning.empty() && llvm::isAlpha(cpu.tuning.front());
    if (!isForCore)
      cpu.tuning.split(features, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
    auto attribute = LLVM::TargetFeaturesAttr::get(&getContext(), features);
    llvm::DenseSet<StringAttr> prologue;
    for (auto program : getOperation().getOps<kernel::ProgramOp>())
      for (auto step : program.getPrologue().getOps<kernel::StepOp>())
        prologue.insert(step.getKernelAttr().getAttr());
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (prologue.contains(func.getSymNameAttr()))
        continue;
      func->setAttr("target_features", attribute);
      if (hasScalableVectors(func))
        func->setAttr("vscale_range", getVectorLength(cpu));
      if (isForCore)
        func->setAttr("tune_cpu", StringAttr::get(&getContext(), cpu.tuning));
    }
  }
};
} // namespace
