# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elements at positions that are given or computed: read, and written."""
from __future__ import annotations

import math
import operator
from typing import Any, List, Optional, Sequence, Tuple

import torch

from ..net import Net, Operand, Unsupported, Value
from ..table import operators
from .elementwise import promoted
from .movement import gather_flat, slice_, slice_along

_DEPENDS = "positions by truth values that are computed: the size of the result depends on data; multiply by the mask or use torch.where"


def _constant(item: Any) -> Optional[torch.Tensor]:
    return item.tensor if isinstance(item, Value) else item if isinstance(item, torch.Tensor) else None


def _index_list(index: Any, rank: int) -> List[Any]:
    """One item for each dimension, and None for each new one; truth values become positions."""
    items: List[Any] = []
    for item in index if isinstance(index, tuple) else [index]:
        item = torch.tensor(item) if isinstance(item, list) else item
        if getattr(item, "dtype", None) == torch.bool:
            if _constant(item) is None:
                raise Unsupported(_DEPENDS)
            items += _constant(item).nonzero(as_tuple=True)
        else:
            items.append(item)
    used = sum(1 for item in items if item is not None and item is not Ellipsis)
    places = [i for i, item in enumerate(items) if item is Ellipsis] or [len(items)]
    items[places[0]:places[0] + 1] = [slice(None)] * (rank - used)
    return items


def _is_constant(items: Sequence[Any]) -> bool:
    return all(not isinstance(item, Value) or item.tensor is not None for item in items)


def _plain(items: Sequence[Any]) -> tuple:
    """The items without values of the network, as tensors take them."""
    return tuple(item if _constant(item) is None else _constant(item) for item in items)


def _is_tensor(item: Any) -> bool:
    return isinstance(item, (Value, torch.Tensor))


@operators(operator.getitem)
def getitem(net: Net, x: Value, index: Any) -> Value:
    """Numbers, slices, None, Ellipsis, tensors of positions."""
    items = _index_list(index, x.rank)
    if sum(map(_is_tensor, items)) > 1:
        return _take_many(net, x, items)
    axis, result = 0, x
    for item in items:
        if item is None:
            continue
        if _is_tensor(item):
            item = item if isinstance(item, Value) else net.constant(item)
            result = net.nn("gather", result, net.cast(item, torch.int64) if item.tensor is None else net.constant(item.tensor.long()), axis=axis)
            axis += item.rank
            continue
        if isinstance(item, int):
            item = slice(item, item + 1 or None)
        result = slice_(net, result, axis, item.start, item.stop, item.step or 1)
        axis += 1
    return net.reshape(result, net.result.shape)


def _take_many(net: Net, x: Value, items: List[Any]) -> Value:
    if _is_constant(items):
        places = torch.arange(math.prod(x.shape)).reshape(x.shape)
        return gather_flat(net, x, places[_plain(items)])
    axes = _find_axes(items)
    rows, places = _find_rows(net, x, items, axes)
    taken = net.nn("gather", rows, places, axis=0)  # the positions' dimensions, then the others
    if axes == list(range(axes[0], axes[0] + len(axes))):
        front, rank = axes[0], places.rank
        order = [*range(rank, rank + front), *range(rank), *range(rank + front, taken.rank)]
        taken = net.nn("transpose", taken, permutation=order)
    return net.reshape(taken, net.result.shape)


def _find_rows(net: Net, x: Value, items: Sequence[Any], axes: Sequence[int]) -> Tuple[Value, Value]:
    """The dimensions with positions as one, in front, and the positions in it."""
    others = [axis for axis in range(x.rank) if axis not in axes]
    moved = net.nn("transpose", x, permutation=[*axes, *others]) if [*axes, *others] != list(range(x.rank)) else x
    rows = net.reshape(moved, (math.prod(x.shape[axis] for axis in axes), *(x.shape[axis] for axis in others)))
    place: Any = None
    for axis in axes:
        position = _from_start(net, items[axis], x.shape[axis])
        place = position if place is None else net.nn("add", net.nn("mul", place, x.shape[axis]), position)
    return rows, place


def _from_start(net: Net, item: Any, size: int) -> Value:
    if _constant(item) is not None:
        return net.constant(torch.where(_constant(item) < 0, _constant(item) + size, _constant(item)).long())
    item = net.cast(item, torch.int64)
    is_behind = net.compose("Less", item, net.constant(torch.zeros(1, dtype=torch.int64)))
    return net.nn("select", is_behind, net.nn("add", item, size), item, dtype=torch.int64)


def _put(net: Net, x: Value, parts: Sequence[slice], value: Value, axis: int = 0) -> Value:
    """x with a box of it replaced."""
    while axis < x.rank and parts[axis].indices(x.shape[axis])[:2] == (0, x.shape[axis]):
        axis += 1
    if axis == x.rank:
        return value
    start, end, _ = parts[axis].indices(x.shape[axis])
    inner = _put(net, slice_along(net, x, axis, start, end - start), parts, value, axis + 1)
    pieces = [slice_along(net, x, axis, 0, start)] if start else []
    pieces += [inner] + ([slice_along(net, x, axis, end, x.shape[axis] - end)] if end < x.shape[axis] else [])
    return net.nn("concat", *pieces, axis=axis) if len(pieces) > 1 else inner


def _fitted(net: Net, value: Operand, shape: Sequence[int], dtype: torch.dtype) -> Value:
    """A value that is written, in the shape of where it goes."""
    value = promoted(net, value, dtype)
    if value.shape == tuple(shape):
        return value
    if value.rank > len(shape):
        value = net.reshape(value, value.shape[value.rank - len(shape):])
    return net.compose("Expand", value, net.constant(torch.tensor(list(shape)))) if value.shape != tuple(shape) else value


def _write(net: Net, x: Value, items: List[Any], value: Operand, adds: bool = False) -> Value:
    combination = "1 : i32" if adds else "0 : i32"  # sum or replace
    if _is_constant(items):
        places = torch.arange(math.prod(x.shape)).reshape(x.shape)[_plain(items)]
        updates = net.reshape(_fitted(net, value, places.shape, x.dtype), (math.prod(places.shape),))
        flat = net.reshape(x, (math.prod(x.shape),))
        return net.reshape(net.nn("scatter", flat, net.constant(places.reshape(-1)), updates, combination=combination), x.shape)
    axes = _find_axes(items)
    rows, place = _find_rows(net, x, items, axes)
    others = [axis for axis in range(x.rank) if axis not in axes]
    front = axes[0] if axes == list(range(axes[0], axes[0] + len(axes))) else 0  # where the positions' dimensions stand in x[index]
    outer, inner = [x.shape[axis] for axis in others[:front]], [x.shape[axis] for axis in others[front:]]
    updates = _fitted(net, value, (*outer, *place.shape, *inner), x.dtype)
    order = [*range(front, front + place.rank), *range(front), *range(front + place.rank, updates.rank)]
    updates = net.nn("transpose", updates, permutation=order) if front else updates
    count = math.prod(place.shape)
    written = net.nn("scatter", rows, net.reshape(place, (count,)), net.reshape(updates, (count, *rows.shape[1:])), combination=combination)
    order = [*axes, *others]
    written = net.reshape(written, [x.shape[axis] for axis in order])
    return written if order == list(range(x.rank)) else net.nn("transpose", written, permutation=[order.index(axis) for axis in range(x.rank)])


def _find_axes(items: Sequence[Any]) -> List[int]:
    """The dimensions that tensors of positions index, where nothing else does."""
    if any(item is None or not _is_tensor(item) and item != slice(None) for item in items):
        raise Unsupported("tensors of positions beside numbers, parts and new dimensions")
    return [axis for axis, item in enumerate(items) if _is_tensor(item)]


@operators(operator.setitem)
def setitem(net: Net, x: Value, index: Any, value: Operand) -> Value:
    """x as it is after x[index] = value."""
    if getattr(index, "dtype", None) == torch.bool and _constant(index) is None:
        return _masked(net, x, index, value)
    items = _index_list(index, x.rank)
    boxes = [slice(item, item + 1 or None) if isinstance(item, int) else item for item in items]
    if all(isinstance(box, slice) and box.step in (None, 1) for box in boxes):
        shape = torch.empty(x.shape, device="meta")[tuple(items)].shape
        box = [len(range(*part.indices(size))) for part, size in zip(boxes, x.shape)]
        return _put(net, x, boxes, net.reshape(_fitted(net, value, shape, x.dtype), box))
    return _write(net, x, items, value)


def _masked(net: Net, x: Value, mask: Value, value: Operand) -> Value:
    if isinstance(value, Value) and math.prod(value.shape) != 1:
        raise Unsupported(_DEPENDS)
    mask = net.reshape(mask, (*mask.shape, *[1] * (x.rank - mask.rank)))
    return net.nn("select", mask, promoted(net, value, x.dtype), x, dtype=x.dtype)


@operators("index_put", "_unsafe_index_put")
def index_put(net: Net, x: Value, indices: Sequence[Any], values: Operand, accumulate: bool = False, *_: Any) -> Value:
    if len(indices) == 1 and getattr(indices[0], "dtype", None) == torch.bool and not accumulate:
        return setitem(net, x, indices[0], values)
    index = tuple(slice(None) if item is None else item for item in indices)
    return _write(net, x, _index_list(index, x.rank), values, accumulate)


@operators("index", "_unsafe_index")
def index(net: Net, x: Value, indices: Sequence[Any]) -> Value:
    return getitem(net, x, tuple(slice(None) if item is None else item for item in indices))


@operators("index_select")
def index_select(net: Net, x: Value, dim: int, index: Value) -> Value:
    return net.nn("gather", x, index, axis=x.axis(dim))


@operators("take_along_dim")
def take_along_dim(net: Net, x: Value, indices: Value, dim: Optional[int] = None) -> Value:
    if dim is None:
        return net.nn("gather", net.reshape(x, (math.prod(x.shape),)), net.reshape(indices, (math.prod(indices.shape),)), axis=0)
    axis = x.axis(dim)
    spread = lambda y, other: _fitted(net, y, [size if i == axis else max(size, other.shape[i]) for i, size in enumerate(y.shape)], y.dtype)  # noqa: E731
    return gather(net, spread(x, indices), dim, spread(indices, x))


@operators("gather")
def gather(net: Net, x: Value, dim: int, index: Value, **_: Any) -> Value:
    return net.compose("GatherElements", x, index, axis=x.axis(dim))
