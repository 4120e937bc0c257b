//===- Passes.td - tidying up imported networks ---------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_IMPORT_PASSES_TD
#define OCTET_IMPORT_PASSES_TD

include "mlir/Pass/PassBase.td"

def DropNeutralPass : Pass<"octet-drop-neutral", "::mlir::func::FuncOp"> {
  let summary = "drop sums with 0 and products with 1";
  let description = [{
    `x + 0`, `x - 0`, `x * 1` and `x / 1` with constants of f32 that do not widen the shape become `x`. Exporters write copies so,
    and the factor of `x * sigmoid(1 * x)`. Other operators stay as they are. Source: [N.neutral].
  }];
  let dependentDialects = ["::octet::nn::NNDialect"];
  let statistics = [Statistic<"numDropped", "num-dropped", "Number of operators that became their operand">];
}

def FoldIntoWeightsPass : Pass<"octet-fold-into-weights", "::mlir::func::FuncOp"> {
  let summary = "fold zero pads and added biases into convolutions and linear layers, crop kernels that meet padding, merge branches";
  let description = [{
    - A `nn.pad` that puts zeros around the spatial dimensions, and whose only user is a `nn.conv`, is folded into the
      convolution's `pads`.
    - A `nn.conv` or `nn.linear` without bias, whose only user adds a constant with one value per output channel, gets that
      constant as its bias.
    - Outer kernel rows and columns that meet nothing but padding, as with a dilation of the image's size, are cropped,
      together with their pads.
    - The sum of two `nn.conv` of one value with the same strides and groups, whose only user it is, becomes one `nn.conv`
      if that has at most as many weights: the weights are summed tap by tap, the biases too.
    - A `nn.batch_norm` that is added to a `nn.conv` of the same value, without strides, becomes one of its taps. It stays where a
      kernel of more than 25 weights would get one that is more than twice as large as its largest (by the squares over all channels), since these
      share a scale in 8 bits.

    Other operators stay as they are. Source: [N.conv], [N.linear], [N.batch_norm].
  }];
  let dependentDialects = ["::octet::nn::NNDialect"];
  let statistics = [
    Statistic<"numPads", "num-pads", "Number of pads folded into convolutions">,
    Statistic<"numBiases", "num-biases", "Number of additions that became a bias">,
    Statistic<"numCropped", "num-cropped", "Number of kernels cropped">,
    Statistic<"numMerged", "num-merged", "Number of sums of convolutions and batch norms that became one convolution">];
}

def JoinStepsPass : Pass<"octet-join-steps", "::mlir::func::FuncOp"> {
  let summary = "multiply all steps of a sequence by a weight at once";
  let description = [{
    A recurrent cell called in a loop multiplies each step of its input by itself. Linear layers with one weight and bias that
    read slices of one index along one dimension of the same value become one layer on the value, and slices of its result, if
    at least two indices, and half of the dimension, are read: the weight is read once for all of them. Other operators stay as they are. Source: [N.linear] (a row's sum reads no other row).
  }];
  let dependentDialects = ["::octet::nn::NNDialect"];
  let statistics = [Statistic<"numJoined", "num-joined", "Number of layers that became part of one">];
}

def KeepStatesPass : Pass<"octet-keep-states", "::mlir::ModuleOp"> {
  let summary = "make inputs and outputs states, which the library keeps from run to run";
  let description = [{
    `h=hn` makes the input `h` and the output `hn` of the function `main` one state: both get the attribute
    `nn.state = "h"`, and the library that code generation makes has neither. `auto` finds all inputs and outputs of one type
    whose names say that they are a state (`h` and `hn`, `state` and `stateN`, `h_in` and `h_out`, `past` and `present`,
    `cache` and `new_cache`). Errors: names that are not there; an input or output that belongs to a state already; an output
    of another type; a quantized type, whose numbers are not zeros at the start; `auto` without a pair, or with a choice of
    outputs. Source: `octet/Dialect/NN/States.h`, `docs/states.md`.
  }];
  let dependentDialects = ["::octet::nn::NNDialect"];
  let options = [
    ListOption<"states", "states", "std::string", "states as input=output, or auto">
  ];
  let statistics = [Statistic<"numStates", "num-states", "Number of states">];
}

def FlushWeightsPass : Pass<"octet-flush-weights", "::mlir::func::FuncOp"> {
  let summary = "set weights to zero that are too small to matter";
  let description = [{
    Weights of convolutions and linear layers whose magnitude is below 2^-100 of the largest in their tensor become zero:
    subnormal numbers slow down multiplications, and such products are lost in the rounding of a sum unless inputs differ by
    as much. Other readers of the same constant keep its values. Source: [N.tiny].
  }];
  let dependentDialects = ["::octet::nn::NNDialect"];
  let statistics = [Statistic<"numFlushed", "num-flushed", "Number of weights that became zero">];
}

def RaiseIdiomsPass : Pass<"octet-raise-idioms", "::mlir::func::FuncOp"> {
  let summary = "replace activations that are spelled out in small operators by one operator";
  let description = [{
    | small operators | operator |
    |---|---|
    | `x * sigmoid(x)` | `nn.silu` |
    | `x * (1 + erf(x / sqrt(2))) / 2`, halved inside or outside | `nn.gelu` |
    | `clip(a * x + b, 0, 1)`; `clip(x + 3, 0, 6) / 6` and the like | `nn.hard_sigmoid` |
    | `relu(x) + c * relu(-x)` | `nn.prelu`, of one number `nn.leaky_relu` |
    | `x * hard_sigmoid(x)` with 1/6 and 0.5; `x * clip(x + 3, 0, 6) / 6` in any order | `nn.hard_swish` |

    Inner values must have no other user. Constants may be either operand of a sum or product, and may differ by a few
    roundings of the exporter. Other operators stay as they are. Source: [N.silu], [N.gelu], [N.hard_sigmoid],
    [N.hard_swish], [N.leaky_relu].
  }];
  let dependentDialects = ["::octet::nn::NNDialect"];
  let statistics = [Statistic<"numRaised", "num-raised", "Number of idioms raised to one operator">];
}

def SinkReshapesPass : Pass<"octet-sink-reshapes", "::mlir::func::FuncOp"> {
  let summary = "move reshapes behind element-wise operators and join them, move transposes in front of concatenations";
  let description = [{
    A network over one spatial dimension is imported as a network over two, with reshapes around each convolution and pool.
    This pass moves an element-wise operator in front of these reshapes if all its operands are reshaped from one shape or
    are constants of one element, and joins consecutive reshapes. The operator can then be fused with its convolution. Behind a
    product that nothing else reads it moves in front of any reshapes and transposes. A reshape of rows between a linear layer and
    a batch normalization moves in front of the layer, whose weights then take the normalization.
    Convolutions over three dimensions have reshapes and a transpose behind them, of slices as images or of columns: there, a batch
    normalization moves as well, and so do pads in front of and behind slices. Slices that the next convolution reads stay as they are.

    Detectors flatten images, concatenate them and bring channels last. A transpose of a concatenation of reshapes, each with
    one user, moves between the reshapes and the concatenation, where an NHWC image needs no copy. A sequence whose channels
    come first and which becomes an image, as in transformers with convolutions, is reshaped before it is transposed, for the same reason. Other operators stay as
    they are. Source: [N.concat] (a reshape moves no value).

    With `parts-only`, what moves are the reshapes and transposes that an operator over one or three dimensions was imported
    with: those of the same name as the operator in front of them. Others are operators that a policy may observe.
  }];
  let options = [Option<"partsOnly", "parts-only", "bool", "false",
                        "Move only what belongs to the operator in front of it">];
  let dependentDialects = ["::octet::nn::NNDialect"];
  let statistics = [Statistic<"numSunk", "num-sunk", "Number of operators that reshapes moved behind">,
                    Statistic<"numHoisted", "num-hoisted", "Number of transposes moved in front of concatenations, and of reshapes in front of linear layers">];
}

def SinkTransposesPass : Pass<"octet-sink-transposes", "::mlir::func::FuncOp"> {
  let summary = "move transposes of images behind element-wise operators and concatenations, and drop those that cancel out";
  let description = [{
    Where channels come last, as in TensorFlow, an exporter writes transposes around convolutions and pools, and what is added or
    multiplied per channel stands between two of them. An element-wise operator whose operands are images that were transposed
    alike, and constants of one number or of numbers along one dimension, moves in front of the transposes, which then often
    cancel out: there it is fused with its convolution. So does a concatenation of images that were transposed alike. An image is
    what a convolution, pool, resize or normalization computes, with element-wise operators, concatenations, slices and shuffles
    behind it. A transpose that other operators read stays where it is. Source: [N.concat] (a transpose moves values).
  }];
  let dependentDialects = ["::octet::nn::NNDialect"];
  let statistics = [Statistic<"numSunk", "num-sunk", "Number of operators that transposes moved behind">];
}

def SinkShufflesPass : Pass<"octet-sink-shuffles", "::mlir::func::FuncOp"> {
  let summary = "move what spreads channels over pixels behind operators on each channel";
  let description = [{
    A transposed convolution is a convolution whose outputs, in phases, are spread over pixels by reshapes and a transpose, as a
    pixel shuffle spreads them; pads are cut off by a slice. Element-wise operators and batch normalizations behind these, whose other operands are constants of
    one number or of one for each channel, move in front of them, with each constant repeated for the phases of its channel: there
    they are fused with the convolution, and what is spread are integers. Inner values must have no other user. Other operators
    stay as they are. Source: [N.concat] (a reshape moves no value).

    With `parts-only`, only batch normalizations move, in front of what a transposed convolution was imported with: moves of its
    name. There they are folded into its weights.
  }];
  let options = [Option<"partsOnly", "parts-only", "bool", "false",
                        "Move only batch normalizations, in front of parts of a convolution">];
  let dependentDialects = ["::octet::nn::NNDialect"];
  let statistics = [Statistic<"numSunk", "num-sunk", "Number of operators that shuffles moved behind">];
}

#endif // OCTET_IMPORT_PASSES_TD
