# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators on integers, each in a network of its own: exact, or up to ties; contradictions in files."""

import os
import pathlib
import subprocess

import numpy as np
import pytest

octet = pytest.importorskip("octet")
onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from onnx import TensorProto, helper  # noqa: E402
from quantized_networks import A, AS, I8, IMAGE, INT, M, R, ROWS, SCALES, U8, W, WU, compare, integers, make  # noqa: E402

INT4 = helper.tensor_dtype_to_np_dtype(TensorProto.INT4)
pytestmark = pytest.mark.usefixtures("compiler")
BIN = pathlib.Path(os.environ.get("OCTET_BIN", pathlib.Path(__file__).parents[2] / "build" / "bin"))

TRANSPOSED = ("d = DequantizeLinear(x, xs, xz)\nwd = DequantizeLinear{}(w, ws, wz)\nt = ConvTranspose<{}>(d, wd)\n"
              "y = QuantizeLinear(t, ys, yz)")
T = dict(w=integers((4, 5, 3, 3), -127, 128, np.int8), ws=SCALES[:5], wz=np.zeros(5, np.int8), ys=np.float32(0.1137))
RECURRENT = "f = Reshape(x, n)\ng, h, c = com.microsoft.DynamicQuantizeLSTM<hidden_size=2>(f, w, u, , , , , , {})\ny = Relu(g)"
FEW = dict(w=np.where(np.arange(288).reshape(8, 4, 3, 3) == 17, 255, integers((8, 4, 3, 3), 0, 200, np.uint8)).astype(np.uint8), ws=np.float32(0.02))
PER_OUTPUT = dict(ws=SCALES, wz=np.zeros(8, np.int8), b=np.linspace(-1, 2, 8, dtype=np.float32))

# name: (nodes, arguments of `make`): exact, ties included
EXACT = {
    "conv": ("y = QLinearConv<pads=[1,1,1,1]>(x, xs, xz, w, ws, wz, ys, yz, b)", dict(constants={**A, **W}, inputs=IMAGE, types=INT)),
    "conv_i8": ("y = QLinearConv<pads=[1,1,1,1], strides=[2,2]>(x, xs, xz, w, ws, wz, ys, yz)",
                dict(constants={**AS, **W}, inputs=IMAGE, types={"x": I8, "y": I8})),
    "conv_1d": ("y = QLinearConv<pads=[1,1]>(x, xs, xz, w, ws, wz, ys, yz, b)",
                dict(constants={**A, **W, "w": integers((8, 4, 3), -127, 128, np.int8)}, inputs={"x": [1, 4, 30]}, types=INT)),
    "conv_9_bits": ("y = QLinearConv(x, xs, xz, w, ws, wz, ys, yz)", dict(constants={**A, **WU}, inputs=IMAGE, types=INT)),
    "conv_9_bits_of_a_channel": ("y = QLinearConv(x, xs, xz, w, ws, wz, ys, yz)", dict(constants={**A, **FEW, "wz": np.uint8(100)}, inputs=IMAGE, types=INT)),
    "conv_9_bits_of_a_channel_dynamic": (
        "q, s, z = DynamicQuantizeLinear(x)\nm = ConvInteger(q, w, z, wz)\nf = Cast<to=1>(m)\nt = Mul(s, ws)\ny = Mul(f, t)",
        dict(constants={**FEW, "wz": np.uint8(100)}, inputs=IMAGE)),
    "matmul_9_bits_of_channels": ("y = QLinearMatMul(x, xs, xz, w, ws, wz, ys, yz)", dict(
        constants={**A, **M, "w": np.where(np.arange(512).reshape(64, 8) % 170 == 9, 255, integers((64, 8), 0, 200, np.uint8)).astype(np.uint8),
                   "wz": np.uint8(100)}, inputs=ROWS, types=INT)),
    "conv_up_to_255": ("y = QLinearConv(x, xs, xz, w, ws, wz, ys, yz)",
                       dict(constants={**A, **WU, "w": integers((8, 4, 3, 3), 250, 256, np.uint8), "wz": np.uint8(0), "ys": np.float32(2)},
                            inputs=IMAGE, types=INT)),
    "matmul": ("y = QLinearMatMul(x, xs, xz, w, ws, wz, ys, yz)", dict(constants={**A, **M}, inputs=ROWS, types=INT)),
    "gemm": ("y = com.microsoft.QGemm<transB=1>(x, xs, xz, w, ws, wz, b, ys, yz)",
             dict(constants={**A, **W, "w": integers((8, 64), -127, 128, np.int8)}, inputs=ROWS, types=INT)),
    "gemm_to_float": ("y = com.microsoft.QGemm<transB=1>(x, xs, xz, w, ws, wz, b)",
                      dict(constants={**A, **W, "w": integers((8, 64), -127, 128, np.int8)}, inputs=ROWS, types={"x": U8})),
    "mul": ("y = com.microsoft.QLinearMul(x, xs, xz, r, rs, rz, ys, yz)", dict(constants={**A, **R}, inputs=IMAGE, types=INT)),
    "concat": ("y = com.microsoft.QLinearConcat<axis=1>(ys, yz, x, xs, xz, r, rs, rz)",
               dict(constants={**A, **R}, inputs=IMAGE, types=INT)),
    "sigmoid": ("y = com.microsoft.QLinearSigmoid(x, xs, xz, ys2, yz2)",
                dict(constants={**A, "ys2": np.float32(1 / 255), "yz2": np.uint8(0)}, inputs=IMAGE, types=INT)),
    "leaky_relu": ("y = com.microsoft.QLinearLeakyRelu<alpha=0.1>(x, xs, xz, ys, yz)", dict(constants=A, inputs=IMAGE, types=INT)),
    "global_pool": ("y = com.microsoft.QLinearGlobalAveragePool(x, xs, xz, ys, yz)", dict(constants=A, inputs=IMAGE, types=INT)),
    "transposed": (TRANSPOSED.format("<axis=1>", "strides=[2,2]"), dict(constants={**A, **T}, inputs=IMAGE, types=INT)),
    "transposed_in_groups": (TRANSPOSED.format("<axis=1>", "group=2, strides=[2,3], pads=[1,0,0,1]"), dict(constants={**A, **T}, inputs=IMAGE, types=INT)),
    "transposed_per_tensor": (TRANSPOSED.format("", "dilations=[2,1]"), dict(constants={**A, **T, "ws": SCALES[0], "wz": np.int8(3)}, inputs=IMAGE, types=INT)),
    "microsoft_pair": ("q = com.microsoft.QuantizeLinear(x, xs, xz)\ny = com.microsoft.DequantizeLinear(q, xs, xz)",
                       dict(constants=A, inputs=IMAGE)),
    "opset_10": ("q = QuantizeLinear(x, xs, xz)\ny = DequantizeLinear(q, xs, xz)", dict(constants=A, inputs=IMAGE, opset=10)),
    "opset_23": ("q = QuantizeLinear<output_dtype=3>(x, xs)\ny = DequantizeLinear(q, xs)", dict(constants=A, inputs=IMAGE, opset=23)),
    "without_zero_point": ("q = QuantizeLinear(x, xs)\ny = DequantizeLinear(q, xs)", dict(constants=A, inputs=IMAGE)),
    "per_channel": ("q = QuantizeLinear<axis=-3>(x, s4, z4)\ny = DequantizeLinear<axis=1>(q, s4, z4)",
                    dict(constants={"s4": SCALES[:4], "z4": np.array([0, 7, 128, 255], np.uint8)}, inputs=IMAGE)),
    "other_parameters": ("q = QuantizeLinear(x, xs, xz)\ny = DequantizeLinear(q, rs, rz)", dict(constants={**A, **R}, inputs=IMAGE)),
    "moved_integers": ("q = QuantizeLinear(x, xs, xz)\np = MaxPool<kernel_shape=[3,3], pads=[1,1,1,1]>(q)\n"
                       "t = Transpose<perm=[0,2,3,1]>(p)\ny = DequantizeLinear(t, xs, xz)", dict(constants=A, inputs=IMAGE)),
    "padded_integers": ("q = QuantizeLinear(x, xs, xz)\np = Pad(q, pads)\ny = DequantizeLinear(p, xs, xz)",
                        dict(constants={**A, "pads": np.array([0, 0, 1, 1, 0, 0, 1, 1])}, inputs=IMAGE)),
    "moved_input": ("f = Flatten(x)\ny = DequantizeLinear(f, xs, xz)", dict(constants=A, inputs=IMAGE, types={"x": U8})),
    "dynamic": ("q, s, z = DynamicQuantizeLinear(x)\na = MatMulInteger(q, w, z, wz)\nf = Cast<to=1>(a)\nt = Mul(s, ws)\n"
                "y = Mul(f, t)", dict(constants=M, inputs=ROWS)),
    "dynamic_fused": ("y = com.microsoft.DynamicQuantizeMatMul(x, w, ws, wz)", dict(constants=M, inputs=ROWS)),
    "dynamic_fused_with_bias": ("y = com.microsoft.DynamicQuantizeMatMul(x, w, ws, wz, b)", dict(constants={**M, **PER_OUTPUT}, inputs=ROWS)),
    "dynamic_to_float": ("q, s, z = DynamicQuantizeLinear(x)\ny = com.microsoft.MatMulIntegerToFloat(q, w, s, ws, z, wz)", dict(constants={**M, **PER_OUTPUT}, inputs=ROWS)),
    "integers_to_float": ("y = com.microsoft.MatMulIntegerToFloat(x, w, xs, ws, xz)", dict(constants={**A, **M}, inputs=ROWS, types={"x": U8})),
    "dynamic_results": ("y, s, z = DynamicQuantizeLinear(x)", dict(inputs=ROWS, outputs=("y", "s", "z"), types={"y": U8, "z": U8})),
    "dynamic_beyond_2^24": ("q, s, z = DynamicQuantizeLinear(x)\na = MatMulInteger(q, w, z)\nf = Cast<to=1>(a)\ny = Mul(f, s)",
                            dict(constants={"w": integers((2000, 4), -128, 128, np.int8)}, inputs={"x": [3, 2000]})),
    "dynamic_conv": ("q, s, z = DynamicQuantizeLinear(x)\na = ConvInteger<pads=[1,1,1,1]>(q, w, z, wz)\nf = Cast<to=1>(a)\n"
                     "y = Mul(f, s)", dict(constants=WU, inputs=IMAGE)),
    "dynamic_conv_sums": ("q, s, z = DynamicQuantizeLinear(x)\na = ConvInteger<pads=[1,1,1,1]>(q, w, z)\ny = Cast<to=1>(a)", dict(constants=W, inputs=IMAGE)),
    "dynamic_conv_with_bias": ("q, s, z = DynamicQuantizeLinear(x)\na = ConvInteger<pads=[1,1,1,1]>(q, w, z, wz)\nt = Mul(s, bs)\nd = Div(v, t)\n"
                               "e = Floor(d)\ni = Cast<to=6>(e)\nc = Add(a, i)\nf = Cast<to=1>(c)\ny = Mul(f, t)",
                               dict(constants={**WU, "bs": np.float32(0.01), "v": np.linspace(-1, 2, 8, dtype=np.float32)[:, None, None]}, inputs=IMAGE)),
    "sums_less_integers": ("a = MatMulInteger(x, w, xz)\nc = Sub(n, a)\ny = Cast<to=1>(c)",
                           dict(constants={**A, **M, "n": np.arange(-3, 5, dtype=np.int32)}, inputs=ROWS, types={"x": U8})),
    "integer_conv": ("q = QuantizeLinear(x, xs, xz)\na = ConvInteger<pads=[1,1,1,1]>(q, w, xz)\nf = Cast<to=1>(a)\n"
                     "y = Mul(f, ys)", dict(constants={**A, **W}, inputs=IMAGE)),
    "integer_matmul": ("a = MatMulInteger(x, w, xz)\ny = Cast<to=1>(a)", dict(constants={**A, **M}, inputs=ROWS, types={"x": U8})),
    "integer_matmul_of_rows": ("i = Cast<to=7>(x)\nr = Gather(t, i)\na = MatMulInteger(r, w, xz, wz)\ny = Cast<to=1>(a)\nb = MatMulInteger(r, w)\nz = Cast<to=1>(b)",
                               dict(constants={**A, **M, "t": integers((256, M["w"].shape[0]), 0, 256, np.uint8)}, inputs=ROWS, types={"x": U8}, outputs=("y", "z"))),
    "scaled_integers": ("a = MatMulInteger(x, w, xz)\ny = DequantizeLinear(a, ys)",
                        dict(constants={**A, **M}, inputs=ROWS, types={"x": U8})),
    "16_bits": ("q = QuantizeLinear(x, xs, z)\ny = DequantizeLinear(q, xs, z)", dict(constants={"xs": A["xs"] / 99, "z": np.int16(-7)}, inputs=IMAGE, opset=21)),
    "16_bits_per_channel": ("y = QuantizeLinear(x, s4, z4)", dict(
        constants={"s4": SCALES[:4] / 999, "z4": np.array([0, 7, 32768, 65535], np.uint16)}, inputs=IMAGE, opset=21, types={"y": TensorProto.UINT16})),
    "16_bits_of_constants": ("d = DequantizeLinear<axis=0>(w, s4)\ny = Add(x, d)", dict(
        constants={"s4": SCALES[:4], "w": integers((4, 64), -32768, 32768, np.int16)}, inputs=ROWS, opset=21)),
    "4_bits": ("d = DequantizeLinear<axis=1, block_size=16>(w, s, z)\ny = Add(x, d)", dict(constants={
        "w": integers((4, 64), -8, 8, INT4), "s": np.resize(SCALES, (4, 4)), "z": integers((4, 4), -8, 8, INT4)}, inputs=ROWS, opset=21)),
    "blocks": ("q = QuantizeLinear<axis=1, block_size=3>(x, s, z)\ny = DequantizeLinear<axis=1, block_size=3>(q, s, z)", dict(
        constants={"s": np.resize(SCALES, (4, 22)), "z": integers((4, 22), 0, 256, np.uint8)}, inputs=ROWS, opset=21)),
    "blocks_of_constants": ("d = DequantizeLinear<axis=-2, block_size=2>(w, s)\ny = Add(x, d)", dict(
        constants={"s": np.resize(SCALES, (2, 64)), "w": integers((4, 64), -128, 128, np.int8)}, inputs=ROWS, opset=21)),
    "negative_scales": ("d = DequantizeLinear<axis=0>(w, s)\ny = Add(x, d)", dict(constants={"s": SCALES[:4] * np.float32([1, -1, 1, -1]), "w": integers((4, 64), -128, 128, np.int8)}, inputs=ROWS)),
    "blocks_of_an_input": ("y = DequantizeLinear<block_size=16>(x, s)", dict(constants={"s": np.resize(SCALES, (4, 4))}, inputs=ROWS, opset=21, types={"x": U8})),
    "scale_at_run_time": ("m = ReduceMax<keepdims=0>(x)\ns = Mul(m, c)\nq = QuantizeLinear(x, s, z)\ny = DequantizeLinear(q, s, z)",
                          dict(constants={"c": np.float32(0.01), "z": np.uint8(120)}, inputs=IMAGE)),
    "scales_and_zero_points_at_run_time": (
        "m = ReduceMax<axes=[0,2,3], keepdims=0>(x)\ns = Mul(m, c)\nt = Mul(s, h)\nz = Cast<to=2>(t)\ny = QuantizeLinear(x, s, z)",
        dict(constants={"c": np.float32(0.01), "h": np.float32(1000)}, inputs=IMAGE, types={"y": U8})),
    "dynamic_integers": ("q, s, z = DynamicQuantizeLinear(x)\ny = DequantizeLinear(q, s, z)", dict(inputs=ROWS)),
    "table_of_integers": ("i = Cast<to=7>(x)\nj = Mod(i, rows)\ne = Gather(t, j)\nq = com.microsoft.QLinearAdd(e, xs, xz, p, xs, xz, ys, yz)\ny = DequantizeLinear(q, ys, yz)",
                          dict(constants={**A, "rows": np.int64(7), "t": integers((7, 16), 0, 256, np.uint8), "p": integers((1, 16), 0, 256, np.uint8)}, inputs={"x": [2, 5]})),
    "chosen_integers": ("q = QuantizeLinear(x, xs, xz)\ng = Gather<axis=1>(q, i)\nr = ReduceMax<axes=[2], keepdims=0>(g)\ny = DequantizeLinear(r, xs, xz)",
                        dict(constants={**A, "i": np.array([3, 0, 2])}, inputs=IMAGE)),
    "norm_with_bias": ("q = QuantizeLinear(x, xs, xz)\nd = DequantizeLinear(q, xs, xz)\ng = DequantizeLinear(w, ws, wz)\nc = DequantizeLinear(b, bs)\nm = InstanceNormalization(d, g, c)\n"
                       "o = QuantizeLinear(m, ys, yz)\ny = DequantizeLinear(o, ys, yz)",
                       dict(constants={**A, "w": integers(4, -128, 128, np.int8), "ws": np.float32(0.01), "wz": np.int8(0), "b": integers(4, -3000, 3000, np.int32), "bs": np.float32(3e-4)}, inputs=IMAGE)),
    "16_bits_in_a_row": ("q = QuantizeLinear(x, s, z)\nd = DequantizeLinear(q, s, z)\nm = Mul(d, d)\nr = QuantizeLinear(m, t, z)\ne = DequantizeLinear(r, t, z)\na = Add(e, d)\n"
                         "v = QuantizeLinear(a, t, z)\ny = DequantizeLinear(v, t, z)",
                         dict(constants={"s": np.float32(0.0001), "t": np.float32(0.0004), "z": np.uint16(30000)}, inputs=ROWS, opset=21)),
    "matrices_of_constants": ("q, s, z = DynamicQuantizeLinear(x)\na = MatMulInteger(q, w, z, wz)\nf = Cast<to=1>(a)\ny = Mul(f, s)",
                              dict(constants={"w": integers((2, 64, 8), -128, 128, np.int8), "wz": np.int8(3)}, inputs={"x": [2, 4, 64]})),
    "product_of_activations": ("q, s, z = DynamicQuantizeLinear(x)\nt = Transpose<perm=[0,2,1]>(q)\na = MatMulInteger(q, t, z, z)\nf = Cast<to=1>(a)\nu = Mul(s, s)\ny = Mul(f, u)",
                               dict(inputs={"x": [2, 4, 64]})),
    "product_of_activations_beyond_2^24": ("q, s, z = DynamicQuantizeLinear(x)\nt = Transpose<perm=[0,2,1]>(q)\na = MatMulInteger(q, t, z, z)\nf = Cast<to=1>(a)\nu = Mul(s, s)\ny = Mul(f, u)",
                                           dict(inputs={"x": [1, 3, 700]})),
    "cast_integers": ("q = QuantizeLinear(x, xs, xz)\ny = Cast<to=1>(q)", dict(constants=A, inputs=IMAGE)),
}


@pytest.mark.filterwarnings("error::octet.CompileWarning")
@pytest.mark.parametrize("name", EXACT)
def test_operator_is_exact(name):
    nodes, arguments = EXACT[name]
    different, _, largest = compare(make(nodes, **arguments))
    assert different == 0, largest


@pytest.mark.parametrize("nodes", ["y = com.microsoft.QLinearAdd(x, xs, xz, r, rs, rz, ys, yz)",
                                   "y = com.microsoft.QLinearAveragePool<kernel_shape=[2,2]>(x, xs, xz, ys, yz)"])
def test_operator_up_to_ties(nodes):
    """onnxruntime adds in another order here, which shows at ties."""
    different, total, largest = compare(make(nodes, constants={**A, **R}, inputs=IMAGE, types=INT), runs=40)
    assert different * 10000 <= total and largest <= 1


@pytest.mark.parametrize("kernel, share", [(2, 0.1), (3, 0.02)])
def test_ties_of_means(kernel, share, tmp_path):
    """Where input and output have one scale, real ties are frequent, which onnxruntime's f32 sums break either way."""
    model = make("q = QuantizeLinear(x, xs, xz)\nd = DequantizeLinear(q, xs, xz)\n"
                 f"a = AveragePool<kernel_shape=[{kernel},{kernel}]>(d)\ny = QuantizeLinear(a, xs, xz)",
                 constants=A, inputs={"x": [1, 16, 32, 32]}, types={"y": U8})
    different, total, largest = compare(model)
    print(f"{kernel} x {kernel}: {different / total:.3f} of the integers differ")
    assert different <= share * total and largest <= 1


def test_softmax_within_a_step():
    """onnxruntime reads rounded exponentials from a table; the law of numbers has none (docs/quantized-files.md)."""
    constants = {**A, "ys2": np.float32(1 / 255), "yz2": np.uint8(0)}
    model = make("y = com.microsoft.QLinearSoftmax<axis=-1, opset=13>(x, xs, xz, ys2, yz2)", constants=constants, inputs=ROWS, types=INT)
    different, total, largest = compare(model, runs=40)
    assert different * 20 <= total and largest <= 1


# ---- contradictions ------------------------------------------------------------------------------------------------------
SIGMOID = "q = QuantizeLinear(x, s, z)\nc = com.microsoft.QLinearSigmoid(q, s, z, {})\ny = DequantizeLinear(c, s, z)"
PAIR = "q = QuantizeLinear<axis=1>(x, s, z)\ny = DequantizeLinear<axis=1>(q, s, z)"
BAD = {
    "zero scale": (PAIR, dict(s=np.float32(0), z=np.uint8(0)), "has the scale 0.000000; expected a positive"),
    "negative scale": (PAIR, dict(s=np.float32(-1), z=np.uint8(0)), "has the scale -1.000000; expected a positive"),
    "NaN": (PAIR, dict(s=np.float32("nan"), z=np.uint8(0)), "has the scale nan; expected a positive"),
    "infinite": (PAIR, dict(s=np.float32("inf"), z=np.uint8(0)), "has the scale inf; expected a positive"),
    "subnormal": (PAIR, dict(s=np.float32(1e-40), z=np.uint8(0)), "expected a positive, normal number"),
    "channel": (PAIR, dict(s=np.float32([1, 0, 1]), z=np.zeros(3, np.uint8)), "has the scale 0.000000 for channel 1"),
    "wrong length": (PAIR, dict(s=np.ones(4, np.float32), z=np.zeros(4, np.uint8)), "has 4 scales for axis 1 of a tensor of shape 1x3x8x8"),
    "wrong axis": (PAIR.replace("=1", "=4"), dict(s=np.ones(3, np.float32), z=np.zeros(3, np.uint8)), "has the axis 4; its input has 4"),
    "fewer zero points": (PAIR, dict(s=np.ones(3, np.float32), z=np.uint8(0)), "has 3 scales, but 1 zero points"),
    "another type": ("q = QuantizeLinear(x, s, z)\ny = DequantizeLinear(q, s, z2)", dict(s=np.float32(1), z=np.uint8(0), z2=np.int8(0)),
                     "has a zero point of INT8 for integers of UINT8; store both in the same type"),
    "another type of constants": ("d = DequantizeLinear(w, s, z)\ny = Add(x, d)",
                                  dict(s=np.float32(1), z=np.int8(0), w=np.uint8([3])), "has a zero point of INT8 for integers of UINT8"),
    "bias with a zero point": ("d = DequantizeLinear(w, s, z)\ny = Add(x, d)",
                               dict(s=np.float32(1), z=np.int32(5), w=np.int32([3])), "has the zero point 5 for integers of INT32; expected 0"),
    "another output type": ("q = QuantizeLinear<output_dtype=3>(x, s, z)\ny = DequantizeLinear(q, s, z)",
                            dict(s=np.float32(1), z=np.uint8(0)), "has a zero point of UINT8 for integers of INT8"),
    "16 bits": (SIGMOID.format("s, z2"), dict(s=np.float32(1), z=np.uint8(0), z2=np.uint16(0)), "quantized values of UINT16; quantize the network to 8 bits"),
    "16 bits of another type": ("q = QuantizeLinear(x, s, z)\ny = DequantizeLinear(q, s, z2)", dict(s=np.float32(1), z=np.uint16(0), z2=np.int16(0)),
                                "has a zero point of INT16 for integers of UINT16; store both in the same type"),
    "4 bits": (PAIR, dict(s=np.float32(1), z=np.zeros((), INT4)), "quantized values of INT4; quantize the network to 8 bits"),
    "run time to 32 bits": ("m = ReduceMax<keepdims=0>(x)\nq = QuantizeLinear(x, m, z)\ny = DequantizeLinear(q, s, z)",
                            dict(s=np.float32(1), z=np.int32(0)), "quantized values of INT32; quantize the network to 8 bits"),
    "quantized to 32 bits": (PAIR, dict(s=np.float32(1), z=np.int32(0)), "has a zero point of INT32; expected one of 8 or 16 bits"),
    "blocks": (SIGMOID.format("t, z"), dict(s=np.float32(1), z=np.uint8(0), t=np.ones((1, 3, 8, 8), np.float32)),
               "blocked quantization (scales of shape 1x3x8x8); quantize the network with one scale per tensor or per channel"),
    "blocks of another size": (PAIR.replace("axis=1", "axis=1, block_size=2"), dict(s=np.ones((1, 3, 8, 8), np.float32), z=np.zeros((1, 3, 8, 8), np.uint8)),
                               "has a scale or zero point of shape 1x3x8x8 for a tensor of shape 1x3x8x8 in blocks of 2 along axis 1"),
    "blocks without a scale": (PAIR.replace("axis=1", "axis=1, block_size=3"), dict(s=np.zeros((1, 1, 8, 8), np.float32), z=np.zeros((1, 1, 8, 8), np.uint8)),
                               "has a scale that is no positive, normal number"),
    "scale at run time": ("s2 = ReduceMax<keepdims=0>(x)\n" + SIGMOID.format("s2, z"), dict(s=np.float32(1), z=np.uint8(0)),
                          "QLinearSigmoid, domain com.microsoft, opset 1): a scale computed at run time"),
    "dequantized floats": ("y = DequantizeLinear(x, s)", dict(s=np.float32(1)), "dequantizes a tensor of floats; expected integers"),
    "dequantized constant floats": ("d = DequantizeLinear(s, s)\ny = Add(x, d)", dict(s=np.float32(1)), "dequantizes a constant of floats"),
    "quantized integers": ("i = QuantizeLinear(x, s, z)\nq = QuantizeLinear(i, s, z)\ny = DequantizeLinear(q, s, z)",
                           dict(s=np.float32(1), z=np.uint8(0)), "integers to be quantized; convert them to floats"),
    "channels with other scales": ("q = QuantizeLinear(x, s, z)\ny = DequantizeLinear(q, t, z)",
                                   dict(s=np.ones(3, np.float32), t=np.full(3, 2, np.float32), z=np.zeros(3, np.uint8)),
                                   "other scales or zero points than those with which the tensor was quantized"),
    "clipped to one value": ("q = QuantizeLinear(x, s, z)\nc = Clip(q, z, z)\ny = DequantizeLinear(c, s, z)",
                             dict(s=np.float32(1), z=np.uint8(0)), "bounds that leave one value"),
    "several bounds": ("q = QuantizeLinear(x, s, z)\nc = Clip(q, zs)\ny = DequantizeLinear(c, s, z)",
                       dict(s=np.float32(1), z=np.uint8(0), zs=np.zeros(2, np.uint8)), "has 2 values as a bound; expected one"),
    "float bias": ("q = QuantizeLinear(x, s, z)\nc = QLinearConv(q, s, z, w, s, z2, s, z, b)\ny = DequantizeLinear(c, s, z)",
                   dict(s=np.float32(1), z=np.uint8(0), z2=np.int8(0), w=np.zeros((2, 3, 1, 1), np.int8), b=np.zeros(2, np.float32)),
                   "has a bias of another type than INT32"),
    "bias and scales": ("q = QuantizeLinear(x, s, z)\nc = QLinearConv(q, s, z, w, ws, wz, s, z, b)\ny = DequantizeLinear(c, s, z)",
                        dict(s=np.float32(1), z=np.uint8(0), ws=np.ones(2, np.float32), wz=np.zeros(2, np.int8),
                             w=np.zeros((2, 3, 1, 1), np.int8), b=np.zeros(3, np.int32)), "has a bias of shape 3 and 2 scales of weights"),
    "concat": ("q = QuantizeLinear(x, s, z)\nc = com.microsoft.QLinearConcat<axis=1>(s, z, q, s, z, q)\ny = DequantizeLinear(c, s, z)",
               dict(s=np.float32(1), z=np.uint8(0)), "has 6 inputs; expected two and three for each operand"),
    "softmax of another opset": ("q = QuantizeLinear(x, s, z)\nc = com.microsoft.QLinearSoftmax<opset=9>(q, s, z, s, z)\n"
                                 "y = DequantizeLinear(c, s, z)", dict(s=np.float32(1), z=np.uint8(0)), "attribute opset=9"),
    "large products of activations": ("f = Flatten<axis=3>(x)\nr = Tile(f, n)\nq, s, z = DynamicQuantizeLinear(r)\nt = Transpose(q)\n"
                                      "m = MatMulInteger(q, t, z, z)\ny = Cast<to=1>(m)", dict(n=np.array([1, 300])), "sums of products beyond 2^28, of integers that are computed"),
    "filter at run time": ("q, s, z = DynamicQuantizeLinear(x)\nm = ConvInteger(q, q, z, z)\ny = Cast<to=1>(m)", {},
                           "a product of two tensors of integers that are computed at run time"),
    "product of floats": ("m = MatMulInteger(x, w)\ny = Cast<to=1>(m)", dict(w=np.zeros((8, 2), np.int8)),
                          "multiplies a tensor that does not hold 8-bit integers"),
    "large sums": ("q, s, z = DynamicQuantizeLinear(x)\nf = Flatten(q)\nm = MatMulInteger(f, w, z)\ny = Cast<to=1>(m)",
                   dict(w=np.full((192 * 64, 1), -128, np.int8)), "sums of products beyond 2^28"),
    "computed integers": ("c = Shape(x)\nd = DequantizeLinear(c, s)\ny = Add(x, d)", dict(s=np.float32(1)),
                          "integers computed during the import"),
    "dynamic integers of other parameters": ("q, s, z = DynamicQuantizeLinear(x)\nc = com.microsoft.QLinearSigmoid(q, t, u, t, u)\n"
                                             "y = DequantizeLinear(c, t, u)", dict(t=np.float32(1), u=np.uint8(0)),
                                             "integers of a tensor that is quantized at run time"),
    "dynamic zero points": ("q, s, z = DynamicQuantizeLinear(x)\nm = MatMulInteger(q, w, zs)\ny = Cast<to=1>(m)",
                            dict(w=np.zeros((8, 2), np.int8), zs=np.zeros(8, np.uint8)), "several zero points of a tensor quantized at run time"),
    "sums and integers of 64 bits": ("q, s, z = DynamicQuantizeLinear(x)\nm = MatMulInteger(q, w)\na = Add(m, n)\ny = Cast<to=1>(a)",
                                     dict(w=np.zeros((8, 2), np.int8), n=np.int64(3)), "has operands of INT32 and INT64"),
    "filter of two dimensions": ("q, s, z = DynamicQuantizeLinear(x)\nm = ConvInteger(q, w)\ny = Cast<to=1>(m)",
                                 dict(w=np.zeros((8, 2), np.int8)), "has a filter of shape 8x2"),
    "product with a vector": ("q, s, z = DynamicQuantizeLinear(x)\nm = MatMulInteger(q, w)\ny = Cast<to=1>(m)",
                              dict(w=np.zeros(8, np.int8)), "a second operand of shape 8"),
    "rows of several scales": ("i = Cast<to=7>(x)\ne = Gather(t, i)\nq = QLinearMatMul(e, s, z, w, u, n, u, v)\ny = DequantizeLinear(q, u, v)",
                               dict(t=np.zeros((3, 8), np.uint8), s=np.ones(8, np.float32), z=np.zeros(8, np.uint8), u=np.float32(1), v=np.uint8(0),
                                    w=np.zeros((8, 2), np.int8), n=np.int8(0)),
                               "integers that are computed, with several scales"),
    "bias at run time": ("q = QuantizeLinear(x, s, z)\nm = MatMulInteger(q, v, z)\nc = QLinearConv(q, s, z, w, s, z2, s, z, m)\n"
                         "y = DequantizeLinear(c, s, z)",
                         dict(s=np.float32(1), z=np.uint8(0), z2=np.int8(0), v=np.zeros((8, 2), np.int8), w=np.zeros((2, 3, 1, 1), np.int8)),
                         "a bias computed at run time"),
    "concat of nothing": ('q = QuantizeLinear(x, s, z)\nc = com.microsoft.QLinearConcat<axis=1>(s, z, q, s, z, , s, z)\n'
                          "y = DequantizeLinear(c, s, z)", dict(s=np.float32(1), z=np.uint8(0)), "lacks its input 5"),
    "zero points of a product": ("q, s, z = DynamicQuantizeLinear(x)\nm = MatMulInteger(q, w, z, wz)\ny = Cast<to=1>(m)",
                                 dict(w=np.zeros((8, 2), np.int8), wz=np.zeros(3, np.int8)), "has 3 zero points for a tensor of shape 8x2"),
    "scales of a recurrent layer": (RECURRENT.format("s, z, t, v"), dict(n=np.array([8, 3, 8]), w=np.zeros((1, 8, 8), np.int8), u=np.zeros((1, 2, 8), np.int8),
                                    s=np.ones(3, np.float32), z=np.zeros(3, np.int8), t=np.ones(1, np.float32), v=np.zeros(1, np.int8)),
                                    "has 3 scales and 3 zero points of weights of shape 1x8x8"),
    "recurrent layer without scales": (RECURRENT.format(", , t, v"), dict(n=np.array([8, 3, 8]), w=np.zeros((1, 8, 8), np.int8), u=np.zeros((1, 2, 8), np.int8),
                                       t=np.ones(1, np.float32), v=np.zeros(1, np.int8)), "has weights without a scale or a zero point"),
    "recurrent layer of floats": (RECURRENT.format("t, v, t, v"), dict(n=np.array([8, 3, 8]), w=np.zeros((1, 8, 8), np.float32), u=np.zeros((1, 2, 8), np.int8),
                                  t=np.ones(1, np.float32), v=np.zeros(1, np.int8)), "has weights of FLOAT; expected 8-bit integers"),
    "zero points of a recurrent layer": (RECURRENT.format("t, v, t, v"), dict(n=np.array([8, 3, 8]), w=np.zeros((1, 8, 8), np.int8), u=np.zeros((1, 2, 8), np.int8),
                                         t=np.ones(1, np.float32), v=np.zeros(1, np.uint8)), "has a zero point of another type than its integers"),
    "type of a product's zero point": ("q, s, z = DynamicQuantizeLinear(x)\nm = MatMulInteger(q, w, z, wz)\ny = Cast<to=1>(m)",
                                       dict(w=np.zeros((8, 2), np.int8), wz=np.uint8(3)), "has a zero point of another type than its integers"),
}


@pytest.mark.parametrize("name", ["transposed", "transposed_in_groups", "transposed_per_tensor"])
def test_transposed_convolutions_run_in_integers(name):
    nodes, arguments = EXACT[name]
    assert {row.verdict for row in octet.compile(make(nodes, **arguments).SerializeToString()).report if row.macs} == {"int8"}


def test_scales_of_inputs_stay_float():
    """Of a transposed convolution: no output channel has one scale."""
    model = make(TRANSPOSED.format("<axis=0>", "strides=[2,2]"), constants={**A, **T, "ws": SCALES[:4], "wz": np.zeros(4, np.int8)}, inputs=IMAGE, types=INT)
    assert {row.verdict for row in octet.compile(model.SerializeToString()).report if row.macs} == {"float"}


def refuse(tmp_path, model):
    """The message with which the import of a network is refused."""
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    done = subprocess.run([BIN / "octet-translate", "--import-onnx", tmp_path / "net.onnx", "-o", os.devnull],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and done.stderr.count("error:") == 1, done.stderr
    return done.stderr


@pytest.mark.parametrize("name", BAD)
def test_contradictions(name, tmp_path):
    nodes, constants, message = BAD[name]
    shape = [1, 3, 64, 64] if name == "large sums" else [1, 3, 8, 8]
    assert message in refuse(tmp_path, make(nodes, constants=constants, opset=21, inputs={"x": shape}))


def test_zero_point_out_of_range(tmp_path):
    """NumPy would not make such a tensor."""
    model = make(PAIR, constants=dict(s=np.float32(1), z=np.uint8(0)))
    model.graph.initializer[1].CopyFrom(helper.make_tensor("z", U8, [], [0]))
    model.graph.initializer[1].int32_data[0] = 256
    assert "has the zero point 256 for integers of UINT8; expected one from 0 to 255" in refuse(tmp_path, model)


@pytest.mark.parametrize("name", ["FLOAT8E4M3FN", "FLOAT4E2M1", "INT4"])
def test_other_types_are_named(name, tmp_path):
    model = make(PAIR, constants=dict(s=np.float32(1)), opset=21)
    model.graph.initializer.append(helper.make_tensor("z", getattr(TensorProto, name), [], [0]))
    assert f"quantized values of {name}; quantize the network to 8 bits" in refuse(tmp_path, model)


@pytest.mark.parametrize("name", ["FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ", "FLOAT8E8M0", "FLOAT4E2M1"])
@pytest.mark.parametrize("is_raw", [False, True])
def test_small_floats_as_weights(name, is_raw):
    """Numbers of the type and one more, so that the last byte of those of four bits is not full. Powers near 2^-127 are not
    among them: weights that small beside others become zero."""
    kind = getattr(TensorProto, name)
    first, count = {"FLOAT4E2M1": (0, 16), "FLOAT8E8M0": (100, 60)}.get(name, (0, 256))
    values = (first + np.arange(count + 1) % count).astype(np.uint8).view(helper.tensor_dtype_to_np_dtype(kind))
    tensor = onnx.numpy_helper.from_array(values, "w")
    if not is_raw:
        tensor.int32_data.extend(tensor.raw_data)
        tensor.ClearField("raw_data")
    wanted = values.astype(np.float32) * np.float32(0.5)
    model = make("d = DequantizeLinear(w, s)\ny = Mul(x, d)", constants=dict(s=np.float32(0.5)), inputs={"x": [len(values)]}, opset=25)
    model.graph.initializer.append(tensor)
    got = octet.compile(model.SerializeToString()).run({"x": np.ones(len(values), np.float32)})["y"]
    np.testing.assert_array_equal(got, wanted)


def test_outputs_of_small_floats_are_named(tmp_path):
    model = make("y = Identity(w)", constants={})
    model.graph.initializer.append(helper.make_tensor("w", TensorProto.FLOAT8E5M2, [2], [1, 2]))
    assert 'the output "y" is a constant of FLOAT8E5M2' in refuse(tmp_path, model)


@pytest.mark.parametrize("name, low, is_raw", [("UINT4", 0, False), ("INT4", -8, True), ("UINT2", 0, True), ("INT2", -2, False)])
def test_integers_of_a_few_bits(name, low, is_raw):
    """The last byte of fifteen of them is not full."""
    kind = getattr(TensorProto, name)
    values = integers((3, 5), low, low + (4 if "2" in name else 16), helper.tensor_dtype_to_np_dtype(kind))
    tensor = onnx.numpy_helper.from_array(values, "w") if is_raw else helper.make_tensor("w", kind, [3, 5], values.ravel())
    assert tensor.HasField("raw_data") == is_raw
    model = make("d = DequantizeLinear(w, s)\ny = Add(x, d)", constants=dict(s=np.float32(0.5)), inputs={"x": [3, 5]}, opset=25)
    model.graph.initializer.append(tensor)
    got = octet.compile(model.SerializeToString()).run({"x": np.ones((3, 5), np.float32)})["y"]
    np.testing.assert_array_equal(got, 1 + 0.5 * values.astype(np.float32))


def test_flipped_bytes_never_crash(tmp_path):
    """Neither the file's structure nor its parameters are believed."""
    random = np.random.default_rng(5)
    for name in ("conv", "gemm", "dynamic", "moved_integers"):
        nodes, arguments = EXACT[name]
        data = bytearray(make(nodes, **arguments).SerializeToString())
        for _ in range(30):
            bad = bytearray(data)
            for position in random.integers(0, len(bad), 4):
                bad[position] = random.integers(0, 256)
            (tmp_path / "net.onnx").write_bytes(bad)
            done = subprocess.run([BIN / "octet-translate", "--import-onnx", tmp_path / "net.onnx", "-o", os.devnull],
                                  capture_output=True, timeout=60)
            assert done.returncode in (0, 1), done.stderr
