//===- Passes.td - tidying up imported networks ---------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_IMPORT_PASSES_TD
#define OCTET_IMPORT_PASSES_TD

include "mlir/Pass/PassBase.td"

def FoldIntoWeightsPass : Pass<"octet-fold-into-weights", "::mlir::func::FuncOp"> {
  let summary = "zero pads and added biases become part of convolutions and linear layers; what meets only padding goes";
  let description = [{
    - A `nn.pad` with zeros of the spatial dimensions whose only user is a `nn.conv` goes into its `pads`.
    - A `nn.add` of a constant with one value per output channel to a `nn.conv` or `nn.linear` without bias, which has
      no other user, becomes the bias.
    - Kernel rows and columns at the ends that meet nothing but padding, as with a dilation of the image's size, are cut
      off, and so are the pads that were theirs.

    What does not fit stays as it is. Source: [N.conv], [N.linear].
  }];
  let dependentDialects = ["::octet::nn::NNDialect"];
  let statistics = [
    Statistic<"numPads", "num-pads", "Number of pads folded into convolutions">,
    Statistic<"numBiases", "num-biases", "Number of additions that became a bias">,
    Statistic<"numCropped", "num-cropped", "Number of kernels that lost what only met padding">];
}

def RaiseIdiomsPass : Pass<"octet-raise-idioms", "::mlir::func::FuncOp"> {
  let summary = "activations spelled out in small operators become one operator";
  let description = [{
    | small operators | operator |
    |---|---|
    | `x * sigmoid(x)` | `nn.silu` |
    | `x * (1 + erf(x / sqrt(2))) / 2`, halved inside or outside | `nn.gelu` |
    | `clip(a * x + b, 0, 1)`; `clip(x + 3, 0, 6) / 6` and the like | `nn.hard_sigmoid` |
    | `x * hard_sigmoid(x)` with 1/6 and 0.5; `x * clip(x + 3, 0, 6) / 6` in any order | `nn.hard_swish` |

    Inner values must have no other user. Constants may stand on either side of a sum or product, and may be off by a few
    roundings of the exporter. What does not fit stays as it is. Source: [N.silu], [N.gelu],
    [N.hard_sigmoid], [N.hard_swish].
  }];
  let dependentDialects = ["::octet::nn::NNDialect"];
  let statistics = [Statistic<"numRaised", "num-raised", "Number of idioms raised to one operator">];
}

def SinkReshapesPass : Pass<"octet-sink-reshapes", "::mlir::func::FuncOp"> {
  let summary = "reshapes move behind element-wise operators and join, transposes move to the reshapes that they are about";
  let description = [{
    Networks over one dimension are imported as such over two, with reshapes around each convolution and pool. An element-wise
    operator all of whose operands are such reshapes from one shape, or constants of one element, stands in front of the
    reshape afterwards; a reshape of a reshape is one, or none. What follows a convolution can then be fused with it.
    Detectors flatten images, concatenate them and bring channels last: a transpose of a concatenation of reshapes, all read
    once, stands between these afterwards, where it reads an NHWC image as it lies in memory. What does not fit stays as it is. Source: [N.concat] (a reshape moves no value).
  }];
  let dependentDialects = ["::octet::nn::NNDialect"];
  let statistics = [Statistic<"numSunk", "num-sunk", "Number of operators that reshapes moved behind">,
                    Statistic<"numHoisted", "num-hoisted", "Number of concatenations that transposes moved in front of">];
}

#endif // OCTET_IMPORT_PASSES_TD
