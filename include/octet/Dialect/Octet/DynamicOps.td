//===- DynamicOps.td - scales chosen in each run ----------------*- tablegen -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_DIALECT_OCTET_DYNAMICOPS_TD
#define OCTET_DIALECT_OCTET_DYNAMICOPS_TD

include "octet/Dialect/Octet/OctetBase.td"

def Octet_ZeroPointTensor : StaticShapeTensorOf<[I32]>;

def Octet_ChooseQParamsOp : Octet_Op<"choose_qparams", [Pure]> {
  let summary = "scale and zero point for the values that there are";
  let description = [{
    From the smallest and the largest value of the tensor, or with `per_row` of each row, the elements along the last
    dimension. `range` is the quantized range. The results are of rank 0; of rows they have the input's shape with the last
    dimension 1. `onnx` chooses as ONNX's DynamicQuantizeLinear does, whose range is [0, 255]. Errors: a range that does not
    include 0 and another number; `onnx` with another range; results of another shape; `per_row` of a tensor of rank 0.
    Source: [N.choose_qparams], [N.dynamic]; PyTorch: `torch.choose_qparams` and `quantized_decomposed.choose_qparams`.
  }];
  let arguments = (ins Octet_FloatTensor:$input, DenseI64ArrayAttr:$range, UnitAttr:$per_row, UnitAttr:$onnx);
  let results = (outs Octet_FloatTensor:$scale, Octet_ZeroPointTensor:$zero_point);
  let assemblyFormat = "$input `range` $range (`per_row` $per_row^)? (`onnx` $onnx^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

class Octet_DynamicOp<string mnemonic> : Octet_Op<mnemonic, [Pure]> {
  let hasVerifier = 1;
  let assemblyFormat = "$input `by` $scale `,` $zero_point attr-dict `:` functional-type(operands, results)";
}

def Octet_QuantizeDynamicOp : Octet_DynamicOp<"quantize_dynamic"> {
  let summary = "real numbers to integers at a scale that is computed";
  let description = [{
    `clamp(rne(x / scale) + zero point)` as `octet.quantize` has it, with the storage bounds of the result. The result's type
    has the scale 1 and the zero point 0: it stands for the integers themselves. Errors: another type; a scale or zero point
    whose shape is not that of `octet.choose_qparams`, per tensor or per row. Source: [N.quantize],
    `torch.quantize_per_tensor_dynamic`.
  }];
  let arguments = (ins Octet_FloatTensor:$input, Octet_FloatTensor:$scale, Octet_ZeroPointTensor:$zero_point);
  let results = (outs Octet_QuantizedTensor:$result);
}

def Octet_DequantizeDynamicOp : Octet_DynamicOp<"dequantize_dynamic"> {
  let summary = "integers at a scale that is computed to real numbers";
  let description = [{
    `(q - zero point) * scale`. Errors: those of `octet.quantize_dynamic`. In front of a product of the integer program, in its
    `octet.group`, it says how the sums of integers become real numbers. Source: [N.dequantize], [N.dynamic_product].
  }];
  let arguments = (ins Octet_QuantizedTensor:$input, Octet_FloatTensor:$scale, Octet_ZeroPointTensor:$zero_point);
  let results = (outs Octet_FloatTensor:$result);
}

#endif // OCTET_DIALECT_OCTET_DYNAMICOPS_TD
