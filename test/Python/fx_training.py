# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One step of PyTorch's quantization-aware training of a convolution with batch norm and relu, weights not updated: the ranges and the
statistics that the step leaves behind. spec/fx-semantics.md, 1.5, 2.3 and 2.4, has the rules."""
from dataclasses import dataclass

import numpy as np
from test_golden_operators import generate

f32, f64 = np.float32, np.float64
EPSILON, MOMENTUM, AVERAGING = 1e-5, 0.1, f32(0.01)


@dataclass
class Trained:
    #: Scale and zero point.
    input: tuple
    output: tuple
    #: The weights times `factor`, and their scale.
    weight: np.ndarray
    weight_scale: f32
    factor: np.ndarray
    mean: np.ndarray
    variance: np.ndarray


def affine(low, high):
    """Scale and zero point when the network is converted."""
    low, high = min(f32(low), f32(0)), max(f32(high), f32(0))
    scale = (high - low) / f32(255)
    return scale, int(np.clip(-np.rint(low / scale), 0, 255))


def fake_quantize(x, scale, zero, low, high):
    q = np.clip(np.rint(x * (f32(1) / f32(scale))) + zero, low, high)
    return (q - zero).astype(f32) * f32(scale)


def convolve(x, w):
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(f64), w.shape[2:], (2, 3))
    return np.einsum("nchwij,ocij->nohw", windows, w.astype(f64))


def get_factor(gamma, variance):
    return (gamma / np.sqrt(variance + f32(EPSILON))).astype(f32)


def train(parameters, x):
    """The network's first step in training mode, and what converting it makes of the weights."""
    weight, bias = parameters["c.weight"], parameters["c.bias"].reshape(-1, 1, 1)
    gamma, beta = parameters["bn.weight"].reshape(-1, 1, 1), parameters["bn.bias"].reshape(-1, 1, 1)
    factor = get_factor(parameters["bn.weight"], parameters["bn.running_var"])
    scaled = weight * factor.reshape(-1, 1, 1, 1)
    # Scales of training are those of dynamic quantization; a symmetric one reaches -128 or 127 steps.
    input_params = affine(x.min(), x.max())
    rounded = fake_quantize(scaled, max(-scaled.min() / 128, scaled.max() / 127), 0, -128, 127)
    y = convolve(fake_quantize(x, *input_params, 0, 255), rounded) / factor.reshape(-1, 1, 1) + bias
    mean, variance = y.mean((0, 2, 3)), y.var((0, 2, 3))
    count = y.size // len(mean)
    y = np.maximum((y - mean.reshape(-1, 1, 1)) / np.sqrt(variance.reshape(-1, 1, 1) + EPSILON) * gamma + beta, 0)
    move = lambda old, new: ((1 - MOMENTUM) * old + MOMENTUM * new).astype(f32)  # noqa: E731
    running_variance = move(parameters["bn.running_var"], variance * count / (count - 1))
    running_factor = get_factor(parameters["bn.weight"], running_variance)
    final = weight * running_factor.reshape(-1, 1, 1, 1)
    # Converting shows the weights to their observer once more.
    low, high = (old + AVERAGING * (new - old) for old, new in ((scaled.min(), final.min()), (scaled.max(), final.max())))
    return Trained(input_params, affine(0, y.max()), final, max(-low, high) / f32(127.5), running_factor,
                   move(parameters["bn.running_mean"], mean), running_variance)


def training_form(n):
    """The network of `conv_bn_relu_qat` as PyTorch leaves it behind the recorded step of training."""
    x = n.inputs[0]
    sample = generate({"seed": 5000, "shape": x.shape, "kind": "uniform", "lo": -1.0, "hi": 2.0})
    trained = train(n.parameters, sample)
    weight = n.rounded(n.constant(trained.weight), trained.weight_scale, 0, "c", "i8")
    y = n.add("nn.conv", [n.rounded(x, *trained.input, "x"), weight], "c", (2, 2, 3, 3))
    y = n.add("nn.div", [y, n.constant(trained.factor.reshape(2, 1, 1))], "c", y.shape)
    y = n.add("nn.add", [y, n.parameter("c.bias", (2, 1, 1))], "c", y.shape)
    parts = [n.parameter("bn.weight"), n.parameter("bn.bias"), n.constant(trained.mean), n.constant(trained.variance)]
    y = n.relu(n.add("nn.batch_norm", [y, *parts], "c", attributes="epsilon 1.0e-5"), "c")
    return n.rounded(y, *trained.output, "c")
