# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every imported operator means what ONNX says: imported, written back as ONNX by the export and run by onnxruntime, it
gives what onnxruntime gives for the original file. And what operators are called."""

import os
import pathlib
import re
import subprocess

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from onnx_networks import make_network  # noqa: E402

BIN = pathlib.Path(os.environ.get("OCTET_BIN", pathlib.Path(__file__).parents[2] / "build" / "bin"))


def run(model: bytes, feeds):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(None, feeds)


def translate(flag, data: bytes, *more):
    result = subprocess.run([BIN / "octet-translate", flag, "-", *more], input=data, capture_output=True)
    assert result.returncode == 0, result.stderr.decode()
    return result.stdout


def i64(*values):
    return np.array(values, np.int64)


def f32(*values):
    return np.array(values, np.float32)


W = {"w": (4, 3, 3, 3)}
BN = {"s": (3,), "b": (3,), "m": (3,), "v": np.array([0.5, 1, 2], np.float32)}
LINE = {"x": [2, 3, 11]}
ROWS = {"x": [4, 6]}
VOLUME = {"x": [2, 6, 5, 7, 6]}

# name: (nodes, arguments of make_network)
CASES = {
    "conv": ("y = Conv<pads=[1,1,1,1]>(x, w, b)", dict(constants={**W, "b": (4,)})),
    "conv_asymmetric": ("y = Conv<pads=[0,1,2,0], strides=[2,1], dilations=[1,2]>(x, w)", dict(constants=W)),
    "conv_taps_in_padding": ("y = Conv<pads=[9,7,9,14], dilations=[9,7]>(x, w)", dict(inputs={"x": [1, 3, 6, 7]}, constants=W)),
    "conv_taps_in_gaps": ("y = Conv<pads=[2,1,1,3], strides=[4,3], dilations=[3,2]>(x, w)",
                          dict(inputs={"x": [2, 3, 1, 2]}, constants={"w": (4, 3, 2, 3)})),
    "conv_same_upper": ('y = Conv<auto_pad="SAME_UPPER", strides=[2,3]>(x, w)', dict(constants={"w": (4, 3, 2, 4)})),
    "conv_same_lower": ('y = Conv<auto_pad="SAME_LOWER", strides=[2,3]>(x, w)', dict(constants={"w": (4, 3, 2, 4)})),
    "conv_valid": ('y = Conv<auto_pad="VALID">(x, w)', dict(constants=W)),
    "conv_depthwise": ("y = Conv<group=3>(x, w)", dict(constants={"w": (6, 1, 3, 3)})),
    "conv_1d": ("y = Conv<pads=[2,1], strides=[2]>(x, w)", dict(inputs=LINE, constants={"w": (4, 3, 3)})),
    "conv_bias_of_two_dimensions": ("f = Reshape(b, n)\ny = Conv(x, w, f)", dict(constants={**W, "b": (1, 4), "n": i64(-1)})),
    "conv_of_a_computed_filter": ("k = Cos(w)\nl = Tan(k)\nm = Pow(l, n)\nf = Max(m, k, w)\ny = Conv<strides=[64,64]>(x, f)", dict(inputs={"x": [1, 1, 160, 160]}, constants={"w": (8, 1, 96, 96), "n": i64(2)})),
    "conv_plus_vector": ("c = Conv(x, w)\ny = Add(b, c)", dict(opset=8, constants={**W, "b": (4, 1, 1)})),
    "conv_transpose": ("y = ConvTranspose(x, w, b)", dict(constants={"w": (3, 4, 3, 3), "b": (4,)})),
    "conv_transpose_strides": ("y = ConvTranspose<strides=[2,3], pads=[1,0,2,1], output_padding=[1,2]>(x, w)", dict(constants={"w": (3, 4, 3, 5)})),
    "conv_transpose_two_by_two": ("y = ConvTranspose<strides=[2,2]>(x, w, b)", dict(constants={"w": (3, 5, 2, 2), "b": (5,)})),
    "conv_transpose_gaps": ("y = ConvTranspose<strides=[4,3]>(x, w, b)", dict(constants={"w": (3, 2, 2, 1), "b": (2,)})),
    "conv_transpose_dilations": ("y = ConvTranspose<strides=[2,1], dilations=[3,2], pads=[4,1,5,2]>(x, w)", dict(constants={"w": (3, 4, 3, 3)})),
    "conv_transpose_groups": ("y = ConvTranspose<group=3, strides=[2,2], pads=[1,1,1,1]>(x, w)", dict(constants={"w": (3, 2, 4, 4)})),
    "conv_transpose_depthwise": ("y = ConvTranspose<group=3, strides=[2,2], pads=[1,1,1,1]>(x, w)", dict(constants={"w": (3, 1, 4, 4)})),
    "conv_transpose_large_pads": ("y = ConvTranspose<pads=[3,4,4,3]>(x, w)", dict(constants={"w": (3, 4, 2, 3)})),
    "conv_transpose_output_shape": ("y = ConvTranspose<strides=[3,3], output_shape=[24,25]>(x, w)", dict(constants={"w": (3, 4, 3, 4)})),
    "conv_transpose_same_upper": ('y = ConvTranspose<auto_pad="SAME_UPPER", strides=[2,2]>(x, w)', dict(constants={"w": (3, 4, 3, 3)})),
    "conv_transpose_same_lower": ('y = ConvTranspose<auto_pad="SAME_LOWER", strides=[2,2]>(x, w)', dict(constants={"w": (3, 4, 3, 3)})),
    "conv_transpose_1d": ("y = ConvTranspose<strides=[4], pads=[2,1]>(x, w, b)", dict(inputs=LINE, constants={"w": (3, 4, 8), "b": (4,)})),
    "conv_branches": ("a = Conv<pads=[1,1,1,1], strides=[2,1]>(x, w, b)\nc = Conv<strides=[2,1]>(x, v)\nd = Conv<pads=[0,1,0,1], strides=[2,1]>(x, u, b)\ne = Add(a, c)\ny = Add(d, e)",
                      dict(constants={**W, "b": (4,), "v": (4, 3, 1, 1), "u": (4, 3, 1, 3)})),
    "conv_branches_depthwise": ("a = Conv<group=3, pads=[2,2,2,2], dilations=[2,2]>(x, w, b)\nc = Conv<group=3>(x, v)\ny = Add(c, a)",
                                dict(constants={"w": (6, 1, 3, 3), "b": (6,), "v": (6, 1, 1, 1)})),
    "conv_behind_pad": ("p = Pad(x, n)\ny = Conv<pads=[1,0,0,0]>(p, w)", dict(constants={**W, "n": i64(0, 0, 1, 0, 0, 0, 2, 3)})),
    "batch_norm": ("y = BatchNormalization<epsilon=0.01>(x, s, b, m, v)", dict(constants=BN)),
    "batch_norm_opset_7": ("y = BatchNormalization(x, s, b, m, v)", dict(opset=7, constants=BN)),
    "gemm": ("y = Gemm<transB=1>(x, w, b)", dict(inputs=ROWS, constants={"w": (5, 6), "b": (5,)})),
    "gemm_scaled": ("y = Gemm<alpha=0.5, beta=2.0>(x, w, b)", dict(inputs=ROWS, constants={"w": (6, 5), "b": (1, 5)})),
    "gemm_scalar_bias": ("y = Gemm(x, w, b)", dict(inputs=ROWS, constants={"w": (6, 5), "b": ()})),
    "gemm_column_bias": ("y = Gemm<beta=3.0>(x, w, b)", dict(inputs=ROWS, constants={"w": (6, 5), "b": (4, 1)})),
    "gemm_transposed": ("y = Gemm<transA=1>(x, w)", dict(inputs=ROWS, constants={"w": (4, 5)})),
    "gemm_of_values": ("y = Gemm<alpha=0.5, transB=1>(x, z, z)", dict(inputs={"x": [4, 4], "z": [4, 4]})),
    "matmul_constant": ("y = MatMul(x, w)", dict(inputs={"x": [2, 4, 6]}, constants={"w": (6, 5)})),
    "matmul_bias": ("m = MatMul(x, w)\ny = Add(m, b)", dict(inputs=ROWS, constants={"w": (6, 5), "b": (5,)})),
    "matmul_batched": ("y = MatMul(x, w)", dict(inputs={"x": [2, 4, 6]}, constants={"w": (2, 6, 5)})),
    "matmul_left_constant": ("y = MatMul(w, x)", dict(inputs=ROWS, constants={"w": (3, 4)})),
    "matmul_vectors": ("a = MatMul(x, v)\ny = MatMul(u, x)", dict(inputs=ROWS, constants={"v": (6,), "u": (4,)}, outputs=("a", "y"))),
    "conv_3d": ("y = Conv<pads=[1,0,2,2,1,0], strides=[2,1,2], dilations=[1,2,1]>(x, w, b)", dict(inputs=VOLUME, constants={"w": (4, 6, 3, 2, 3), "b": (4,)})),
    "conv_3d_groups": ("y = Conv<group=3>(x, w)", dict(inputs=VOLUME, constants={"w": (6, 2, 2, 3, 3)})),
    "conv_3d_same": ('y = Conv<auto_pad="SAME_LOWER", strides=[2,2,2]>(x, w)', dict(inputs=VOLUME, constants={"w": (4, 6, 3, 3, 3)})),
    "conv_3d_of_slices": ("y = Conv<pads=[0,1,1,0,1,1]>(x, w)", dict(inputs=VOLUME, constants={"w": (4, 6, 1, 3, 3)})),
    "conv_3d_of_depth": ("y = Conv<pads=[1,0,0,1,0,0], strides=[2,1,1], group=6>(x, w, b)", dict(inputs=VOLUME, constants={"w": (6, 1, 3, 1, 1), "b": (6,)})),
    "conv_3d_batch_norm": ("c = Conv(x, w)\nn = BatchNormalization<epsilon=0.01>(c, s, b, m, v)\ny = Relu(n)", dict(inputs=VOLUME, constants={**BN, "w": (3, 6, 2, 2, 2)})),
    "conv_transpose_3d": ("y = ConvTranspose<strides=[2,1,3], pads=[1,0,1,0,1,2], output_padding=[1,0,2]>(x, w, b)",
                          dict(inputs=VOLUME, constants={"w": (6, 4, 3, 2, 4), "b": (4,)})),
    "conv_transpose_3d_groups": ("y = ConvTranspose<strides=[2,2,2], group=2, dilations=[2,1,1]>(x, w)", dict(inputs=VOLUME, constants={"w": (6, 2, 2, 2, 3)})),
    "pools_3d": ("y = MaxPool<kernel_shape=[2,3,2], strides=[2,1,2], pads=[1,0,1,0,1,0], dilations=[1,2,1]>(x)\n"
                 "z = AveragePool<kernel_shape=[3,2,2], pads=[1,0,1,1,1,0]>(x)\nv = AveragePool<kernel_shape=[3,2,2], pads=[1,0,1,1,1,0], count_include_pad=1>(x)\n"
                 "u = MaxPool<kernel_shape=[2,2,2], strides=[2,2,2], ceil_mode=1>(x)\nt = LpPool<kernel_shape=[2,3,2], pads=[0,1,1,1,0,0]>(x)",
                 dict(opset=12, inputs=VOLUME, outputs=tuple("yzvut"))),
    "average_pool_3d_ceil": ("y = AveragePool<kernel_shape=[3,2,2], strides=[2,2,2], pads=[1,0,1,1,0,1], ceil_mode=1, count_include_pad=1>(x)\n"
                             "z = AveragePool<kernel_shape=[2,2,2], dilations=[2,1,2]>(x)", dict(opset=19, inputs=VOLUME, outputs=("y", "z"))),
    "global_pools_3d": ("y = GlobalAveragePool(x)\nz = GlobalMaxPool(x)\nv = GlobalLpPool(x)", dict(inputs=VOLUME, outputs=tuple("yzv"))),
    "max_pool": ("y = MaxPool<kernel_shape=[3,2], strides=[2,1], pads=[1,0,1,1]>(x)", {}),
    "max_pool_dilated": ("y = MaxPool<kernel_shape=[2,2], dilations=[2,3]>(x)", {}),
    "max_pool_ceil": ("y = MaxPool<kernel_shape=[3,3], strides=[2,2], ceil_mode=1>(x)", {}),
    "max_pool_ceil_drops_empty_window": ("y = MaxPool<kernel_shape=[1,1], strides=[3,3], ceil_mode=1>(x)", dict(inputs={"x": [1, 2, 5, 5]})),
    "max_pool_same_1d": ('y = MaxPool<kernel_shape=[2], auto_pad="SAME_UPPER", strides=[2]>(x)', dict(inputs=LINE)),
    "average_pool": ("y = AveragePool<kernel_shape=[3,3], pads=[1,1,1,1]>(x)", {}),
    "average_pool_with_pads": ("y = AveragePool<kernel_shape=[3,3], pads=[1,1,1,1], count_include_pad=1>(x)", {}),
    "average_pool_ceil": ("y = AveragePool<kernel_shape=[3,3], strides=[2,2], ceil_mode=1>(x)", {}),
    "average_pool_ceil_with_pads": ("y = AveragePool<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1], ceil_mode=1, count_include_pad=1>(x)", dict(opset=19)),
    "average_pool_ceil_window_larger_than_input": ("y = AveragePool<kernel_shape=[3,3], strides=[2,2], ceil_mode=1>(x)", dict(inputs={"x": [1, 2, 2, 5]})),
    "average_pool_1d": ("y = AveragePool<kernel_shape=[4], strides=[3]>(x)", dict(inputs=LINE)),
    "global_average_pool": ("y = GlobalAveragePool(x)", {}),
    "global_average_pool_1d": ("y = GlobalAveragePool(x)", dict(inputs=LINE)),
    "global_max_pool": ("y = GlobalMaxPool(x)", {}),
    "reduce_mean": ("y = ReduceMean<axes=[-1,2], keepdims=0>(x)", {}),
    "reduce_mean_axes_input": ("y = ReduceMean(x, a)", dict(opset=18, constants={"a": i64(1)})),
    "reduce_mean_all": ("y = ReduceMean(x)", {}),
    "reductions_of_constants": ("a = ReduceMax<axes=[1]>(p)\nb = ReduceMin<axes=[0], keepdims=0>(p)\nc = ReduceProd(p)\nd = ReduceL1<axes=[-1]>(p)\n"
                                "e = ReduceLogSumExp<axes=[0,1]>(p)\nf = ReduceLogSum<axes=[1]>(q)\ny = Sum(x, a, b, c, d, e, f)",
                                dict(constants={"p": (8, 8), "q": np.arange(1, 65, dtype=np.float32).reshape(8, 8)})),
    "sums": ("a = Sum(x)\nb = Sum(a, p)\ny = Sum(b, x, q, a)", dict(constants={"p": (3, 1, 1), "q": f32(3)})),
    "arithmetic": ("a = Add(x, p)\nb = Sub(p, a)\nc = Mul(b, x)\ny = Div(c, q)", dict(constants={"p": (3, 1, 1), "q": f32(3)})),
    "activations": ("a = Sigmoid(x)\nb = Tanh(a)\nc = Exp(b)\nd = Sqrt(c)\ne = Neg(d)\nf = Elu<alpha=0.7>(e)\ny = Relu(f)\nz = LeakyRelu<alpha=0.2>(e)", dict(outputs=("y", "z", "f"))),
    "powers": ("a = Pow(x, two)\nb = Pow(x, three)\ng = Pow(x, n)\nc = Pow(a, half)\nd = Reciprocal(x)\ne = Reciprocal(three)\nf = Mul(x, e)",
               dict(constants={"two": np.float32(2), "three": f32(3), "half": np.float32(0.5), "n": i64(2)}, outputs=("b", "c", "d", "f", "g"))),
    "hard_activations": ("a = HardSigmoid(x)\nb = HardSigmoid<alpha=0.3, beta=0.4>(x)\nc = HardSwish(x)", dict(opset=14, outputs=("a", "b", "c"))),
    "erf": ("a = Erf(x)\nb = Mul(x, c)\ny = Erf(b)", dict(constants={"c": f32(4)}, outputs=("a", "y"))),
    "softplus": ("a = Softplus(x)\nb = Mul(x, c)\ny = Softplus(b)", dict(constants={"c": f32(20)}, outputs=("a", "y"))),
    "gelu": ("a = Gelu(x)\nb = Mul(x, c)\ny = Gelu<approximate=\"tanh\">(b)", dict(opset=20, constants={"c": f32(3)}, outputs=("a", "y"))),
    "functions": ("a = Abs(x)\nb = Sign(x)\nc = Round(x)\nd = Floor(x)\ne = Ceil(x)\nf = Log(a)\ng = Sin(x)\nh = Cos(x)\ni = Atan(x)",
                  dict(outputs=tuple("abcdefghi"))),
    "circular_and_hyperbolic": ("t = Tanh(x)\na = Tan(t)\nb = Asin(t)\nc = Acos(t)\nd = Sinh(x)\ne = Cosh(x)\nf = Asinh(x)\nr = Abs(x)\np = Add(r, one)\ng = Acosh(p)\nh = Atanh(t)",
                                dict(constants={"one": f32(1)}, outputs=tuple("abcdefgh"))),
    "activations_composed": (
        "a = Selu(x)\nb = Celu<alpha=0.7>(x)\nc = Softsign(x)\nd = Mish(x)\ne = Shrink<lambd=0.4, bias=0.3>(x)\nf = ThresholdedRelu<alpha=0.3>(x)\n"
        "g = Shrink(x)\nh = Celu(x)\ni = Selu<alpha=2.0, gamma=0.5>(x)", dict(opset=18, outputs=tuple("abcdefghi"))),
    "powers_of_any_exponent": (
        "p = Abs(x)\na = Pow(p, broken)\nb = Pow(x, five)\nc = Pow(p, negative)\nd = Pow(p, each)\ne = Pow(p, x)\nf = Pow(x, whole)",
        dict(constants={"broken": f32(1.7), "five": np.float32(5), "negative": f32(-2), "each": f32(1, 2, 0.5, 0, 1, 3, 2.5, 0.1), "whole": i64(3)},
             outputs=tuple("abcdef"))),
    "extremes_of_many": ("a = Max(x, p, q)\nb = Min(q, x)\nc = Mean(x, p, a)\nd = Max(x)", dict(constants={"p": (3, 1, 1), "q": f32(0.3)}, outputs=tuple("abcd"))),
    "clip_to_values": ("l = ReduceMin<keepdims=0>(x)\nk = Mul(l, half)\na = Clip(x, k)\nb = Clip(x, k, half)\nc = Clip(x, , z)",
                       dict(inputs={"x": [1, 3, 8, 8], "z": []}, constants={"half": np.float32(0.5)}, outputs=tuple("bc"))),
    "prelu_per_channel": ("y = PRelu(x, s)", dict(constants={"s": (3, 1, 1)})),
    "prelu_of_values": ("y = PRelu(x, s)", dict(inputs={"x": [1, 3, 8, 8], "s": [8]})),
    "reduce_over_axes": ("a = ReduceSum(x, n)\nb = ReduceSum<keepdims=0>(x, n)\nc = ReduceSum(x)\nd = ReduceSum<noop_with_empty_axes=1>(x)",
                         dict(constants={"n": i64(1, -1)}, inputs={"x": [2, 3, 5, 7]}, outputs=tuple("abcd"))),
    **{f"reduce_{name}_{case}": (f"y = Reduce{name}<axes={axes}, keepdims={keep}>(x)", dict(inputs={"x": [2, 3, 5, 7]}))
       for name in ("Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSumExp")
       for case, axes, keep in (("inner", [3], 1), ("outer", [0, 1], 0), ("middle", [-2], 0), ("apart", [1, 3], 1), ("all", [0, 1, 2, 3], 0))},
    "normalized_weights": ("n = ReduceL2<axes=[1,2,3]>(v)\nr = Div(g, n)\nw = Mul(v, r)\nc = Conv(x, w)\nm = ReduceMean<axes=[2,3]>(v)\nk = Conv(x, m)\n"
                           "q = ReduceSumSquare<axes=[0]>(v)\nt = ReduceSum(v, i)\nd = Conv(x, t)\nu = Conv(x, q)",
                           dict(opset=13, constants={"v": (4, 3, 3, 3), "g": (4, 1, 1, 1), "i": i64(0)}, outputs=("c", "d", "k", "u"))),
    "reduce_log_sum": ("a = Abs(x)\ny = ReduceLogSum<axes=[1]>(a)", {}),
    "reduce_sizes": ("s = Shape(x)\np = ReduceProd<axes=[0]>(s)\nq = ReduceMax<axes=[0]>(s)\nt = ReduceSum(s)\nu = ReduceMin(s)\nr = Div(p, q)\n"
                     "v = Mul(r, u)\nw = Add(v, t)\nk = Sub(w, t)\nn = Concat<axis=0>(minus, q)\nz = Mul(k, k)\ny = Reshape(x, n)",
                     dict(inputs={"x": [1, 3, 8, 5]}, constants={"minus": i64(-1)})),
    "largest_size": ("s = Shape(x)\nm = Max(s, three)\nn = Min(m, six)\ny = Expand(x, n)", dict(inputs={"x": [1, 3, 1, 6]}, constants={"three": i64(2), "six": i64(6)})),
    "layer_normalization": ("y = LayerNormalization(x, s, b)\nz = LayerNormalization<axis=1, epsilon=0.1>(x, t)",
                            dict(opset=17, constants={"s": (8,), "b": (8,), "t": (3, 8, 8)}, outputs=("y", "z"))),
    "layer_normalization_statistics": ("y, m, d = LayerNormalization<axis=2>(x, s)", dict(opset=17, constants={"s": (8, 8)}, outputs=("y", "m", "d"))),
    "group_normalization": ("y = GroupNormalization<num_groups=2>(x, s, b)", dict(opset=21, inputs={"x": [2, 6, 4, 3]}, constants={"s": (6,), "b": (6,)})),
    "instance_normalization": ("y = InstanceNormalization<epsilon=0.01>(x, s, b)\nz = InstanceNormalization(l, s, b)",
                               dict(inputs={"x": [1, 3, 8, 8], "l": [2, 3, 9]}, constants={"s": (3,), "b": (3,)}, outputs=("y", "z"))),
    "mean_variance_normalization": ("y = MeanVarianceNormalization(x)\nz = MeanVarianceNormalization<axes=[1,2]>(x)", dict(outputs=("y", "z"))),
    "lp_normalization": ("y = LpNormalization(x)\nz = LpNormalization<p=1, axis=1>(x)", dict(outputs=("y", "z"))),
    "lrn": ("y = LRN<size=3>(x)\nz = LRN<size=5, alpha=0.5, beta=0.6, bias=2.0>(x)", dict(inputs={"x": [2, 7, 3, 4]}, outputs=("y", "z"))),
    "lp_pool": ("y = LpPool<kernel_shape=[3,2], pads=[1,0,1,1], strides=[2,1]>(x)\nz = LpPool<kernel_shape=[2,2], p=3>(x)", dict(outputs=("y", "z"))),
    "global_lp_pool": ("y = GlobalLpPool(x)\nz = GlobalLpPool<p=1>(x)", dict(outputs=("y", "z"))),
    "log_softmax": ("y = LogSoftmax<axis=1>(x)\nz = LogSoftmax(x)", dict(outputs=("y", "z"))),
    "log_softmax_old_flattens": ("y = LogSoftmax(x)", dict(opset=11)),
    "hardmax": ("y = Hardmax<axis=1>(x)\nz = Hardmax(x)", dict(outputs=("y", "z"))),
    "hardmax_old_flattens": ("y = Hardmax<axis=2>(x)", dict(opset=11)),
    "mod_of_floats": ("a = Mod<fmod=1>(x, z)\nb = Mul(x, large)\nc = Mod<fmod=1>(b, z)\nd = Mod<fmod=1>(x, p)", dict(
        inputs={"x": [3, 50], "z": [50]}, constants={"large": f32(1e9), "p": f32(0.3)}, outputs=tuple("acd"))),
    "mod_of_constants": ("k = Mod<fmod=1>(a, b)\ny = Mul(x, k)", dict(constants={"a": f32(7.3, -8.1, 1e6, 3), "b": f32(2.1, 0.7, 0.3, np.inf)}, inputs={"x": [4]})),
    "compress": ("y = Compress<axis=-2>(x, c)\nz = Compress(x, d)", dict(
        constants={"c": np.arange(8) % 3 == 1, "d": np.arange(40) % 7 == 0}, outputs=("y", "z"))),
    "reverse_sequence": ("y = ReverseSequence(x, l)\nz = ReverseSequence<batch_axis=0, time_axis=1>(x, m)", dict(
        inputs={"x": [5, 4, 3]}, constants={"l": i64(1, 5, 2, 4), "m": i64(4, 1, 2, 3, 4)}, outputs=("y", "z"))),
    "max_pool_positions": ("y, i = MaxPool<kernel_shape=[3,2], strides=[2,1], pads=[1,0,1,1], dilations=[1,2]>(x)\nf = Cast<to=1>(i)\nz = Mul(f, x2)", dict(
        inputs={"x": [2, 3, 8, 8]}, constants={"x2": f32(0.5)}, outputs=("y", "z"))),
    "max_unpool": ("p, i = MaxPool<kernel_shape=[2,2], strides=[2,2]>(x)\ny = MaxUnpool<kernel_shape=[2,2], strides=[2,2]>(p, i)", {}),
    "depth_to_space": ('y = DepthToSpace<blocksize=2>(x)\nz = DepthToSpace<blocksize=2, mode="CRD">(x)', dict(inputs={"x": [2, 8, 3, 4]}, outputs=("y", "z"))),
    "space_to_depth": ("y = SpaceToDepth<blocksize=4>(x)", {}),
    "tile": ("y = Tile(x, n)", dict(constants={"n": i64(2, 1, 3, 5)})),
    "tile_a_constant": ("t = Tile(w, n)\nl = Transpose<perm=[1,0]>(t)\ny = MatMul(x, l)\ns = Tile(v, m)\nz = BatchNormalization(x, s, s, s, s)",
                        dict(inputs={"x": [5, 6]}, constants={"w": (2, 3), "n": i64(4, 2), "v": f32(0.5, 1, 2), "m": i64(2)}, outputs=("y", "z"))),
    "expand_a_value": ("y = Expand(x, n)", dict(inputs={"x": [3, 1, 2]}, constants={"n": i64(2, 1, 5, 1)})),
    "cast_like": ("f = CastLike(n, x)\ny = Add(x, f)\nz = CastLike(x, y)", dict(opset=15, constants={"n": i64(3)}, outputs=("y", "z"))),
    "einsum": ('a = Einsum<equation="bij, bjk -> bik">(x, w)\nb = Einsum<equation="bij->bji">(x)\nc = Einsum<equation="bij,bkj">(x, w)\n'
               'd = Einsum<equation="b i j -> i">(x)\ne = Einsum<equation="...ij,...kj->...ik">(x, w)\nf = Einsum<equation="bij,kj,k->bi">(x, m, v)\n'
               'g = Einsum<equation="ii,jkk->ij">(m, x)\nh = Einsum<equation="bij,bij->">(x, w)\ni = Einsum<equation="i,j->ij">(v, v)',
               dict(inputs={"x": [3, 4, 4]}, constants={"w": (3, 4, 4), "m": (4, 4), "v": (4,)}, outputs=tuple("abcdefghi"))),
    "einsum_by_a_constant": ('a = Einsum<equation="bih,hnd->bnid">(x, w)\nb = Einsum<equation="ndh,bih->bni">(r, x)\nc = Einsum<equation="bih,bih->">(x, x)\n'
                             'k = ReduceSum<keepdims=0>(x, n)\nd = Einsum<equation="h,h->">(k, v)',
                             dict(inputs={"x": [2, 3, 4]}, constants={"w": (4, 2, 5), "r": (2, 5, 4), "v": (4,), "n": i64(0, 1)}, outputs=tuple("abcd"))),
    "prelu_one_slope": ("y = PRelu(x, s)", dict(constants={"s": np.full((3, 1, 1), 0.3, np.float32)})),
    "clip_attributes": ("y = Clip<min=-0.5, max=0.75>(x)", dict(opset=10)),
    "clip_inputs": ("y = Clip(x, l, h)", dict(constants={"l": np.float32(-0.5), "h": np.float32(0.75)})),
    "clip_below": ("y = Clip(x, l)", dict(constants={"l": np.float32(0)})),
    "clip_above": ("y = Clip(x, , h)", dict(constants={"h": np.float32(0.25)})),
    "softmax": ("y = Softmax<axis=1>(x)", {}),
    "softmax_old_flattens": ("y = Softmax<axis=1>(x)", dict(opset=11)),
    "softmax_old_default": ("y = Softmax(x)", dict(opset=11, inputs=ROWS)),
    "reshape_copies_and_infers": ("y = Reshape(x, n)", dict(constants={"n": i64(0, -1, 4)})),
    "flatten": ("y = Flatten<axis=2>(x)", {}),
    "flatten_negative": ("y = Flatten<axis=-1>(x)", {}),
    "squeeze_and_unsqueeze_old": ("a = Unsqueeze<axes=[0,2]>(x)\ny = Squeeze<axes=[2]>(a)", dict(opset=11)),
    "squeeze_and_unsqueeze": ("a = Unsqueeze(x, n)\ny = Squeeze(a)", dict(constants={"n": i64(-1, 1)})),
    "transpose": ("y = Transpose<perm=[0,2,3,1]>(x)\nz = Transpose(x)", dict(outputs=("y", "z"))),
    "concat": ("y = Concat<axis=-3>(x, w, x)", dict(constants={"w": (1, 2, 8, 8)})),
    "slice_old": ("y = Slice<starts=[1,-3], ends=[9223372036854775807,-1], axes=[1,3]>(x)", dict(opset=9)),
    "slice": ("y = Slice(x, s, e, a, t)", dict(constants={"s": i64(-1, 1), "e": i64(-100, 7), "a": i64(3, 2), "t": i64(-2, 3)})),
    "slice_clamped": ("y = Slice(x, s, e, a)", dict(constants={"s": i64(-100), "e": i64(100), "a": i64(2)})),
    "split_equal": ("a, b = Split<axis=2>(x)", dict(outputs=("a", "b"))),
    "split_attribute": ("a, b = Split<axis=1, split=[1,2]>(x)", dict(opset=11, outputs=("a", "b"))),
    "split_input": ("a, b = Split<axis=-1>(x, n)", dict(constants={"n": i64(3, 5)}, outputs=("a", "b"))),
    "split_uneven": ("a, b, c = Split<axis=2, num_outputs=3>(x)", dict(opset=18, outputs=("a", "b", "c"))),
    "pad_old": ("y = Pad<pads=[0,0,1,2,0,1,0,0], value=0.5>(x)", dict(opset=10)),
    "pad": ("y = Pad(x, n, v)", dict(constants={"n": i64(0, 1, 0, 2, 0, 0, 3, 0), "v": np.float32(-1)})),
    **{f"pad_{mode}": (f'y = Pad<mode="{mode}">(x, n)', dict(opset=19, constants={"n": i64(0, 1, 3, 0, 0, 2, 1, 7)})) for mode in ("reflect", "edge", "wrap")},
    "pad_reflect_old": ('y = Pad<mode="reflect", pads=[0,0,3,1,0,0,2,7]>(x)', dict(opset=10)),
    "pad_axes": ("y = Pad(x, n, , a)", dict(opset=18, constants={"n": i64(1, 2), "a": i64(-2)})),
    "pad_negative": ("y = Pad(x, n)", dict(constants={"n": i64(0, 0, -1, 2, 0, 0, 1, -3)})),
    "resize_nearest_floor": ('y = Resize<mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor">(x, , s)', dict(constants={"s": f32(1, 1, 2, 3)})),
    "resize_defaults": ("y = Resize(x, , s)", dict(constants={"s": f32(1, 1, 1.5, 2.5)})),
    "resize_linear_sizes": ('y = Resize<mode="linear">(x, , , n)', dict(constants={"n": i64(1, 3, 13, 5)})),
    "resize_align_corners": ('y = Resize<mode="linear", coordinate_transformation_mode="align_corners">(x, , s)', dict(constants={"s": f32(1, 1, 2, 2)})),
    "resize_pytorch": ('y = Resize<mode="linear", coordinate_transformation_mode="pytorch_half_pixel">(x, , s)', dict(constants={"s": f32(1, 1, 0.5, 2)})),
    "resize_nearest_ceil": ('y = Resize<nearest_mode="ceil">(x, , s)', dict(constants={"s": f32(1, 1, 2, 2)})),
    "resize_opset_10": ('y = Resize<mode="nearest">(x, s)', dict(opset=10, constants={"s": f32(1, 1, 2, 2)})),
    "upsample_attribute": ('y = Upsample<mode="nearest", scales=[1.0,1.0,2.0,3.0]>(x)', dict(opset=7)),
    "resize_to_same_size": ('y = Resize<mode="linear", coordinate_transformation_mode="asymmetric">(x, , s)', dict(constants={"s": f32(1, 1, 1.1, 1.05)})),
    "upsample_input": ('y = Upsample<mode="linear">(x, s)', dict(opset=9, constants={"s": f32(1, 1, 2, 2)})),
    "identity_and_dropout": ("a = Identity(x)\nb = Dropout(a)\ny = Relu(b)", {}),
    "gather_even": ("y = Gather<axis=1>(x, i)", dict(constants={"i": np.array([[1, 3], [5, -1]])}, inputs={"x": [2, 8, 3]})),
    "gather_all": ("y = Gather(x, i)", dict(constants={"i": np.arange(4).reshape(1, 2, 2)}, inputs={"x": [4, 3]})),
    "gather_one": ("y = Gather<axis=1>(x, i)", dict(constants={"i": np.int64(-1)})),
    "attention": ("p = Abs(x)\ny, k, v, w = Attention<softcap=2.0, qk_matmul_output_mode=2>(x, p, x, m, g, h)", dict(
        opset=23, inputs={"x": [2, 3, 5, 8]}, constants={"g": (2, 3, 4, 8), "h": (2, 3, 4, 8), "m": (3, 5, 9)}, outputs=("y", "k", "v", "w"))),
    "attention_of_shared_heads": ("k = ReduceMax<keepdims=1>(x, a)\nm = Mul(l, s)\ny = Attention<is_causal=1, scale=0.3>(x, k, k, m)", dict(
        opset=23, inputs={"x": [2, 3, 5, 8], "l": [5, 5]}, constants={"a": i64(1), "s": f32(2)})),
    "attention_of_rows": ("y = Attention<q_num_heads=4, kv_num_heads=2>(x, k, k, b)", dict(
        opset=23, inputs={"x": [2, 5, 32]}, constants={"k": (2, 7, 16), "b": np.arange(35).reshape(5, 7) % 3 > 0})),
    "rotary_embedding": ("y = RotaryEmbedding(x, c, s, i)\nz = RotaryEmbedding<rotary_embedding_dim=4, interleaved=1, num_heads=2>(t, d, e)", dict(
        opset=23, inputs={"x": [2, 3, 5, 8], "t": [2, 5, 12]}, outputs=("y", "z"),
        constants={"c": (9, 4), "s": (9, 4), "i": i64(*range(5), *range(8, 3, -1)).reshape(2, 5), "d": (2, 5, 2), "e": (2, 5, 2)})),
    "lstm": ("y, h, c = LSTM<hidden_size=5, direction=\"bidirectional\">(x, w, r, b, , i, j)", dict(
        inputs={"x": [6, 2, 4], "i": [2, 2, 5], "j": [2, 2, 5]}, constants={"w": (2, 20, 4), "r": (2, 20, 5), "b": (2, 40)}, outputs=("y", "h", "c"))),
    "lstm_with_everything": (
        'y, h, c = LSTM<hidden_size=5, direction="reverse", clip=0.6, activations=["HardSigmoid", "LeakyRelu", "ScaledTanh"], '
        "activation_alpha=[0.3, 0.1, 1.5], activation_beta=[0.4, 0.7], input_forget=1>(x, w, r, b, l, i, j, p)",
        dict(inputs={"x": [6, 2, 4]}, outputs=("y", "h", "c"),
             constants={"w": (1, 20, 4), "r": (1, 20, 5), "b": (1, 40), "l": np.array([3, 6], np.int32), "i": (1, 2, 5), "j": (1, 2, 5), "p": (1, 15)})),
    "rnn_of_many_steps": ("y = RNN<hidden_size=4>(x, w, r)", dict(inputs={"x": [1500, 1, 3]}, constants={"w": (1, 4, 3), "r": (1, 4, 4)})),
    "lstm_last_state": ('"", h = LSTM<hidden_size=5>(x, w, r)\ny = Squeeze(h, a)', dict(
        inputs={"x": [6, 1, 4]}, constants={"w": (1, 20, 4), "r": (1, 20, 5), "a": i64(0)})),
    "gru": ("y, h = GRU<hidden_size=5>(x, w, r, b)\nz, k = GRU<hidden_size=5, direction=\"bidirectional\", linear_before_reset=1>(x, v, s, d, l, i)", dict(
        inputs={"x": [6, 2, 4], "i": [2, 2, 5]}, outputs=("y", "h", "z", "k"), constants={
            "w": (1, 15, 4), "r": (1, 15, 5), "b": (1, 30), "v": (2, 15, 4), "s": (2, 15, 5), "d": (2, 30), "l": np.array([6, 2], np.int32)})),
    "rnn": ('y, h = RNN<hidden_size=5, activations=["Affine", "Softsign"], direction="bidirectional", activation_alpha=[0.5], activation_beta=[0.1]>(x, w, r, b)', dict(
        inputs={"x": [6, 2, 4]}, outputs=("y", "h"), constants={"w": (2, 5, 4), "r": (2, 5, 5), "b": (2, 10)})),
    "gelu_in_small_operators": ("a = Div(x, r)\nb = Erf(a)\nc = Add(b, o)\nd = Mul(x, c)\ny = Mul(d, h)",
                                dict(constants={"r": f32(2**0.5), "o": f32(1), "h": f32(0.5)})),
    "gelu_halved_at_the_gate": ("a = Mul(x, r)\nb = Erf(a)\nc = Add(o, b)\nd = Mul(h, c)\ny = Mul(x, d)",
                                dict(constants={"r": f32(0.5**0.5), "o": f32(1), "h": f32(0.5)})),
    "gelu_of_tanh": ("a = Pow(x, t)\nb = Mul(a, k)\nc = Add(x, b)\nd = Mul(c, s)\ne = Tanh(d)\nf = Add(e, o)\ng = Mul(x, h)\ny = Mul(g, f)", dict(
        constants={"t": f32(3), "k": f32(0.044715), "s": f32((2 / np.pi)**0.5), "o": f32(1), "h": f32(0.5)})),
    "gelu_of_tanh_of_squares": ("a = Mul(x, x)\nb = Mul(a, k)\nc = Add(b, o)\nd = Mul(s, x)\ne = Mul(d, c)\nf = Tanh(e)\ng = Add(f, o)\ni = Mul(h, g)\ny = Mul(i, x)", dict(
        constants={"k": f32(0.044715), "s": f32((2 / np.pi)**0.5), "o": f32(1), "h": f32(0.5)})),
    "silu": ("a = Sigmoid(x)\ny = Mul(x, a)", {}),
    "hard_swish": ("a = Add(x, c)\nb = Clip<min=0.0, max=6.0>(a)\nd = Mul(x, b)\ny = Div(d, e)", dict(opset=10, constants={"c": f32(3), "e": f32(6)})),
    "hard_swish_gate_first": ("a = Add(x, c)\nb = Clip<min=0.0, max=6.0>(a)\nd = Div(b, e)\ny = Mul(d, x)", dict(opset=10, constants={"c": f32(3), "e": f32(6)})),
    "hard_sigmoid": ("a = Add(x, c)\nb = Clip<min=0.0, max=6.0>(a)\ny = Div(b, e)", dict(opset=10, constants={"c": f32(3), "e": f32(6)})),
    "hard_sigmoid_of_product": ("a = Mul(x, c)\nb = Add(a, e)\ny = Clip<min=0.0, max=1.0>(b)", dict(opset=10, constants={"c": f32(0.3), "e": f32(0.4)})),
    "shape_arithmetic": (
        "s = Shape(x)\nh = Gather(s, two)\nk = Div(h, two)\nu = Unsqueeze<axes=[0]>(k)\nm = Slice<starts=[0], ends=[2]>(s)\n"
        "t = Concat<axis=0>(m, u, minus)\ny = Reshape(x, t)",
        dict(opset=9, constants={"two": np.int64(2), "minus": i64(-1)}),
    ),
    "float_shape_arithmetic": (
        "s = Shape(x)\nf = Cast<to=1>(s)\ng = Mul(f, half)\nh = Floor(g)\ni = Cast<to=7>(h)\nc = ConstantOfShape<value=int64[1]{3}>(one)\n"
        "r = Range(zero, four, step)\nj = Slice(i, zero1, two1)\nk = Add(j, r)\nn = Concat<axis=0>(zero1, k, minus)\ny = Reshape(x, n)",
        dict(inputs={"x": [2, 6, 8]}, constants={"half": f32(0.5), "one": i64(1), "zero": np.int64(0), "four": np.int64(4),
                                                 "step": np.int64(2), "zero1": i64(0), "two1": i64(1), "minus": i64(-1)}),
    ),
    "constant_weights_computed": ("a = Transpose<perm=[1,0]>(w)\nb = Neg(a)\nc = Mul(b, w2)\ny = MatMul(x, c)",
                                  dict(inputs=ROWS, constants={"w": (5, 6), "w2": f32(2)})),
    "constant_nodes": ("c = Constant<value_float=2.5>()\nd = Constant<value_ints=[0,-1]>()\na = Mul(x, c)\ny = Reshape(a, d)", {}),
}


@pytest.mark.parametrize("name", CASES)
def test_operator_means_what_onnx_says(name):
    nodes, arguments = CASES[name]
    model = make_network(nodes, **arguments)
    random = np.random.default_rng(1)
    feeds = {i.name: np.array(2 * random.standard_normal([d.dim_value for d in i.type.tensor_type.shape.dim]), np.float32)
             for i in model.graph.input}
    expected = run(model.SerializeToString(), feeds)
    actual = run(translate("--export-onnx", translate("--import-onnx", model.SerializeToString())), feeds)
    for want, have in zip(expected, actual, strict=True):
        assert have.shape == want.shape
        np.testing.assert_allclose(have, want, rtol=1e-5, atol=1e-5)


# Standardized filters: by a batch norm's own statistics, or by statistics computed in front of it.
STANDARDIZED = {
    "own": ("s, m, v = BatchNormalization<training_mode=1, epsilon=1e-3>(f, a, b, a, a)", 15),
    "given": ("m = ReduceMean<keepdims=0>(f, i)\nk = ReduceMean(f, i)\nd = Sub(f, k)\nq = Mul(d, d)\n"
              "v = ReduceMean<keepdims=0>(q, i)\ns = BatchNormalization<epsilon=1e-3>(f, a, b, m, v)", 18),
}


@pytest.mark.parametrize("form", STANDARDIZED)
def test_filters_are_standardized_at_import(form):
    """As constants, which filters have to be; onnxruntime is no reference, whose results of its own statistics change with the
    outputs that are read."""
    nodes, opset = STANDARDIZED[form]
    filters, scale, bias = np.random.default_rng(2).normal(size=(1, 4, 18)).astype(np.float32), f32(1, 2, 0.5, 1), f32(0, 0.5, 0, -1)
    model = make_network(nodes + "\nw = Reshape(s, n)\ny = Conv(x, w)", opset=opset, inputs={"x": [1, 2, 3, 3]},
                         constants={"f": filters, "a": scale, "b": bias, "i": np.array([0, 2]), "n": np.array([4, 2, 3, 3])})
    x = np.random.default_rng(3).normal(size=(1, 2, 3, 3)).astype(np.float32)
    actual = run(translate("--export-onnx", translate("--import-onnx", model.SerializeToString())), {"x": x})[0]
    centred = filters - filters.mean((0, 2), keepdims=True)
    standardized = centred / np.sqrt(filters.var((0, 2), keepdims=True) + 1e-3) * scale[:, None] + bias[:, None]
    expected = standardized.reshape(4, 18) @ x.ravel()
    np.testing.assert_allclose(actual.ravel(), expected, rtol=1e-4, atol=1e-4)


PRODUCTS = "m = MatMul(t, v)\nr = Relu(m)\ng = Gemm<alpha=0.5, beta=2.0, transA=1, transB=1>(r, q, c)\nh = Gemm(g, k)\ny = Mul(x, h)"


def test_products_of_constants_are_computed_at_import(compiler):
    """Bit for bit as at run time: networks that make tables of positions, as Swin v2's, depend on their weights alone."""
    octet, random = pytest.importorskip("octet"), np.random.default_rng(3)
    constants = {name: random.normal(size=shape).astype(np.float32) for name, shape in
                 {"t": (5, 2), "v": (2, 33), "q": (4, 5), "c": (4,), "k": (4, 3)}.items()}
    known = make_network(PRODUCTS, inputs={"x": [1]}, constants=constants)
    given = make_network(PRODUCTS, inputs={"x": [1], "t": [5, 2]}, constants={name: value for name, value in constants.items() if name != "t"})
    (left,) = octet.compile(known.SerializeToString()).run({"x": f32(1)}).values()
    (right,) = octet.compile(given.SerializeToString()).run({"x": f32(1), "t": constants["t"]}).values()
    np.testing.assert_array_equal(left, right)
    text = translate("--import-onnx", known.SerializeToString(), "--mlir").decode()
    assert "nn.linear" not in text and "nn.mul" in text


def test_einsum_by_a_constant_is_a_linear_layer():
    """As MatMul is, so that it runs in integers. Of a constant whose dimension is in the result and in both terms, there is a matrix for each index."""
    model = make_network('y = Einsum<equation="bih,hnd->bind">(x, w)\nz = Einsum<equation="bih,bhd->bid">(x, v)',
                         inputs={"x": [2, 3, 4]}, constants={"w": (4, 2, 5), "v": (2, 4, 6)}, outputs=("y", "z"))
    text = translate("--import-onnx", model.SerializeToString(), "--mlir").decode()
    assert text.count("nn.linear") == 1 and text.count("nn.matmul") == 1


def test_products_of_large_constants_are_computed_at_run_time():
    """So that importing takes no longer than reading."""
    model = make_network("m = MatMul(t, v)\ny = Mul(x, m)", inputs={"x": [1]}, constants={"t": (1025, 1), "v": (1, 1024)})
    assert "nn.linear" in translate("--import-onnx", model.SerializeToString(), "--mlir").decode()


def test_operators_that_would_share_a_name_are_called_like_their_results():
    model = make_network("a = Relu(x)\nb = Neg(a)\nc = Relu(b)\ny = Neg(c)")
    for node, name in zip(model.graph.node, ["same", "same", "", "other"]):
        node.name = name
    names = re.findall(r'loc\("(.*?)"', translate("--import-onnx", model.SerializeToString(), "--mlir").decode())
    assert [name for name in names if name not in ("x", "-")] == ["same", "b", "c", "other"]
