# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""FX's rules for the places of observers, node by node as `prepare_fx` walks a graph, for comparison with the plan."""
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Spec:
    """An observer before it has seen anything."""
    kind: str
    dtype: str
    settings: str = ""

    def __str__(self):
        return f"#octet.{self.kind}<dtype = {self.dtype}{self.settings}>"


@dataclass
class Node:
    """An operator: what it reads by number (negative: inputs of the graph), and its QConfig, if it has one."""
    op: str
    operands: list
    activation: Spec = None
    result: Spec = None
    shares: bool = False
    #: The result takes the inputs' observer, whatever it is.
    reuses: bool = False

    @property
    def is_quantized(self):
        return self.activation is not None or self.reuses


@dataclass
class Placed:
    """The observers of a graph, as numbers; equal ones are one instance."""
    #: (node, operand) -> the observers that the operand passes, first to last.
    reads: dict = field(default_factory=dict)
    #: Observers behind a node's result.
    results: dict = field(default_factory=dict)
    specs: list = field(default_factory=list)
    same: list = field(default_factory=list)

    def new(self, spec):
        self.specs.append(spec)
        self.same.append(len(self.same))
        return len(self.specs) - 1

    def find(self, observer):
        while self.same[observer] != observer:
            observer = self.same[observer]
        return observer

    def unite(self, a, b):
        a, b = sorted((self.find(a), self.find(b)))
        self.same[b] = a

    def describe(self, observers):
        """Each observer as its instance and that one's specification: the first one's of those that are united."""
        return [(self.find(observer), str(self.specs[self.find(observer)])) for observer in observers]


def place(nodes):
    """Walks the graph forwards, as `insert_observers_for_model` does."""
    placed, produced, seconds = Placed(), {}, {}  # produced: node -> dtype of its integers
    for number, node in enumerate(nodes):
        for position, operand in enumerate(node.operands):
            behind = placed.results.get(operand, [])
            if not node.is_quantized or node.reuses or produced.get(operand) == node.activation.dtype:
                placed.reads[number, position] = behind
                continue
            known = seconds.setdefault(operand, {})
            wanted = node.activation.kind, node.activation.dtype
            if wanted not in known:
                known[wanted] = placed.new(node.activation)
            placed.reads[number, position] = [*behind, known[wanted]]
        if not node.is_quantized:
            continue
        first = placed.reads[number, 0]
        if node.shares or node.reuses:
            for position in range(1, len(node.operands)):
                placed.unite(first[-1], placed.reads[number, position][-1])
            placed.results[number] = [first[-1]]
            produced[number] = produced.get(node.operands[0]) if node.reuses else node.activation.dtype
        else:
            spec = node.result or node.activation
            placed.results[number], produced[number] = [placed.new(spec)], spec.dtype
    return placed
