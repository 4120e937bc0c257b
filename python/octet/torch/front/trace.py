# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tracing modules as PyTorch's FX quantization does: modules of torch.nn stay whole."""
from __future__ import annotations

import operator
import os
import traceback
from dataclasses import dataclass
from typing import Any, Iterable, List, Tuple

import torch
import torch.fx


#: Where PyTorch and this package lie.
_TORCH, _HERE = os.path.dirname(torch.__file__) + os.sep, os.path.dirname(os.path.realpath(__file__)) + os.sep
_PACKAGE = os.path.dirname(os.path.dirname(_HERE)) + os.sep


class _Proxy(torch.fx.Proxy):
    """Also takes assignments to parts, which FX does not trace."""

    def __setitem__(self, index: Any, value: Any) -> None:
        self.tracer.create_proxy("call_function", operator.setitem, (self, index, value), {})


class Tracer(torch.fx.Tracer):
    """PyTorch: `torch.ao.quantization.fx.tracer.QuantizationTracer`."""

    record_stack_traces = True

    def __init__(self, skipped_names: Iterable[str] = (), skipped_classes: Iterable[type] = ()) -> None:
        super().__init__()
        self._names, self._classes = set(skipped_names), tuple(skipped_classes)
        self.record_stack_traces = True

    def proxy(self, node: torch.fx.Node) -> torch.fx.Proxy:
        return _Proxy(node, self)

    def is_leaf_module(self, m: torch.nn.Module, module_qualified_name: str) -> bool:
        is_of_torch = m.__module__.startswith(("torch.nn", "torch.ao.nn")) and not isinstance(m, torch.nn.Sequential)
        return is_of_torch or module_qualified_name in self._names or type(m) in self._classes


def trace(module: torch.nn.Module, tracer: Tracer) -> torch.fx.GraphModule:
    """The module as a graph."""
    graph = tracer.trace(module)
    name = module.__class__.__name__
    traced = torch.fx.GraphModule(module, graph, name)
    traced.octet_scopes = dict(tracer.node_name_to_scope)
    return traced


@dataclass(frozen=True)
class Standalone:
    """A module that is a function of the network: its graph, the text of its own QConfig mapping, if it has one, and its path."""

    graph: torch.fx.GraphModule
    mapping: str
    path: str


def list_places(traced: torch.fx.GraphModule) -> List[Tuple[str, str]]:
    """For each operator its name in the network and the path of the module by which PyTorch's mappings find it: of a function that
    of the module around it."""
    places, scopes = [], getattr(traced, "octet_scopes", {})  # which exported programs do not have
    for node in traced.graph.nodes:
        if node.op == "call_module":
            places.append((str(node.target), str(node.target)))
        elif node.op in ("call_function", "call_method"):
            part = scopes.get(node.name, ("",))[0] or ""
            places.append((f"{part}.{node.name}" if part else node.name, part))
    return list(dict.fromkeys(places))


def describe_line(error: BaseException) -> str:
    """The innermost line of the user's program in an error's traceback, or nothing."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith((_TORCH, _PACKAGE, "<"))]
    return f' at {frames[-1].filename}:{frames[-1].lineno} ("{frames[-1].line}")' if frames else ""


def find_line(node: torch.fx.Node) -> Tuple[str, int, str]:
    """File, line and text of the user's program that made a node: the innermost one outside of PyTorch."""
    trace: Any = node.stack_trace or node.meta.get("stack_trace") or ""
    lines = [line.strip() for line in trace.splitlines()]
    for i in reversed(range(len(lines))):
        if not lines[i].startswith('File "'):
            continue
        file, _, rest = lines[i][len('File "'):].partition('"')
        if file.startswith((_TORCH, _HERE)) or file.startswith("<eval_with_key"):
            continue
        number = rest.split("line ")[1].split(",")[0]
        return file, int(number), lines[i + 1] if i + 1 < len(lines) else ""
    return "", 0, ""
