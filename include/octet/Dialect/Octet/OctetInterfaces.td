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
    An observer: which statistics of a tensor are kept, how compiled code updates them, how two of them merge, and
    which quantized type they mean. Statistics are a flat block of bytes ("state") whose size depends on the observed
    tensor's type only. One file per observer in lib/Dialect/Octet/Observers.
  }];
  let methods = [
    InterfaceMethod<[{
      What the observer promises about the types it yields, before it has seen anything: a backend's constraints are
      checked against this.
    }], "::octet::ObserverSpec", "getSpec">,
    InterfaceMethod<[{
      Updates `state` with the elements of a row-major tensor, on the host: constants (weights) are observed at compile
      time.
    }], "void", "updateState", (ins "::mlir::RankedTensorType":$observed, "::llvm::ArrayRef<float>":$data,
      "::llvm::MutableArrayRef<char>":$state)>,
    InterfaceMethod<"Bytes of state for a tensor of this type (a multiple of 8).",
      "int64_t", "getStateBytes", (ins "::mlir::RankedTensorType":$observed)>,
    InterfaceMethod<"Writes the state of an observer that has seen nothing.",
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
      The quantized type (expressed type f32) that the statistics mean, or failure (with an error through emitError)
      when they are unusable (NaN).
    }], "::llvm::FailureOr<::mlir::quant::QuantizedType>", "getQuantizedType",
      (ins "::llvm::function_ref<::mlir::InFlightDiagnostic()>":$emitError, "::mlir::RankedTensorType":$observed,
      "::llvm::ArrayRef<char>":$state)>
  ];
}

def Octet_MatchConstraintAttrInterface : AttrInterface<"MatchConstraintAttrInterface"> {
  let cppNamespace = "::octet";
  let description = [{
    A condition that a backend's pattern places on an operator it matches: `where` of `octet.match` lists such attributes.
  }];
  let methods = [InterfaceMethod<"Whether `op` meets the condition.", "bool", "holds", (ins "::mlir::Operation *":$op)>];
}

#endif // OCTET_DIALECT_OCTET_OCTETINTERFACES_TD
