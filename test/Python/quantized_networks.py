# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks that are quantized in their file, written by hand, and their comparison with onnxruntime."""

import numpy as np
import octet
import onnxruntime
from onnx import TensorProto, helper
from onnx_networks import make_network
from unsigned_weights import with_unsigned_weights

U8, I8, I32 = TensorProto.UINT8, TensorProto.INT8, TensorProto.INT32


def open_onnxruntime(model):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    return onnxruntime.InferenceSession(with_unsigned_weights(model).SerializeToString(), options, providers=["CPUExecutionProvider"])


def make(nodes, *, types={}, **arguments):
    """`make_network` with com.microsoft and with inputs and outputs of other types than float32."""
    model = make_network(nodes, **arguments)
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    for value in [*model.graph.input, *model.graph.output]:
        value.type.tensor_type.elem_type = types.get(value.name, TensorProto.FLOAT)
    return model


def make_feed(session, seed):
    random = np.random.default_rng(seed)
    make = {"tensor(float)": lambda shape: random.standard_normal(shape).astype(np.float32),
            "tensor(uint8)": lambda shape: random.integers(0, 256, shape).astype(np.uint8),
            "tensor(int8)": lambda shape: random.integers(-128, 128, shape).astype(np.int8)}
    return {value.name: make[value.type](value.shape) for value in session.get_inputs()}


def compare(model, runs=3, **options):
    """How many results differ, of how many, and the largest difference."""
    session, compiled = open_onnxruntime(model), octet.compile(model.SerializeToString(), **options)
    total = different = largest = 0
    for seed in range(runs):
        feed = make_feed(session, seed)
        for wanted, got in zip(session.run(None, feed), compiled.run(feed).values()):
            got = np.asarray(got)
            assert got.shape == wanted.shape and got.dtype == wanted.dtype
            difference = np.abs(got.astype(np.float64) - wanted.astype(np.float64))
            total, different = total + difference.size, different + np.count_nonzero(difference)
            largest = max(largest, difference.max())
    return different, total, largest


SCALES = (np.arange(8) * 0.002 + 0.02).astype(np.float32)
QAT = """q = QuantizeLinear(x, s, z)
c = Clip(q, low, high)
d = DequantizeLinear(c, s, z)
wq = QuantizeLinear<axis=0>(w, ws, wz)
wc = Clip(wq, low, high)
wd = DequantizeLinear<axis=0>(wc, ws, wz)
k = Conv<pads=[1,1,1,1]>(d, wd, b)
r = Relu(k)
q2 = QuantizeLinear(r, s2, z2)
c2 = Clip(q2, zero, fifteen)
y = DequantizeLinear(c2, s2, z2)"""


def integers(shape, low, high, type, seed=3):
    return np.random.default_rng(seed).integers(low, high, shape).astype(type)


IMAGE = {"x": [1, 4, 8, 8]}
ROWS = {"x": [4, 64]}
A = dict(xs=np.float32(0.05), xz=np.uint8(100), ys=np.float32(0.11), yz=np.uint8(90))
AS = dict(xs=np.float32(0.05), xz=np.int8(-20), ys=np.float32(0.11), yz=np.int8(9))
R = dict(r=integers((1, 4, 8, 8), 0, 256, np.uint8), rs=np.float32(0.07), rz=np.uint8(133))
W = dict(w=integers((8, 4, 3, 3), -127, 128, np.int8), ws=SCALES, wz=np.zeros(8, np.int8), b=integers(8, -3000, 3000, np.int32))
WU = dict(w=integers((8, 4, 3, 3), 0, 256, np.uint8), ws=np.float32(0.02), wz=np.uint8(119))
M = dict(w=integers((64, 8), -128, 128, np.int8), ws=np.float32(0.02), wz=np.int8(0))
INT = {"x": U8, "y": U8}
