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
  let summary = "rewrite operators between dequantize and quantize to operators on quantized types";
  let description = [{
    Turns the reference model (a float program with `octet.quantize` and `octet.dequantize` around its quantized operators)
    into the integer program:

    - `nn.conv` and `nn.linear`, alone or in an `octet.group`, take quantized operands. A fused relu or clip becomes
      the storage bounds of the result type; any other fused body stays as the group's body, on the real-valued
      accumulator. A result that is used as a real number is `f32`. An input of 16 bits becomes two of bytes, which are
      multiplied one after the other ([N.wide]).
    - Element-wise operators between one quantized input and one quantized result become one `nn.table`; with several
      inputs they become an `octet.group` on quantized types.
    - `nn.silu`, `nn.gelu` and `nn.exp` that 8 bits are kept of become `coarse` ([N.coarse]).
    - Channels of a convolution or linear layer whose stored value is the same whatever the layer reads get no weights: the value
      is their bias. Those that a network never uses have tiny scales and huge biases, for whose sake kernels would clamp all.
    - Pools and data movement take quantized types; a change of scale becomes a table in front or behind.
    - Activations in signed bytes become unsigned, with a zero point greater by 128. Arguments and results keep their types:
      a table flips the sign bit behind or in front of them.

    The int32 accumulator of every convolution and linear layer is proven not to overflow. Operators without an integer form
    stay float between dequantize and quantize; a remark with a stable code (`include/octet/Lower/Reasons.def`) says why.

    An operator that was quantized to run in int8, but cannot, gets the reason in its `octet.decision`; with `strict` it is
    an error. Source: section 3 of `docs/numerics.md`; PyTorch: `lower_to_fbgemm`.
  }];
  let options = [Option<"strict", "strict", "bool", "false",
    "an operator that was quantized to run in int8, but cannot, is an error">];
  let dependentDialects = ["::octet::OctetDialect", "::octet::nn::NNDialect"];
  let statistics = [
    Statistic<"numLowered", "num-lowered", "operators and groups on quantized types">,
    Statistic<"numTables", "num-tables", "element-wise operators that became a table">,
    Statistic<"numFallback", "num-fallback", "operators that stay float between dequantize and quantize">,
    Statistic<"numConstant", "num-constant", "layers of which a channel is the same whatever they read">
  ];
}

def JoinElementwisePass : Pass<"octet-join-elementwise", "::mlir::func::FuncOp"> {
  let summary = "compute element-wise groups where what is in front of them writes its result";
  let description = [{
    Behind `octet-lower`: a convolution or linear layer of a quantized result with one reader, an element-wise `octet.group` of
    the same shape, becomes a group with the product, `octet.quantize`, `octet.dequantize` and the element-wise operators. The
    numbers are those of the two steps, which the product's kernel computes in registers; that a sum of two quantized values
    reads and writes memory of its own is saved. Of several products the last one takes the group. Backends without a pattern
    of a product and a sum need this, such as those of PyTorch's engines. Where no product does, an element-wise group of the same shape, with
    one reader, takes it likewise, as a scaled image that is added to the image, if both read several quantized values (of one, a
    table is made). Source: [N.requantize], [N.elementwise].
  }];
  let dependentDialects = ["::octet::OctetDialect"];
  let statistics = [Statistic<"numJoined", "num-joined", "groups that are computed with what they read">];
}

def ExpandBatchNormPass : Pass<"octet-expand-batch-norm", "::mlir::func::FuncOp"> {
  let summary = "replace batch norm that was not folded into weights by one fused multiply-add";
  let description = [{
    `nn.batch_norm`, alone or in a group, becomes `nn.fma` with a factor and a shift per channel, computed at compile time
    ([N.batch_norm]). `octet-lower` begins with the same rewrite; float programs need this pass before code generation.
    Parameters that are not constants are an error.
  }];
  let dependentDialects = ["::octet::nn::NNDialect"];
  let statistics = [Statistic<"numExpanded", "num-expanded", "batch norms that became a multiply-add">];
}

def FoldConstantsPass : Pass<"octet-fold-constants", "::mlir::func::FuncOp"> {
  let summary = "evaluate quantize and dequantize of constants";
  let description = [{
    `octet.quantize` and `octet.dequantize` are never folded, so that the reference model keeps its pairs. To run the
    reference model, this pass evaluates the pairs that read a constant (weights, biases), by [N.quantize] and
    [N.dequantize]. `octet-lower` does not need it, since it reads the quantized constants.
  }];
  let dependentDialects = ["::octet::OctetDialect", "::octet::nn::NNDialect"];
  let statistics = [Statistic<"numFolded", "num-folded", "quantize and dequantize ops evaluated">];
}

def ExpandFakeQuantizePass : Pass<"octet-expand-fake-quantize", "::mlir::func::FuncOp"> {
  let summary = "replace fake-quantize by quantize and dequantize";
  let description = [{
    `octet.fake_quantize` of a value becomes `octet.quantize` and `octet.dequantize` of its type; of a constant, a constant of
    integers with `octet.dequantize`, or of the rounded numbers if its type has other than 8 bits. The numbers are the same but for ties: [N.quantize] divides where [N.fake_quantize] multiplies. Runs before
    code generation and where a trained network is adopted as it is. Source: [N.fake_quantize].
  }];
  let dependentDialects = ["::octet::OctetDialect", "::octet::nn::NNDialect", "::mlir::quant::QuantDialect"];
  let statistics = [Statistic<"numExpanded", "num-expanded", "fake-quantize operators replaced">];
}

def DecomposePass : Pass<"octet-decompose", "::mlir::func::FuncOp"> {
  let summary = "spell out quantize and dequantize in upstream arithmetic on tensors of integers";
  let description = [{
    For compilers that go on by themselves: `octet.quantize`, `octet.dequantize` and `octet.fake_quantize` become operators of
    `arith` and `math` on tensors, and quantized values tensors of their signless storage type. A scale per axis is a constant
    that `linalg.broadcast` spreads. Quantizing multiplies by `f32(1 / scale)`, rounds, adds the zero point and clamps to the
    storage bounds, as [N.fake_quantize] does. Other operators that take or give quantized tensors are an error: run the pass on
    the reference model. Source: [N.fake_quantize], [N.dequantize]; PyTorch: `_convert_to_reference_decomposed_fx`, operators
    `quantized_decomposed.*`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"];
  let statistics = [Statistic<"numDecomposed", "num-decomposed", "operators spelled out">];
}

def QuantizeSignaturePass : Pass<"octet-quantize-signature", "::mlir::ModuleOp"> {
  let summary = "give arguments and results quantized types where the integer program quantizes them";
  let description = [{
    An argument whose only users quantize it, all to one type, gets that type; a result that is dequantized is returned
    without the dequantize. Only types with one scale per tensor are used. A warning names arguments and results that stay
    f32. The pass runs before `octet-lower`; results are quantized only if `octet-prepare` observed them
    (`quantized-outputs`, or `quantized_outputs` of the QConfig mapping). With `marked-only`, only arguments and results that
    `octet-prepare` marked (`octet.quantized`) change. Calls of such a function quantize its operands and dequantize its results. PyTorch: `input_quantized_idxs` and `output_quantized_idxs` of `PrepareCustomConfig`. Source:
    [N.quantize], [N.dequantize].
  }];
  let dependentDialects = ["::octet::OctetDialect"];
  let options = [Option<"markedOnly", "marked-only", "bool", "false", "leave the other arguments and results as they are">];
}

#endif // OCTET_LOWER_PASSES_TD
