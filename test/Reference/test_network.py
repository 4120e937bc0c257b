# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which integer form the reference chooses for a QDQ file ([N.form]), and its operators against onnxruntime."""

import numpy as np
import octet_reference as reference
import pytest
from octet_reference import QParams, Window
from qdq import Builder, run_onnxruntime

f32 = np.float32
X = QParams(0.03, 117)
Y = QParams(0.057, 40)


class Conv:
    """x -> quantize -> dequantize -> convolution of 3x3 with a bias, and the law's accumulator for it."""

    def __init__(self, channels=4, groups=1, params=X, seed=0):
        self.builder = b = Builder(seed)
        self.image = b.rng.normal(size=(1, channels, 32, 32)).astype(f32) * 2
        axis = params.axis
        zero = params.zero_point if axis is not None else params.zero_point[0]
        scale = params.scale if axis is not None else params.scale[0]
        x = b.qdq(b.input("x", 1, channels, 32, 32), scale, zero, axis)
        # M is about 1/400, so that many products lie at ties, where the forms differ.
        filters, values, filter_scale = b.weight(channels, channels // groups, 3, 3, scale=np.full(channels, 0.00475, f32))
        self.scale = np.broadcast_to(params.scale, channels) * filter_scale
        bias, bias_values = b.bias(self.scale)
        self.real = b.node("Conv", x, filters, bias, pads=[1, 1, 1, 1], group=groups)
        q = reference.quantize(self.image, params)
        self.accumulator = reference.conv_integer(q, params.zero_point, values, bias_values, Window((3, 3), pads=(1, 1, 1, 1)), groups)

    def check(self, real, params, wanted, is_output=False):
        zero = params.zero_point if params.axis is not None else params.zero_point[0]
        scale = params.scale if params.axis is not None else params.scale[0]
        name = self.builder.quantize(real, scale, zero, params.axis)
        self.builder.output(name if is_output else self.builder.dequantize(name, scale, zero, params.axis), 2 if is_output else 1)
        got = reference.Network(self.builder.model()).run({"x": self.image}, all_tensors=True)[name]
        np.testing.assert_array_equal(got, wanted)
        assert got.dtype == np.uint8 and len(np.unique(got)) > 20


def test_product_is_requantized():
    conv = Conv()
    conv.check(conv.real, Y, reference.requantize(conv.accumulator, conv.scale, Y, 1))


@pytest.mark.parametrize("groups", [2, 4])
def test_groups_and_depthwise(groups):
    conv = Conv(groups=groups)
    conv.check(conv.real, Y, reference.requantize(conv.accumulator, conv.scale, Y, 1))


def test_clamps_become_bounds():
    conv = Conv()
    real = conv.builder.node("Clip", conv.builder.node("Relu", conv.real), f32(-1), f32(4))
    low, high = reference.narrow(QParams(Y.scale, Y.zero_point, *reference.narrow(Y, (f32(-1), f32(4)))), (f32(0), f32(np.inf)))
    assert (low, high) == (40, 110)
    conv.check(real, Y, reference.requantize(conv.accumulator, conv.scale, QParams(Y.scale, Y.zero_point, low, high), 1))


def test_clamp_becomes_a_bound_of_a_returned_value():
    conv, params = Conv(), QParams(Y.scale, Y.zero_point, 40, 255)
    wanted = reference.requantize(conv.accumulator, conv.scale, params, 1)
    conv.check(conv.builder.node("Relu", conv.real), Y, wanted, is_output=True)


def test_channels_with_other_zero_points_keep_the_clamp():
    conv, params = Conv(), QParams([0.05, 0.06, 0.07, 0.08], [40, 41, 42, 43], axis=1)
    real = reference.real_accumulator(conv.accumulator, conv.scale, 1)
    conv.check(conv.builder.node("Relu", conv.real), params, reference.quantize(reference.relu(real), params))


def test_result_per_channel_feeds_depthwise():
    conv, params = Conv(), QParams([0.05, 0.06, 0.07, 0.08], [0, 0, 0, 0], axis=1)
    bounds = QParams(params.scale, params.zero_point, 0, 255, 1)
    conv.check(conv.builder.node("Relu", conv.real), params, reference.requantize(conv.accumulator, conv.scale, bounds, 1))
    depthwise = Conv(groups=4, params=params, seed=1)
    depthwise.check(depthwise.real, Y, reference.requantize(depthwise.accumulator, depthwise.scale, Y, 1))


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("clamp", [False, True])
def test_residual(swap, clamp):
    conv, other = Conv(), QParams(0.0285, 90)
    b = conv.builder
    skip = b.qdq(b.node("Neg", "x"), 0.0285, 90)
    real = b.node("Add", *([skip, conv.real] if swap else [conv.real, skip]))
    params = QParams(Y.scale, Y.zero_point, 40 if clamp else 0, 255)
    wanted = reference.residual(conv.accumulator, conv.scale, reference.quantize(-conv.image, other), other, params, 1)
    conv.check(b.node("Relu", real) if clamp else real, Y, wanted)


def test_residual_of_another_shape_is_an_epilogue():
    conv, other = Conv(), QParams(0.01, 90)
    b = conv.builder
    constant = reference.dequantize(reference.quantize(f32([[[[0.7]]]]), other), other)
    skip = b.qdq(b.constant(f32([[[[0.7]]]])), 0.01, 90)
    real = reference.real_accumulator(conv.accumulator, conv.scale, 1) + constant
    conv.check(b.node("Add", conv.real, skip), Y, reference.quantize(real, Y))


def write_activation(builder, name, value):
    if name == "silu":
        return builder.node("Mul", builder.node("Sigmoid", value), value)
    return builder.node("Gelu", value, approximate="tanh" if name == "gelu_tanh" else "none")


@pytest.mark.parametrize("behind", ["nothing", "clamp", "residual", "several", "factors"])
@pytest.mark.parametrize("name", ["silu", "gelu", "gelu_tanh"])
def test_coarse_activation(name, behind):
    conv = Conv()
    b, real = conv.builder, reference.real_accumulator(conv.accumulator, conv.scale, 1)
    value, wanted = write_activation(b, name, conv.real), reference.coarse(real, name)
    exact = reference.silu(real) if name == "silu" else reference.gelu(real, "tanh" if "tanh" in name else "none")
    assert 0 < np.abs(wanted - exact).max() < 2e-3
    if behind == "clamp":
        value, wanted = b.node("Relu", value), reference.relu(wanted)
    if behind in ("residual", "several"):
        skip = f32(np.random.default_rng(5).normal(size=wanted.shape))
        value, wanted = b.node("Add", skip, value), reference.add(skip, wanted)
    if behind == "several":
        value, wanted = b.node("Sub", value, f32(1)), reference.sub(wanted, f32(1))
    if behind == "factors":
        value, wanted = b.node("Mul", f32(-3), b.node("Mul", value, f32(2))), reference.mul(f32(-3), reference.mul(wanted, f32(2)))
    conv.check(value, Y, reference.quantize(wanted, Y))


def test_coarse_activation_of_channels():
    """Errors are a step on average (of squares) at most; one channel's may be larger."""
    for least, is_coarse in ((2.0**-10.9, True), (2.0**-11, False)):
        conv, params = Conv(), QParams([0.05, 0.06, least, 0.08], [0, 0, 0, 0], axis=1)
        real = reference.real_accumulator(conv.accumulator, conv.scale, 1)
        wanted = reference.coarse(real, "silu") if is_coarse else reference.silu(real)
        conv.check(write_activation(conv.builder, "silu", conv.real), params, reference.quantize(wanted, params))


@pytest.mark.parametrize("behind", ["nothing", "residual"])
def test_coarse_exp(behind):
    """Errors of an exp are parts of its value, which a difference may make smaller."""
    conv = Conv()
    b, real = conv.builder, reference.real_accumulator(conv.accumulator, conv.scale, 1)
    value, wanted = b.node("Exp", conv.real), reference.coarse_exp(real)
    assert (wanted != reference.exp(real)).any()
    if behind == "residual":
        value, wanted = b.node("Sub", value, f32(1)), reference.sub(reference.exp(real), f32(1))
    conv.check(value, Y, reference.quantize(wanted, Y))


def test_activations_that_are_not_coarse():
    """Small steps; several readers; a large factor behind it, or one of integers; a quantized value in front of it."""
    conv, params = Conv(), QParams(2.0**-11, 90)
    b, real = conv.builder, reference.real_accumulator(conv.accumulator, conv.scale, 1)
    conv.check(write_activation(b, "silu", conv.real), params, reference.quantize(reference.silu(real), params))
    conv = Conv()
    value = write_activation(conv.builder, "gelu", conv.real)
    conv.builder.output(value, 1)
    conv.check(value, Y, reference.quantize(reference.gelu(real), Y))
    conv = Conv()
    value = conv.builder.node("Mul", write_activation(conv.builder, "gelu", conv.real), f32(99))
    conv.check(value, Y, reference.quantize(reference.mul(reference.gelu(real), f32(99)), Y))
    conv = Conv()
    stored = conv.builder.node("DequantizeLinear", np.int8(100), f32(0.01), np.int8(0))
    value = conv.builder.node("Mul", write_activation(conv.builder, "gelu", conv.real), stored)
    conv.check(value, Y, reference.quantize(reference.mul(reference.gelu(real), f32(100) * f32(0.01)), Y))
    conv = Conv()
    value = write_activation(conv.builder, "silu", conv.builder.qdq(conv.real, Y.scale[0], Y.zero_point[0]))
    stored = reference.dequantize(reference.requantize(conv.accumulator, conv.scale, Y, 1), Y)
    conv.check(value, Y, reference.quantize(reference.silu(stored), Y))


def test_hard_swish_of_the_real_accumulator():
    conv = Conv()
    b, real = conv.builder, reference.real_accumulator(conv.accumulator, conv.scale, 1)
    gate = b.node("HardSigmoid", conv.real, alpha=1 / 6, beta=0.5)
    conv.check(b.node("Mul", gate, conv.real), Y, reference.quantize(reference.hard_swish(real), Y))


def test_second_reader_makes_an_epilogue():
    conv = Conv()
    conv.builder.output(conv.real, 1)
    real = reference.real_accumulator(conv.accumulator, conv.scale, 1)
    conv.check(conv.real, Y, reference.quantize(real, Y))


def test_forms_differ():
    """The tests above can tell the forms apart."""
    conv, skip = Conv(), np.full((1, 4, 32, 32), 90)
    real = reference.real_accumulator(conv.accumulator, conv.scale, 1)
    assert np.any(reference.requantize(conv.accumulator, conv.scale, Y, 1) != reference.quantize(real, Y))
    with_skip = reference.residual(conv.accumulator, conv.scale, skip, QParams(0.0285, 93), Y, 1)
    assert np.any(with_skip != reference.quantize(real + f32(-3) * f32(0.0285), Y))


def test_bias_at_another_scale_is_added_in_floats():
    b = Builder()
    x = b.qdq(b.input("x", 2, 8), 0.03, 117)
    filters, values, scale = b.weight(5, 8)
    bias, _ = b.bias(scale * f32(0.04))
    real = b.output(b.node("Gemm", x, filters, bias, transB=1), 1)
    image = b.rng.normal(size=(2, 8)).astype(f32)
    tensors = reference.Network(b.model()).run({"x": image}, all_tensors=True)
    acc = reference.linear_integer(reference.quantize(image, X), [117], values, None)
    exact = acc * (f32(0.03) * scale).astype(np.float64) + tensors[bias]  # exact in f64
    np.testing.assert_array_equal(tensors[real], exact.astype(f32))


def test_float_bias_is_rounded_with_the_product():
    """[N.float_bias] against exact arithmetic: one rounding of product and bias, none of the bias to the scale of the sums."""
    rng = np.random.default_rng(3)
    acc, skip = rng.integers(-20000, 20000, (64, 16)), rng.integers(0, 256, (64, 16))
    scale, bias = rng.uniform(1e-4, 2e-4, 16).astype(f32), rng.normal(size=16).astype(f32)
    multiplier, addend = (scale / Y.scale).astype(np.float64), (bias / Y.scale).astype(np.float64)
    products = (acc * multiplier + addend).astype(f32)
    np.testing.assert_array_equal(reference.requantize(acc, scale, Y, 1, bias), np.clip(np.rint(products), -40, 215) + 40)
    factor = np.float64(f32(0.0285) / Y.scale[0])
    sums = (acc * multiplier + ((skip - 93) * factor + addend).astype(f32)).astype(f32)
    wanted = np.clip(np.rint(sums), -40, 215) + 40
    np.testing.assert_array_equal(reference.residual(acc, scale, skip, QParams(0.0285, 93), Y, 1, bias), wanted)
    wide = scale * 400  # about a step of the result
    integers = reference.quantize_bias(bias, wide)
    assert np.any(reference.requantize(acc // 400 + integers, wide, Y, 1) != reference.requantize(acc // 400, wide, Y, 1, bias))


@pytest.mark.parametrize("kind, rank", [("Gemm", 2), ("MatMul", 2), ("MatMul", 3)])
def test_linear(kind, rank):
    b, shape = Builder(), (3, 8) if rank == 2 else (2, 3, 8)
    x = b.qdq(b.input("x", *shape), 0.03, 117)
    filters, values, scale = b.weight(5, 8)
    bias, bias_values = b.bias(scale * f32(0.03))
    if kind == "Gemm":
        real = b.node("Gemm", x, filters, bias, transB=1)
    else:
        real = b.node("Add", bias, b.node("MatMul", x, b.node("Transpose", filters, perm=[1, 0])))
    name = b.output(b.quantize(real, 0.02, 99))
    image = b.rng.normal(size=shape).astype(f32)
    acc = reference.linear_integer(reference.quantize(image, X), [117], values, bias_values)
    wanted = reference.requantize(acc, f32(0.03) * scale, QParams(0.02, 99), rank - 1)
    np.testing.assert_array_equal(reference.Network(b.model()).run({"x": image})[name], wanted)


def test_float_linear_ends_with_its_bias():
    b = Builder()
    matrix, bias = b.rng.normal(size=(8, 5)).astype(f32), b.rng.normal(size=5).astype(f32)
    name = b.output(b.node("Add", b.node("MatMul", b.input("x", 1, 3, 8), matrix), bias), 1)
    image = b.rng.normal(size=(1, 3, 8)).astype(f32)
    np.testing.assert_array_equal(reference.Network(b.model()).run({"x": image})[name], reference.linear(image, matrix.T, bias))


# Against onnxruntime: dequantize, operator, quantize. The law's sums round elsewhere, so ties may fall apart by one step.

def _conv(b, x):
    filters, _, scale = b.weight(6, 4, 3, 2)
    return b.node("Conv", x, filters, b.bias(scale * f32(0.03))[0], pads=[1, 0, 2, 1], strides=[2, 1], dilations=[1, 2])


def _depthwise(b, x):
    return b.node("Conv", x, b.weight(8, 1, 3, 3)[0], group=4)


def _gemm(b, x):
    return b.node("Gemm", b.node("Flatten", x), b.weight(7, 4 * 64)[0], transB=1)


OPERATORS = {
    "conv": _conv, "depthwise": _depthwise, "gemm": _gemm,
    "residual": lambda b, x: b.node("Add", b.node("Conv", x, b.weight(4, 4, 1, 1)[0]), x),
    "silu": lambda b, x: b.node("Mul", x, b.node("Sigmoid", x)),
    "hard_swish": lambda b, x: b.node("HardSwish", x),
    "hard_sigmoid": lambda b, x: b.node("HardSigmoid", x, alpha=0.3, beta=0.4),
    "sigmoid": lambda b, x: b.node("Sigmoid", x), "tanh": lambda b, x: b.node("Tanh", x),
    "exp": lambda b, x: b.node("Exp", x), "sqrt": lambda b, x: b.node("Sqrt", b.node("Relu", x)),
    "erf": lambda b, x: b.node("Erf", x), "softplus": lambda b, x: b.node("Softplus", x),
    "elu": lambda b, x: b.node("Elu", x, alpha=0.7), "leaky_relu": lambda b, x: b.node("LeakyRelu", x, alpha=0.2),
    "clip": lambda b, x: b.node("Clip", x, f32(-1), f32(1.3)),
    "sub": lambda b, x: b.node("Sub", x, f32([[[[0.5]], [[1]], [[2]], [[3]]]])), "mul": lambda b, x: b.node("Mul", x, x),
    "div": lambda b, x: b.node("Div", x, f32(1.7)),
    "softmax": lambda b, x: b.node("Softmax", x, axis=1),
    "softmax of rows": lambda b, x: b.node("Softmax", b.node("Reshape", x, np.array([0, -1])), axis=-1),
    "max_pool": lambda b, x: b.node("MaxPool", x, kernel_shape=[3, 2], pads=[1, 0, 1, 1], strides=[2, 2]),
    "average_pool": lambda b, x: b.node("AveragePool", x, kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]),
    "average_pool with padding": lambda b, x: b.node("AveragePool", x, kernel_shape=[3, 2], pads=[1, 0, 1, 1], count_include_pad=1),
    "global_average_pool": lambda b, x: b.node("GlobalAveragePool", x),
    "reduce_mean": lambda b, x: b.node("ReduceMean", x, np.array([2, 3]), keepdims=0),
    "reduce_mean of channels": lambda b, x: b.node("ReduceMean", x, np.array([1])),
    "concat": lambda b, x: b.node("Concat", x, b.node("Neg", x), axis=1),
    "pad": lambda b, x: b.node("Pad", x, np.array([0, 0, 1, 2, 0, 1, 0, 3]), f32(0.4)),
    "slice": lambda b, x: b.node("Slice", x, np.array([-1, 1]), np.array([-100, 7]), np.array([1, 3]), np.array([-1, 2])),
    "transpose": lambda b, x: b.node("Transpose", x, perm=[0, 2, 3, 1]),
    "squeeze": lambda b, x: b.node("Unsqueeze", b.node("Squeeze", x, np.array([0])), np.array([1, 3])),
    "resize": lambda b, x: b.node("Resize", x, "", f32([1, 1, 2, 2]), mode="nearest", nearest_mode="floor",
                                  coordinate_transformation_mode="asymmetric"),
    "resize half pixel": lambda b, x: b.node("Resize", x, "", f32([1, 1, 1.5, 0.6]), mode="nearest"),
    "resize linear": lambda b, x: b.node("Resize", x, "", f32([1, 1, 2, 1.5]), mode="linear"),
    "resize linear to sizes": lambda b, x: b.node("Resize", x, "", "", np.array([1, 4, 5, 13]), mode="linear",
                                                  coordinate_transformation_mode="align_corners"),
    "batch_norm": lambda b, x: b.node("BatchNormalization", x, *(b.rng.uniform(0.5, 2, 4).astype(f32) for _ in range(4))),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operator_in_onnxruntime(name):
    b = Builder(seed=len(name))
    real = OPERATORS[name](b, b.qdq(b.input("x", 1, 4, 8, 8), 0.03, 117))
    image = b.rng.normal(size=(1, 4, 8, 8)).astype(f32) * 2
    b.output(real, 1)
    low, high = (np.max(sign * reference.Network(b.model()).run({"x": image})[real]) for sign in (-1, 1))
    scale, zero = reference.qparams(-low, high)
    quantized = b.output(b.quantize(real, scale, zero))
    model = b.model()
    got, wanted = reference.Network(model).run({"x": image})[quantized], run_onnxruntime(model, {"x": image})[quantized]
    difference = np.abs(got.astype(int) - wanted.astype(int))
    assert got.shape == wanted.shape and len(np.unique(got)) > (3 if got.size < 9 else 6)
    assert difference.max() <= 1 and np.count_nonzero(difference) <= max(1, got.size // 100)


def test_float_network_in_onnxruntime():
    b = Builder()
    x = b.input("x", 1, 3, 9, 9)
    h = b.node("Conv", x, b.rng.normal(size=(8, 3, 3, 3)).astype(f32), b.rng.normal(size=8).astype(f32), pads=[1] * 4)
    h = b.node("MaxPool", b.node("Relu", h), kernel_shape=[2, 2], strides=[2, 2])
    h = b.node("Gemm", b.node("Flatten", b.node("GlobalAveragePool", h)), b.rng.normal(size=(8, 4)).astype(f32))
    name = b.output(b.node("Softmax", h), 1)
    model, image = b.model(), b.rng.normal(size=(1, 3, 9, 9)).astype(f32)
    np.testing.assert_allclose(reference.Network(model).run({"x": image})[name], run_onnxruntime(model, {"x": image})[name], atol=1e-6)


def test_missing_input_is_named():
    b = Builder()
    b.output(b.node("Relu", b.input("x", 1)), 1)
    with pytest.raises(ValueError, match="missing inputs: \\['x'\\]"):
        reference.Network(b.model()).run({})


def test_unknown_operator_is_named():
    b = Builder()
    b.output(b.node("Acos", b.input("x", 1)), 1)
    with pytest.raises(NotImplementedError, match="t0: operator Acos"):
        reference.Network(b.model()).run({"x": np.zeros(1, f32)})
