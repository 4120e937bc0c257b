# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights of equal ranges in consecutive layers, for pairs that a program names. PyTorch: `torch.ao.quantization._equalize`.

[N.equalize] as the pass `octet-equalize` computes it, here in PyTorch: modules are scaled before there are inputs, hence shapes, that a
network could be made for.
"""
from __future__ import annotations

import copy
from typing import Any, Dict, List, Sequence

import torch
from torch import nn

from ..errors import InputError

__all__ = ["cross_layer_equalization", "equalize"]

_LAYERS = (nn.Conv1d, nn.Conv2d, nn.Linear)


def _get_layer(module: Any) -> Any:
    """A layer, or that of one with its activation behind it."""
    layer = module[0] if isinstance(module, nn.Sequential) and len(module) else module
    if type(layer) not in _LAYERS:
        raise InputError(f"expected {', '.join(kind.__name__ for kind in _LAYERS)}, but got {type(module).__name__}")
    return layer


def _get_range(weight: torch.Tensor, axis: int) -> torch.Tensor:
    others = [i for i in range(weight.ndim) if i != axis]
    return weight.amax(others) - weight.amin(others)


def _spread(factors: torch.Tensor, weight: torch.Tensor, axis: int) -> torch.Tensor:
    return factors.reshape([-1 if i == axis else 1 for i in range(weight.ndim)])


@torch.no_grad()
def cross_layer_equalization(module1: nn.Module, module2: nn.Module, output_axis: int = 0, input_axis: int = 1) -> None:
    """Gives both weights equal ranges in every channel between the modules, once."""
    first, second = _get_layer(module1), _get_layer(module2)
    outputs, inputs = first.weight.size(output_axis), second.weight.size(input_axis)
    if outputs != inputs:
        raise InputError(f"module2: has {inputs} inputs, but module1 {outputs} outputs; name modules that follow one another")
    factors = torch.sqrt(_get_range(first.weight, output_axis) / (_get_range(second.weight, input_axis) + 1e-9))
    factors = torch.where((factors > 0) & factors.isfinite(), factors, torch.ones_like(factors))  # one of a channel of equal weights
    inverse = torch.reciprocal(factors)
    if first.bias is not None:
        first.bias = nn.Parameter(first.bias * inverse)
    first.weight = nn.Parameter(first.weight * _spread(inverse, first.weight, output_axis))
    second.weight = nn.Parameter(second.weight * _spread(factors, second.weight, input_axis))


def equalize(model: nn.Module, paired_modules_list: Sequence[Sequence[Any]], threshold: float = 1e-4, inplace: bool = True) -> nn.Module:
    """Equalizes the weights of consecutive modules in turn until they settle.

    Args:
      paired_modules_list: modules, or names of modules, that follow one another, with functions for which f(s x) = s f(x) between them.
      threshold: the weights have settled where the norms of their changes are less in total.
      inplace: changes the weights of `model` itself.
    """
    names = {module: name for name, module in model.named_modules()}
    parts = dict(model.named_modules())
    for group in paired_modules_list:
        if len(group) < 2:
            raise InputError("paired_modules_list: expected groups of at least two modules")
        for module in group:
            if module not in (parts if isinstance(module, str) else names):
                raise InputError(f"paired_modules_list: {module!r} is not a module of the model")
    groups = [[module if isinstance(module, str) else names[module] for module in group] for group in paired_modules_list]
    pairs = [pair for group in groups for pair in zip(group, group[1:])]
    model = model if inplace else copy.deepcopy(model)
    parts = dict(model.named_modules())
    return _settle(model, [(parts[first], parts[second]) for first, second in pairs], threshold)


def _settle(model: nn.Module, pairs: List[Any], threshold: float) -> nn.Module:
    change = float("inf")
    while pairs and not change < threshold:
        before: Dict[nn.Module, torch.Tensor] = {}
        for pair in pairs:
            before.update((layer, layer.weight) for layer in map(_get_layer, pair))
            cross_layer_equalization(*pair)
        change = sum(float(torch.norm(layer.weight - weight)) for layer, weight in before.items())
    return model
