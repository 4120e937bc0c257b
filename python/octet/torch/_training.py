# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules for quantization-aware training: PyTorch trains them, Octet's observers choose scales and zero points.

Where values are rounded is what `octet-prepare` says of the network; scales and zero points are chosen by the code that the
compiler has for them. PyTorch's part is the arithmetic of training: `torch.fake_quantize_per_tensor_affine` and its gradient.
"""
from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch
from torch import nn

from .._ir import Observer, list_operators
from ..errors import InputError
from . import _compilation
from ._compilation import Policy
from ._modules import Source
from .front.net import Net, Value
from .front.table import MODULES, modules


class FakeQuantizeModule(nn.Module):
    """Observes what it is called with and rounds it. PyTorch: `torch.ao.quantization.FakeQuantize`."""

    is_mark = True  # for the front end: no operator, but a place where the compiler rounds

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text, self._shape = text, None
        self.observer_enabled = self.fake_quant_enabled = True
        self._observer: Optional[Observer] = None
        for name, dtype in (("scale", torch.float32), ("zero_point", torch.int32), ("range", torch.int64), ("state", torch.uint8)):
            self.register_buffer(name, torch.empty(0, dtype=dtype))

    def enable_observer(self, enabled: bool = True) -> None:
        self.observer_enabled = enabled

    def disable_observer(self) -> None:
        self.enable_observer(False)

    def enable_fake_quant(self, enabled: bool = True) -> None:
        self.fake_quant_enabled = enabled

    def disable_fake_quant(self) -> None:
        self.enable_fake_quant(False)

    def _get_observer(self, shape: Sequence[int]) -> Observer:
        if self._observer is None or list(shape) != self._shape:
            state = self._observer.state if self._observer else self.state.numpy().tobytes()
            self._observer, self._shape = Observer(self.text, list(shape)), list(shape)
            if state:
                self._observer.state = state
        return self._observer

    @property
    def has_statistics(self) -> bool:
        """Whether its range is found by observing."""
        return not self.text.startswith(("#octet.fixed", "#octet.placeholder"))

    def observe(self, x: torch.Tensor) -> None:
        observer = self._get_observer(x.shape)
        observer.update(x.detach().float().contiguous().numpy())
        scales, zeros, low, high, axis = observer.choose()
        self.scale, self.zero_point = torch.tensor(scales, dtype=torch.float32), torch.tensor(zeros, dtype=torch.int32)
        self.range = torch.tensor([low, high, axis])
        self.state = torch.frombuffer(bytearray(observer.state), dtype=torch.uint8)

    def choose(self, x: torch.Tensor) -> str:
        """The quantized type of a tensor that is observed once more; nothing is kept of it."""
        observer = Observer(self.text, list(x.shape))
        if len(self.state):
            observer.state = self.state.numpy().tobytes()
        observer.update(x.detach().contiguous().numpy())
        scales, zeros, low, high, axis = observer.choose()
        numbers = ", ".join(f"{scale!r}:{zero}" for scale, zero in zip(scales, zeros))
        storage = f"{'i' if low < 0 else 'u'}8<{low}:{high}>:f32"
        return f"!quant.uniform<{storage}, {numbers}>" if axis < 0 else f"!quant.uniform<{storage}:{axis}, {{{numbers}}}>"

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.observer_enabled:
            self.observe(x)
        if not self.fake_quant_enabled or not len(self.scale):
            return x
        low, high, axis = self.range.tolist()
        if axis >= 0:
            return torch.fake_quantize_per_channel_affine(x, self.scale, self.zero_point, axis, low, high)
        return torch.fake_quantize_per_tensor_affine(x, self.scale, self.zero_point, low, high)

    def write_statistics(self, symbol: str) -> str:
        numbers = [number - 256 if number > 127 else number for number in self.state.tolist()]
        return f'octet.observer @"{symbol}" {self.text} statistics dense<{numbers}> : tensor<{len(numbers)}xi8>\n'

    def extra_repr(self) -> str:
        return self.text

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "_observer": None}

    def _load_from_state_dict(self, state_dict: Dict[str, Any], prefix: str, *args: Any) -> None:
        for name, buffer in list(self._buffers.items()):
            saved = state_dict.get(prefix + name)
            if saved is not None and saved.shape != buffer.shape:
                setattr(self, name, torch.empty_like(saved))
        self._observer = None
        super()._load_from_state_dict(state_dict, prefix, *args)


def _column(x: torch.Tensor, rank: int, axis: int) -> torch.Tensor:
    return x.reshape([-1 if i == axis else 1 for i in range(rank)])


class LayerInTraining(nn.Module):
    """A layer with rounded weights, and the batch norm behind it, whose factor the rounded weights have.

    Krishnamoorthi, "Quantizing deep convolutional networks", 2018, section 3.2.2. PyTorch: `torch.ao.nn.qat`, `torch.ao.nn.intrinsic.qat`.
    """

    def __init__(self, layer: nn.Module, text: str, norm: Optional[nn.Module] = None) -> None:
        super().__init__()
        self.layer, self.norm, self.weight_fake_quant, self.is_frozen = layer, norm, FakeQuantizeModule(text), False

    @property
    def layer_in_training(self) -> nn.Module:
        """What this module stands for, in origins and mappings."""
        return self.layer

    def train(self, mode: bool = True) -> "LayerInTraining":
        super().train(mode)
        if self.is_frozen and self.norm is not None:
            self.norm.eval()
        return self

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weight = self.layer.weight
        if self.norm is None:
            return torch.func.functional_call(self.layer, {"weight": self.weight_fake_quant(weight)}, (x,))
        factor = self.norm.weight / torch.sqrt(self.norm.running_var + self.norm.eps)
        parameters = {"weight": self.weight_fake_quant(weight * _column(factor, weight.dim(), 0))}
        if self.layer.bias is not None:
            parameters["bias"] = torch.zeros_like(self.layer.bias)
        y = torch.func.functional_call(self.layer, parameters, (x,))
        y = y / _column(factor, y.dim(), 1)
        return self.norm(y if self.layer.bias is None else y + _column(self.layer.bias, y.dim(), 1))


@modules(FakeQuantizeModule)
def _pass(net: Net, module: Any, x: Value) -> Value:
    """The compiler puts the rounding there, with the statistics of training; parameters have the type that training has found."""
    return x if x.tensor is None else net.constant(x.tensor, x.name, module.module.choose(x.tensor))


@modules(LayerInTraining)
def _make_layer(net: Net, module: Any, x: Value) -> Value:
    """The layer with the batch norm in its weights and bias, and the type that training has found for the weights."""
    layer, norm = module.module.layer, module.module.norm
    weight, bias = layer.weight, layer.bias
    if norm is not None:
        factor = norm.weight / torch.sqrt(norm.running_var + norm.eps)
        weight = weight * _column(factor, weight.dim(), 0)
        bias = ((0 if bias is None else bias) - norm.running_mean) * factor + norm.bias
    path = module.path
    rounded = net.constant(weight, f"{path}.weight", module.module.weight_fake_quant.choose(weight))
    folded = None if bias is None else net.constant(bias, f"{path}.bias")
    return MODULES[type(layer)](net, SimpleNamespace(**{**vars(layer), "weight": rounded, "bias": folded}), x)


class _Inserter:
    """Puts roundings into a graph where the prepared network has observers."""

    def __init__(self, graph: torch.fx.GraphModule, names: Dict[str, str], listing: Dict[str, Any], inputs: Sequence[str]) -> None:
        copy, known, self.observers = torch.fx.Graph(), {}, listing["observers"]
        for node in graph.graph.nodes:
            known[node] = copy.node_copy(node, lambda n: known[n])
        self.graph = torch.fx.GraphModule(graph, copy)  # with the same layers in modules of its own
        self.nodes = {node.name: known[node] for node in graph.graph.nodes}
        self.by_origin = {origin: self.nodes[name] for origin, name in names.items()}
        self.by_origin.update({name: self.nodes[name] for name in inputs})
        self.operators = listing["operators"]
        self.makers: Dict[int, Any] = {number: {"op": "input", "name": name} for number, name in zip(listing["inputs"], inputs)}
        self.makers.update({result: operator for operator in self.operators for result in operator["results"]})
        self.inserted: Dict[Tuple[torch.fx.Node, str], torch.fx.Node] = {}
        self.symbols: Dict[str, str] = {}  # module paths by the symbols of observers
        self.weights: set = set()  # symbols of those that parameters have

    def run(self) -> torch.fx.GraphModule:
        for operator in self.operators:
            if operator["op"] == "octet.observe" or self.is_inside(operator):
                continue
            for operand in operator["operands"]:
                value, symbols = self.look_behind(operand)
                if symbols:
                    self.insert(operator, value, symbols)
        self.graph.delete_all_unused_submodules()
        self.graph.graph.lint()
        self.graph.recompile()
        return self.graph

    def is_inside(self, operator: Dict[str, Any]) -> bool:
        """Whether this makes an image of a sequence for a layer, or the reverse, and is no operator of the graph."""
        node = self.by_origin.get(operator["name"])
        return operator["op"] == "nn.reshape" and node is not None and node.op == "call_module" and not isinstance(
            self.graph.get_submodule(str(node.target)), (nn.Flatten, nn.Unflatten))

    def look_behind(self, value: int) -> Tuple[int, List[str]]:
        """What is observed, and the symbols of the observers, first to last."""
        symbols: List[str] = []
        while (maker := self.makers[value])["op"] == "octet.observe" or self.is_inside(maker):
            if maker.get("observer") and maker["observer"] not in symbols:
                symbols.insert(0, maker["observer"])
            value = maker["operands"][0]
        return value, symbols

    def insert(self, reader: Dict[str, Any], value: int, symbols: Sequence[str]) -> None:
        """One value that an operator reads through observers."""
        maker = self.makers[value]
        node = self.nodes["output"] if reader["op"] == "func.return" else self.by_origin.get(reader["name"])
        if maker["op"] == "nn.constant":
            self.insert_weight(node, reader, maker["name"], symbols[-1])
        elif maker["name"] == reader["name"] or node is None or maker["name"] not in self.by_origin:
            raise InputError(f"{reader['name'] or 'the output'}: values inside of a module are quantized, which cannot be trained; give the module "
                             "None in the QConfigMapping")
        else:
            self.insert_value(self.by_origin[maker["name"]], node, symbols)

    def insert_value(self, producer: torch.fx.Node, reader: torch.fx.Node, symbols: Sequence[str]) -> None:
        last = producer
        for symbol in symbols:
            if (last, symbol) not in self.inserted:
                path = self.symbols.get(symbol) or self.add_module(FakeQuantizeModule(self.observers[symbol]))
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
        replaced = LayerInTraining(layer, self.observers[symbol], self.graph.get_submodule(str(norm.target)) if norm else None)
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
        names = {operator["name"] for operator in self.operators if operator["op"] not in ("nn.reshape", "octet.observe")}
        return norms[0] if len(norms) == len(node.users) == 1 and str(norms[0].target) not in names else None

    def insert_parameter(self, node: Optional[torch.fx.Node], name: str, symbol: str) -> None:
        sources = [source for source in node.all_input_nodes if source.op == "get_attr" and source.target == name] if node else []
        for source in sources:
            self.insert_value(source, node, [symbol])
            self.weights.add(symbol)
        if not sources and node:
            raise InputError(f"{node.name}: its weight '{name}' is computed; give a parameter")


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
        inserter = _Inserter(graph, network.nodes, list_operators(bytecode), network.inputs)
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


def freeze_bn_stats(module: nn.Module) -> None:
    """For `Module.apply`: batch norms go on with the statistics that they have. PyTorch: `torch.ao.nn.intrinsic.qat.freeze_bn_stats`."""
    if isinstance(module, LayerInTraining) and module.norm is not None:
        module.norm.eval()
        module.is_frozen = True


def update_bn_stats(module: nn.Module) -> None:
    """For `Module.apply`: batch norms take the statistics of batches again."""
    if isinstance(module, LayerInTraining) and module.norm is not None:
        module.is_frozen = False
        module.norm.train(module.training)
