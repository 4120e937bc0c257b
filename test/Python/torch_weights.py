# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integers and scales of the weights of two reference models, by the names that the float model has for them."""
import re
import subprocess
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from fx_graph import ulps
from octet._compiler import find_compiler
from torch import nn
from torch.nn.modules.conv import _ConvTransposeNd

_CONSTANT = re.compile(r'nn\.constant dense_resource<"?([^">]+)"?> : tensor<([\dx]+)xi8> -> tensor<[\dx]+x!quant\.uniform<i8(?:<[^>]*>)?:f32(?::(\d+))?, ([^>]*)>>')
_RESOURCE = re.compile(r'"?([\w.+/]+)"?: "0x[0-9A-F]{8}([0-9A-F]*)"')


@dataclass
class Weight:
    """`is_folded`: a batch norm was taken in; `is_moved`: a transposed convolution, or one of volumes, has its kernel in another order."""

    integers: np.ndarray
    scales: np.ndarray
    is_folded: bool = False
    is_moved: bool = False


def read_theirs(reference):
    """{name: weights} of PyTorch's reference model."""
    found = defaultdict(list)
    for node in reference.graph.nodes:
        if node.op == "call_module":
            module = reference.get_submodule(str(node.target))
            part = next((part for part in [module, *module.children()] if hasattr(part, "get_quantized_weight")), None)
            if part is not None:
                found[f"{node.target}.weight"].append(_read_tensor(part.get_quantized_weight(), isinstance(part, (_ConvTransposeNd, nn.Conv3d))))
        elif "quantize_per" in str(node.target) and node.args[0].op == "get_attr":
            arguments = [_get_attribute(reference, argument) if isinstance(argument, torch.fx.Node) else argument for argument in node.args]
            readers = [reader for dequantize in node.users for reader in dequantize.users]
            is_moved = any("conv_transpose" in str(reader.target) for reader in readers)
            found[str(node.args[0].target)].append(_read_tensor(node.target(*arguments, **node.kwargs), is_moved))
    return {name: weights for name, weights in found.items() if all(weights)}


def _get_attribute(module, node):
    place, _, name = str(node.target).rpartition(".")
    return getattr(module.get_submodule(place), name)


def _read_tensor(tensor, is_moved=False):
    if not tensor.is_quantized or tensor.dtype != torch.qint8:
        return None
    is_tensors = tensor.qscheme() in (torch.per_tensor_affine, torch.per_tensor_symmetric)
    scales = [tensor.q_scale()] if is_tensors else tensor.q_per_channel_scales().numpy()
    return Weight(tensor.int_repr().numpy(), np.float32(scales), is_moved=is_moved)


def read_ours(bytecode):
    """The same of a converted model of Octet."""
    text = subprocess.run([Path(find_compiler()).parent / "octet-opt", "-"], input=bytecode, check=True, capture_output=True).stdout.decode()
    data = {name: np.frombuffer(bytes.fromhex(digits), np.int8) for name, digits in _RESOURCE.findall(text)}
    found = defaultdict(list)
    for name, shape, _, scales in _CONSTANT.findall(text):
        integers = data[name].reshape([int(size) for size in shape.split("x")])
        base = re.sub(r"\.i8(_\d+)?$", "", name)
        numbers = [float(number.split(":")[0]) for number in scales.strip("{}").split(",")]
        found[base.split("+")[0]].append(Weight(integers, np.float32(numbers), "+" in base))
    return found


def _differ(ours, theirs):
    a, b = ours.integers, theirs.integers
    if theirs.is_moved and theirs.scales.size > 1:  # of input channels: docs/deviations.md
        return None
    if theirs.is_moved:  # phases of a stride have zeros where they lack taps
        a, b = (np.sort(x[x != 0], axis=None) for x in (a, b))
    if a.size != b.size:
        return f"{a.size} integers, PyTorch {b.size}"
    if ours.scales.size == 1 and theirs.scales.size == 1 and ours.scales[0] > theirs.scales[0] * (1 + 1e-6):
        return None  # raised for the bias, OCT110
    if theirs.scales.size > 1 and ours.scales.size == theirs.scales.size:
        kept = ours.scales <= theirs.scales * (1 + 1e-6)
        a, b, ours, theirs = a[kept], b[kept], replace(ours, scales=ours.scales[kept]), replace(theirs, scales=theirs.scales[kept])
    # PyTorch folds a batch norm in other steps of f32, so that its scales may be some units in the last place apart, and an integer may round otherwise.
    allowed, steps = (8, 1) if ours.is_folded else (1, 0)
    distance = np.abs(a.reshape(-1).astype(int) - b.reshape(-1))
    if distance.max(initial=0) > steps:
        return f"{(distance > steps).sum()} of {a.size} integers differ"
    theirs_scales = np.broadcast_to(theirs.scales, ours.scales.shape) if theirs.scales.size == 1 else theirs.scales
    if ours.scales.size != theirs_scales.size or theirs.is_moved:
        return None if theirs.is_moved else f"{ours.scales.size} scales, PyTorch {theirs.scales.size}"
    apart = max((ulps(x, y) for x, y in zip(ours.scales, theirs_scales)), default=0)
    return f"scales are {apart} units in the last place apart" if apart > allowed else None


def differ(ours, theirs):
    """What is not the same, or nothing: weights that both models have."""
    for name, weights in theirs.items():
        for weight in weights:
            answers = [_differ(mine, weight) for mine in ours.get(name, [])]
            if not answers or all(answers):
                return f"weights {name}: {answers[0] if answers else 'are not integers here'}"
    return None
