#!/usr/bin/env python3
# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random graphs with random backends and mappings of all levels: octet-prepare puts observers where FX's rules do (fx_rules.py).

    random_mappings.py OCTET_OPT FIRST LAST    checks these seeds, each of 100 graphs
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from fx_rules import REUSE, DTypes, Mapping, Node, Pattern, QConfig, Spec, place

GRAPHS = 100
OBSERVERS = [Spec("min_max", "ui8"), Spec("min_max", "si8"), Spec("min_max", "ui8", ", range = [0, 127]"), Spec("histogram", "ui8"),
             Spec("histogram", "si8"), Spec("min_max", "si8", ", scheme = symmetric"), Spec("moving_average_min_max", "ui8")]
DYNAMIC = [Spec("placeholder", "ui8", ", dynamic = true", True), Spec("placeholder", "ui8", ", dynamic = true, per_row = true", True)]
FLOAT = Spec("placeholder", "f32")
WEIGHTS = [Spec("min_max", "si8", ", scheme = symmetric"), Spec("per_channel_min_max", "si8", ", scheme = symmetric"),
           Spec("per_channel_min_max", "ui8", ", scheme = affine_float_qparams"),
           Spec("per_channel_min_max", "ui4", ", scheme = affine_float_qparams")]
#: Names, probabilities, numbers of activations, classes in the source.
OPERATORS = [("nn.add", 0.25, 2, ["Add", "torch.add"]), ("nn.elu", 0.15, 1, ["Elu"]), ("nn.relu", 0.15, 1, ["Relu", "torch.nn.ReLU"]),
             ("nn.max", 0.1, 2, ["Max"]), ("nn.exp", 0.05, 1, ["Exp"]), ("nn.linear", 0.3, 1, ["Gemm", "torch.nn.Linear"])]
PARTS = ["", ".a", ".b", ".a.c"]
STATIC = [DTypes(a, b) for a in ("ui8", "si8") for b in ("ui8", "si8")]
OF_WEIGHTS = ([DTypes(config.input, config.output, "si8") for config in STATIC] + [DTypes("ui8", "f32", "si8", dynamic=True)]
              + [DTypes("f32", "f32", weight) for weight in ("ui8", "ui4", "si8")])


def choose(rng, options):
    return options[rng.integers(len(options))]


def make_backend(rng):
    """{operator: its pattern}; each takes a part of the types, and nn.exp has none."""
    patterns = {}
    for op in "nn.add", "nn.elu", "nn.relu", "nn.max", "nn.linear":
        shares = op != "nn.linear" and rng.random() < 0.4
        options = OF_WEIGHTS if op == "nn.linear" else [config for config in STATIC if not shares or config.input == config.output]
        kept = [config for config in options if rng.random() < 0.75] or options[:1]
        patterns[op] = Pattern(tuple(kept), bool(shares))
    return patterns


def make_qconfig(rng):
    """None, static, dynamic or weight only."""
    kind = rng.choice(["none", "static", "dynamic", "weight only"], p=[0.1, 0.6, 0.15, 0.15])
    if kind == "none":
        return None
    if kind == "static":
        result = choose(rng, OBSERVERS) if rng.random() < 0.2 else None
        return QConfig(choose(rng, OBSERVERS), choose(rng, WEIGHTS[:2]), result)
    return QConfig(choose(rng, DYNAMIC), choose(rng, WEIGHTS[:2])) if kind == "dynamic" else QConfig(FLOAT, choose(rng, WEIGHTS))


def make_fitting(rng, pattern):
    """Often one that the pattern accepts."""
    for _ in range(3):
        qconfig = make_qconfig(rng)
        if pattern is None or qconfig is None or pattern.accepts(qconfig):
            break
    return qconfig


def make_mapping(rng):
    """The levels that are about several graphs."""
    mapping = Mapping(make_qconfig(rng))
    for op, _, _, classes in OPERATORS:
        mapping.object_types |= {key: make_qconfig(rng) for key in [op, *classes] if rng.random() < 0.3}
    for regex in rf"f\d*{rng.integers(10)}\.a", r"f[0-4]\.(b|a\.c)\.n[1-5]", rf"f{rng.integers(10)}", r".*\.c\.n\d$", "b":
        if rng.random() < 0.6:
            mapping.regexes[regex] = make_qconfig(rng)
    return mapping


def make_graph(rng, graph, patterns, mapping):
    """Nodes and the origins (name, class, number); adds this graph's entries to the mapping."""
    nodes, origins, numbers = [], [], {}
    for number in range(rng.integers(3, 14)):
        op, _, count, classes = OPERATORS[rng.choice(len(OPERATORS), p=[row[1] for row in OPERATORS])]
        operands = [int(operand) for operand in rng.integers(max(-2, number - 5), number, count)]
        part, source_class = f"f{graph}{choose(rng, PARTS)}", choose(rng, classes)
        index = numbers[part, source_class] = numbers.get((part, source_class), -1) + 1
        nodes.append(Node(op, operands, patterns.get(op), has_weight=op == "nn.linear"))
        origins.append((f"{part}.n{number}", source_class, index))
    for part in PARTS:
        if rng.random() < 0.15:
            mapping.names[f"f{graph}{part}"] = make_qconfig(rng)
    for node, (name, source_class, index) in zip(nodes, origins):
        if rng.random() < 0.5:
            mapping.names[name] = make_fitting(rng, node.pattern)
        if rng.random() < 0.15:
            mapping.orders[name.rpartition(".")[0], source_class, index] = make_fitting(rng, node.pattern)
    for number, node in enumerate(nodes):
        node.qconfig = mapping.find(*origins[number], node.op)
        reuse(rng, nodes, number, origins[number], mapping)
    return nodes, origins


def reuse(rng, nodes, number, origin, mapping):
    """Gives some operators whose pattern takes the integers of their first operand the QConfig that reuses its observer."""
    node, producer = nodes[number], nodes[number].operands[0]
    dtype = place(nodes[:number]).results.get(producer) and get_dtype(nodes, producer)
    if node.op == "nn.elu" and dtype and DTypes(dtype, dtype) in node.pattern.dtypes and rng.random() < 0.3:
        name, source_class, index = origin
        node.qconfig = mapping.orders[name.rpartition(".")[0], source_class, index] = QConfig(REUSE, WEIGHTS[0])


def get_dtype(nodes, number):
    """Of the integers of a node that is observed."""
    placed = place(nodes[: number + 1])
    return placed.specs[placed.find(placed.results[number][0])].dtype


def write_dtypes(config):
    dynamic = "dynamic " if config.dynamic else ""
    output = "" if config.dynamic else f" output = <{config.output}>"
    weight = f" weight = <{config.weight}>" if config.weight else ""
    return f"{dynamic}input = <{config.input}>{output}{weight}" + (" bias = f32" if config.weight else "")


def write_backend(patterns):
    lines, symbols = [], {}
    for pattern in patterns.values():
        for config in pattern.dtypes:
            symbols.setdefault(config, f"@d{len(symbols)}")
    lines += [f"  octet.dtypes {symbol} {write_dtypes(config)}" for config, symbol in symbols.items()]
    for op, _, count, _ in OPERATORS:
        if op not in patterns:
            continue
        leaves = [f"%x{i}" for i in range(count)]
        lines.append(f"  octet.pattern @{op[3:]} dtypes = [{', '.join(symbols[config] for config in patterns[op].dtypes)}]"
                     + (" observation = shared" if patterns[op].shares else "") + " {")
        lines += [f"    {leaf} = octet.activation" for leaf in leaves]
        if op == "nn.linear":
            lines.append("    %w = octet.weight axis = 0")
            leaves.append("%w")
        lines += [f'    %z = octet.match ["{op}"]({", ".join(leaves)})', "    octet.yield %z : none", "  }"]
    return "octet.backend @b {\n" + "\n".join(lines) + "\n}\n"


def write_mapping(mapping):
    quote = lambda text: '"' + text.replace("\\", "\\\\") + '"'  # noqa: E731
    value = lambda qconfig: qconfig or "none"  # noqa: E731
    lines = [f"octet.global {value(mapping.overall)}"]
    lines += [f"octet.object_type {quote(key)} {value(qconfig)}" for key, qconfig in mapping.object_types.items()]
    lines += [f"octet.module_name_regex {quote(key)} {value(qconfig)}" for key, qconfig in mapping.regexes.items()]
    lines += [f"octet.module_name {quote(key)} {value(qconfig)}" for key, qconfig in mapping.names.items()]
    lines += [f"octet.module_name_object_type_order {quote(part)}, {quote(kind)}, {index} {value(qconfig)}"
              for (part, kind, index), qconfig in mapping.orders.items()]
    return "octet.qconfig_mapping @m {\n  " + "\n  ".join(lines) + "\n}\n"


def write_graph(graph, nodes, origins):
    value = lambda operand: f"%v{operand}" if operand >= 0 else f"%x{-operand}"  # noqa: E731
    kind = "tensor<2x4xf32>"
    lines = [f"func.func @f{graph}(%x1: {kind}, %x2: {kind}) -> {kind} {{"]
    for number, (node, (name, source_class, index)) in enumerate(zip(nodes, origins)):
        operands, types = [value(operand) for operand in node.operands], [kind] * len(node.operands)
        if node.has_weight:
            lines.append(f"  %w{number} = nn.constant dense<1.0> : tensor<4x4xf32>")
            operands.append(f"%w{number}"), types.append("tensor<4x4xf32>")
        alpha = " alpha 1.0" if node.op == "nn.elu" else ""
        lines.append(f'  %v{number} = {node.op} {", ".join(operands)}{alpha} '
                     f'{{octet.origin = #octet.origin<"{name}", "{source_class}", {index}>}} : ({", ".join(types)}) -> {kind}')
    return "\n".join([*lines, f"  return {value(len(nodes) - 1)} : {kind}", "}"])


def read(function, specs):
    """(node, operand) -> the observers that it passes, as (symbol, specification), and node -> its result's first one."""
    chains, reads, results, names = {}, {}, {}, {}
    for line in function.splitlines():
        match = re.match(r"\s*%(\w+) = ([\w.]+) (.*)", line)
        if not match or match[2] == "nn.constant":
            continue
        result, op, rest = match.groups()
        operands = [chains.get(operand, (operand, [])) for operand in re.findall(r"%(\w+)", rest.split(" : ")[0])]
        if op == "octet.observe":
            symbol = re.search(r"by @([\w.]+)", rest)[1]
            base, chain = operands[0]
            chains[result] = base, [*chain, (symbol, specs[symbol])]
            if base in names:
                results.setdefault(names[base], chains[result][1])
        else:
            names[result] = int(re.search(r'origin<"[\w.]*\.n(\d+)"', rest)[1])
            reads.update({(names[result], position): chain for position, (_, chain) in enumerate(operands)})
    return reads, results


def compare(nodes, function, specs):
    """Raises AssertionError if an observer is not where FX puts it, or is another one. What the graph has is counted."""
    placed = place(nodes)
    reads, results = read(function, specs)
    assert reads.keys() == placed.reads.keys()
    pairs = [(reads[key], observers) for key, observers in placed.reads.items()]
    pairs += [(results[number], observers) for number, observers in placed.results.items()]
    instances = set()
    for found, observers in pairs:
        wanted = placed.describe(observers)
        assert [spec for _, spec in found] == [spec for _, spec in wanted], (found, wanted)
        instances.update(zip([symbol for symbol, _ in found], [number for number, _ in wanted]))
    # One symbol for each instance, and one instance for each symbol.
    assert len(instances) == len({symbol for symbol, _ in instances}) == len({number for _, number in instances})
    quantized = [node.qconfig.activation for node in nodes if node.is_quantized]
    return {"quantized twice": sum(len(observers) > 1 for observers in placed.reads.values()), "shared": sum(node.observes and node.pattern.shares for node in nodes),
            "dynamic": sum(spec.dynamic for spec in quantized), "weight only": quantized.count(FLOAT), "reused": quantized.count(REUSE),
            "refused": sum(node.pattern is not None and node.qconfig is not None and not node.is_quantized for node in nodes)}


def check(run, folder, seed):
    """How often the graphs of a seed have what is to be tested; `run(*arguments)` gives what octet-opt prints."""
    rng = np.random.default_rng(seed)
    patterns, mapping = make_backend(rng), make_mapping(rng)
    graphs = [make_graph(rng, graph, patterns, mapping) for graph in range(GRAPHS)]
    network = "\n".join(write_graph(number, *graph) for number, graph in enumerate(graphs)) + "\n"
    for name, text in ("network", network), ("mapping", write_mapping(mapping)), ("backend", write_backend(patterns)):
        (folder / f"{name}.mlir").write_text(text)
    text = run(folder / "network.mlir", f"--octet-attach-policy=backend={folder / 'backend.mlir'} qconfig-mapping={folder / 'mapping.mlir'}",
               "--octet-prepare")
    specs = dict(re.findall(r"octet.observer @([\w.]+) (#.*?>)$", text, re.M))
    functions = re.findall(r"func\.func @f\d+\(.*?\n  \}", text, re.S)
    assert len(functions) == GRAPHS
    totals = {}
    for (nodes, _), function in zip(graphs, functions):
        for key, count in compare(nodes, function, specs).items():
            totals[key] = totals.get(key, 0) + count
    return totals


def main(octet_opt, first, last):
    run = lambda *arguments: subprocess.run([octet_opt, *map(str, arguments)], check=True, capture_output=True, text=True).stdout  # noqa: E731
    totals = {}
    for seed in range(int(first), int(last) + 1):
        with tempfile.TemporaryDirectory() as folder:
            try:
                counts = check(run, Path(folder), seed)
            except AssertionError as error:
                sys.exit(f"seed {seed}: {error}")
        totals = {key: totals.get(key, 0) + count for key, count in counts.items()}
    print(f"{(int(last) - int(first) + 1) * GRAPHS} graphs:", ", ".join(f"{count} {key}" for key, count in totals.items()))


if __name__ == "__main__":
    main(*sys.argv[1:])
