//===- OctetInterfaces.td - what an observer can do ------------*- tablegen -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_DIALECT_OCTET_OCTETINTERFACES_TD
#define OCTET_DIALECT_OCTET_OCTETINTERFACES_TD

include "mlir/IR/OpBase.td"

def Octet_ObserverAttrInterface : AttrInterface<"ObserverAttrInterface"> {
  let cppNamespace = "::octet";
  let description = [{
    An observer: the statistics of a tensor, the code that updates them, the merging of two, and the quantized type that
    they give. Statistics are a flat block of bytes ("state") whose size depends on the observed tensor's type only. Each
    observer has a file in lib/Dialect/Octet/Observers.
  }];
  let methods = [
    InterfaceMethod<[{
      The properties of every quantized type that the observer can give, known before calibration; a backend's constraints
      are checked against them.
    }], "::octet::ObserverSpec", "getSpec">,
    InterfaceMethod<[{
      Updates `state` with the elements of a row-major tensor, on the host: constants (weights) are observed at compile
      time.
    }], "void", "updateState", (ins "::mlir::RankedTensorType":$observed, "::llvm::ArrayRef<float>":$data,
      "::llvm::MutableArrayRef<char>":$state)>,
    InterfaceMethod<"Bytes of state for a tensor of this type (a multiple of 8).",
      "int64_t", "getStateBytes", (ins "::mlir::RankedTensorType":$observed)>,
    InterfaceMethod<"The type of the numbers that the state consists of, as IR shows them: i8, i64, f32 or f64.",
      "::mlir::Type", "getStateElementType", (ins), "",
      [{ return ::mlir::IntegerType::get($_attr.getContext(), 8); }]>,
    InterfaceMethod<"Writes the initial state.",
      "void", "initState", (ins "::mlir::RankedTensorType":$observed, "::llvm::MutableArrayRef<char>":$state)>,
    InterfaceMethod<[{
      Emits code that updates `state` (memref<Nxi8>) with every element of `data`, a strided memref of f32 of the observed
      tensor's logical shape. Upstream dialects only (scf, arith, vector, memref); any lane count; the result must not
      depend on the order of elements unless the observer's definition does.
    }], "void", "emitUpdate", (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
      "::mlir::RankedTensorType":$observed, "::mlir::Value":$data, "::mlir::Value":$state)>,
    InterfaceMethod<"Merges `other` into `state`; fails if the observer's definition forbids merging.",
      "::llvm::LogicalResult", "mergeState", (ins "::mlir::RankedTensorType":$observed,
      "::llvm::MutableArrayRef<char>":$state, "::llvm::ArrayRef<char>":$other)>,
    InterfaceMethod<[{
      The quantized type (expressed type f32) that follows from the statistics, or failure (with an error through
      emitError) if they are unusable (NaN).
    }], "::llvm::FailureOr<::mlir::quant::QuantizedType>", "getQuantizedType",
      (ins "::llvm::function_ref<::mlir::InFlightDiagnostic()>":$emitError, "::mlir::RankedTensorType":$observed,
      "::llvm::ArrayRef<char>":$state)>,
    InterfaceMethod<[{
      The same where zero points are real numbers (`ObserverSpec::hasFloatZeroPoints`), which no quantized type has.
    }], "::llvm::FailureOr<::octet::FloatQParams>", "getFloatQParams",
      (ins "::llvm::function_ref<::mlir::InFlightDiagnostic()>":$emitError, "::mlir::RankedTensorType":$observed,
      "::llvm::ArrayRef<char>":$state), /*methodBody=*/"", /*defaultImplementation=*/[{
        return emitError() << "has no real zero points";
      }]>
  ];
}

def Octet_MatchConstraintAttrInterface : AttrInterface<"MatchConstraintAttrInterface"> {
  let cppNamespace = "::octet";
  let description = [{
    A condition on the operators that a backend's pattern matches: `where` of `octet.match` lists such attributes.
  }];
  let methods = [InterfaceMethod<"Whether `op` meets the condition.", "bool", "holds", (ins "::mlir::Operation *":$op)>];
}

#endif // OCTET_DIALECT_OCTET_OCTETINTERFACES_TD
