# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""nn.MultiheadAttention, and the layers of nn.Transformer composed of rows, so that linear layers stay such."""
from __future__ import annotations

from typing import Any, Optional, Sequence, Tuple

import torch
from torch import nn

from ..net import Net, Unsupported, Value
from ..table import FUNCTIONS, MODULES, modules
from .attention import masked, transposed_keys
from .movement import slice_along


def _swapped(net: Net, x: Value) -> Value:
    return net.nn("transpose", x, permutation=[1, 0, 2])


def _projections(net: Net, m: Any, inputs: Tuple[Value, Value, Value]) -> list:
    """Queries, keys and values; if all are of one tensor, a single linear layer makes them."""
    size, weight, bias = m.embed_dim, m.in_proj_weight, m.in_proj_bias
    part = lambda value, i: value and net.constant(value.tensor[i * size:(i + 1) * size], f"{value.name}.{'qkv'[i]}")  # noqa: E731
    if weight is not None and inputs[0] is inputs[1] is inputs[2]:
        joined = net.nn("linear", inputs[0], weight, bias)
        return [slice_along(net, joined, joined.rank - 1, i * size, size) for i in range(3)]
    weights = [part(weight, i) for i in range(3)] if weight is not None else [m.q_proj_weight, m.k_proj_weight, m.v_proj_weight]
    return [net.nn("linear", x, weights[i], part(bias, i)) for i, x in enumerate(inputs)]


def _added(net: Net, m: Any, x: Value, bias: Optional[Value]) -> Value:
    """Keys or values [batch, length, size] with one more of bias_k or bias_v, and one of zeros."""
    shape = [x.shape[0], 1, x.shape[2]]
    rows = [bias.tensor.expand(shape)] if bias is not None else []
    rows += [torch.zeros(shape)] if m.add_zero_attn else []
    return net.nn("concat", x, *map(net.constant, rows), axis=1) if rows else x


def _bias_of(net: Net, mask: Optional[Value], shape: Any, added: int) -> Optional[Value]:
    """What a mask adds to the scores: truth values say what is left out."""
    if mask is None:
        return None
    if mask.tensor is not None:
        values = mask.tensor if mask.dtype != torch.bool else torch.zeros(mask.shape).masked_fill(mask.tensor, torch.finfo(torch.float32).min)
        values = values.clamp_min(torch.finfo(torch.float32).min).reshape(shape(tuple(mask.shape)))
        return net.constant(nn.functional.pad(values, (0, added)))
    mask = net.reshape(mask, shape(mask.shape))
    if mask.dtype == torch.bool:
        mask = net.nn("select", mask, net.constant(torch.tensor([torch.finfo(torch.float32).min])), net.constant(torch.zeros(1)), dtype=torch.float32)
    return net.nn("pad", mask, low=[0] * mask.rank, high=[*[0] * (mask.rank - 1), added]) if added else mask


def _attend(net: Net, q: Value, k: Value, v: Value, heads: int, biases: Sequence[Value]) -> Tuple[Value, Value]:
    """What queries [batch, length, size] attend to, in their shape, and the weights."""
    (b, length, size), each = q.shape, q.shape[2] // heads
    q, k, v = (net.nn("transpose", net.reshape(x, (b, x.shape[1], heads, each)), permutation=[0, 2, 1, 3]) for x in (q, k, v))
    scores = net.nn("matmul", net.nn("mul", q, float(each) ** -0.5), transposed_keys(net, k))
    for bias in biases:
        scores = masked(net, scores, bias)
    weights = net.nn("softmax", scores, axis=3)
    return net.reshape(net.nn("transpose", net.nn("matmul", weights, v), permutation=[0, 2, 1, 3]), (b, length, size)), weights


@modules(nn.MultiheadAttention)
def attention(net: Net, m: Any, query: Value, key: Value, value: Value, key_padding_mask: Optional[Value] = None, need_weights: bool = True,
              attn_mask: Optional[Value] = None, average_attn_weights: bool = True, is_causal: bool = False) -> tuple:
    """The result and, if they are needed, the weights."""
    if m.training and m.dropout:
        raise Unsupported("dropout in training; call eval() first")
    is_batched, same = query.rank == 3, query is key and key is value
    arrange = (lambda x: net.reshape(x, (1, *x.shape))) if not is_batched else (lambda x: x) if m.batch_first else lambda x: _swapped(net, x)  # noqa: E731
    inputs = (arrange(query),) * 3 if same else tuple(map(arrange, (query, key, value)))
    q, k, v = _projections(net, m, inputs)
    k, v = _added(net, m, k, m.bias_k), _added(net, m, v, m.bias_v)
    b, added = q.shape[0], k.shape[1] - inputs[1].shape[1]
    biases = (_bias_of(net, attn_mask, lambda s: s if len(s) == 2 else (b, m.num_heads, *s[1:]), added),
              _bias_of(net, key_padding_mask, lambda s: (b, 1, 1, s[-1]), added))
    attended, weights = _attend(net, q, k, v, m.num_heads, [bias for bias in biases if bias is not None])
    y = net.nn("linear", attended, m.out_proj.weight, m.out_proj.bias)
    y = y if m.batch_first and is_batched else net.reshape(y, y.shape[1:]) if not is_batched else _swapped(net, y)
    if not need_weights:
        return y, None
    weights = net.nn("reduce_mean", weights, axes=[1], keep_dims=False) if average_attn_weights else weights
    return y, weights if is_batched else net.reshape(weights, weights.shape[1:])


def _call(net: Net, module: Any, *inputs: Any, **kwargs: Any) -> Any:
    """The row of a module within a module."""
    if not isinstance(module.module, nn.Module):
        return _activate(net, module.module, *inputs)
    row = MODULES.get(type(module.module))
    if row is None:
        raise Unsupported(f"{type(module.module).__name__} within it")
    return row(net, module, *inputs, **kwargs)


def _activate(net: Net, function: Any, x: Value) -> Value:
    if function not in FUNCTIONS:
        raise Unsupported(f"the activation {getattr(function, '__name__', function)}")
    return FUNCTIONS[function](net, x)


def _check(m: Any) -> None:
    if m.training and any(getattr(part, "p", 0) for part in m.module.modules() if isinstance(part, nn.Dropout)):
        raise Unsupported("dropout in training; call eval() first")


def _residual(net: Net, m: Any, x: Value, norm: str, make: Any) -> Value:
    """x + make(norm(x)), or norm(x + make(x))."""
    if m.norm_first:
        return net.nn("add", x, make(_call(net, m.part(norm), x)))
    return _call(net, m.part(norm), net.nn("add", x, make(x)))


def _feed(net: Net, m: Any, x: Value) -> Value:
    hidden = _call(net, m.part("linear1"), x)
    active = _call(net, m.part("activation"), hidden)
    return _call(net, m.part("linear2"), active)


@modules(nn.TransformerEncoderLayer)
def encoder_layer(net: Net, m: Any, src: Value, src_mask: Optional[Value] = None, src_key_padding_mask: Optional[Value] = None, is_causal: bool = False) -> Value:
    _check(m)
    attend = lambda x: _call(net, m.part("self_attn"), x, x, x, src_key_padding_mask, False, src_mask)[0]  # noqa: E731
    x = _residual(net, m, src, "norm1", attend)
    return _residual(net, m, x, "norm2", lambda x: _feed(net, m, x))


@modules(nn.TransformerDecoderLayer)
def decoder_layer(net: Net, m: Any, tgt: Value, memory: Value, tgt_mask: Optional[Value] = None, memory_mask: Optional[Value] = None,
                  tgt_key_padding_mask: Optional[Value] = None, memory_key_padding_mask: Optional[Value] = None, *_: bool, **__: bool) -> Value:
    _check(m)
    attend = lambda x: _call(net, m.part("self_attn"), x, x, x, tgt_key_padding_mask, False, tgt_mask)[0]  # noqa: E731
    look = lambda x: _call(net, m.part("multihead_attn"), x, memory, memory, memory_key_padding_mask, False, memory_mask)[0]  # noqa: E731
    x = _residual(net, m, tgt, "norm1", attend)
    x = _residual(net, m, x, "norm2", look)
    return _residual(net, m, x, "norm3", lambda x: _feed(net, m, x))


def _stack(net: Net, m: Any, x: Value, *rest: Any, **kwargs: Any) -> Value:
    for i in range(len(m.module.layers)):
        x = _call(net, m.part(f"layers.{i}"), x, *rest, **kwargs)
    return x if m.norm is None else _call(net, m.part("norm"), x)


@modules(nn.TransformerEncoder)
def encoder(net: Net, m: Any, src: Value, mask: Optional[Value] = None, src_key_padding_mask: Optional[Value] = None, is_causal: Any = None) -> Value:
    return _stack(net, m, src, mask, src_key_padding_mask)


@modules(nn.TransformerDecoder)
def decoder(net: Net, m: Any, tgt: Value, memory: Value, *masks: Any, **named: Any) -> Value:
    return _stack(net, m, tgt, memory, *masks, **named)


@modules(nn.Transformer)
def transformer(net: Net, m: Any, src: Value, tgt: Value, src_mask: Any = None, tgt_mask: Any = None, memory_mask: Any = None, src_key_padding_mask: Any = None,
                tgt_key_padding_mask: Any = None, memory_key_padding_mask: Any = None, *_: Any, **__: Any) -> Value:
    memory = _call(net, m.part("encoder"), src, src_mask, src_key_padding_mask)
    return _call(net, m.part("decoder"), tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
