//===- OctetBase.td - the octet dialect ------------------------*- tablegen -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_DIALECT_OCTET_OCTETBASE_TD
#define OCTET_DIALECT_OCTET_OCTETBASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Octet_Dialect : Dialect {
  let name = "octet";
  let cppNamespace = "::octet";
  let summary = "Quantization: observers, quantize and dequantize, fused groups, backends and their policies";
  let description = [{
    The Python objects of PyTorch's FX graph-mode quantization as IR: observers are attributes with an interface, and their
    instances have symbols; a matched and fused pattern is an op with a region; a `BackendConfig` and a `QConfigMapping` are
    ops in a text file.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let dependentDialects = ["::mlir::quant::QuantDialect"];
}

/// A quantized type of upstream's quant dialect.
def Octet_QuantizedType : Type<CPred<"::llvm::isa<::mlir::quant::UniformQuantizedType, "
  "::mlir::quant::UniformQuantizedPerAxisType>($_self)">, "uniform quantized type per tensor or axis">;
/// Of a known rank; sizes may be known at run time only, in programs of other dialects than `nn`.
def Octet_FloatTensor : RankedTensorOf<[F32]>;
/// Weights in fewer bits: integers whose scales are operands, or floats of 16 bits.
def Octet_StoredTensor : StaticShapeTensorOf<[AnyInteger, F16, BF16]>;
/// Their scales, and the real numbers that they stand for.
def Octet_StaticFloatTensor : StaticShapeTensorOf<[F32]>;
def Octet_QuantizedTensor : RankedTensorOf<[Octet_QuantizedType]>;

#endif // OCTET_DIALECT_OCTET_OCTETBASE_TD
