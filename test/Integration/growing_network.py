# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An ONNX network that grows node by node: what onnxruntime does not take, or makes infinite, is dropped, so that the steps of
random networks need not know all rules."""
from __future__ import annotations

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from unsigned_weights import with_unsigned_weights

f32 = np.float32
OPSETS = [7, 8, 9, 10, 11, 12, 13, 17, 18, 20, 22, 23, 24, 26]
MAX_ELEMENTS = 60000


class Input:
    """An argument that is an attribute before opset `since` and an input from then on; None: left out."""

    def __init__(self, value, since):
        self.value, self.since = value, since


def list_reads(nodes):
    """Names that nodes and graphs inside of them read."""
    for node in nodes:
        yield from node.input
        for attribute in node.attribute:
            yield from list_reads(attribute.g.node)


def make_session(model):
    """onnxruntime on one thread without graph optimizations."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(with_unsigned_weights(model).SerializeToString(), options, providers=["CPUExecutionProvider"])


class Network:
    """A network that grows node by node; `values` has the shapes of what can be read."""

    def __init__(self, seed):
        self.rng = rng = np.random.default_rng(seed)
        self.opset = int(rng.choice(OPSETS))
        self.nodes, self.pending, self.constants, self.count = [], [], [], 0
        image = [self.one_of(1, 1, 1, 2, 3), int(rng.choice([1, 2, 3, 8, 12, 16, 20, 40, 64, 100])), *self.numbers(2, 4, 28)]
        shapes = [image, [1, int(rng.integers(2, 40))], [1, *self.numbers(2, 2, 12)], [int(rng.integers(2, 4)), 3, *self.numbers(2, 5, 10)]]
        self.input_shape = shapes[rng.choice(4, p=[0.75, 0.1, 0.08, 0.07])]
        self.values, self.last = {"x": self.input_shape}, "x"

    # ---- choices
    def numbers(self, count, low, high):
        return [int(n) for n in self.rng.integers(low, high, count)]

    def often(self, probability):
        return self.rng.random() < probability

    def one_of(self, *choices):
        return choices[self.rng.integers(len(choices))]

    def pick(self):
        """The last value, or any."""
        return self.last if self.often(0.75) else self.one_of(*self.values)

    def like(self, shape):
        """Any value of a shape."""
        return self.one_of(*(name for name, other in self.values.items() if other == shape))

    def weight(self, *shape, spread=None):
        return (self.rng.normal(size=shape) * (spread or 1.2 / np.sqrt(max(1, np.prod(shape[1:]))))).astype(f32)

    def positive(self, *shape):
        return self.rng.uniform(0.3, 2, shape).astype(f32)

    # ---- nodes
    def fresh(self, prefix):
        self.count += 1
        return f"{prefix}{self.count}"

    def constant(self, array):
        self.constants.append(numpy_helper.from_array(np.asarray(array, order="C"), self.fresh("c")))
        return self.constants[-1].name

    def model(self, outputs):
        read = set(list_reads(self.nodes))
        constants = [tensor for tensor in self.constants if tensor.name in read]
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.input_shape)]
        if self.opset < 9:  # up to IR version 3, initializers are inputs
            inputs += [helper.make_tensor_value_info(t.name, t.data_type, t.dims) for t in constants]
        results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
        graph = helper.make_graph(self.nodes, "random", inputs, results, constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)], ir_version=3 if self.opset < 9 else 8 if self.opset < 21 else 10)

    def inner(self, operator, inputs, num_outputs=1, **attributes):
        """A node that is added with the next one that `add` adds, and whose first result, of any type, only what follows in the step reads."""
        names = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        outputs = [self.fresh("i") for _ in range(num_outputs)]
        self.pending.append(helper.make_node(operator, names, outputs, name=f"{operator}_{self.count}", **attributes))
        return outputs[0]

    def add(self, operator, inputs, num_outputs=1, **arguments):
        """Adds a node, and the inner ones before it, and returns its last result; None if it cannot be."""
        names = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        attributes = {}
        for name, value in arguments.items():
            if not isinstance(value, Input):
                attributes[name] = value
            elif self.opset >= value.since:
                names.append("" if value.value is None else self.constant(value.value))
            elif value.value is not None:
                attributes[name] = value.value.tolist()
        outputs = [self.fresh("v") for _ in range(num_outputs)]
        while names[-1] == "":
            names.pop()
        count = len(self.nodes)
        self.nodes += [*self.pending, helper.make_node(operator, names, outputs, name=f"{operator}_{self.count}", **attributes)]
        self.pending.clear()
        try:
            sample = np.random.default_rng(1).normal(size=self.input_shape).astype(f32)
            session = make_session(self.model(outputs))
            results, far = (session.run(None, {"x": sample * factor}) for factor in (1, 4))  # as far as the feeds of a test go
        except Exception:  # onnxruntime has no common class for its errors
            results = far = []
        if not results or not all(0 < r.size < MAX_ELEMENTS and np.isfinite(r).all() and np.abs(r).max() < 1e6 for r in results) or not all(np.isfinite(r).all() for r in far):
            del self.nodes[count:]
            return None
        self.values.update((name, list(array.shape)) for name, array in zip(outputs, results))
        self.last = outputs[-1]
        return self.last
