//===- Passes.td - from the integer program to machine code -----*- tablegen -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_CODEGEN_PASSES_TD
#define OCTET_CODEGEN_PASSES_TD

include "mlir/Pass/PassBase.td"

def FuseElementwisePass : Pass<"octet-fuse-elementwise", "::mlir::func::FuncOp"> {
  let summary = "chains of element-wise operators become one step";
  let description = [{
    An element-wise operator, or a quantize, and the element-wise operators and dequantizes that compute its operands for it
    alone, in its shape, become one `octet.group`: values between them stay in registers, and no bit changes. A linear layer in
    integers with real results that only they read joins them, so that a residual is added where the product is stored, and so
    does a convolution in floats, unless one of them is a long chain of operations. Other images (octet-assign-layout) are left
    as they are. Source: `docs/rationale/kernels.md`.
  }];
  let statistics = [Statistic<"numFused", "num-fused", "groups made">];
  let dependentDialects = ["::octet::nn::NNDialect", "::octet::OctetDialect"];
}

def FuseAttentionPass : Pass<"octet-fuse-attention", "::mlir::func::FuncOp"> {
  let summary = "attention in integers becomes one step";
  let description = [{
    A product of quantized values, what octet-prepare-attention makes of the softmax behind it, the product that reads its
    result, and the division by the sum become one `octet.group`, if they are read by one another only: scores and weights of
    some rows stay on the stack, and no bit changes. Element-wise operators on the scores (masks) and a quantize of the result
    join them. The group's last operand is the memory in which the columns of both products are packed. Left as they are:
    fewer than 16 columns or 4 rows, and rows of which the stack does not hold four. Source: `docs/rationale/attention.md`.
  }];
  let statistics = [Statistic<"numFused", "num-fused", "groups made">];
  let dependentDialects = ["::octet::nn::NNDialect", "::octet::OctetDialect", "::mlir::tensor::TensorDialect"];
}

def FuseRowsPass : Pass<"octet-fuse-rows", "::mlir::func::FuncOp"> {
  let summary = "normalizations along the last dimension become one step";
  let description = [{
    An element-wise operator, or a quantize, becomes one `octet.group` with the means, sums and extremes of rows that it needs,
    and with the element-wise operators in front of these and behind, if they are read by one another only: a row is in the
    first cache from its first reduction to its result, and no bit changes. Operators in front of a reduction are computed again
    for each of its readers; long chains (exp, gelu) and what a product's epilogue may compute stay outside. Left as they are:
    rows of fewer than 16 elements, and images (octet-assign-layout). Source: `docs/rationale/kernels.md`.
  }];
  let statistics = [Statistic<"numFused", "num-fused", "groups made">];
  let dependentDialects = ["::octet::nn::NNDialect", "::octet::OctetDialect"];
}

def FuseSoftmaxPass : Pass<"octet-fuse-softmax", "::mlir::func::FuncOp"> {
  let summary = "a softmax of rows becomes one step with what is around it";
  let description = [{
    A softmax over the last dimension, the element-wise operators in front of it (masks) and behind it, and a quantize of the
    result become one `octet.group`, if they are read by one another only: the numbers and exponentials of some rows stay on the
    stack, and no bit changes. Sums that a product's epilogue may compute stay outside. Left as they are: rows of fewer than 16
    elements or more than the stack holds, and images (octet-assign-layout). Where the numbers take a megabyte or more, the
    products in floats that make them and that multiply the result join them; the group's last operand is then the memory that
    this works in. Source: `docs/rationale/attention.md`.
  }];
  let statistics = [Statistic<"numFused", "num-fused", "groups made">];
  let dependentDialects = ["::octet::nn::NNDialect", "::octet::OctetDialect", "::mlir::tensor::TensorDialect"];
}

def AssignLayoutPass : Pass<"octet-assign-layout", "::mlir::func::FuncOp"> {
  let summary = "chooses how tensors lie in memory";
  let description = [{
    Images become NHWC (`#nn.layout`), with a channel pitch that dot products can read in fours and with the border that the
    convolutions reading them need: tensors of rank 4 inside the network that convolutions and pools read or write, directly
    or through operators that work in any layout. Network inputs and outputs stay dense NCHW, and
    so does what is computed from inputs element by element, and what linear layers and products of two values read and
    write; `nn.relayout` is inserted where both meet. Source: `docs/rationale/kernels.md`.
  }];
  let statistics = [Statistic<"numRelayouts", "num-relayouts", "relayouts inserted">];
  let dependentDialects = ["::octet::nn::NNDialect", "::octet::OctetDialect"];
}

def EmitProgramPass : Pass<"octet-emit-program", "::mlir::ModuleOp"> {
  let summary = "network to steps and kernel functions, one nested module per CPU level";
  let description = [{
    Every operator becomes one or more `kernel.step`s on addresses in one arena that is planned here with reuse; kernel
    functions are shared by all steps of the same shape. For levels of AArch64, which multiply signed bytes, unsigned 8-bit values
    inside the network become signed ones of the same real numbers. Weights are packed into one blob that all levels share. Other
    functions than `main` are the same network for smaller inputs (buckets): each has a `kernel.program` of its own, with the
    same kernels, weights and prepared memory. Errors: no
    function `main`; an unknown level, or one twice; an operator without code generation; more than 1792 MiB of
    weights. Source: `docs/rationale/kernels.md`, `docs/rationale/step-table.md`, `docs/rationale/buckets.md`.
  }];
  let options = [
    ListOption<"levels", "levels", "std::string", "CPU levels, best first (rows of Levels.def)">
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
    where a network repeats a kind of layer in many shapes. Source: `docs/rationale/kernels.md`.
  }];
  let statistics = [Statistic<"numMerged", "num-merged", "kernel functions replaced by another">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def LowerKernelPass : Pass<"octet-lower-kernel", "::mlir::ModuleOp"> {
  let summary = "micro-kernel ops to the instructions of one CPU level";
  let description = [{
    Every `kernel` op inside functions becomes an LLVM intrinsic where the level has an instruction for it, else vector
    arithmetic with the same bits:

    | op | x86-64 | AArch64 | everywhere else |
    |---|---|---|---|
    | `kernel.dot4` | VPDPBUSD with VNNI, else PMADDWD on widened bytes (never PMADDUBSW, which saturates) | SDOT of signed bytes, with the dot product extension or SVE of 512 bits; not made of unsigned ones | products |
    | `kernel.dot8` | not made | SMMLA, of SVE where a vector is longer than sixteen bytes | not made |
    | `kernel.dot2` | PMADDWD | not made | not made |
    | `kernel.pairs`, `kernel.reorder4` | VPMADDUBSW, VPSHUFB of AVX2 | not made | not made |
    | `kernel.pack` | saturating packs, VPMOVUSDB with AVX-512; of signed bytes, clamps | SQXTN, then SQXTN or SQXTUN | clamps |
    | `kernel.scale` | VSCALEFPS (vectors) with AVX-512, else two products | two products | two products |

    `kernel.round` is `llvm.lrint` and `kernel.broadcast4` a load everywhere. Where the level has no fused multiply-add, `math.fma` becomes calls of functions that compute it exactly: the f64 sum is rounded to odd before it is
    rounded to f32 (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008). Functions get the level's
    `target_features`, and those with vectors of SVE their length (`vscale_range`). An unknown level is an error. Source: section 1 and [N.accumulate] of `docs/numerics.md`.
  }];
  let options = [Option<"level", "level", "std::string", "", "the CPU level; default: that of the module's program">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
    "::mlir::vector::VectorDialect"];
}

def ShareKernelsPass : Pass<"octet-share-kernels", "::mlir::ModuleOp"> {
  let summary = "kernel functions that several CPU levels have are the same function";
  let description = [{
    Of the nested modules whose levels share kernels (`sharesKernels` in Levels.def), functions in LLVM dialect whose code is equal
    get the same name, the target features of the last such level, which are enough for them, and the core for which one of them is
    scheduled. Their steps say the level (`of`), and a library has them once. Left as they are: functions that need other symbols.
    Source: `docs/rationale/aarch64.md`.
  }];
  let statistics = [Statistic<"numShared", "num-shared", "functions that several levels have">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // OCTET_CODEGEN_PASSES_TD
