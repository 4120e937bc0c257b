# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small encoder like BERT, in the operators that PyTorch's export writes, which onnxruntime's optimizers recognize."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper


class Encoder:
    """`model` reads ids, segments and a mask [batch, length] and gives `y` [batch, length, hidden]."""

    def __init__(self, layers=2, hidden=32, heads=4, words=50, batch=2, length=6):
        self.random, self.nodes, self.constants = np.random.default_rng(0), [], []
        self.hidden, self.heads = hidden, heads
        mask = self.make_mask()
        words, segments = self.add("Gather", self.weight(words, hidden), "ids"), self.add("Gather", self.weight(2, hidden), "segments")
        positions = self.add("Gather", self.weight(16, hidden), self.constant(np.arange(length)[None]))
        x = self.normalize(self.add("Add", self.add("Add", words, segments), positions))
        for _ in range(layers):
            x = self.normalize(self.add("Add", self.attend(x, mask), x))
            x = self.normalize(self.add("Add", self.linear(self.gelu(self.linear(x, hidden, 4 * hidden)), 4 * hidden, hidden), x))
        self.nodes[-1].output[0] = "y"
        inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, [batch, length]) for name in ("ids", "segments", "mask")]
        outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, length, hidden])]
        graph = helper.make_graph(self.nodes, "encoder", inputs, outputs, self.constants)
        self.model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    def constant(self, array):
        self.constants.append(numpy_helper.from_array(np.asarray(array), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def weight(self, *shape):
        spread = shape[0] ** -0.5 if len(shape) > 1 else 0.1
        return self.constant((self.random.standard_normal(shape) * spread).astype(np.float32))

    def number(self, value):
        return self.constant(np.float32(value))

    def add(self, operator, *inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], name=name, **attributes))
        return name

    def make_mask(self):
        mask = "mask"
        for axis in (1, 2):
            mask = self.add("Unsqueeze", mask, self.constant(np.array([axis])))
        hidden = self.add("Sub", self.number(1), self.add("Cast", mask, to=TensorProto.FLOAT))
        return self.add("Mul", hidden, self.number(-10000))

    def linear(self, x, inputs, outputs):
        return self.add("Add", self.add("MatMul", x, self.weight(inputs, outputs)), self.weight(outputs))

    def normalize(self, x):
        return self.add("LayerNormalization", x, self.weight(self.hidden), self.weight(self.hidden), axis=-1, epsilon=1e-12)

    def gelu(self, x):
        doubled = self.add("Add", self.add("Erf", self.add("Div", x, self.number(2**0.5))), self.number(1))
        return self.add("Mul", self.add("Mul", x, doubled), self.number(0.5))

    def project(self, x, order):
        heads = self.add("Reshape", self.linear(x, self.hidden, self.hidden), self.constant(np.array([0, 0, self.heads, self.hidden // self.heads])))
        return self.add("Transpose", heads, perm=order)

    def attend(self, x, mask):
        query, key, value = self.project(x, [0, 2, 1, 3]), self.project(x, [0, 2, 3, 1]), self.project(x, [0, 2, 1, 3])
        scores = self.add("Div", self.add("MatMul", query, key), self.number((self.hidden / self.heads) ** 0.5))
        weights = self.add("Softmax", self.add("Add", scores, mask), axis=-1)
        rows = self.add("Transpose", self.add("MatMul", weights, value), perm=[0, 2, 1, 3])
        return self.linear(self.add("Reshape", rows, self.constant(np.array([0, 0, self.hidden]))), self.hidden, self.hidden)
