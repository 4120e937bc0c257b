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
from .front.extract import Place, extract
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


def _name_class(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _find_places(graph: torch.fx.GraphModule, names: Any, classes: Any, prefix: str) -> Dict[str, Place]:
    """The modules that a graph calls, by their names in it; an exported program's are made of what it has of them."""
    if hasattr(graph, "octet_translator"):
        texts = set(map(_name_class, classes))
        return extract(graph, lambda place: place.path != "" and place.path.startswith(prefix) and (place.path in names or place.cls in texts))
    targets = dict.fromkeys(str(node.target) for node in graph.graph.nodes if node.op == "call_module")
    return {target: Place(prefix + target, _name_class(type(graph.get_submodule(target)))) for target in targets}


def add_standalone(graph: torch.fx.GraphModule, custom: Any, backend: str, trace: Callable[..., torch.fx.GraphModule],
                   name_backend: Callable[[Any], str], prefix: str = "") -> None:
    """Notes the standalone modules of a graph, each traced with its own custom config, or taken out of an exported program. `backend` is the
    network's, `prefix` the path of the module that the graph is of, with a dot behind it."""
    by_name, by_class = _list_entries(custom)
    names = {prefix + name: entry for name, entry in by_name.items()}
    classes = {_name_class(cls): entry for cls, entry in by_class.items()}
    graph.octet_standalone = found = {}
    places = _find_places(graph, names, by_class, prefix)
    for target, place in places.items():
        entry = names.get(place.path) or classes.get(place.cls)
        if entry is not None:
            found[target] = _make(place.path, graph.get_submodule(target), entry, backend, trace, name_backend)
    if missing := [name for name in by_name if prefix + name not in {place.path for place in places.values()}]:
        raise InputError(f"set_standalone_module_name: the model calls no module {missing[0]!r}; give the name that named_modules() has")


def _make(path: str, module: torch.nn.Module, entry: _Entry, backend: str, trace: Callable[..., torch.fx.GraphModule],
          name_backend: Callable[[Any], str]) -> Standalone:
    if entry.backend is not None and not is_same_backend(backend, name_backend(entry.backend)):
        raise InputError(f"standalone module {path!r}: all parts of a network have one backend; omit its backend_config, or prepare the module by "
                         "itself")
    graph = module if hasattr(module, "octet_translator") else trace(module, entry.custom)
    add_standalone(graph, entry.custom, backend, trace, name_backend, f"{path}.")
    if entry.mapping is None and entry.custom:
        raise InputError(f"standalone module {path!r}: has a prepare_custom_config, but no QConfigMapping to hold it; give one")
    mapping = "" if entry.mapping is None else write_mapping(entry.mapping, entry.custom, places=list_places(graph), prefix=path)
    return Standalone(graph, mapping, path)
