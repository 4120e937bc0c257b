# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps of random networks through operators of 8-bit integers, as files have them that are quantized already. They start from the network's
input, which is the same number in onnxruntime, and scales are random, so that no value lies in the middle between two integers."""
from __future__ import annotations

import numpy as np
from onnx import TensorProto

f32 = np.float32
MICROSOFT = {"domain": "com.microsoft"}


class Quantized:
    """Random scales and zero points of a type, and the network's input in it."""

    def __init__(self, net):
        self.net, self.shape = net, net.input_shape
        self.dtype = net.one_of(np.uint8, np.int8)
        self.scale, self.zero = self.of(0.02, 0.04)
        self.scale_out, self.zero_out = self.of(0.04, 0.08)

    def of(self, low, high):
        middle = 128 if self.dtype is np.uint8 else 0
        return f32(self.net.rng.uniform(low, high)), self.dtype(middle + self.net.rng.integers(-20, 20))

    def read(self, **domain):
        return self.net.inner("QuantizeLinear", ["x", self.scale, self.zero], **domain)

    def weight(self, *shape):
        """Signed weights around 0, or unsigned ones."""
        if self.dtype is np.uint8 and self.net.often(0.3):
            return self.net.rng.integers(0, 256, shape).astype(np.uint8), self.net.one_of(np.uint8(128), np.uint8(119))
        return self.net.rng.integers(-127, 128, shape).astype(np.int8), np.int8(0)

    def other(self):
        """A constant of the input's shape or one that broadcasts, with scale and zero point."""
        low = 0 if self.dtype is np.uint8 else -128
        shape = self.shape if self.net.often(0.5) else [1] * (len(self.shape) - 1) + self.shape[-1:]
        return [self.net.rng.integers(low, low + 256, shape).astype(self.dtype), *self.of(0.02, 0.04)]

    def write(self, integers, **domain):
        return self.net.add("DequantizeLinear", [integers, self.scale_out, self.zero_out], **domain)


def pairs(net, of):
    """A convolution or product between DequantizeLinear and QuantizeLinear, or just the pair."""
    value = net.inner("DequantizeLinear", [of.read(), of.scale, of.zero])
    if len(of.shape) == 4 and net.often(0.7):
        outputs = net.one_of(1, 8, 20)
        weights, axis = net.rng.integers(-127, 128, (outputs, of.shape[1], 1, 1)).astype(np.int8), {}
        scales, zeros = f32(0.01), np.int8(0)
        if net.opset >= 13:
            scales, zeros, axis = net.rng.uniform(0.005, 0.02, outputs).astype(f32), np.zeros(outputs, np.int8), {"axis": 0}
        value = net.inner("Conv", [value, net.inner("DequantizeLinear", [weights, scales, zeros], **axis)])
        value = net.inner("Relu", [value]) if net.often(0.5) else value
    of.write(net.inner("QuantizeLinear", [value, of.scale_out, of.zero_out]))


def microsoft_pair(net, of):
    net.add("DequantizeLinear", [of.read(**MICROSOFT), of.scale, of.zero], **MICROSOFT)


def make_filters(net, of):
    kernel = [net.one_of(1, 3) if size > 3 else 1 for size in of.shape[2:]]
    groups = net.one_of(1, 1, of.shape[1])
    weights, zero = of.weight(groups * net.one_of(1, 4, 8), of.shape[1] // groups, *kernel)
    return weights, zero, {"group": groups, "pads": [net.one_of(0, 1) for _ in kernel * 2], "strides": [net.one_of(1, 2) for _ in kernel]}


def linear_convolution(net, of):
    weights, zero, attributes = make_filters(net, of)
    bias = [net.rng.integers(-3000, 3000, len(weights)).astype(np.int32)] if net.often(0.5) else []
    inputs = [of.read(), of.scale, of.zero, weights, f32(net.rng.uniform(0.005, 0.02)), zero, of.scale_out, of.zero_out, *bias]
    of.write(net.inner("QLinearConv", inputs, **attributes))


def linear_product(net, of):
    weights, zero = of.weight(of.shape[-1], net.one_of(1, 8, 20))
    of.write(net.inner("QLinearMatMul", [of.read(), of.scale, of.zero, weights, f32(net.rng.uniform(0.005, 0.02)), zero, of.scale_out, of.zero_out]))


def integer_convolution(net, of):
    weights, zero, attributes = make_filters(net, of)
    integers, zero_in = of.read(), of.zero
    if net.opset >= 11 and net.often(0.5):
        integers = net.inner("DynamicQuantizeLinear", ["x"], 3)
        scale, zero_in = net.pending[-1].output[1:]
        product = net.inner("Cast", [net.inner("ConvInteger", [integers, weights, zero_in, zero], **attributes)], to=TensorProto.FLOAT)
        net.add("Mul", [product, net.inner("Mul", [scale, f32(0.01)])])
    else:
        net.add("Cast", [net.inner("ConvInteger", [integers, weights, zero_in, zero], **attributes)], to=TensorProto.FLOAT)


def integer_product(net, of):
    weights, zero = of.weight(of.shape[-1], net.one_of(1, 8, 20))
    integers, zero_in, scale = of.read(), of.zero, of.scale
    if net.opset >= 11 and net.often(0.5):
        integers = net.inner("DynamicQuantizeLinear", ["x"], 3)
        scale, zero_in = net.pending[-1].output[1:]
    product = net.inner("Cast", [net.inner("MatMulInteger", [integers, weights, zero_in, zero])], to=TensorProto.FLOAT)
    net.add("Mul", [product, net.inner("Mul", [scale, f32(0.01)])])


def float_product(net, of):
    weights, zero = of.weight(of.shape[-1], net.one_of(1, 8, 20))
    if net.often(0.5):
        net.add("DynamicQuantizeMatMul", ["x", weights, f32(0.01), zero], **MICROSOFT)
    else:
        net.add("MatMulIntegerToFloat", [of.read(), weights, of.scale, f32(0.01), of.zero, zero], **MICROSOFT)


def gemm(net, of):
    weights, zero = of.weight(of.shape[-1], net.one_of(1, 8, 20))
    bias = net.rng.integers(-3000, 3000, weights.shape[1]).astype(np.int32)
    of.write(net.inner("QGemm", [of.read(), of.scale, of.zero, weights, f32(0.01), zero, bias, of.scale_out, of.zero_out], **MICROSOFT))


def binary(net, of):
    operands = net.one_of(lambda a, b: [*a, *b], lambda a, b: [*b, *a])([of.read(), of.scale, of.zero], of.other())
    of.write(net.inner(net.one_of("QLinearAdd", "QLinearMul"), [*operands, of.scale_out, of.zero_out], **MICROSOFT))


def concatenation(net, of):
    integers, scale, zero = of.read(), *of.of(0.02, 0.04)
    again = net.inner("QuantizeLinear", ["x", scale, zero])
    inputs = [of.scale_out, of.zero_out, integers, of.scale, of.zero, again, scale, zero]
    of.write(net.inner("QLinearConcat", inputs, axis=int(net.rng.integers(len(of.shape))), **MICROSOFT))


def pool(net, of):
    if net.often(0.5):
        y = net.inner("QLinearGlobalAveragePool", [of.read(), of.scale, of.zero, of.scale_out, of.zero_out], channels_last=0, **MICROSOFT)
    else:
        y = net.inner("QLinearAveragePool", [of.read(), of.scale, of.zero, of.scale_out, of.zero_out], kernel_shape=[net.one_of(1, 2) for _ in of.shape[2:]], **MICROSOFT)
    of.write(y)


def function(net, of):
    operator, attributes = net.one_of(("QLinearSigmoid", {}), ("QLinearLeakyRelu", {"alpha": 0.1}))
    of.write(net.inner(operator, [of.read(), of.scale, of.zero, of.scale_out, of.zero_out], **attributes, **MICROSOFT))


def between(net, of):
    """Operators of integers, one after the other: of one scale, or with integers of another or a constant."""
    if net.opset < 13:
        return pairs(net, of)
    integers, zero = of.read(), int(of.zero)
    for _ in range(int(net.rng.integers(1, 4))):
        constant = net.rng.integers(zero - 20, zero + 20, [1] * len(of.shape)).astype(of.dtype)
        other = net.one_of(constant, constant, lambda: net.inner("QuantizeLinear", ["x", of.scale, of.zero]), lambda: net.inner("QuantizeLinear", ["x", of.scale_out, of.zero]))
        other = other() if callable(other) else other
        kind = net.one_of("Max", "Min", "Where", "reverse", "Pad", "GatherElements", "Add" if of.dtype is np.uint8 else "Max")
        if kind == "Where":
            integers = net.inner("Where", [net.inner("Greater", ["x", f32(0.3)]), integers, other])
        elif kind == "reverse":
            axis = int(net.rng.integers(len(of.shape)))
            integers = net.inner("Slice", [integers, *(np.array([number], np.int64) for number in (-1, -(2**31), axis, -1))])
        elif kind == "Pad":
            wider, first = net.inner("Pad", [integers, np.array([1] * (2 * len(of.shape)), np.int64), constant.reshape(())]), net.one_of(0, 1)
            integers = net.inner("Slice", [wider, *(np.array([edge] * len(of.shape), np.int64) for edge in (first, first - 2))])
        elif kind == "GatherElements":
            integers = net.inner("GatherElements", [integers, net.rng.integers(0, of.shape[-1], of.shape)], axis=len(of.shape) - 1)
        else:
            integers = net.inner(kind, [integers, other])
    of.write(integers)


# Step, and the ranks of the network's input that it takes.
STEPS = [(pairs, (2, 3, 4)), (microsoft_pair, (2, 3, 4)), (linear_convolution, (4,)), (linear_product, (2, 3, 4)), (integer_convolution, (4,)),
         (integer_product, (2, 3, 4)), (float_product, (2, 3)), (gemm, (2,)), (gemm, (2,)), (binary, (2, 3, 4)), (concatenation, (2, 3, 4)),
         (pool, (4,)), (function, (2, 3, 4)), (between, (2, 3, 4)), (between, (2, 3, 4))]


def quantized(net, _):
    if net.opset >= 10:
        of = Quantized(net)
        net.one_of(*(step for step, ranks in STEPS if len(of.shape) in ranks))(net, of)
