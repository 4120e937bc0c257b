# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Activation functions, as functions and as modules."""
from __future__ import annotations

from typing import Any

import torch
from torch import nn

from ..net import Net, Unsupported, Value
from ..table import modules, operators


def _simple(op: str, *names: str, classes: tuple = ()) -> None:
    operators(*names)(lambda net, x, *_, **__: net.nn(op, x))
    modules(*classes)(lambda net, module, x: net.nn(op, x))


_simple("relu", "relu", classes=(nn.ReLU,))
_simple("sigmoid", "sigmoid", classes=(nn.Sigmoid,))
_simple("tanh", "tanh", classes=(nn.Tanh,))
_simple("silu", "silu", classes=(nn.SiLU,))
_simple("hard_swish", "hardswish", classes=(nn.Hardswish,))


@operators("relu6")
def relu6(net: Net, x: Value, *_: Any, **__: Any) -> Value:
    return net.nn("clip", x, min=0.0, max=6.0)


@modules(nn.Hardtanh, nn.ReLU6)
def hardtanh_module(net: Net, module: Any, x: Value) -> Value:
    return net.nn("clip", x, min=float(module.min_val), max=float(module.max_val))


@operators("hardtanh")
def hardtanh(net: Net, x: Value, min_val: float = -1.0, max_val: float = 1.0, *_: Any, **__: Any) -> Value:
    return net.nn("clip", x, min=float(min_val), max=float(max_val))


@operators("hardsigmoid")
def hardsigmoid(net: Net, x: Value, *_: Any, **__: Any) -> Value:
    return net.nn("hard_sigmoid", x, alpha=1 / 6, beta=0.5)


@operators("gelu")
def gelu(net: Net, x: Value, approximate: str = "none") -> Value:
    return net.compose("Gelu", x, approximate=approximate)


@operators("leaky_relu")
def leaky_relu(net: Net, x: Value, negative_slope: float = 0.01, *_: Any, **__: Any) -> Value:
    return net.nn("leaky_relu", x, alpha=float(negative_slope))


@operators("elu")
def elu(net: Net, x: Value, alpha: float = 1.0, *scales: Any, **__: Any) -> Value:
    if any(scale not in (1, False) for scale in scales):
        raise Unsupported("scales other than 1")
    return net.nn("elu", x, alpha=float(alpha))


@operators("softplus")
def softplus(net: Net, x: Value, beta: float = 1.0, threshold: float = 20.0) -> Value:
    """Beyond the threshold PyTorch returns x, from which 20 and more cannot be told in f32."""
    scaled = x if beta == 1 else net.nn("mul", x, float(beta))
    y = net.nn("softplus", scaled)
    y = y if beta == 1 else net.nn("div", y, float(beta))
    if threshold >= 20:
        return y
    return net.nn("select", net.compose("Less", net.constant(torch.tensor([float(threshold)])), scaled), x, y, dtype=x.dtype)


@operators("prelu")
def prelu(net: Net, x: Value, weight: Value) -> Value:
    shape = (1, weight.shape[0], *[1] * (x.rank - 2)) if weight.shape[0] > 1 else (1,) * x.rank
    slopes = net.constant(weight.tensor.reshape(shape), weight.name) if weight.tensor is not None else net.reshape(weight, shape)
    return net.nn("prelu", x, slopes)


@operators("celu")
def celu(net: Net, x: Value, alpha: float = 1.0, *_: Any, **__: Any) -> Value:
    return net.compose("Celu", x, alpha=float(alpha))


@operators("rrelu")
def rrelu(net: Net, x: Value, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, *_: Any, **__: Any) -> Value:
    if training:
        raise Unsupported("random slopes; call eval() first")
    return net.nn("leaky_relu", x, alpha=(lower + upper) / 2)


@operators("softmax", "_softmax")
def softmax(net: Net, x: Value, dim: Any = None, *_: Any, **__: Any) -> Value:
    if dim is None:
        raise Unsupported("softmax without dim")
    return net.nn("softmax", x, axis=x.axis(dim))


@operators("log_softmax", "_log_softmax")
def log_softmax(net: Net, x: Value, dim: int, *_: Any, **__: Any) -> Value:
    return net.compose("LogSoftmax", x, axis=x.axis(dim))


@operators("mish")
def mish(net: Net, x: Value, *_: Any, **__: Any) -> Value:
    return net.compose("Mish", x)


@operators("selu")
def selu(net: Net, x: Value, *_: Any, **__: Any) -> Value:
    return net.compose("Selu", x)


@operators("softsign")
def softsign(net: Net, x: Value) -> Value:
    return net.compose("Softsign", x)


@operators("logsigmoid", "log_sigmoid")
def logsigmoid(net: Net, x: Value) -> Value:
    return net.nn("neg", net.nn("softplus", net.nn("neg", x)))


@operators("glu")
def glu(net: Net, x: Value, dim: int = -1) -> Value:
    axis = x.axis(dim)
    half = x.shape[axis] // 2
    take = lambda start: net.nn("slice", x, starts=[start if i == axis else 0 for i in range(x.rank)],  # noqa: E731
                                sizes=[half if i == axis else size for i, size in enumerate(x.shape)], steps=[1] * x.rank)
    return net.nn("mul", take(0), net.nn("sigmoid", take(half)))


modules(nn.Hardsigmoid)(lambda net, module, x: hardsigmoid(net, x))
modules(nn.GELU)(lambda net, module, x: gelu(net, x, module.approximate))
modules(nn.LeakyReLU)(lambda net, module, x: leaky_relu(net, x, module.negative_slope))
modules(nn.ELU)(lambda net, module, x: elu(net, x, module.alpha))
modules(nn.Softplus)(lambda net, module, x: softplus(net, x, module.beta, module.threshold))
modules(nn.PReLU)(lambda net, module, x: prelu(net, x, module.weight))
modules(nn.Softmax)(lambda net, module, x: softmax(net, x, module.dim))
modules(nn.LogSoftmax)(lambda net, module, x: log_softmax(net, x, module.dim))
modules(nn.Mish)(lambda net, module, x: mish(net, x))
modules(nn.SELU)(lambda net, module, x: selu(net, x))
modules(nn.Softsign)(lambda net, module, x: softsign(net, x))
modules(nn.LogSigmoid)(lambda net, module, x: logsigmoid(net, x))
modules(nn.GLU)(lambda net, module, x: glu(net, x, module.dim))
modules(nn.Softmax2d)(lambda net, module, x: softmax(net, x, -3))
modules(nn.CELU)(lambda net, module, x: celu(net, x, module.alpha))
modules(nn.RReLU)(lambda net, module, x: rrelu(net, x, module.lower, module.upper, module.training))
