# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One graph becomes one network: the graph runs in PyTorch on example inputs, and every operator on the way is made in nn."""
from __future__ import annotations

import operator
from collections import Counter
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

import torch
import torch.fx
from torch.utils import _pytree as pytree

from ...errors import CompileError, InputError
from .._names import name_type
from . import rows  # noqa: F401  (fills the table)
from .decompose import decompose
from .memory import Memory
from .net import ELEMENTS, Net, Output, Unfinished, Unsupported, Value, held_as
from .parameters import Parameters
from .standalone import call_standalone
from .table import COMPLEX, KEPT, MODULES, Row, find_row
from .trace import find_line


class Network:
    """The result: bytecode for the compiler, and what the graph's inputs and outputs are."""

    def __init__(self, net: Net, inputs: List[str], outputs: List[str], result: Any, lines: Dict[str, Tuple[str, int, str]]) -> None:
        self._net, self.inputs, self.outputs, self.lines = net, inputs, outputs, lines
        #: What the graph returns, with numbers of outputs in place of tensors.
        self.result = result
        #: The types that the graph takes and returns; the program holds all floats as f32.
        self.input_types: List[torch.dtype] = []
        self.output_types: List[torch.dtype] = []
        #: The graph's nodes by the names of operators, and by their whole origins.
        self.nodes: Dict[str, str] = {}
        self.calls: Dict[Tuple[str, str, int], str] = {}
        #: Names of the nodes that are tensors.
        self.tensors: Set[str] = set()

    def __deepcopy__(self, memo: Dict[int, Any]) -> "Network":
        return self  # it does not change

    @property
    def builder(self) -> Any:
        return self._net.builder

    @property
    def bytecode(self) -> bytes:
        return self._net.builder.bytecode

    @property
    def text(self) -> str:
        return self._net.builder.text


_NOT_COMPUTED = "a result is read that is not computed, such as the positions of an adaptive pool's maxima or the statistics of a normalization"
#: Operators that make numbers of a tensor's elements.
_STEERING = ("item", "tolist", "__bool__", "__int__", "__float__", "equal", "allclose", "is_nonzero", "_local_scalar_dense")


def _has_size(node: torch.fx.Node) -> bool:
    """Whether a number is known without the elements of tensors."""
    target = node.target
    name = target._schema.name.split("::")[1] if isinstance(target, torch._ops.OpOverload) else target if isinstance(target, str) else target.__name__
    return name not in _STEERING


def _has_values(tree: Any) -> bool:
    """Whether a tensor in it is computed when the network runs."""
    return any(isinstance(leaf, Value) and leaf.tensor is None for leaf in pytree.tree_leaves(tree))


#: A value of a type that no placeholder has, behind an obstacle.
_MISSING = object()
#: A result that a row leaves out, as positions beside values; reading it is an obstacle.
_LEFT_OUT = object()


def _fit(row: Optional[Row], values: Any) -> Optional[Row]:
    """The row for complex numbers, if there are any."""
    if not any(isinstance(leaf, Value) and leaf.dtype == torch.complex64 for leaf in pytree.tree_leaves(values)):
        return row
    if row not in COMPLEX:
        raise Unsupported("complex numbers")
    return COMPLEX[row]


def _refuse(node: torch.fx.Node, reason: str) -> None:
    raise Unsupported(reason)


class Translator:
    """Walks a graph once. Front ends that know more of operators say it by another `origin`."""

    def __init__(self, graph: torch.fx.GraphModule, prefix: str = "") -> None:
        self.module, self.net = graph, Net()
        #: The path of the module, with a dot behind it, if it is a part of a network.
        self.prefix = prefix
        self.functions: Dict[Any, Tuple[str, Network]] = {}  # of standalone modules, by their paths and inputs
        self.scopes: Dict[str, Any] = getattr(graph, "octet_scopes", {})
        self.memory = Memory(self.obstruct)
        self.real = self.memory.real
        self.made: Dict[torch.fx.Node, Any] = {}
        self.counts: Counter = Counter()
        self.numbers: Dict[torch.fx.Node, int] = {}
        self.lines: Dict[str, Tuple[str, int, str]] = {}
        self.nodes: Dict[str, str] = {}
        self.obstacles: List[str] = []
        self.known: Dict[int, Value] = {}  # parameters, each a constant once

    # ---- names ----
    def describe(self, node: torch.fx.Node) -> Tuple[str, str, str]:
        """An operator's name, its class, and the module that it is in. All calls of a module have its name, by which policies speak of them."""
        if node.op == "call_module":
            target = str(node.target)
            module = self.module.get_submodule(target)
            target = self.prefix + target
            return target, name_type(type(getattr(module, "layer_in_training", module))), target.rpartition(".")[0]
        part = (self.prefix + (self.scopes.get(node.name, ("",))[0] or "")).rstrip(".")
        source = name_type(node.target if node.op == "call_function" else str(node.target))
        return f"{part}.{node.name}" if part else node.name, source, part

    def origin(self, node: torch.fx.Node) -> Tuple[str, str, int]:
        """The name of an operator, its class, and its number among those of its class in the same module. Calls that become no operator count."""
        name, source, part = self.describe(node)
        if node not in self.numbers:
            self.numbers[node] = self.counts[part, source]
            self.counts[part, source] += 1
        return name, source, self.numbers[node]

    def fail(self, node: torch.fx.Node, name: str, source: str, reason: str) -> None:
        file, line, text = self.lines[name]
        place = f"{file}:{line}: " if file else ""
        self.obstacles.append(f"{place}{source} ({name}): {reason}" + (f"\n    {text}" if text else ""))

    # ---- nodes ----
    def run(self, example_inputs: Sequence[Any]) -> Network:
        inputs, examples, result, real_result = [], list(example_inputs), None, None
        with torch.no_grad():
            for node in self.module.graph.nodes:
                if node.op == "placeholder":
                    real = examples.pop(0) if examples else node.args[0]
                    inputs += self.take_input(node, real)
                elif node.op == "get_attr":
                    real = self.real[node] = operator.attrgetter(str(node.target))(self.module)
                    self.made[node] = self.parameter(real, self.prefix + str(node.target)) if isinstance(real, torch.Tensor) else real
                elif node.op == "output":
                    for read in node.all_input_nodes:
                        if any(leaf is _LEFT_OUT for leaf in pytree.tree_leaves(self.made[read])):
                            self.obstruct(read, _NOT_COMPUTED)
                    result = torch.fx.map_arg(node.args[0], lambda n: self.made[n])
                    real_result = torch.fx.map_arg(node.args[0], lambda n: self.real[n])
                else:
                    self.call(node)
        if self.obstacles and self.prefix:
            raise Unfinished(self.obstacles)
        if self.obstacles:
            count = "1 operator is" if len(self.obstacles) == 1 else f"{len(self.obstacles)} operators are"
            raise CompileError(f"{count} not supported:\n" + "\n".join(self.obstacles))
        network = self.finish(inputs, result)
        network.input_types = [x.dtype for x in example_inputs if isinstance(x, torch.Tensor)]
        network.output_types = [x.dtype for x in pytree.tree_leaves(real_result) if isinstance(x, torch.Tensor)]
        return network

    def take_input(self, node: torch.fx.Node, real: Any) -> List[str]:
        """The name of an input, if it is a tensor."""
        if not isinstance(real, torch.Tensor):
            self.real[node] = self.made[node] = real
            return []
        if real.device.type != "cpu":
            raise InputError(f"the input {node.name} is on the device {real.device}: move the module and its inputs to the CPU")
        self.real[node] = real.detach().clone()
        try:
            self.made[node] = self.net.input(node.name, real)
        except Unsupported as error:
            raise InputError(f"the input {node.name}: {error}") from None
        return [node.name]

    def finish(self, inputs: List[str], result: Any) -> Network:
        leaves, spec = pytree.tree_flatten(result)
        if any(isinstance(leaf, Value) and leaf.dtype == torch.complex64 for leaf in leaves):
            raise CompileError("the graph returns complex numbers; return torch.view_as_real of them")
        tensors = [leaf for leaf in leaves if isinstance(leaf, Value)]
        outputs = ["output" if len(tensors) == 1 else f"output{i}" for i in range(len(tensors))]
        try:
            self.net.builder.finish([(name, self.net.number(value)) for name, value in zip(outputs, tensors)])
        except Unsupported as error:
            raise CompileError(f"the graph returns {error}") from None
        places = [Output(tensors.index(leaf)) if isinstance(leaf, Value) else leaf for leaf in leaves]
        network = Network(self.net, inputs, outputs, pytree.tree_unflatten(places, spec), self.lines)
        network.nodes, network.calls = self.nodes, {self.origin(node): node.name for node in self.numbers}
        network.tensors = {node.name for node, made in self.made.items() if isinstance(made, Value)}
        return network

    def parameter(self, tensor: torch.Tensor, name: str) -> Value:
        if id(tensor) not in self.known:
            self.known[id(tensor)] = self.net.constant(tensor, name)
        return self.known[id(tensor)]

    def wrap(self, real: Any) -> Any:
        """Constants of the tensors in a result that no input reaches."""
        return pytree.tree_map(lambda leaf: self.net.constant(leaf) if isinstance(leaf, torch.Tensor) else leaf, real)

    def assume(self, real: Any) -> Any:
        """Placeholders for what could not be translated, so that all obstacles are found."""
        def make(leaf: Any) -> Any:
            is_held = isinstance(leaf, torch.Tensor) and leaf.dtype in ELEMENTS
            return self.net.input("?", leaf) if is_held else _MISSING if isinstance(leaf, torch.Tensor) else leaf
        return pytree.tree_map(make, real)

    def call(self, node: torch.fx.Node) -> None:
        module = self.module.get_submodule(str(node.target)) if node.op == "call_module" else None
        written = self.memory.write(node, module)
        self.origin(node)
        args = torch.fx.map_arg(node.args, lambda n: self.real[n])
        kwargs = torch.fx.map_arg(node.kwargs, lambda n: self.real[n])
        values = torch.fx.map_arg((node.args, node.kwargs), lambda n: self.made[n])
        try:
            if node.op == "call_method":
                real = getattr(args[0], str(node.target))(*args[1:], **kwargs)
            else:
                real = (module if module is not None else node.target)(*args, **kwargs)
        except (RuntimeError, ValueError, TypeError, IndexError) as error:
            file, line, text = find_line(node)
            raise InputError(f"{file}:{line}: {text}\n  PyTorch itself fails there on the example inputs: {error}") from error
        real = self.real[node] = self.real[written[0]] if written and real is None else real  # a statement
        if not any(isinstance(leaf, torch.Tensor) for leaf in pytree.tree_leaves(real)):
            if _has_values(values) and isinstance(real, (bool, int, float)) and not _has_size(node):
                self.obstruct(node, "a number that the network computes steers the program; keep it a tensor")
            self.made[node] = real  # sizes and the like
        elif node.target is operator.getitem and isinstance(values[0][0], (list, tuple, dict)):
            self.made[node] = values[0][0][values[0][1]]
        elif any(leaf is _MISSING or leaf is _LEFT_OUT for leaf in pytree.tree_leaves(values)):
            self.made[node] = self.assume(real)
            if any(leaf is _LEFT_OUT for leaf in pytree.tree_leaves(values)):
                self.obstruct(node, _NOT_COMPUTED)
        elif not _has_values(values) and module is None and find_row(node.target, node.op) not in KEPT:
            self.made[node] = self.wrap(real)
        else:
            self.made[node] = self.translate(node, module, values, real)
        for other in written:
            self.made[other] = self.made[node]

    def obstruct(self, node: torch.fx.Node, reason: str) -> None:
        name, source, _ = self.origin(node)
        self.lines[name] = find_line(node)
        self.fail(node, name, source, reason)

    def translate(self, node: torch.fx.Node, module: Any, values: Any, real: Any) -> Any:
        name, source, index = self.origin(node)
        self.nodes[name] = node.name
        self.lines[name] = file, line, _ = find_line(node)
        self.net.set_origin(name, source, index, file, line)
        self.net.result = real
        try:
            made = self.check(self.make(node, module, values), real)
            return made if getattr(module, "is_mark", False) else self.place(made, values)
        except Unfinished as error:
            self.obstacles += error.obstacles
        except (Unsupported, ValueError) as error:
            self.fail(node, name, source, str(error))
        except (TypeError, AttributeError, LookupError, RuntimeError) as error:  # arguments that the row does not expect
            self.fail(node, name, source, f"is not supported with these arguments ({error})")
        return self.assume(real)

    def place(self, made: Any, values: Any) -> Any:
        """What does nothing is an operator of its own all the same, which a policy may observe: a move that leaves all where it is."""
        given = {leaf.number for leaf in pytree.tree_leaves(values) if isinstance(leaf, Value)}

        def move(leaf: Any) -> Any:
            is_given = isinstance(leaf, Value) and leaf.tensor is None and leaf.number >= 0 and leaf.number in given
            return self.net.nn("reshape", leaf, shape=leaf.shape) if is_given else leaf
        return pytree.tree_map(move, made)

    def make(self, node: torch.fx.Node, module: Any, values: Any) -> Any:
        args, kwargs = values
        standalone = getattr(self.module, "octet_standalone", {}).get(str(node.target)) if module is not None else None
        if standalone is not None:
            return call_standalone(self, node, standalone, values)
        if module is not None:
            row = MODULES.get(type(module))
            if row is not None:
                return row(self.net, Parameters(self.parameter, module, self.prefix + str(node.target)), *args, **kwargs)
        else:
            row = _fit(find_row(node.target, node.op), values)
            if row is not None:
                return row(self.net, *args, **kwargs)
        return self.decompose(node, module, args, kwargs)

    def decompose(self, node: torch.fx.Node, module: Any, args: Any, kwargs: Any) -> Any:
        """What has no row is made of the ATen operators that PyTorch makes it of."""
        real = torch.fx.map_arg((node.args, node.kwargs), lambda n: self.real[n])
        function = module if module is not None else node.target if node.op == "call_function" else \
            (lambda x, *rest, **named: getattr(x, str(node.target))(*rest, **named))
        graph = decompose(function, *real)
        if graph is None:
            raise Unsupported("is not supported")
        inner = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, Value)]
        return self.inline(graph, inner, [leaf for leaf in pytree.tree_leaves(real) if isinstance(leaf, torch.Tensor)])

    def inline(self, graph: torch.fx.GraphModule, values: Sequence[Value], real: Sequence[torch.Tensor]) -> Any:
        """The results of a graph of ATen operators, all of which have the origin that was set last."""
        memory = Memory(_refuse)
        made, reals = {}, memory.real
        inputs = iter(zip(values, real))
        for node in graph.graph.nodes:
            if node.op == "placeholder":
                made[node], reals[node] = next(inputs)
            elif node.op == "get_attr":
                reals[node] = getattr(graph, node.target)
                made[node] = self.parameter(reals[node], "")
            elif node.op == "output":
                return torch.fx.map_arg(node.args[0], lambda n: made[n])
            else:
                written = memory.write(node, None)
                args, kwargs = torch.fx.map_arg((node.args, node.kwargs), lambda n: reals[n])
                reals[node] = self.net.result = node.target(*args, **kwargs)
                args, kwargs = torch.fx.map_arg((node.args, node.kwargs), lambda n: made[n])
                row = _fit(find_row(node.target, node.op), (args, kwargs))
                if node.target is operator.getitem and not isinstance(args[0], Value):
                    made[node] = args[0][args[1]]
                elif any(leaf is _LEFT_OUT for leaf in pytree.tree_leaves((args, kwargs))):
                    raise Unsupported(_NOT_COMPUTED)
                elif not _has_values((args, kwargs)):
                    made[node] = self.wrap(reals[node])
                elif row is None:
                    raise Unsupported(f"{node.target} is not supported")
                else:
                    made[node] = self.check(row(self.net, *args, **kwargs), reals[node])
                made.update(dict.fromkeys(written, made[node]))
        raise AssertionError("a graph has an output")

    def check(self, made: Any, real: Any) -> Any:
        """A row's result must have PyTorch's shapes and types."""
        leaves, expected = pytree.tree_leaves(made), pytree.tree_leaves(real)
        if any(leaf is None and isinstance(tensor, torch.Tensor) for leaf, tensor in zip(leaves, expected)):
            return type(made)(_LEFT_OUT if leaf is None else leaf for leaf in made)
        for leaf, tensor in zip(leaves, expected):
            if isinstance(tensor, torch.Tensor) and leaf is not None and (leaf.shape, leaf.dtype) != (tuple(tensor.shape), held_as(tensor.dtype)):
                raise Unsupported(f"its result would be {leaf.dtype} {leaf.shape}, not {tensor.dtype} {tuple(tensor.shape)}")
        return made


def translate(graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Network:
    """The network that a graph is for inputs of these shapes. Raises CompileError with all operators that are not supported."""
    return getattr(graph, "octet_translator", Translator)(graph).run(example_inputs)
