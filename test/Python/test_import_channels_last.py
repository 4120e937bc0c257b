# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of images with channels last, which onnxruntime's optimizers write for diffusion and for quantized networks; most run on GPUs only there."""
import math

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
octet = pytest.importorskip("octet")
from importing import expect_error  # noqa: E402
from quantized_networks import make, open_onnxruntime  # noqa: E402

IMAGE = {"x": [2, 6, 5, 8]}
SCALE = {"g": (8,), "b": (8,)}
ROWS = {"x": [2, 5, 8]}


def normalize(x, scale, bias, groups, epsilon=1e-5, axis=3):
    x = np.moveaxis(x.astype(float), axis, 1)
    shape = x.shape
    parts = x.reshape(shape[0], groups, -1)
    parts = (parts - parts.mean(2, keepdims=True)) / np.sqrt(parts.var(2, keepdims=True) + epsilon)
    return np.moveaxis(parts.reshape(shape) * scale[:, None, None] + bias[:, None, None], 1, axis)


def silu(x):
    return x / (1 + np.exp(-x))


def split_gelu(x, bias):
    value, gate = np.split((x + bias).astype(float), 2, -1)
    return value * gate * (1 + np.vectorize(math.erf)(gate / math.sqrt(2))) / 2


# name: (node, inputs, constants, what it computes)
CASES = {
    "group_norm": ("y = com.microsoft.GroupNorm<groups=2, activation=0>(x, g, b)", IMAGE, SCALE, lambda x, g, b: normalize(x, g, b, 2)),
    "group_norm_silu": ("y = com.microsoft.GroupNorm<groups=4, activation=1, epsilon=0.01>(x, g, b)", IMAGE, SCALE, lambda x, g, b: silu(normalize(x, g, b, 4, 0.01))),
    "group_norm_second": ("y = com.microsoft.GroupNorm<groups=2, activation=0, channels_last=0>(x, g, b)", {"x": [2, 8, 6, 5]}, SCALE,
                          lambda x, g, b: normalize(x, g, b, 2, axis=1)),
    "skip": ("y, s = com.microsoft.SkipGroupNorm<groups=2, activation=0>(x, g, b, k)", {**IMAGE, "k": [2, 6, 5, 8]}, SCALE,
             lambda x, k, g, b: (normalize(x + k, g, b, 2), x + k)),
    "skip_vector_and_bias": ("y, s = com.microsoft.SkipGroupNorm<groups=2, activation=1>(x, g, b, k, c)", {**IMAGE, "k": [2, 8]}, {**SCALE, "c": (8,)},
                             lambda x, k, g, b, c: (silu(normalize(x + k[:, None, None] + c, g, b, 2)), x + k[:, None, None] + c)),
    "skip_second": ("y = com.microsoft.SkipGroupNorm<groups=2, activation=0, channels_last=0>(x, g, b, k)", {"x": [2, 8, 6, 5], "k": [2, 8]}, SCALE,
                    lambda x, k, g, b: normalize(x + k[:, :, None, None], g, b, 2, axis=1)),
    "bias_add": ("y = com.microsoft.BiasAdd(x, b, k)", {**ROWS, "k": [2, 5, 8]}, {"b": (8,)}, lambda x, k, b: x + b + k),
    "bias_split_gelu": ("y = com.microsoft.BiasSplitGelu(x, b)", ROWS, {"b": (8,)}, split_gelu),
}


@pytest.mark.parametrize("name", CASES)
def test_operator(compiler, name):
    node, inputs, constants, compute = CASES[name]
    random = np.random.default_rng(0)
    values = {key: random.standard_normal(shape).astype(np.float32) for key, shape in {**inputs, **constants}.items()}
    outputs = tuple(node.split(" = ")[0].split(", "))
    model = make(node, inputs=inputs, constants={key: values[key] for key in constants}, outputs=outputs)
    wanted = compute(*values.values())
    got = octet.compile(model.SerializeToString()).run({key: values[key] for key in inputs})
    for output, want in zip(outputs, wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        np.testing.assert_allclose(got[output], want, atol=1e-5 * np.abs(want).max())


@pytest.mark.parametrize("attributes, filters", [("pads=[1,1,1,1]", (4, 3, 3, 8)), ("strides=[2,1], group=2", (4, 1, 3, 4))])
def test_convolution(compiler, attributes, filters):
    spelled = f"a = Transpose<perm=[0,3,1,2]>(x)\nf = Transpose<perm=[0,3,1,2]>(w)\nc = Conv<{attributes}>(a, f, b)\ny = Transpose<perm=[0,2,3,1]>(c)"
    random = np.random.default_rng(0)
    constants = {"w": random.standard_normal(filters).astype(np.float32), "b": random.standard_normal(4).astype(np.float32)}
    x = random.standard_normal(IMAGE["x"]).astype(np.float32)
    want, = open_onnxruntime(make(spelled, inputs=IMAGE, constants=constants)).run(None, {"x": x})
    model = make(f"y = com.microsoft.NhwcConv<{attributes}>(x, w, b)", inputs=IMAGE, constants=constants)
    np.testing.assert_allclose(octet.compile(model.SerializeToString()).run({"x": x})["y"], want, atol=1e-5 * np.abs(want).max())


def test_pool_of_bytes(compiler):
    node = "q = QuantizeLinear(x, s, z)\np = com.microsoft.NhwcMaxPool<kernel_shape=[3,2], strides=[2,1], pads=[1,0,1,1]>(q)\ny = DequantizeLinear(p, s, z)"
    model = make(node, inputs=IMAGE, constants={"s": np.float32(0.02), "z": np.uint8(120)})
    x = np.random.default_rng(0).standard_normal(IMAGE["x"]).astype(np.float32)
    want, = open_onnxruntime(model).run(None, {"x": x})
    np.testing.assert_array_equal(octet.compile(model.SerializeToString()).run({"x": x})["y"], want)


@pytest.mark.parametrize("node, inputs, constants, reason", [
    ("y = com.microsoft.GroupNorm<groups=3, activation=0>(x, g, b)", IMAGE, SCALE, "has 8 channels in 3 groups"),
    ("y = com.microsoft.GroupNorm<groups=2, activation=0>(x, g, b)", IMAGE, {"g": (8,), "b": (4,)}, "a scale or bias of shape 4; expected 8"),
    ("y = com.microsoft.GroupNorm<groups=2, activation=0>(x, g, b)", ROWS, SCALE, "no image"),
    ("y = com.microsoft.SkipGroupNorm<groups=2, activation=0>(x, g, b, k)", {**ROWS, "k": [2, 8]}, SCALE, "no image"),
    ("y = com.microsoft.SkipGroupNorm<groups=2, activation=0>(x, g, b, k)", {**IMAGE, "k": [2, 5, 6, 8]}, SCALE, "adds a tensor of shape 2x5x6x8 to one of shape 2x6x5x8"),
    ("y = com.microsoft.SkipGroupNorm<groups=2, activation=0>(x, g, b, k)", {**IMAGE, "k": [3, 8]}, SCALE, "adds a tensor of shape 3x8"),
    ("y = com.microsoft.BiasAdd(x, b, k)", {**ROWS, "k": [1, 5, 8]}, {"b": (8,)}, "adds tensors of shapes 2x5x8, 8, 1x5x8"),
    ("y = com.microsoft.BiasSplitGelu(x, b)", ROWS, {"b": (4,)}, "has inputs of shapes 2x5x8, 4"),
    ("y = com.microsoft.NhwcConv(x, w)", {"x": [5, 8]}, {"w": (4, 3, 3, 8)}, "no image"),
])
def test_refusal(tmp_path, node, inputs, constants, reason):
    expect_error(tmp_path, make(node, inputs=inputs, constants=constants), reason)
