# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exported QDQ files load in onnxruntime and give the integers that the law of numbers gives (docs/numerics.md)."""

import math
import os
import pathlib
import subprocess

import numpy as np
import onnx
import onnxruntime
import pytest

BIN = pathlib.Path(os.environ.get("OCTET_BIN", pathlib.Path(__file__).parents[2] / "build" / "bin"))


def export(text: str) -> onnx.ModelProto:
    result = subprocess.run([BIN / "octet-translate", "--export-onnx", "-"], input=text.encode(), capture_output=True)
    assert result.returncode == 0, result.stderr.decode()
    model = onnx.load_from_string(result.stdout)
    onnx.checker.check_model(model, full_check=True)
    return model


def run(model: onnx.ModelProto, inputs: dict, names: list | None = None) -> dict:
    """Runs without graph optimizations; `names` are further tensors to see."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    have = {output.name for output in model.graph.output}
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names or [] if name not in have)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    outputs = [output.name for output in session.get_outputs()]
    return dict(zip(outputs, session.run(outputs, inputs)))


def quantize(x, scale, zero_point, axis_shape=None):
    scale, zero_point = np.float32(scale), np.float32(zero_point)
    if axis_shape:
        scale, zero_point = scale.reshape(axis_shape), zero_point.reshape(axis_shape)
    return np.clip(np.rint(x.astype(np.float32) / scale) + zero_point, 0, 255).astype(np.uint8)


def convolve(x, w, pad, groups=1):
    """Exact integer convolution, stride one."""
    x = np.pad(x.astype(np.int64), ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    outputs, inputs, height, width = w.shape
    windows = np.lib.stride_tricks.sliding_window_view(x, (height, width), axis=(2, 3))
    result = []
    for o in range(outputs):
        first = o // (outputs // groups) * inputs
        result.append(np.einsum("nchwij,cij->nhw", windows[:, first : first + inputs], w[o].astype(np.int64)))
    return np.stack(result, axis=1)


NETWORK = """
!x = !quant.uniform<u8:f32, 0.03125:128>
!w = !quant.uniform<i8:f32:0, {0.25, 0.5, 0.125, 0.0625}>
!b = !quant.uniform<i32:f32:0, {0.0078125, 0.015625, 0.00390625, 0.001953125}>
!y = !quant.uniform<u8:f32:1, {0.25:3, 0.5:0, 0.125:7, 0.25:128}>
!dw = !quant.uniform<i8:f32:0, {0.5, 0.25, 0.5, 0.25}>
!z = !quant.uniform<u8:f32, 0.5:9>
!narrow = !quant.uniform<u8<20:90>:f32, 0.5:9>
func.func @main(%x: tensor<1x3x6x6xf32> {nn.name = "image"}) -> (tensor<1x4x6x6xf32> {nn.name = "sum"}, tensor<1x3x6x6xf32> {nn.name = "copy"}) {
  %xq = octet.quantize %x : (tensor<1x3x6x6xf32>) -> tensor<1x3x6x6x!x>
  %xd = octet.dequantize %xq : (tensor<1x3x6x6x!x>) -> tensor<1x3x6x6xf32>
  %wq = nn.constant dense<W> : tensor<4x3x3x3xi8> -> tensor<4x3x3x3x!w>
  %bq = nn.constant dense<[100, -200, 300, -400]> : tensor<4xi32> -> tensor<4x!b>
  %dwq = nn.constant dense<[[[[3]]], [[[-2]]], [[[5]]], [[[7]]]]> : tensor<4x1x1x1xi8> -> tensor<4x1x1x1x!dw>
  %w = octet.dequantize %wq : (tensor<4x3x3x3x!w>) -> tensor<4x3x3x3xf32>
  %b = octet.dequantize %bq : (tensor<4x!b>) -> tensor<4xf32>
  %dw = octet.dequantize %dwq : (tensor<4x1x1x1x!dw>) -> tensor<4x1x1x1xf32>
  %y = octet.group(%0 = %xd, %1 = %w, %2 = %b) : (tensor<1x3x6x6xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<1x4x6x6xf32> {
    %c = nn.conv %0, %1, %2 pads [1, 1, 1, 1] {octet.origin = #octet.origin<"conv1">} : (tensor<1x3x6x6xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<1x4x6x6xf32>
    %r = nn.relu %c {octet.origin = #octet.origin<"relu1">} : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
    octet.yield %r : tensor<1x4x6x6xf32>
  }
  %yq = octet.quantize %y : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x6x!y>
  %yd = octet.dequantize %yq : (tensor<1x4x6x6x!y>) -> tensor<1x4x6x6xf32>
  %d = nn.conv %yd, %dw groups 4 {octet.origin = #octet.origin<"depthwise">} : (tensor<1x4x6x6xf32>, tensor<4x1x1x1xf32>) -> tensor<1x4x6x6xf32>
  %dq = octet.quantize %d : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x6x!z>
  %dd = octet.dequantize %dq : (tensor<1x4x6x6x!z>) -> tensor<1x4x6x6xf32>
  %s = nn.add %dd, %yd {octet.origin = #octet.origin<"add">} : (tensor<1x4x6x6xf32>, tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %sq = octet.quantize %s : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x6x!narrow>
  %sd = octet.dequantize %sq : (tensor<1x4x6x6x!narrow>) -> tensor<1x4x6x6xf32>
  return %sd, %x : tensor<1x4x6x6xf32>, tensor<1x3x6x6xf32>
}
"""


def test_integers_tensor_by_tensor():
    """Scales are powers of two, so that float sums are exact and the law's integers are the only right ones."""
    rng = np.random.default_rng(0)
    image = rng.normal(size=(1, 3, 6, 6)).astype(np.float32) * 2
    weights = rng.integers(-20, 21, size=(4, 3, 3, 3))
    names = ["image_quantized", "relu1_quantized", "depthwise_quantized", "add_quantized"]
    got = run(export(NETWORK.replace("W", str(weights.tolist()))), {"image": image}, names)

    xq = quantize(image, 1 / 32, 128)
    np.testing.assert_array_equal(got["image_quantized"], xq)
    bias = np.array([100, -200, 300, -400]).reshape(1, 4, 1, 1)
    channels = (1, 4, 1, 1)
    accumulator = convolve(xq.astype(np.int64) - 128, weights, 1) + bias
    scale = np.float32([1 / 128, 1 / 64, 1 / 256, 1 / 512]).reshape(channels)
    y_scale, y_zero = [0.25, 0.5, 0.125, 0.25], [3, 0, 7, 128]
    yq = quantize(np.maximum(accumulator.astype(np.float32) * scale, 0), y_scale, y_zero, channels)
    assert len(np.unique(yq)) > 40  # neither constant nor all saturated
    np.testing.assert_array_equal(got["relu1_quantized"], yq)
    y = (yq.astype(np.float32) - np.float32(y_zero).reshape(channels)) * np.float32(y_scale).reshape(channels)
    d = y * np.float32([1.5, -0.5, 2.5, 1.75]).reshape(channels)
    dq = quantize(d, 0.5, 9)
    np.testing.assert_array_equal(got["depthwise_quantized"], dq)
    sq = np.clip(quantize((dq.astype(np.float32) - 9) * 0.5 + y, 0.5, 9), 20, 90)
    np.testing.assert_array_equal(got["add_quantized"], sq)
    np.testing.assert_array_equal(got["sum"], (sq.astype(np.float32) - 9) * 0.5)
    np.testing.assert_array_equal(got["copy"], image)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def pool(x, reduce):
    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 2), axis=(2, 3))[:, :, ::2, ::2]
    return reduce(windows, axis=(-2, -1))


# op on %x (1x2x4x4), its result type, and NumPy's answer
UNARY = "(tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>"
BINARY = "(tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>"
PER_CHANNEL = "(tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>"
OPERATORS = [
    (f"nn.relu %x : {UNARY}", lambda x: np.maximum(x, 0)),
    (f"nn.clip %x min -0.5 max 0.75 : {UNARY}", lambda x: np.clip(x, -0.5, 0.75)),
    (f"nn.leaky_relu %x alpha 0.1 : {UNARY}", lambda x: np.where(x < 0, 0.1 * x, x)),
    (f"nn.elu %x alpha 0.5 : {UNARY}", lambda x: np.where(x < 0, 0.5 * np.expm1(x), x)),
    (f"nn.sigmoid %x : {UNARY}", sigmoid),
    (f"nn.tanh %x : {UNARY}", np.tanh),
    (f"nn.silu %x : {UNARY}", lambda x: x * sigmoid(x)),
    (f"nn.hard_sigmoid %x alpha 0.25 beta 0.5 : {UNARY}", lambda x: np.clip(0.25 * x + 0.5, 0, 1)),
    (f"nn.hard_swish %x : {UNARY}", lambda x: x * np.clip(x / 6 + 0.5, 0, 1)),
    (f"nn.exp %x : {UNARY}", np.exp),
    (f"nn.erf %x : {UNARY}", np.vectorize(math.erf)),
    (f"nn.softplus %x : {UNARY}", lambda x: np.logaddexp(0, x)),
    (f"nn.gelu %x none : {UNARY}", lambda x: x / 2 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))),
    (f"nn.gelu %x tanh : {UNARY}", lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))),
    (f"nn.neg %x : {UNARY}", np.negative),
    (f"nn.abs %x : {UNARY}", np.abs),
    (f"nn.sign %x : {UNARY}", np.sign),
    (f"nn.round %x : {UNARY}", np.rint),
    (f"nn.floor %x : {UNARY}", np.floor),
    (f"nn.ceil %x : {UNARY}", np.ceil),
    (f"nn.log %x : {UNARY}", lambda x: np.log(np.where(x < 0, np.nan, x))),
    (f"nn.sin %x : {UNARY}", np.sin),
    (f"nn.cos %x : {UNARY}", np.cos),
    (f"nn.atan %x : {UNARY}", np.arctan),
    (f"nn.thresholded_relu %x alpha 0.5 : {UNARY}", lambda x: np.where(x > 0.5, x, 0)),
    (f"nn.max %x, %h : {PER_CHANNEL}", lambda x: np.maximum(x, C)),
    (f"nn.min %x, %h : {PER_CHANNEL}", lambda x: np.minimum(x, C)),
    (f"nn.pow %x, %h : {PER_CHANNEL}", lambda x: x**C),
    (f"nn.prelu %x, %h : {PER_CHANNEL}", lambda x: np.where(x < 0, C * x, x)),
    (f"nn.add %x, %x : {BINARY}", lambda x: x + x),
    (f"nn.sub %x, %x : {BINARY}", lambda x: x - x),
    (f"nn.mul %x, %x : {BINARY}", lambda x: x * x),
    (f"nn.div %x, %x : {BINARY}", lambda x: x / x),
    (f"nn.matmul %x, %x : {BINARY}", lambda x: x @ x),
    (f"nn.softmax %x axis 1 : {UNARY}", lambda x: np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)),
    ("nn.max_pool %x kernel [2, 2] strides [2, 2] : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>", lambda x: pool(x, np.max)),
    ("nn.avg_pool %x kernel [2, 2] strides [2, 2] : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>", lambda x: pool(x, np.mean)),
    (
        "nn.avg_pool %x kernel [2, 2] strides [2, 2] pads [1, 1, 1, 1] count_include_pad : (tensor<1x2x4x4xf32>) -> tensor<1x2x3x3xf32>",
        lambda x: pool(np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))), np.mean),
    ),
    ("nn.reduce_mean %x axes [2, 3] : (tensor<1x2x4x4xf32>) -> tensor<1x2xf32>", lambda x: x.mean(axis=(2, 3))),
    *[(f"nn.reduce_{name} %x axes [1, 3] : (tensor<1x2x4x4xf32>) -> tensor<1x4xf32>", lambda x, name=name: getattr(x, name)(axis=(1, 3)))
      for name in ("sum", "max", "min", "prod")],
    ("nn.reduce_mean %x axes [1] keep_dims : (tensor<1x2x4x4xf32>) -> tensor<1x1x4x4xf32>", lambda x: x.mean(axis=1, keepdims=True)),
    (
        "nn.concat %x, %x axis 2 : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x8x4xf32>",
        lambda x: np.concatenate([x, x], axis=2),
    ),
    (
        "nn.pad %x low [0, 0, 1, 0] high [0, 0, 0, 2] value 3.0 : (tensor<1x2x4x4xf32>) -> tensor<1x2x5x6xf32>",
        lambda x: np.pad(x, ((0, 0), (0, 0), (1, 0), (0, 2)), constant_values=3),
    ),
    (
        "nn.slice %x starts [0, 0, 3, 1] sizes [1, 2, 4, 2] steps [1, 1, -1, 2] : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x2xf32>",
        lambda x: x[:, :, ::-1, 1::2],
    ),
    ("nn.reshape %x : (tensor<1x2x4x4xf32>) -> tensor<4x8xf32>", lambda x: x.reshape(4, 8)),
    (
        "nn.transpose %x permutation [0, 2, 3, 1] : (tensor<1x2x4x4xf32>) -> tensor<1x4x4x2xf32>",
        lambda x: x.transpose(0, 2, 3, 1),
    ),
    (
        "nn.resize %x size [8, 8] scales [2.0, 2.0] nearest asymmetric floor : (tensor<1x2x4x4xf32>) -> tensor<1x2x8x8xf32>",
        lambda x: x.repeat(2, axis=2).repeat(2, axis=3),
    ),
    (
        "nn.resize %x size [2, 2] scales [0.6, 0.6] nearest asymmetric floor : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>",
        lambda x: x[:, :, [0, 1]][:, :, :, [0, 1]],
    ),
    (
        "nn.batch_norm %x, %c, %c, %c, %c epsilon 0.5 : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>",
        lambda x: (x - C) / np.sqrt(C + 0.5) * C + C,
    ),
    (
        "nn.linear %x, %w, %c : (tensor<1x2x4x4xf32>, tensor<2x4xf32>, tensor<2xf32>) -> tensor<1x2x4x2xf32>",
        lambda x: x @ np.arange(8).reshape(2, 4).T + [1, 2],
    ),
    (
        "nn.linear %m, %w, %c : (tensor<8x4xf32>, tensor<2x4xf32>, tensor<2xf32>) -> tensor<8x2xf32>",
        lambda x: x.reshape(8, 4) @ np.arange(8).reshape(2, 4).T + [1, 2],
    ),
    (
        "nn.linear %x, %w : (tensor<1x2x4x4xf32>, tensor<2x4xf32>) -> tensor<1x2x4x2xf32>",
        lambda x: x @ np.arange(8).reshape(2, 4).T,
    ),
]
C = np.array([1, 2]).reshape(1, 2, 1, 1)


@pytest.mark.parametrize("text,expected", OPERATORS, ids=lambda v: v.split(" : ")[0] if isinstance(v, str) else "")
def test_operator(text, expected):
    result = text.split("-> ")[1]
    model = export(
        f"""func.func @main(%x: tensor<1x2x4x4xf32> {{nn.name = "x"}}) -> ({result} {{nn.name = "y"}}) {{
          %c = nn.constant dense<[1.0, 2.0]> : tensor<2xf32>
          %h = nn.constant dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32>
          %w = nn.constant dense<[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]]> : tensor<2x4xf32>
          %m = nn.reshape %x : (tensor<1x2x4x4xf32>) -> tensor<8x4xf32>
          %y = {text.replace(" : ", ' {octet.origin = #octet.origin<"node">} : ')}
          return %y : {result}
        }}"""
    )
    x = np.random.default_rng(1).normal(size=(1, 2, 4, 4)).astype(np.float32)
    got = run(model, {"x": x})["y"]
    np.testing.assert_allclose(got, expected(x.astype(np.float64)), rtol=1e-5, atol=1e-5)
    assert [node for node in model.graph.node if node.name == "node"]


def test_reference_model_loads_with_all_optimizations(tmp_path):
    """onnxruntime makes integer pools of it, which do not know all attributes of ONNX's."""
    digits = pathlib.Path(__file__).parents[2] / "test" / "Inputs" / "digits"
    subprocess.run([BIN / "octet-compile", digits / "digits.onnx", f"--calibration-data={digits / 'calibration.npz'}", "--emit=onnx",
                    "-o", tmp_path / "qdq.onnx"], check=True, capture_output=True)
    assert "AveragePool" in {node.op_type for node in onnx.load(tmp_path / "qdq.onnx").graph.node}
    onnxruntime.InferenceSession(tmp_path / "qdq.onnx", providers=["CPUExecutionProvider"])
