# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`torch.compile(module, backend="octet")`.

    fast = torch.compile(module, backend="octet")  # float
    fast = torch.compile(module, backend="octet", options={"calibration_calls": 32})  # int8 from the 33rd call on

`import octet.torch.compile_backend` registers the backend (and loads Dynamo). Options: `calibration_calls`, so many calls run in PyTorch and are what each graph is
calibrated with; `backend_config` ("cpu" by default) and `qconfig_mapping` as of `prepare_fx`; `threads`.
"""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch
import torch._dynamo

from ..errors import InputError
from ._compilation import Policy
from ._modules import Source, get_key, make_run
from .quantize_fx import make_policy

_OPTIONS = {"calibration_calls", "backend_config", "qconfig_mapping", "threads"}


def _is_static(value: Any) -> bool:
    """Whether an input of a graph is one of the module's own tensors, which Dynamo passes in each call."""
    return isinstance(value, torch.nn.Parameter) or getattr(value, "_dynamo_static_input_type", None) is not None


def _hold(graph: torch.fx.GraphModule, values: Sequence[Any], static: Sequence[bool]) -> torch.fx.GraphModule:
    """The graph with the module's own tensors, and numbers, inside."""
    held = torch.fx.GraphModule(graph, torch.fx.Graph())
    known: Dict[torch.fx.Node, Any] = {}
    inputs = iter(zip(values, static))
    for node in graph.graph.nodes:
        value, is_static = next(inputs) if node.op == "placeholder" else (None, False)
        if is_static:
            held.register_buffer(node.name, value) if isinstance(value, torch.Tensor) else setattr(held, node.name, value)
            known[node] = held.graph.get_attr(node.name)
        else:
            known[node] = held.graph.node_copy(node, lambda n: known[n])
    held.recompile()
    return held


class _Graph:
    """One of Dynamo's graphs: compiled when it is called, for the shapes that come."""

    def __init__(self, graph: torch.fx.GraphModule, policy: Policy, calls: int, threads: int) -> None:
        self.graph, self.policy, self.calls, self.threads = graph, policy, calls, threads
        self.source: Optional[Source] = None
        self.static: List[bool] = []
        self.own: List[Tuple[torch.Tensor, int]] = []  # the module's tensors and their versions
        self.runs: Dict[Any, Callable[..., Any]] = {}

    def _is_new(self, values: Sequence[Any]) -> bool:
        own = [value for value, is_static in zip(values, self.static) if is_static]
        return self.source is None or any(x is not y or x._version != version for x, (y, version) in zip(own, self.own))

    def _begin(self, values: Sequence[Any]) -> None:
        self.static = [_is_static(value) or not isinstance(value, torch.Tensor) for value in values]
        self.own = [(value, getattr(value, "_version", 0)) for value, is_static in zip(values, self.static) if is_static]
        self.source, self.runs = Source(_hold(self.graph, values, self.static), self.policy), {}

    def __call__(self, *values: Any) -> Any:
        if self._is_new(values):
            self._begin(values)
        inputs = [value for value, is_static in zip(values, self.static) if not is_static]
        if torch.is_grad_enabled() and any(isinstance(value, torch.Tensor) and value.requires_grad for value in values):
            raise InputError("compiled code has no gradients: call the module under torch.no_grad()")
        if self.calls > 0:
            self.calls -= 1
            self.source.record(inputs)
            return self.graph(*values)
        inputs = [x.detach().contiguous() for x in inputs]
        key = get_key(inputs)
        if key not in self.runs:
            self.runs[key] = make_run(*self.source.convert(inputs, self.threads))
        return self.runs[key](inputs)


@torch._dynamo.register_backend(name="octet")
def octet_backend(graph: torch.fx.GraphModule, example_inputs: Sequence[Any], *, options: Optional[Dict[str, Any]] = None) -> Callable[..., Any]:
    """The function that Dynamo calls with each graph. Raises InputError for options that are not known."""
    options = dict(options or {})
    if unknown := sorted(set(options) - _OPTIONS):
        raise InputError(f"options: expected some of {sorted(_OPTIONS)}, but got {unknown}")
    calls = int(options.get("calibration_calls", 0))
    policy = Policy(precision="float") if not calls else make_policy(options.get("qconfig_mapping") or "", options.get("backend_config") or "cpu")
    return _Graph(graph, policy, calls, int(options.get("threads", 1)))
