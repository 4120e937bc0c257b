# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds small ONNX QDQ files for the tests of the reference."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

f32 = np.float32


class Builder:
    def __init__(self, seed=0):
        self.nodes, self.constants, self.inputs, self.outputs = [], [], [], []
        self.rng = np.random.default_rng(seed)

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, kind, *inputs, **attributes):
        output = f"t{len(self.nodes)}"
        names = [i if isinstance(i, str) else self.constant(i) for i in inputs]
        self.nodes.append(helper.make_node(kind, names, [output], **attributes))
        return output

    def input(self, name, *shape):
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        return name

    def output(self, name, kind=TensorProto.UINT8):
        self.outputs.append(helper.make_tensor_value_info(name, kind, None))
        return name

    def quantize(self, x, scale, zero, axis=None):
        attributes = {} if axis is None else {"axis": axis}
        return self.node("QuantizeLinear", x, f32(scale), np.uint8(zero), **attributes)

    def dequantize(self, q, scale, zero, axis=None):
        attributes = {} if axis is None else {"axis": axis}
        return self.node("DequantizeLinear", q, f32(scale), np.uint8(zero), **attributes)

    def qdq(self, x, scale, zero, axis=None):
        return self.dequantize(self.quantize(x, scale, zero, axis), scale, zero, axis)

    def weight(self, *shape, scale=None):
        """Random i8 values, a scale per output: the dequantized name, and the scales."""
        values = self.rng.integers(-127, 128, shape).astype(np.int8)
        scale = self.rng.uniform(0.001, 0.01, shape[0]).astype(f32) if scale is None else scale
        return self.node("DequantizeLinear", values, scale, np.zeros(len(scale), np.int8), axis=0), values, scale

    def bias(self, scale):
        values = self.rng.integers(-2000, 2000, len(scale)).astype(np.int32)
        return self.node("DequantizeLinear", values, f32(scale), axis=0), values

    def model(self):
        graph = helper.make_graph(self.nodes, "g", self.inputs, self.outputs, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)])
        model.ir_version = 9
        return model


def run_onnxruntime(model, inputs):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs)))
