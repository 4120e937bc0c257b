//===- Passes.td - passes from the float network to the reference model -*- tablegen -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_QUANTIZE_PASSES_TD
#define OCTET_QUANTIZE_PASSES_TD

include "mlir/Pass/PassBase.td"

class Octet_QuantizePass<string name, string base> : Pass<name, base> {
  let dependentDialects = ["::octet::OctetDialect", "::octet::nn::NNDialect", "::mlir::quant::QuantDialect"];
}

defvar outputsOption = Option<"quantizedOutputs", "quantized-outputs", "bool", "false",
    "quantize arguments and results of functions where possible, not only those that the QConfig mapping names">;

def AttachPolicyPass : Octet_QuantizePass<"octet-attach-policy", "::mlir::ModuleOp"> {
  let summary = "put backend and QConfig mapping into the module";
  let description = [{
    Reads an `octet.backend` and an `octet.qconfig_mapping` from text and puts them behind the network, where `octet-fuse`,
    `octet-prepare`, `octet-explain`, `octet-convert` and `octet-correct-bias` read them. They stay until code generation. A
    module that already has a policy keeps it. Inclusions are resolved, and chains of the backend become patterns and folds.

    Errors: a file that cannot be read, does not hold exactly one backend or mapping, or names an operator that its dialect
    does not have; a policy other than the module's; a symbol of the module that has the policy's name.
  }];
  let options = [
    Option<"backend", "backend", "std::string", "\"\"", "a built-in backend or a file; empty: the module's, or cpu">,
    Option<"qconfigMapping", "qconfig-mapping", "std::string", "\"\"",
      "a built-in QConfig mapping or a file; empty: the module's, or the backend's own">
  ];
}

def ToFakeQuantizePass : Octet_QuantizePass<"octet-to-fake-quantize", "::mlir::ModuleOp"> {
  let summary = "turn the quantize and dequantize pairs of a trained network into fake-quantize";
  let description = [{
    Before `octet-fuse`, for a network whose file quantizes a part of its values and that calibration is to complete:

    - `octet.dequantize` of `octet.quantize` becomes `octet.fake_quantize` of that type.
    - Dequantized constants become constants of f32, with `octet.fake_quantize` behind them if their integers have 8 bits.
      Weights with a zero point become signed integers without, if their distances from it fit ([N.centered]).

    - What is quantized in each run, of which a file has no range, is real numbers again; sums of integers that are multiplied by such a scale are products of real numbers.

    Patterns then match between the values that have a range, `octet-prepare` keeps these ranges and gives the other values observers.
    Errors: a quantized value that is not between a quantize and a dequantize, such as an argument in integers; an activation with a scale
    per channel. Source: [N.fake_quantize]; PyTorch: `prepare_qat_fx` and training have come before.
  }];
  let statistics = [
    Statistic<"numValues", "num-values", "values with a trained range">,
    Statistic<"numConstants", "num-constants", "dequantized constants">,
    Statistic<"numDynamic", "num-dynamic", "values that were quantized in each run">
  ];
}

def FusePass : Octet_QuantizePass<"octet-fuse", "::mlir::ModuleOp"> {
  let summary = "fold affine operators into weights, wrap matched patterns into groups";
  let description = [{
    First every `octet.fold` of the backend is applied until none matches: batch norm, and constant scales and shifts
    behind a convolution or linear layer, are folded into its weight and bias ([N.batch_norm], in f64, rounded once). Then
    operators are visited in reverse order. The longest pattern of more than one operator that ends at the visited operator
    and does not overlap an earlier match becomes one `octet.group`, with the origin of its weighted operator. Operators that the backend
    keeps float by structure (`octet.float_norms`, `octet.float_states` in a recurrence) bring no operands of their own into a group. A module
    without `octet.backend` is an error, as in all passes that read it. PyTorch: `fuse_fx`.
  }];
  let statistics = [
    Statistic<"numFolded", "num-folded", "affine operators folded into weights">,
    Statistic<"numFused", "num-fused", "groups made">
  ];
}

def PreparePass : Octet_QuantizePass<"octet-prepare", "::mlir::ModuleOp"> {
  let summary = "insert the observers that the QConfig mapping and the backend ask for";
  let description = [{
    Every value that a quantized unit reads or writes gets an `octet.observe`; values that the backend lets share a
    scale name one `octet.observer`. A unit that asks for integers of another type than its input's producer, or for another
    kind of observer than the first reader of a float value, gets a second one of its own, in front of it alone; other
    settings than the first one's are ignored. What computes a value that a unit reads in other bits, 16 and not 8, writes floats, if its pattern lets it. A slice of channels does not share that of its operand if this may have one scale per
    channel, nor that of a concatenation if others read the slice, too. Constant weights are observed, too. Values and weights with
    an `octet.fake_quantize` keep its type, in the sign that the units around them ask for [N.signed], and have no observer; units read them through it. A remark with a stable code (`OCT...`) says of each
    operator that stays float why it does. The decision is stored as `octet.decision`; `octet-explain` prints all decisions
    as a table.

    With `strict`, every operator whose QConfig is ignored is an error: no pattern of the backend matches it, or none with
    this QConfig. Operators that the backend keeps float on purpose (`octet.float`, and results that no quantized operator
    reads) or whose QConfig is `none` are not errors. A program that already has observers or quantized values is an error.
    PyTorch: `prepare_fx`.
  }];
  let options = [
    Option<"strict", "strict", "bool", "false", "an operator whose QConfig is ignored is an error">,
    outputsOption];
  let statistics = [
    Statistic<"numQuantized", "num-quantized", "units that will run quantized">,
    Statistic<"numFloat", "num-float", "operators that stay float">,
    Statistic<"numObservers", "num-observers", "observers of activations">,
    Statistic<"numPerChannel", "num-per-channel", "activations with one scale per channel">,
    Statistic<"numSecond", "num-second", "further observers of values that have one, for some of their readers">
  ];
}

def PrepareAttentionPass : Octet_QuantizePass<"octet-prepare-attention", "::mlir::ModuleOp"> {
  let summary = "bring products of two activations into a form that 8 bits hold well";
  let description = [{
    Before `octet-prepare`. A positive number by which an operand of a product of two activations is multiplied comes behind the
    product, so that what moves in front of it are bytes.

    8 bits with one scale hold the weights of attention badly: rows of many nearly equal weights have few
    steps. softmax(x) · v becomes (e · v) / sum(e) with e = exp(x - max(x)), whose largest number in every row is 1. It concerns a
    softmax over the last dimension whose only reader multiplies it with another activation. Zeros in place of NaN, as of rows that are
    masked altogether, are then put behind the division. Where the backend keeps such products float
    (`octet.float_products`) nothing changes. Errors: none. Source: [N.softmax],
    [N.reduce], [N.exp]; PyTorch: no counterpart.
  }];
  let statistics = [
    Statistic<"numDeferred", "num-deferred", "divisions that moved behind a product">
  ];
}

// Which columns octet-split-outliers splits; octet-scale-each-run leaves them out.
defvar fewColumns = "0.04";
defvar gainOfSplits = "0.65";

def SplitOutliersPass : Octet_QuantizePass<"octet-split-outliers", "::mlir::ModuleOp"> {
  let summary = "give the overflow of a few wide columns columns of their own";
  let description = [{
    Between `octet-calibrate` and `octet-convert`. A linear layer multiplies columns of its input with columns of its weights.
    Where a few columns reach far beyond the others, one scale for all leaves the others few steps. The input's range becomes the
    smallest [low, high] for which the part of every column beyond it fits into further columns of that range, whose weights are
    copies: x = clip(x) + clip(x - high) + clip(x - 2 high) + ..., and the same below. Nothing that calibration saw is lost, and
    weights keep their values.

    A value whose range would not become smaller than `gain` times the old one gets no further columns. If calibration saw as many `rows` of it, its range
    becomes that for which `columns` times as many would do, but neither end smaller than `kept` times the old one: what reaches beyond, in a few columns,
    is clipped. A row that is large in all columns is not. A value of a single row, of which calibration saw fewer than `numbers` numbers, gets
    room instead: both ends times √(ln numbers / ln seen), as the largest of normally distributed numbers grow with their count.

    The rest concerns values of several rows with statistics of columns (`column_min_max`). There are at most `columns` times as many further columns as
    columns, or as many again where they add no more than `cost` times the network's weights and its multiply-adds with weights, rounded up
    to a multiple of 4, which is what kernels read at once. The buckets of a network, which share their weights, are split alike: neither rows nor
    multiply-adds count there. Values whose layers share weights get the same further columns, and the layers go on sharing them. Errors: none. Source: [N.split]; Zhao and others, "Improving Neural Network
    Quantization without Retraining using Outlier Channel Splitting", 2019, which halves instead; PyTorch: no counterpart.
  }];
  let options = [
    Option<"columns", "columns", "double", fewColumns, "further columns, as a part of those that there are">,
    Option<"cost", "cost", "double", "0.002", "further columns of a small layer, as a part of the network's weights and multiply-adds">,
    Option<"gain", "gain", "double", gainOfSplits, "largest part of the range that is worth further columns">,
    Option<"rows", "rows", "int64_t", "1024", "rows from which on the ends of columns are known well enough to clip">,
    Option<"kept", "kept", "double", "0.8", "smallest part of an end of the range that is left without further columns">,
    Option<"numbers", "numbers", "int64_t", "100000", "numbers of a single row in all samples from which on its range is known well enough">
  ];
  let statistics = [
    Statistic<"numSplit", "num-split", "values with further columns">,
    Statistic<"numClipped", "num-clipped", "values whose range is smaller without further columns">,
    Statistic<"numWidened", "num-widened", "single rows whose range is larger">,
    Statistic<"numColumns", "num-columns", "further columns">
  ];
}

def ScaleEachRunPass : Octet_QuantizePass<"octet-scale-each-run", "::mlir::ModuleOp"> {
  let summary = "give inputs of layers whose size varies from run to run a scale of each run";
  let description = [{
    Between `octet-calibrate` and `octet-convert`. Sound and its spectra are loud in a few samples and quiet in most, which one scale
    for all leaves a few of 256 steps. Where half of the runs that `mean_squared_error` (without `axis`) has seen stay below `share`
    of what its integers reach, or below `further` of it behind such a value, linear layers and convolutions of one group read the value as floats, and quantize it in each run as
    those with `#octet.placeholder<dynamic = true>` do: row by row, and as a whole.

    Products of activations have a few rows that are far larger than the others. A linear layer also has scales of each row where the mean square
    of all values that `mean_squared_error` has seen lies less than `decibels`, or that of half of the rows that `column_min_max` has seen less than
    `row-decibels`, above a twelfth of the squared scale, the noise of rounding. Their products are of integers as before. Operators that only
    move the value move floats then. Values that come in as integers stay as they are. Errors: none. Source: [N.vary], [N.stat.peak];
    PyTorch: no counterpart.
  }];
  let options = [
    Option<"share", "share", "double", "0.17", "the part of the range that half of the runs stay below">,
    Option<"further", "further", "double", "0.45", "the same of values that are computed from such ones">,
    Option<"decibels", "decibels", "double", "36", "signal to noise below which an input of linear layers has scales of each row">,
    Option<"rowDecibels", "row-decibels", "double", "34", "the same of half of the rows">,
    Option<"columns", "columns", "double", fewColumns, "wide columns, as a part of all, that do not count there if the range without them">,
    Option<"gain", "gain", "double", gainOfSplits, "is at most this part of the whole">];
  let statistics = [Statistic<"numLayers", "num-layers", "layers whose input is quantized in each run">];
}

def ConvertPass : Octet_QuantizePass<"octet-convert", "::mlir::ModuleOp"> {
  let summary = "replace observers by quantize and dequantize, which gives the reference model";
  let description = [{
    - An observed activation becomes `octet.quantize` and `octet.dequantize`; an observed constant is quantized at compile
      time and dequantized. `octet.fake_quantize` becomes the same, with its own type. A value that slices of channels read has their scales in these channels [N.parts].
    - A value observed by `#octet.placeholder<dynamic = true>` becomes `octet.choose_qparams`, `octet.quantize_dynamic` and
      `octet.dequantize_dynamic`: its scale and zero point are those of each run. The bias of such a unit stays float.
    - The bias of a quantized unit becomes int32 at `f32(s_x * s_w)` with a dequantize ([N.bias]), unless its data types have
      `bias = f32`: then it stays ([N.float_bias]). A weight's scale is raised
      where its bias would not fit into 2^30 steps.
    - Weights with real zero points, and those that are rounded to floats of 16 bits, are stored so and read through
      `octet.dequantize_weights`, in dialects whose constants have such types; else they become the real numbers that these
      stand for. Activations of units of 16 bits are rounded by `nn.cast`.
    - Weights that are already integers with a dequantize, as a recovery pass may leave them, are not changed. If their bias
      does not fit, it stays float, with a warning.

    With `form=fake-quantize` the network is to be trained further, by a framework that reads it: `octet.fake_quantize` stands at each
    observed activation and weight, constants keep their real numbers, and what has no such form stays as it is: biases, inputs of
    dynamic units, weights with real zero points, floats of 16 bits. `octet-prepare` reads the ranges from there, and gives the same
    reference model if nothing was trained. PyTorch: `prepare_qat_fx`, with ranges that samples have given.

    Errors: an activation observer without statistics (calibrate first); statistics of the wrong size, or that give no scale
    because a NaN was seen; fake-quantize of an activation with a scale per channel. Values whose scale is their observer's eps get a warning. Source: [N.qparams], [N.quantize_weight],
    [N.weight_scale], [N.bias], [N.parts], [N.choose_qparams]; PyTorch: `convert_to_reference_fx`.
  }];
  let options = [Option<"form", "form", "::octet::ConvertForm", "::octet::ConvertForm::Quantized", "what takes the place of observers",
    [{::llvm::cl::values(
      clEnumValN(::octet::ConvertForm::Quantized, "quantized", "quantize and dequantize: the reference model"),
      clEnumValN(::octet::ConvertForm::FakeQuantize, "fake-quantize", "octet.fake_quantize: a network to be trained"))}]>];
  let statistics = [
    Statistic<"numActivations", "num-activations", "activations quantized">,
    Statistic<"numDynamic", "num-dynamic", "activations quantized in each run">,
    Statistic<"numWeights", "num-weights", "weights quantized">,
    Statistic<"numBiases", "num-biases", "biases quantized">,
    Statistic<"numRaisedScales", "num-raised-scales", "weight scales raised so that the bias fits">
  ];
}

def AdoptPass : Octet_QuantizePass<"octet-adopt", "::mlir::ModuleOp"> {
  let summary = "keep the quantization of a network that has one";
  let description = [{
    A network whose file has `octet.quantize` and `octet.dequantize` is a reference model already. This pass stands in the place
    of `octet-prepare`, calibration and `octet-convert`: it stores an `octet.decision` on every operator, as the places of
    quantize and dequantize say it, and writes products in the form that `octet-lower` knows, with the same values:

    - Values that are only moved between a quantize and an operator are quantized on both sides.
    - Integers of weights become their distances from the zero points. Where these are not signed bytes, a convolution of one group
      or a linear layer has two filters side by side and reads its input twice (three if a distance is 255).
    - A bias that is not quantized at f32(s_x * s_w) is the real numbers that it stands for.
    - Dequantized constants that are neither weights nor moved become floats.
    - Where the sums of a linear layer that is quantized in each run are multiplied by the scale of the input and constants of the
      outputs behind it, these become the scales of its operands.

    What the file has in float stays float. Source: [N.centered], [N.float_bias]; ONNX QuantizeLinear, DequantizeLinear.
  }];
  let statistics = [
    Statistic<"numQuantized", "num-quantized", "operators that the file quantizes">,
    Statistic<"numFloat", "num-float", "operators that are float in the file">,
    Statistic<"numSpread", "num-spread", "moved values that are quantized, too">,
    Statistic<"numCentered", "num-centered", "weights whose zero point became 0">,
    Statistic<"numBiases", "num-biases", "quantized biases that became real numbers">,
    Statistic<"numScales", "num-scales", "products that took the scales behind them">,
    Statistic<"numFolded", "num-folded", "dequantized constants that became floats">
  ];
}

def ExplainPass : Octet_QuantizePass<"octet-explain", "::mlir::ModuleOp"> {
  let summary = "list every operator with its verdict, reason, place and remedy";
  let description = [{
    Prints the decisions that `octet-prepare` has made for this program, or would make if it has not run yet, as a table or
    as JSON. The program is not changed. A file that cannot be written is an error.
  }];
  let options = [
    outputsOption,
    Option<"json", "json", "bool", "false", "print JSON instead of a table">,
    Option<"output", "output", "std::string", "\"-\"", "file to write to">];
}

def PrintMappingPass : Octet_QuantizePass<"octet-print-mapping", "::mlir::ModuleOp"> {
  let summary = "list every operator with the entry of the QConfig mapping that applies to it";
  let description = [{
    Prints a line for each operator of the network: its name and class in the source, its name here, and the entry of the
    mapping. An operator in a fused group has the entry of the operator whose QConfig the group gets, which is named. With
    `json`, rows hold the QConfig, too. The program is not changed. A file that cannot be written is an error.
  }];
  let options = [
    Option<"json", "json", "bool", "false", "print JSON instead of a table">,
    Option<"output", "output", "std::string", "\"-\"", "file to write to">];
}

def LintBackendPass : Octet_QuantizePass<"octet-lint-backend", "::mlir::ModuleOp"> {
  let summary = "find faults of a backend that no network shows";
  let description = [{
    Errors, each with its place and a remedy, about the module's backend:

    - A pattern or fold never matches: an earlier one of the same length matches whatever it matches, or takes an operator of it.
    - A registered operator never has this number of operands, these attributes, or one result.
    - Data types that are in no pattern, that no observer yields, or, where the module has a QConfig mapping, that no QConfig
      of it fits.
    - A pattern without data types; one with a weight whose data types have none, or whose operator reads no activation; one
      with a bias of a type other than f32; one that shares the observer of its inputs, with another type for the result.

    `octet-opt --octet-attach-policy=backend=b.mlir --octet-lint-backend` on an empty module checks a file with its mapping;
    `octet-opt --octet-lint-backend b.mlir` checks a file that holds a backend without inclusion and chains.
  }];
}

def LowerObserversPass : Octet_QuantizePass<"octet-lower-observers", "::mlir::ModuleOp"> {
  let summary = "turn observers into code of upstream dialects, so that any runner can calibrate";
  let description = [{
    Between `octet-prepare` and a compiler's own lowering, on a copy of the module: what it leaves is a program that computes the same
    results and collects statistics, in dialects that MLIR has.

    - Each `octet.observe` becomes `bufferization.to_buffer` and the observer's update of a global, `@octet_state_<observer>`, which
      begins as the observer's initial state; a constant is not observed at run time. Groups are inlined. The policy and attributes
      of Octet are removed.
    - `@octet_print_statistics` prints the statistics with `vector.print`, as the file that `octet-load-statistics` reads.

    Sizes that are known at run time only are loops over elements of size 1, which serves observers that merge. Errors: an observer whose
    definition depends on runs or that keeps them apart (`moving_average_min_max`, `recording`) for values of such sizes; the
    names that the pass makes are taken; quantized values. Source: `docs/plugin.md`.
  }];
  let dependentDialects = ["::octet::OctetDialect", "::mlir::quant::QuantDialect", "::mlir::func::FuncDialect",
    "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::vector::VectorDialect", "::mlir::bufferization::BufferizationDialect", "::mlir::tensor::TensorDialect"];
  let statistics = [Statistic<"numObserved", "num-observed", "observed values">];
}

def LoadStatisticsPass : Octet_QuantizePass<"octet-load-statistics", "::mlir::ModuleOp"> {
  let summary = "read the observers' statistics from files";
  let description = [{
    Each file (`docs/statistics.md`) has the statistics of every observer of activations; those of several files are merged. Errors: a
    file that cannot be read; statistics of another network, or two files for an observer that cannot merge them. PyTorch: loading
    the `state_dict` of a prepared model.
  }];
  let options = [ListOption<"files", "files", "std::string", "files of statistics">];
  let statistics = [Statistic<"numObservers", "num-observers", "observers with statistics">];
}

def ToQuantPass : Octet_QuantizePass<"octet-to-quant", "::mlir::ModuleOp"> {
  let summary = "leave the reference model in upstream's operators, for a compiler that goes on by itself";
  let description = [{
    `octet.quantize` becomes `quant.qcast`, `octet.dequantize` `quant.dcast`; groups are inlined; policy and attributes of
    Octet are removed. What is left needs no plugin. Upstream folds `quant.dcast(quant.qcast(x))` to x in every canonicalization: match the pairs
    before. Errors: a module with observers (convert first); scales that are computed, as those of dynamic units; other operators without a
    counterpart; quantized groups, which `octet-lower` makes. Source:
    `docs/plugin.md`.
  }];
  let statistics = [Statistic<"numCasts", "num-casts", "quantize and dequantize operators replaced">];
}

def InlineGroupsPass : Octet_QuantizePass<"octet-inline-groups", ""> {
  let summary = "replace groups of float type by their bodies";
  let description = "Groups with quantized operands or results stay, because their types imply the quantization, and so do those whose kernels read weights in few bits.";
  let statistics = [Statistic<"numInlined", "num-inlined", "groups inlined">];
}

def InlineCallsPass : Octet_QuantizePass<"octet-inline-calls", "::mlir::ModuleOp"> {
  let summary = "replace calls by the bodies of the functions";
  let description = [{
    Between `octet-convert` and `octet-lower`: functions that a network calls are a matter of policy (`octet.qconfig_mapping`), and code is
    made of one function. It concerns calls of functions with one block; a private function that nobody calls any more is removed.
    Calls of functions without a body stay. Errors: a function that calls itself. PyTorch: no counterpart; standalone modules stay modules.
  }];
  let statistics = [Statistic<"numInlined", "num-inlined", "calls inlined">];
}

#endif // OCTET_QUANTIZE_PASSES_TD
