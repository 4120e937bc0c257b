# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Data movement: shapes, slices, concatenations, gathers."""
from __future__ import annotations

import math
from typing import Any, Optional, Sequence

import torch
from torch import nn

from ..net import Net, Unsupported, Value
from ..table import ATEN, METHODS, methods, modules, operators


@operators("view", "reshape", "flatten", "unflatten", "unsqueeze", "squeeze", "_unsafe_view", "view_as", "reshape_as", "_reshape_alias", "ravel")
def reshape(net: Net, x: Value, *_: Any, **__: Any) -> Value:
    """The elements in their order, in the shape that PyTorch computed."""
    return net.nn("reshape", x, shape=net.result.shape)


modules(nn.Flatten, nn.Unflatten)(lambda net, module, x: reshape(net, x))


@operators("permute")
def permute(net: Net, x: Value, *dims: Any) -> Value:
    dims = dims[0] if len(dims) == 1 and isinstance(dims[0], (list, tuple)) else dims
    return net.nn("transpose", x, permutation=[x.axis(dim) for dim in dims])


@operators("transpose", "swapaxes", "swapdims")
def transpose(net: Net, x: Value, dim0: int, dim1: int) -> Value:
    order = list(range(x.rank))
    order[x.axis(dim0)], order[x.axis(dim1)] = order[x.axis(dim1)], order[x.axis(dim0)]
    return net.nn("transpose", x, permutation=order)


@operators("t", "numpy_T", "mT")
def t(net: Net, x: Value) -> Value:
    return transpose(net, x, -2, -1) if x.rank > 1 else x


@operators("movedim", "moveaxis")
def movedim(net: Net, x: Value, source: Any, destination: Any) -> Value:
    """Sizes that differ tell where PyTorch puts each dimension."""
    names = torch.empty([1 + i for i in range(x.rank)]).movedim(source, destination).shape
    return net.nn("transpose", x, permutation=[size - 1 for size in names])


@operators("cat", "concat", "concatenate")
def cat(net: Net, tensors: Sequence[Value], dim: int = 0, **kwargs: Any) -> Value:
    dim = kwargs.get("axis", dim)
    full = [net.cast(x, net.result.dtype) for x in tensors if x.shape != (0,)]
    return net.nn("concat", *full, axis=full[0].axis(dim))


@operators("stack")
def stack(net: Net, tensors: Sequence[Value], dim: int = 0) -> Value:
    axis = dim % (tensors[0].rank + 1)
    shape = list(tensors[0].shape)
    shape.insert(axis, 1)
    return net.nn("concat", *(net.nn("reshape", x, shape=shape) for x in tensors), axis=axis)


def slice_along(net: Net, x: Value, axis: int, start: int, size: int, step: int = 1, is_move: bool = False) -> Value:
    """`is_move`: for an operator that needs it, see Net.move."""
    if start == 0 and size == x.shape[axis] and step == 1:
        return x
    at = lambda value, other: [value if i == axis else other[i] for i in range(x.rank)]  # noqa: E731
    return (net.move if is_move else net.nn)("slice", x, starts=at(start, [0] * x.rank), sizes=at(size, x.shape), steps=at(step, [1] * x.rank))


@operators("slice")
def slice_(net: Net, x: Value, dim: int = 0, start: Optional[int] = None, end: Optional[int] = None, step: int = 1) -> Value:
    axis = x.axis(dim)
    first, last, step = slice(start, end, step).indices(x.shape[axis])
    return slice_along(net, x, axis, first, len(range(first, last, step)), step)


@operators("narrow")
def narrow(net: Net, x: Value, dim: int, start: int, length: int) -> Value:
    return slice_along(net, x, x.axis(dim), start % max(x.shape[dim], 1), length)


@operators("select")
def select(net: Net, x: Value, dim: int, index: int) -> Value:
    axis = x.axis(dim)
    part = slice_along(net, x, axis, index % x.shape[axis], 1)
    return net.nn("reshape", part, shape=net.result.shape)


def _parts(net: Net, x: Value, dim: int) -> tuple:
    """The parts of a dimension as long as PyTorch's results."""
    axis, start, parts = x.axis(dim), 0, []
    for part in net.result:
        parts.append(slice_along(net, x, axis, start, part.shape[axis]))
        start += part.shape[axis]
    return tuple(parts)


@operators("split", "chunk", "split_with_sizes", "tensor_split")
def split(net: Net, x: Value, sizes: Any, dim: int = 0) -> tuple:
    return _parts(net, x, dim)


@operators("unbind")
def unbind(net: Net, x: Value, dim: int = 0) -> tuple:
    axis = x.axis(dim)
    shape = [size for i, size in enumerate(x.shape) if i != axis]
    return tuple(net.nn("reshape", slice_along(net, x, axis, i, 1), shape=shape) for i in range(x.shape[axis]))


@operators("expand", "expand_as", "broadcast_to")
def expand(net: Net, x: Value, *_: Any, **__: Any) -> Value:
    return x if x.shape == tuple(net.result.shape) else net.compose("Expand", x, net.constant(torch.tensor(list(net.result.shape))))


@operators("repeat_interleave")
def repeat_interleave(net: Net, x: Value, repeats: Any, dim: Optional[int] = None, **_: Any) -> Value:
    x = net.reshape(x, (math.prod(x.shape),)) if dim is None else x
    axis = 0 if dim is None else x.axis(dim)
    if isinstance(repeats, Value):
        if repeats.tensor is None:
            raise Unsupported("repeats that are computed; the size of the result depends on them")
        places = torch.arange(x.shape[axis]).repeat_interleave(repeats.tensor)
        return net.nn("gather", x, net.constant(places), axis=axis)
    each = net.reshape(x, (*x.shape[:axis + 1], 1, *x.shape[axis + 1:]))
    shape = (*x.shape[:axis + 1], repeats, *x.shape[axis + 1:])
    return net.reshape(net.compose("Expand", each, net.constant(torch.tensor(shape))), net.result.shape)


@operators("repeat", "tile")
def repeat(net: Net, x: Value, *sizes: Any) -> Value:
    sizes = list(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (list, tuple)) else list(sizes)
    rank = max(len(sizes), x.rank)
    sizes = [1] * (rank - len(sizes)) + sizes
    return net.compose("Tile", net.reshape(x, (*[1] * (rank - x.rank), *x.shape)), net.constant(torch.tensor(sizes)))


@operators("pad", "constant_pad_nd")
def pad(net: Net, x: Value, pad: Sequence[int], mode: Any = "constant", value: Optional[float] = None) -> Value:
    if not isinstance(mode, str):
        mode, value = "constant", mode
    names = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    low, high = [0] * x.rank, [0] * x.rank
    for i in range(len(pad) // 2):
        low[x.rank - 1 - i], high[x.rank - 1 - i] = pad[2 * i], pad[2 * i + 1]
    sizes = net.constant(torch.tensor([*low, *high]))
    if mode == "constant":
        return net.compose("Pad", x, sizes, net.constant(torch.tensor(value or 0, dtype=x.dtype)))
    return net.compose("Pad", x, sizes, mode=names[mode])


for _rank in (1, 2, 3):
    operators(f"reflection_pad{_rank}d")(lambda net, x, padding: pad(net, x, padding, "reflect"))
    operators(f"replication_pad{_rank}d")(lambda net, x, padding: pad(net, x, padding, "replicate"))


@operators("pixel_shuffle")
def pixel_shuffle(net: Net, x: Value, upscale_factor: int) -> Value:
    return net.compose("DepthToSpace", x, blocksize=upscale_factor, mode="CRD")


modules(nn.PixelShuffle)(lambda net, module, x: pixel_shuffle(net, x, module.upscale_factor))
modules(nn.ZeroPad1d, nn.ZeroPad2d, nn.ZeroPad3d)(lambda net, module, x: pad(net, x, module.padding))
modules(nn.ConstantPad1d, nn.ConstantPad2d, nn.ConstantPad3d)(lambda net, module, x: pad(net, x, module.padding, "constant", module.value))
modules(nn.ReflectionPad1d, nn.ReflectionPad2d, nn.ReflectionPad3d)(lambda net, module, x: pad(net, x, module.padding, "reflect"))
modules(nn.CircularPad1d, nn.CircularPad2d, nn.CircularPad3d)(lambda net, module, x: pad(net, x, module.padding, "circular"))
modules(nn.ReplicationPad1d, nn.ReplicationPad2d, nn.ReplicationPad3d)(lambda net, module, x: pad(net, x, module.padding, "replicate"))


@operators("pixel_unshuffle")
def pixel_unshuffle(net: Net, x: Value, downscale_factor: int) -> Value:
    *batch, c, h, w = x.shape
    factor, rank = downscale_factor, len(batch)
    parts = net.reshape(x, (*batch, c, h // factor, factor, w // factor, factor))
    moved = net.nn("transpose", parts, permutation=[*range(rank), *(rank + i for i in (0, 2, 4, 1, 3))])
    return net.reshape(moved, net.result.shape)


modules(nn.PixelUnshuffle)(lambda net, module, x: pixel_unshuffle(net, x, module.downscale_factor))
modules(nn.ChannelShuffle)(lambda net, module, x: channel_shuffle(net, x, module.groups))


@operators("channel_shuffle", "native_channel_shuffle")
def channel_shuffle(net: Net, x: Value, groups: int) -> Value:
    n, c, *sizes = x.shape
    split = net.nn("reshape", x, shape=(n, groups, c // groups, *sizes))
    moved = net.nn("transpose", split, permutation=[0, 2, 1, *range(3, split.rank)])
    return net.nn("reshape", moved, shape=x.shape)


@operators("flip")
def flip(net: Net, x: Value, *dims: Any) -> Value:
    dims = dims[0] if isinstance(dims[0], (list, tuple)) else dims
    for dim in dims:
        x = slice_along(net, x, x.axis(dim), x.shape[dim] - 1, x.shape[dim], -1)
    return x


@operators("roll")
def roll(net: Net, x: Value, shifts: Any, dims: Any = None) -> Value:
    shifts = [shifts] if isinstance(shifts, int) else shifts
    dims = [dims] if isinstance(dims, int) else dims
    if not dims:
        flat = net.reshape(x, (math.prod(x.shape),))
        return net.reshape(roll(net, flat, shifts, [0]), x.shape)
    for shift, dim in zip(shifts, dims):
        axis = x.axis(dim)
        shift %= x.shape[axis]
        if shift:
            last = slice_along(net, x, axis, x.shape[axis] - shift, shift)
            x = net.nn("concat", last, slice_along(net, x, axis, 0, x.shape[axis] - shift), axis=axis)
    return x


def gather_flat(net: Net, x: Value, places: torch.Tensor) -> Value:
    """Elements at constant positions, given in the order of the elements."""
    return net.nn("gather", net.reshape(x, (math.prod(x.shape),)), net.constant(places), axis=0)


def _viewed(name: str) -> Any:
    """A row whose result has the elements that the same view of their positions has."""
    def row(net: Net, x: Value, *args: Any, **kwargs: Any) -> Value:
        places = torch.arange(math.prod(x.shape)).reshape(x.shape)
        return gather_flat(net, x, getattr(places, name)(*args, **kwargs))
    return row


for _name in ("diagonal", "diag", "rot90"):
    operators(_name)(_viewed(_name))
methods("unfold")(_viewed("unfold"))
ATEN["unfold"] = METHODS["unfold"]


@operators("tril")
def tril(net: Net, x: Value, diagonal: int = 0) -> Value:
    return _triangle(net, x, torch.ones(x.shape[-2:], dtype=torch.bool).tril(diagonal))


@operators("triu")
def triu(net: Net, x: Value, diagonal: int = 0) -> Value:
    return _triangle(net, x, torch.ones(x.shape[-2:], dtype=torch.bool).triu(diagonal))


def _triangle(net: Net, x: Value, kept: torch.Tensor) -> Value:
    return net.nn("select", net.constant(kept), x, net.constant(torch.zeros(1, dtype=x.dtype)), dtype=x.dtype)
