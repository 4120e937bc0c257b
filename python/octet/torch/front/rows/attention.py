# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention of queries, keys and values; nn.MultiheadAttention and the Transformer's layers, whose linear layers stay such."""
from __future__ import annotations

from typing import Any, Optional

import torch

from ..net import Net, Unsupported, Value
from ..table import operators

_LOWEST = torch.finfo(torch.float32).min


def transposed_keys(net: Net, key: Value) -> Value:
    return net.nn("transpose", key, permutation=[*range(key.rank - 2), key.rank - 1, key.rank - 2])


@operators("scaled_dot_product_attention", "_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_attention_math")
def attention(net: Net, query: Value, key: Value, value: Value, attn_mask: Optional[Value] = None, dropout_p: float = 0.0,
              is_causal: bool = False, scale: Optional[float] = None, enable_gqa: bool = False) -> Any:
    """Softmax of scaled scores, times the values."""
    if dropout_p:
        raise Unsupported("dropout_p, random elements; give 0 in evaluation")
    if enable_gqa:
        key, value = (_repeated(net, x, query.shape[-3] // x.shape[-3]) for x in (key, value))
    scores = net.nn("matmul", query, transposed_keys(net, key))
    scores = net.nn("mul", scores, float(query.shape[-1] ** -0.5 if scale is None else scale))
    if is_causal:
        attn_mask = net.constant(torch.ones(scores.shape[-2:], dtype=torch.bool).tril())
    if attn_mask is not None:
        scores = masked(net, scores, attn_mask)
    attended = net.nn("matmul", net.nn("softmax", scores, axis=scores.rank - 1), value)
    return attended if attn_mask is None else _without_masked_rows(net, attended, attn_mask)


def _without_masked_rows(net: Net, attended: Value, mask: Value) -> Value:
    """Zeros for queries whose keys are all left out, of which softmax would make the mean or NaN."""
    kept = _find_kept(net, mask)
    if kept.tensor is not None and kept.tensor.all():
        return attended
    return net.nn("select", kept, attended, net.constant(torch.zeros(1)), dtype=torch.float32)


def _find_kept(net: Net, mask: Value) -> Value:
    """Which queries have a key; once for a mask that several layers have."""
    if mask.tensor is not None:
        left = mask.tensor if mask.dtype == torch.bool else mask.tensor != -torch.inf
        return net.constant(left.any(-1, keepdim=True))
    if mask.number not in net.kept:
        most = net.nn("reduce_max", net.cast(mask, torch.float32), axes=[mask.rank - 1], keep_dims=True)
        least = 0.5 if mask.dtype == torch.bool else torch.finfo(torch.float32).min
        net.kept[mask.number] = net.compose("GreaterOrEqual", most, net.constant(torch.tensor([least])))
    return net.kept[mask.number]


def _repeated(net: Net, x: Value, times: int) -> Value:
    """Heads of keys and values that several heads of queries share."""
    if times == 1:
        return x
    *batch, heads, length, size = x.shape
    shape = [*batch, heads, times, length, size]
    each = net.compose("Expand", net.reshape(x, (*batch, heads, 1, length, size)), net.constant(torch.tensor(shape)))
    return net.reshape(each, (*batch, heads * times, length, size))


def masked(net: Net, scores: Value, mask: Value) -> Value:
    """Truth values say what is kept; numbers are added."""
    if mask.dtype != torch.bool:
        return net.nn("add", scores, mask)
    if mask.tensor is not None:
        bias = torch.zeros(mask.shape).masked_fill(~mask.tensor, _LOWEST)
        return net.nn("add", scores, net.constant(bias))
    return net.nn("select", mask, scores, net.constant(torch.tensor([_LOWEST])), dtype=scores.dtype)
