# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the backends of engines ask of epilogues: bounds narrower than a byte, operators on two quantized values behind products, biases in floats."""

import numpy as np
import pytest
import random_networks
from random_networks import number
from test_compiled import check, driver  # noqa: F401


def sum_of_products(writer, operator, clamp, make, zero):
    """Two products, or a product and another value, which an operator of two reads; its result is quantized."""
    first = writer.value
    make()
    other, writer.value = writer.value, first
    make()
    pair = [writer.value, other]
    if writer.rng.random() < 0.5:
        pair.reverse()
    kind, shape = other.type, other.shape
    name = writer.emit(f"nn.{operator} {pair[0].name}, {pair[1].name} : ({kind}, {kind})", shape)
    if clamp:
        name = writer.emit(f"nn.relu {name} : ({kind})", shape)
    scale = np.float32(max(other.scale, pair[0].scale) * (20 if operator == "mul" else 0.9))
    writer.value = writer.quantize(name, shape, scale, zero)


@pytest.mark.parametrize("clamp, zero", [(False, 117), (True, 0), (True, 128)])
@pytest.mark.parametrize("operator", ["add", "sub", "mul"])
def test_operator_behind_products(tool, driver, tmp_path, operator, clamp, zero):  # noqa: F811
    """The product in front computes it, with the bytes of two steps: its own result is rounded and clamped in between."""
    writer = random_networks.Writer(7, (1, 24, 9, 11))
    writer.ACTIVATIONS = [("nn.relu {0}", clamp)]
    for make in (lambda: writer.convolution(24, (3, 3), pads=(1, 1, 1, 1)), lambda: writer.convolution(72, (1, 1)),
                 lambda: writer.convolution(72, (3, 3), groups=72)):
        sum_of_products(writer, operator, clamp, make, zero)
    writer.results["features"] = writer.value
    writer.apply("nn.reshape {0}", (1, int(np.prod(writer.value.shape))))
    sum_of_products(writer, operator, clamp, lambda: writer.linear(20), zero)
    writer.results["y"] = writer.value
    text = writer.text()
    check(tool, driver, tmp_path, text, writer.input_shape, spread=2)
    tool("octet-compile", tmp_path / "model.mlir", "--stop-after=lower", "-o", tmp_path / "lowered.mlirbc")
    assert (tmp_path / "lowered.mlir").read_text().count("= octet.quantize %") == 5  # of the input and of four products


def float_convolution(writer, outputs, kernel, groups=1):
    (images, channels, rows, columns), pad = writer.value.shape, kernel // 2
    filter_shape, shape = (outputs, channels // groups, kernel, kernel), (images, outputs, rows, columns)
    parameters = [writer.constant(writer.rng.normal(size=size).astype(np.float32) / np.float32(kernel), "f32") for size in (filter_shape, outputs)]
    types = f"({writer.value.type}, {random_networks.tensor(filter_shape)}, tensor<{outputs}xf32>)"
    name = writer.emit(f"nn.conv {writer.value.name}, {', '.join(parameters)} pads [{pad}, {pad}, {pad}, {pad}] groups {groups} : {types}", shape)
    writer.value = random_networks.Value(name, shape, None, None)
    return writer.value


@pytest.mark.parametrize("channels", [8, 24, 40])
def test_float_convolutions(tool, driver, tmp_path, channels):  # noqa: F811
    """Behind dense and depthwise ones: an activation of one or two readers, numbers for each channel, and a sum whose result has a border."""
    writer = random_networks.Writer(9, (2, 3, 9, 11))
    writer.lines, writer.value = [], random_networks.Value("%x", writer.input_shape, None, None)

    def emit(operator, *others):
        value = writer.value
        types = ", ".join([value.type] + [kind for _, kind in others])
        operands = ", ".join([value.name] + [name for name, _ in others])
        writer.value = random_networks.Value(writer.emit(f"nn.{operator.format(operands)} : ({types})", value.shape), value.shape, None, None)

    float_convolution(writer, channels, 3)
    emit("relu {0}")
    first = writer.value
    float_convolution(writer, channels, 3, groups=channels)
    emit("hard_swish {0}")
    factors = writer.constant(writer.rng.normal(size=(1, channels, 1, 1)).astype(np.float32), "f32")
    emit("mul {0}", (factors, f"tensor<1x{channels}x1x1xf32>"))
    emit("clip {0} min -0.7 max 3.0")
    float_convolution(writer, channels, 3)
    emit("add {0}", (first.name, first.type))
    float_convolution(writer, channels, 3)
    emit("silu {0}")
    float_convolution(writer, 5, 1)
    emit("relu {0}")
    writer.results["y"] = writer.value
    check(tool, driver, tmp_path, writer.text(), writer.input_shape, options=["--float"])


class BoundedWriter(random_networks.Writer):
    """A clamp to [low, high] steps in front of each quantize; all have the zero point `zero`."""
    clamp = zero_point = None

    def quantize(self, name, shape, scale, zero, axis=None):
        if self.clamp:
            low, high = (number(np.float32(bound * np.max(scale))) for bound in self.clamp)
            name = self.emit(f"nn.clip {name} min {low} max {high} : ({random_networks.tensor(shape)})", shape)
            zero = self.zero_point
        return super().quantize(name, shape, scale, zero, axis)


@pytest.mark.parametrize("activation", [None, "silu {0}", "gelu {0} tanh"])
@pytest.mark.parametrize("zero, clamp", [(128, (0, 200)), (128, (0, 61)), (128, (-40, 300)), (100, (-300, 33)), (0, (0, 77)), (3, (2, 90))])
def test_bounds(tool, driver, tmp_path, zero, clamp, activation):  # noqa: F811
    """Narrower than a byte: from the zero point on, below it, above it, behind products of all kinds, alone or with an epilogue."""
    writer = BoundedWriter(5, (1, 16, 9, 11))
    writer.clamp, writer.zero_point = clamp, zero
    writer.ACTIVATIONS = [("nn." + (activation or "relu {0}"), False)]
    writer.convolution(72, (3, 3), pads=(1, 1, 1, 1))
    writer.convolution(72, (3, 3), groups=72)
    writer.convolution(16, (1, 1))
    writer.convolution(16, (3, 3), pads=(1, 1, 1, 1), residual=True)
    writer.results["features"] = writer.value
    writer.convolution(8, (1, 1))
    writer.convolution(8, (3, 3), groups=8)
    writer.apply("nn.reshape {0}", (1, int(np.prod(writer.value.shape))))
    writer.linear(20)
    writer.results["y"] = writer.value
    check(tool, driver, tmp_path, writer.text(), writer.input_shape, spread=2)


class ShiftedWriter(random_networks.Writer):
    """A number of each channel is taken off in front of every quantize, between two others; as where columns are split."""
    order = ("sub", "max", "min")

    def quantize(self, name, shape, scale, zero, axis=None):
        if np.ndim(scale) == 0:
            channels, own = (shape[1], (shape[1], 1, 1)) if len(shape) == 4 else (shape[-1], (shape[-1],))
            for step in self.order:
                values = self.rng.normal(size=own) * 40 * scale + {"sub": 0, "max": -150, "min": 150}[step] * scale
                values = np.where(self.rng.random(own) < 0.3, {"sub": 0, "max": -np.inf, "min": np.inf}[step], values)
                if step == "max" and "sub" not in self.order:
                    values = values.flat[:1]  # one for all
                constant = self.constant(values.astype(np.float32), "f32")
                name = self.emit(f"nn.{step} {name}, {constant} : ({random_networks.tensor(shape)}, {random_networks.tensor(values.shape)})", shape)
        return super().quantize(name, shape, scale, zero, axis)


@pytest.mark.parametrize("activation", ["silu {0}", "gelu {0} none", "gelu {0} tanh"])
@pytest.mark.parametrize("order", [("sub", "max", "min"), ("max",), ("min", "sub")])
def test_numbers_of_channels_behind_activations(tool, driver, tmp_path, activation, order):  # noqa: F811
    writer = ShiftedWriter(7, (1, 16, 9, 11))
    writer.order, writer.ACTIVATIONS = order, [("nn." + activation, False)]
    writer.convolution(72, (3, 3), pads=(1, 1, 1, 1))
    writer.convolution(72, (3, 3), groups=72)
    writer.convolution(5, (1, 1))
    writer.results["features"] = writer.value
    writer.apply("nn.reshape {0}", (1, int(np.prod(writer.value.shape))))
    writer.linear(40)
    writer.results["y"] = writer.value
    check(tool, driver, tmp_path, writer.text(), writer.input_shape, spread=2)


@pytest.mark.parametrize("activation", [None, "nn.gelu {0} none"])
@pytest.mark.parametrize("rows, columns", [(1, 20), (13, 40), (197, 16)])
def test_residual_of_reals(tool, driver, tmp_path, rows, columns, activation):  # noqa: F811
    """A linear layer whose real results are added to others, by its epilogue; those that are read elsewhere, too."""
    writer = random_networks.Writer(3, (rows, 24))
    residual = writer.emit(f"nn.linear {writer.value.name}, {(w := writer.weight(columns, 24))[0]} : "
                           f"({writer.value.type}, {random_networks.tensor(w[2].shape)})", (rows, columns))
    kind = random_networks.tensor((rows, columns))
    for seed in range(2):
        weight = writer.weight(columns, 24)
        name = writer.emit(f"nn.linear {writer.value.name}, {weight[0]} : ({writer.value.type}, {random_networks.tensor(weight[2].shape)})",
                           (rows, columns))
        if activation:
            name = writer.emit(f"{activation.format(name)} : ({kind})", (rows, columns))
        residual = writer.emit(f"nn.add {residual}, {name} : ({kind}, {kind})", (rows, columns))
        writer.results[f"y{seed}"] = random_networks.Value(residual, (rows, columns), None, None)
    check(tool, driver, tmp_path, writer.text(), writer.input_shape)


class FloatBiases(random_networks.Writer):
    """Biases that are no whole multiples of the scales of sums; some are as large as all results, some beyond them."""
    others = 0  # that are no numbers

    def bias(self, scale):
        spread = self.rng.choice([2000, 30000, 3e9], len(scale), p=[0.8, 0.15, 0.05])
        values = (self.rng.normal(size=len(scale)) * spread * scale).astype(np.float32)
        values[:self.others] = [np.inf, -np.inf, np.nan][:min(self.others, len(scale))]
        return self.constant(values, "f32")


@pytest.mark.parametrize("seed, others", [(10, 0), (11, 0), (12, 0), (13, 0), (15, 0), (16, 0), (10, 3)])
def test_float_biases(tool, driver, tmp_path, monkeypatch, seed, others):  # noqa: F811
    """[N.float_bias] in all forms of products, at all levels."""
    monkeypatch.setattr(random_networks, "Writer", FloatBiases)
    monkeypatch.setattr(FloatBiases, "others", others)
    text, shape = random_networks.random_network(seed)
    check(tool, driver, tmp_path, text, shape, seed)
    tool("octet-compile", tmp_path / "model.mlir", "--stop-after=lower", "-o", tmp_path / "lowered.mlirbc")
    assert "i32:f32" not in (tmp_path / "lowered.mlir").read_text()
