//===- Provenance.td - where operators come from, what becomes of them ---------------*- tablegen -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_DIALECT_OCTET_PROVENANCE_TD
#define OCTET_DIALECT_OCTET_PROVENANCE_TD

include "octet/Dialect/Octet/OctetBase.td"

def Octet_OriginAttr : AttrDef<Octet_Dialect, "Origin"> {
  let mnemonic = "origin";
  let summary = "where an operator comes from";
  let description = [{
    `octet.origin = #octet.origin<"body.fc1", "Gemm", 0>` on an operator of any dialect: its name in the source, its class in
    the source (an ONNX operator type, `torch.nn.Linear`), and its number, counted from 0, among the operators of this class
    in the same part of the source (the name up to its last `.` or `/`). All operators that one source operator becomes have
    the same origin. An origin without class and number belongs to a value that no operator computes, such as an input.

    QConfig mappings, observers, statistics, reports and steps name operators by their origins; locations are for diagnostics
    only. Errors: an empty name, an empty class, a negative number. PyTorch: the keys of `module_name` and
    `module_name_object_type_order` in a `QConfigMapping`.
  }];
  let parameters = (ins "::mlir::StringAttr":$name, OptionalParameter<"::mlir::StringAttr">:$source_class,
      OptionalParameter<"std::optional<int64_t>">:$index);
  let builders = [
    AttrBuilderWithInferredContext<(ins "::mlir::StringAttr":$name), [{
      return $_get(name.getContext(), name, ::mlir::StringAttr(), std::nullopt);
    }]>
  ];
  let assemblyFormat = "`<` $name (`,` $source_class^ `,` $index)? `>`";
  let genVerifyDecl = 1;
}

def Octet_VerdictAttr : I32EnumAttr<"Verdict", "what becomes of an operator or a group", [
    I32EnumAttrCase<"Quantized", 0, "int8">, I32EnumAttrCase<"FloatResult", 1, "int8_to_float">,
    I32EnumAttrCase<"Float", 2, "float">, I32EnumAttrCase<"WeightOnly", 3, "weight_only">]> {
  let description = [{
    The operator reads and writes quantized values (`int8`), reads quantized values and writes floats (`int8_to_float`),
    stays float (`float`), or reads and writes floats, but has its weights in fewer bits (`weight_only`).
  }];
  let cppNamespace = "::octet";
}

def Octet_ReasonAttr : AttrDef<Octet_Dialect, "Reason"> {
  let mnemonic = "reason";
  let summary = "why an operator does not run in int8, or another unusual fact";
  let description = [{
    A stable code (OCT1xx: the backend, OCT2xx: the QConfig, OCT3xx: the integer program), the reason, and the remedy, which
    is empty if there is none. Errors: a code of another form, an empty text.
  }];
  let parameters = (ins "::mlir::StringAttr":$code, "::mlir::StringAttr":$text, "::mlir::StringAttr":$remedy);
  let builders = [
    AttrBuilder<(ins "::llvm::StringRef":$code, "::llvm::StringRef":$text, "::llvm::StringRef":$remedy), [{
      auto make = [&](::llvm::StringRef value) { return ::mlir::StringAttr::get($_ctxt, value); };
      return $_get($_ctxt, make(code), make(text), make(remedy));
    }]>
  ];
  let assemblyFormat = "`<` $code `,` $text `,` $remedy `>`";
  let genVerifyDecl = 1;
}

def Octet_DecisionAttr : AttrDef<Octet_Dialect, "Decision"> {
  let mnemonic = "decision";
  let summary = "what becomes of an operator or a group, and why";
  let description = [{
    `octet-prepare` stores its decisions as `octet.decision` on every operator and group; `octet-lower` revises the decision
    of an operator that it leaves float. `number` counts decisions in program order and gives the row in the report; it is
    absent where `octet-prepare` did not run. `pattern` is the backend's pattern that matched the operator. `reason` says why
    the verdict is not `int8`, `note` gives another unusual fact. `refused`: the policy asks for a quantized operator. Errors:
    a verdict of `float` without a reason, a negative number.
  }];
  let parameters = (ins OptionalParameter<"std::optional<int64_t>">:$number, EnumParameter<Octet_VerdictAttr>:$verdict,
      OptionalParameter<"::mlir::SymbolRefAttr">:$pattern, OptionalParameter<"::octet::ReasonAttr">:$reason,
      OptionalParameter<"::octet::ReasonAttr">:$note, DefaultValuedParameter<"bool", "false">:$refused);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif // OCTET_DIALECT_OCTET_PROVENANCE_TD
