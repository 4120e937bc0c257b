# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Blocks of images as columns, and back."""
from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

from ..net import Net, Value
from ..table import modules, operators
from .movement import gather_flat
from .products import Sizes, spread


@operators("unfold", "im2col")
def unfold(net: Net, x: Value, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1) -> Value:
    """The positions of the blocks' elements, 0 for the padding, read from the image with one more element in front."""
    places = 1 + torch.arange(math.prod(x.shape), dtype=torch.float64).reshape(x.shape)
    blocks = nn.functional.unfold(places, kernel_size, dilation, padding, stride).long()
    first = net.constant(torch.zeros(1, dtype=x.dtype))
    return gather_flat(net, net.nn("concat", first, net.reshape(x, (math.prod(x.shape),)), axis=0), blocks)


@operators("fold", "col2im")
def fold(net: Net, x: Value, output_size: Sizes, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1) -> Value:
    batched = x if x.rank == 3 else net.reshape(x, (1, *x.shape))
    sizes = (net.constant(torch.tensor(spread(size, 2))) for size in (output_size, kernel_size))
    y = net.compose("Col2Im", batched, *sizes, dilations=spread(dilation, 2), pads=spread(padding, 2) * 2, strides=spread(stride, 2))
    return y if batched is x else net.reshape(y, y.shape[1:])


def _arguments(module: Any) -> tuple:
    return module.kernel_size, module.dilation, module.padding, module.stride


modules(nn.Unfold)(lambda net, module, x: unfold(net, x, *_arguments(module)))
modules(nn.Fold)(lambda net, module, x: fold(net, x, module.output_size, *_arguments(module)))
