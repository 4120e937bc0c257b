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
    `octet.origin = #octet.origin<"body.fc1", "Gemm", 0>` on an operator of any dialect: the source's name for it, the
    source's class (an ONNX operator type, `torch.nn.Linear`), and which operator of this class it is in its part of the
    source (the name up to its last `.` or `/`), counted from 0. All operators made of one source operator have the same.
    Without class and number it stands for a value that no operator computes, such as an input.

    QConfig mappings, observers, statistics, reports and steps name operators by it. Locations carry no meaning: they are for
    diagnostics. Errors: an empty name, an empty class, a negative number. PyTorch: what `module_name` and
    `module_name_object_type_order` of a `QConfigMapping` refer to.
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
    I32EnumAttrCase<"Float", 2, "float">]> {
  let description = [{
    It reads and writes quantized values (`int8`), reads quantized values and writes floats (`int8_to_float`), or stays float.
  }];
  let cppNamespace = "::octet";
}

def Octet_ReasonAttr : AttrDef<Octet_Dialect, "Reason"> {
  let mnemonic = "reason";
  let summary = "why something is not as one might expect";
  let description = [{
    A stable code (OCT1xx: the backend, OCT2xx: the QConfig, OCT3xx: the integer program), what is the matter, and what would
    cure it, which is empty where nothing would. Errors: a code of another form, an empty text.
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
    `octet-prepare` writes down what it carries out, as `octet.decision` on every operator and group; `octet-lower` does where
    one stays float all the same. `number` counts the plan's decisions in program order and is the row in the report; it is
    absent where there was no plan. `pattern` is the backend's that took the operator. `reason` says why the verdict is not
    `int8`, `note` what else is unusual. `refused`: the policy wanted the operator quantized. Errors: a verdict of `float`
    without a reason.
  }];
  let parameters = (ins OptionalParameter<"std::optional<int64_t>">:$number, EnumParameter<Octet_VerdictAttr>:$verdict,
      OptionalParameter<"::mlir::SymbolRefAttr">:$pattern, OptionalParameter<"::octet::ReasonAttr">:$reason,
      OptionalParameter<"::octet::ReasonAttr">:$note, DefaultValuedParameter<"bool", "false">:$refused);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif // OCTET_DIALECT_OCTET_PROVENANCE_TD
