# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The records of spec/golden/ops.json as reference models in the dialect nn: one function, an input or two and an output each."""
import numpy as np
from test_golden_operators import constant, generate, kind

def real(value):
    """An f32 as text."""
    return repr(float(np.float32(value)))


def stored(scale, zero):
    """The type of PyTorch's quint8 values."""
    return f"!quant.uniform<u8:f32, {real(scale)}:{zero}>"


class Writer:
    """Text of `main`. Values are (name, shape); every result that is quantized goes through `quantize`."""

    def __init__(self):
        self.body, self.arguments, self.results, self.record = [], [], [], ""

    def tensor(self, shape, element="f32"):
        return kind(shape)[:-len("f32>")] + element + ">" if shape else f"tensor<{element}>"

    def emit(self, text, shape):
        name = f"%v{len(self.body)}"
        self.body.append(f"  {name} = {text}")
        return name, tuple(shape)

    def constant(self, array):
        array = np.asarray(array, np.float32)
        return self.emit(constant(array), array.shape)

    def op(self, name, operands, shape, attributes=""):
        """`name`, its operands, attributes with `|` where they stand."""
        origin = f'{{octet.origin = #octet.origin<"{self.record}">}}'
        types = ", ".join(self.tensor(shape) for _, shape in operands)
        names = ", ".join(operand for operand, _ in operands)
        return self.emit(f"{name} {names} {attributes} {origin} : ({types}) -> {self.tensor(shape)}", shape)

    def input(self, spec, scale, zero):
        """The real values of an input that comes in as integers."""
        shape, element = tuple(spec["shape"]), stored(scale, zero)
        name = f"{self.record}_{len(self.arguments)}"
        self.arguments.append((name, shape, element, spec, scale, zero))
        return self.emit(f"octet.dequantize %{name} : ({self.tensor(shape, element)}) -> {self.tensor(shape)}", shape)

    def quantize(self, value, scale, zero):
        name, shape = value
        element = stored(scale, zero)
        return self.emit(f"octet.quantize {name} : ({self.tensor(shape)}) -> {self.tensor(shape, element)}", shape)

    def again(self, value, scale, zero):
        """The value between a quantize and a dequantize."""
        name, shape = self.quantize(value, scale, zero)
        return self.emit(f"octet.dequantize {name} : ({self.tensor(shape, stored(scale, zero))}) -> {self.tensor(shape)}", shape)

    def integers(self, steps, scales):
        """The real values of constant integers, one scale or one for each index of the first dimension."""
        texts = [real(value) for value in scales]
        storage = f"i{8 * steps.itemsize}"
        element = f"!quant.uniform<{storage}:f32, {texts[0]}>" if len(texts) == 1 else f"!quant.uniform<{storage}:f32:0, {{{', '.join(texts)}}}>"
        data = f'dense<"0x{steps.tobytes().hex().upper()}"> : {self.tensor(steps.shape, storage)} -> {self.tensor(steps.shape, element)}'
        name, _ = self.emit(f"nn.constant {data}", steps.shape)
        return self.emit(f"octet.dequantize {name} : ({self.tensor(steps.shape, element)}) -> {self.tensor(steps.shape)}", steps.shape)

    def weight(self, spec, scale, transposed=False):
        """Weights as integers: multiplied by the reciprocal of the scale, as PyTorch does."""
        values, scales = generate(spec), np.asarray(scale, np.float32).reshape(-1)
        inverse = (np.float32(1) / scales).reshape(-1, *[1] * (values.ndim - 1))
        steps = np.clip(np.rint(values * inverse), -128, 127).astype(np.int8)
        if transposed:
            steps = np.ascontiguousarray(steps.transpose(1, 0, 2, 3)[:, :, ::-1, ::-1])
        return self.integers(steps, scales)

    def bias(self, spec, x_scale, w_scale):
        """Integers at the scale of the accumulator [N.bias]."""
        values = generate(spec)
        scales = np.float32(x_scale) * np.asarray(w_scale, np.float32).reshape(-1)
        steps = np.rint(values.astype(np.float64) / scales.astype(np.float64)).astype(np.int32)
        return self.integers(steps, scales)

    def output(self, value, scale, zero):
        name, shape = self.quantize(value, scale, zero)
        self.results.append((self.record, name, shape, stored(scale, zero)))

    def text(self):
        arguments = ", ".join(f'%{name}: {self.tensor(shape, element)} {{nn.name = "{name}"}}'
                              for name, shape, element, *_ in self.arguments)
        results = ", ".join(f'{self.tensor(shape, element)} {{nn.name = "{name}"}}' for name, _, shape, element in self.results)
        returned = ", ".join(value for _, value, _, _ in self.results)
        types = ", ".join(self.tensor(shape, element) for _, _, shape, element in self.results)
        return "\n".join([f"func.func @main({arguments}) -> ({results}) {{", *self.body, f"  return {returned} : {types}", "}"]) + "\n"


def product(w, record):
    x = w.input(record["x"], record["x_scale"], record["x_zp"])
    weight, bias = w.weight(record["w"], record["w_scale"]), w.bias(record["bias"], record["x_scale"], record["w_scale"])
    attributes = ""
    if record["op"].startswith("conv2d"):
        stride, pad, dilation = record["stride"], record["padding"], record["dilation"]
        attributes = f"strides [{stride}, {stride}] pads [{pad}, {pad}, {pad}, {pad}] dilations [{dilation}, {dilation}] groups {record['groups']}"
    y = w.op("nn.conv" if attributes else "nn.linear", [x, weight, bias], record["shape"], attributes)
    return w.op("nn.relu", [y], record["shape"]) if record["op"].endswith("relu") else y


def conv_transpose(w, record):
    """A convolution of the input with zeros in between, with flipped weights."""
    scale, zero = record["x_scale"], record["x_zp"]
    x = w.input(record["x"], scale, zero)
    n, c, height, width = x[1]
    apart = w.again(w.op("nn.reshape", [x], (n, c, height, 1, width, 1)), scale, zero)
    spread = w.again(w.op("nn.pad", [apart], (n, c, height, 2, width, 2), "low [0, 0, 0, 0, 0, 0] high [0, 0, 0, 1, 0, 1]"), scale, zero)
    image = w.again(w.op("nn.reshape", [spread], (n, c, 2 * height, 2 * width)), scale, zero)
    weight = w.weight(record["w"], record["w_scale"], transposed=True)
    size, pad = record["w"]["shape"][2], record["padding"]
    before, behind = size - 1 - pad, size - 1 - pad + record["output_padding"] - 1
    return w.op("nn.conv", [image, weight], record["shape"], f"pads [{before}, {before}, {behind}, {behind}]")


def binary(w, record):
    a = w.input(record["a"], record["a_scale"], record["a_zp"])
    name = record["op"].split("_")[0]
    if "scalar" in record["op"]:
        b = w.constant([record["scalar"]])
    else:
        b = w.input(record["b"], record["b_scale"], record["b_zp"])
    y = w.op(f"nn.{name}", [a, b], record["shape"])
    return w.op("nn.relu", [y], record["shape"]) if "relu" in record["op"] else y


def cat(w, record):
    a = w.input(record["a"], record["a_scale"], record["a_zp"])
    b = w.input(record["b"], record["b_scale"], record["b_zp"])
    return w.op("nn.concat", [a, b], record["shape"], "axis 0")


def batch_norm(w, record, x):
    values = [generate({"seed": seed, "shape": [3], "kind": "uniform", "lo": low, "hi": 1.5})
              for seed, low in ((141, 0.5), (142, -0.5), (143, -0.5), (144, 0.5))]
    return w.op("nn.batch_norm", [x, *map(w.constant, values)], x[1], "epsilon 1.0e-5")


def norm(w, record, x):
    """Means and variances over H and W: all three normalizations of the records."""
    flat = (*x[1][:2], 1, 1)
    mean = w.op("nn.reduce_mean", [x], flat, "axes [2, 3] keep_dims")
    d = w.op("nn.sub", [x, mean], x[1])
    variance = w.op("nn.reduce_mean", [w.op("nn.mul", [d, d], x[1])], flat, "axes [2, 3] keep_dims")
    root = w.op("nn.sqrt", [w.op("nn.add", [variance, w.constant([1e-5])], flat)], flat)
    return w.op("nn.mul", [d, w.op("nn.div", [w.constant([1]), root], flat)], x[1])


def simple(name, attributes=""):
    """An operator of one input whose attributes stand behind it."""
    return lambda w, record, x: w.op(name, [x], record["shape"], attributes)


POOL3 = "kernel [3, 3] strides [2, 2] pads [1, 1, 1, 1]"
CLIP = f"min {real(-0.5)} max {real(0.7)}"
#: The first words of a record's operator, and the operators that it is here.
UNARY = {
    "avg_pool2d k3 s2 p1 count_include_pad=False": simple("nn.avg_pool", POOL3),
    "avg_pool2d k3 s2 p1": simple("nn.avg_pool", POOL3 + " count_include_pad"),
    "avg_pool2d k2 s2 ceil": simple("nn.avg_pool", "kernel [2, 2] strides [2, 2] pads [0, 0, 1, 1]"),
    "avg_pool2d k2 s2": simple("nn.avg_pool", "kernel [2, 2] strides [2, 2]"),
    "adaptive_avg_pool2d 1": simple("nn.avg_pool", "kernel [7, 7]"),
    "adaptive_avg_pool2d 3": simple("nn.avg_pool", "kernel [3, 3] strides [2, 2]"),
    "max_pool2d k3 s2 p1": simple("nn.max_pool", POOL3),
    "relu6": simple("nn.clip", "min 0.0 max 6.0"),
    "relu": simple("nn.relu"),
    "hardtanh -0.5 0.7": simple("nn.clip", CLIP),
    "clamp -0.5 0.7": simple("nn.clip", CLIP),
    "mean dims 2,3": simple("nn.reduce_mean", "axes [2, 3]"),
    "mean all": simple("nn.reduce_mean", "axes [0, 1, 2, 3]"),
    "interpolate nearest x2": simple("nn.resize", "size [14, 14] scales [2.0, 2.0] nearest asymmetric floor"),
    "interpolate bilinear 5x5": simple("nn.resize", f"size [5, 5] scales [{real(5 / 7)}, {real(5 / 7)}] linear half_pixel floor"),
    "sigmoid": simple("nn.sigmoid"),
    "tanh": simple("nn.tanh"),
    "hardsigmoid": simple("nn.hard_sigmoid", f"alpha {real(1 / 6)} beta 0.5"),
    "leaky_relu": simple("nn.leaky_relu", f"alpha {real(0.1)}"),
    "elu": simple("nn.elu", "alpha 1.0"),
    "hardswish": simple("nn.hard_swish"),
    "softmax": simple("nn.softmax", "axis 1"),
    "layer_norm": norm,
    "instance_norm": norm,
    "group_norm": norm,
    "batch_norm2d": batch_norm,
}


def write_record(w, record):
    """The record's operators, or false for one that has none here."""
    op = record["op"]
    if op.startswith("linear_dynamic"):
        return None
    if op.startswith(("linear", "conv2d")):
        return product(w, record)
    if op == "conv_transpose2d":
        return conv_transpose(w, record)
    if op.startswith("matmul"):
        a = w.input(record["a"], record["a_scale"], record["a_zp"])
        b = w.input(record["b"], record["b_scale"], record["b_zp"])
        return w.op("nn.matmul", [a, b], record["shape"])
    if op.startswith(("add", "mul")):
        return binary(w, record)
    if op.startswith("cat"):
        return cat(w, record)
    x = w.input(record["x"], record["x_scale"], record["x_zp"])
    return next(make for name, make in UNARY.items() if op.startswith(name))(w, record, x)


def write(records):
    """The reference model of all records, each with the name `r<index>`."""
    w = Writer()
    for i, record in enumerate(records):
        w.record = f"r{i}"
        value = write_record(w, record)
        if value:
            w.output(value, record["out_scale"], record["out_zp"])
    return w


def integers(spec, scale, zero):
    """The integers that PyTorch makes of an input."""
    steps = np.rint(generate(spec) * (np.float32(1) / np.float32(scale))) + zero
    return np.clip(steps, 0, 255).astype(np.uint8)
