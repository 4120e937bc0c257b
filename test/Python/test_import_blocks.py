# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small parts of decoders and operators of other names, as onnxruntime has them, compiled as float code."""
import numpy as np
import pytest

pytest.importorskip("onnx")
octet = pytest.importorskip("octet")
from importing import expect_error  # noqa: E402
from onnx import TensorProto  # noqa: E402
from quantized_networks import make, open_onnxruntime  # noqa: E402

I64, U8, BOOL = TensorProto.INT64, TensorProto.UINT8, TensorProto.BOOL
ROWS = {"x": [2, 5, 12]}
STREAMS = {"x": [2, 5, 3, 4], "b": [2, 5, 4]}
FLAT = {"x": [2, 5, 12], "b": [2, 5, 4]}
ANGLES = {"c": (9, 6), "s": (9, 6)}
IMAGE = {"x": [1, 3, 8, 8]}
GATES = dict(inputs={"a": [2, 3, 4], "b": [2, 3, 4]}, constants={"d": (4,), "s": (4,)})
HEADS = "q_num_heads=4, kv_num_heads=2"


def rotary(attributes, **inputs):
    inputs = {"x": [2, 3, 24], **inputs}
    return f"y = com.microsoft.MRotaryEmbedding<{attributes}>(x, p, c, s)", dict(inputs={**inputs, "p": [3, *(inputs["x"][0], inputs["x"][-2])]}, types={"p": I64}, constants=ANGLES)


# name: (nodes, arguments of make)
CASES = {
    "gated_norm": ("y = com.microsoft.GatedRMSNorm<epsilon=0.01>(x, s, z)", dict(inputs={**ROWS, "z": [2, 5, 12]}, constants={"s": (4,)})),
    "gated_norm_sigmoid": ('y = com.microsoft.GatedRMSNorm<activation="sigmoid">(x, s, z)', dict(inputs={**ROWS, "z": [2, 5, 12]}, constants={"s": (12,)})),
    "branches": ("y = com.microsoft.BranchwiseRMSNorm<num_branches=3, epsilon=0.01>(x, s)", dict(inputs=ROWS, constants={"s": (12,)})),
    "branches_with_one_scale": ("y = com.microsoft.BranchwiseRMSNorm(x, s)", dict(inputs={"x": [2, 5, 3, 4]}, constants={"s": (4,)})),
    "branches_without_scale": ("y = com.microsoft.BranchwiseRMSNorm(x)", dict(inputs={"x": [2, 5, 3, 4]})),
    "gated_sum": ("y = com.microsoft.GatedAdd(x, z, g)", dict(inputs={**ROWS, "z": [2, 5, 12], "g": [2, 5, 1]})),
    "scaled_silu": ("y = com.microsoft.ScaledSiLU<alpha=1.7>(x)\nz = com.microsoft.ScaledSiLU(x, a)", dict(inputs=ROWS, constants={"a": np.float32(0.4)}, outputs=("y", "z"))),
    "attention_gates": ("y, z = com.microsoft.LinearAttentionGate(a, d, s, b)\nw = com.microsoft.LinearAttentionGate(a, d, s)", dict(GATES, outputs=("y", "z", "w"))),
    "linear_attention": (f"y, t = com.microsoft.LinearAttention<{HEADS}>(q, k, v, s, d, b)", dict(
        inputs={"q": [2, 3, 8], "k": [2, 3, 4], "v": [2, 3, 6], "s": [2, 2, 2, 3], "d": [2, 3, 2], "b": [2, 3, 2]}, outputs=("y", "t"))),
    "streams_before": ("y = com.microsoft.HyperConnectionPreMix<reduction_scale=0.5>(x, g)", dict(inputs={**STREAMS, "g": [2, 5, 3]})),
    "flat_streams_before": ("y = com.microsoft.HyperConnectionPreMix<num_branches=3>(x, g)", dict(inputs={**FLAT, "g": [2, 5, 12]})),
    "streams_behind": ("y = com.microsoft.HyperConnectionPostMix(x, b, g, m)", dict(inputs={**STREAMS, "g": [2, 5, 3], "m": [2, 5, 3, 3]})),
    "flat_streams_behind": ("y = com.microsoft.HyperConnectionPostMix<num_branches=3>(x, b, g)", dict(inputs={**FLAT, "g": [2, 5, 3]})),
    "rotary_of_three": rotary("mrope_section=[2, 3, 1], num_heads=2"),
    "rotary_of_three_interleaved": rotary("mrope_section=[2, 2, 2], mrope_layout=1, num_heads=2"),
    "rotary_of_three_in_part": rotary("mrope_section=[3, 2, 1], mrope_layout=1, num_heads=2, rotary_embedding_dim=12", x=[2, 3, 40]),
    "rotary_of_three_of_four_dimensions": rotary("mrope_section=[1, 2, 3], interleaved=1", x=[2, 4, 3, 12]),
    "transposed_product": ("y = com.microsoft.TransposeMatMul<transB=1, alpha=0.5>(x, z)", dict(inputs={"x": [2, 4, 6], "z": [2, 5, 6]})),
    "samples": ('y = com.microsoft.GridSample<padding_mode="border">(x, g)', dict(inputs={**IMAGE, "g": [1, 4, 5, 2]})),
    "tuples": ("y = com.microsoft.GatherND(x, i)", dict(inputs=ROWS, constants={"i": np.array([[0, 4], [1, 2]])})),
    "triangle": ("y = com.microsoft.Trilu<upper=0>(x)", dict(inputs=ROWS)),
    "another_dimension": ("y = com.microsoft.ExpandDims(x, a)", dict(inputs=ROWS, constants={"a": np.array(1, np.int32)})),
    "quantized_choice": ("c = Greater(x, o)\nq = QuantizeLinear(x, s, z)\nn = Neg(x)\nr = QuantizeLinear(n, t, w)\ny = com.microsoft.QLinearWhere(c, q, s, z, r, t, w, u, v)",
                         dict(inputs=ROWS, types={"y": U8}, constants={"o": np.float32(0), "s": np.float32(0.02), "z": np.uint8(120), "t": np.float32(0.03), "w": np.uint8(131),
                                                                       "u": np.float32(0.025), "v": np.uint8(9)})),
    "quantized_convolution_channels_last": (
        "t = Transpose<perm=[0, 2, 3, 1]>(x)\nq = QuantizeLinear(t, s, z)\nr = com.microsoft.QLinearConv<channels_last=1, pads=[1, 1, 1, 1], strides=[2, 2]>(q, s, z, w, ws, wz, u, v, b)\n"
        "d = DequantizeLinear(r, u, v)\ny = Transpose<perm=[0, 3, 1, 2]>(d)",
        dict(inputs=IMAGE, constants={"s": np.float32(0.02), "z": np.uint8(120), "w": np.random.default_rng(0).integers(-127, 128, (8, 3, 3, 3)).astype(np.int8),
                                      "ws": np.float32(0.01), "wz": np.int8(0), "u": np.float32(0.06), "v": np.uint8(131), "b": np.arange(8, dtype=np.int32) * 90})),
    "affine": ("y = Affine<alpha=0.3, beta=0.7>(x)", dict(inputs=ROWS, opset=7)),
    "scaled_tanh": ("y = ScaledTanh<alpha=0.3, beta=0.7>(x)", dict(inputs=ROWS, opset=7)),
    "parametric_softplus": ("y = ParametricSoftplus<alpha=0.3, beta=0.7>(x)", dict(inputs=ROWS, opset=7)),
    "image_scaler": ("y = ImageScaler<scale=0.1, bias=[1.0, -2.0, 0.5]>(x)", dict(inputs=IMAGE, opset=7)),
}


def make_feed(session):
    random = np.random.default_rng(0)
    return {value.name: random.integers(0, 9, value.shape) if value.type == "tensor(int64)" else random.standard_normal(value.shape).astype(np.float32) for value in session.get_inputs()}


@pytest.mark.parametrize("name", CASES)
def test_operator_is_that_of_onnxruntime(compiler, name):
    nodes, arguments = CASES[name]
    model = make(nodes, **arguments)
    session = open_onnxruntime(model)
    feeds = make_feed(session)
    got, expected = list(octet.compile(model.SerializeToString()).run(feeds).values()), session.run(None, feeds)
    for have, want in zip(got, expected, strict=True):
        assert have.shape == want.shape and have.dtype == want.dtype
        assert np.abs(have.astype(float) - want).max() <= 2e-6 * np.abs(want).max()


def test_scale_as_onnxruntime_had_it(compiler):
    model = make("y = Scale<scale=0.3>(x)", inputs=ROWS, opset=7)
    x = np.random.default_rng(0).standard_normal(ROWS["x"]).astype(np.float32)
    np.testing.assert_array_equal(octet.compile(model.SerializeToString()).run({"x": x})["y"], x * np.float32(0.3))


REFUSED = {
    "norm": ("y = com.microsoft.GatedRMSNorm(x, s, z)", dict(inputs={**ROWS, "z": [2, 5, 12]}, constants={"s": (5,)}), "has inputs of shape 2x5x12, 5, 2x5x12"),
    "branches": ("y = com.microsoft.BranchwiseRMSNorm<num_branches=5>(x)", dict(inputs=ROWS), "has inputs of shape 2x5x12"),
    "branches_scale": ("y = com.microsoft.BranchwiseRMSNorm<num_branches=3>(x, s)", dict(inputs=ROWS, constants={"s": (5,)}), "has inputs of shape 2x5x12, 5"),
    "attention_gates": ("y, z = com.microsoft.LinearAttentionGate(a, d, s)", dict(GATES, outputs=("y", "z")), "lacks its input 3"),
    "streams": ("y = com.microsoft.HyperConnectionPreMix(x, g)", dict(inputs={**STREAMS, "g": [2, 5, 2]}), "has inputs of shape 2x5x3x4, 2x5x2"),
    "one_stream": ("y = com.microsoft.HyperConnectionPreMix(x, g)", dict(inputs={"x": [4], "g": [4]}), "has inputs of shape 4, 4"),
    "stream_matrix": ("y = com.microsoft.HyperConnectionPostMix(x, b, g, m)", dict(inputs={**STREAMS, "g": [2, 5, 3], "m": [3, 3]}), "has inputs of shape 2x5x3x4, 2x5x4, 2x5x3, 3x3"),
    "sections": (*rotary("mrope_section=[2, 3, 2]"), "and sections of 2x3x2"),
    "scaled_rotary": (*rotary("mrope_section=[2, 3, 1], scale=2.0"), "a scale"),
    "rows_channels_last": ("q = QuantizeLinear(x, s, z)\nr = com.microsoft.QLinearConv<channels_last=1>(q, s, z, w, s, v, s, z)\ny = DequantizeLinear(r, s, z)",
                           dict(inputs={"x": [4, 3]}, constants={"s": np.float32(0.02), "z": np.uint8(120), "v": np.int8(0), "w": np.ones((8, 3, 3, 3), np.int8)}), "has an input that is no image"),
    "image_scaler": ("y = ImageScaler<bias=[1.0]>(x)", dict(inputs=IMAGE, opset=7), "has 1 numbers for the channels of an input of shape 1x3x8x8"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusal(tmp_path, name):
    nodes, arguments, reason = REFUSED[name]
    expect_error(tmp_path, make(nodes, **arguments), reason)
