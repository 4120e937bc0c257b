//===- NNOps.td - operators of neural networks ----------------*- tablegen -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_DIALECT_NN_NNOPS_TD
#define OCTET_DIALECT_NN_NNOPS_TD

include "octet/Dialect/NN/NNElementwise.td"

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

class NN_Attr<string name, string attrMnemonic> : AttrDef<NN_Dialect, name> { let mnemonic = attrMnemonic; }

def NN_LayoutAttr : NN_Attr<"Layout", "layout"> {
  let summary = "the layout of a rank-4 tensor in memory: NHWC, with channel pitch and border";
  let description = [{
    Encoding of tensor types behind `octet-assign-layout`. Element `(n, c, h, w)` of a tensor of shape `[N, C, H, W]` is at
    `((n * (top + H + bottom) + top + h) * (left + W + right) + left + w) * channels + c`, counted in elements.
    `channels`, the channel pitch, is at least C; the border holds the value of padding (zero, or the channel's zero point).
    `pads` are top, left, bottom, right. A tensor without encoding is dense and row-major. Errors: a pitch below 1; a number
    of pads other than four; a negative pad. Counterpart: PyTorch's `channels_last`, which has no pitch and no border.
  }];
  let parameters = (ins "int64_t":$channels, ArrayRefParameter<"int64_t">:$pads);
  let assemblyFormat = "`<` `nhwc` `,` `channels` `=` $channels `,` `pads` `=` `[` $pads `]` `>`";
  let genVerifyDecl = 1;
}

def NN_ResizeModeAttr : I32EnumAttr<"ResizeMode", "how values between samples are interpolated", [
    I32EnumAttrCase<"nearest", 0>, I32EnumAttrCase<"linear", 1>]> {
  let description = [{
    `nearest` copies one sample, `linear` interpolates between neighbours, first along W and then along H. Source: [N.resize];
    `mode` of ONNX Resize.
  }];
  let cppNamespace = "::octet::nn";
}
def NN_CoordinateModeAttr : I32EnumAttr<"CoordinateMode", "how an output coordinate maps to an input coordinate", [
    I32EnumAttrCase<"half_pixel", 0>, I32EnumAttrCase<"pytorch_half_pixel", 1>, I32EnumAttrCase<"asymmetric", 2>,
    I32EnumAttrCase<"align_corners", 3>]> {
  let description = [{
    With factor f, output coordinate o maps to `(o + 0.5) / f - 0.5` (`half_pixel`; `pytorch_half_pixel` the same, but 0 if
    the output has one element), to `o / f` (`asymmetric`), or to `o * (in - 1) / (out - 1)` (`align_corners`; 0 if the
    output has one element). Source: [N.resize]; `coordinate_transformation_mode` of ONNX Resize.
  }];
  let cppNamespace = "::octet::nn";
}
def NN_NearestModeAttr : I32EnumAttr<"NearestMode", "how a nearest coordinate is rounded", [
    I32EnumAttrCase<"round_prefer_floor", 0>, I32EnumAttrCase<"round_prefer_ceil", 1>, I32EnumAttrCase<"floor", 2>,
    I32EnumAttrCase<"ceil", 3>]> {
  let description = [{
    Down (`floor`), up (`ceil`), or to the nearest integer with halves down (`round_prefer_floor`) or up
    (`round_prefer_ceil`); then clamped to the input. Only used if the mode is `nearest`. Source: [N.resize];
    `nearest_mode` of ONNX Resize.
  }];
  let cppNamespace = "::octet::nn";
}

def NN_CombinationAttr : I32EnumAttr<"Combination", "how two numbers become one", [
    I32EnumAttrCase<"replace", 0>, I32EnumAttrCase<"sum", 1>, I32EnumAttrCase<"product", 2>, I32EnumAttrCase<"max", 3>,
    I32EnumAttrCase<"min", 4>]> {
  let description = [{
    The second number (`replace`), or that of `nn.add`, `nn.mul`, `nn.max` or `nn.min`. Source: `reduction` of ONNX ScatterND.
  }];
  let cppNamespace = "::octet::nn";
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

def NN_ConstantOp : NN_Op<"constant", [ConstantLike]> {
  let summary = "weights and other constant tensors";
  let description = [{
    The value is a `dense_resource` whose key is the source tensor's name (or `dense` for a few elements). Its element
    type is the storage type; the result type has the same shape and either that element type or a quantized type stored as
    it (a constant of `!quant.uniform<i8:f32:0, {...}>` holds `i8` values). Floats of 16 bits are weights for
    `octet.dequantize_weights`, and no other operator reads them. Errors: another shape or storage type; sparse elements;
    a resource without data (readable text omits weights) or of another size. Counterpart: ONNX's initializers and Constant.
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs NN_ConstantTensor:$result);
  let assemblyFormat = "$value attr-dict custom<ConstantType>(type($result), ref($value))";
  let hasFolder = 1;
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Convolution, matrix products
//===----------------------------------------------------------------------===//

class NN_ProductOpMethods<list<string> methods = []>
    : DeclareOpInterfaceMethods<NN_ProductOp, !listconcat(["getNumMultiplyAdds"], methods)>;

def NN_ConvOp : NN_ShapedOp<"conv", [NN_ProductOpMethods<["getInputChannelAxis", "getResultChannelAxis", "isDepthwise"]>]> {
  let summary = "2-D convolution (cross-correlation)";
  let description = [{
    `input` [N, I, H, W], `filter` [O, I / groups, kh, kw], `bias` [O]; result [N, O, H', W'] with
    `H' = (H + top + bottom - dilation * (kh - 1) - 1) / stride + 1`. `pads` are top, left, bottom, right; a padded
    position contributes nothing to the sum (on quantized tensors: it holds the zero point). Depthwise convolution is
    `groups = I`. Errors: input or filter not of rank 4; `groups` that do not divide I and O, or a filter for other than
    I / groups channels; a bias that is not [O]; anything but two positive strides and dilations and four non-negative pads,
    all below 2^31; a window larger than the padded input. Source: [N.conv], [N.accumulate], [N.requantize]; ONNX Conv,
    `torch.nn.functional.conv2d`.
  }];
  let arguments = (ins NN_Tensor:$input, NN_Tensor:$filter, Optional<NN_Tensor>:$bias,
      DefaultValuedAttr<DenseI64ArrayAttr, "{1, 1}">:$strides,
      DefaultValuedAttr<DenseI64ArrayAttr, "{0, 0, 0, 0}">:$pads,
      DefaultValuedAttr<DenseI64ArrayAttr, "{1, 1}">:$dilations,
      DefaultValuedAttr<I64Attr, "1">:$groups);
  let assemblyFormat = [{
    $input `,` $filter (`,` $bias^)? (`strides` $strides^)? (`pads` $pads^)? (`dilations` $dilations^)? (`groups` $groups^)? attr-dict `:` functional-type(operands, results)
  }];
}

def NN_LinearOp : NN_ShapedOp<"linear", [NN_ProductOpMethods<>]> {
  let summary = "fully connected layer";
  let description = [{
    `input` [..., K], `filter` [N, K], `bias` [N]; result [..., N] = input · filterᵀ + bias.
    Errors: a filter not of rank 2; an input whose last dimension is not K; a bias that is not [N].
    Source: [N.linear], [N.accumulate], [N.requantize]; ONNX Gemm/MatMul, `torch.nn.functional.linear`.
  }];
  let arguments = (ins NN_Tensor:$input, NN_Tensor:$filter, Optional<NN_Tensor>:$bias);
  let assemblyFormat = "$input `,` $filter (`,` $bias^)? attr-dict `:` functional-type(operands, results)";
}

def NN_MatmulOp : NN_ShapedOp<"matmul", [NN_ProductOpMethods<["getWeightOperand", "getBiasOperand", "setBias"]>]> {
  let summary = "matrix product of two activations, batched with broadcasting";
  let description = [{
    `lhs` [..., M, K], `rhs` [..., K, N]; result [..., M, N], where the leading dimensions broadcast as in NumPy. Errors: an
    operand of rank 0 or 1; different K; leading dimensions that do not broadcast. Source: [N.matmul]; ONNX MatMul,
    `torch.matmul`.
  }];
  let arguments = (ins NN_Tensor:$lhs, NN_Tensor:$rhs);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
}

//===----------------------------------------------------------------------===//
// Pooling, normalization, reductions
//===----------------------------------------------------------------------===//

class NN_PoolOp<string mnemonic> : NN_ShapedOp<mnemonic> {
  dag poolArguments = (ins NN_Tensor:$input, DenseI64ArrayAttr:$kernel,
      DefaultValuedAttr<DenseI64ArrayAttr, "{1, 1}">:$strides,
      DefaultValuedAttr<DenseI64ArrayAttr, "{0, 0, 0, 0}">:$pads,
      DefaultValuedAttr<DenseI64ArrayAttr, "{1, 1}">:$dilations);
}

def NN_MaxPoolOp : NN_PoolOp<"max_pool"> {
  let summary = "2-D maximum pooling";
  let description = [{
    `input` [N, C, H, W]; window `kernel` [kh, kw]; `pads` top, left, bottom, right (padding is ignored); result
    [N, C, H', W'] as of `nn.conv`. Ceil mode is expressed by larger bottom and right pads. Errors: an input not of rank 4;
    anything but two positive kernel sizes, strides and dilations and four pads >= 0, all below 2^31; a window larger than the
    padded input.
    Source: [N.max_pool]; ONNX MaxPool, `torch.nn.functional.max_pool2d`.
  }];
  let arguments = poolArguments;
  let assemblyFormat = "$input `kernel` $kernel (`strides` $strides^)? (`pads` $pads^)? (`dilations` $dilations^)? attr-dict `:` functional-type(operands, results)";
}

def NN_AvgPoolOp : NN_PoolOp<"avg_pool"> {
  let summary = "2-D average pooling";
  let description = [{
    Like `nn.max_pool`, with the mean of the window; the same errors. The divisor is the number of elements inside the input,
    or the window's size if `count_include_pad` is set. Source: [N.mean], [N.avg_pool]; ONNX AveragePool,
    GlobalAveragePool, `torch.nn.functional.avg_pool2d`.
  }];
  let arguments = !con(poolArguments, (ins UnitAttr:$count_include_pad));
  let assemblyFormat = "$input `kernel` $kernel (`strides` $strides^)? (`pads` $pads^)? (`dilations` $dilations^)? (`count_include_pad` $count_include_pad^)? attr-dict `:` functional-type(operands, results)";
}

def NN_BatchNormOp : NN_ShapedOp<"batch_norm"> {
  let summary = "batch normalization with running statistics";
  let description = [{
    `input` [N, C, ...]; `scale`, `bias`, `mean`, `variance` [C]; the result has the input's shape. Errors: an input of rank
    0 or 1; a parameter that is not [C]. Code generation needs constant parameters and `octet-expand-batch-norm`.
    Source: [N.batch_norm]; Ioffe and Szegedy, "Batch Normalization", 2015; ONNX BatchNormalization, `torch.nn.functional.batch_norm`.
  }];
  let arguments = (ins NN_Tensor:$input, NN_Tensor:$scale, NN_Tensor:$bias, NN_Tensor:$mean, NN_Tensor:$variance,
      DefaultValuedAttr<F32Attr, "1.0e-5f">:$epsilon);
  let assemblyFormat = "$input `,` $scale `,` $bias `,` $mean `,` $variance (`epsilon` $epsilon^)? attr-dict `:` functional-type(operands, results)";
}

/// `source`: ONNX operator, PyTorch function.
class NN_ReductionOp<string mnemonic, string sum, string source> : NN_ShapedOp<mnemonic> {
  let summary = sum # " over axes";
  let description = "The " # sum # " over `axes` (non-negative, ascending), which are kept with size 1 (`keep_dims`) or removed. "
      # "Errors: axes out of order, named twice or outside the input's rank. Source: [N.reduce]; " # source # ".";
  let arguments = (ins NN_Tensor:$input, DenseI64ArrayAttr:$axes, UnitAttr:$keep_dims);
  let assemblyFormat = "$input `axes` $axes (`keep_dims` $keep_dims^)? attr-dict `:` functional-type(operands, results)";
  let extraClassDefinition = [{
    ::llvm::FailureOr<::llvm::SmallVector<int64_t>> $cppClass::inferResultShape() {
      return inferReducedShape(*this, getInput().getType().getShape(), getAxes(), getKeepDims());
    }
  }];
}
def NN_ReduceMeanOp : NN_ReductionOp<"reduce_mean", "mean",
    "over H and W of quantized tensors [N.avg_pool]; ONNX ReduceMean, `torch.mean`">;
def NN_ReduceSumOp : NN_ReductionOp<"reduce_sum", "sum", "ONNX ReduceSum, `torch.sum`">;
def NN_ReduceMaxOp : NN_ReductionOp<"reduce_max", "largest element", "ONNX ReduceMax, `torch.amax`">;
def NN_ReduceMinOp : NN_ReductionOp<"reduce_min", "least element", "ONNX ReduceMin, `torch.amin`">;
def NN_ReduceProdOp : NN_ReductionOp<"reduce_prod", "product", "ONNX ReduceProd, `torch.prod`">;

def NN_ReduceOp : NN_ShapedOp<"reduce", [NN_OfIntegers]> {
  let summary = "integers combined over axes";
  let description = [{
    Combines the elements over `axes` as `nn.reduce_sum` does, with the same errors; `replace`, which combines nothing, is an
    error, too. Source: [N.integer]; ONNX
    ReduceSum, ReduceProd, ReduceMax, ReduceMin; `torch.sum`, `torch.amax`.
  }];
  let arguments = (ins NN_Tensor:$input, NN_CombinationAttr:$combination, DenseI64ArrayAttr:$axes, UnitAttr:$keep_dims);
  let assemblyFormat = "$input $combination `axes` $axes (`keep_dims` $keep_dims^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def NN_CumulativeSumOp : NN_ShapedOp<"cumulative_sum", [NN_OfOneKind]> {
  let summary = "running sums along one axis";
  let description = [{
    Element i along `axis` is the sum of the elements up to i, or before it (`exclusive`). Errors: an axis outside the rank.
    Source: [N.cumulative_sum]; ONNX CumSum, `torch.cumsum`.
  }];
  let arguments = (ins NN_Tensor:$input, I64Attr:$axis, UnitAttr:$exclusive);
  let assemblyFormat = "$input `axis` $axis (`exclusive` $exclusive^)? attr-dict `:` functional-type(operands, results)";
}

def NN_TopKOp : NN_ShapedOp<"top_k"> {
  let summary = "positions of the largest numbers of each row";
  let description = [{
    For each row, which is along the last dimension, the positions of its `k` largest numbers (with `smallest`: the least ones) in
    that order; equal numbers are in the order of the row. Errors: a scalar; a k that is not from 1 to the size of a row. Source: [N.top_k]; ONNX TopK,
    ArgMax, ArgMin; `torch.topk`.
  }];
  let arguments = (ins NN_Tensor:$input, I64Attr:$k, UnitAttr:$smallest);
  let results = (outs NN_IndexTensor:$result);
  let assemblyFormat = "$input `k` $k (`smallest` $smallest^)? attr-dict `:` functional-type(operands, results)";
}

def NN_SoftmaxOp : NN_ShapedOp<"softmax"> {
  let summary = "softmax along one axis";
  let description = [{
    The input may have any shape, which is also the result's; `axis` is non-negative. Errors: an axis outside the rank.
    Source: [N.softmax]; ONNX Softmax (as of opset 13; import adds reshapes for earlier ones), `torch.nn.functional.softmax`.
  }];
  let arguments = (ins NN_Tensor:$input, I64Attr:$axis);
  let assemblyFormat = "$input `axis` $axis attr-dict `:` functional-type(operands, results)";
}

//===----------------------------------------------------------------------===//
// Data movement
//===----------------------------------------------------------------------===//

def NN_ConcatOp : NN_ShapedOp<"concat", [NN_DataMovement]> {
  let summary = "concatenation along one axis";
  let description = [{
    Inputs agree in all dimensions but `axis` (non-negative); the result's size there is the sum of theirs. Errors: no input;
    an axis outside the rank; inputs that differ in another dimension. Source: [N.concat]; ONNX Concat, `torch.cat`.
  }];
  let arguments = (ins Variadic<NN_Tensor>:$inputs, I64Attr:$axis);
  let assemblyFormat = "$inputs `axis` $axis attr-dict `:` functional-type(operands, results)";
}
def NN_PadOp : NN_ShapedOp<"pad", [NN_DataMovement, DeclareOpInterfaceMethods<NN_Fill>]> {
  let summary = "constant padding";
  let description = [{
    `low[i]` elements before and `high[i]` after those of dimension i, filled with the real number `value`. Errors: not one
    pad per dimension on each side; a pad that is negative or not below 2^31. Source: [N.concat]; ONNX Pad with mode constant,
    `torch.nn.functional.pad`.
  }];
  let arguments = (ins NN_Tensor:$input, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high, DefaultValuedAttr<F32Attr, "0.0f">:$value);
  let assemblyFormat = "$input `low` $low `high` $high (`value` $value^)? attr-dict `:` functional-type(operands, results)";
}
def NN_SliceOp : NN_ShapedOp<"slice", [NN_DataMovement]> {
  let summary = "strided slice";
  let description = [{
    Element i of dimension d is element `starts[d] + i * steps[d]` of the input; `sizes` is the result's shape; steps may be
    negative. Errors: not one start, size and step per dimension; a step of 0, a negative size, or an element outside the
    input. Source: [N.concat]; ONNX Slice, Split; Python's slices.
  }];
  let arguments = (ins NN_Tensor:$input, DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$sizes, DenseI64ArrayAttr:$steps);
  let assemblyFormat = "$input `starts` $starts `sizes` $sizes `steps` $steps attr-dict `:` functional-type(operands, results)";
}
def NN_ReshapeOp : NN_Op<"reshape", [NN_DataMovement]> {
  let summary = "new shape, same elements in row-major order";
  let description = [{
    Input and result may have any shapes with the same number of elements; another number is an error. Source: [N.concat];
    ONNX Reshape, Flatten, Squeeze, Unsqueeze, `torch.reshape`.
  }];
  let arguments = (ins NN_Tensor:$input);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
def NN_TransposeOp : NN_ShapedOp<"transpose", [NN_DataMovement]> {
  let summary = "permutation of dimensions";
  let description = [{
    Dimension i of the result is dimension `permutation[i]` of the input. Errors: not a permutation of the input's
    dimensions. Source: [N.concat]; ONNX Transpose, `torch.permute`.
  }];
  let arguments = (ins NN_Tensor:$input, DenseI64ArrayAttr:$permutation);
  let assemblyFormat = "$input `permutation` $permutation attr-dict `:` functional-type(operands, results)";
}
def NN_GatherOp : NN_ShapedOp<"gather"> {
  let summary = "elements at positions that are computed";
  let description = [{
    Along `axis` (non-negative), the elements of `data` at `indices`, whose dimensions stand in the result in place of that one.
    An index below 0 counts from the end. An index outside of the tensor ends the run with an error, and no memory outside is read.
    Errors: an axis outside the rank. Source: [N.gather]; ONNX Gather, `torch.nn.functional.embedding`.
  }];
  let arguments = (ins NN_Tensor:$data, NN_IndexTensor:$indices, I64Attr:$axis);
  let assemblyFormat = "$data `,` $indices `axis` $axis attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def NN_ScatterOp : NN_ShapedOp<"scatter"> {
  let summary = "elements put to positions that are computed";
  let description = [{
    `data` [N, ...] with rows of `updates` [M, ...] put to `indices` [M] of its first dimension, one after the other: in place of
    what is there (`replace`), or combined with it. Indices are those of `nn.gather`. Errors: data of rank 0; indices not of
    rank 1; updates that are not [M, ...]. Source: [N.gather]; ONNX ScatterND, ScatterElements; `torch.Tensor.scatter_reduce`.
  }];
  let arguments = (ins NN_Tensor:$data, NN_IndexTensor:$indices, NN_Tensor:$updates, NN_CombinationAttr:$combination);
  let assemblyFormat = "$data `,` $indices `,` $updates $combination attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def NN_ResizeOp : NN_ShapedOp<"resize"> {
  let summary = "spatial resampling";
  let description = [{
    `input` [N, C, H, W] to `size` [H', W'] with the factors `scales` [H'/H, W'/W as the source gave them]; result
    [N, C, H', W']. `mode` is the interpolation; `coordinates` and `nearest` give the input coordinate. Errors: an input not
    of rank 4; anything but two positive sizes and two positive scales. Source: [N.resize]; ONNX Resize, Upsample;
    `torch.nn.functional.interpolate`.
  }];
  let arguments = (ins NN_Tensor:$input, DenseI64ArrayAttr:$size, DenseF32ArrayAttr:$scales,
      NN_ResizeModeAttr:$mode, NN_CoordinateModeAttr:$coordinates, NN_NearestModeAttr:$nearest);
  let assemblyFormat = "$input `size` $size `scales` $scales $mode $coordinates $nearest attr-dict `:` functional-type(operands, results)";
}
def NN_RelayoutOp : NN_Op<"relayout", [NN_DataMovement]> {
  let summary = "the same tensor in another layout";
  let description = [{
    Input and result types differ only in their encoding (`#nn.layout`); another shape or element type is an error. Inserted
    by `octet-assign-layout`. Counterpart: `torch.Tensor.contiguous` with a memory format.
  }];
  let arguments = (ins NN_Tensor:$input);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // OCTET_DIALECT_NN_NNOPS_TD
