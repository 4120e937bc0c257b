# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `fuse_fx` returns."""
from __future__ import annotations

import re
from typing import Any, Callable, Dict, Optional, Sequence

import torch

from ..errors import InputError
from . import _compilation
from ._compilation import Converted, Policy
from ._modules import Source, _order, get_key, make_run, tidy


class FusedModule(torch.nn.Module):
    """The float module behind `octet-fuse`: batch norms are in weights, and the backend's patterns are groups. It is compiled when it is
    called, for the shapes that come."""

    def __init__(self, graph: torch.fx.GraphModule, policy: Policy) -> None:
        super().__init__()
        self.float_module, self._source = graph, Source(graph, policy)
        self._runs: Dict[Any, Callable[..., Any]] = {}
        self._text: Optional[str] = None
        self.eval()

    def forward(self, *inputs: Any, **named: Any) -> Any:
        inputs = _order(self._source.names, inputs, named) if named else inputs
        inputs = tidy(inputs)
        key = get_key(inputs)
        if key not in self._runs:
            self._runs[key] = self._compile(inputs)
        return self._runs[key](inputs)

    def _compile(self, inputs: Sequence[Any]) -> Callable[..., Any]:
        network = self._source.get_network(inputs)
        text, model = _compilation.fuse(network, self._source.policy)
        self._text = self._text or text
        return make_run(Converted(model), network)

    @property
    def code(self) -> str:
        """The fused network as text, for the shapes of the first call."""
        if self._text is None:
            raise InputError("the fused module was never called, and networks have the shapes of their inputs: call it once")
        return self._text

    def extra_repr(self) -> str:
        """Its function; the policy stands behind it in `code`."""
        found = re.search(r"^  func\.func @main.*?^  }", self._text or "", re.M | re.S)
        return re.sub(r" loc\((?:#loc\d*|\"[^\"]*\")\)", "", found[0]) if found else "not called yet"

    def __getstate__(self) -> Dict[str, Any]:
        raise InputError("a fused module is not saved: save the float module, or what convert_fx returns")
