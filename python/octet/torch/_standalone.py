# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Standalone modules of a `PrepareCustomConfig`: functions with a QConfig mapping of their own (docs/rationale/standalone.md)."""
from __future__ import annotations

from typing import Any, Callable, Dict, NamedTuple, Tuple

import torch

from ..errors import InputError
from ._policy import write_mapping
from ._preserved import get_members
from ._settled import is_same_backend
from .front.trace import Standalone, list_places


class _Entry(NamedTuple):
    """What a config says of one module, or of all of a class."""

    key: Any
    mapping: Any
    example_inputs: Tuple[Any, ...]
    custom: Any
    backend: Any


def _list_entries(custom: Any) -> Tuple[Dict[str, _Entry], Dict[type, _Entry]]:
    members = get_members(custom)
    names, classes = ([_Entry(*row) for row in members.get(key, ())] for key in ("standalone_module_name", "standalone_module_class"))
    return {entry.key: entry for entry in names}, {entry.key: entry for entry in classes}


def list_standalone(custom: Any) -> Tuple[list, list]:
    """The names and the classes that are not traced through."""
    names, classes = _list_entries(custom)
    return list(names), list(classes)


def add_standalone(graph: torch.fx.GraphModule, custom: Any, backend: str, trace: Callable[..., torch.fx.GraphModule],
                   name_backend: Callable[[Any], str]) -> None:
    """Notes the standalone modules of a traced graph, each traced with its own custom config. `backend` is the network's."""
    names, classes = _list_entries(custom)
    graph.octet_standalone = found = {}
    for node in graph.graph.nodes:
        path = str(node.target)
        if node.op != "call_module" or path in found:
            continue
        module = graph.get_submodule(path)
        entry = names.get(path) or classes.get(type(module))
        if entry is not None:
            found[path] = _make(path, module, entry, backend, trace, name_backend)
    if missing := [name for name in names if name not in found]:
        raise InputError(f"set_standalone_module_name: the model calls no module {missing[0]!r}; give the name that named_modules() has")


def _make(path: str, module: torch.nn.Module, entry: _Entry, backend: str, trace: Callable[..., torch.fx.GraphModule],
          name_backend: Callable[[Any], str]) -> Standalone:
    if entry.backend is not None and not is_same_backend(backend, name_backend(entry.backend)):
        raise InputError(f"standalone module {path!r}: all parts of a network have one backend; omit its backend_config, or prepare the module by "
                         "itself")
    graph = trace(module, entry.custom)
    add_standalone(graph, entry.custom, backend, trace, name_backend)
    if entry.mapping is None and entry.custom:
        raise InputError(f"standalone module {path!r}: has a prepare_custom_config, but no QConfigMapping to hold it; give one")
    mapping = "" if entry.mapping is None else write_mapping(entry.mapping, entry.custom, places=list_places(graph), prefix=path)
    return Standalone(graph, mapping)
