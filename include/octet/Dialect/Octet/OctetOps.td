//===- OctetOps.td - quantization ops ---------------------------*- tablegen -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_DIALECT_OCTET_OCTETOPS_TD
#define OCTET_DIALECT_OCTET_OCTETOPS_TD

include "octet/Dialect/Octet/Observers.td"
include "octet/Dialect/Octet/Provenance.td"

class Octet_Op<string mnemonic, list<Trait> traits = []> : Op<Octet_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Quantize, dequantize
//===----------------------------------------------------------------------===//

def Octet_QuantizeOp : Octet_Op<"quantize", [Pure, SameOperandsAndResultShape]> {
  let summary = "real numbers to quantized values";
  let description = [{
    `clamp(rne(x / scale) + zero point)`, per tensor or per axis as the result type says; NaN gives the zero point.
    Pure, and never folded with `octet.dequantize`: the pair marks where a value is quantized. The result has the input's
    shape. Errors: an expressed type other than `f32`; an axis outside the tensor; a number of scales other than the size of
    that axis. Source: [N.quantize], ONNX QuantizeLinear, `torch.quantize_per_tensor`, `torch.quantize_per_channel`.
  }];
  let arguments = (ins Octet_FloatTensor:$input);
  let results = (outs Octet_QuantizedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Octet_DequantizeOp : Octet_Op<"dequantize", [Pure, SameOperandsAndResultShape]> {
  let summary = "quantized values to real numbers";
  let description = [{
    `(q - zero point) * scale`, of the same shape. Errors: those of `octet.quantize`. Source: [N.dequantize], ONNX
    DequantizeLinear, `torch.dequantize`.
  }];
  let arguments = (ins Octet_QuantizedTensor:$input);
  let results = (outs Octet_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Octet_FakeQuantizeOp : Octet_Op<"fake_quantize", [Pure, SameOperandsAndResultType]> {
  let summary = "real numbers, rounded as a quantized type rounds them";
  let description = [{
    `(clamp(rne(x * f32(1 / scale)) + zero point, low, high) - zero point) * scale` with the storage bounds of `quantized_type`,
    per tensor or per axis; NaN gives the real number of `low`. In a network that was trained with quantization it stands
    where a range was trained: `octet-prepare` keeps that range, gives the other values observers, and `octet-convert` writes
    `octet.quantize` and `octet.dequantize` in its place. Errors: those of `octet.quantize`. Source: [N.fake_quantize];
    PyTorch: `torch.fake_quantize_per_tensor_affine`, `FakeQuantize` behind its training.
  }];
  let arguments = (ins Octet_FloatTensor:$input, TypeAttrOf<Octet_QuantizedType>:$quantized_type);
  let results = (outs Octet_FloatTensor:$result);
  let assemblyFormat = "$input `as` $quantized_type attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def Octet_DequantizeWeightsOp : Octet_Op<"dequantize_weights", [Pure, AttrSizedOperandSegments]> {
  let summary = "weights in few bits to real numbers";
  let description = [{
    `(q - zero point) * scale` of integers, with real scales and zero points (0 if there are none); floats of 16 bits are
    widened. Unlike `octet.dequantize`, which has its parameters in a type, it takes real zero points and one scale for each
    block of `block` elements: dimension d of the scales and zero points is that of the weights divided by `block[d]`,
    rounded up. Without `block` it is 1 or that of the weights. Errors: scales of floats, or none of integers; zero points of
    another shape than the scales; sizes other than these. Source: [N.dequantize_weights]; PyTorch: `torch.dequantize` of
    `torch.per_channel_affine_float_qparams`, and of `torch.float16`; ONNX DequantizeLinear with `block_size`.
  }];
  let arguments = (ins Octet_StoredTensor:$weights, Optional<Octet_StaticFloatTensor>:$scales,
      Optional<Octet_StaticFloatTensor>:$zero_points, OptionalAttr<DenseI64ArrayAttr>:$block);
  let results = (outs Octet_StaticFloatTensor:$result);
  let assemblyFormat = [{
    $weights (`scales` $scales^)? (`zero_points` $zero_points^)? (`block` $block^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    /// How many elements along dimension `dim` have one scale.
    int64_t getBlockSize(int64_t dim);
  }];
  let hasVerifier = 1;
}

include "octet/Dialect/Octet/DynamicOps.td"

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

def Octet_GroupOp : Octet_Op<"group", [IsolatedFromAbove, SingleBlock, RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a matched pattern, kept as one unit";
  let description = [{
    The region computes the results (one, as a rule) from the operands (one block argument each) and ends with `octet.yield`. `pattern`
    is the matched pattern of the module's backend (`@cpu::@conv_act`); groups created by lowering have none. Types are float
    before lowering; after it operands and result may be quantized: a quantized result means that the yielded real value is
    quantized by [N.epilogue]. The region may hold ops of any dialect. Errors: a symbol that is not an `octet.pattern`; block
    arguments that differ from the operands in number or type; a region that does not yield one value of each result's shape.
    PyTorch: a fused module such as `ConvReLU2d`.
  }];
  let arguments = (ins OptionalAttr<SymbolRefAttr>:$pattern, Variadic<AnyType>:$inputs);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$results, "::mlir::SymbolRefAttr":$pattern, "::mlir::ValueRange":$inputs), [{
    if (pattern)
      $_state.getOrAddProperties<Properties>().pattern = pattern;
    $_state.addOperands(inputs);
    $_state.addTypes(results);
    $_state.addRegion();
  }]>];
  let skipDefaultBuilders = 1;
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Operation *getTerminator() { return getBody().front().getTerminator(); }
    /// The first result; groups that octet-lower takes have no other.
    ::mlir::Value getResult() { return getOperation()->getResult(0); }
    /// The value of the body that is this result.
    ::mlir::Value getYielded() { return getTerminator()->getOperand(0); }
    /// The operand of an argument of the body; any other value unchanged.
    ::mlir::Value getOuter(::mlir::Value inner);
    /// The same, through all enclosing groups.
    static ::mlir::Value lookThrough(::mlir::Value value);
    /// Adds an operand and returns its argument of the body.
    ::mlir::BlockArgument addInput(::mlir::Value value);
    /// Removes the operands whose arguments have no users.
    void dropUnusedInputs();
    /// Moves the body in front of the group and replaces the group's results by the yielded values. The caller erases the
    /// group, which has no users any more.
    void inlineBody();
    /// Copies the body to the builder's insertion point and returns the copy of the yielded value. `mapping` maps every
    /// operand to the value that the copy uses.
    ::mlir::Value cloneBody(::mlir::OpBuilder &builder, ::mlir::IRMapping &mapping);
  }];
}

def Octet_YieldOp : Octet_Op<"yield", [Pure, Terminator, ReturnLike]> {
  let summary = "ends the region of a group or of a pattern";
  let description = [{
    Yields one value: the result of a group, or the root match of an `octet.pattern`. Another number of values is an error of
    the enclosing op.
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

//===----------------------------------------------------------------------===//
// Observers
//===----------------------------------------------------------------------===//

def Octet_StatisticsAttr : ElementsAttrBase<
    CPred<"::octet::isStatistics($_self)">, "a vector of i8, i64, f32 or f64"> {
  let storageType = "::mlir::DenseElementsAttr";
  let returnType = "::mlir::DenseElementsAttr";
  let convertFromStorage = "$_self";
}

def Octet_ObserverOp : Octet_Op<"observer", [Symbol]> {
  let summary = "an observer instance";
  let description = [{
    Values that name the same symbol share the instance and therefore range and quantized type. `statistics` holds the
    observer's state after calibration, a vector of the numbers that it consists of (`docs/statistics.md`): for `min_max` the
    smallest and the largest value, `statistics dense<[-1.0, 2.5]> : tensor<2xf32>`. The same bytes may be written as numbers of
    another type. `octet-convert` refuses another size. PyTorch: an observer module.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Octet_ObserverAttrInterface:$observer, OptionalAttr<Octet_StatisticsAttr>:$statistics);
  let assemblyFormat = "$sym_name $observer (`statistics` $statistics^)? attr-dict";
  let extraClassDeclaration = [{
    /// The state's bytes; empty without statistics.
    ::llvm::SmallVector<char> getState();
    /// Sets the statistics, as numbers of the observer's type.
    void setState(::llvm::ArrayRef<char> state);
  }];
}

def Octet_ObserveOp : Octet_Op<"observe", [DeclareOpInterfaceMethods<SymbolUserOpInterface>, SameOperandsAndResultType]> {
  let summary = "passes a value to an observer";
  let description = [{
    The result is the input, of any shape. Not pure: the observer's state changes. Errors: a symbol that is not an
    `octet.observer`. PyTorch: the call of an observer module.
  }];
  let arguments = (ins Octet_FloatTensor:$input, FlatSymbolRefAttr:$observer);
  let results = (outs Octet_FloatTensor:$result);
  let assemblyFormat = "$input `by` $observer attr-dict `:` type($input)";
  let extraClassDeclaration = [{
    /// The type that statistics are of: that of the input, with sizes of 1 where they are known at run time only.
    ::mlir::RankedTensorType getObservedType();
  }];
}

//===----------------------------------------------------------------------===//
// Backends and QConfig mappings
//===----------------------------------------------------------------------===//

include "octet/Dialect/Octet/BackendOps.td"
include "octet/Dialect/Octet/ChainOps.td"
include "octet/Dialect/Octet/MappingOps.td"

#endif // OCTET_DIALECT_OCTET_OCTETOPS_TD
