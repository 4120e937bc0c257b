# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's reference models and those of octet.torch, compared: readers of values, scales and zero points."""
import copy
import re
from collections import Counter

import torch
from fx_graph import HALF, Graph, read_ir, ulps
from octet.torch._names import name_type
from torch.utils import _pytree as pytree

LEAST_SCALE = 2.0**-23
#: Histograms, whose bins differ (docs/deviations.md): a part of a scale, and steps of a zero point.
NEAR_OF_HISTOGRAMS, STEPS_OF_HISTOGRAMS = 0.08, 4


class Recorder(torch.fx.Interpreter):
    """Runs a graph and keeps the value of every node."""

    def __init__(self, module):
        super().__init__(module)
        self.values = {}

    def run_node(self, node):
        self.values[node.name] = result = super().run_node(node)
        return result


def record(module, inputs):
    recorder = Recorder(module)
    with torch.no_grad():
        recorder.run(*(x.clone() for x in inputs))
    return recorder.values


def _holds_tensor(value):
    return any(isinstance(leaf, torch.Tensor) for leaf in pytree.tree_leaves(value))


def find_aliases(traced, reference):
    """Names of the float graph's nodes that fusion took out of the reference model: those of the nodes that have their place."""
    kept, aliases = {node.name for node in reference.graph.nodes}, {}
    for node in traced.graph.nodes:
        if node.name not in kept and node.all_input_nodes:
            source = node.all_input_nodes[0].name
            aliases[node.name] = aliases.get(source, source)
    return aliases


def _read_quantize(graph, node, operands, values, constants):
    dynamic = "dynamic" in str(node.target)
    if operands[0] in constants:
        constants.add(node.name)
        return
    graph.sources[node.name] = operands[:1]
    value = values[node.name]
    if node.args[1] is torch.float16:
        graph.pairs[node.name] = HALF
    elif dynamic:
        graph.pairs[node.name] = (0, 127 if node.args[2] else 255)
    else:
        graph.pairs[node.name] = (value.q_scale(), value.q_zero_point())


def read_module(module, inputs):
    """What PyTorch's reference model does."""
    graph, values, constants, parts = Graph(), record(module, inputs), set(), {}
    for node in module.graph.nodes:
        operands = [operand.name for operand in node.all_input_nodes]
        if node.op == "get_attr":
            constants.add(node.name)
        elif "quantize_per" in str(node.target):
            _read_quantize(graph, node, operands, values, constants)
        elif node.op == "placeholder":
            graph.sources[node.name], graph.names[node.name] = [], node.name
        elif operands and all(operand in constants for operand in operands):
            constants.add(node.name)
        elif node.target == "dequantize":
            graph.sources[node.name], graph.passed[node.name] = operands, operands[0]
        elif node.op == "output" or _holds_tensor(values[node.name]):
            graph.sources[node.name] = [operand for operand in operands if operand in graph.sources]
            # A part of a tuple is the same operator's.
            parts[node.name] = node.name
            if str(node.target).endswith("getitem") or "getitem" in getattr(node.target, "__name__", ""):
                if not isinstance(values[operands[0]], torch.Tensor):
                    parts[node.name] = parts.get(operands[0], operands[0])
            graph.names[node.name] = parts[node.name]
    return graph


def inline_groups(text):
    """`main` without regions: the operators of a group stand in its place."""
    lines, names, prefix = [], {}, ""

    def rename(line):
        return re.sub(r"%[\w#]+", lambda found: names.get(prefix + found[0], names.get(found[0], found[0])), line)

    number, group = 0, None
    for line in text.split("\n"):
        found = re.match(r"\s*(%\w+)(?::\d+)? = octet.group @[\w.:@\"]+\((.*?)\)", line)
        if found:
            number, group = number + 1, found[1]
            inner = {}
            for argument, operand in re.findall(r"(%\w+) = (%[\w#]+)", found[2]):
                inner[f"g{number}{argument}"] = names.get(operand, operand)
            names.update(inner)
            prefix = f"g{number}"
            continue
        if group and line.strip().startswith("octet.yield"):
            operands = re.findall(r"%[\w#]+", line.split(":")[0])
            names[group] = names.get(prefix + operands[0], operands[0])
            continue
        if group and line.strip() == "}":
            group, prefix = None, ""
            continue
        if group:
            for result in re.findall(r"%\w+", line.split(" = ")[0]) if " = " in line else []:
                names[prefix + result] = f"%{prefix}_{result[1:]}"
        lines.append(rename(line))
    return "\n".join(lines)


_PLACE = re.compile(r" loc\((?:[^()]|\([^()]*\))*\)")


def number_parts(text):
    """`main` with classes and numbers for the moves that an operator needs, which have none: those of the call that they read, or of the next one."""
    lines, calls = text.split("\n"), {}
    origins = [re.search(r'octet.origin<"([^"|]+)\|?([^"]*)">', line) for line in lines]
    for k, (line, origin) in enumerate(zip(lines, origins)):
        if not origin:
            continue
        name, call = origin.groups()
        results, _, rest = line.partition(" = ")
        if not call:
            read = (calls[operand][1] for operand in re.findall(r"%\w+", rest) if calls.get(operand, ("", ""))[0] == name)
            call = next(read, "") or next((later[2] for later in origins[k:] if later and later[1] == name and later[2]), "")
            lines[k] = line.replace(origin[0], f'octet.origin<"{name}|{call}">') if call else line
        calls.update((result, (name, call)) for result in re.findall(r"%\w+", results))
    return "\n".join(lines)


def drop_moved_reshapes(text):
    """`main` without the reshapes that tidying has moved behind an operator, whose name they have: their readers read the operator.

    A quantize behind such a reshape repeats the one in front of it.
    """
    lines, origins, names, stored, moved = [], {}, {}, {}, set()
    for line in text.split("\n"):
        line = re.sub(r"%\w+", lambda found: names.get(found[0], found[0]), line)
        found = re.match(r'\s*(%\w+) = ([\w.]+) (%\w+) .*octet.origin<"([^"]+)">', line)
        if found:
            result, op, operand, origin = found.groups()
            if op == "nn.reshape" and origins.get(operand) == origin:
                names[result] = operand
                moved.add(operand)
                continue
            if op == "octet.quantize" and operand in moved and operand in stored:
                names[result] = stored[operand]
                continue
            if op == "octet.dequantize":
                stored[result] = operand
            origins[result] = origin
        lines.append(line)
    return "\n".join(lines)


def read_text(text):
    """The same of the text of a converted module."""
    main = text[text.index("func.func @main"):]
    main = re.sub(r"octet\.decision = #octet\.decision<.*?>(, |(?=\}))(?=octet\.origin|\})", "", _PLACE.sub("", main))
    main = re.sub(r'octet\.origin<"([^"]+)", "([^"]+)", (\d+)>', r'octet.origin<"\1|\2#\3">', main)
    return read_ir(drop_moved_reshapes(number_parts(inline_groups(main[:main.index("\n  }") + 4].replace("\n  }", "\n}")))))


def rename(graph, names):
    graph.names = {key: names.get(name, name) for key, name in graph.names.items()}
    return graph


def list_names(traced, aliases):
    """The node of FX, or the one that it was fused to, by Octet's name of an operator, its class and its number among those of the class."""
    names, counts = {}, Counter()
    for node in traced.graph.nodes:
        target = str(node.target)
        if node.op == "call_module":
            name, part, kind = target, target.rpartition(".")[0], type(traced.get_submodule(target))
        elif node.op in ("call_function", "call_method"):
            part, kind = traced.octet_scopes.get(node.name, ("",))[0] or "", name_type(node.target)
            name = f"{part}.{node.name}" if part else node.name
        else:
            continue
        names[f"{name}|{name_type(kind)}#{counts[part, kind]}"] = aliases.get(node.name, node.name)
        names.setdefault(name, aliases.get(node.name, node.name))  # moves of data that an operator needs have no class
        counts[part, kind] += 1
    return names


def prepare_with_torch(module, mapping, inputs, samples, **options):
    from torch.ao.quantization import quantize_fx
    prepared = quantize_fx.prepare_fx(copy.deepcopy(module), mapping, inputs, **options)
    with torch.no_grad():
        for sample in samples:
            prepared(*(x.clone() for x in sample))
    return prepared


def differ(ours, theirs, is_histogram=False, cut=(), allowed=16):
    """What is not the same, or nothing. `cut`: names of values of which it is not asked (torch_deviations.list_cut).

    Float kernels sum in another order than PyTorch's, so that observers are given values with other last bits: `allowed` units in the last place.
    Given the same values, they are within one: `torch_fuzz_observers.py`.
    """
    mine, other = ({edge for edge in graph.edges() if edge[1] not in cut} for graph in (ours, theirs))
    if mine != other:
        return f"readers: only here {sorted(mine - other)}, only PyTorch {sorted(other - mine)}"
    # One value may be quantized for each reader.
    mine, other = (sorted({value for value in graph.quantized() if value[0] not in cut}) for graph in (ours, theirs))
    if [value[:2] for value in mine] != [value[:2] for value in other]:
        return f"quantized values: {mine}, PyTorch {other}"
    for (*name, zero, scale), (*_, their_zero, their_scale) in zip(mine, other):
        if is_histogram and their_scale and abs(zero - their_zero) <= STEPS_OF_HISTOGRAMS and abs(scale / their_scale - 1) <= NEAR_OF_HISTOGRAMS:
            continue
        # The zero point of a range that is symmetric but for the last bits lies in the middle of two integers.
        is_tie = abs(zero - their_zero) == 1 and zero + their_zero in (127, 255)
        # Of the normalization of equal values nothing is left but roundings, near the least scale.
        is_nothing = allowed > 16 and max(scale, their_scale) <= 8 * LEAST_SCALE
        if not is_nothing and ((zero != their_zero and not is_tie) or ulps(scale, their_scale) > allowed):
            return f"{name}: scale {scale!r}, zero point {zero}, PyTorch {their_scale!r}, {their_zero}"
    return None
