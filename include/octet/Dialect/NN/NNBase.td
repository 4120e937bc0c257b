//===- NNBase.td - dialect, types, traits, base classes ----*- tablegen -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_DIALECT_NN_NNBASE_TD
#define OCTET_DIALECT_NN_NNBASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "octet/Dialect/NN/NNInterfaces.td"

def NN_Dialect : Dialect {
  let name = "nn";
  let cppNamespace = "::octet::nn";
  let summary = "Operators of neural networks, float or quantized by their types";
  let description = [{
    One op set for the float and for the quantized network: the same operator takes `f32` tensors before lowering and
    `!quant.uniform` tensors after it. Tensors have static shapes and are logically NCHW; the encoding of a tensor type
    (`#nn.layout`), set by `octet-assign-layout`, gives its layout in memory. `docs/numerics.md` defines every result
    bit for bit; names in brackets, such as [N.conv], are labels in that document.

    Formulas are about real numbers, which the elements of a quantized tensor represent; sizes, pads and axes count elements.
    Operands and results are static tensors of `f32`, of a quantized type or of integers: `i64` and narrower ones, `ui8` and
    the like without a sign, `i1` for truth values, each a byte of 0 or 1. Integers wrap to their type [N.integer]. Any other
    type is an error (`nn.cast` takes other floats), and so is a result type whose shape differs from the one in the
    operator's description.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let dependentDialects = ["::mlir::quant::QuantDialect"];
}

/// A quantized type of upstream's quant dialect with scales per tensor or per channel, but not per sub-channel.
def NN_Quantized : Type<CPred<"::llvm::isa<::mlir::quant::UniformQuantizedType, "
  "::mlir::quant::UniformQuantizedPerAxisType>($_self)">, "uniform quantized type per tensor or axis">;

/// A static tensor of floats, quantized values or plain integers.
def NN_Tensor : StaticShapeTensorOf<[F32, NN_Quantized, AnyInteger]>;

/// A tensor as a caller may hold it: floats of any width, too.
def NN_CastTensor : StaticShapeTensorOf<[F16, BF16, F32, F64, AnyInteger]>;
/// A tensor of any of these, as constants are.
def NN_ConstantTensor : StaticShapeTensorOf<[F16, BF16, F32, NN_Quantized, AnyInteger]>;
/// Truth values.
def NN_TruthTensor : StaticShapeTensorOf<[I1]>;
/// Positions in a tensor.
def NN_IndexTensor : StaticShapeTensorOf<[I64]>;

/// The result depends element by element on the operands (after broadcasting).
def NN_Elementwise : NativeOpTrait<"Elementwise"> { let cppNamespace = "::octet::nn"; }
/// Operands and result are real numbers: f32 or quantized.
def NN_OfReals : NativeOpTrait<"OfReals"> { let cppNamespace = "::octet::nn"; }
/// Operands and result are all real numbers, or have one type of integers.
def NN_OfOneKind : NativeOpTrait<"OfOneKind"> { let cppNamespace = "::octet::nn"; }
/// Operands and result have one type of integers.
def NN_OfIntegers : NativeOpTrait<"OfIntegers"> { let cppNamespace = "::octet::nn"; }
/// The result's elements are copies of the operand's: any element type, no arithmetic.
def NN_DataMovement : NativeOpTrait<"DataMovement"> { let cppNamespace = "::octet::nn"; }

class NN_Op<string mnemonic, list<Trait> traits = []> : Op<NN_Dialect, mnemonic, !listconcat([Pure], traits)>;

/// An op whose result shape is inferred and verified.
class NN_ShapedOp<string mnemonic, list<Trait> traits = []>
    : NN_Op<mnemonic, !listconcat([DeclareOpInterfaceMethods<NN_InferShape>], traits)> {
  let results = (outs NN_Tensor:$result);
}

#endif // OCTET_DIALECT_NN_NNBASE_TD
