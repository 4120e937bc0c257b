# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where training rounds: in the graph, at the places of observers in the prepared network."""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch
from torch import nn

from ..errors import InputError
from ._listing import Listing
from .front.translate import Network
from ._rounding import FakeQuantizeModule, LayerInTraining

_MOVES = ("nn.reshape", "nn.transpose", "nn.slice", "nn.concat", "octet.group")


class Inserter:
    """Puts roundings into a graph where the prepared network has observers."""

    def __init__(self, graph: torch.fx.GraphModule, network: Network, listing: Listing) -> None:
        copy, known, self.listing = torch.fx.Graph(), {}, listing
        for node in graph.graph.nodes:
            known[node] = copy.node_copy(node, lambda n: known[n])
        self.graph = torch.fx.GraphModule(graph, copy)  # with the same layers in modules of its own
        self.nodes = {node.name: known[node] for node in graph.graph.nodes}
        self.by_origin = {origin: self.nodes[name] for origin, name in network.nodes.items()}
        self.tensors = {self.nodes[name] for name in network.tensors}
        self.computing = {self.find_node(op) for op in self.listing.operators if op["op"] != "octet.observe" and not self.is_inside(op)}
        self.inserted: Dict[Tuple[torch.fx.Node, str], torch.fx.Node] = {}
        self.symbols: Dict[str, str] = {}  # module paths by the symbols of observers
        self.weights: set = set()  # symbols of those that parameters have
        self.results: Dict[torch.fx.Node, torch.fx.Node] = {}  # batch norms that conversion folds into the layers in front

    def run(self) -> torch.fx.GraphModule:
        for reader in self.listing.operators:
            if reader["op"] in ("octet.observe", "octet.yield") or self.is_inside(reader):
                continue
            for number, operand in enumerate(reader["operands"]):
                value, symbols = self.look_behind(operand)
                if symbols:
                    self.insert(reader, number, value, symbols)
        self.graph.delete_all_unused_submodules()
        self.graph.graph.lint()
        self.graph.recompile()
        return self.graph

    def is_inside(self, op: Dict[str, Any]) -> bool:
        """Whether this moves elements for a layer (images of a sequence or of a volume, and the reverse), and is no operator of the graph."""
        node = self.find_node(op)
        if node is None or node.op != "call_module" or op["op"] not in _MOVES:
            return False
        module = self.graph.get_submodule(str(node.target))
        if op["op"] == "nn.reshape":
            return not isinstance(module, (nn.Flatten, nn.Unflatten))
        return isinstance(module, (nn.modules.conv._ConvNd, LayerInTraining))

    def look_behind(self, value: int) -> Tuple[int, List[str]]:
        """What is observed, and the symbols of the observers, first to last."""
        symbols: List[str] = []
        while (maker := self.listing.makers[value])["op"] == "octet.observe" or self.is_inside(maker):
            if maker.get("observer") and maker["observer"] not in symbols:
                symbols.insert(0, maker["observer"])
            value = maker["operands"][0]
        return value, symbols

    def insert(self, reader: Dict[str, Any], number: int, value: int, symbols: Sequence[str]) -> None:
        """One value that an operator reads through observers, as its operand of this number."""
        maker = self.listing.makers[value]
        node = self.nodes["output"] if reader["op"] == "func.return" else self.find_node(reader)
        if maker["op"] == "nn.constant":
            self.insert_weight(node, reader, maker["name"], symbols[-1])
            return
        producer = self.find_producer(maker)
        if node is None or producer is None or producer is node:
            raise InputError(f"{reader['name'] or 'the output'}: values inside of a module are quantized, which cannot be trained; give the module "
                             "None in the QConfigMapping")
        for source in self.find_inputs(producer, node, reader, number, value):
            # Of several observers the value's own stands in front of identities, which have no operator, the others behind them.
            first, first_reader = self.find_first(source, node)
            own = symbols[:1] if first is not source and len(symbols) > 1 else []
            self.insert_value(first, first_reader, own)
            self.insert_value(source, node, symbols[len(own):])

    def find_node(self, op: Dict[str, Any]) -> Optional[torch.fx.Node]:
        """The call that an operator belongs to; what is inside of a module has no class, and the module's name."""
        return self.nodes.get(self.listing.find_node(op) or "") or self.by_origin.get(op["name"])

    def find_producer(self, op: Dict[str, Any]) -> Optional[torch.fx.Node]:
        """The call whose result is an operator's."""
        node = self.find_node(op)
        return self.results.get(node, node) if node else None

    def find_inputs(self, producer: torch.fx.Node, node: torch.fx.Node, reader: Dict[str, Any], number: int, value: int) -> List[torch.fx.Node]:
        """What a call reads of what another one computes: that, parts of its tuple, or what has no operator in the network (an identity) behind it."""
        found = [other for other in map(self.look_behind_roundings, node.all_input_nodes) if self.find_source(other) is producer]
        read = dict.fromkeys(self.look_behind(operand)[0] for operand in reader["operands"])
        values = [other for other in read if self.listing.makers[other]["op"] != "nn.constant" and self.find_producer(self.listing.makers[other]) is producer]
        if len(values) == 1 and found:
            # Read several times, behind identities and not, each has the observers of its own operand.
            numbers = [k for k, operand in enumerate(reader["operands"]) if self.look_behind(operand)[0] == value]
            return [found[numbers.index(number)]] if len(numbers) == len(found) else found
        if len(values) != len(found):
            raise InputError(f"{reader['name'] or 'the output'}: what it reads of {producer.name} is not found in the module; give {producer.name} None in "
                             "the QConfigMapping")
        return [found[values.index(value)]]

    def look_behind_roundings(self, node: torch.fx.Node) -> torch.fx.Node:
        while node.op == "call_module" and isinstance(self.graph.get_submodule(str(node.target)), FakeQuantizeModule):
            node = node.all_input_nodes[0]
        return node

    def find_source(self, node: torch.fx.Node) -> torch.fx.Node:
        """The call whose result, or a part of it, a node passes on: one without an operator."""
        while node not in self.computing and node in self.tensors and node.all_input_nodes:
            node = self.look_behind_roundings(node.all_input_nodes[0])
        return node

    def find_first(self, node: torch.fx.Node, reader: torch.fx.Node) -> Tuple[torch.fx.Node, torch.fx.Node]:
        """The tensor that a node passes on as it is, and what reads it."""
        while node not in self.computing and node in self.tensors and node.all_input_nodes:
            before = self.look_behind_roundings(node.all_input_nodes[0])
            if before not in self.tensors:
                break
            node, reader = before, node
        return node, reader

    def insert_value(self, producer: torch.fx.Node, reader: torch.fx.Node, symbols: Sequence[str]) -> None:
        last = producer
        for symbol in symbols:
            if (last, symbol) not in self.inserted:
                path = self.symbols.get(symbol) or self.add_module(FakeQuantizeModule(self.listing.observers[symbol]))
                self.symbols[symbol] = path
                with self.graph.graph.inserting_after(last):
                    self.inserted[last, symbol] = self.graph.graph.call_module(path, (last,))
            last = self.inserted[last, symbol]
        reader.replace_input_with(producer, last)

    def add_module(self, module: nn.Module) -> str:
        """The path of a new module."""
        path = f"activation_post_process_{len(self.symbols)}"
        self.graph.add_submodule(path, module)
        return path

    def insert_weight(self, node: Optional[torch.fx.Node], reader: Dict[str, Any], name: str, symbol: str) -> None:
        if node is None or node.op == "call_function":
            self.insert_parameter(node, name, symbol)
            return
        path = str(node.target)
        layer = self.graph.get_submodule(path)
        if isinstance(layer, LayerInTraining):
            return
        norm = self.find_norm(node)
        if isinstance(layer, nn.modules.conv._ConvTransposeNd):  # as in PyTorch, its weights are rounded at conversion only
            if norm:
                self.results[node] = norm
                self.computing.add(norm)
            return
        replaced = LayerInTraining(layer, self.listing.observers[symbol], self.graph.get_submodule(str(norm.target)) if norm else None)
        parent, _, last = path.rpartition(".")
        setattr(self.graph.get_submodule(parent), last, replaced)
        if norm:
            norm.replace_all_uses_with(node)
            self.by_origin[str(norm.target)] = node
            self.graph.graph.erase_node(norm)
            self.graph.delete_submodule(str(norm.target))  # or it would be switched there, too

    def find_norm(self, node: torch.fx.Node) -> Optional[torch.fx.Node]:
        """The batch norm that the compiler has folded into a layer's weights: the network computes nothing of its name."""
        norms = [user for user in node.users if user.op == "call_module" and isinstance(
            self.graph.get_submodule(str(user.target)), nn.modules.batchnorm._BatchNorm)]
        names = {known["name"] for known in self.listing.operators if known["op"] not in ("nn.reshape", "octet.observe")}
        if len(norms) != 1 or len(node.users) != 1 or str(norms[0].target) in names:
            return None
        calls = [other for other in self.graph.graph.nodes if other.target == norms[0].target]
        return norms[0] if len(calls) == 1 else None

    def insert_parameter(self, node: Optional[torch.fx.Node], name: str, symbol: str) -> None:
        sources = [source for source in node.all_input_nodes if source.op == "get_attr" and source.target == name] if node else []
        for source in sources:
            self.insert_value(source, node, [symbol])
            self.weights.add(symbol)
        if not sources and node:
            raise InputError(f"{node.name}: its weight '{name}' is computed; give a parameter")
