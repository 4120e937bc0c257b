# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of tables."""
from __future__ import annotations

from typing import Any, Optional

import torch
from torch import nn

from ..net import Net, Unsupported, Value
from ..table import modules, operators
from .movement import slice_along


@operators("embedding")
def embedding(net: Net, *args: Any, **kwargs: Any) -> Value:
    """The function has the positions first, the ATen operator the table."""
    first, second = args[:2] if len(args) > 1 else (args[0], kwargs["weight"])
    if kwargs.get("max_norm") is not None or len(args) > 3 and isinstance(args[3], float):
        raise Unsupported("max_norm, which changes the table; normalize it first")
    indices, weight = (second, first) if first.dtype.is_floating_point else (first, second)
    return net.nn("gather", weight, indices, axis=0)


@modules(nn.Embedding)
def embedding_module(net: Net, module: Any, x: Value) -> Value:
    return embedding(net, x, module.weight, max_norm=module.max_norm)


@operators("one_hot")
def one_hot(net: Net, x: Value, num_classes: int = -1) -> Value:
    if num_classes < 0:
        raise Unsupported("num_classes that is not given: the size of the result depends on data")
    return net.cast(net.compose("Equal", net.reshape(x, (*x.shape, 1)), net.constant(torch.arange(num_classes))), torch.int64)


@operators("embedding_bag", "_embedding_bag", "_embedding_bag_forward_only")
def embedding_bag(net: Net, *args: Any, **kwargs: Any) -> Any:
    """The function has the positions first, the ATen operator the table."""
    names = ("input", "weight", "offsets", "max_norm", "norm_type", "scale_grad_by_freq", "mode", "sparse", "per_sample_weights", "include_last_offset", "padding_idx")
    if args[0].dtype.is_floating_point:
        names = ("weight", "input", "offsets", "scale_grad_by_freq", "mode", "sparse", "per_sample_weights", "include_last_offset", "padding_idx")
    given = {**dict(zip(names, args)), **kwargs}
    if given.get("max_norm") is not None or given.get("padding_idx") not in (None, -1):
        raise Unsupported("max_norm and padding_idx")
    mode = given.get("mode", "mean")
    name = {0: "sum", 1: "mean", 2: "max"}.get(mode, mode)
    bags = _bags(net, given["input"], given["weight"], given.get("offsets"), given.get("include_last_offset", False), given.get("per_sample_weights"))
    parts = [net.nn(f"reduce_{name}", bag, axes=[bag.rank - 2], keep_dims=False) for bag in bags]
    y = parts[0] if len(parts) == 1 else net.nn("concat", *(net.reshape(part, (1, *part.shape)) for part in parts), axis=0)
    return (y, None, None, None) if isinstance(net.result, tuple) else y


def _bags(net: Net, x: Value, weight: Value, offsets: Optional[Value], has_end: bool, factors: Optional[Value]) -> list:
    """The rows of all bags at once, if they are equally long, or those of each."""
    rows = net.nn("gather", weight, x, axis=0)
    if factors is not None:
        rows = net.nn("mul", rows, net.reshape(factors, (*factors.shape, 1)))
    if x.rank == 2:
        return [rows]
    if offsets is None or offsets.tensor is None:
        raise Unsupported("offsets that are computed; give a matrix of positions")
    edges = [*offsets.tensor.tolist(), *([] if has_end else [x.shape[0]])]
    if any(start == end for start, end in zip(edges, edges[1:])):
        raise Unsupported("an empty bag")
    return [slice_along(net, rows, 0, start, end - start) for start, end in zip(edges, edges[1:])]


@modules(nn.EmbeddingBag)
def embedding_bag_module(net: Net, module: Any, x: Value, offsets: Optional[Value] = None, per_sample_weights: Optional[Value] = None) -> Value:
    return embedding_bag(net, x, module.weight, offsets, max_norm=module.max_norm, mode=module.mode, per_sample_weights=per_sample_weights,
                         include_last_offset=module.include_last_offset, padding_idx=module.padding_idx)
