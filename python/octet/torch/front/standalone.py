# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Standalone modules as functions that the network calls."""
from __future__ import annotations

from typing import Any, List

import torch
from torch.utils import _pytree as pytree

from .net import Output
from .trace import Standalone


def _order(graph: torch.fx.GraphModule, args: Any, kwargs: Any) -> List[Any]:
    """The arguments of a call in the order of the graph's."""
    places = [node for node in graph.graph.nodes if node.op == "placeholder"]
    return [*args, *(kwargs.get(str(node.target), node.args[0] if node.args else None) for node in places[len(args):])]


def call_standalone(outer: Any, node: torch.fx.Node, standalone: Standalone, values: Any) -> Any:
    """The results of a call; calls of one module with inputs of one kind are calls of one function."""
    real = torch.fx.map_arg((node.args, node.kwargs), lambda n: outer.real[n])
    reals, given = (_order(standalone.graph, *arguments) for arguments in (real, values))
    key = (str(node.target), tuple((x.shape, x.dtype) if isinstance(x, torch.Tensor) else x for x in reals))
    if key not in outer.functions:
        outer.functions[key] = _add_function(outer, node, standalone, reals)
    symbol, network = outer.functions[key]
    operands = [outer.net.number(value) for value, x in zip(given, reals) if isinstance(x, torch.Tensor)]
    results = outer.net.call(symbol, operands)
    return pytree.tree_map(lambda leaf: results[leaf] if isinstance(leaf, Output) else leaf, network.result)


def _add_function(outer: Any, node: torch.fx.Node, standalone: Standalone, reals: List[Any]) -> Any:
    path = standalone.path
    symbol = f"standalone.{path}" + (f".{len(outer.functions)}" if outer.functions else "")
    network = type(outer)(standalone.graph, f"{path}.").run(reals)
    outer.net.add_function(symbol, network, standalone.mapping)
    outer.lines.update(network.lines)
    return symbol, network
