# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random graphs with random mappings: octet-prepare puts observers where FX's rules do (fx_rules.py)."""
import re

import numpy as np
import pytest
from fx_rules import Node, Spec, place

SPECS = [Spec("min_max", "ui8"), Spec("min_max", "si8"), Spec("min_max", "ui8", ", range = [0, 127]"), Spec("histogram", "ui8"),
         Spec("histogram", "si8"), Spec("min_max", "si8", ", scheme = symmetric"), Spec("moving_average_min_max", "ui8")]
#: Names, probabilities, number of operands.
OPERATORS = [("nn.add", 0.35, 2), ("nn.elu", 0.2, 1), ("nn.relu", 0.2, 1), ("nn.max", 0.15, 2), ("nn.exp", 0.1, 1)]
SHARING = ("nn.relu", "nn.max")
GRAPHS = 100

BACKEND = """
octet.backend @b {
  octet.dtypes @u input = <ui8> output = <ui8>
  octet.dtypes @s input = <si8> output = <si8>
  octet.dtypes @us input = <ui8> output = <si8>
  octet.dtypes @su input = <si8> output = <ui8>
  octet.pattern @add dtypes = [@u, @s, @us, @su] {
    %x = octet.activation
    %y = octet.activation
    %z = octet.match ["nn.add"](%x, %y)
    octet.yield %z : none
  }
  octet.pattern @elu dtypes = [@u, @s, @us, @su] {
    %x = octet.activation
    %z = octet.match ["nn.elu"](%x)
    octet.yield %z : none
  }
  octet.pattern @relu dtypes = [@u, @s] observation = shared {
    %x = octet.activation
    %z = octet.match ["nn.relu"](%x)
    octet.yield %z : none
  }
  octet.pattern @max dtypes = [@u, @s] observation = shared {
    %x = octet.activation
    %y = octet.activation
    %z = octet.match ["nn.max"](%x, %y)
    octet.yield %z : none
  }
}
"""


def make_graph(rng):
    nodes = []
    for number in range(rng.integers(3, 14)):
        op, _, count = OPERATORS[rng.choice(len(OPERATORS), p=[probability for _, probability, _ in OPERATORS])]
        operands = [int(operand) for operand in rng.integers(max(-2, number - 5), number, count)]
        node = Node(op, operands, shares=op in SHARING)
        if op != "nn.exp" and rng.random() < 0.9:
            first = nodes[operands[0]] if operands[0] >= 0 else None
            if op == "nn.elu" and first and first.is_quantized and rng.random() < 0.3:
                node.reuses = True
            else:
                node.activation = SPECS[rng.integers(len(SPECS))]
                if not node.shares and rng.random() < 0.3:
                    node.result = SPECS[rng.integers(len(SPECS))]
        nodes.append(node)
    return nodes


def write(graphs):
    """All graphs as functions of one module, and the mapping."""
    functions, entries = [], []
    value = lambda operand: f"%v{operand}" if operand >= 0 else f"%x{-operand}"  # noqa: E731
    for graph, nodes in enumerate(graphs):
        lines = [f"func.func @f{graph}(%x1: tensor<2xf32>, %x2: tensor<2xf32>) -> tensor<2xf32> {{"]
        for number, node in enumerate(nodes):
            alpha = " alpha 1.0" if node.op == "nn.elu" else ""
            types = ", ".join(["tensor<2xf32>"] * len(node.operands))
            lines.append(f'  %v{number} = {node.op} {", ".join(map(value, node.operands))}{alpha} '
                         f'{{octet.origin = #octet.origin<"f{graph}.n{number}">}} : ({types}) -> tensor<2xf32>')
            qconfig = "none"
            if node.is_quantized:
                activation = "#octet.reuse_input" if node.reuses else node.activation
                qconfig = f"#octet.qconfig<activation = {activation}" + (f", result = {node.result}>" if node.result else ">")
            entries.append(f'  octet.module_name "f{graph}.n{number}" {qconfig}')
        functions.append("\n".join([*lines, f"  return {value(len(nodes) - 1)} : tensor<2xf32>", "}"]))
    return "\n".join(functions) + "\n", "octet.qconfig_mapping @m {\n" + "\n".join(entries) + "\n}\n"


def read(function, specs):
    """(node, operand) -> the observers that it passes, as (symbol, specification), and node -> its result's first one."""
    chains, reads, results, names = {}, {}, {}, {}
    for line in function.splitlines():
        match = re.match(r"\s*%(\w+) = ([\w.]+) (.*)", line)
        if not match:
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
            names[result] = int(re.search(r'origin<"f\d+\.n(\d+)">', rest)[1])
            reads.update({(names[result], position): chain for position, (_, chain) in enumerate(operands)})
    return reads, results


def check(nodes, function, specs):
    """How many operands are quantized twice in a row, if all observers are where FX puts them."""
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
    return sum(len(observers) > 1 for observers in placed.reads.values())


@pytest.mark.parametrize("seed", range(10))
def test_observers_stand_where_fx_puts_them(tool, tmp_path, seed):
    rng = np.random.default_rng(seed)
    graphs = [make_graph(rng) for _ in range(GRAPHS)]
    network, mapping = write(graphs)
    for name, text in ("network", network), ("mapping", mapping), ("backend", BACKEND):
        (tmp_path / f"{name}.mlir").write_text(text)
    text = tool("octet-opt", tmp_path / "network.mlir", f"--octet-attach-policy=backend={tmp_path / 'backend.mlir'} "
                f"qconfig-mapping={tmp_path / 'mapping.mlir'}", "--octet-prepare=strict=true").stdout
    specs = dict(re.findall(r"octet.observer @([\w.]+) (#.*?>)$", text, re.M))
    functions = re.findall(r"func\.func @f\d+\(.*?\n  \}", text, re.S)
    assert len(functions) == GRAPHS
    twice = sum(check(nodes, function, specs) for nodes, function in zip(graphs, functions))
    assert twice > GRAPHS / 2
