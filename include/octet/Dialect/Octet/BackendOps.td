//===- BackendOps.td - backends as data -------------------------*- tablegen -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_DIALECT_OCTET_BACKENDOPS_TD
#define OCTET_DIALECT_OCTET_BACKENDOPS_TD

include "octet/Dialect/Octet/OctetInterfaces.td"

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

def Octet_ObservationAttr : I32EnumAttr<"Observation", "how a pattern's result is observed", [
    I32EnumAttrCase<"different", 0>, I32EnumAttrCase<"shared", 1>, I32EnumAttrCase<"none", 2>]> {
  let description = [{
    The result has an observer of its own (`different`) or that of the inputs (`shared`), or the pattern needs no observers
    (`none`). PyTorch: `ObservationType`, whose INPUT_OUTPUT_NOT_OBSERVED is `none`.
  }];
  let cppNamespace = "::octet";
}
def Octet_FloatUsesAttr : I32EnumAttr<"FloatUses", "how a unit runs whose result only float operators use", [
    I32EnumAttrCase<"observed", 0>, I32EnumAttrCase<"float_result", 1>, I32EnumAttrCase<"stays_float", 2>]> {
  let description = [{
    The result is quantized all the same (`observed`), the unit reads quantized values and writes floats (`float_result`), or
    the whole unit runs in float (`stays_float`). PyTorch has only the first.
  }];
  let cppNamespace = "::octet";
}

def Octet_FloatOperandsAttr : I32EnumAttr<"FloatOperands", "how a unit runs all of whose activations float operators compute", [
    I32EnumAttrCase<"observed", 0>, I32EnumAttrCase<"stays_float", 1>, I32EnumAttrCase<"follows", 2>]> {
  let description = [{
    They are quantized (`observed`), the unit runs in float (`stays_float`), or it does so unless a unit that does not follow reads one
    of them as integers (`follows`). PyTorch has only the first.
  }];
  let cppNamespace = "::octet";
}

class Octet_Attr<string name, string attrMnemonic, list<Trait> traits = []> : AttrDef<Octet_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def Octet_DTypeAttr : Octet_Attr<"DType", "dtype"> {
  let summary = "a quantized data type with the backend's constraints";
  let description = [{
    `range`: the observer's quant_min and quant_max must lie inside. `scale_min`: the observer's eps must not be smaller.
    `scale` with `zero_point`: the observer must have exactly these constants. An observer that breaks one of these keeps its
    operator float (OCT201 to OCT204). Errors: a type that is neither an integer nor a float; a range or zero point beside
    a float type; a range that is not [low, high] with low < high; a `scale` or `scale_min` that is not positive, or a `scale`
    below `scale_min`; only one of `scale` and `zero_point`. PyTorch: `DTypeWithConstraints`.
  }];
  let parameters = (ins "::mlir::Type":$type, OptionalArrayRefParameter<"int64_t">:$range,
      OptionalParameter<"::mlir::FloatAttr">:$scale_min, OptionalParameter<"::mlir::FloatAttr">:$scale,
      OptionalParameter<"std::optional<int64_t>">:$zero_point);
  let assemblyFormat = [{
    `<` $type (`range` `[` $range^ `]`)? (`scale_min` $scale_min^)? (`scale` $scale^)? (`zero_point` $zero_point^)? `>`
  }];
  let genVerifyDecl = 1;
}

def Octet_QConfigAttr : Octet_Attr<"QConfig", "qconfig"> {
  let summary = "which observers an operator gets";
  let description = [{
    `activation` observes inputs and results, `weight` weights. `result`, if given, observes the results instead, as for
    operators whose results have a known range. `channel_activation`, if given, replaces `activation` where the backend
    allows one scale and zero point per channel. `column_activation`, if given, replaces `activation` where all that read the
    value quantized are layers whose columns octet-split-outliers may split. `trunk_activation`, if given, replaces `activation` at the input of
    layers with weights that read residual sums, normalized and moved at most, and whose float result other residual sums carry on, as where the stages of a
    transformer meet; not in buckets, nor where these layers have more than a fifth of the network's multiply-adds. What such a layer loses, all that is
    behind it has lost, so that 16 bits may be worth a second product ([N.wide]). Errors: a `column_activation` of another type than `activation`, or a `column_activation` or `trunk_activation`
    with other than one scale that follows the data. PyTorch: `QConfig`.
  }];
  let parameters = (ins "::octet::ObserverAttrInterface":$activation, OptionalParameter<"::octet::ObserverAttrInterface">:$result,
      OptionalParameter<"::octet::ObserverAttrInterface">:$weight,
      OptionalParameter<"::octet::ObserverAttrInterface">:$channel_activation,
      OptionalParameter<"::octet::ObserverAttrInterface">:$column_activation,
      OptionalParameter<"::octet::ObserverAttrInterface">:$trunk_activation);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

class Octet_ConstraintAttr<string name, string attrMnemonic>
    : Octet_Attr<name, attrMnemonic, [DeclareAttrInterfaceMethods<Octet_MatchConstraintAttrInterface>]>;

def Octet_SameShapeAttr : Octet_ConstraintAttr<"SameShape", "same_shape"> {
  let summary = "all operands have the shape of the result";
  let description = [{
    Holds for an operator with one result if all operands, constants included, are tensors of the result's shape, so that
    nothing is broadcast. For additions of a residual.
  }];
}
def Octet_AttributeIsDimensionAttr : Octet_ConstraintAttr<"AttributeIsDimension", "attribute_is_dimension"> {
  let summary = "an integer attribute equals a dimension of an operand, and is above a bound";
  let description = [{
    `#octet.attribute_is_dimension<"groups", operand 0, dimension 1, above 1>` on `nn.conv` means depthwise convolution. The
    constraint does not hold if the attribute, the operand or the dimension is missing. Errors: a negative operand or dimension.
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "int64_t":$operand, "int64_t":$dimension, "int64_t":$above);
  let assemblyFormat = "`<` $name `,` `operand` $operand `,` `dimension` $dimension `,` `above` $above `>`";
  let genVerifyDecl = 1;
}
def Octet_SourceClassAttr : Octet_ConstraintAttr<"SourceClass", "source_class"> {
  let summary = "the class of the operator in the source is one of these";
  let description = [{
    Compares the class of the operator's origin, a name of Python such as `torch.nn.Linear`, `torch.nn.functional.linear` or
    `torch.Tensor.relu`. An operator without such a class, as from ONNX (whose operator types have no dot), has any of them, so that it matches by
    what it computes; with `required` it has none. Errors: no class, an empty one. Source: `docs/rationale/chains.md`. PyTorch: the
    module class, function or method in a pattern.
  }];
  let parameters = (ins "::mlir::ArrayAttr":$classes, DefaultValuedParameter<"bool", "false">:$required);
  let assemblyFormat = "`<` $classes (`,` `required` `=` $required^)? `>`";
  let genVerifyDecl = 1;
}
def Octet_AttributeInRangeAttr : Octet_ConstraintAttr<"AttributeInRange", "attribute_in_range"> {
  let summary = "a float attribute lies in a closed interval";
  let description = [{
    `#octet.attribute_in_range<"alpha", 0.0 : f32, 1.0 : f32>` holds for an operator whose attribute `alpha` is a float from 0
    to 1, both included. The constraint does not hold if the attribute is missing or not a float.
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "::mlir::FloatAttr":$low, "::mlir::FloatAttr":$high);
  let assemblyFormat = "`<` $name `,` $low `,` $high `>`";
}

def Octet_BodyAttr : Octet_ConstraintAttr<"Body", "body"> {
  let summary = "an operator's region consists of certain operators";
  let description = [{
    `#octet.body<["arith.maximumf"]>` on `linalg.generic` means an element-wise maximum: the operator has one region with one
    block, which holds operators of these names in this order, and a terminator. Where a constant comes from, from inside or
    outside, does not matter: constants are not counted. Errors: none.
  }];
  let parameters = (ins "::mlir::ArrayAttr":$names);
  let assemblyFormat = "`<` $names `>`";
}

//===----------------------------------------------------------------------===//
// Backends
//===----------------------------------------------------------------------===//

def Octet_BackendOp : Octet_Op<"backend", [Symbol, SymbolTable, IsolatedFromAbove, SingleBlock, NoTerminator]> {
  let summary = "the quantized operators that a target supports";
  let description = [{
    A text file that `octet-attach-policy` reads into a network's module. Patterns are tried longest first, those of equal
    length in the order of the file. `octet.chain` and `octet.fold_chain` are short for patterns and folds; `includes` names another file (by
    its path beside this one, or a built-in name), whose entries follow but for those whose symbols this backend has, for
    chains whose data types it has not, and for places of a recipe that it names. `octet-attach-policy` resolves both. Errors: anything but `octet.dtypes`, `octet.dtypes_list`,
    `octet.part`, `octet.pattern`, `octet.chain`, `octet.fold`, `octet.fold_chain`, `octet.float`,
    `octet.float_states`, `octet.float_norms`, `octet.float_angles`, `octet.float_ratios`, `octet.float_sums`, `octet.float_ends`, `octet.float_products` and at most one `octet.recipe` inside; two patterns with the same graph. PyTorch: `BackendConfig`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<StrAttr>:$includes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name (`includes` $includes^)? $body attr-dict";
  let hasRegionVerifier = 1;
}

class Octet_BackendPart<string mnemonic, list<Trait> traits = []>
    : Octet_Op<mnemonic, !listconcat([HasParent<"BackendOp">], traits)>;

def Octet_DTypesOp : Octet_BackendPart<"dtypes", [Symbol]> {
  let summary = "one combination of data types that a pattern supports";
  let description = [{
    A missing member leaves the type of that value open. `dynamic`: scale and zero point of the input are chosen in each run,
    and the result is f32; a QConfig fits if its activation observer is `dynamic`, too (OCT215). `bias`, what becomes of a bias, which
    is f32 in the network: `f32`, it is added to the product in floats ([N.float_bias]), or `si32`, or missing, it is an integer at the scale of
    the sums ([N.bias]). `fx` keeps what only PyTorch reads. Errors: `dynamic` without an input, or with an output other than f32. PyTorch: `DTypeConfig`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, UnitAttr:$dynamic, OptionalAttr<Octet_DTypeAttr>:$input, OptionalAttr<Octet_DTypeAttr>:$output,
      OptionalAttr<Octet_DTypeAttr>:$weight, OptionalAttr<TypeAttr>:$bias, OptionalAttr<DictionaryAttr>:$fx);
  let assemblyFormat = [{
    $sym_name (`dynamic` $dynamic^)? (`input` `=` $input^)? (`output` `=` $output^)? (`weight` `=` $weight^)? (`bias` `=` $bias^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Octet_PatternOp : Octet_BackendPart<"pattern", [Symbol, IsolatedFromAbove, SingleBlock,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a subgraph that runs quantized as one unit";
  let description = [{
    The region is the graph: leaves (`octet.activation`, `octet.weight`, `octet.bias`, `octet.parameter`) and
    `octet.match`; it yields the root match. All users of inner values must lie inside the match.
    `observation`: `different` gives the result an observer of its own, `shared` that of its inputs, `none` none.
    `float_uses` applies where only float operators (or the caller) use the result: it is quantized all the same
    (`observed`, as in PyTorch), the unit reads integers and writes floats (`float_result`), or the unit runs in float
    (`stays_float`). `float_operands` applies where all activations come from operators that stay float: a unit that does so, too (OCT108), has
    its result quantized once, where it is read, instead of every operand.
    `channel_axis`: the result may have one scale and zero point per element of this axis. `fx` keeps what only PyTorch reads.

    The region yields all results of the root, which are the unit's: each has an observer, or all have that of the inputs.
    Values that regions of the matched operators read from outside become operands of the group, constants a part of it.

    Errors: a region that does not yield the results of one `octet.match`; any other op inside; an unused leaf or match; more
    than one weight, or a bias without a weight; `shared` together with a weight or with `channel_axis`, or without an activation; a
    symbol that is not an `octet.dtypes` of the backend. PyTorch: `BackendPatternConfig`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypedArrayAttrBase<FlatSymbolRefAttr, "symbols of octet.dtypes">:$dtypes,
      DefaultValuedAttr<Octet_ObservationAttr, "::octet::Observation::different">:$observation,
      DefaultValuedAttr<Octet_FloatUsesAttr, "::octet::FloatUses::observed">:$float_uses,
      DefaultValuedAttr<Octet_FloatOperandsAttr, "::octet::FloatOperands::observed">:$float_operands,
      OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$channel_axis, OptionalAttr<DictionaryAttr>:$fx);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `dtypes` `=` $dtypes (`observation` `=` $observation^)? (`float_uses` `=` $float_uses^)?
    (`float_operands` `=` $float_operands^)? (`channel_axis` `=` $channel_axis^)? $body attr-dict
  }];
  let hasRegionVerifier = 1;
}

def Octet_FoldOp : Octet_BackendPart<"fold", [Symbol, IsolatedFromAbove, SingleBlock]> {
  let summary = "an affine operator that is folded into the weights in front of it";
  let description = [{
    The region is a graph as in `octet.pattern`. Its root applies an affine function per channel to the result of the
    operator that reads the weight and the bias. The region ends with `octet.affine`, which gives that function; the weight and the bias are
    rewritten; a weight with a trained type keeps its integers, and the type gets other scales. `channel_axis` is the channel axis of the root's result; negative ones count from the end. Errors: those of the
    graph of an `octet.pattern`; a region that does not end with `octet.affine`; no weight or no bias (which may be optional)
    to fold into; a root that does not read the operator with the weight; a bias of another operator; parameters of the affine
    function that are not `octet.parameter` or that no `octet.match` reads. PyTorch: `fuser_method` of `BackendPatternConfig`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$channel_axis);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `channel_axis` `=` $channel_axis $body attr-dict";
  let hasRegionVerifier = 1;
}

include "octet/Dialect/Octet/FloatRules.td"

def Octet_RecipeOp : Octet_BackendPart<"recipe"> {
  let summary = "recovery passes that run by default, in order";
  let description = [{
    A pass pipeline, in MLIR's syntax, for each of two places. `octet-run-recipe` parses and runs them and reports their
    errors. Source: `docs/rationale/recipes.md`. PyTorch: no counterpart; users call `bias_correction` themselves.
  }];
  let arguments = (ins OptionalAttr<StrAttr>:$before_prepare, OptionalAttr<StrAttr>:$after_calibrate);
  let assemblyFormat = "(`before_prepare` $before_prepare^)? (`after_calibrate` $after_calibrate^)? attr-dict";
}

//===----------------------------------------------------------------------===//
// Inside a pattern
//===----------------------------------------------------------------------===//

/// Not pure: two identical leaves are two operands, which passes over the network must not merge.
class Octet_Leaf<string mnemonic> : Octet_Op<mnemonic, [ParentOneOf<["PatternOp", "FoldOp", "PartOp"]>]> {
  let results = (outs NoneType:$value);
}

def Octet_ActivationOp : Octet_Leaf<"activation"> {
  let summary = "a value computed at run time";
  let description = [{
    Matches an operand of `f32` that is not constant; where all data types of the pattern leave the input in float, also one
    of integers (the positions of a look-up). A `variadic` leaf matches all remaining operands and must be the last operand
    of its `octet.match`. `channel_axis`: the value may have one scale and zero point per element of this axis.
    `splittable`: the value's last dimension is the last of the weight, and both may get more columns
    (`octet-split-outliers`).
  }];
  let arguments = (ins UnitAttr:$variadic, OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$channel_axis,
      UnitAttr:$splittable);
  let assemblyFormat = "(`variadic` $variadic^)? (`splittable` $splittable^)? (`channel_axis` `=` $channel_axis^)? attr-dict";
}
def Octet_WeightOp : Octet_Leaf<"weight"> {
  let summary = "a constant that is quantized at compile time";
  let description = [{
    Matches a constant operand. `axis` is its axis of output channels; an observer with one scale per channel must name the
    same axis (OCT208).
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$axis);
  let assemblyFormat = "`axis` `=` $axis attr-dict";
}
def Octet_BiasOp : Octet_Leaf<"bias"> {
  let summary = "a constant vector added to the accumulator; int32 after conversion";
  let description = [{
    Matches a constant operand, which `octet-convert` quantizes at the accumulator's scale. `optional`: the operand, which
    must be the last one, may be missing. Source: [N.bias].
  }];
  let arguments = (ins UnitAttr:$optional);
  let assemblyFormat = "(`optional` $optional^)? attr-dict";
}
def Octet_ParameterOp : Octet_Leaf<"parameter"> {
  let summary = "a constant that stays float";
  let description = [{
    Matches a constant operand. With `vector along A`, its only axis corresponds to axis A of the root's result, as in batch
    norm; it matches if A is the channel axis. Otherwise it is broadcast to the shape of the other operand.
  }];
  let arguments = (ins OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$vector_axis);
  let assemblyFormat = "(`vector` `along` $vector_axis^)? attr-dict";
}

def Octet_AnyOp : Octet_Leaf<"any"> {
  let summary = "an operand that is left alone";
  let description = [{
    Matches any operand, constant or not, of any type; it is neither observed nor quantized: the destination of a `linalg`
    operator, an axis, a size. A constant becomes a part of the group, so that verifiers that ask for constants see it. A
    `variadic` leaf matches all remaining operands, also none, and must be the last operand of its `octet.match`. PyTorch:
    `MatchAllNode`.
  }];
  let arguments = (ins UnitAttr:$variadic);
  let assemblyFormat = "(`variadic` $variadic^)? attr-dict";
}

def Octet_MatchOp : Octet_Op<"match", [ParentOneOf<["PatternOp", "FoldOp", "PartOp"]>]> {
  let summary = "an operator of any dialect, by name and structure";
  let description = [{
    Matches an operator of one of `names` with these operands (in either order if `commutative`) and the attributes of `with`,
    for which every constraint of `where` holds. It has as many results as the match: `%y:2 = octet.match …` stands for
    an operator with two; with `results variadic` the match has one, which stands for one or more. Such a match is the
    root. Errors: no name; no result; `commutative` with a number of operands other than two; an optional or variadic leaf that is not the last
    operand; an attribute of `where` that is not a constraint; `results variadic` beside several results, or on a match that another one reads.
  }];
  let arguments = (ins StrArrayAttr:$names, Variadic<NoneType>:$inputs, UnitAttr:$commutative,
      OptionalAttr<DictionaryAttr>:$with, OptionalAttr<ArrayAttr>:$where, UnitAttr:$variadic);
  let results = (outs Variadic<NoneType>:$values);
  let assemblyFormat = [{
    custom<MatchHead>($names, type($values)) `(` $inputs `)` (`results` `variadic` $variadic^)? (`commutative` $commutative^)?
    (`with` $with^)? (`where` $where^)? attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = "::mlir::Value getValue() { return getValues().front(); }";
}

def Octet_AffineOp : Octet_Op<"affine", [Terminator, ParentOneOf<["FoldOp", "PartOp"]>, AttrSizedOperandSegments]> {
  let summary = "the root's result is k * x + b";
  let description = [{
    With k = scale / sqrt(variance + epsilon) and b = shift - mean * k, each per channel; a missing scale is 1, a missing
    shift or mean 0, a missing variance means k = scale. With a `divisor` k is its reciprocal. `epsilon` names the root's
    attribute; a variance without it is an error, and so is a divisor beside a scale or a variance. Source: [N.batch_norm].
  }];
  let arguments = (ins NoneType:$root, Optional<NoneType>:$scale, Optional<NoneType>:$shift, Optional<NoneType>:$mean,
      Optional<NoneType>:$variance, Optional<NoneType>:$divisor, OptionalAttr<StrAttr>:$epsilon);
  let assemblyFormat = [{
    $root (`scale` $scale^)? (`divisor` $divisor^)? (`shift` $shift^)? (`mean` $mean^)? (`variance` $variance^)? (`epsilon` $epsilon^)? attr-dict
  }];
}

#endif // OCTET_DIALECT_OCTET_BACKENDOPS_TD
