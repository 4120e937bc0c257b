# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converted modules operator by operator: each unit reads the integers that PyTorch's reference model has there.

The reference model of Octet is cut where values are quantized: what is quantized goes out, what readers dequantize comes in.
"""
import copy
import operator
import re
from collections import Counter, defaultdict

import numpy as np
import torch
import torch_graphs
import torch_weights

_QUANTIZE = re.compile(r"    (%\w+) = octet\.quantize (%\w+) .*: \((tensor<.*?>)\) -> (tensor<.*>)$")
_DEQUANTIZE = re.compile(r"    (%\w+) = octet\.dequantize (%\w+) .*: \((tensor<.*>)\) -> (tensor<.*?>)$")

#: Lowered operators that are wrong in PyTorch: docs/deviations.md.
WRONG_IN_PYTORCH = {"PReLU"}
#: Behind the class of a layer whose weight has a batch norm in it: its integers may be a step from PyTorch's (torch_weights.py).
WITH_NORM = " with norm"


def cut(text):
    """The text with an input `cut<k>` and an output `out<k>` for the k-th quantized value; and how many there are."""
    lines, numbers, types, result = text.split("\n"), {}, [], []
    start = next(i for i, line in enumerate(lines) if "func.func @main" in line)
    end = next(i for i in range(start, len(lines)) if lines[i].startswith("    return"))
    for line in lines[start + 1:end]:
        found, read = _QUANTIZE.match(line), _DEQUANTIZE.match(line)
        if found:
            numbers[found[1]] = len(types)
            types.append((found[3], found[4]))
        elif read and read[2] in numbers:
            k = numbers[read[2]]
            result.append(f"    %again{read[1][1:]} = octet.quantize %cut{k} : ({types[k][0]}) -> {types[k][1]}")
            line = line.replace(f"octet.dequantize {read[2]} ", f"octet.dequantize %again{read[1][1:]} ")
        result.append(line)
    result += [f"    %out{k} = octet.dequantize {value} : ({types[k][1]}) -> {types[k][0]}" for value, k in numbers.items()]
    inputs = "".join(f', %cut{k}: {real} {{nn.name = "cut{k}"}}' for k, (real, _) in enumerate(types))
    outputs = ", ".join(f'{real} {{nn.name = "out{k}"}}' for k, (real, _) in enumerate(types))
    head = re.sub(r"\) -> (\(.*\)|tensor<[^>]*>) \{$", lambda found: f"{inputs}) -> ({outputs}) {{", lines[start])
    returned = f"    return {', '.join(f'%out{k}' for k in range(len(types)))} : {', '.join(real for real, _ in types)}"
    return "\n".join([*lines[:start], head, *result, returned, *lines[end + 1:]]), len(types)


def list_keys(graph):
    """(key, node) of the quantized values in the order of the program: which value, how often quantized, and to what."""
    return [((*graph.describe(node), zero, float(np.float32(scale))), node) for node, (scale, zero) in graph.pairs.items()]


def pair(ours, theirs):
    """For the k-th quantized value here the node of PyTorch's reference model; a value in both has one key."""
    nodes = defaultdict(list)
    for key, node in list_keys(theirs):
        nodes[key[:2]].append(node)
    return [nodes[key[:2]].pop(0) for key, _ in list_keys(ours)]


def _get_integers(value):
    return value.int_repr().to(torch.int32)


def find_operator(reference, node, folded=()):
    """The class or function whose result a quantize node has; marked where a batch norm was folded into a weight, by whose name `folded` has it."""
    source = reference_node(reference, node).args[0]
    if source.op == "call_module":
        return type(reference.get_submodule(str(source.target))).__name__ + (WITH_NORM if f"{source.target}.weight" in folded else "")
    return getattr(source.target, "__name__", str(source.target))


def reference_node(module, name):
    return next(node for node in module.graph.nodes if node.name == name)


def count_steps(ours, expected):
    """(elements, of which one step away, of which farther)."""
    steps = (ours - expected).abs()
    return steps.numel(), int((steps == 1).sum()), int((steps > 1).sum())


def _find_layer(module, node):
    """The scales of a layer's weight and its bias, or None: of a reference module, or of a function that reads a quantized weight."""
    if node.op == "call_module":
        layer = module.get_submodule(str(node.target))
        layer = layer[0] if isinstance(layer, torch.nn.Sequential) else layer
        is_quantized = getattr(layer, "weight_qscheme", None) in (torch.per_tensor_affine, torch.per_channel_affine)
        return (layer.weight_scale, layer.bias) if is_quantized and layer.bias is not None else None
    bias = node.args[2] if len(node.args) > 2 else node.kwargs.get("bias")
    weight = node.args[1] if node.op == "call_function" and len(node.args) > 1 else None
    if not (isinstance(bias, torch.fx.Node) and bias.op == "get_attr" and isinstance(weight, torch.fx.Node) and weight.target == "dequantize"):
        return None
    scale = weight.args[0].args[1]
    scale = operator.attrgetter(scale.target)(module) if isinstance(scale, torch.fx.Node) else torch.tensor(scale)
    return scale, operator.attrgetter(bias.target)(module)


def round_biases(reference, values):
    """A copy of PyTorch's reference model whose layers have the biases of integer kernels: whole multiples of both scales (docs/deviations.md)."""
    module = copy.deepcopy(reference)
    for node in module.graph.nodes:
        source = node.args[0] if node.args and isinstance(node.args[0], torch.fx.Node) else None
        if source is None or source.target != "dequantize" or (found := _find_layer(module, node)) is None:
            continue
        scale, bias = values[source.args[0].name].q_scale() * found[0].to(torch.float64), found[1]
        with torch.no_grad():
            bias.copy_((bias.to(torch.float64) / scale).round() * scale)
    return module


class Recorder(torch.fx.Interpreter):
    """Runs a quantized model, each operator on the reference model's integers; `own` has what the operators give on these."""

    def __init__(self, module, expected, names=None):
        super().__init__(module)
        self.expected, self.own, self.names = list(expected), [], names

    def run_node(self, node):
        result = super().run_node(node)
        if isinstance(result, torch.Tensor) and result.is_quantized and (self.names is None or node.name in self.names):
            self.own.append(result)
            given = self.expected[len(self.own) - 1] if len(self.own) <= len(self.expected) else None
            is_alike = given is not None and given.shape == result.shape and given.q_zero_point() == result.q_zero_point()
            if not is_alike or abs(given.q_scale() / result.q_scale() - 1) > 1e-6:
                raise LookupError("the lowered model has other quantized values")
            return given.clone()  # the next operator may write it
        return result


def run_operators(module, inputs, order, values, names=None):
    """What the operators of a quantized model give, by the nodes of the reference model; nothing if it has other quantized values. `names`: of the
    nodes that quantize values, where others quantize weights."""
    recorder = Recorder(module, [values[name] for name in order], names)
    try:
        with torch.no_grad():
            recorder.run(*(x.clone() for x in inputs))
    except (LookupError, RuntimeError):  # scales that PyTorch's operators with numbers drop, kernels that it lacks
        return {}
    return dict(zip(order, recorder.own))


def add_counts(counts, kind, numbers):
    counts[kind] = tuple(a + b for a, b in zip(counts.get(kind, (0, 0, 0)), numbers))


def compare(case, reference, lowered, converted, names, run_cut):
    """{(against, operator): (elements, one step away, farther)} of a case whose reference models are alike.

    `run_cut(converted, inputs)` compiles the cut model and gives its outputs by name.
    """
    values = torch_graphs.record(reference, case.inputs)
    theirs = torch_graphs.read_module(reference, case.inputs)
    ours = torch_graphs.rename(torch_graphs.read_text(converted.code), names)
    nodes = pair(ours, theirs)
    outputs = run_cut(converted, {f"cut{k}": values[node].dequantize() for k, node in enumerate(nodes)})
    order = [node.name for node in reference.graph.nodes if node.name in theirs.pairs]
    own = {} if lowered is None else run_operators(lowered, case.inputs, order, values)
    rounded = run_operators(round_biases(reference, values), case.inputs, order, values, set(order))
    folded = {name for name, weights in torch_weights.read_ours(converted._converted.bytecode).items() if any(weight.is_folded for weight in weights)}
    counts = {}
    for k, node in enumerate(nodes):
        scale, zero, kind = values[node].q_scale(), values[node].q_zero_point(), find_operator(reference, node, folded)
        mine = (torch.from_numpy(outputs[f"out{k}"]) / scale).round().to(torch.int32) + zero
        add_counts(counts, ("reference", kind), count_steps(mine, _get_integers(values[node])))
        add_counts(counts, ("int32 bias", kind), count_steps(mine, _get_integers(rounded[node])))
        if node in own and kind not in WRONG_IN_PYTORCH:
            add_counts(counts, ("lowered", kind), count_steps(mine, _get_integers(own[node])))
    return counts


def total(counts, with_norm=True):
    """The sums over all operators, or over those without a batch norm."""
    result = Counter()
    for (against, kind), numbers in counts.items():
        if kind.endswith(WITH_NORM) and not with_norm:
            continue
        for name, number in zip(("elements", "one", "farther"), numbers):
            result[against, name] += number
    return result
