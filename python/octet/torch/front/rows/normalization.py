# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalizations."""
from __future__ import annotations

import math
from typing import Any, Iterable, Optional, Sequence

import torch
from torch import nn

from ..net import Net, Unsupported, Value
from ..table import modules, operators
from .products import transposed
from .reductions import norm


def _vector(net: Net, value: Optional[Value], size: int, otherwise: float) -> Value:
    return net.constant(torch.full((size,), otherwise)) if value is None else value


def _batch_norm(net: Net, x: Value, weight: Optional[Value], bias: Optional[Value], mean: Value, variance: Value, eps: float) -> Value:
    channels = x.shape[1]
    if mean is None or variance is None:
        raise Unsupported("batch norm without statistics; call eval() first")
    if x.rank == 3:  # a sequence is an image of one row, as it is to convolutions
        image = net.reshape(x, (*x.shape[:2], 1, x.shape[2]))
        return net.reshape(_batch_norm(net, image, weight, bias, mean, variance, eps), x.shape)
    if any(value is not None and value.tensor is None for value in (weight, bias, mean, variance)):
        shape = (channels, *[1] * (x.rank - 2))
        spread = lambda value: net.reshape(value, shape)  # noqa: E731
        y = net.nn("div", net.nn("sub", x, spread(mean)), net.nn("sqrt", net.nn("add", spread(variance), float(eps))))
        y = y if weight is None else net.nn("mul", y, spread(weight))
        return y if bias is None else net.nn("add", y, spread(bias))
    return net.nn("batch_norm", x, _vector(net, weight, channels, 1.0), _vector(net, bias, channels, 0.0), mean, variance, epsilon=float(eps))


@operators("batch_norm")
def batch_norm(net: Net, x: Value, *args: Any, **kwargs: Any) -> Value:
    """The function has (mean, variance, weight, bias, training, momentum, eps), the ATen operator weight and bias first."""
    names = ("running_mean", "running_var", "weight", "bias", "training", "momentum", "eps")
    if len(args) > 6 and not isinstance(args[4], bool) or len(args) == 8:
        names = ("weight", "bias", "running_mean", "running_var", "training", "momentum", "eps", "cudnn_enabled")
    given = {**dict(zip(names, args)), **kwargs}
    if given.get("training") or given.get("running_mean") is None:
        raise Unsupported("batch norm with the statistics of the batch; call eval() first")
    return _batch_norm(net, x, given.get("weight"), given.get("bias"), given["running_mean"], given["running_var"], given.get("eps", 1e-5))


@operators("_native_batch_norm_legit_no_training", "native_batch_norm")
def native_batch_norm(net: Net, x: Value, weight: Optional[Value], bias: Optional[Value], mean: Value, variance: Value, *rest: Any) -> tuple:
    if len(rest) == 3 and rest[0]:
        raise Unsupported("batch norm with the statistics of the batch; call eval() first")
    return _batch_norm(net, x, weight, bias, mean, variance, rest[-1]), None, None


@modules(nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
def batch_norm_module(net: Net, module: Any, x: Value) -> Value:
    if module.training or module.running_mean is None:
        raise Unsupported("batch norm with the statistics of the batch; call eval() first")
    return _batch_norm(net, x, module.weight, module.bias, module.running_mean, module.running_var, module.eps)


def _standardize(net: Net, x: Value, axes: Iterable[int], eps: float, weight: Optional[Value], bias: Optional[Value], shape: Sequence[int]) -> Value:
    """Values without their mean, over their deviation; then scaled if there is a weight or a bias, in that shape."""
    axes = list(axes)
    deviations = net.nn("sub", x, net.nn("reduce_mean", x, axes=axes, keep_dims=True))
    variance = net.nn("reduce_mean", net.nn("mul", deviations, deviations), axes=axes, keep_dims=True)
    result = net.nn("mul", deviations, net.nn("div", 1.0, net.nn("sqrt", net.nn("add", variance, float(eps)))))
    if weight is None and bias is None:
        return result
    scale = net.constant(torch.ones(shape)) if weight is None else transposed(net, weight, shape)
    shift = net.constant(torch.zeros(shape)) if bias is None else transposed(net, bias, shape)
    return net.nn("add", net.nn("mul", result, scale), shift)


@operators("layer_norm")
def layer_norm(net: Net, x: Value, normalized_shape: Sequence[int], weight: Optional[Value] = None, bias: Optional[Value] = None,
               eps: float = 1e-5, *_: Any) -> Value:
    shape = tuple(normalized_shape) if not isinstance(normalized_shape, int) else (normalized_shape,)
    return _standardize(net, x, range(x.rank - len(shape), x.rank), eps, weight, bias, shape)


@operators("native_layer_norm")
def native_layer_norm(net: Net, x: Value, normalized_shape: Sequence[int], weight: Optional[Value], bias: Optional[Value], eps: float) -> tuple:
    return layer_norm(net, x, normalized_shape, weight, bias, eps), None, None


@operators("rms_norm")
def rms_norm(net: Net, x: Value, normalized_shape: Sequence[int], weight: Optional[Value] = None, eps: Optional[float] = None) -> Value:
    shape = tuple(normalized_shape) if not isinstance(normalized_shape, int) else (normalized_shape,)
    scale = net.constant(torch.ones(shape)) if weight is None else weight
    return net.compose("RMSNormalization", x, scale, axis=x.rank - len(shape), epsilon=float(torch.finfo(torch.float32).eps if eps is None else eps))


@operators("group_norm")
def group_norm(net: Net, x: Value, num_groups: int, weight: Optional[Value] = None, bias: Optional[Value] = None, eps: float = 1e-5, *_: Any) -> Value:
    """The reshapes are parts of the operator, and have its class."""
    channels, sizes = x.shape[1], [1] * (x.rank - 2)
    rows = net.nn("reshape", x, shape=(x.shape[0], num_groups, math.prod(x.shape[1:]) // num_groups))
    result = net.nn("reshape", _standardize(net, rows, [2], eps, None, None, ()), shape=x.shape)
    if weight is None and bias is None:
        return result
    scale = transposed(net, _vector(net, weight, channels, 1.0), (channels, *sizes))
    return net.nn("add", net.nn("mul", result, scale), transposed(net, _vector(net, bias, channels, 0.0), (channels, *sizes)))


@operators("native_group_norm")
def native_group_norm(net: Net, x: Value, weight: Optional[Value], bias: Optional[Value], n: int, c: int, hw: int, group: int, eps: float) -> tuple:
    return group_norm(net, x, group, weight, bias, eps), None, None


@operators("instance_norm")
def instance_norm(net: Net, x: Value, *args: Any, **kwargs: Any) -> Value:
    """The ATen operator has weight and bias first, and one argument more."""
    return _instance_norm(net, x, *args[2:4], *args[:2], *args[4:7]) if len(args) == 8 else _instance_norm(net, x, *args, **kwargs)


def _instance_norm(net: Net, x: Value, running_mean: Optional[Value] = None, running_var: Optional[Value] = None, weight: Optional[Value] = None,
                  bias: Optional[Value] = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5, *_: Any) -> Value:
    if not use_input_stats:
        return _batch_norm(net, x, weight, bias, running_mean, running_var, eps)
    return _standardize(net, x, range(2, x.rank), eps, weight, bias, (x.shape[1], *[1] * (x.rank - 2)))


@operators("normalize")
def normalize(net: Net, x: Value, p: float = 2.0, dim: int = 1, eps: float = 1e-12, **_: Any) -> Value:
    return net.nn("div", x, net.nn("max", norm(net, x, p, [dim], True), float(eps)))


modules(nn.LayerNorm)(lambda net, m, x: layer_norm(net, x, m.normalized_shape, m.weight, m.bias, m.eps))
modules(nn.GroupNorm)(lambda net, m, x: group_norm(net, x, m.num_groups, m.weight, m.bias, m.eps))
modules(nn.RMSNorm)(lambda net, m, x: rms_norm(net, x, m.normalized_shape, m.weight, m.eps))
@modules(nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d)
def instance_norm_module(net: Net, module: Any, x: Value) -> Value:
    """Also without a batch, which the function does not take."""
    batched = x if x.rank != module.module._get_no_batch_dim() else net.reshape(x, (1, *x.shape))
    y = _instance_norm(net, batched, module.running_mean, module.running_var, module.weight, module.bias, module.running_mean is None, module.momentum, module.eps)
    return net.reshape(y, x.shape)
