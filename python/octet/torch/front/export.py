# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of torch.export become networks: lifted tensors are constants again, and origins are modules and functions as people wrote them."""
from __future__ import annotations

from collections import Counter
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple

import torch
import torch.fx
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.utils import _pytree as pytree

from ...errors import CompileError
from .._names import name_type
from .dims import Dims
from .table import is_in_place
from .trace import find_line
from .translate import Network, Translator, translate

#: Operators that only arrange what others compute.
_ARRANGING = {"view", "reshape", "permute", "transpose", "t", "unsqueeze", "squeeze", "expand", "select", "slice", "clone", "contiguous", "unflatten", "flatten",
              "zeros", "alias", "detach", "_to_copy", "to"}
#: Parts of the names of operators for which modules are named.
_MAIN = ("linear", "conv", "lstm", "gru", "rnn", "embedding", "norm", "pool")

#: Programs do not tell x + y and x += y from x.add(y) and x.add_(y); all are what FX's tracing calls the sign.
_SIGNS = {"add": "operator.add", "sub": "operator.sub", "mul": "operator.mul", "div": "operator.truediv", "matmul": "operator.matmul"}
_OPERATORS = {"iadd": "add", "isub": "sub", "imul": "mul", "truediv": "div", "itruediv": "div"}


def _name(node: torch.fx.Node) -> str:
    return node.target._schema.name.split("::")[1] if isinstance(node.target, torch._ops.OpOverload) else ""


def _innermost(node: torch.fx.Node) -> Tuple[str, str, str]:
    """Call, path and class of the module that a node is in."""
    stack = list((node.meta.get("nn_module_stack") or {}).items())
    if not stack:
        return "", "", ""
    call, (path, cls) = stack[-1]
    return call, path.partition("@")[0], cls if isinstance(cls, str) else f"{cls.__module__}.{cls.__qualname__}"


def _is_higher_order(node: torch.fx.Node) -> bool:
    return isinstance(node.target, torch._ops.HigherOrderOperator)


def _find_type(cls: str) -> Any:
    module, _, name = cls.rpartition(".")
    try:
        return getattr(__import__(module, fromlist=[name]), name, cls)
    except ImportError:
        return cls


class Exported(Translator):
    """Names: a module's main operator has its path and class, others those of the function that was called."""

    def __init__(self, graph: torch.fx.GraphModule, prefix: str = "") -> None:
        super().__init__(graph, prefix)
        self._main = self._find_mains(graph)
        self._calls = Counter(_call(node)[0] for node in graph.graph.nodes if _name(node))

    def _find_mains(self, graph: torch.fx.GraphModule) -> Set[torch.fx.Node]:
        groups: Dict[str, List[torch.fx.Node]] = {}
        for node in graph.graph.nodes:
            call, _, cls = _innermost(node)
            if cls.startswith("torch.nn.") and _name(node) and _name(node) not in _ARRANGING:
                groups.setdefault(call, []).append(node)
        return {node for nodes in groups.values() for node in self._find_main(nodes)}

    @staticmethod
    def _find_main(nodes: List[torch.fx.Node]) -> List[torch.fx.Node]:
        named = nodes if len(nodes) == 1 else [node for node in nodes if any(part in _name(node) for part in _MAIN)]
        return named if len(named) == 1 else []

    def finish(self, inputs: List[str], result: Any) -> Network:
        network = super().finish(inputs, result)
        spec = self.module.octet_spec
        network.result = network.result if spec is None else pytree.tree_unflatten(list(network.result), spec)
        return network

    def describe(self, node: torch.fx.Node) -> Tuple[str, str, str]:
        if node.op == "call_module":  # a part
            path, cls = node.meta["octet_place"]
            return path, name_type(_find_type(cls)), path.rpartition(".")[0]
        _, path, cls = _innermost(node)
        if node in self._main:
            return path or node.name, name_type(_find_type(cls)), path.rpartition(".")[0]
        is_alone = self._calls[_call(node)[0]] == 1
        return f"{path}.{node.name}" if path else node.name, _name_function(node, is_alone), path


def _call(node: torch.fx.Node) -> Tuple[str, str]:
    """A call in the program, and the function: ("relu_1", "function.relu")."""
    return node.meta.get("torch_fn") or ("", "")


def _name_function(node: torch.fx.Node, is_alone: bool) -> str:
    """The function that was called, where the node is all that it does; else the ATen operator."""
    if not _name(node):
        return name_type(node.target)
    kind, _, name = _call(node)[1].partition(".")
    plain = name.strip("_")
    if "descriptor" in kind and _OPERATORS.get(plain, plain) == _name(node) and _name(node) in _SIGNS:
        return _SIGNS[_name(node)]
    if name and (is_alone or name in _name(node)):
        if "descriptor" in kind:
            return f"torch.Tensor.{name}"
        for place in (torch.nn.functional, torch):
            if callable(getattr(place, name, None)):
                return name_type(getattr(place, name))
    return f"torch.ops.{node.target.namespace}.{_name(node)}"


def _functional(program: ExportedProgram) -> ExportedProgram:
    """Without operators in place and without no_grad, which PyTorch keeps in programs for training."""
    nodes = list(program.graph.nodes)
    if any(node.op == "call_function" and (_is_higher_order(node) or is_in_place(node.target, node.op, node.kwargs)) for node in nodes):
        return program.run_decompositions({})
    return program


def _find_written(program: ExportedProgram) -> List[str]:
    """The user's inputs that the program writes, with the lines: compiled code leaves its inputs as they are."""
    nodes, found = {node.name: node for node in program.graph.nodes}, []
    for spec in program.graph_signature.output_specs:
        if spec.kind == OutputKind.USER_INPUT_MUTATION:
            file, line, text = find_line(nodes[spec.arg.name])
            found.append((f"{file}:{line}: " if file else "") + f"the program changes its input {spec.target}; change a copy (x.clone()), or use the "
                         "operator that returns a new tensor" + (f"\n    {text}" if text else ""))
    return found


def _find_obstacles(program: ExportedProgram) -> List[str]:
    found = _find_written(program)
    found += [f"the program changes {spec.target} of the module; call eval() first, or return the new value instead"
             for spec in program.graph_signature.output_specs if spec.kind in (OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION)]
    for node in program.graph.nodes:
        if _is_higher_order(node):
            file, line, text = find_line(node)
            found.append((f"{file}:{line}: " if file else "") + f"{node.target.name()}: control flow that depends on tensors is not supported" +
                         (f"\n    {text}" if text else ""))
    return found


def _is_plain(spec: pytree.TreeSpec) -> bool:
    """Whether graphs can hold a structure: lists, tuples and dicts."""
    return spec.type in (None, tuple, list, dict) and all(map(_is_plain, spec.children()))


def _take_lifted(program: ExportedProgram) -> Tuple[torch.fx.Graph, Dict[str, Any]]:
    """A graph whose placeholders are the user's inputs, and the tensors that it reads as attributes; its outputs are the user's."""
    tensors = {**program.state_dict, **program.constants}
    lifted = {spec.arg.name: spec.target for spec in program.graph_signature.input_specs
              if spec.kind in (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)}
    kept = [spec.kind == OutputKind.USER_OUTPUT for spec in program.graph_signature.output_specs]
    graph, known = torch.fx.Graph(), {}
    for node in program.graph.nodes:
        if node.op == "placeholder" and node.name in lifted:
            known[node] = graph.get_attr(lifted[node.name])
        elif node.op == "output":
            leaves = [known[value] if isinstance(value, torch.fx.Node) else value for value, is_kept in zip(node.args[0], kept) if is_kept]
            spec = program.call_spec.out_spec
            graph.output(pytree.tree_unflatten(leaves, spec) if _is_plain(spec) else tuple(leaves))
        elif node.op != "call_module":  # the checks of shapes
            known[node] = graph.node_copy(node, lambda n: known[n])
    return graph, {name: tensors[name] for name in lifted.values()}


def make_graph(program: ExportedProgram) -> torch.fx.GraphModule:
    """The program as a module of its user's inputs, which `translate` takes. Raises CompileError with what is refused as a whole."""
    program = _functional(program)
    obstacles = _find_obstacles(program)
    if obstacles:
        raise CompileError("the program is not supported:\n" + "\n".join(obstacles))
    graph, tensors = _take_lifted(program)
    held = {str(node.target): getattr(program.graph_module, str(node.target)) for node in program.graph.nodes if node.op == "get_attr"}
    return _finish({**tensors, **held}, graph, program.call_spec.out_spec, program.range_constraints)


def _finish(attributes: Any, graph: torch.fx.Graph, spec: pytree.TreeSpec, ranges: Mapping[Any, Any]) -> torch.fx.GraphModule:
    module = torch.fx.GraphModule(attributes, graph)
    module.octet_translator = Exported
    module.octet_dims = Dims([node for node in graph.nodes if node.op == "placeholder"], ranges)
    module.octet_spec = None if _is_plain(spec) else spec
    return module


def make_graph_of_module(module: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """The same of `ExportedProgram.module()`, and of what PT2E made of it."""
    graph, known = torch.fx.Graph(), {}
    spec = module.graph._codegen.pytree_info.out_spec
    for node in module.graph.nodes:
        if node.op == "output":
            leaves = [known[value] if isinstance(value, torch.fx.Node) else value for value in node.args[0]]
            graph.output(pytree.tree_unflatten(leaves, spec) if _is_plain(spec) else tuple(leaves))
        elif node.op != "call_module":  # the checks of shapes
            known[node] = graph.node_copy(node, lambda n: known[n])
    return _finish(module, graph, spec, {})


def translate_exported(program: ExportedProgram, example_inputs: Optional[Sequence[Any]] = None) -> Network:
    """The network that an exported program is, for its example inputs' shapes or those given. Raises CompileError with all obstacles."""
    given = program.example_inputs if example_inputs is None else (tuple(example_inputs), {})
    return translate(make_graph(program), pytree.tree_leaves(given))
