# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The names under which Octet's files know the classes, functions and methods of PyTorch (`#octet.source_class`)."""
from __future__ import annotations

import operator
import sys
from typing import Any

import torch

__all__ = ["MatchAllNode", "find_type", "name_type"]

#: Where a function that has several names is looked for; the first one counts.
_PLACES = ((torch.nn.functional, "torch.nn.functional"), (torch, "torch"), (torch.Tensor, "torch.Tensor"), (operator, "operator"))


class MatchAllNode:
    """In a pattern: any value. PyTorch: `torch.ao.quantization.utils.MatchAllNode`."""


def _find_public(thing: Any, module: str, name: str) -> str:
    """The shortest name of a package under which `thing` is found, as `torch.nn.Linear` of `torch.nn.modules.linear`."""
    parts = module.split(".")
    for end in range(1, len(parts) + 1):
        package = ".".join(parts[:end])
        if getattr(sys.modules.get(package), name, None) is thing:
            return f"{package}.{name}"
    return f"{module}.{name}"


def name_type(thing: Any) -> str:
    """The name of a module class, a function or a method: `torch.nn.Linear`, `torch.nn.functional.linear`, `operator.add`.

    A text is the name of a method of tensors, as in PyTorch ("reshape" is `torch.Tensor.reshape`), or is such a name already.
    """
    if isinstance(thing, str):
        return thing if "." in thing else f"torch.Tensor.{thing}"
    name = getattr(thing, "__qualname__", None) or getattr(thing, "__name__", None)
    if not name:
        return str(thing)
    if not isinstance(thing, type):
        short = thing.__name__
        for place, prefix in _PLACES:
            if getattr(place, short, None) is thing:
                return f"{prefix}.{short}"
    return _find_public(thing, thing.__module__ or "", name)


def find_type(name: str) -> Any:
    """What `name_type` gave the name for; the name itself if its module is not loaded, as those of `torch.ao` need not be."""
    if name.startswith("torch.Tensor."):
        return name[len("torch.Tensor."):]
    module, _, last = name.rpartition(".")
    return getattr(sys.modules.get(module), last, name)
