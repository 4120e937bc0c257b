//===- Passes.td - from the reference model to the integer program --------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LOWER_PASSES_TD
#define OCTET_LOWER_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerPass : Pass<"octet-lower", "::mlir::func::FuncOp"> {
  let summary = "dequantize, operator, quantize becomes the operator on quantized types";
  let description = [{
    Takes the reference model (an ordinary float program with `octet.quantize` and `octet.dequantize` around what is
    quantized) and gives the integer program:

    - `nn.conv` and `nn.linear`, alone or in an `octet.group`, stand on quantized operands. A fused relu or clip becomes
      the storage bounds of the result type; any other fused body stays as the group's body, on the real-valued
      accumulator. A result that is used as a real number is `f32`.
    - Element-wise operators between one quantized input and one quantized result become one `nn.table`; with several
      inputs they become an `octet.group` on quantized types.
    - Pools and data movement stand on quantized types; a change of scale becomes a table in front or behind.
    - Activations that are stored in signed bytes are stored in unsigned ones, with a zero point greater by 128. Arguments
      and results keep their types: a table flips the sign bit behind or in front of them.

    The int32 accumulator of every convolution and linear layer is proven not to overflow. What has no integer form stays
    float between dequantize and quantize; a remark with a stable code (`include/octet/Lower/Reasons.def`) says why.

    What was quantized to run in int8 and cannot says so and why in `octet.decision`; with `strict` it is an error. Source: section 3 of `docs/numerics.md`; PyTorch: `lower_to_fbgemm`.
  }];
  let options = [Option<"strict", "strict", "bool", "false", "what was quantized to run in int8 and cannot is an error">];
  let dependentDialects = ["::octet::OctetDialect", "::octet::nn::NNDialect"];
  let statistics = [
    Statistic<"numLowered", "num-lowered", "operators and groups on quantized types">,
    Statistic<"numTables", "num-tables", "element-wise operators that became a table">,
    Statistic<"numFallback", "num-fallback", "operators that stay float between dequantize and quantize">
  ];
}

def ExpandBatchNormPass : Pass<"octet-expand-batch-norm", "::mlir::func::FuncOp"> {
  let summary = "batch norm that no weights took becomes one fused multiply-add";
  let description = [{
    `nn.batch_norm`, alone or in a group, becomes `nn.fma` with a factor and a shift per channel, which are computed here
    [N.batch_norm]. `octet-lower` does the same first; float programs need it in front of code generation. Parameters that
    are no constants are an error.
  }];
  let dependentDialects = ["::octet::nn::NNDialect"];
  let statistics = [Statistic<"numExpanded", "num-expanded", "batch norms that became a multiply-add">];
}

def FoldConstantsPass : Pass<"octet-fold-constants", "::mlir::func::FuncOp"> {
  let summary = "quantized and dequantized constants become constants";
  let description = [{
    `octet.quantize` and `octet.dequantize` are never folded, so that the reference model keeps its pairs. To run that
    model as it is, this pass evaluates those that read a constant (weights, biases), by [N.quantize] and [N.dequantize].
    `octet-lower` does not need it, since it takes the quantized constants.
  }];
  let dependentDialects = ["::octet::OctetDialect", "::octet::nn::NNDialect"];
  let statistics = [Statistic<"numFolded", "num-folded", "quantize and dequantize ops evaluated">];
}

def QuantizeSignaturePass : Pass<"octet-quantize-signature", "::mlir::func::FuncOp"> {
  let summary = "arguments and results become quantized values where the integer program quantizes them";
  let description = [{
    An argument that is only quantized, and to one type, has that type afterwards; a result that is dequantized is returned as
    it was before. Only types with one scale for all of a tensor. A warning names what stays f32. Run in front of
    `octet-lower`; results are quantized only if `octet-prepare` observed them (`quantized-outputs`). PyTorch: `input_quantized_idxs` and
    `output_quantized_idxs` of `PrepareCustomConfig`. Source: [N.quantize], [N.dequantize].
  }];
  let dependentDialects = ["::octet::OctetDialect"];
}

#endif // OCTET_LOWER_PASSES_TD
