# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An ONNX graph with readers and writers of every value."""

import numpy as np
import onnx
from onnx import numpy_helper


class Node:
    """One ONNX node with its attributes as Python values."""

    def __init__(self, proto):
        self.type, self.name = proto.op_type, proto.name or (proto.output[0] if proto.output else "")
        if proto.domain not in ("", "ai.onnx") and proto.op_type not in ("QuantizeLinear", "DequantizeLinear"):
            raise NotImplementedError(f"{self.name}: operator {proto.domain}.{proto.op_type}")
        self.inputs, self.outputs = list(proto.input), list(proto.output)
        self.attributes = {a.name: onnx.helper.get_attribute_value(a) for a in proto.attribute}

    def attribute(self, name, default=None):
        value = self.attributes.get(name, default)
        return value.decode() if isinstance(value, bytes) else value

    def input(self, i):
        return self.inputs[i] if i < len(self.inputs) and self.inputs[i] else None

    @property
    def output(self):
        return self.outputs[0]


class Graph:
    def __init__(self, model):
        if isinstance(model, bytes):
            model = onnx.load_from_string(model)
        elif not isinstance(model, onnx.ModelProto):
            model = onnx.load(str(model))
        graph = model.graph
        self.constants = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
        self.nodes = [Node(n) for n in graph.node]
        self.inputs = [i.name for i in graph.input if i.name not in self.constants]
        self.outputs = [o.name for o in graph.output]
        self.writer = {output: node for node in self.nodes for output in node.outputs}
        self.reader = {name: node for node in self.nodes for name in node.inputs if name}  # of several, the last one
        self.num_readers = {name: 0 for name in [*self.constants, *self.inputs, *self.writer]}
        for name in [*self.outputs, *(name for node in self.nodes for name in node.inputs if name)]:
            self.num_readers[name] += 1
        self._find_constants()

    def _find_constants(self):
        self.is_constant = set(self.constants)
        for node in self.nodes:
            if all(name in self.is_constant for name in node.inputs if name):
                self.is_constant.update(node.outputs)

    def only_read_once(self, name):
        return self.num_readers[name] == 1

    def producer(self, name):
        return self.writer.get(name)


def pads_of(node, rank=2):
    """Explicit pads; automatic ones do not occur in files that Octet writes."""
    if node.attribute("auto_pad", "NOTSET") != "NOTSET" or node.attribute("ceil_mode", 0):
        raise NotImplementedError(f"{node.name}: automatic padding or ceil mode")
    return tuple(node.attribute("pads", [0] * (2 * rank)))


def scalar(array):
    return np.asarray(array).reshape(-1)[0]
