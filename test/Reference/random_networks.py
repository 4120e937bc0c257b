# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random reference models (QDQ) as MLIR text, for comparing compiled code with the law."""

import numpy as np

f32 = np.float32


def number(value):
    return repr(float(value)) if np.isfinite(value) else f"0x{f32(value).view(np.uint32):08X}"


def tensor(shape, element="f32"):
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


def quantized_type(scale, zero, storage="u8", axis=None):
    scales, zeros = np.atleast_1d(f32(scale)), np.atleast_1d(zero)
    pairs = [f"{number(s)}:{z}" for s, z in zip(scales, np.broadcast_to(zeros, scales.shape))]
    return f"!quant.uniform<{storage}:f32, {pairs[0]}>" if axis is None else f"!quant.uniform<{storage}:f32:{axis}, {{{', '.join(pairs)}}}>"


class Value:
    """A real value that was dequantized: its name, shape and parameters."""

    def __init__(self, name, shape, scale, zero):
        self.name, self.shape, self.scale, self.zero = name, shape, scale, zero

    @property
    def type(self):
        return tensor(self.shape)


class Writer:
    """One function @main from one input `x` to `results` by name; values are dequantized between operators."""

    def __init__(self, seed, shape):
        self.rng = np.random.default_rng(seed)
        self.lines, self.count, self.input_shape, self.results = [], 0, shape, {}
        self.value = self.quantize("%x", shape, 0.02, 121)

    def fresh(self):
        self.count += 1
        return f"%v{self.count}"

    def emit(self, text, shape):
        name = self.fresh()
        self.lines.append(f"{name} = {text} -> {tensor(shape)}")
        return name

    def quantize(self, name, shape, scale, zero, axis=None):
        kind, q = tensor(shape, quantized_type(scale, zero, axis=axis)), self.fresh()
        self.lines.append(f"{q} = octet.quantize {name} : ({tensor(shape)}) -> {kind}")
        return Value(self.emit(f"octet.dequantize {q} : ({kind})", shape), shape, scale, zero)

    def constant(self, values, kind):
        name = self.fresh()
        storage = "f32" if values.dtype == f32 else f"i{values.dtype.itemsize * 8}"
        text = np.array2string(values, separator=",", threshold=10**9, max_line_width=10**9,
                               formatter={"float_kind": number}).replace("\n", "")
        result = "" if kind == storage else f" -> {tensor(values.shape, kind)}"
        self.lines.append(f"{name} = nn.constant dense<{text}> : {tensor(values.shape, storage)}{result}")
        return name

    def weight(self, *shape):
        """A dequantized filter and its scales."""
        values = np.clip(np.rint(self.rng.normal(size=shape) * 40), -127, 127).astype(np.int8)
        per_channel = self.rng.random() < 0.7
        scale = self.rng.uniform(0.001, 0.01, shape[0] if per_channel else 1).astype(f32)
        kind = quantized_type(scale, 0, "i8", 0 if per_channel else None)
        name = self.constant(values, kind)
        return self.emit(f"octet.dequantize {name} : ({tensor(shape, kind)})", shape), np.broadcast_to(scale, shape[0]), values

    def bias(self, scale):
        values = self.rng.integers(-5000, 5000, len(scale)).astype(np.int32)
        kind = quantized_type(scale, 0, "i32", 0)
        name = self.constant(values, kind)
        return self.emit(f"octet.dequantize {name} : ({tensor(values.shape, kind)})", values.shape)

    # Operators behind a product: op text with {} for the operand, and whether results are positive.
    ACTIVATIONS = [("nn.relu {0}", True), ("nn.clip {0} min 0.0 max {1}", True), ("nn.silu {0}", False), ("nn.hard_swish {0}", False),
                   ("nn.gelu {0} none", False), ("nn.gelu {0} tanh", False), ("nn.leaky_relu {0} alpha 0.1", False), ("nn.sigmoid {0}", True), ("nn.tanh {0}", False),
                   ("nn.elu {0} alpha 0.5", False), ("nn.hard_sigmoid {0} alpha 0.2 beta 0.5", True),
                   ("nn.clip {0} min -1.0 max {1}", False), ("nn.sqrt {0}", True), ("nn.exp {0}", True)]

    def choose_params(self, spread, positive):
        """Parameters that use most of the 256 values without saturating everything."""
        return f32(spread / (60 if positive else 40) * self.rng.uniform(0.7, 1.4)), 0 if positive else int(self.rng.integers(90, 160))

    def finish_product(self, product, operands, shape, spread, skip=None, channels=None):
        """A group of the product, maybe a residual and an activation; quantized per tensor or, for `channels`, per channel.

        `spread` is about the standard deviation of the product's real result; `product` is its text behind the operands.
        """
        rng, activation, positive = self.rng, None, False
        if rng.random() < 0.75:
            text, positive = self.ACTIVATIONS[rng.integers(len(self.ACTIVATIONS))]
            activation = text.replace("{1}", number(f32(spread * 1.5)))
        if activation and any(name in activation for name in ("sigmoid", "nn.tanh", "nn.erf")):
            spread = 0.5
        leaves = operands + ([skip] if skip else [])
        arguments = ", ".join(f"%a{i} = {leaf.name if isinstance(leaf, Value) else leaf[0]}" for i, leaf in enumerate(leaves))
        types = ", ".join(leaf.type if isinstance(leaf, Value) else leaf[1] for leaf in leaves)
        kind = tensor(shape)
        product_types = ", ".join(leaf.type if isinstance(leaf, Value) else leaf[1] for leaf in operands)
        body = [f"%p = {product.format(', '.join(f'%a{i}' for i in range(len(operands))))} : ({product_types}) -> {kind}"]
        last = "%p"
        if skip:
            pair = ["%p", f"%a{len(operands)}"][:: rng.choice([1, -1])]
            body.append(f"%s = nn.add {pair[0]}, {pair[1]} : ({kind}, {kind}) -> {kind}")
            last = "%s"
        if activation:
            body.append(f"%t = {activation.replace('{0}', last)} : ({kind}) -> {kind}")
            last = "%t"
        name = self.fresh()
        self.lines.append(f'{name} = octet.group({arguments}) : ({types}) -> {kind} {{')
        self.lines += ["  " + line for line in body] + [f"  octet.yield {last} : {kind}", "}"]
        scale, zero = self.choose_params(spread, positive)
        if channels:
            scale = (scale * rng.uniform(0.5, 1.5, channels)).astype(f32)
            zero = 0 if positive else rng.integers(90, 160, channels)
            return self.quantize(name, shape, scale, zero, axis=1)
        return self.quantize(name, shape, scale, zero)

    def convolution(self, outputs, kernel, strides=(1, 1), pads=(0, 0, 0, 0), dilations=(1, 1), groups=1, residual=False,
                    channels=False):
        x = self.value
        n, inputs, *size = x.shape
        out = [(size[i] + pads[i] + pads[i + 2] - dilations[i] * (kernel[i] - 1) - 1) // strides[i] + 1 for i in range(2)]
        shape = (n, outputs, *out)
        w, w_scale, values = self.weight(outputs, inputs // groups, *kernel)
        scale = np.repeat(np.atleast_1d(f32(x.scale)), outputs // np.size(x.scale)) * w_scale
        operands = [x, (w, tensor(values.shape))]
        if self.rng.random() < 0.8:
            operands.append((self.bias(scale), tensor((outputs,))))
        text = f"nn.conv {{0}} strides {list(strides)} pads {list(pads)} dilations {list(dilations)} groups {groups}"
        spread = float(np.mean(scale)) * 1800 * np.sqrt(inputs // groups * kernel[0] * kernel[1])
        skip = None
        if residual and np.size(x.scale) == 1 and np.prod(shape) < 4000:
            name = self.emit(f"nn.neg {x.name} : ({x.type})", x.shape) if shape == x.shape else self.constant(
                self.rng.normal(size=shape).astype(f32), "f32")
            skip = self.quantize(name, shape, x.scale, 128)
        self.value = self.finish_product(text, operands, shape, spread, skip, outputs if channels else None)

    def linear(self, outputs):
        x = self.value
        w, w_scale, values = self.weight(outputs, x.shape[-1])
        scale = f32(x.scale) * w_scale
        operands = [x, (w, tensor(values.shape)), (self.bias(scale), tensor((outputs,)))]
        self.value = self.finish_product("nn.linear {0}", operands, (*x.shape[:-1], outputs),
                                         float(np.mean(scale)) * 1800 * np.sqrt(x.shape[-1]))

    def apply(self, text, shape, same=True, scale=None, zero=None, quantize=True):
        """One operator of the value: `text` with {0} for it."""
        x = self.value
        name = self.emit(f"{text.replace('{0}', x.name)} : ({', '.join([x.type] * text.count('{0}'))})", shape)
        if quantize:
            self.value = self.quantize(name, shape, x.scale if same else scale, x.zero if same else zero)
        else:
            self.value = Value(name, shape, None, None)

    def text(self):
        results = ", ".join(f'{value.type} {{nn.name = "{name}"}}' for name, value in self.results.items())
        body = "\n  ".join(self.lines)
        return (f'func.func @main(%x: {tensor(self.input_shape)} {{nn.name = "x"}}) -> ({results}) {{\n  {body}\n'
                f"  return {', '.join(v.name for v in self.results.values())} : {', '.join(v.type for v in self.results.values())}\n}}\n")


# ---- operators to choose from ------------------------------------------------------------------------------------------------
def dense_convolution(w):
    kernel = tuple(int(k) for k in w.rng.integers(1, 4, 2)) if w.rng.random() < 0.6 else (1, 1)
    pads = tuple(int(p) for p in w.rng.integers(0, 2, 4))
    strides = tuple(int(s) for s in w.rng.integers(1, 3, 2))
    dilations = tuple(int(d) for d in w.rng.integers(1, 3, 2)) if w.rng.random() < 0.2 else (1, 1)
    if min(w.value.shape[2:]) < 6:
        kernel, pads, strides, dilations = (1, 1), (0, 0, 0, 0), (1, 1), (1, 1)
    outputs = int(w.rng.choice([3, 8, 16, 24, 33, 64, 70]))
    w.convolution(outputs, kernel, strides, pads, dilations, residual=w.rng.random() < 0.3)


def residual_convolution(w):
    w.convolution(w.value.shape[1], (3, 3), pads=(1, 1, 1, 1), residual=True)


def depthwise_convolution(w):
    """Depthwise behind a convolution whose result is quantized per channel."""
    channels = int(w.rng.choice([5, 16, 32, 48, 100]))
    w.convolution(channels, (1, 1), channels=w.rng.random() < 0.7)
    strides = (int(w.rng.integers(1, 3)),) * 2
    kernel = (3, 3) if w.rng.random() < 0.7 else (5, 5)
    pad = tuple(int(p) for p in w.rng.integers(1, 3, 4))
    w.convolution(channels * int(w.rng.choice([1, 1, 1, 2, 3, 4, 8])), kernel, strides, pad, groups=channels)


def grouped_convolution(w):
    w.convolution(24, (1, 1))
    w.convolution(36, (3, 3), pads=(1, 1, 1, 1), groups=6)


def max_pool(w):
    n, c, h, wd = w.value.shape
    w.apply("nn.max_pool {0} kernel [3, 3] strides [2, 2] pads [1, 0, 1, 1]", (n, c, (h - 1) // 2 + 1, (wd - 2) // 2 + 1))


def average_pool(w):
    n, c, h, wd = w.value.shape
    include = " count_include_pad" if w.rng.random() < 0.5 else ""
    w.apply(f"nn.avg_pool {{0}} kernel [3, 2] strides [1, 2] pads [1, 0, 1, 1]{include}", (n, c, h, (wd - 1) // 2 + 1),
            same=False, scale=f32(w.value.scale * 0.6), zero=int(w.rng.integers(90, 160)))


def concatenation(w):
    n, c, h, wd = w.value.shape
    w.apply("nn.concat {0}, {0} axis 1", (n, 2 * c, h, wd))


def slicing(w):
    n, c, h, wd = w.value.shape
    w.apply(f"nn.slice {{0}} starts [0, 0, {h - 1}, 1] sizes [{n}, {c}, {h}, {(wd - 1 + 1) // 2}] steps [1, 1, -1, 2]",
            (n, c, h, (wd - 1 + 1) // 2))


def padding(w):
    n, c, h, wd = w.value.shape
    w.apply("nn.pad {0} low [0, 1, 0, 2] high [0, 0, 1, 1] value 0.25", (n, c + 1, h + 1, wd + 3))


def resizing(w):
    n, c, h, wd = w.value.shape
    w.apply(f"nn.resize {{0}} size [{2 * h}, {2 * wd}] scales [2.0, 2.0] nearest asymmetric floor", (n, c, 2 * h, 2 * wd))


def table(w):
    text = str(w.rng.choice(["nn.sigmoid {0}", "nn.tanh {0}", "nn.silu {0}", "nn.exp {0}", "nn.hard_swish {0}", "nn.elu {0} alpha 0.3",
                             "nn.leaky_relu {0} alpha 0.2"]))
    w.apply(text, w.value.shape, same=False, scale=f32(0.0131), zero=int(w.rng.integers(60, 200)))


def elementwise(w):
    first = w.value
    w.apply("nn.tanh {0}", first.shape, same=False, scale=f32(0.0078), zero=128)
    kind = first.type
    name = w.emit(f"nn.{w.rng.choice(['add', 'sub', 'mul'])} {first.name}, {w.value.name} : ({kind}, {kind})", first.shape)
    if w.rng.random() < 0.5:
        name = w.emit(f"nn.relu {name} : ({kind})", first.shape)
    w.value = w.quantize(name, first.shape, f32(first.scale * 1.3), int(w.rng.integers(60, 200)))


def gate(w, channels, per_channel):
    """Squeeze and excite: the image times a number per channel that comes from its means."""
    w.convolution(channels, (1, 1), channels=per_channel)
    image = w.image = w.value
    n, c, h, wd = image.shape
    w.apply(f"nn.avg_pool {{0}} kernel [{h}, {wd}]", (n, c, 1, 1), same=False, scale=f32(0.02), zero=120)
    w.convolution(channels, (1, 1))
    w.apply("nn.sigmoid {0}", w.value.shape, same=False, scale=f32(1 / 256), zero=0)
    name = w.emit(f"nn.mul {image.name}, {w.value.name} : ({image.type}, {w.value.type})", image.shape)
    w.value = w.quantize(name, image.shape, f32(0.011), int(w.rng.integers(60, 200)))


def float_softmax(w):
    w.apply("nn.softmax {0} axis 1", w.value.shape, same=False, scale=f32(1 / 256), zero=0)


STEPS = [dense_convolution, dense_convolution, residual_convolution, residual_convolution, depthwise_convolution,
         depthwise_convolution, grouped_convolution, max_pool, average_pool, concatenation, slicing, padding, resizing, table,
         elementwise, float_softmax]


def head(w):
    n, c, h, wd = w.value.shape
    if w.rng.random() < 0.5:
        w.apply("nn.reduce_mean {0} axes [2, 3]", (n, c), same=False, scale=f32(w.value.scale * 0.5), zero=120)
    else:
        w.apply(f"nn.reshape {{0}}", (n, c * h * wd))
    w.linear(int(w.rng.choice([2, 10, 37])))
    if w.rng.random() < 0.5:
        w.apply("nn.softmax {0} axis 1", w.value.shape, quantize=False)


def random_network(seed, steps=4):
    """(MLIR text, input shape)"""
    rng = np.random.default_rng(seed)
    shape = (1, int(rng.choice([1, 3, 16, 21])), int(rng.integers(9, 20)), int(rng.integers(9, 20)))
    writer = Writer(seed + 1000, shape)
    for _ in range(steps):
        possible = [s for s in STEPS if np.size(writer.value.scale) == 1 and min(writer.value.shape[2:]) >= 5]
        if not possible or np.prod(writer.value.shape) > 40000:
            break
        possible[rng.integers(len(possible))](writer)
    writer.results["features"] = writer.value
    head(writer)
    writer.results["y"] = writer.value
    return writer.text(), shape
