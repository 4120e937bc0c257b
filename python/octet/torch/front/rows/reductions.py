# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions, positions of largest elements, running sums."""
from __future__ import annotations

import math
from typing import Any

import torch

from ..net import Net, Unsupported, Value
from ..table import operators
from .movement import slice_along


def _axes(x: Value, dim: Any) -> list:
    if dim is None or dim == []:
        return list(range(x.rank))
    return sorted(x.axis(axis) for axis in ([dim] if isinstance(dim, int) else dim))


def _reduce(net: Net, op: str, x: Value, dim: Any, keepdim: bool) -> Value:
    if isinstance(net.result, torch.Tensor):
        x = net.cast(x, net.result.dtype)
    if not x.dtype.is_floating_point:
        names = {"reduce_sum": "ReduceSum", "reduce_max": "ReduceMax", "reduce_min": "ReduceMin", "reduce_prod": "ReduceProd"}
        return net.compose(names[op], x, net.constant(torch.tensor(_axes(x, dim))), keepdims=int(keepdim))
    return net.nn(op, x, axes=_axes(x, dim), keep_dims=bool(keepdim))


@operators("mean")
def mean(net: Net, x: Value, dim: Any = None, keepdim: bool = False, **_: Any) -> Value:
    return _reduce(net, "reduce_mean", x, dim, keepdim)


@operators("sum")
def sum_(net: Net, x: Value, dim: Any = None, keepdim: bool = False, **_: Any) -> Value:
    return _reduce(net, "reduce_sum", x, dim, keepdim)


@operators("amax")
def amax(net: Net, x: Value, dim: Any = (), keepdim: bool = False) -> Value:
    return _reduce(net, "reduce_max", x, list([dim] if isinstance(dim, int) else dim) or None, keepdim)


@operators("amin")
def amin(net: Net, x: Value, dim: Any = (), keepdim: bool = False) -> Value:
    return _reduce(net, "reduce_min", x, list([dim] if isinstance(dim, int) else dim) or None, keepdim)


@operators("prod")
def prod(net: Net, x: Value, dim: Any = None, keepdim: bool = False, **_: Any) -> Value:
    return _reduce(net, "reduce_prod", x, dim, keepdim)


def _extreme(net: Net, name: str, x: Value, args: tuple, dim: Any, keepdim: bool) -> Any:
    """All elements, two tensors, or values and positions along a dimension."""
    first = args[0] if args else dim
    if isinstance(first, Value):
        return net.nn(name, x, first)
    if first is None:
        return _reduce(net, f"reduce_{name}", x, None, False)
    keepdim = args[1] if len(args) > 1 else keepdim
    values = _reduce(net, f"reduce_{name}", x, first, keepdim)
    return values, net.compose(f"Arg{name.capitalize()}", x, axis=x.axis(first), keepdims=int(keepdim))


@operators("max")
def max_(net: Net, x: Value, *args: Any, dim: Any = None, keepdim: bool = False) -> Any:
    return _extreme(net, "max", x, args, dim, keepdim)


@operators("min")
def min_(net: Net, x: Value, *args: Any, dim: Any = None, keepdim: bool = False) -> Any:
    return _extreme(net, "min", x, args, dim, keepdim)


def _position(net: Net, op: str, x: Value, dim: Any, keepdim: bool) -> Value:
    if dim is None:
        return net.reshape(net.compose(op, net.reshape(x, (math.prod(x.shape),)), axis=0, keepdims=0), net.result.shape)
    return net.compose(op, x, axis=x.axis(dim), keepdims=int(keepdim))


@operators("argmax")
def argmax(net: Net, x: Value, dim: Any = None, keepdim: bool = False) -> Value:
    return _position(net, "ArgMax", x, dim, keepdim)


@operators("argmin")
def argmin(net: Net, x: Value, dim: Any = None, keepdim: bool = False) -> Value:
    return _position(net, "ArgMin", x, dim, keepdim)


@operators("topk")
def topk(net: Net, x: Value, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> tuple:
    return tuple(net.compose_all("TopK", x, net.constant(torch.tensor([k])), results=2, axis=x.axis(dim), largest=int(largest)))


@operators("cumsum")
def cumsum(net: Net, x: Value, dim: int, **_: Any) -> Value:
    return net.nn("cumulative_sum", net.cast(x, net.result.dtype), axis=x.axis(dim))


@operators("cumprod")
def cumprod(net: Net, x: Value, dim: int, **_: Any) -> Value:
    return net.compose("CumProd", net.cast(x, net.result.dtype), net.constant(torch.tensor(x.axis(dim))))


@operators("sort")
def sort(net: Net, x: Value, *args: Any, dim: int = -1, descending: bool = False, stable: Any = None) -> tuple:
    """Equal elements stay in their order. The ATen form with `stable` has it first."""
    if args and (isinstance(args[0], bool) or args[0] is None):
        args = args[1:]
    dim, descending = (*args, *(dim, descending)[len(args):])
    return topk(net, x, x.shape[dim], dim, descending)


@operators("argsort")
def argsort(net: Net, x: Value, dim: int = -1, descending: bool = False, stable: bool = False) -> Value:
    return topk(net, x, x.shape[dim], dim, descending)[1]


@operators("kthvalue")
def kthvalue(net: Net, x: Value, k: int, dim: int = -1, keepdim: bool = False) -> tuple:
    axis = x.axis(dim)
    parts = (slice_along(net, part, axis, k - 1, 1) for part in topk(net, x, k, dim, False))
    return tuple(part if keepdim else net.reshape(part, [size for i, size in enumerate(x.shape) if i != axis]) for part in parts)


@operators("median")
def median(net: Net, x: Value, dim: Any = None, keepdim: bool = False) -> Any:
    """The lower one of two in the middle."""
    if dim is None:
        flat = net.reshape(x, (math.prod(x.shape),))
        return kthvalue(net, flat, (flat.shape[0] + 1) // 2)[0]
    return kthvalue(net, x, (x.shape[dim] + 1) // 2, dim, keepdim)


@operators("var")
def var(net: Net, x: Value, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None, **_: Any) -> Value:
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    axes = _axes(x, dim)
    deviations = net.nn("sub", x, net.nn("reduce_mean", x, axes=axes, keep_dims=True))
    squares = net.nn("mul", deviations, deviations)
    total = net.nn("reduce_sum", squares, axes=axes, keep_dims=bool(keepdim))
    count = math.prod(x.shape[axis] for axis in axes)
    correction = correction if correction is not None else 1 if unbiased in (None, True) else 0
    if count <= correction:
        raise Unsupported(f"the variance of {count} elements")
    return net.nn("div", total, float(count - correction))


@operators("std")
def std(net: Net, x: Value, *args: Any, **kwargs: Any) -> Value:
    return net.nn("sqrt", var(net, x, *args, **kwargs))


def _mean(net: Net, x: Value, dim: Any = None, keepdim: bool = False) -> Value:
    return net.nn("reduce_mean", x, axes=_axes(x, None if isinstance(dim, bool) else dim), keep_dims=bool(keepdim))


@operators("var_mean")
def var_mean(net: Net, x: Value, *args: Any, **kwargs: Any) -> tuple:
    dim, keepdim = args[0] if args else kwargs.get("dim"), args[2] if len(args) > 2 else kwargs.get("keepdim", False)
    return var(net, x, *args, **kwargs), _mean(net, x, dim, keepdim)


@operators("std_mean")
def std_mean(net: Net, x: Value, *args: Any, **kwargs: Any) -> tuple:
    variance, mean = var_mean(net, x, *args, **kwargs)
    return net.nn("sqrt", variance), mean


@operators("norm", "linalg_vector_norm")
def norm(net: Net, x: Value, p: Any = 2, dim: Any = None, keepdim: bool = False, **_: Any) -> Value:
    axes, p = {"axes": _axes(x, dim), "keep_dims": bool(keepdim)}, 2 if p in (None, "fro") else p
    if not isinstance(p, (int, float)):
        raise Unsupported(f"norms of order {p!r}")
    if p == 2:
        return net.nn("sqrt", net.nn("reduce_sum", net.nn("mul", x, x), **axes))
    size = net.nn("abs", x)
    if p in (1, math.inf, -math.inf):
        return net.nn({1: "reduce_sum", math.inf: "reduce_max", -math.inf: "reduce_min"}[p], size, **axes)
    if p == 0:
        return net.nn("reduce_sum", net.nn("sign", size), **axes)
    power = lambda base, exponent: net.compose("Pow", base, net.constant(torch.tensor(float(exponent))))  # noqa: E731
    return power(net.nn("reduce_sum", power(size, p), **axes), 1 / p)


@operators("logsumexp")
def logsumexp(net: Net, x: Value, dim: Any, keepdim: bool = False) -> Value:
    return net.compose("ReduceLogSumExp", x, net.constant(torch.tensor(_axes(x, dim))), keepdims=int(keepdim))


def _quantifier(net: Net, op: str, x: Value, dim: Any, keepdim: bool) -> Value:
    """Truth values are compared as numbers."""
    truth = x if x.dtype == torch.bool else net.nn("not", net.compose("Equal", x, net.constant(torch.zeros(1, dtype=x.dtype))))
    numbers = net.cast(truth, torch.int32)
    return net.cast(net.compose(op, numbers, net.constant(torch.tensor(_axes(x, dim))), keepdims=int(keepdim)), torch.bool)


@operators("any")
def any_(net: Net, x: Value, dim: Any = None, keepdim: bool = False) -> Value:
    return _quantifier(net, "ReduceMax", x, dim, keepdim)


@operators("all")
def all_(net: Net, x: Value, dim: Any = None, keepdim: bool = False) -> Value:
    return _quantifier(net, "ReduceMin", x, dim, keepdim)
