# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules as rows see them."""
from __future__ import annotations

from typing import Any, Callable

import torch

from .net import Value


class Parameters:
    """A module whose tensors are values of the network; all else is the module's own."""

    def __init__(self, parameter: Callable[[torch.Tensor, str], Value], module: Any, path: str) -> None:
        self._parameter, self._module, self._path = parameter, module, path

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        if isinstance(found, torch.Tensor):
            return self._parameter(found, f"{self._path}.{name}")
        return self.part(name) if isinstance(found, torch.nn.Module) else found

    @property
    def path(self) -> str:
        return self._path

    @property
    def module(self) -> Any:
        return self._module

    def part(self, name: str) -> "Parameters":
        """A module within it, or a function that it holds."""
        found = self._module.get_submodule(name) if "." in name else getattr(self._module, name)
        return Parameters(self._parameter, found, f"{self._path}.{name}")
