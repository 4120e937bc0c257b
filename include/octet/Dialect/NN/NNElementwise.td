//===- NNElementwise.td - element-wise operators --------------*- tablegen -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_DIALECT_NN_NNELEMENTWISE_TD
#define OCTET_DIALECT_NN_NNELEMENTWISE_TD

include "octet/Dialect/NN/NNBase.td"

//===----------------------------------------------------------------------===//
// Attributes and base classes
//===----------------------------------------------------------------------===//

def NN_GeluFormAttr : I32EnumAttr<"GeluForm", "the formula of a GELU", [
    I32EnumAttrCase<"none", 0>, I32EnumAttrCase<"tanh", 1>]> {
  let description = [{
    With the error function (`none`), or with its approximation by a hyperbolic tangent (`tanh`). Source: [N.gelu];
    `approximate` of ONNX Gelu and of `torch.nn.functional.gelu`.
  }];
  let cppNamespace = "::octet::nn";
}

/// `source`: label, ONNX operator, PyTorch function.
class NN_UnaryOp<string mnemonic, string sum, string formula, string source, Trait kind = NN_OfReals>
    : NN_ShapedOp<mnemonic, [NN_Elementwise, kind]> {
  let summary = sum;
  let description = "Element by element: " # formula # ". The input may have any shape; a result of another shape "
      # "is an error. Source: " # source # ".";
  let arguments = (ins NN_Tensor:$input);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
  let extraClassDefinition = [{
    ::llvm::FailureOr<::llvm::SmallVector<int64_t>> $cppClass::inferResultShape() {
      return ::llvm::SmallVector<int64_t>(getInput().getType().getShape());
    }
  }];
}

class NN_BinaryOp<string mnemonic, string sum, string formula, string source, list<Trait> kinds = [NN_OfReals]>
    : NN_ShapedOp<mnemonic, !listconcat([NN_Elementwise], kinds)> {
  let summary = sum;
  let description = "Element by element with NumPy broadcasting of the two shapes: " # formula # ". "
      # "Errors: shapes that do not broadcast. Source: " # source # ".";
  let arguments = (ins NN_Tensor:$lhs, NN_Tensor:$rhs);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
  let extraClassDefinition = [{
    ::llvm::FailureOr<::llvm::SmallVector<int64_t>> $cppClass::inferResultShape() {
      return ::octet::nn::broadcastShapes(*this, getLhs().getType().getShape(), getRhs().getType().getShape());
    }
  }];
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

def NN_ReluOp : NN_UnaryOp<"relu", "rectifier", "`x > 0 ? x : 0`", "[N.relu]; ONNX Relu, `torch.nn.functional.relu`">;
def NN_SigmoidOp : NN_UnaryOp<"sigmoid", "logistic function", "`1 / (1 + exp(-x))`",
    "[N.sigmoid]; ONNX Sigmoid, `torch.sigmoid`">;
def NN_TanhOp : NN_UnaryOp<"tanh", "hyperbolic tangent", "`e / (e + 2)` with `e = exp(2 x) - 1`, of which 2 x is clipped to 20 and -20",
    "[N.tanh]; ONNX Tanh, `torch.tanh`">;
def NN_SiluOp : NN_UnaryOp<"silu", "sigmoid linear unit", "`x / (1 + exp(-x))`, `coarse` within 2e-3 of that",
    "[N.silu], [N.coarse]; ONNX Mul and Sigmoid, `torch.nn.functional.silu`"> {
  let arguments = (ins NN_Tensor:$input, UnitAttr:$coarse);
}
def NN_HardSwishOp : NN_UnaryOp<"hard_swish", "hard swish", "`x * clip(x / 6 + 0.5, 0, 1)`",
    "[N.hard_swish]; ONNX HardSwish, `torch.nn.functional.hardswish`">;
def NN_ExpOp : NN_UnaryOp<"exp", "exponential function", "`exp(x)` within 0.89 ulp, `coarse` within 2^-13 of its value",
    "[N.exp], [N.coarse]; ONNX Exp, `torch.exp`"> {
  let arguments = (ins NN_Tensor:$input, UnitAttr:$coarse);
}
def NN_ErfOp : NN_UnaryOp<"erf", "error function", "`2 / sqrt(pi)` times the integral of `exp(-t * t)` from 0 to x, within 1 ulp",
    "[N.erf]; ONNX Erf, `torch.erf`">;
def NN_SoftplusOp : NN_UnaryOp<"softplus", "smooth rectifier", "`log(1 + exp(x))` within 2 ulp",
    "[N.softplus]; ONNX Softplus, `torch.nn.functional.softplus`">;
def NN_GeluOp : NN_UnaryOp<"gelu", "Gaussian error linear unit",
    "`x / 2 * (1 + erf(x / sqrt(2)))` (`none`) or `x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))` (`tanh`), "
    # "`coarse` within 4e-4 of that",
    "[N.gelu], [N.coarse]; Hendrycks and Gimpel, \"Gaussian Error Linear Units\", 2016; ONNX Gelu, `torch.nn.functional.gelu`"> {
  let arguments = (ins NN_Tensor:$input, NN_GeluFormAttr:$form, UnitAttr:$coarse);
  let assemblyFormat = "$input $form attr-dict `:` functional-type(operands, results)";
}
def NN_SqrtOp : NN_UnaryOp<"sqrt", "square root", "correctly rounded", "[N.sqrt]; ONNX Sqrt, `torch.sqrt`">;
def NN_NegOp : NN_UnaryOp<"neg", "negation", "`-x`", "[N.neg]; ONNX Neg, `torch.neg`", NN_OfOneKind>;

def NN_AbsOp : NN_UnaryOp<"abs", "magnitude", "`|x|`, never -0", "[N.abs]; ONNX Abs, `torch.abs`", NN_OfOneKind>;
def NN_SignOp : NN_UnaryOp<"sign", "sign", "-1, 0 or 1", "[N.sign]; ONNX Sign, `torch.sign`", NN_OfOneKind>;
def NN_RoundOp : NN_UnaryOp<"round", "nearest integer", "ties to the even one", "[N.round]; ONNX Round, `torch.round`">;
def NN_FloorOp : NN_UnaryOp<"floor", "largest integer below", "the largest integer that is not above x",
    "[N.round]; ONNX Floor, `torch.floor`">;
def NN_CeilOp : NN_UnaryOp<"ceil", "least integer above", "the least integer that is not below x",
    "[N.round]; ONNX Ceil, `torch.ceil`">;
def NN_LogOp : NN_UnaryOp<"log", "natural logarithm", "`log(x)` within 1 ulp", "[N.log]; ONNX Log, `torch.log`">;
def NN_SinOp : NN_UnaryOp<"sin", "sine", "`sin(x)` within 2.5e-7 for magnitudes up to 2^20", "[N.sin]; ONNX Sin, `torch.sin`">;
def NN_CosOp : NN_UnaryOp<"cos", "cosine", "`cos(x)` within 2.5e-7 for magnitudes up to 2^20", "[N.sin]; ONNX Cos, `torch.cos`">;
def NN_AtanOp : NN_UnaryOp<"atan", "inverse tangent", "`atan(x)` within 2e-7", "[N.atan]; ONNX Atan, `torch.atan`">;

def NN_ClipOp : NN_UnaryOp<"clip", "clamp to an interval", "`min(max(x, min), max)`; relu6 is `clip` with 0 and 6",
    "[N.clip]; ONNX Clip, `torch.clamp`"> {
  let arguments = (ins NN_Tensor:$input, F32Attr:$min, F32Attr:$max);
  let assemblyFormat = "$input `min` $min `max` $max attr-dict `:` functional-type(operands, results)";
}
def NN_LeakyReluOp : NN_UnaryOp<"leaky_relu", "leaky rectifier", "`x < 0 ? alpha * x : x`",
    "[N.leaky_relu]; ONNX LeakyRelu, PRelu with one slope, `torch.nn.functional.leaky_relu`"> {
  let arguments = (ins NN_Tensor:$input, F32Attr:$alpha);
  let assemblyFormat = "$input `alpha` $alpha attr-dict `:` functional-type(operands, results)";
}
def NN_ThresholdedReluOp : NN_UnaryOp<"thresholded_relu", "rectifier with a threshold", "`x > alpha ? x : 0`",
    "[N.thresholded_relu]; ONNX ThresholdedRelu, `torch.nn.functional.threshold` with the value 0"> {
  let arguments = (ins NN_Tensor:$input, F32Attr:$alpha);
  let assemblyFormat = "$input `alpha` $alpha attr-dict `:` functional-type(operands, results)";
}
def NN_EluOp : NN_UnaryOp<"elu", "exponential linear unit", "`x < 0 ? alpha * (exp(x) - 1) : x`, precise where it is small",
    "[N.elu]; ONNX Elu, `torch.nn.functional.elu`"> {
  let arguments = (ins NN_Tensor:$input, F32Attr:$alpha);
  let assemblyFormat = "$input `alpha` $alpha attr-dict `:` functional-type(operands, results)";
}
def NN_HardSigmoidOp : NN_UnaryOp<"hard_sigmoid", "hard sigmoid", "`clip(alpha * x + beta, 0, 1)`",
    "[N.hard_sigmoid]; ONNX HardSigmoid, `torch.nn.functional.hardsigmoid` for 1/6 and 0.5"> {
  let arguments = (ins NN_Tensor:$input, F32Attr:$alpha, F32Attr:$beta);
  let assemblyFormat = "$input `alpha` $alpha `beta` $beta attr-dict `:` functional-type(operands, results)";
}

def NN_AddOp : NN_BinaryOp<"add", "sum", "rounded once", "[N.add]; ONNX Add, `torch.add`", [NN_OfOneKind]>;
def NN_SubOp : NN_BinaryOp<"sub", "difference", "rounded once", "[N.add]; ONNX Sub, `torch.sub`", [NN_OfOneKind]>;
def NN_MulOp : NN_BinaryOp<"mul", "product", "rounded once", "[N.add]; ONNX Mul, `torch.mul`", [NN_OfOneKind]>;
def NN_DivOp : NN_BinaryOp<"div", "quotient", "rounded once", "[N.add]; ONNX Div, `torch.div`", [NN_OfOneKind]>;

def NN_MaxOp : NN_BinaryOp<"max", "larger value", "`lhs > rhs ? lhs : rhs`, NaN if one is NaN", "[N.max]; ONNX Max, `torch.maximum`", [NN_OfOneKind]>;
def NN_MinOp : NN_BinaryOp<"min", "lesser value", "`lhs < rhs ? lhs : rhs`, NaN if one is NaN", "[N.max]; ONNX Min, `torch.minimum`", [NN_OfOneKind]>;
def NN_PowOp : NN_BinaryOp<"pow", "power", "`exp(rhs * log(|lhs|))` with the sign of the power", "[N.pow]; ONNX Pow, `torch.pow`">;
def NN_PreluOp : NN_BinaryOp<"prelu", "leaky rectifier with slopes", "`lhs < 0 ? rhs * lhs : lhs`",
    "[N.leaky_relu]; He et al., \"Delving Deep into Rectifiers\", 2015; ONNX PRelu, `torch.nn.functional.prelu`">;

def NN_FmaOp : NN_ShapedOp<"fma", [NN_Elementwise, NN_OfReals]> {
  let summary = "fused multiply-add";
  let description = [{
    Element by element `x * factor + shift`, rounded once, with NumPy broadcasting of `factor` and `shift` to the shape of
    `x` and the result. Errors: shapes that do not broadcast to that shape. Created by `octet-expand-batch-norm`. Source:
    [N.batch_norm]; `torch.addcmul`, which rounds twice.
  }];
  let arguments = (ins NN_Tensor:$x, NN_Tensor:$factor, NN_Tensor:$shift);
  let assemblyFormat = "$x `,` $factor `,` $shift attr-dict `:` functional-type(operands, results)";
}

def NN_TableOp : NN_ShapedOp<"table", [NN_Elementwise]> {
  let summary = "look-up in a table of 256 entries";
  let description = [{
    `input` and result have the same shape, which may be any, and 8-bit storage. Entry i is the result's storage byte for the
    input's storage byte i, both read as unsigned whatever the sign of the storage types (signed ones occur at the network's
    inputs and outputs). Errors: other than 256 entries; elements of other than 8 bits. Created by `octet-lower`. Source: [N.table].
  }];
  let arguments = (ins NN_Tensor:$input, DenseI8ArrayAttr:$table);
  let assemblyFormat = "$input `,` $table attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Integers and truth values
//===----------------------------------------------------------------------===//

def NN_ModOp : NN_BinaryOp<"mod", "remainder", "`lhs - floor(lhs / rhs) * rhs`, 0 for a divisor of 0",
    "[N.integer]; ONNX Mod, `torch.remainder`", [NN_OfIntegers]>;
def NN_AndOp : NN_BinaryOp<"and", "conjunction", "of bits, or of truth values", "[N.integer]; ONNX And, BitwiseAnd", [NN_OfIntegers]>;
def NN_OrOp : NN_BinaryOp<"or", "disjunction", "of bits, or of truth values", "[N.integer]; ONNX Or, BitwiseOr", [NN_OfIntegers]>;
def NN_XorOp : NN_BinaryOp<"xor", "exclusive or", "of bits, or of truth values", "[N.integer]; ONNX Xor, BitwiseXor", [NN_OfIntegers]>;
def NN_ShiftLeftOp : NN_BinaryOp<"shift_left", "shift to the left", "`lhs * 2^rhs`, 0 from 64 on",
    "[N.integer]; ONNX BitShift, `torch.bitwise_left_shift`", [NN_OfIntegers]>;
def NN_ShiftRightOp : NN_BinaryOp<"shift_right", "shift to the right", "`floor(lhs / 2^rhs)`, 0 or -1 from 64 on",
    "[N.integer]; ONNX BitShift, `torch.bitwise_right_shift`", [NN_OfIntegers]>;
def NN_NotOp : NN_UnaryOp<"not", "complement", "of bits, or of a truth value", "[N.integer]; ONNX Not, BitwiseNot", NN_OfIntegers>;

def NN_PredicateAttr : I32EnumAttr<"Predicate", "a relation of two numbers", [
    I32EnumAttrCase<"equal", 0>, I32EnumAttrCase<"less", 1>, I32EnumAttrCase<"less_or_equal", 2>]> {
  let description = [{
    A relation that holds or not; with NaN none does. The other way round, operands are exchanged. Source: [N.compare]; ONNX
    Equal, Less, LessOrEqual.
  }];
  let cppNamespace = "::octet::nn";
}

def NN_CompareOp : NN_BinaryOp<"compare", "relation of two numbers", "whether `predicate` holds, an `i1`",
    "[N.compare]; ONNX Equal, Less, LessOrEqual; `torch.eq`, `torch.lt`, `torch.le`", []> {
  let arguments = (ins NN_PredicateAttr:$predicate, NN_Tensor:$lhs, NN_Tensor:$rhs);
  let assemblyFormat = "$predicate $lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
  let results = (outs NN_TruthTensor:$result);
  let hasVerifier = 1;
}

def NN_SelectOp : NN_ShapedOp<"select", [NN_Elementwise]> {
  let summary = "one value or the other";
  let description = [{
    Element by element with NumPy broadcasting of the three shapes: `yes` where `condition`, an `i1`, is 1, else `no`, bit for
    bit. Errors: shapes that do not broadcast; `yes`, `no` and result of different kinds. Source: [N.compare]; ONNX Where,
    `torch.where`.
  }];
  let arguments = (ins NN_TruthTensor:$condition, NN_Tensor:$yes, NN_Tensor:$no);
  let assemblyFormat = "$condition `,` $yes `,` $no attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def NN_CastOp : NN_ShapedOp<"cast", [NN_Elementwise]> {
  let summary = "the same numbers in another type";
  let description = [{
    Element by element, between floats of any width and integers. Floats become integers by omitting the fraction, within
    64 bits, and then as integers do: by their lowest bits. Numbers become floats by rounding to the nearest, and truth values by
    comparison with 0. A result of another shape is an error. Source: [N.cast]; ONNX Cast, `torch.Tensor.to`.
  }];
  let arguments = (ins NN_CastTensor:$input);
  let results = (outs NN_CastTensor:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
}

#endif // OCTET_DIALECT_NN_NNELEMENTWISE_TD
