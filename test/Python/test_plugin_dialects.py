# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks of TOSA, linalg and a dialect that nobody registered, prepared, calibrated and converted by a stock mlir-opt with the plugin.

All numbers are multiples of 1/8 and sums are small: arithmetic in f32 is exact in any order, so that ranges, scales and zero points equal
those of NumPy bit for bit. The reference models are run on other samples, and NumPy computes them in f64: sums differ in their last bits, which
no value of these samples is close enough to a tie to show.
"""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from stock_opt import dense, insert

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "Reference"))
from octet_reference.quantization import QParams, accumulator_scale, dequantize, qparams, quantize, quantize_bias, quantize_weight  # noqa: E402

DIALECTS = ROOT / "test" / "Inputs" / "dialects"


def eighths(seed, *shape, low=-8, high=9):
    return (np.random.RandomState(seed).randint(low, high, shape) / 8).astype(np.float32)


def prepare(stock, network, backend):
    return stock.run(network, f"octet-attach-policy{{backend={DIALECTS / backend}}},octet-lint-backend,octet-fuse,octet-prepare")


def read_activations(text):
    """Scale and zero point of every octet.quantize, in the order of the program."""
    found = re.findall(r"octet\.quantize .*?!quant\.uniform<u8:f32, ([-+.e0-9]+)(?::(-?\d+))?>", text)
    return [(np.float32(scale), int(zero or 0)) for scale, zero in found]


def of_range(*arrays):
    low, high = min(a.min() for a in arrays), max(a.max() for a in arrays)
    scale, zero = qparams(low, high)
    return np.float32(scale), int(zero)


def read_integers(text, name):
    """The bytes of a resource."""
    blob = re.search(rf'\b{re.escape(name)}: "0x[0-9A-F]{{8}}([0-9A-F]*)"', text)[1]
    return np.frombuffer(bytes.fromhex(blob), np.int8)


def params_of(weights, axis):
    """[N.qparams]: symmetric, one scale per channel, integers from -127 to 127."""
    largest = np.abs(np.moveaxis(weights, axis, 0).reshape(weights.shape[axis], -1)).max(axis=1)
    scales = np.array([qparams(-m, m, -127, 127, symmetric=True)[0] for m in largest], np.float32)
    return QParams(scales, 0, -128, 127, axis)


def of_weights(weights, axis):
    return quantize_weight(weights, params_of(weights, axis)).astype(np.int8)


def rounded_weights(weights, axis):
    """Weights as the reference model has them."""
    params = params_of(weights, axis)
    return dequantize(quantize_weight(weights, params), params).astype(np.float64)


def rounded_bias(bias, activation, weights, axis):
    """[N.bias]"""
    scale = accumulator_scale(activation[0], params_of(weights, axis).scale)
    return (quantize_bias(bias, scale).astype(np.float32) * scale).astype(np.float64)


def rounded(x, activation):
    """A value behind its quantize and dequantize."""
    params = QParams(*activation)
    return dequantize(quantize(x.astype(np.float32), params), params).astype(np.float64)


# A block of MobileNet in TOSA


def conv1x1(x, w, b):
    return np.einsum("nhwc,oc->nhwo", x, w[:, 0, 0]) + b


def depthwise3x3(x, w, b):
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    n, h, width, c = x.shape
    return sum(padded[:, i : i + h, j : j + width] * w[i, j, :, 0] for i in range(3) for j in range(3)) + b


class Block:
    w1, b1, w2 = eighths(1, 8, 1, 1, 4), eighths(2, 8), eighths(3, 3, 3, 8, 1)
    w3, b3 = eighths(4, 4, 1, 1, 8), eighths(5, 4)

    def values(self, x):
        """Those that are observed, in order."""
        a = np.clip(conv1x1(x, self.w1, self.b1), 0, 6)
        b = np.clip(depthwise3x3(a, self.w2, self.b1), 0, 6)
        c = conv1x1(b, self.w3, self.b3)
        d = c + x
        return x, a, b, c, d, d.mean(axis=(1, 2), keepdims=True)

    def reference(self, x, ranges):
        """The reference model, given scale and zero point of every value."""
        of_x, of_a, of_b, of_c, of_sum = ranges
        x = rounded(x, of_x)
        a = conv1x1(x, rounded_weights(self.w1, 0), rounded_bias(self.b1, of_x, self.w1, 0))
        a = rounded(np.clip(a, 0, 6), of_a)
        b = depthwise3x3(a, rounded_weights(self.w2, 2), rounded_bias(self.b1, of_a, self.w2, 2))
        b = rounded(np.clip(b, 0, 6), of_b)
        c = rounded(conv1x1(b, rounded_weights(self.w3, 0), rounded_bias(self.b3, of_b, self.w3, 0)), of_c)
        return rounded(rounded(c + x, of_sum).mean(axis=(1, 2)), of_sum)

    def text(self):
        constants = "\n".join(
            f'  %{name} = "tosa.const"() {{values = {dense(array)}}} : () -> {dense(array).rsplit(": ")[-1]}'
            for name, array in dict(w1=self.w1, b1=self.b1, w2=self.w2, w3=self.w3, b3=self.b3, z=np.zeros(1, np.float32)).items()
        )
        window = "acc_type = f32, dilation = array<i64: 1, 1>, stride = array<i64: 1, 1>"
        x, wide = "tensor<1x4x4x4xf32>", "tensor<1x4x4x8xf32>"
        return f"""module {{
func.func @net(%x: {x}) -> tensor<1x4xf32> {{
{constants}
  %0 = tosa.conv2d %x, %w1, %b1, %z, %z {{{window}, pad = array<i64: 0, 0, 0, 0>}} : ({x}, tensor<8x1x1x4xf32>, tensor<8xf32>, tensor<1xf32>, tensor<1xf32>) -> {wide}
  %1 = tosa.clamp %0 {{min_val = 0.0 : f32, max_val = 6.0 : f32}} : ({wide}) -> {wide}
  %2 = tosa.depthwise_conv2d %1, %w2, %b1, %z, %z {{{window}, pad = array<i64: 1, 1, 1, 1>}} : ({wide}, tensor<3x3x8x1xf32>, tensor<8xf32>, tensor<1xf32>, tensor<1xf32>) -> {wide}
  %3 = tosa.clamp %2 {{min_val = 0.0 : f32, max_val = 6.0 : f32}} : ({wide}) -> {wide}
  %4 = tosa.conv2d %3, %w3, %b3, %z, %z {{{window}, pad = array<i64: 0, 0, 0, 0>}} : ({wide}, tensor<4x1x1x8xf32>, tensor<4xf32>, tensor<1xf32>, tensor<1xf32>) -> {x}
  %5 = tosa.add %4, %x : ({x}, {x}) -> {x}
  %6 = tosa.avg_pool2d %5, %z, %z {{acc_type = f32, kernel = array<i64: 4, 4>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 4, 4>}} : ({x}, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x1x4xf32>
  %s = tosa.const_shape {{values = dense<[1, 4]> : tensor<2xindex>}} : () -> !tosa.shape<2>
  %7 = tosa.reshape %6, %s : (tensor<1x1x1x4xf32>, !tosa.shape<2>) -> tensor<1x4xf32>
  return %7 : tensor<1x4xf32>
}}
}}
"""


TOSA_TO_BUFFERS = "func.func(tosa-to-linalg-named,tosa-to-linalg,tosa-to-arith,tosa-to-tensor),canonicalize,"


def test_a_block_of_mobilenet_in_tosa(stock):
    block = Block()
    samples = [eighths(seed, 1, 4, 4, 4, low=-16, high=17) for seed in range(10, 18)]
    prepared = prepare(stock, block.text(), "tosa.mlir")
    assert prepared.count("octet.group") == 2 and prepared.count("octet.observer @") == 8
    calibrated = stock.calibrate(prepared, samples, TOSA_TO_BUFFERS)
    reference = stock.run(calibrated, "octet-convert")
    of_x, a, b, c, d, _ = [of_range(*seen) for seen in zip(*map(block.values, samples))]
    shared = of_range(*[v for sample in samples for v in block.values(sample)[4:]])
    # The pool and the reshape share the observer of the sum.
    assert read_activations(reference) == [of_x, a, b, c, shared, shared, shared] and d == shared
    for name, weights, axis in ("constant.i8", block.w1, 0), ("constant.i8_1", block.w2, 2), ("constant.i8_2", block.w3, 0):
        assert np.array_equal(read_integers(reference, name), of_weights(weights, axis).ravel()), name
    assert "octet.observe" not in reference
    quant = stock.run(reference, "octet-to-quant")
    for seed in range(3):
        x = eighths(100 + seed, 1, 4, 4, 4, low=-20, high=21)
        assert np.array_equal(stock.evaluate(quant, x, (1, 4), TOSA_TO_BUFFERS), block.reference(x, (of_x, a, b, c, shared)))


# linalg on tensors


class Layers:
    w1, b1, w2 = eighths(21, 4, 8), eighths(22, 8), eighths(23, 8, 4)

    def values(self, x):
        a = np.maximum(x @ self.w1 + self.b1, 0)
        b = a @ self.w2
        return x, a, b, b + x

    def reference(self, x, ranges):
        x = rounded(x, ranges[0])
        a = rounded(np.maximum(x @ rounded_weights(self.w1, 1) + self.b1, 0), ranges[1])
        return rounded(rounded(a @ rounded_weights(self.w2, 1), ranges[2]) + x, ranges[3])

    def text(self):
        return f"""
#map = affine_map<(i, j) -> (i, j)>
func.func @net(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {{
  %zero = arith.constant 0.0 : f32
  %w1 = arith.constant {dense(self.w1)}
  %b1 = arith.constant {dense(self.b1)}
  %w2 = arith.constant {dense(self.w2)}
  %e1 = tensor.empty() : tensor<2x8xf32>
  %i1 = linalg.broadcast ins(%b1 : tensor<8xf32>) outs(%e1 : tensor<2x8xf32>) dimensions = [0]
  %0 = linalg.matmul ins(%x, %w1 : tensor<2x4xf32>, tensor<4x8xf32>) outs(%i1 : tensor<2x8xf32>) -> tensor<2x8xf32>
  %1 = linalg.generic {{indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}}
    ins(%0 : tensor<2x8xf32>) outs(%e1 : tensor<2x8xf32>) {{
  ^bb0(%a: f32, %out: f32):
    %m = arith.maximumf %a, %zero : f32
    linalg.yield %m : f32
  }} -> tensor<2x8xf32>
  %e2 = tensor.empty() : tensor<2x4xf32>
  %i2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = linalg.matmul ins(%1, %w2 : tensor<2x8xf32>, tensor<8x4xf32>) outs(%i2 : tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = linalg.add ins(%2, %x : tensor<2x4xf32>, tensor<2x4xf32>) outs(%e2 : tensor<2x4xf32>) -> tensor<2x4xf32>
  return %3 : tensor<2x4xf32>
}}
"""


def test_layers_in_linalg(stock):
    layers = Layers()
    samples = [eighths(seed, 2, 4, low=-16, high=17) for seed in range(30, 38)]
    prepared = prepare(stock, layers.text(), "linalg.mlir")
    assert prepared.count("octet.group") == 1
    reference = stock.run(stock.calibrate(prepared, samples), "octet-convert")
    ranges = [of_range(*seen) for seen in zip(*map(layers.values, samples))]
    assert read_activations(reference) == ranges
    for name, weights in ("constant.i8", layers.w1), ("constant.i8_1", layers.w2):
        assert np.array_equal(read_integers(reference, name), of_weights(weights, 1).ravel()), name
    # Destinations are neither observed nor quantized.
    assert reference.count("octet.quantize") == 4
    quant = stock.run(reference, "octet-to-quant")
    for seed in range(3):
        x = eighths(110 + seed, 2, 4, low=-20, high=21)
        assert np.array_equal(stock.evaluate(quant, x, (2, 4)), layers.reference(x, ranges))


# A dialect that nobody registered


class Toys:
    w1, w2 = eighths(41, 6, 4), eighths(42, 4, 6)

    def values(self, x):
        a = np.maximum(x @ self.w1.T, 0)
        left, right = a[:, :2], a[:, 2:]
        joined = np.concatenate([right, left], axis=1)
        b = joined @ self.w2.T
        return x, a, b, b + x

    def reference(self, x, ranges):
        x = rounded(x, ranges[0])
        a = rounded(np.maximum(x @ rounded_weights(self.w1, 0).T, 0), ranges[1])
        joined = np.concatenate([a[:, 2:], a[:, :2]], axis=1)
        return rounded(rounded(joined @ rounded_weights(self.w2, 0).T, ranges[2]) + x, ranges[3])

    def text(self):
        return f"""
func.func @net(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {{
  %w1 = arith.constant {dense(self.w1)}
  %w2 = arith.constant {dense(self.w2)}
  %0 = "toy.dense"(%x, %w1) : (tensor<3x4xf32>, tensor<6x4xf32>) -> tensor<3x6xf32>
  %1 = "toy.relu"(%0) : (tensor<3x6xf32>) -> tensor<3x6xf32>
  %2:2 = "toy.split"(%1) : (tensor<3x6xf32>) -> (tensor<3x2xf32>, tensor<3x4xf32>)
  %3 = "toy.concat"(%2#1, %2#0) : (tensor<3x4xf32>, tensor<3x2xf32>) -> tensor<3x6xf32>
  %4 = "toy.dense"(%3, %w2) : (tensor<3x6xf32>, tensor<4x6xf32>) -> tensor<3x4xf32>
  %5 = "toy.add"(%4, %x) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %5 : tensor<3x4xf32>
}}
"""

    def compile(self, text):
        """The toy's own compiler: operators become calls of functions in linalg."""
        functions = []

        def call(match):
            results, name, operands, inputs, outputs = match.groups()
            functions.append(self.function(f"toy{len(functions)}", name, inputs, outputs))
            return f"{results} = func.call @toy{len(functions) - 1}({operands}) : ({inputs}) -> {outputs}"

        text = re.sub(r'(%\S+) = "toy\.(\w+)"\((.*?)\) : \((.*?)\) -> (.*)', call, text)
        return insert(text, "".join(functions))

    def function(self, symbol, name, inputs, outputs):
        types = inputs.split(", ")
        arguments = ", ".join(f"%{i}: {type}" for i, type in enumerate(types))
        result = outputs.strip("()")
        empty = f"%e = tensor.empty() : {result}\n"
        zero = f"%z = arith.constant dense<0.0> : {result}\n"
        body = {
            "dense": f"{zero}%t0 = tensor.empty() : {self.transposed(types[-1])}\n"
            f"%t = linalg.transpose ins(%1 : {types[-1]}) outs(%t0 : {self.transposed(types[-1])}) permutation = [1, 0]\n"
            f"%r = linalg.matmul ins(%0, %t : {types[0]}, {self.transposed(types[-1])}) outs(%z : {result}) -> {result}",
            "relu": f"{zero}{empty}%r = linalg.max ins(%0, %z : {result}, {result}) outs(%e : {result}) -> {result}",
            "add": f"{empty}%r = linalg.add ins(%0, %1 : {result}, {result}) outs(%e : {result}) -> {result}",
            "split": "%r = tensor.extract_slice %0[0, 0] [3, 2] [1, 1] : tensor<3x6xf32> to tensor<3x2xf32>\n"
            "%s = tensor.extract_slice %0[0, 2] [3, 4] [1, 1] : tensor<3x6xf32> to tensor<3x4xf32>",
            "concat": f"%r = tensor.concat dim(1) %0, %1 : ({inputs}) -> {result}",
        }[name]
        returned = "%r, %s" if name == "split" else "%r"
        return f"func.func private @{symbol}({arguments}) -> {outputs} {{\n{body}\nreturn {returned} : {result}\n}}\n"

    @staticmethod
    def transposed(type):
        rows, columns = re.match(r"tensor<(\d+)x(\d+)xf32>", type).groups()
        return f"tensor<{columns}x{rows}xf32>"


def test_a_dialect_that_nobody_registered(stock):
    toys = Toys()
    samples = [eighths(seed, 3, 4, low=-16, high=17) for seed in range(50, 58)]
    prepared = prepare(stock, toys.text(), "toy.mlir")
    calibrated = stock.calibrate(prepared, samples, rewrite=toys.compile)
    reference = stock.run(calibrated, "octet-convert")
    x, a, b, c = [of_range(*seen) for seen in zip(*map(toys.values, samples))]
    # Both parts of the split and what joins them share the observer of the whole.
    assert read_activations(reference) == [x, a, a, a, a, b, c]
    for name, weights in ("constant.i8", toys.w1), ("constant.i8_1", toys.w2):
        assert np.array_equal(read_integers(reference, name), of_weights(weights, 0).ravel()), name
    quant = stock.run(reference, "octet-to-quant")
    for seed in range(3):
        sample = eighths(120 + seed, 3, 4, low=-20, high=21)
        assert np.array_equal(stock.evaluate(quant, sample, (3, 4), rewrite=toys.compile), toys.reference(sample, (x, a, b, c)))


@pytest.mark.parametrize("backend", sorted(path.name for path in DIALECTS.glob("*.mlir")))
def test_a_backend_is_short(backend):
    assert len((DIALECTS / backend).read_text().splitlines()) < 60
