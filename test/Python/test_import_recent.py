# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that onnxruntime lacks, or of opset 22 and later: compiled as float code, they are what ONNX's reference makes of them."""
import re

import numpy as np
import pytest

octet = pytest.importorskip("octet")
onnx = pytest.importorskip("onnx")
from importing import expect_error  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

LINEAR = "float[2,3,8] q, float[2,3,4] k, float[2,3,6] v, float[2,2,2,3] s"
HEADS = "kv_num_heads=2, q_num_heads=4"
KEYS = "float[2,4,3,8] q, float[2,2,7,8] k, float[2,2,7,6] v, int64[2] n"
LENGTHS = {"n": np.array([5, 7])}
FLEX = "float[1,4,3,8] q, float[1,2,5,8] k, float[1,2,5,6] v"
CACHE = {"n": np.array([1, 3])}
DEFORM = dict(w=(6, 2, 2, 3), b=(6,))


def make(inputs, node, constants={}, outputs="y", types={}):
    """A network of one node, written as text. A constant is an array, or a shape to fill at random."""
    outputs = ", ".join(f"{types.get(name, 'float')}[] {name}" for name in outputs.split())
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 28, "ai.onnx.preview" : 1]>\ng ({inputs}) => ({outputs}) {{ {node} }}')
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    random = np.random.default_rng(0)
    for name, value in constants.items():
        array = random.standard_normal(value).astype(np.float32) if isinstance(value, tuple) else value
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    return model


# name: (inputs, node, outputs, what is fed beside random numbers, constants)
CASES = {
    **{f"linear_attention_{rule}": (f"{LINEAR}{more}", f'y, t = LinearAttention<{HEADS}, update_rule="{rule}">(q, k, v, s{inputs})', "y t", {}, {})
       for rule, more, inputs in (("linear", "", ""), ("gated", ", float[2,3,4] g", ", g"), ("delta", ", float[2,3,2] b", ', "", b'),
                                  ("gated_delta", ", float[2,3,2] g, float[2,3,1] b", ", g, b"))},
    "linear_attention_without_state": ("float[2,3,8] q, float[2,3,4] k, float[2,3,6] v, float[2,3,4] g, float[2,3,2] b",
                                       f'y = LinearAttention<{HEADS}, scale=0.7>(q, k, v, "", g, b)', "y", {}, {}),
    "attention_of_lengths": (KEYS, 'y = Attention(q, k, v, "", "", "", n)', "y", LENGTHS, {}),
    "attention_of_lengths_causal": (KEYS, 'y = Attention<is_causal=1>(q, k, v, "", "", "", n)', "y", LENGTHS, {}),
    "attention_of_lengths_in_a_window": (KEYS, 'y = Attention<left_window_size=1, right_window_size=2>(q, k, v, "", "", "", n)', "y", LENGTHS, {}),
    "attention_of_lengths_and_truth": (KEYS + ", bool[3,7] m", 'y = Attention(q, k, v, m, "", "", n)', "y",
                                       {**LENGTHS, "m": np.random.default_rng(2).random((3, 7)) > 0.4}, {}),
    "flex_attention": (FLEX, """y = ai.onnx.preview.FlexAttention<scale=0.5,
        score_mod = m (float[a,b,c,d] s) => (float[a,b,c,d] t) { t = Tanh(s) },
        prob_mod = p (float[a,b,c,d] s) => (float[a,b,c,d] t) { t = Mul(s, s) }>(q, k, v)""", "y", {}, {}),
    "causal_conv": ("float[2,3,5] x, float[2,3,2] s", "y, t = CausalConvWithState(x, w, b, s)", "y t", {}, dict(w=(3, 1, 3), b=(3,))),
    "causal_conv_of_a_short_input": ("float[2,3,2] x", 'y, t = CausalConvWithState<activation="swish">(x, w)', "y t", {}, dict(w=(3, 1, 5))),
    "causal_conv_of_one_tap": ("float[2,3,2] x", "y = CausalConvWithState(x, w)", "y", {}, dict(w=(3, 1, 1))),
    "deform_conv": ("float[2,4,6,7] x, float[2,24,3,4] o, float[2,12,3,4] m",
                    "y = DeformConv<group=2, offset_group=2, strides=[2,2], dilations=[2,1], pads=[1,0,0,2]>(x, w, o, b, m)", "y", {}, DEFORM),
    "tensor_scatter": ("float[2,2,5,3] x, float[2,2,2,3] u, int64[2] n", "y = TensorScatter(x, u, n)", "y", CACHE, {}),
    "tensor_scatter_from_the_beginning": ("float[2,2,5] x, float[2,2,4] u", "y = TensorScatter<axis=2>(x, u)", "y", {}, {}),
    "tensor_scatter_in_a_circle": ("float[2,5,3] x, float[2,3,3] u, int64[2] n", 'y = TensorScatter<axis=1, mode="circular">(x, u, n)', "y",
                                   {"n": np.array([4, 13])}, {}),
    "swiglu": ("float[2,5] x, float[2,5] z", "y = SwiGLU<alpha=1.5>(x, z)", "y", {}, {}),
}


@pytest.mark.parametrize("name", CASES)
def test_operator_means_what_the_reference_says(compiler, name):
    inputs, node, outputs, given, constants = CASES[name]
    model = make(inputs, node, constants, outputs)
    random = np.random.default_rng(1)
    feeds = {value.name: random.standard_normal([dim.dim_value for dim in value.type.tensor_type.shape.dim]).astype(np.float32)
             for value in model.graph.input}
    feeds.update(given)
    compiled = octet.compile(model.SerializeToString()).run(feeds)
    for want, have in zip(ReferenceEvaluator(model).run(None, feeds), compiled.values(), strict=True):
        assert have.shape == want.shape
        np.testing.assert_allclose(have, want, rtol=1e-5, atol=2e-6)


def test_samples_of_one_dimension(compiler):
    """The reference knows two: those of images of two equal rows."""
    random = np.random.default_rng(1)
    x, places = (random.standard_normal(shape).astype(np.float32) for shape in ([2, 3, 9], [2, 2, 8]))
    line = make("float[2,3,9] x, float[2,2,8] o", "y = DeformConv(x, w, o)", dict(w=(4, 3, 2)))
    image = make("float[2,3,2,9] x, float[2,4,2,8] o", "y = DeformConv(x, w, o)", dict(w=(4, 3, 1, 2)))
    offsets = np.stack([np.zeros_like(places), places], axis=2).reshape(2, 4, 1, 8).repeat(2, axis=2)
    expected = ReferenceEvaluator(image).run(None, {"x": x[:, :, None].repeat(2, axis=2), "o": offsets})[0]
    got = octet.compile(line.SerializeToString()).run({"x": x, "o": places})["y"]
    np.testing.assert_allclose(got, expected[:, :, 0], rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("kind, to", [("int8", "uint8"), ("uint16", "int16"), ("int32", "uint32"), ("bool", "uint8")])
def test_bits_of_integers(compiler, kind, to):
    code = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(to))
    model = make(f"{kind}[4] x", f"y = BitCast<to={code}>(x)", types={"y": to})
    x = np.array([0, 1, 0, 1], bool) if kind == "bool" else np.array([0, 1, np.iinfo(kind).min, np.iinfo(kind).max], kind)
    got = octet.compile(model.SerializeToString()).run({"x": x})["y"]
    assert got.dtype == to and np.array_equal(got, x.view(to))


@pytest.mark.parametrize("values, to", [(np.float32([1, -0.5, np.inf]), "int32"), (np.float64([1 / 3, -2]), "int64"), (np.int32([0x40490FDB, -1 << 31]), "float32")])
def test_bits_of_constants(compiler, values, to):
    """A sum keeps the constant from being the network's result."""
    code = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(to))
    kind = {"float32": "float"}.get(to, to)
    model = make(f"{kind}[1] x", f"c = BitCast<to={code}>(w)\ny = Add(x, c)", dict(w=values), types={"y": kind})
    got = octet.compile(model.SerializeToString()).run({"x": np.zeros(1, to)})["y"]
    assert got.dtype == to and np.array_equal(got, values.view(to))


@pytest.mark.parametrize("kind", ["float", "int32"])
@pytest.mark.parametrize("size, axis, attributes", [(1, 0, "exclusive=1"), (7, -1, "reverse=1"), (13, 1, "exclusive=1, reverse=1"), (8, 1, "exclusive=0")])
def test_products_of_what_came_before(compiler, kind, size, axis, attributes):
    shape = (size, 2) if axis == 0 else (2, size)
    model = make(f"{kind}[{shape[0]},{shape[1]}] x", f"y = CumProd<{attributes}>(x, a)", dict(a=np.array(axis)), types={"y": kind})
    x = np.random.default_rng(1).integers(-9, 9, shape).astype("float32" if kind == "float" else kind)
    got = octet.compile(model.SerializeToString()).run({"x": x})["y"]
    np.testing.assert_allclose(got, ReferenceEvaluator(model).run(None, {"x": x})[0], rtol=1e-6 if kind == "float" else 0)


@pytest.mark.parametrize("first", [[0, 4], [-6, 0]])
def test_a_write_outside_of_its_batch_ends_the_run(compiler, first):
    """Behind the end of the first batch lies the second."""
    network = octet.compile(make("float[2,5,3] x, float[2,2,3] u, int64[2] n", "y = TensorScatter(x, u, n)").SerializeToString())
    with pytest.raises(octet.Error, match="the operator 'y' met an index outside"):
        network.run({"x": np.zeros((2, 5, 3), np.float32), "u": np.ones((2, 2, 3), np.float32), "n": np.array(first)})


MODIFIED = "y = ai.onnx.preview.FlexAttention<score_mod = m ({0}) => (float[a,b,c,d] t) {{ {1} }}>(q, k, v)"


@pytest.mark.parametrize("inputs, node, constants, message", [
    (LINEAR, "y, t = LinearAttention<kv_num_heads=3, q_num_heads=4>(q, k, v)", {}, "LinearAttention has queries, keys and values of shape 2x3x8, 2x3x4 and 2x3x6 with 4 and 3 heads"),
    (LINEAR, f"y, t = LinearAttention<{HEADS}>(q, k, v, s)", {}, 'LinearAttention has a decay or a beta that its update_rule "gated_delta" lacks, or lacks one'),
    (LINEAR, f'y, t = LinearAttention<{HEADS}, update_rule="gated">(q, k, v, s, v)', {}, "LinearAttention has gates of shape 2x3x6 for 3 steps of 2 heads"),
    (LINEAR + ", float[2,2,3,2] z", f'y, t = LinearAttention<{HEADS}, update_rule="linear">(q, k, v, z)', {}, "LinearAttention has a state of shape 2x2x3x2; expected 2x2x2x3"),
    ("float[1,8193,2] q", 'y, t = LinearAttention<kv_num_heads=1, q_num_heads=1, update_rule="linear">(q, q, q)', {}, "more than 8192 steps"),
    (LINEAR, 'y, t = LinearAttention<update_rule="other">(q, k, v)', {}, 'attribute update_rule="other"'),
    (KEYS + ", int64[3] o", 'y = Attention(q, k, v, "", "", "", o)', {}, "Attention has lengths of keys of shape 3 for 2 batches, or a past beside them"),
    (FLEX, MODIFIED.format("float[a,b,c,d] s, float[a,b,c,d] u", "t = Tanh(s)"), {}, "FlexAttention has a graph score_mod of 2 inputs and 1 outputs"),
    (FLEX, MODIFIED.format("float[a,b,c,d] s", "t = Transpose(s)"), {}, "FlexAttention has a graph score_mod that gives 5x3x4x1 for 1x4x3x5"),
    ("float[2,3,5] x", "y = CausalConvWithState(x, w)", dict(w=(3, 2, 3)), "CausalConvWithState has an input of shape 2x3x5, a filter of shape 3x2x3"),
    ("float[2,3,5] x, float[2,3,3] s", 'y = CausalConvWithState(x, w, "", s)', dict(w=(3, 1, 3)), "a filter of shape 3x1x3 and a state of shape 2x3x3"),
    ("float[2,4,6,7] x, float[2,12,5,5] o", "y = DeformConv<group=3>(x, w, o)", DEFORM, "DeformConv has 4 input channels in 3 groups, 1 of offsets, and a filter of shape 6x2x2x3"),
    ("float[2,4,6,7] x, float[2,6,5,5] o", "y = DeformConv<group=2>(x, w, o)", DEFORM, "DeformConv has an input 2 of shape 2x6x5x5; expected 2x12x5x5"),
    ("float[2,4,6,7] x, float[2,12,5,5] o", "y = DeformConv<group=2>(x, w, o, b, o)", DEFORM, "DeformConv has an input 4 of shape 2x12x5x5; expected 2x6x5x5"),
    ("float[2,4,6,7] x, float[2,12,5,5] o", "y = DeformConv<group=2>(x, w, o, c)", dict(w=(6, 2, 2, 3), c=(5,)), "DeformConv has a bias of shape 5; expected 6 values"),
    ("float[1,1,2048,2048] x, float[1,2,2048,2048] o", "y = DeformConv<pads=[4,4,4,4]>(x, w, o)", dict(w=(1, 1, 9, 9)), "a kernel of shape 9x9 over a result of shape 2048x2048"),
    ("float[1,1,4,4] x, float[1,2,4,4] o", "y = DeformConv<pads=[2147483647,2147483647,2147483647,2147483647]>(x, w, o)", dict(w=(1, 1, 1, 1)),
     "a kernel of shape 1x1 over a result of shape 4294967298x4294967298"),
    ("float[134217728] x", "y = QuantizeLinear<axis=0, block_size=134217728>(x, s, z)", dict(s=np.ones(1, np.float32), z=np.zeros(1, np.uint8)),
     "a tensor of shape 134217728 in blocks"),
    ("float[2,5,3] x, float[2,6,3] u", "y = TensorScatter(x, u)", {}, "TensorScatter writes 2x6x3 into a cache of shape 2x5x3 at one index of each batch"),
    ("float[2,5] x, float[3,4] z", "y = SwiGLU(x, z)", {}, "SwiGLU has a gate of shape 2x5 for values of shape 3x4"),
    ("float[2,5] x", "y = CumProd(x, a)", dict(a=np.array([0, 1])), "CumProd has 2 axes; expected one"),
    ("float[2] x", "y = BitCast<to=6>(x)", {}, "bits of floats that are computed at run time, or of halves"),
    ("uint16[2] x", "y = BitCast<to=10>(x)", {}, "bits of floats that are computed at run time, or of halves"),
    ("int16[2] x", "c = BitCast<to=5>(w)\ny = Add(x, c)", dict(w=np.float16([1, 2])), "bits of floats that are computed at run time, or of halves"),
    ("int32[2] x", "y = BitCast<to=3>(x)", {}, "BitCast casts bits of INT32 to INT8"),
    ("int32[2] x", "y = BitCast<to=21>(x)", {}, "a cast of bits to UINT4"),
    ("float[2,5] x, int64[2] t", "y = SoftmaxCrossEntropyLoss(x, t)", {}, "(SoftmaxCrossEntropyLoss, domain ai.onnx, opset 28): an operator of training"),
    ("float[2,5] x", "y = ai.onnx.preview.training.Gradient(x)", {}, "(Gradient, domain ai.onnx.preview.training, opset 1): an operator of training"),
])
def test_what_is_refused(tmp_path, inputs, node, constants, message):
    outputs = " ".join(re.match(r"[\w, ]+(?= =)", node.splitlines()[-1])[0].replace(",", " ").split())
    expect_error(tmp_path, make(inputs, node, constants, outputs), message)
