# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operators of a prepared network, and the nodes of the graph that they come from."""
from __future__ import annotations

from typing import Any, Dict, Optional

from .._ir import list_operators
from .front.translate import Network


class Listing:
    """What `octet-prepare` made of a network. An operator is a dict (octet._ir.list_operators), a value a number."""

    def __init__(self, network: Network, bytecode: bytes) -> None:
        listing = list_operators(bytecode)
        self.operators = listing["operators"]
        #: The texts of observers by their symbols.
        self.observers: Dict[str, str] = listing["observers"]
        #: What computes each value.
        self.makers: Dict[int, Any] = {number: {"op": "input", "name": name} for number, name in zip(listing["inputs"], network.inputs)}
        self.makers.update({result: op for op in self.operators for result in op["results"]})
        self._calls = network.calls

    def find_node(self, op: Dict[str, Any]) -> Optional[str]:
        """The name of the input, or of the call that an operator belongs to; None of what is inside of a module, which has no class."""
        if op["op"] == "input":
            return op["name"]
        return self._calls.get((op["name"], op.get("class"), op.get("index")))
