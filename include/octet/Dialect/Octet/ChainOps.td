//===- ChainOps.td - patterns written as chains of parts --------*- tablegen -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Short forms, which reading a backend replaces by octet.pattern and octet.fold. docs/rationale/chains.md.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_DIALECT_OCTET_CHAINOPS_TD
#define OCTET_DIALECT_OCTET_CHAINOPS_TD

include "octet/Dialect/Octet/BackendOps.td"

def Octet_DTypesListOp : Octet_BackendPart<"dtypes_list", [Symbol]> {
  let summary = "a name for several combinations of data types";
  let description = [{
    An `octet.chain` may name it in place of these `octet.dtypes`. Included files do so for operators whose data types each
    backend chooses; without this name in the backend their chains are left out.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypedArrayAttrBase<FlatSymbolRefAttr, "symbols of octet.dtypes">:$dtypes);
  let assemblyFormat = "$sym_name $dtypes attr-dict";
}

def Octet_PartOp : Octet_BackendPart<"part", [Symbol, IsolatedFromAbove, SingleBlock]> {
  let summary = "a link of chains: operators that are written once and used in several patterns";
  let description = [{
    The region is a graph as in `octet.pattern`, or one as in `octet.fold` for an operator that may be folded. In a chain its
    first `octet.activation` stands for what the link in front computes; in the first link it is an activation.
    `of`: the classes of the source that compute this; all operators of the part have one of them, as
    `#octet.source_class` checks. `required`: operators without a class do not match.

    Errors: those of the graph of an `octet.pattern`; `required` without classes; when the backend is read: no activation in
    a part behind another.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<StrArrayAttr>:$classes, UnitAttr:$required);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name (`of` $classes^)? (`required` $required^)? $body attr-dict";
  let hasRegionVerifier = 1;
}

def Octet_ChainOp : Octet_BackendPart<"chain"> {
  let summary = "patterns whose operators follow one another";
  let description = [{
    Each link lists alternatives: symbols of `octet.part`, or classes of the source, which stand for the parts that have
    them. An `optional` link may be missing. Every choice is an `octet.pattern`, named by the chain, by the first part if there are
    several, and by the parts behind it: `octet.chain @conv … : [@conv] -> optional [@add] -> optional [@act]` stands for
    `@conv_add_act`, `@conv_add`, `@conv_act` and `@conv`. Of alternatives with one part, one pattern takes all classes.

    `dtypes` may name an `octet.dtypes_list`. `one_activation` replaces `observation` in patterns that read one activation
    only (PyTorch: `num_tensor_args_to_observation_type`). Everything else is as in `octet.pattern`. Errors: an optional first link; an empty
    one; alternatives that are neither symbols nor strings; when the backend is read: a part, a class or data types that it does
    not have, a name that it has already, and errors of the patterns.
  }];
  let arguments = (ins SymbolNameAttr:$base, TypedArrayAttrBase<FlatSymbolRefAttr, "symbols of data types">:$dtypes,
      DefaultValuedAttr<Octet_ObservationAttr, "::octet::Observation::different">:$observation,
      OptionalAttr<Octet_ObservationAttr>:$one_activation,
      DefaultValuedAttr<Octet_FloatUsesAttr, "::octet::FloatUses::observed">:$float_uses,
      DefaultValuedAttr<Octet_FloatOperandsAttr, "::octet::FloatOperands::observed">:$float_operands,
      OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$channel_axis, ArrayAttr:$links, DenseBoolArrayAttr:$optional,
      OptionalAttr<DictionaryAttr>:$fx);
  let assemblyFormat = [{
    $base `dtypes` `=` $dtypes (`observation` `=` $observation^)? (`one_activation` `=` $one_activation^)?
    (`float_uses` `=` $float_uses^)? (`float_operands` `=` $float_operands^)? (`channel_axis` `=` $channel_axis^)?
    `:` custom<Links>($links, $optional) attr-dict
  }];
  let hasVerifier = 1;
}

def Octet_FoldChainOp : Octet_BackendPart<"fold_chain"> {
  let summary = "folds whose operators follow one another";
  let description = [{
    As `octet.chain`, for `octet.fold`: the part of the last link ends with `octet.affine`. Errors: those of `octet.chain`; when
    the backend is read: a last part that does not end with `octet.affine`.
  }];
  let arguments = (ins SymbolNameAttr:$base, I64Attr:$channel_axis, ArrayAttr:$links, DenseBoolArrayAttr:$optional);
  let assemblyFormat = "$base `channel_axis` `=` $channel_axis `:` custom<Links>($links, $optional) attr-dict";
  let hasVerifier = 1;
}

#endif // OCTET_DIALECT_OCTET_CHAINOPS_TD
