# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fusing by hand. PyTorch: `torch.ao.quantization.fuse_modules`.

`prepare` and `prepare_fx` fuse what the backend has as a group, and fold what it has as a fold; what a network computes in float does
not change by either.
"""
from __future__ import annotations

import copy
from typing import Any, List, Union

import torch

from ..errors import InputError

__all__ = ["fuse_modules", "fuse_modules_qat"]


def fuse_modules(model: torch.nn.Module, modules_to_fuse: Union[List[str], List[List[str]]], inplace: bool = False,
                 fuser_func: Any = None, fuse_custom_config_dict: Any = None) -> torch.nn.Module:
    """The model, or a copy: its modules stay as they are. Raises InputError for modules that it does not have."""
    lists = modules_to_fuse if modules_to_fuse and not isinstance(modules_to_fuse[0], str) else [modules_to_fuse]
    known = dict(model.named_modules())
    for name in (name for names in lists for name in names):
        if name not in known:
            raise InputError(f"modules_to_fuse: {type(model).__name__} has no module {name!r}; it has {', '.join(map(repr, filter(None, known)))}")
    return model if inplace else copy.deepcopy(model)


def fuse_modules_qat(model: torch.nn.Module, modules_to_fuse: Union[List[str], List[List[str]]], inplace: bool = False,
                     fuser_func: Any = None, fuse_custom_config_dict: Any = None) -> torch.nn.Module:
    """As `fuse_modules`."""
    return fuse_modules(model, modules_to_fuse, inplace)
