# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that nn.MultiheadAttention and nn.TransformerEncoderLayer call in evaluation without gradients, as torch.compile sees them."""
from __future__ import annotations

from typing import Any, Optional, Tuple

import torch

from ..net import Net, Value
from ..table import FUNCTIONS, operators
from .movement import slice_along
from .transformer import _attend


def _bias_of(net: Net, mask: Optional[Value], kind: Optional[int], keys: Value) -> list:
    """What is added to the scores: every mask that is not zero leaves out. Its kind: queries by keys, keys, or all dimensions of scores."""
    if mask is None:
        return []
    left_out = mask if mask.dtype == torch.bool else net.compose("Not", net.compose("Equal", mask, net.constant(torch.zeros(1))))
    if kind == 1:
        left_out = net.reshape(left_out, (keys.shape[0], 1, 1, keys.shape[1]))
    lowest = net.constant(torch.tensor([torch.finfo(torch.float32).min]))
    return [net.nn("select", left_out, lowest, net.constant(torch.zeros(1)), dtype=torch.float32)]


@operators("_native_multi_head_attention")
def native_attention(net: Net, query: Value, key: Value, value: Value, embed_dim: int, num_head: int, qkv_weight: Value, qkv_bias: Value, proj_weight: Value,
                     proj_bias: Value, mask: Optional[Value] = None, need_weights: bool = True, average_attn_weights: bool = True,
                     mask_type: Optional[int] = None) -> Tuple[Value, Optional[Value]]:
    part = lambda x, i: slice_along(net, x, x.rank - 1, i * embed_dim, embed_dim)  # noqa: E731
    joined = {x.number: net.nn("linear", x, qkv_weight, qkv_bias) for x in (query, key, value)}
    q, k, v = (part(joined[x.number], i) for i, x in enumerate((query, key, value)))
    attended, weights = _attend(net, q, k, v, num_head, _bias_of(net, mask, mask_type, key))
    y = net.nn("linear", attended, proj_weight, proj_bias)
    if not need_weights:
        return y, None
    return y, net.nn("reduce_mean", weights, axes=[1], keep_dims=False) if average_attn_weights else weights


@operators("_transformer_encoder_layer_fwd")
def encoder_layer(net: Net, src: Value, embed_dim: int, num_heads: int, qkv_weight: Value, qkv_bias: Value, proj_weight: Value, proj_bias: Value,
                  use_gelu: bool, norm_first: bool, eps: float, norm_weight_1: Value, norm_bias_1: Value, norm_weight_2: Value, norm_bias_2: Value,
                  ffn_weight_1: Value, ffn_bias_1: Value, ffn_weight_2: Value, ffn_bias_2: Value, mask: Optional[Value] = None,
                  mask_type: Optional[int] = None) -> Value:
    norm, activate = FUNCTIONS[torch.nn.functional.layer_norm], FUNCTIONS[torch.nn.functional.gelu if use_gelu else torch.relu]

    def attend(x: Value) -> Value:
        return native_attention(net, x, x, x, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, False, True, mask_type)[0]

    def feed(x: Value) -> Value:
        return net.nn("linear", activate(net, net.nn("linear", x, ffn_weight_1, ffn_bias_1)), ffn_weight_2, ffn_bias_2)

    x: Any = src
    for make, weight, bias in ((attend, norm_weight_1, norm_bias_1), (feed, norm_weight_2, norm_bias_2)):
        inner = norm(net, x, (embed_dim,), weight, bias, eps) if norm_first else x
        x = net.nn("add", x, make(inner))
        x = x if norm_first else norm(net, x, (embed_dim,), weight, bias, eps)
    return x
