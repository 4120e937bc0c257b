# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `prepare_qat_fx` returns."""
from __future__ import annotations

import copy
from typing import Any, Sequence

import torch
from torch import nn

from ..errors import InputError
from . import _compilation
from ._compilation import Policy
from ._insertion import Inserter
from ._listing import Listing
from ._modules import Source
from ._rounding import FakeQuantizeModule


class TrainingModule(nn.Module):
    """What `prepare_qat_fx` returns: the module with roundings. Train it, then give it to `convert_fx`."""

    def __init__(self, graph: torch.fx.GraphModule, policy: Policy, example_inputs: Sequence[Any]) -> None:
        super().__init__()
        self._policy, self.example_inputs = policy, tuple(example_inputs)
        modes = {name: module.training for name, module in graph.named_modules()}
        network = Source(graph.eval(), policy).get_network(self.example_inputs)
        for name, module in graph.named_modules():
            module.training = modes[name]
        text, bytecode = _compilation.prepare(network, policy)
        self.code = text
        inserter = Inserter(graph, network, Listing(network, bytecode))
        self.module = inserter.run()
        self.module.octet_scopes = graph.octet_scopes
        self._symbols = {symbol: path for symbol, path in inserter.symbols.items() if symbol not in inserter.weights}

    def forward(self, *inputs: Any) -> Any:
        return self.module(*inputs)

    def make_source(self) -> Source:
        """The module with the weights and the statistics of training."""
        if any(not len(module.state) for module in self.module.modules() if isinstance(module, FakeQuantizeModule) and module.has_statistics):
            raise InputError("the prepared module was never trained: call it with training data before it is converted")
        graph = copy.deepcopy(self.module).eval()
        graph.octet_scopes = self.module.octet_scopes
        graph.apply(lambda module: module.disable_observer() if isinstance(module, FakeQuantizeModule) else None)
        source = Source(graph, self._policy)
        source.statistics = ["".join(module.write_statistics(symbol) for symbol, module in (
            (symbol, self.module.get_submodule(path)) for symbol, path in self._symbols.items()) if module.has_statistics)]
        return source
