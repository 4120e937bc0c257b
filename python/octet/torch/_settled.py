# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The policy that PyTorch's converting functions are given again: it was settled when the module was prepared (docs/deviations.md)."""
from __future__ import annotations

import json
from typing import Any, Dict, Tuple

from ..errors import InputError
from ._compilation import Policy


def _read(text: str) -> Any:
    return json.loads(text) if text.lstrip().startswith("{") else text


def _list_entries(mapping: Dict[str, Any]) -> Dict[Tuple[Any, ...], Any]:
    """{level and keys: QConfig}"""
    levels = {level: entries for level, entries in mapping.items() if isinstance(entries, list) and not level.startswith("quantized_")}
    entries = {(level, *entry[:-1]): entry[-1] for level, entries in levels.items() for entry in entries}
    return {**entries, ("",): mapping.get("")}


def is_same_backend(settled: str, given: str) -> bool:
    """Whether two texts or names are of one backend; a built-in one may be given as a text with its name."""
    backend, other = _read(settled), _read(given)
    return backend == other or backend == (other["name"] if isinstance(other, dict) else other)


def check_settled(settled: Policy, given: Policy, has_mapping: bool, has_backend: bool) -> None:
    """Refuses another backend, and entries that the mapping of `prepare_fx` does not have."""
    if has_backend and not is_same_backend(settled.backend, given.backend):
        raise InputError("backend_config: is not that of prepare_fx, which decided what is quantized; prepare the module with this one")
    mapping, other = _read(settled.mapping), _read(given.mapping)
    if not has_mapping or mapping == other:
        return
    known = _list_entries(mapping) if isinstance(mapping, dict) and isinstance(other, dict) else {}
    for key, qconfig in _list_entries(other).items() if isinstance(other, dict) else [((other,), None)]:
        if key not in known or known[key] != qconfig:
            place = " ".join(map(str, key)) or "all operators"
            raise InputError(f"qconfig_mapping: {place}: is not as in prepare_fx, which placed the observers; prepare the module with this entry")
