# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a reference model does: which values are quantized, who reads them, scales and zero points."""
import re

import numpy as np

#: What stands for scale and zero point of values that are rounded to float16.
HALF = (0.0, 16)


class Graph:
    """What a reference model does, without the names of its quantize and dequantize nodes."""

    def __init__(self):
        self.sources = {}  # node -> its tensor operands; those that only pass on a value map to `passed`
        self.passed = {}  # dequantize or alias -> what it passes on
        self.pairs = {}  # quantize node -> scale and zero point; of one that finds them in each run 0 and the largest integer
        self.names = {}

    def describe(self, node):
        """The operator that computes a value and how often it is quantized on the way."""
        depth = 0
        while node in self.passed or node in self.pairs:
            depth += node in self.pairs
            node = self.passed.get(node) or self.sources[node][0]
        return self.names.get(node, node), depth

    def edges(self):
        """(reader, operator that it reads, how often quantized, whether it reads integers)."""
        found = set()
        for node, operands in self.sources.items():
            reader = self.names.get(node, node)
            for operand in operands:
                name, depth = self.describe(operand)
                if node in self.passed and operand not in self.pairs:
                    found.add(("dequantize", name, depth, True))
                elif node not in self.pairs and node not in self.passed and name != reader:
                    found.add((reader, name, depth, operand in self.pairs))
        return found

    def quantized(self):
        """(operator, how often quantized, zero point, scale) of every quantized value, but those inside of one module."""
        return sorted((*self.describe(node), zero, scale) for node, (scale, zero) in self.pairs.items() if not self.is_inside(node))

    def is_inside(self, node):
        """Whether only parts of the module that computes a value read it quantized."""
        readers, behind = set(), [node]
        for passing in behind:
            for reader, operands in self.sources.items():
                if passing in operands:
                    (behind.append if reader in self.passed else readers.add)(reader)
        return {self.names.get(reader, reader) for reader in readers} == {self.describe(node)[0]}


def read_ir(text):
    """`main` of a converted network."""
    graph, constants, ranges = Graph(), set(), {}
    main = text[text.index("func.func @main"):]
    for argument, name in re.findall(r'%(arg\d+): [^{]*\{nn.name = "(\w+)"\}', main.split("{\n", 1)[0] + main.split("\n")[0]):
        graph.sources[argument], graph.names[argument] = [], name
    for line in main.split("\n")[1:]:
        if line.strip() == "}":
            break
        found = re.match(r"\s*(?:%(\w+)(?:, %\w+)? = )?([\w.]+) (.*)", line)
        result, op, rest = found.groups()
        operands = re.findall(r"%(\w+)", re.sub(r'"[^"]*"', "", rest))  # reasons hold the text of folds
        if op == "octet.choose_qparams":
            ranges[result] = int(re.search(r"range \[0, (\d+)\]", rest)[1])
            continue
        if op in ("octet.quantize_dynamic", "octet.dequantize_dynamic"):
            graph.sources[result], graph.names[result] = operands[:1], result
            if op == "octet.dequantize_dynamic":
                graph.passed[result] = operands[0]
            else:
                graph.pairs[result] = (0, ranges[operands[1]])
            continue
        if op == "return":
            result = "output"
        if op == "nn.constant" or (operands and all(operand in constants for operand in operands)):
            constants.add(result)
            continue
        graph.sources[result] = [operand for operand in operands if operand not in constants]
        origin = re.search(r'octet.origin<"([^"]+)"', rest)
        graph.names[result] = origin[1] if origin else result
        if op == "octet.dequantize" or (op == "nn.cast" and "xf16>) ->" in rest):
            graph.passed[result] = operands[0]
        elif op == "nn.cast" and rest.endswith("xf16>"):
            graph.pairs[result] = HALF
        elif op == "octet.quantize":
            number, zero = re.search(r"-> .*!quant.uniform<[ui]8(?:<[^>]*>)?:f32, ([^:>]+)(?::(-?\d+))?>", rest).groups()
            graph.pairs[result] = (float(number), int(zero or 0))
    return graph


def ulps(a, b):
    return abs(int(np.float32(a).view(np.int32)) - int(np.float32(b).view(np.int32)))
