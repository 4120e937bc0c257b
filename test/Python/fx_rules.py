# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""FX's rules for QConfigs and for the places of observers, node by node as `prepare_fx` walks a graph, for comparison with the plan."""
import re
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Spec:
    """An observer before it has seen anything."""
    kind: str
    dtype: str = ""
    settings: str = ""
    dynamic: bool = False

    def __str__(self):
        return f"#octet.{self.kind}<dtype = {self.dtype}{self.settings}>" if self.dtype else f"#octet.{self.kind}"


REUSE = Spec("reuse_input")


@dataclass(frozen=True)
class QConfig:
    activation: Spec
    weight: Spec
    result: Spec = None

    def __str__(self):
        result = f", result = {self.result}" if self.result else ""
        return f"#octet.qconfig<activation = {self.activation}{result}, weight = {self.weight}>"


@dataclass
class Mapping:
    """A QConfigMapping; None as a value means not to quantize."""
    overall: QConfig = None
    object_types: dict = field(default_factory=dict)
    regexes: dict = field(default_factory=dict)
    names: dict = field(default_factory=dict)
    orders: dict = field(default_factory=dict)

    def find(self, name, source_class, number, op):
        """The QConfig of an operator: the strongest level with an entry decides."""
        part = name.rpartition(".")[0]
        if (part, source_class, number) in self.orders:
            return self.orders[part, source_class, number]
        prefix = name
        while prefix:
            if prefix in self.names:
                return self.names[prefix]
            prefix = prefix.rpartition(".")[0]
        for regex, qconfig in self.regexes.items():
            if re.match(regex, name):
                return qconfig
        for key in source_class, op:
            if key in self.object_types:
                return self.object_types[key]
        return self.overall


@dataclass(frozen=True)
class DTypes:
    """A data type configuration of a pattern; f32 where a value stays float."""
    input: str
    output: str
    weight: str = ""
    dynamic: bool = False


@dataclass(frozen=True)
class Pattern:
    """What a backend says of an operator."""
    dtypes: tuple
    shares: bool = False

    def accepts(self, qconfig):
        """Whether one of the configurations has the types and the kind of a QConfig."""
        result = qconfig.result or qconfig.activation
        return any(config.input == qconfig.activation.dtype and config.dynamic == qconfig.activation.dynamic
                   and config.output == ("f32" if config.dynamic else result.dtype) and config.weight in ("", qconfig.weight.dtype)
                   for config in self.dtypes)


@dataclass
class Node:
    """An operator: what it reads by number (negative: inputs of the graph), its pattern, and the QConfig that the mapping finds."""
    op: str
    operands: list
    pattern: Pattern = None
    qconfig: QConfig = None
    #: It has a weight of its own, which is its last operand.
    has_weight: bool = False

    @property
    def reuses(self):
        return self.qconfig is not None and self.qconfig.activation == REUSE

    @property
    def is_quantized(self):
        return self.pattern is not None and self.qconfig is not None and (self.reuses or self.pattern.accepts(self.qconfig))

    @property
    def observes(self):
        """Its values are observed, which those of a weight-only operator are not."""
        return self.is_quantized and self.qconfig.activation.dtype != "f32"


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
        self.same[self.find(b)] = self.find(a)

    def describe(self, observers):
        """Each observer as its instance and that one's specification: of those that are united, the first operand's."""
        return [(self.find(observer), str(self.specs[self.find(observer)])) for observer in observers]


def read_operand(placed, produced, seconds, node, operand):
    """The observers that an activation passes on its way to the node."""
    behind = placed.results.get(operand, [])
    if not node.observes or node.reuses:
        return behind
    activation = node.qconfig.activation
    if produced.get(operand) == activation.dtype and not activation.dynamic:
        return behind
    # PyTorch's placeholders have no rows.
    known, key = seconds.setdefault(operand, {}), (activation.kind, activation.dtype, activation.settings if activation.dynamic else "")
    if key not in known:
        known[key] = placed.new(activation)
    return [*behind, known[key]]


def place(nodes):
    """Walks the graph forwards, as `insert_observers_for_model` does."""
    placed, produced, seconds = Placed(), {}, {}  # produced: node -> dtype of its integers
    for number, node in enumerate(nodes):
        for position, operand in enumerate(node.operands):
            placed.reads[number, position] = read_operand(placed, produced, seconds, node, operand)
        if node.has_weight:
            placed.reads[number, len(node.operands)] = [placed.new(node.qconfig.weight)] if node.is_quantized else []
        if not node.observes or node.qconfig.activation.dynamic:
            continue
        first = placed.reads[number, 0]
        if node.pattern.shares or node.reuses:
            for position in range(1, len(node.operands)):
                placed.unite(first[-1], placed.reads[number, position][-1])
            placed.results[number] = [first[-1]]
            produced[number] = produced.get(node.operands[0]) if node.reuses else node.qconfig.activation.dtype
        else:
            spec = node.qconfig.result or node.qconfig.activation
            placed.results[number], produced[number] = [placed.new(spec)], spec.dtype
    return placed
