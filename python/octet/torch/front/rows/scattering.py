# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writing along one dimension: scatter and its relatives."""
from __future__ import annotations

from typing import Any

import torch

from ..net import Net, Operand, Unsupported, Value
from ..table import operators
from .elementwise import promoted
from .movement import slice_along

_REDUCTIONS = {None: "none", "add": "add", "sum": "add", "multiply": "mul", "prod": "mul", "amax": "max", "amin": "min"}


@operators("scatter")
def scatter(net: Net, x: Value, dim: int, index: Value, src: Operand = None, *, value: Any = None, reduce: Any = None) -> Value:
    """Of the source counts the part that is as large as the positions."""
    if reduce not in _REDUCTIONS:
        raise Unsupported(f"reduce={reduce!r}")
    src = value if src is None else src
    if isinstance(src, Value):
        src = promoted(net, src, x.dtype)
        for axis, size in enumerate(index.shape):
            src = slice_along(net, src, axis, 0, size)
    else:
        src = net.constant(torch.full(index.shape, src, dtype=x.dtype))
    return net.compose("ScatterElements", x, index, src, axis=x.axis(dim), reduction=_REDUCTIONS[reduce])


@operators("scatter_add")
def scatter_add(net: Net, x: Value, dim: int, index: Value, src: Value) -> Value:
    return scatter(net, x, dim, index, src, reduce="add")


@operators("scatter_reduce")
def scatter_reduce(net: Net, x: Value, dim: int, index: Value, src: Value, reduce: str, *, include_self: bool = True) -> Value:
    if not include_self:
        raise Unsupported("include_self=False")
    return scatter(net, x, dim, index, src, reduce=reduce)


def _along(net: Net, x: Value, dim: int, index: Value, source: Value, combination: int) -> Value:
    """Slices of x at positions of one dimension, replaced (0) or increased (1): numbers of nn.scatter."""
    order = list(range(x.rank))
    order.insert(0, order.pop(x.axis(dim)))
    back = [order.index(i) for i in range(x.rank)]
    move = lambda value, permutation: net.nn("transpose", value, permutation=permutation)  # noqa: E731
    written = net.nn("scatter", move(x, order), index, move(promoted(net, source, x.dtype), order), combination=f"{combination} : i32")
    return move(written, back)


@operators("index_add")
def index_add(net: Net, x: Value, dim: int, index: Value, source: Value, *, alpha: float = 1) -> Value:
    return _along(net, x, dim, index, source if alpha == 1 else net.nn("mul", source, alpha), 1)


@operators("index_copy")
def index_copy(net: Net, x: Value, dim: int, index: Value, source: Value) -> Value:
    return _along(net, x, dim, index, source, 0)


@operators("index_fill")
def index_fill(net: Net, x: Value, dim: int, index: Value, value: Operand) -> Value:
    shape = [index.shape[0] if axis == x.axis(dim) else size for axis, size in enumerate(x.shape)]
    if isinstance(value, Value):
        raise Unsupported("values that are computed")
    return _along(net, x, dim, index, net.constant(torch.full(shape, value, dtype=x.dtype)), 0)


@operators("slice_scatter")
def slice_scatter(net: Net, x: Value, src: Value, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Value:
    axis = x.axis(dim)
    first, last, step = slice(start, end, step).indices(x.shape[axis])
    if step != 1:
        return _along(net, x, dim, net.constant(torch.arange(first, last, step)), src, 0)
    pieces = [slice_along(net, x, axis, 0, first)] if first else []
    pieces += [promoted(net, src, x.dtype)] if last > first else []
    pieces += [slice_along(net, x, axis, last, x.shape[axis] - last)] if last < x.shape[axis] else []
    return net.nn("concat", *pieces, axis=axis) if len(pieces) > 1 else pieces[0]


@operators("select_scatter")
def select_scatter(net: Net, x: Value, src: Value, dim: int, index: int) -> Value:
    axis = x.axis(dim)
    index %= x.shape[axis]
    part = net.reshape(src, (*x.shape[:axis], 1, *x.shape[axis + 1:]))
    return slice_scatter(net, x, part, axis, index, index + 1)
