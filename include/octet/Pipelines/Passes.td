//===- Passes.td - passes that run the network --------------------*- tablegen -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_PIPELINES_PASSES_TD
#define OCTET_PIPELINES_PASSES_TD

include "mlir/Pass/PassBase.td"

/// A pass that compiles and runs the network needs the dialects of every stage.
class Octet_RunningPass<string name> : Pass<name, "::mlir::ModuleOp"> {
  let dependentDialects = ["::octet::OctetDialect", "::octet::nn::NNDialect", "::octet::kernel::KernelDialect",
    "::mlir::quant::QuantDialect", "::mlir::func::FuncDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect", "::mlir::vector::VectorDialect",
    "::mlir::cf::ControlFlowDialect", "::mlir::LLVM::LLVMDialect"];
}

def UseSamplesPass : Pass<"octet-use-samples", "::mlir::ModuleOp"> {
  let summary = "provide samples to the passes behind it";
  let description = [{
    Fills in the analysis `MeasureContext` of the module (`octet/Pipelines/Measure.h`), which no pass invalidates, so that
    `octet-calibrate` and recovery passes behind this pass have samples. The passes that run the network open the files and
    report their errors. Source: `docs/rationale/recipes.md`.
  }];
  let options = [
    ListOption<"files", "files", "std::string", "samples: .npz or .npy files, or folders of them">,
    Option<"threads", "threads", "unsigned", "1", "threads that run them; the result does not depend on the number">
  ];
}

def CalibratePass : Octet_RunningPass<"octet-calibrate"> {
  let summary = "collect the observers' statistics by running the network on samples";
  let description = [{
    Compiles the observed network for this machine, runs it on every sample (`octet-use-samples`) and stores the statistics
    in each `octet.observer`. Statistics depend neither on the order of samples nor on the number of threads, unless the
    observer's definition does. Memory does not grow with the number of samples.

    A sample has the shape of the network's input. A file holds samples along an axis in front of that shape, or concatenated
    along its first dimension. States (`nn.state`) go from one sample of a file to the next, and begin as zeros with each file.
    Errors: samples with other names or shapes, not of `f32`, or with NaN or infinity; statistics
    of another network, or two files of statistics for an observer that cannot merge them; neither samples nor statistics.
    Source: section 5 of `docs/numerics.md`; PyTorch: running the model that `prepare_fx` returns.
  }];
  let options = [
    ListOption<"loadStatistics", "load-statistics", "std::string", "statistics of earlier calibrations, which are merged">,
    Option<"saveStatistics", "save-statistics", "std::string", "\"\"", "file to write the statistics to">
  ];
  let statistics = [Statistic<"numObservers", "num-observers", "observers with statistics">];
}

def RunRecipePass : Octet_RunningPass<"octet-run-recipe"> {
  let summary = "run one of the pass pipelines of the backend's recipe";
  let description = [{
    Parses both pipelines of the backend's `octet.recipe`, so that a mistake shows early, and runs the one of `place`. Behind
    `octet-use-samples` the passes have samples (`octet/Pipelines/Measure.h`). Errors, located at the recipe in its file: a
    text that is not a pass pipeline; a pass that is neither built in nor loaded as a plugin; an option that a pass does not
    have. Source: `docs/rationale/recipes.md`.
  }];
  let options = [
    Option<"place", "place", "::octet::RecipePlace", "::octet::RecipePlace::AfterCalibrate", "where the passes run",
      [{::llvm::cl::values(
      clEnumValN(::octet::RecipePlace::BeforePrepare, "before-prepare", "on the float network"),
      clEnumValN(::octet::RecipePlace::AfterCalibrate, "after-calibrate", "on the calibrated network"))}]>
  ];
}

def CorrectBiasPass : Octet_RunningPass<"octet-correct-bias"> {
  let summary = "add the mean quantization error of each output channel to the biases";
  let description = [{
    Runs a calibrated network (between `octet-calibrate` and `octet-convert`) in float and as the reference model on up to 50
    of the samples, chosen by content and not by order. The mean error of every output channel of every quantized
    convolution and linear layer is added to the bias, layer by layer, so that a layer's inputs are corrected before its own
    error is measured. A layer's mean errors are made smaller by the share that may be chance, as samples differ. In front of
    a ReLU or clip inside of the network they are those of the clamped elements, made up for by the elements that it lets through: later layers read no others. A layer whose
    result leaves the network without a further product is judged: its channels are corrected where that lowers the absolute
    errors of single values behind its activation, large ones weighed less, on samples from which the mean was not computed. Layers from whose results a state is computed
    (a result that an input of its type reaches through operators that move values or compute element by element, where there are other inputs) stay as they are. A layer without a bias
    gets one. Without samples (`octet-use-samples`) the pass warns and changes nothing. Errors: those of samples, as in `octet-calibrate`; a module without a function `main`. Source:
    [N.bias_correction]; Nagel and others, "Data-Free Quantization Through Weight Equalization and Bias Correction", 2019;
    PyTorch: `torch.ao.quantization._correct_bias`.
  }];
  let options = [
    Option<"judged", "judged", "bool", "true", "whether chance and what a clamp hides are left out, layers whose result leaves the network are judged, and those of states left alone">
  ];
  let statistics = [
    Statistic<"numCorrected", "num-corrected", "layers whose bias was corrected">,
    Statistic<"numKept", "num-kept", "channels whose bias stays: their mean error is zero, or adding it does not help">
  ];
}

def CompareLayersPass : Octet_RunningPass<"octet-compare-layers"> {
  let summary = "measure the error of every quantized operator";
  let description = [{
    Runs a calibrated network (between `octet-calibrate` and `octet-convert`) in float and as the reference model on up to 50
    of the samples, chosen by content and not by order, and prints a row for each operator or group that runs quantized, but
    not for those that only move values:

    - `output`: its result against that of the float network, with the errors of all operators in front of it;
    - `alone`: its result against that of its float twin, the same operators in float on the same dequantized inputs;
    - `local`: against a twin that reads the inputs in front of their quantization, so that their rounding counts, too;
    - `weights`: its weights against their values as integers.

    Each as signal-to-noise ratio in decibels, in JSON also as normalized L2 and cosine [N.stat.distance]. Of a result with more
    than `values` elements, about that many are compared, at positions that depend on the shape alone. The program is not
    changed. Errors: no samples (`octet-use-samples`), or those of samples, as in `octet-calibrate`; a module without a function
    `main`; a file that cannot be written. PyTorch: the Numeric Suite (`add_loggers`, `add_shadow_loggers`, `extract_weights`).
  }];
  let options = [
    Option<"json", "json", "bool", "false", "print JSON instead of a table">,
    Option<"output", "output", "std::string", "\"-\"", "file to write to; empty: the report alone">,
    Option<"values", "values", "int64_t", "16384", "values of a result that are compared in each sample">];
  let statistics = [Statistic<"numCompared", "num-compared", "operators that were compared">];
}

def EqualizePass : Pass<"octet-equalize", "::mlir::ModuleOp"> {
  let summary = "give consecutive layers weights of equal ranges";
  let description = [{
    Where only a second convolution or linear layer reads a first one's result, through operators for which f(s x) = s f(x), a factor
    for each channel between them can move from one's weights to the other's. The pass takes those factors that make
    the ranges of the channel's weights equal in both, for all such pairs in turn until the weights settle. The network computes
    the same but for rounding; channels with narrow ranges get more of the 256 integers. Runs on the float network, as in
    `octet.recipe before_prepare "octet-equalize"`. Source: [N.equalize]; Nagel and others, "Data-Free Quantization Through Weight
    Equalization and Bias Correction", 2019; PyTorch: `torch.ao.quantization._equalize.equalize`.
  }];
  let options = [
    Option<"threshold", "threshold", "double", "1e-4", "the weights have settled where the norms of their changes are less in total">,
    Option<"iterations", "iterations", "int64_t", "100", "rounds at most">];
  let dependentDialects = ["::octet::nn::NNDialect"];
  let statistics = [Statistic<"numPairs", "num-pairs", "pairs of layers">];
}

def EqualizeInputsPass : Octet_RunningPass<"octet-equalize-inputs"> {
  let summary = "move ranges of input channels into the weights";
  let description = [{
    Multiplies each input channel of a convolution or linear layer by a factor, and divides the weights that read it: where
    channels have unequal ranges, those with narrow ones get more integers. The factor is the root of the quotient of the
    weights' range and the input's, which is measured on all samples (`octet-use-samples`); it is 1 where that is zero, infinite or no
    number. A layer in front whose result nothing else reads takes the factors into its weights and bias; elsewhere a
    multiplication is inserted. A layer whose input has other readers, too, is left as it is, with a warning. Runs on the float
    network, as in `octet.recipe before_prepare "octet-equalize-inputs{layers=conv1,conv5}"`; without samples the pass warns and
    changes nothing. Errors: those of samples, as in `octet-calibrate`; a module without a function `main`; a name in `layers`
    that no layer has. Source: [N.equalize_inputs]; PyTorch: `_equalization_config` of `prepare_fx`.
  }];
  let options = [ListOption<"layers", "layers", "std::string", "names of the layers; all without names">];
  let statistics = [
    Statistic<"numEqualized", "num-equalized", "layers with other weights">,
    Statistic<"numFactors", "num-factors", "multiplications that were inserted">];
}

def EqualizeChannelsPass : Octet_RunningPass<"octet-equalize-channels"> {
  let summary = "move ranges of input channels into the weights of a calibrated network, where that gains";
  let description = [{
    Runs a calibrated network (between `octet-calibrate` and `octet-convert`) in float on all samples and measures the range of
    each input channel of every convolution without groups whose input nothing else reads and a quantized unit computes element by element
    or as a product. Where the estimated error of the layer's results, by rounding its input and its weights, falls below
    `gain` times of what it was, a multiplication by a factor for each channel is inserted in front of the input's observer, and the
    weights are divided by the factors. The factor is the root of the quotient of the weights' largest magnitude and the
    channel's range. Factors leave channels no headroom: a layer is left alone where single samples, of up to 50, need on average more than
    `excess` times the range that the others give it. Without samples (`octet-use-samples`), and in a bucket, nothing changes. Errors: those of samples, as in
    `octet-calibrate`; a module without a function `main`. Source: [N.equalize_channels].
  }];
  let options = [Option<"gain", "gain", "double", "0.7", "the largest part of the error that may be left">,
                 Option<"excess", "excess", "double", "1.2", "how much wider the range of a sample may be than that of the others">];
  let statistics = [Statistic<"numEqualized", "num-equalized", "layers with other weights">];
}

def RoundWeightsPass : Octet_RunningPass<"octet-round-weights"> {
  let summary = "round the weights of linear layers so that their results change little";
  let description = [{
    Runs a calibrated network (between `octet-calibrate` and `octet-convert`) in float on up to 50 samples, and rounds the weights
    [N, K] of linear layers one column after the other: what rounding one column changes in the results, on the quantized inputs
    of the samples, the weights behind it make up for, and the bias takes the change of the mean. The new weights are multiples of the scales that
    `octet-convert` chooses, which rounds them no more. A layer stays as it is if another one reads its weights (as the steps of a recurrence
    do), if its input has not one scale of 8 bits or is no result of an operator, if its weights have not a scale for each row and zero points 0, if its bias is
    computed, and if the samples have fewer rows than K, or than the 512 columns or less that are rounded together. Without samples (`octet-use-samples`), and in a
    bucket whose calibration is another's, nothing changes. The report says how many layers were rounded (`rounded_layers`). Errors: those of
    samples, as in `octet-calibrate`; a module without a function `main`. Source: [N.round_weights]; Frantar and others, "GPTQ: Accurate
    Post-Training Quantization for Generative Pre-trained Transformers", 2022.
  }];
  let statistics = [Statistic<"numRounded", "num-rounded", "layers with other weights">];
}

#endif // OCTET_PIPELINES_PASSES_TD
