//===- Passes.td - from the integer program to machine code -----*- tablegen -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_CODEGEN_PASSES_TD
#define OCTET_CODEGEN_PASSES_TD

include "mlir/Pass/PassBase.td"

def AssignLayoutPass : Pass<"octet-assign-layout", "::mlir::func::FuncOp"> {
  let summary = "chooses how tensors lie in memory";
  let description = [{
    Rank-4 tensors inside the network become NHWC (`#nn.layout`), with a channel pitch that dot products can read in fours
    and with the border that the convolutions reading them need. Network inputs and outputs stay dense NCHW;
    `nn.relayout` is inserted where both meet.
  }];
  let statistics = [Statistic<"numRelayouts", "num-relayouts", "relayouts inserted">];
  let dependentDialects = ["::octet::nn::NNDialect"];
}

def EmitProgramPass : Pass<"octet-emit-program", "::mlir::ModuleOp"> {
  let summary = "network to steps and kernel functions, one nested module per CPU level";
  let description = [{
    Every operator becomes one or more `kernel.step`s on addresses in one arena that is planned here with reuse; kernel
    functions are shared by all steps of the same shape. Weights are packed into one blob that all levels share.
  }];
  let options = [
    ListOption<"levels", "levels", "std::string", "CPU levels, best first (sse2, avx2, avx512vnni, neon, dotprod, reference)">
  ];
  let statistics = [
    Statistic<"numSteps", "num-steps", "steps emitted">,
    Statistic<"numKernels", "num-kernels", "kernel functions emitted">
  ];
  let dependentDialects = ["::octet::kernel::KernelDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect", "::mlir::vector::VectorDialect",
    "::mlir::func::FuncDialect"];
}

def MergeKernelsPass : Pass<"octet-merge-kernels", "::mlir::ModuleOp"> {
  let summary = "kernel functions that differ in their bounds only become one that takes them as arguments";
  let description = [{
    Of functions with the attribute `kernel.mergeable`, those whose operations are alike but for the values of index
    constants (and the extents of the memory they get) become one. Constants that are the same in all stay; of the others
    each becomes an argument, or a multiple of one, and the steps give them as `bounds`. Code becomes several times smaller
    where a network repeats a kind of layer in many shapes.
  }];
  let statistics = [Statistic<"numMerged", "num-merged", "kernel functions replaced by another">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def LowerKernelPass : Pass<"octet-lower-kernel", "::mlir::ModuleOp"> {
  let summary = "micro-kernel ops to the instructions of one CPU level";
  let options = [Option<"level", "level", "std::string", "", "the CPU level; default: that of the module's program">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect", "::mlir::vector::VectorDialect"];
}

#endif // OCTET_CODEGEN_PASSES_TD
