# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Marks of the eager mode. PyTorch: `torch.ao.quantization.stubs`.

Octet finds the operators by itself, so that the marks compute nothing and mean nothing; QConfigs say what stays float.
"""
from __future__ import annotations

from typing import Any

import torch

__all__ = ["DeQuantStub", "QuantStub", "QuantWrapper", "add_quant_dequant"]


class QuantStub(torch.nn.Module):
    """Where integers begin. PyTorch: `QuantStub`."""

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Any) -> Any:
        return x


class DeQuantStub(QuantStub):
    """Where they end. PyTorch: `DeQuantStub`."""


class QuantWrapper(torch.nn.Module):
    """A module between both marks. PyTorch: `QuantWrapper`."""

    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__()
        qconfig = getattr(module, "qconfig", None)
        self.add_module("quant", QuantStub(qconfig))
        self.add_module("dequant", DeQuantStub(qconfig))
        self.add_module("module", module)
        self.train(module.training)

    def forward(self, x: Any) -> Any:
        return self.dequant(self.module(self.quant(x)))


def add_quant_dequant(module: torch.nn.Module) -> torch.nn.Module:
    """Wraps the modules inside that have a QConfig and no others in them. PyTorch: `add_quant_dequant`."""
    if not module._modules and getattr(module, "qconfig", None):
        return QuantWrapper(module)
    for name, child in module.named_children():
        module._modules[name] = add_quant_dequant(child)
    return module
