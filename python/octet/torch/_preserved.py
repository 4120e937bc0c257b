# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`preserved_attributes` of custom configs: attributes of one's own that prepared and converted modules keep."""
from __future__ import annotations

from typing import Any, Dict

import torch

from ..errors import InputError


def get_members(custom: Any) -> Dict[str, Any]:
    """The dictionary of a custom config, Octet's or PyTorch's; empty for None."""
    return custom.to_dict() if hasattr(custom, "to_dict") else custom or {}


def preserve_attributes(source: Any, target: torch.nn.Module, custom: Any) -> None:
    """Copies the attributes that a config names; what `source` does not have is left out, as in PyTorch."""
    for name in get_members(custom).get("preserved_attributes", ()):
        if not hasattr(source, name):
            continue
        if hasattr(target, name):
            raise InputError(f"preserved_attributes: {name!r} is an attribute that a {type(target).__name__} has itself; rename it in the module")
        setattr(target, name, getattr(source, name))
