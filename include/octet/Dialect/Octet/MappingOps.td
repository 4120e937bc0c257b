//===- MappingOps.td - QConfig mappings as data -----------------*- tablegen -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_DIALECT_OCTET_MAPPINGOPS_TD
#define OCTET_DIALECT_OCTET_MAPPINGOPS_TD

include "octet/Dialect/Octet/BackendOps.td"

def Octet_QConfigMappingOp : Octet_Op<"qconfig_mapping", [Symbol, IsolatedFromAbove, SingleBlock, NoTerminator]> {
  let summary = "which operators get which observers";
  let description = [{
    Precedence: `module_name_object_type_order` > `module_name` > `module_name_regex` > `object_type` > `global`. `none`
    means "do not quantize" and has the precedence of any other QConfig. `octet-print-mapping` lists which entry applies to
    which operator. Within a fused group the entry of the weighted operator (the last one if none has a weight) applies; in
    a group with a weight, an `object_type` of another operator that asks for another activation observer is an error
    of `octet-prepare`.

    `includes "cpu_default_mapping"` adds the entries of another mapping, built in or a file (a relative path is relative to
    the including file), which may include another in turn. An entry overrides the included entry of the same kind and key
    (a `global` any `global`); other included entries are kept. Own regular expressions are tried before included ones. The
    precedence of kinds does not change: an included `module_name` wins over an own `global`. `octet-attach-policy` resolves
    the inclusion; no other pass accepts a mapping that includes another.

    `quantized_inputs [0]` and `quantized_outputs [0, 2]` say by number which of a function's arguments come in as integers
    and which of its results leave as such. `octet-prepare` observes them and marks them (`octet.quantized`) for
    `octet-quantize-signature`. An argument's scale is that of its observer. Included mappings have no say in it.

    Errors: anything but these entries inside; two entries of the same kind and key; numbers that are negative or not in
    ascending order; when it is resolved, an inclusion that cannot be read, or of the mapping itself; in `octet-prepare`, a
    number that a function does not have. PyTorch: `QConfigMapping`; `input_quantized_idxs` and `output_quantized_idxs` of
    `PrepareCustomConfig`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<StrAttr>:$includes,
      OptionalAttr<DenseI64ArrayAttr>:$quantized_inputs, OptionalAttr<DenseI64ArrayAttr>:$quantized_outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name (`includes` $includes^)? (`quantized_inputs` $quantized_inputs^)?
    (`quantized_outputs` $quantized_outputs^)? $body attr-dict
  }];
  let hasRegionVerifier = 1;
}

class Octet_MappingEntry<string mnemonic> : Octet_Op<mnemonic, [HasParent<"QConfigMappingOp">]> {
  let arguments = (ins StrAttr:$key, OptionalAttr<Octet_QConfigAttr>:$qconfig);
  let assemblyFormat = "$key custom<QConfigOrNone>($qconfig) attr-dict";
}

def Octet_GlobalOp : Octet_Op<"global", [HasParent<"QConfigMappingOp">]> {
  let summary = "the QConfig of every operator that no other entry names";
  let description = [{
    A mapping has at most one. Without it, operators that no entry names stay float (OCT206). PyTorch: `set_global`.
  }];
  let arguments = (ins OptionalAttr<Octet_QConfigAttr>:$qconfig);
  let assemblyFormat = "custom<QConfigOrNone>($qconfig) attr-dict";
}
def Octet_ObjectTypeOp : Octet_MappingEntry<"object_type"> {
  let summary = "the QConfig of every operator of this class or name";
  let description = [{
    `key` is the operator's class in the source (`#octet.origin`), as `"Conv"` in an ONNX file or `"torch.nn.Conv2d"`, or its
    name with its dialect, as in `"nn.conv"`; the class is looked up first. PyTorch: `set_object_type`.
  }];
}
def Octet_ModuleNameOp : Octet_MappingEntry<"module_name"> {
  let summary = "the QConfig of the operator with this source name, or of those below it";
  let description = [{
    The key equals the operator's name or is a prefix of it up to a `.` or `/`; the longest such key wins. PyTorch:
    `set_module_name`.
  }];
}
def Octet_ModuleNameRegexOp : Octet_MappingEntry<"module_name_regex"> {
  let summary = "the QConfig of every operator whose source name begins with a match";
  let description = [{
    The key has the syntax of Python's `re`, and a name matches as by `re.match`: from its first character on, not
    necessarily to its last. The first entry that matches wins. Errors: an expression that Python refuses; one with
    look-around, references to groups, boundaries of words, flags, conditions or possessive quantifiers, for which there is no
    matcher here. PyTorch: `set_module_name_regex`.
  }];
  let hasVerifier = 1;
}
def Octet_ModuleNameObjectTypeOrderOp
    : Octet_Op<"module_name_object_type_order", [HasParent<"QConfigMappingOp">]> {
  let summary = "the QConfig of one operator, by its number among those of its class in a part of the source";
  let description = [{
    `octet.module_name_object_type_order "body", "torch.nn.Linear", 1` names the second operator of this class whose source
    name is `body` and one more part behind a `.` or `/`; the part is `""` for operators at the top. Operators that one source operator
    becomes have one number. Errors: a negative number. PyTorch: `set_module_name_object_type_order`.
  }];
  let arguments = (ins StrAttr:$module, StrAttr:$object_type, ConfinedAttr<I64Attr, [IntNonNegative]>:$index,
      OptionalAttr<Octet_QConfigAttr>:$qconfig);
  let assemblyFormat = "$module `,` $object_type `,` $index custom<QConfigOrNone>($qconfig) attr-dict";
}

#endif // OCTET_DIALECT_OCTET_MAPPINGOPS_TD
