# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that onnxruntime's optimizers write, compiled as float code, are what onnxruntime makes of them."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from encoder_network import Encoder  # noqa: E402
from importing import expect_error  # noqa: E402
from onnx import TensorProto  # noqa: E402
from quantized_networks import make, open_onnxruntime  # noqa: E402

I32, I64 = TensorProto.INT32, TensorProto.INT64
WORDS = {"x": [2, 5, 8]}
IDS = dict(inputs={"ids": [2, 5], "segments": [2, 5], "mask": [2, 5]}, types={"ids": I32, "segments": I32, "mask": I32, "m": I32},
           constants={"w": (9, 8), "p": (7, 8), "t": (2, 8), "g": (8,), "b": (8,)})
HEADS = dict(inputs=WORDS, constants={"w": (8, 24), "b": (24,)})
PARTS = {"q": [2, 5, 8], "k": [2, 7, 8], "v": [2, 7, 12]}
SPLIT = {"q": [2, 5, 8], "k": [2, 4, 7, 2], "v": [2, 4, 7, 2]}
ANGLES = {"c": (9, 4), "s": (9, 4)}


def i32(*values):
    return np.array(values, np.int32)


def f32(*values):
    return np.array(values, np.float32)


def small(*shape):
    """Bytes at random."""
    return np.random.default_rng(3).integers(0, 256, shape).astype(np.uint8)


def conv(activation, *params):
    return (f'y = com.microsoft.FusedConv<activation="{activation}", activation_params=[{", ".join(map(str, params))}], pads=[1,1,1,1]>(x, w, b)'
            if params else f'y = com.microsoft.FusedConv<activation="{activation}", pads=[1,1,1,1]>(x, w, b)', dict(constants={"w": (4, 3, 3, 3), "b": (4,)}))


def gemm(attributes):
    return f"y = com.microsoft.FusedGemm<{attributes}>(x, w, b)", dict(inputs={"x": [4, 6]}, constants={"w": (6, 5), "b": (5,)})


def matmul(attributes, left, right, constant=False):
    inputs = {"x": left} if constant else {"x": left, "z": right}
    return f"y = com.microsoft.FusedMatMul<{attributes}>(x, {'w' if constant else 'z'})", dict(inputs=inputs, constants={"w": tuple(right)} if constant else {})


def few_bits(bits, inputs, **constants):
    """A matrix of 6 rows and 40 columns in three blocks of 16."""
    constants = {"w": small(6, 3, 2 * bits), "s": (18,), **constants}
    return f"y = com.microsoft.MatMulNBits<K=40, N=6, bits={bits}, block_size=16>(x, w, s{inputs})", dict(inputs={"x": [2, 3, 40]}, constants=constants)


def attention(attributes, more, **arguments):
    arguments = {**HEADS, **arguments, "constants": {**HEADS["constants"], **arguments.get("constants", {})}}
    return f"y = com.microsoft.Attention<num_heads=2{attributes}>(x, w, b{more})", arguments


def quantized_attention(attributes, more="", zero_point=128, columns=1, **arguments):
    """Weights and, in each run, the input are bytes."""
    constants = {**HEADS["constants"], "w": small(8, 24), "ws": np.linspace(0.001, 0.004, columns, dtype=np.float32), "wz": np.full(columns, zero_point, np.uint8)}
    arguments = {**HEADS, **arguments, "constants": {**constants, **arguments.get("constants", {})}}
    return f"q, s, z = DynamicQuantizeLinear(x)\ny{', p' if 'outputs' in arguments else ''} = com.microsoft.QAttention<num_heads=2{attributes}>(q, w, b, s, ws{more})", arguments


def quantized_embedding(**constants):
    names, tables = "wptgb", {name: small(*shape) for name, shape in IDS["constants"].items()}
    scales = {name + "s": np.float32(0.01 + 0.001 * i) for i, name in enumerate(names)}
    zero_points = {name + "z": np.uint8(120 + i) for i, name in enumerate(names)}
    return ("y, m = com.microsoft.QEmbedLayerNormalization<epsilon=0.01>(ids, segments, w, p, t, g, b, mask, ws, ps, ts, gs, bs, wz, pz, tz, gz, bz)",
            dict(IDS, constants={**tables, **scales, **zero_points, **constants}, outputs=("y", "m")))


# name: (nodes, arguments of make)
CASES = {
    "conv_relu": conv("Relu"),
    "conv_leaky_relu": conv("LeakyRelu", 0.2),
    "conv_clip": conv("Clip", -0.3, 0.9),
    "conv_hard_sigmoid": conv("HardSigmoid", 0.3, 0.4),
    "conv_tanh": conv("Tanh"),
    "conv_sum": ('y = com.microsoft.FusedConv<activation="Relu", group=3>(x, w, , z)',
                 dict(inputs={"x": [1, 3, 8, 8], "z": [1, 6, 6, 6]}, constants={"w": (6, 1, 3, 3)})),
    "gemm_relu": gemm('activation="Relu", alpha=0.5, beta=2.0'),
    "gemm_leaky_relu": gemm('activation="LeakyRelu", activation_alpha=0.3'),
    "gemm_hard_sigmoid": gemm('activation="HardSigmoid", activation_alpha=0.3, activation_beta=0.6'),
    "matmul": matmul("alpha=0.5", [2, 4, 6], [2, 6, 5]),
    "matmul_of_constant": matmul("alpha=0.5, transB=1", [2, 4, 6], [5, 6], constant=True),
    "matmul_transposed": matmul("transA=1, transB=1", [2, 6, 4], [2, 5, 6]),
    "matmul_batches_inside": matmul("transBatchA=1, transBatchB=1, transB=1", [4, 3, 2, 6], [5, 3, 2, 6]),
    "matmul_batches_inside_transposed": matmul("transBatchA=1, transA=1", [6, 3, 2, 4], [3, 2, 6, 5]),
    "four_bits": few_bits(4, ""),
    "four_bits_zero_points": few_bits(4, ", z", z=small(6, 2)),
    "four_bits_real_zero_points": few_bits(4, ", z", z=(18,)),
    "four_bits_bias": few_bits(4, ", , , b", b=(6,)),
    "four_bits_order": few_bits(4, ", , g", g=i32(*[k % 3 for k in range(40)])),
    "eight_bits": few_bits(8, ", z", z=small(6, 3)),
    "two_bits": few_bits(2, ", z", z=small(6, 1)),
    "causal_conv": ("y, t = com.microsoft.CausalConvWithState<ndim=1>(x, w, b, s)",
                    dict(inputs={"x": [2, 3, 5], "s": [2, 3, 2]}, constants={"w": (3, 1, 3), "b": (3,)}, outputs=("y", "t"))),
    "causal_conv_dilated": ('y, t = com.microsoft.CausalConvWithState<activation="silu", dilation=2>(x, w)',
                            dict(inputs={"x": [2, 3, 7]}, constants={"w": (3, 1, 3)}, outputs=("y", "t"))),
    "range": ("r = com.microsoft.Range(o, e)\ns = com.microsoft.Range(o, e, t)\na = Add(x, r)\nb = Gather<axis=0>(s, i)\ny = Add(a, b)",
              dict(inputs={"x": [4]}, constants={"o": np.float32(1), "e": np.float32(5), "t": np.float32(2), "i": i32(1, 0, 0, 1)})),
    "gelu": ("y = com.microsoft.Gelu(x)", {}),
    "bias_gelu": ("y = com.microsoft.BiasGelu(x, b)", dict(constants={"b": (8,)})),
    "fast_gelu": ("y = com.microsoft.FastGelu(x, b)\nz = com.microsoft.FastGelu(x)", dict(constants={"b": (8,)}, outputs=("y", "z"))),
    "quick_gelu": ("y = com.microsoft.QuickGelu(x)\nz = com.microsoft.QuickGelu<alpha=0.7>(x)", dict(outputs=("y", "z"))),
    "layer_normalization_old": ("y = LayerNormalization<axis=-1>(x, g, b)", dict(inputs=WORDS, constants={"g": (8,), "b": (8,)})),
    "simplified_layer_normalization": ("y = SimplifiedLayerNormalization<epsilon=0.01>(x, g)", dict(inputs=WORDS, constants={"g": (8,)})),
    "skip_layer_normalization": ("y, , , s = com.microsoft.SkipLayerNormalization<epsilon=0.01>(x, k, g, b, c)", dict(
        inputs={**WORDS, "k": [2, 5, 8]}, constants={"g": (8,), "b": (8,), "c": (8,)}, outputs=("y", "s"))),
    "skip_layer_normalization_broadcast": ("y = com.microsoft.SkipLayerNormalization(x, k, g)", dict(inputs=WORDS, constants={"k": (5, 8), "g": (8,)})),
    "skip_simplified": ("y, , , s = com.microsoft.SkipSimplifiedLayerNormalization(x, k, g, c)", dict(
        inputs={**WORDS, "k": [2, 5, 8]}, constants={"g": (8,), "c": (8,)}, outputs=("y", "s"))),
    "embedding": ("y, m, s = com.microsoft.EmbedLayerNormalization<epsilon=0.01>(ids, segments, w, p, t, g, b, mask)", dict(IDS, outputs=("y", "m", "s"))),
    "embedding_of_positions": ("y, m = com.microsoft.EmbedLayerNormalization(ids, , w, p, , g, b, , n)",
                               dict(IDS, inputs={"ids": [2, 5]}, outputs=("y", "m"), constants={**IDS["constants"], "n": i32(0, 2, 4, 6, 1)[None]})),
    "attention": attention("", ""),
    "attention_causal": attention(", unidirectional=1, scale=0.3", ""),
    "attention_mask": attention("", ", m", inputs={**WORDS, "m": [2, 5]}, types={"m": I32}),
    "attention_mask_of_queries": attention("", ", m", inputs={**WORDS, "m": [2, 5, 5]}, types={"m": I32}),
    "attention_lengths": attention("", ", m", constants={"m": i32(3, 5)}),
    "attention_lengths_at_run_time": attention("", ", m", inputs={**WORDS, "m": [2]}, types={"m": I32}),
    "attention_ends_and_starts": attention(", unidirectional=1", ", m", constants={"m": i32(5, 5, 0, 0)}),
    "attention_mask_constant": attention(", mask_filter_value=-50.0", ", m", constants={"m": i32(1, 1, 0, 1, 1, 0, 1, 1, 1, 1).reshape(2, 5)}),
    "attention_addend": attention("", ", , , a", inputs={**WORDS, "a": [1, 2, 5, 5]}),
    "attention_past": ("y, p = com.microsoft.Attention<num_heads=2, unidirectional=1>(x, w, b, , h)", dict(
        HEADS, inputs={**WORDS, "h": [2, 2, 2, 3, 4]}, outputs=("y", "p"))),
    "attention_of_other_values": ("y = com.microsoft.Attention<num_heads=2, qkv_hidden_sizes=[8, 8, 12]>(x, w, b)",
                                  dict(inputs=WORDS, constants={"w": (8, 28), "b": (28,)})),
    "quantized_attention": quantized_attention("", ", , z, wz"),
    "quantized_attention_per_column": quantized_attention(", scale=0.3", ", , z, wz", columns=24),
    "quantized_attention_mask": quantized_attention(", unidirectional=1", ", m, z, wz", inputs={**WORDS, "m": [2, 5]}, types={"m": I32}),
    "quantized_attention_past": quantized_attention(", unidirectional=1", ", , z, wz, h", inputs={**WORDS, "h": [2, 2, 2, 3, 4]}, outputs=("y", "p")),
    "quantized_embedding": quantized_embedding(),
    "multi_head": ("y = com.microsoft.MultiHeadAttention<num_heads=4>(q, k, v, b)", dict(inputs=PARTS, constants={"b": (28,)})),
    "multi_head_split": ("y = com.microsoft.MultiHeadAttention<num_heads=4>(q, k, v)", dict(inputs=SPLIT)),
    "multi_head_mask": ("y = com.microsoft.MultiHeadAttention<num_heads=4, scale=0.4>(q, k, v, , m, a)",
                        dict(inputs={**PARTS, "m": [2, 7], "a": [2, 1, 5, 7]}, types={"m": I32})),
    "multi_head_past": ("y, n, m = com.microsoft.MultiHeadAttention<num_heads=4, unidirectional=1>(q, k, v, , , , h, i)", dict(
        inputs={"q": [2, 5, 8], "k": [2, 5, 8], "v": [2, 5, 8], "h": [2, 4, 3, 2], "i": [2, 4, 3, 2]}, outputs=("y", "n", "m"))),
    "rotary": ("y = com.microsoft.RotaryEmbedding(x, i, c, s)", dict(inputs={"x": [2, 3, 16]}, types={"i": I64}, constants={**ANGLES, "i": np.array([[0, 4, 8], [1, 2, 3]])})),
    "rotary_at_run_time": ("y = com.microsoft.RotaryEmbedding<interleaved=1>(x, i, c, s)", dict(inputs={"x": [2, 2, 3, 8], "i": [2, 3]}, types={"i": I64}, constants=ANGLES)),
    "rotary_from_one": ("y = com.microsoft.RotaryEmbedding(x, i, c, s)\nz = com.microsoft.RotaryEmbedding(x, j, c, s)",
                        dict(inputs={"x": [2, 3, 16], "j": [1]}, types={"j": I64}, constants={**ANGLES, "i": np.array([5])}, outputs=("y", "z"))),
}


def make_feed(session, seed=0):
    """Numbers at random; integers are 0 or 1, lengths from 1 on."""
    random = np.random.default_rng(seed)
    feeds = {}
    for value in session.get_inputs():
        dtype = {"tensor(float)": np.float32, "tensor(int32)": np.int32, "tensor(int64)": np.int64}[value.type]
        integers = random.integers(1, 5, value.shape) if len(value.shape) == 1 else random.integers(0, 2, value.shape)
        feeds[value.name] = (integers if dtype != np.float32 else random.standard_normal(value.shape)).astype(dtype)
    return feeds


def expect_same(compiler, model):
    import octet

    session = open_onnxruntime(model)
    feeds = make_feed(session)
    wanted, got = session.run(None, feeds), list(octet.compile(model.SerializeToString()).run(feeds).values())
    for want, have in zip(wanted, map(np.asarray, got), strict=True):
        assert have.shape == want.shape and have.dtype == want.dtype
        assert np.abs(have.astype(float) - want).max() <= 1e-5 * np.abs(want).max()


@pytest.mark.parametrize("name", CASES)
def test_operator_is_that_of_onnxruntime(compiler, name):
    nodes, arguments = CASES[name]
    expect_same(compiler, make(nodes, **arguments))


def test_bias_softmax_is_softmax_of_a_sum(compiler):
    """onnxruntime has no BiasSoftmax on CPUs."""
    import octet

    model = make("y = com.microsoft.BiasSoftmax<axis=2, is_inner_broadcast=0>(x, z)", inputs={"x": [2, 3, 4, 5], "z": [2, 1, 4, 5]})
    random = np.random.default_rng(0)
    x, z = (random.standard_normal(shape).astype(np.float32) for shape in ([2, 3, 4, 5], [2, 1, 4, 5]))
    exponentials = np.exp((x + z).astype(float))
    np.testing.assert_allclose(octet.compile(model.SerializeToString()).run({"x": x, "z": z})["y"], exponentials / exponentials.sum((2, 3), keepdims=True), rtol=1e-5)


def test_packed_heads(compiler):
    """onnxruntime reads them on GPUs only."""
    import octet

    random = np.random.default_rng(0)
    packed, query = random.standard_normal((2, 7, 2, 3, 4)).astype(np.float32), random.standard_normal((2, 5, 8)).astype(np.float32)
    parts = [packed[:, :, :, i].reshape(2, 7, 8) for i in range(3)]
    nodes = "y = com.microsoft.MultiHeadAttention<num_heads=2>(q, k, v, b)"
    constants = {"b": random.standard_normal(24).astype(np.float32)}
    spelled = make(nodes, inputs={"q": ["n", "l", 8], "k": [2, 7, 8], "v": [2, 7, 8]}, constants=constants)
    for given, feed, q in (("x", {"x": packed}, parts[0]), ("q, x", {"q": query, "x": packed[:, :, :, 1:]}, query)):
        separator = ", , b" if given == "q, x" else ", , , b"
        model = make(nodes.replace("q, k, v, b", given + separator), inputs={key: list(array.shape) for key, array in feed.items()}, constants=constants)
        wanted, = open_onnxruntime(spelled).run(None, {"q": q, "k": parts[1], "v": parts[2]})
        np.testing.assert_allclose(octet.compile(model.SerializeToString()).run(feed)["y"], wanted, atol=1e-5 * np.abs(wanted).max())


# what is refused: (nodes, arguments of make, the reason)
REFUSED = {
    "conv_sum_of_another_shape": ('y = com.microsoft.FusedConv(x, w, , z)', dict(inputs={"x": [1, 3, 8, 8], "z": [1, 1, 6, 6]}, constants={"w": (4, 3, 3, 3)}), "adds a tensor of shape 1x1x6x6"),
    "conv_activation": (*conv("Swish"), "the activation Swish"),
    "few_bits_sizes": ("y = com.microsoft.MatMulNBits<K=40, N=6, block_size=8>(x, w, s)", dict(inputs={"x": [2, 40]}, constants={"w": small(6, 3, 8), "s": (18,)}), "in blocks of 8"),
    "few_bits_too_many": ("y = com.microsoft.MatMulNBits<K=1000000, N=1000000, block_size=16>(x, w, s)",
                          dict(inputs={"x": [2, 40]}, constants={"w": small(6, 3, 8), "s": (18,)}), "a matrix of shape 1000000x1000000"),
    "few_bits_scales": (*few_bits(4, "", s=(17,)), "scales of shape 17 for 6 rows of 3 blocks"),
    "few_bits_at_run_time": ("y = com.microsoft.MatMulNBits<K=40, N=6, block_size=16>(x, w, s)", dict(inputs={"x": [2, 40], "s": [18]}, constants={"w": small(6, 3, 8)}), "scales computed at run time"),
    "few_bits_blocks": (*few_bits(4, ", , g", g=i32(*[3] * 40)), "one outside of 3"),
    "few_bits_blocks_and_zero_points": (*few_bits(4, ", z, g", z=small(6, 2), g=i32(*[0] * 40)), "zero points beside the columns' blocks"),
    "few_bits_zero_points": (*few_bits(4, ", z", z=small(6, 1)), "zero points of shape 6x1"),
    "few_bits_zero_points_at_run_time": ("y = com.microsoft.MatMulNBits<K=40, N=6, block_size=16>(x, w, s, z)",
                                         dict(inputs={"x": [2, 40], "z": [18]}, constants={"w": small(6, 3, 8), "s": (18,)}), "zero points computed at run time"),
    "softmax_bias": ("y = com.microsoft.BiasSoftmax<axis=2, is_inner_broadcast=1>(x, z)", dict(inputs={"x": [2, 3, 4], "z": [2, 2, 4]}), "a bias of shape 2x2x4"),
    "skip_shape": ("y = com.microsoft.SkipLayerNormalization(x, k, g)", dict(inputs=WORDS, constants={"k": (2, 5, 5, 8), "g": (8,)}), "adds a tensor of shape 2x5x5x8"),
    "skip_scale": ("y = com.microsoft.SkipLayerNormalization(x, x, g)", dict(inputs=WORDS, constants={"g": (1,)}), "a scale or bias of shape 1; expected 8"),
    "embedding_without_table": ("y = com.microsoft.EmbedLayerNormalization(ids)", dict(inputs={"ids": [2, 5]}, types={"ids": I32}), "lacks its input 2"),
    "embedding_positions": ("y = com.microsoft.EmbedLayerNormalization(ids, , w, p, , g, b)", dict(
        IDS, inputs={"ids": [2, 5]}, constants={**IDS["constants"], "p": (4, 8)}), "tables of shape 9x8 and 4x8"),
    "embedding_of_too_many_segments": ("y = com.microsoft.EmbedLayerNormalization(ids, segments, w, p, t, g, b)", dict(
        IDS, inputs={"ids": [2, 5], "segments": [3, 2, 5]}), "adds embeddings of words, positions and segments to one of shape 3x2x5x8"),
    "attention_buffer": (*attention("", ", , , , n", constants={"n": i32(1)}), "a past in a buffer of its own length"),
    "attention_heads": ("y = com.microsoft.Attention<num_heads=3>(x, w, b)", HEADS, "has inputs of shape 2x5x8, 8x24, 24 for 3 heads"),
    "attention_rank": ("y = com.microsoft.Attention<num_heads=2>(x, w)", dict(HEADS, inputs={"x": [5, 8]}), "for 2 heads"),
    "attention_mask": (*attention("", ", m", constants={"m": i32(*[1] * 50).reshape(2, 1, 5, 5)}), "a mask of shape 2x1x5x5 for scores of shape 2x2x5x5"),
    "attention_past": (*attention("", ", , h", inputs={**WORDS, "h": [2, 2, 4, 3, 2]}), "2x2x4x3x2 for 2 heads"),
    "attention_addend": (*attention("", ", , , a", inputs={**WORDS, "a": [3, 2, 5, 5]}), "3x2x5x5 for 2 heads"),
    "attention_results": ("y, p = com.microsoft.Attention<num_heads=2, qkv_hidden_sizes=[8, 8, 12]>(x, w)",
                          dict(inputs=WORDS, constants={"w": (8, 28)}, outputs=("y", "p")), "keys and values of different sizes as one result"),
    "quantized_attention_bias": (*quantized_attention("", ", , z, wz", constants={"b": (8,)}), "8x24, 8, scalar, 1, scalar, 1 for 2 heads"),
    "quantized_attention_past": (*quantized_attention("", ", , z, wz, h", inputs={**WORDS, "h": [2, 2, 4, 3, 2]}), "2x2x4x3x2 for 2 heads"),
    "quantized_embedding_scale": (*quantized_embedding(ps=np.float32(0)), "has the scale 0"),
    "multi_head_packed": ("y = com.microsoft.MultiHeadAttention<num_heads=2>(x)", dict(inputs={"x": [2, 5, 2, 2, 4]}), "has inputs of shape 2x5x2x2x4 for 2 heads"),
    "multi_head_buffer": ("y = com.microsoft.MultiHeadAttention<num_heads=4>(q, k, v, , , , , , n)", dict(inputs=PARTS, constants={"n": i32(1)}), "a past in a buffer"),
    "multi_head_heads": ("y = com.microsoft.MultiHeadAttention<num_heads=3>(q, k, v)", dict(inputs=PARTS), "for 3 heads"),
    "multi_head_bias": ("y = com.microsoft.MultiHeadAttention<num_heads=4>(q, k, v, b)", dict(inputs=PARTS, constants={"b": (24,)}), "24 for 4 heads"),
    "multi_head_past": ("y = com.microsoft.MultiHeadAttention<num_heads=4>(q, k, v, , , , h)", dict(inputs={**PARTS, "h": [2, 4, 3, 2]}), "2x4x3x2 for 4 heads"),
    "multi_head_past_shape": ("y = com.microsoft.MultiHeadAttention<num_heads=4>(q, k, v, , , , h, h)", dict(inputs={**PARTS, "h": [2, 4, 3, 2]}), "2x4x3x2 for 4 heads"),
    "rotary_scale": ("y = com.microsoft.RotaryEmbedding<scale=2.0>(x, i, c, s)", dict(inputs={"x": [2, 3, 16]}, constants={**ANGLES, "i": i32(5)}), "a scale"),
    "rotary_angles": ("y = com.microsoft.RotaryEmbedding(x, i, c, s)", dict(inputs={"x": [2, 3, 16]}, constants={"c": (4,), "s": (4,), "i": i32(5)}), "has inputs of shape 2x3x16 and 4"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusal(tmp_path, name):
    nodes, arguments, reason = REFUSED[name]
    expect_error(tmp_path, make(nodes, **arguments), reason)


def optimize_in_session(path, result):
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath, options.log_severity_level = str(result), 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def quantize_optimized(path, result):
    from onnxruntime.quantization import quantize_dynamic

    optimize_transformer(path, result)
    quantize_dynamic(result, result, extra_options={"DefaultTensorType": TensorProto.FLOAT})


def optimize_transformer(path, result):
    pytest.importorskip("sympy", reason="onnxruntime's transformer optimizer needs sympy")
    from onnxruntime.transformers import optimizer

    optimizer.optimize_model(str(path), "bert", num_heads=4, hidden_size=32, opt_level=0).save_model_to_file(str(result))


@pytest.mark.parametrize("optimize, written", [(optimize_in_session, {"FusedMatMul", "Gelu", "SkipLayerNormalization"}),
                                               (optimize_transformer, {"Attention", "BiasGelu", "SkipLayerNormalization"}),
                                               (quantize_optimized, {"QAttention", "BiasGelu", "SkipLayerNormalization"})])
def test_optimized_encoder(compiler, tmp_path, optimize, written):
    import octet

    path, optimized = tmp_path / "encoder.onnx", tmp_path / "optimized.onnx"
    onnx.save(Encoder().model, path)
    optimize(path, optimized)
    assert written <= {node.op_type for node in onnx.load(optimized).graph.node if node.domain == "com.microsoft"}
    random = np.random.default_rng(0)
    feeds = {"ids": random.integers(0, 50, (2, 6)), "segments": random.integers(0, 2, (2, 6)), "mask": np.array([[1] * 6, [1] * 4 + [0] * 2])}
    expected = open_onnxruntime(onnx.load(optimized)).run(None, feeds)[0]
    assert np.abs(octet.compile(optimized).run(feeds)["y"] - expected).max() <= 1e-5 * np.abs(expected).max()
