# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators between QuantizeLinear and DequantizeLinear: integers as onnxruntime has them."""
import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
octet = pytest.importorskip("octet")
from onnx import TensorProto, helper  # noqa: E402
from quantized_networks import make, open_onnxruntime  # noqa: E402

pytestmark = pytest.mark.usefixtures("compiler")
SHAPE = [1, 8, 6, 6]
OTHER = "h = Sigmoid(x)\no = QuantizeLinear(h, s, z)\n"  # of one kind with q
UNLIKE = "o = QuantizeLinear(x, t, z)\n"  # of another scale

# Nodes that make r of q, and constants; k, low and high are of q's type, counted from its zero point.
ORDERED = {
    "max": ("r = Max(q, k)", dict(k=np.full((1, 8, 1, 1), 2))),
    "min_of_two": (OTHER + "r = Min(q, o)", {}),
    "where": ("c = Greater(x, zero)\nr = Where(c, q, k)", dict(k=np.full((1, 8, 1, 1), 2))),
    "where_of_two": (OTHER + "c = Greater(x, zero)\nr = Where(c, q, o)", {}),
    "top_k": ("r, i = TopK<axis=3>(q, n)", dict(n=np.array([3]))),
    "gather_elements": ("r = GatherElements<axis=3>(q, i)", dict(i=np.arange(96).reshape(1, 8, 6, 2) % 6)),
    "gather_nd": ("r = GatherND(q, i)", dict(i=np.array([[0, 1], [0, 3]]))),
    "scatter_elements": (OTHER + "r = ScatterElements<axis=3>(q, i, o)", dict(i=np.tile(np.arange(6)[::-1], (1, 8, 6, 1)))),
    "scatter_nd": (OTHER + "e = Gather<axis=1>(o, n)\nr = ScatterND(q, i, e)", dict(i=np.array([[[0, 2]]]), n=np.array([1]))),
    "pad": ("r = Pad(q, p, k)", dict(p=np.array([0, 0, 1, 1, 0, 0, 1, 1]), k=np.array(3))),
    "pad_by_zero": ("r = Pad(q, p)", dict(p=np.array([0, 0, 1, 1, 0, 0, 1, 1]))),
    "reverse_sequence": ("r = ReverseSequence<batch_axis=0, time_axis=1>(q, n)", dict(n=np.array([5]))),
    "linear_resize": ('r = Resize<mode="linear">(q, , n)', dict(n=np.array([1, 1, 2, 2], np.float32))),
    "concat_of_two_scales": (UNLIKE + "r = Concat<axis=1>(q, o)", {}),
    "abs": ("r = Abs(q)", {}),
    "sign": ("r = Sign(q)", {}),
}
CASES = {
    **{f"{name}-{kind}": (nodes + "\ny = DequantizeLinear(r, s, z)", constants, kind) for name, (nodes, constants) in ORDERED.items() for kind in ("uint8", "int8")},
    "relu-int8": ("r = Relu(q)\ny = DequantizeLinear(r, s, z)", {}, "int8"),
    "relu_of_a_zero_point-int8": ("r = Relu(q)\ny = DequantizeLinear(r, s, z)", dict(z=np.int8(-20)), "int8"),
    "neg-int8": ("r = Neg(q)\ny = DequantizeLinear(r, s, z)", {}, "int8"),
    "sum-uint8": ("r = Add(q, k)\ny = DequantizeLinear(r, s, z)", dict(k=np.full((1, 8, 1, 1), -120)), "uint8"),
    "shift-uint8": ('r = BitShift<direction="RIGHT">(q, k)\ny = DequantizeLinear(r, s, z)', dict(k=np.full((1, 8, 1, 1), -127)), "uint8"),
    "choice_of_sums-uint8": ("a = Add(q, k)\nc = Greater(x, zero)\nr = Where(c, q, a)\ny = DequantizeLinear(r, s, z)", dict(k=np.full((1, 8, 1, 1), -120)), "uint8"),
    "argmax-uint8": ("r = ArgMax<axis=1>(q)\ny = Cast<to=1>(r)", {}, "uint8"),
    "equal-int8": ("r = Equal(q, k)\ny = Cast<to=1>(r)", dict(k=np.full((1, 8, 1, 1), 2)), "int8"),
    "greater-uint8": ("r = Greater(q, k)\ny = Cast<to=1>(r)", dict(k=np.full((1, 8, 1, 1), 2)), "uint8"),
    "cast_to_int32-uint8": ("i = Cast<to=6>(q)\nd = Sub(i, n)\nf = Cast<to=1>(d)\ny = Mul(f, s)", dict(n=np.int32(128)), "uint8"),
}


@pytest.mark.parametrize("name", CASES)
def test_integers_are_those_of_onnxruntime(name):
    nodes, constants, kind = CASES[name]
    dtype = np.dtype(kind)
    zero = 128 if kind == "uint8" else 0
    constants = {"s": np.float32(4 / 127), "t": np.float32(0.02), "z": dtype.type(zero), "zero": np.float32(0), **constants}
    if "k" in constants:
        constants["k"] = (constants["k"] + zero).astype(dtype)
    model = make("q = QuantizeLinear(x, s, z)\n" + nodes, inputs={"x": SHAPE}, constants=constants, opset=17)
    feed = {"x": np.random.default_rng(1).normal(scale=1.5, size=SHAPE).astype(np.float32)}
    expected = open_onnxruntime(model).run(None, feed)[0]
    assert len(np.unique(expected)) > 1
    np.testing.assert_array_equal(octet.compile(model.SerializeToString()).run(feed)["y"], expected)

