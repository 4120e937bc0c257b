# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules that the graph of an exported program has passed through, as parts that it calls."""
from __future__ import annotations

import operator
from typing import Any, Callable, Dict, List, NamedTuple

import torch
import torch.fx

from ...errors import InputError


class Place(NamedTuple):
    """Where a part was in the user's module: its path and its class, as text."""

    path: str
    cls: str


def _find_place(node: torch.fx.Node, is_wanted: Callable[[Place], bool]) -> Any:
    """The call of the outermost wanted module that a node is in, and the module, or None."""
    for call, (path, cls) in (node.meta.get("nn_module_stack") or {}).items():
        place = Place(path.partition("@")[0], cls if isinstance(cls, str) else f"{cls.__module__}.{cls.__qualname__}")
        if node.op == "call_function" and is_wanted(place):
            return call, place
    return None


def extract(graph: torch.fx.GraphModule, is_wanted: Callable[[Place], bool]) -> Dict[str, Place]:
    """Puts each wanted module into a part. Returns the parts' places by their names in the graph. Raises InputError for modules with several calls,
    each of which is other code in a program."""
    groups: Dict[Any, List[torch.fx.Node]] = {}
    for node in graph.graph.nodes:
        if found := _find_place(node, is_wanted):
            groups.setdefault(found, []).append(node)
    places = [place for _, place in groups]
    if twice := [place.path for place in places if places.count(place) > 1]:
        raise InputError(f"standalone module {twice[0]!r}: the program calls it several times, which share one function in a traced module only; give "
                         "prepare_fx the module instead of the program")
    return {_extract(graph, number, place, nodes): place for number, ((_, place), nodes) in enumerate(groups.items())}


def _copy(graph: torch.fx.GraphModule, place: Place, nodes: List[torch.fx.Node], inputs: List[torch.fx.Node], results: List[torch.fx.Node]) -> Any:
    """The part: a module like the graph's."""
    inner, tensors = torch.fx.Graph(), {}
    known = {node: inner.placeholder(node.name) for node in inputs}
    for node in nodes:
        for read in node.all_input_nodes:
            if read not in known:  # a parameter, which the network names behind the part's path
                target = str(read.target)
                name = target[len(place.path) + 1:] if target.startswith(f"{place.path}.") else target
                tensors[name], known[read] = operator.attrgetter(target)(graph), inner.get_attr(name)
        known[node] = inner.node_copy(node, lambda n: known[n])
    inner.output(known[results[0]] if len(results) == 1 else tuple(known[node] for node in results))
    part = torch.fx.GraphModule(tensors, inner)
    part.octet_translator, part.octet_spec = graph.octet_translator, None
    return part


def _extract(graph: torch.fx.GraphModule, number: int, place: Place, nodes: List[torch.fx.Node]) -> str:
    members, name = set(nodes), f"octet_part{number}"
    reads = dict.fromkeys(read for node in nodes for read in node.all_input_nodes)
    inputs = [read for read in reads if read not in members and read.op != "get_attr"]
    results = [node for node in nodes if any(user not in members for user in node.users)]
    graph.add_submodule(name, _copy(graph, place, nodes, inputs, results))
    with graph.graph.inserting_after(nodes[-1]):
        call = graph.graph.call_module(name, tuple(inputs))
    call.meta["octet_place"] = place
    with graph.graph.inserting_after(call):
        taken = [call] if len(results) == 1 else [graph.graph.call_function(operator.getitem, (call, i)) for i in range(len(results))]
    for node, other in zip(results, taken):
        node.replace_all_uses_with(other, delete_user_cb=lambda user: user not in members)
    for node in reversed(nodes):
        graph.graph.erase_node(node)
    graph.graph.eliminate_dead_code()
    graph.recompile()
    return name
