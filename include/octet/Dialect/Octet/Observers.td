//===- Observers.td - the observers, one def each ---------------*- tablegen -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_DIALECT_OCTET_OBSERVERS_TD
#define OCTET_DIALECT_OCTET_OBSERVERS_TD

include "octet/Dialect/Octet/OctetBase.td"
include "octet/Dialect/Octet/OctetInterfaces.td"

class Octet_Observer<string name, string observerMnemonic>
    : AttrDef<Octet_Dialect, name, [DeclareAttrInterfaceMethods<Octet_ObserverAttrInterface>]> {
  let mnemonic = observerMnemonic;
}

def Octet_FixedQParamsObserver : Octet_Observer<"FixedQParamsObserver", "fixed_qparams"> {
  let summary = "constants, whatever the data";
  let description = [{
    Scale and zero point are given: for results whose range is known, such as a sigmoid's (1/256, 0).
    PyTorch: `FixedQParamsObserver`.
  }];
  let parameters = (ins "::mlir::IntegerType":$dtype, "::mlir::FloatAttr":$scale, "int64_t":$zeroPoint);
  let assemblyFormat = "`<` $dtype `,` `scale` `=` $scale `,` `zero_point` `=` $zeroPoint `>`";
}

#endif // OCTET_DIALECT_OCTET_OBSERVERS_TD
