# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions and matrix products."""
from __future__ import annotations

import operator
from typing import Any, Optional, Sequence, Union

import torch
from torch import nn

from ..net import Net, Unsupported, Value
from ..table import modules, operators

Sizes = Union[int, Sequence[int]]


def spread(sizes: Sizes, rank: int) -> list:
    """A size for each of `rank` dimensions."""
    sizes = [sizes] if isinstance(sizes, (int, float)) else list(sizes)
    return sizes * rank if len(sizes) == 1 else sizes


@operators("linear")
def linear(net: Net, input: Value, weight: Value, bias: Optional[Value] = None) -> Value:
    if weight.rank == 1:
        weight = transposed(net, weight, (1, weight.shape[0]))
        return net.reshape(net.nn("linear", input, weight, bias), input.shape[:-1])
    return net.nn("linear", input, weight, bias)


def transposed(net: Net, weight: Value, shape: Sequence[int]) -> Value:
    return net.constant(weight.tensor.reshape(shape), weight.name) if weight.tensor is not None else net.reshape(weight, shape)


@modules(nn.Linear)
def linear_module(net: Net, module: Any, input: Value) -> Value:
    return linear(net, input, module.weight, module.bias)


def _pad_same(kernel: Sequence[int], dilations: Sequence[int]) -> list:
    totals = [d * (k - 1) for k, d in zip(kernel, dilations)]
    return [total // 2 for total in totals] + [total - total // 2 for total in totals]


@operators("conv1d", "conv2d", "conv3d")
def conv(net: Net, input: Value, weight: Value, bias: Optional[Value] = None, stride: Sizes = 1, padding: Union[Sizes, str] = 0,
         dilation: Sizes = 1, groups: int = 1) -> Value:
    rank = weight.rank - 2
    strides, dilations = spread(stride, rank), spread(dilation, rank)
    if padding == "same":
        pads = _pad_same(weight.shape[2:], dilations)
    else:
        pads = spread(0 if padding == "valid" else padding, rank) * 2
    batched = input if input.rank == rank + 2 else net.reshape(input, (1, *input.shape))
    result = net.compose("Conv", batched, weight, bias, strides=strides, pads=pads, dilations=dilations, group=groups)
    return result if batched is input else net.reshape(result, result.shape[1:])


@operators("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def conv_transpose(net: Net, input: Value, weight: Value, bias: Optional[Value] = None, stride: Sizes = 1, padding: Sizes = 0,
                   output_padding: Sizes = 0, groups: int = 1, dilation: Sizes = 1) -> Value:
    rank = weight.rank - 2
    batched = input if input.rank == rank + 2 else net.reshape(input, (1, *input.shape))
    result = net.compose("ConvTranspose", batched, weight, bias, strides=spread(stride, rank), pads=spread(padding, rank) * 2,
                         output_padding=spread(output_padding, rank), dilations=spread(dilation, rank), group=groups)
    return result if batched is input else net.reshape(result, result.shape[1:])


@operators("convolution", "_convolution")
def convolution(net: Net, input: Value, weight: Value, bias: Optional[Value], stride: Sizes, padding: Sizes, dilation: Sizes,
                transposed: bool, output_padding: Sizes, groups: int, *_: Any) -> Value:
    if transposed:
        return conv_transpose(net, input, weight, bias, stride, padding, output_padding, groups, dilation)
    return conv(net, input, weight, bias, stride, padding, dilation, groups)


@modules(nn.Conv1d, nn.Conv2d, nn.Conv3d)
def conv_module(net: Net, module: Any, input: Value) -> Value:
    padding = module.padding
    if module.padding_mode != "zeros":
        mode = {"circular": "wrap", "reflect": "reflect", "replicate": "edge"}[module.padding_mode]
        sizes = list(module._reversed_padding_repeated_twice)
        rank = len(sizes) // 2
        low, high = sizes[0::2][::-1], sizes[1::2][::-1]
        outer = [0] * (input.rank - rank)
        pads = torch.tensor([*outer, *low, *outer, *high])
        input, padding = net.compose("Pad", input, net.constant(pads), mode=mode), [0] * rank
    return conv(net, input, module.weight, module.bias, module.stride, padding, module.dilation, module.groups)


@modules(nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
def conv_transpose_module(net: Net, module: Any, input: Value, output_size: Any = None) -> Value:
    if output_size is not None:
        raise Unsupported("output_size is not supported; use output_padding")
    return conv_transpose(net, input, module.weight, module.bias, module.stride, module.padding, module.output_padding, module.groups,
                          module.dilation)


@operators("matmul", "mm", "bmm", "mv", "dot", "vdot", torch.Tensor.__matmul__, operator.matmul)
def matmul(net: Net, a: Value, b: Value) -> Value:
    """A product with a constant matrix is a linear layer; vectors become matrices."""
    if b.tensor is not None and b.rank == 2 and a.rank >= 1:
        return net.nn("linear", a, net.constant(b.tensor.t().contiguous(), b.name))
    left = net.reshape(a, (1, *a.shape)) if a.rank == 1 else a
    right = net.reshape(b, (*b.shape, 1)) if b.rank == 1 else b
    return net.reshape(net.nn("matmul", left, right), net.result.shape)


@operators("addmm", "baddbmm")
def addmm(net: Net, input: Value, a: Value, b: Value, *, beta: float = 1, alpha: float = 1) -> Value:
    if beta == alpha == 1 and b.tensor is not None and b.rank == 2 and input.tensor is not None and input.rank == 1 \
            and input.shape[0] == b.shape[1]:
        return net.nn("linear", a, net.constant(b.tensor.t().contiguous(), b.name), input)
    return _sum(net, input, matmul(net, a, b), beta, alpha)


def _sum(net: Net, input: Value, product: Value, beta: float, alpha: float) -> Value:
    product = product if alpha == 1 else net.nn("mul", product, float(alpha))
    return net.nn("add", product, input if beta == 1 else net.nn("mul", input, float(beta)))


@operators("einsum")
def einsum(net: Net, equation: str, *operands: Any) -> Value:
    operands = operands[0] if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands
    return net.compose("Einsum", *operands, equation=equation)


@operators("addbmm")
def addbmm(net: Net, input: Value, a: Value, b: Value, *, beta: float = 1, alpha: float = 1) -> Value:
    """The sum over the batch is a part of one product."""
    left = net.reshape(net.nn("transpose", a, permutation=[1, 0, 2]), (a.shape[1], a.shape[0] * a.shape[2]))
    return _sum(net, input, net.nn("matmul", left, net.reshape(b, (b.shape[0] * b.shape[1], b.shape[2]))), beta, alpha)


@operators("addmv")
def addmv(net: Net, input: Value, a: Value, b: Value, *, beta: float = 1, alpha: float = 1) -> Value:
    return _sum(net, input, matmul(net, a, b), beta, alpha)


@operators("addr")
def addr(net: Net, input: Value, a: Value, b: Value, *, beta: float = 1, alpha: float = 1) -> Value:
    return _sum(net, input, outer(net, a, b), beta, alpha)


@operators("outer", "ger")
def outer(net: Net, a: Value, b: Value) -> Value:
    return net.nn("mul", net.reshape(a, (*a.shape, 1)), b)


@operators("cross", "linalg_cross")
def cross(net: Net, a: Value, b: Value, dim: Optional[int] = None, **_: Any) -> Value:
    axis = a.axis(dim) if dim is not None else a.shape.index(3)
    turned = lambda x, by: net.nn("gather", x, net.constant(torch.tensor([by, (by + 1) % 3, (by + 2) % 3])), axis=axis)  # noqa: E731
    return net.nn("sub", net.nn("mul", turned(a, 1), turned(b, 2)), net.nn("mul", turned(a, 2), turned(b, 1)))


@operators("bilinear")
def bilinear(net: Net, a: Value, b: Value, weight: Value, bias: Optional[Value] = None) -> Value:
    """A linear layer of the products of all pairs."""
    pairs = net.nn("mul", net.reshape(a, (*a.shape, 1)), net.reshape(b, (*b.shape[:-1], 1, b.shape[-1])))
    flat = net.reshape(pairs, (*a.shape[:-1], a.shape[-1] * b.shape[-1]))
    return net.nn("linear", flat, transposed(net, weight, (weight.shape[0], flat.shape[-1])), bias)


modules(nn.Bilinear)(lambda net, module, a, b: bilinear(net, a, b, module.weight, module.bias))


@operators("cdist", "_cdist_forward")
def cdist(net: Net, a: Value, b: Value, p: float = 2.0, *_: Any, **__: Any) -> Value:
    if p not in (1, 2):
        raise Unsupported(f"distances of order {p}")
    apart = net.nn("sub", net.reshape(a, (*a.shape[:-1], 1, a.shape[-1])), net.reshape(b, (*b.shape[:-2], 1, *b.shape[-2:])))
    sizes = net.nn("abs", apart) if p == 1 else net.nn("mul", apart, apart)
    total = net.nn("reduce_sum", sizes, axes=[sizes.rank - 1], keep_dims=False)
    return total if p == 1 else net.nn("sqrt", total)
