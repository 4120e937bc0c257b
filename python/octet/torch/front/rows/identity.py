# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types, copies, and operators that leave values as they are."""
from __future__ import annotations

from typing import Any

import torch

from ..net import Net, Unsupported, Value
from ..table import FUNCTIONS, modules, operators


@operators("to", "type_as", "float", "long", "int", "bool", "half", "bfloat16", "double", "short", "byte", "char", "type", "_to_copy", "to_dtype")
def to(net: Net, x: Value, *_: Any, **__: Any) -> Value:
    """Whatever the arguments say: the type of the result is PyTorch's."""
    if net.result.device.type != "cpu":
        raise Unsupported(f"tensors on the device {net.result.device}; move the module and its inputs to the CPU")
    return net.cast(x, net.result.dtype)


@operators("clone", "contiguous", "detach", "alias", "lift_fresh_copy", "lift_fresh", "cpu", "requires_grad", "positive", "detach_copy", "resolve_conj", "resolve_neg",
           "_assert_tensor_metadata")
def identity(net: Net, x: Value, *_: Any, **__: Any) -> Value:
    return x


@operators("dropout", "dropout1d", "dropout2d", "dropout3d", "feature_dropout", "alpha_dropout", "feature_alpha_dropout", "native_dropout")
def dropout(net: Net, x: Value, p: float = 0.5, training: bool = None, *_: Any, train: bool = None, **__: Any) -> Any:
    """In evaluation nothing changes. Functions train unless they are told not to."""
    training = train if training is None else training
    if p and (training is None or training):
        raise Unsupported("random elements; call eval() first, and give functions training=self.training")
    return (x, None) if isinstance(net.result, tuple) else x


def _dropout_function(net: Net, x: Value, p: float = 0.5, training: bool = False, inplace: bool = False) -> Value:
    return dropout(net, x, p, training)


for _name in ("alpha_dropout", "feature_alpha_dropout"):
    FUNCTIONS[getattr(torch.nn.functional, _name)] = _dropout_function


@modules(torch.nn.Identity)
def identity_module(net: Net, module: Any, x: Value, *_: Any, **__: Any) -> Value:
    return x


@modules(torch.nn.Dropout, torch.nn.Dropout1d, torch.nn.Dropout2d, torch.nn.Dropout3d, torch.nn.AlphaDropout, torch.nn.FeatureAlphaDropout)
def dropout_module(net: Net, module: Any, x: Value) -> Value:
    return dropout(net, x, module.p, module.training)


@operators("zeros_like", "ones_like", "full_like", "empty_like", "new_zeros", "new_ones", "new_full", "new_empty", "new_tensor")
def like(net: Net, *_: Any, **__: Any) -> Value:
    """Of the tensor only its shape and type count."""
    return net.constant(net.result)
