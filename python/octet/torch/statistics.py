# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What observers have seen, to be kept and loaded. PyTorch: `get_observer_state_dict`, `load_observer_state_dict`."""
from __future__ import annotations

import re
from collections import OrderedDict
from typing import Any, Dict, List

from ..errors import InputError
from ._modules import PreparedModule

__all__ = ["get_observer_dict", "get_observer_state_dict", "load_observer_state_dict"]

#: A line of a file of statistics (docs/statistics.md), and the symbol in it.
_OBSERVER = re.compile(r'^ *(octet\.observer @("(?:[^"\\]|\\.)*"|[\w$.-]+) .*)$', re.M)


def _get_source(mod: Any) -> Any:
    if not isinstance(mod, PreparedModule):
        raise InputError(f"expected a module that prepare_fx returned, but got {type(mod).__name__}")
    return mod._source


def _list_observers(text: str) -> Dict[str, str]:
    return {name.strip('"'): line for line, name in _OBSERVER.findall(text)}


def get_observer_state_dict(mod: PreparedModule) -> "OrderedDict[str, List[str]]":
    """The statistics of a prepared module, by the names of its observers: a text for each shape of inputs that it was called with.

    `torch.save` writes them, and `load_observer_state_dict` gives them to a module with the same observers.
    """
    files = list(map(_list_observers, _get_source(mod).measure()))
    return OrderedDict((name, [file[name] for file in files]) for name in (files[0] if files else ()))


def load_observer_state_dict(mod: PreparedModule, obs_dict: Dict[str, List[str]]) -> None:
    """Replaces what a prepared module has seen, so that it converts without being called; calls after it add to the statistics."""
    source, known = _get_source(mod), _list_observers(mod.code)
    for name in obs_dict:
        if name not in known:
            raise InputError(f"{name!r} is no observer of this module, which has {', '.join(map(repr, known))}; "
                             "prepare it as the module that the statistics are of")
    count = max(map(len, obs_dict.values()), default=0)
    source.samples.clear()
    source.statistics = None
    source.loaded = ["module {\n" + "\n".join(texts[i] for texts in obs_dict.values()) + "\n}\n" for i in range(count)]


def get_observer_dict(mod: PreparedModule, target_dict: Dict[str, Any], prefix: str = "") -> None:
    """Puts the same into a dictionary, with a prefix in front of the names."""
    target_dict.update((f"{prefix}.{name}" if prefix else name, texts) for name, texts in get_observer_state_dict(mod).items())
