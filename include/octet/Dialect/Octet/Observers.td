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

class Octet_Observer<string name, string observerMnemonic, list<string> defaults = []>
    : AttrDef<Octet_Dialect, name, [DeclareAttrInterfaceMethods<Octet_ObserverAttrInterface, defaults>]> {
  let mnemonic = observerMnemonic;
}

def Octet_Scheme : I32EnumAttr<"Scheme", "where zero lies in the quantized range", [
  I32EnumAttrCase<"affine", 0>,
  I32EnumAttrCase<"symmetric", 1>,
  I32EnumAttrCase<"affine_float_qparams", 2>
]> {
  let description = [{
    Where the observed range puts it (`affine`), in the middle (`symmetric`: 0, for `ui8` 128 or the middle of a given
    range), or where the observed range puts it without rounding (`affine_float_qparams`, for weights that are read in their
    bits and computed with as floats). Source: [N.qparams]; PyTorch: `torch.per_tensor_affine`, `torch.per_tensor_symmetric`
    and their counterparts per channel, `torch.per_channel_affine_float_qparams`.
  }];
  let cppNamespace = "::octet";
  let genSpecializedAttr = 0;
}

/// Of an observer whose state are ranges.
defvar floatState = [{
  ::mlir::Type getStateElementType() const { return ::mlir::Float32Type::get(getContext()); }
}];

/// An observer that derives scale and zero point from a range of real values.
class Octet_RangeObserver<string name, string observerMnemonic, dag more = (ins), list<string> defaults = []>
    : Octet_Observer<name, observerMnemonic, defaults> {
  code rangeDescription = [{

    `dtype` is the storage type with its sign (`ui8`, `si8`). The range [min, max] is widened to include 0, then
    - `scheme = affine`: scale = max((max - min) / (qmax - qmin), eps), zero point = clamp(qmin - rne(min / scale), qmin, qmax);
    - `scheme = symmetric`: scale = max(max(-min, max) / ((qmax - qmin) / 2), eps), zero point 0; for `ui8` 128, or the middle
      of a given range.

    `scheme = affine_float_qparams` does not widen the range: scale = (max - min) / (qmax - qmin), or 1 if that is not above
    eps; zero point = -min / scale, a real number. `min_max` and the observers per channel have it, of weights only.

    All in f32 [N.qparams]. `range = [qmin, qmax]` sets scale and zero point only: the storage bounds of the type stay those
    of `dtype`, which is the default range. `reduce_range = true` halves both bounds of a given range, rounded down, or
    those of `ui8` and `si8`. `eps` is 2^-23 unless given.

    Errors: a dtype without a sign, or of fewer than 2 or more than 32 bits; an eps that is not a positive f32; a range that does
    not include 0 and another number, or exceeds that of the dtype; `reduce_range` with a symmetric `ui8`, or where it leaves
    one number; `affine_float_qparams` of another observer. Errors of `octet-convert`: no value or a NaN was seen; the scale is not finite.
  }];
  let parameters = !con((ins "::mlir::IntegerType":$dtype,
    DefaultValuedParameter<"::octet::Scheme", "::octet::Scheme::affine">:$scheme,
    OptionalParameter<"::mlir::DenseI64ArrayAttr">:$range,
    OptionalParameter<"::mlir::FloatAttr">:$eps,
    DefaultValuedParameter<"bool", "false">:$reduce_range), more);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

/// Those that may have real zero points.
class Octet_FloatRangeObserver<string name, string observerMnemonic, dag more = (ins)>
    : Octet_RangeObserver<name, observerMnemonic, more, ["getFloatQParams"]>;

def Octet_MinMaxObserver : Octet_FloatRangeObserver<"MinMaxObserver", "min_max"> {
  let summary = "the smallest and the largest value";
  let description = [{
    One range for the whole tensor; merging takes the union. Source: [N.stat.min_max]; PyTorch: `MinMaxObserver`.
  }] # rangeDescription;
  let extraClassDeclaration = floatState;
}

def Octet_MovingAverageMinMaxObserver : Octet_RangeObserver<"MovingAverageMinMaxObserver", "moving_average_min_max",
    (ins OptionalParameter<"::mlir::FloatAttr">:$constant)> {
  let summary = "moving averages of the smallest and the largest value";
  let description = [{
    Each run moves the range by `constant` (0.01 unless given) of the way towards the run's own; the first run sets it. The
    result depends on the order of the samples by definition, so statistics do not merge. A constant must be above 0 and at
    most 1. Source: [N.stat.moving_average]; PyTorch: `MovingAverageMinMaxObserver`.
  }] # rangeDescription;
  let extraClassDeclaration = floatState;
}

def Octet_PerChannelMinMaxObserver : Octet_FloatRangeObserver<"PerChannelMinMaxObserver", "per_channel_min_max",
    (ins DefaultValuedParameter<"int64_t", "0">:$axis)> {
  let summary = "the smallest and the largest value of every channel";
  let description = [{
    One range per index of dimension `axis`, which is not negative; a tensor without that dimension is an error. Source:
    [N.stat.min_max]; PyTorch: `PerChannelMinMaxObserver`.
  }] # rangeDescription;
  let extraClassDeclaration = floatState;
}

def Octet_ColumnMinMaxObserver : Octet_RangeObserver<"ColumnMinMaxObserver", "column_min_max"> {
  let summary = "the smallest and the largest value of every column, for one scale";
  let description = [{
    The scale is that of `min_max`; the statistics are one range per index of the last dimension, which tell octet-split-outliers
    the columns that are far wider than the others, the number of rows, and how large they are, which tells octet-scale-each-run where one scale is too coarse. As `column_activation` of a QConfig it observes the values whose columns may
    be split. Source: [N.stat.min_max], [N.stat.power]; PyTorch: no counterpart.
  }] # rangeDescription;
  let extraClassDeclaration = [{
    /// The smallest and the largest value of each column.
    ::llvm::SmallVector<std::pair<float, float>, 0> getColumns(::llvm::ArrayRef<char> state) const;
    /// The number of rows seen, of all runs.
    int64_t getNumRows(::llvm::ArrayRef<char> state) const;
    /// `min_max` with the same parameters.
    ::octet::ObserverAttrInterface getPlain() const;
  }];
}

def Octet_ChannelMinMaxObserver : Octet_RangeObserver<"ChannelMinMaxObserver", "channel_min_max",
    (ins DefaultValuedParameter<"int64_t", "0">:$axis)> {
  let summary = "the smallest and the largest value of every channel, and room for what few numbers have not shown";
  let description = [{
    `#octet.per_channel_min_max`, whose ranges are widened where fewer than 100000 numbers of each channel were seen: small images and few samples show
    a small part of what is to come. Source: [N.stat.room]; PyTorch: no counterpart.
  }] # rangeDescription;
}

def Octet_MovingAveragePerChannelMinMaxObserver
    : Octet_FloatRangeObserver<"MovingAveragePerChannelMinMaxObserver", "moving_average_per_channel_min_max",
      (ins DefaultValuedParameter<"int64_t", "0">:$axis, OptionalParameter<"::mlir::FloatAttr">:$constant)> {
  let summary = "moving averages of the smallest and the largest value of every channel";
  let description = [{
    `#octet.moving_average_min_max` for each index of dimension `axis`, as `#octet.per_channel_min_max` names it. Statistics
    do not merge. Source: [N.stat.moving_average]; PyTorch: `MovingAveragePerChannelMinMaxObserver`.
  }] # rangeDescription;
  let extraClassDeclaration = floatState;
}

def Octet_HistogramObserver : Octet_RangeObserver<"HistogramObserver", "histogram",
    (ins DefaultValuedParameter<"int64_t", "2048">:$bins)> {
  let summary = "the range with the least squared error";
  let description = [{
    Counts values in bins that are anchored at zero and whose width is a power of two: the smallest that lets 4096 bins
    reach the largest magnitude seen. Widening adds pairs of bins, so the statistics are exact counts and do not depend
    on order. The range is found by a search for the least squared error, on `bins` bins over [min, max], with 256
    quantized values. Infinite values are ignored. `bins` is 1 to 4096. Source: [N.stat.histogram],
    [N.stat.range_search]; PyTorch: `HistogramObserver`, whose own bins depend on the order of the data: scales agree
    within 2 %.
  }] # rangeDescription;
}

def Octet_PercentileObserver : Octet_RangeObserver<"PercentileObserver", "percentile",
    (ins OptionalParameter<"::mlir::FloatAttr">:$percentile)> {
  let summary = "the range that holds so many per cent of the values";
  let description = [{
    The statistics of `#octet.histogram`. `percentile` per cent of the finite values (99.99 unless given) lie in the range,
    and half of the others on either side; whole bins only. Errors: a percentile that is not above 0 and at most 100.
    Source: [N.stat.histogram], [N.stat.percentile]; PyTorch: no counterpart.
  }] # rangeDescription;
}

def Octet_EntropyObserver : Octet_RangeObserver<"EntropyObserver", "entropy"> {
  let summary = "the range with the least loss of information";
  let description = [{
    The statistics of `#octet.histogram`. Values of a magnitude above a threshold saturate; the threshold is that with the
    least Kullback-Leibler divergence of the values quantized to 128 magnitudes from the values seen. Source:
    [N.stat.histogram], [N.stat.entropy]; PyTorch: no counterpart.
  }] # rangeDescription;
}

def Octet_MeanSquaredErrorObserver : Octet_RangeObserver<"MeanSquaredErrorObserver", "mean_squared_error",
    (ins OptionalParameter<"std::optional<int64_t>">:$axis)> {
  let summary = "the part of the range with the least expected squared error";
  let description = [{
    Counts as `#octet.histogram` does, with `axis` in 256 bins of either sign for every index of that dimension. Of parts of
    both ends of the range seen, in steps of 1/128, those with the least expected error are searched, each error with the
    scale and zero point that the parts lead to; squared errors of values outside count four times, since they have one
    direction. Errors: a negative axis; a tensor without that dimension. Source: [N.stat.histogram], [N.stat.squared_error];
    PyTorch: no counterpart.
  }] # rangeDescription;
}

def Octet_ChannelSumObserver : Octet_Observer<"ChannelSumObserver", "channel_sum"> {
  let summary = "the sum of every channel";
  let description = [{
    Sums in f64: of each run in a fixed order, and then of the runs, whose order may show in the last bits; `measureBoth` adds
    them in an order of its own, so that biases do not depend on it. With `clamp = [low, high]` it sums the elements clamped to these bounds,
    and counts how many of every channel lie between them. The observer is for measurement and gives no quantized
    type: `octet-convert` refuses it. Errors: a negative axis; bounds that are not two numbers in ascending order. Source: [N.stat.sum].
  }];
  let genVerifyDecl = 1;
  let parameters = (ins DefaultValuedParameter<"int64_t", "1">:$axis, OptionalParameter<"::mlir::DenseF32ArrayAttr">:$clamp);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Octet_ChannelValuesObserver : Octet_Observer<"ChannelValuesObserver", "channel_values"> {
  let summary = "some values of every channel in the last run";
  let description = [{
    At most `count` values per index of dimension `axis`, at positions that depend on the shape alone. A run replaces those of
    the one before it, so values do not merge. The observer is for measurements (`octet-correct-bias`) and gives no quantized
    type: `octet-convert` refuses it. Errors: a negative `axis`; a `count` below 1. Source: [N.stat.values].
  }];
  let genVerifyDecl = 1;
  let parameters = (ins DefaultValuedParameter<"int64_t", "1">:$axis, DefaultValuedParameter<"int64_t", "64">:$count);
  let extraClassDeclaration = [{
    /// The number of values that are kept of each channel.
    int64_t getNumPerChannel(::mlir::RankedTensorType observed) const;
  }];
  let assemblyFormat = "`<` struct(params) `>`";
}

def Octet_FixedQParamsObserver : Octet_Observer<"FixedQParamsObserver", "fixed_qparams"> {
  let summary = "constant scale and zero point, independent of the data";
  let description = [{
    For results whose range is known, such as a sigmoid's (1/256, 0). Errors: a `dtype` without a sign; a `scale` that is not
    a positive finite f32; a `zero_point` outside `dtype`. PyTorch: `FixedQParamsObserver`.
  }];
  let genVerifyDecl = 1;
  let parameters = (ins "::mlir::IntegerType":$dtype, "::mlir::FloatAttr":$scale, "int64_t":$zeroPoint);
  let assemblyFormat = "`<` $dtype `,` `scale` `=` $scale `,` `zero_point` `=` $zeroPoint `>`";
}

def Octet_PlaceholderObserver : Octet_Observer<"PlaceholderObserver", "placeholder"> {
  let summary = "no statistics: the values stay floats, or are quantized by what each run sees";
  let description = [{
    Says that a value is not quantized ahead of time. A weight with `#octet.placeholder<dtype = f32>` stays float where the
    backend's data types have that type for the weight; with `f16` or `bf16` it is rounded to that type. Activations stay
    float where the data types have a float type for them, as those of weight-only units do; else the QConfig keeps its
    operator float (OCT212).

    With `dynamic = true` and an integer `dtype`, scale and zero point are chosen in each run: for the whole tensor, or with
    `per_row = true` for each row, the elements along the last dimension. `range` and `reduce_range` are those of
    `#octet.min_max`. Only the weighted activation of an operator is quantized, and its result is float.

    Errors: an integer `dtype` without `dynamic`; a `range`, `reduce_range` or `per_row` beside a float `dtype`; those of the
    parameters of `#octet.min_max`. Source: [N.choose_qparams]; PyTorch: `PlaceholderObserver` and `NoopObserver`.
  }];
  let genVerifyDecl = 1;
  let parameters = (ins "::mlir::Type":$dtype, DefaultValuedParameter<"bool", "false">:$dynamic,
    OptionalParameter<"::mlir::DenseI64ArrayAttr">:$range, DefaultValuedParameter<"bool", "false">:$reduce_range,
    DefaultValuedParameter<"bool", "false">:$per_row);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Octet_ReuseInputObserver : Octet_Observer<"ReuseInputObserver", "reuse_input"> {
  let summary = "the result shares the observer of the inputs";
  let description = [{
    As the `activation` of a QConfig it makes an operator without weights share the observer of its inputs with its result,
    as the backend's `observation = shared` does for every QConfig. If the inputs have no observer, the operator stays float
    (OCT213). PyTorch: `ReuseInputObserver`.
  }];
}

def Octet_RecordingObserver : Octet_Observer<"RecordingObserver", "recording"> {
  let summary = "the values of the first runs";
  let description = [{
    Statistics: the number of runs (64 bits), then the row-major values of the first `runs` of them (1 unless given); merging
    appends. Which runs are the first depends on the order of the samples by definition. The observer is for measurements
    and gives no quantized type: `octet-convert` refuses it. Errors: a number of runs outside of 1 to 65536. PyTorch:
    `RecordingObserver`.
  }];
  let genVerifyDecl = 1;
  let parameters = (ins DefaultValuedParameter<"int64_t", "1">:$runs);
  let assemblyFormat = "(`<` struct(params)^ `>`)?";
}

#endif // OCTET_DIALECT_OCTET_OBSERVERS_TD
