# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps of random networks: functions of bounded values, pools by powers and their inverse, normalizations of newer opsets, and what
onnxruntime's optimizers write; residuals of odd shapes; pairs of elements; what reads at positions."""
from __future__ import annotations

import numpy as np
from growing_network import Input

f32 = np.float32


def bounded(net, x):
    """Functions of values that are kept where they are smooth."""
    shape = net.values[x]
    operator = net.one_of("Asin", "Acos", "Atanh", "Acosh", "Asinh", "Cosh", "Reciprocal", "ReduceLogSum", "CastLike", *["GroupNormalization"] * 2 * (net.opset >= 21),
                          *["RMSNormalization"] * 2 * (net.opset >= 23))
    if operator in ("Asin", "Acos", "Atanh"):
        net.add(operator, [net.inner("Mul", [net.inner("Tanh", [x]), f32(0.8)])])
    elif operator in ("Acosh", "Reciprocal"):
        net.add(operator, [net.inner("Add", [net.inner("Abs", [x]), f32(1.3)])])
    elif operator in ("Asinh", "Cosh"):
        net.add(operator, [net.inner("Tanh", [x]) if operator == "Cosh" else x])
    elif operator == "ReduceLogSum":
        net.add(operator, [net.inner("Add", [net.inner("Abs", [x]), f32(0.3)])], axes=Input(np.array([len(shape) - 1]), 18))
    elif operator == "CastLike":
        net.opset >= 15 and net.add(operator, [net.inner("Cast", ["x"], to=6), x])
    elif operator == "RMSNormalization":
        axis = int(net.rng.integers(len(shape)))
        net.add(operator, [x, net.positive(*shape[axis:])], axis=axis, epsilon=0.01)
    elif len(shape) > 2:
        groups = net.one_of(*(n for n in (1, 2, 4) if shape[1] % n == 0))
        net.add(operator, [x, net.positive(shape[1]), net.weight(shape[1], spread=0.3)], num_groups=groups, epsilon=0.01)


def pooled(net, x):
    """Pools by powers; a max pool of the input and its inverse."""
    size = net.values[x][2:]
    kernel = [min(n, net.one_of(1, 2, 3)) for n in size]
    can_unpool = len(net.input_shape) > 2 and not any(n % 2 for n in net.input_shape[2:])  # else places may lie behind what comes out
    operator = net.one_of("LpPool", "GlobalLpPool", *["MaxUnpool"] * (net.opset >= 11 and can_unpool))
    if operator == "LpPool":
        net.add(operator, [x], kernel_shape=kernel, strides=[net.one_of(1, 2) for _ in size], p=net.one_of(1, 2))
    elif operator == "GlobalLpPool":
        net.add(operator, [x], p=net.one_of(1, 2))
    else:
        spatial = net.input_shape[2:]
        window = {"kernel_shape": [2] * len(spatial), "strides": [2] * len(spatial)}
        largest = net.inner("MaxPool", ["x"], 2, **window)
        net.add(operator, [largest, net.pending[-1].output[1]], **window)


def fused(net, x):
    """Operators that onnxruntime's optimizers write."""
    shape, size, domain = net.values[x], net.values[x][-1], {"domain": "com.microsoft"}
    bias, heads = net.weight(size, spread=0.3), net.one_of(*(heads for heads in (1, 2, 4) if size % heads == 0))
    norm = [net.positive(size), bias]
    steps = [lambda: net.add("BiasGelu", [x, bias], **domain),
             lambda: net.add("Gelu", [x], **domain),
             lambda: net.add("QuickGelu", [x], alpha=net.one_of(1.702, 0.7), **domain),
             lambda: net.add("FusedMatMul", [x, net.weight(net.one_of(1, 8, 20), size)], transB=1, alpha=net.one_of(1.0, 0.5), **domain),
             lambda: net.add("SkipLayerNormalization", [x, net.like(shape), *norm], epsilon=0.01, **domain),
             lambda: net.add("FastGelu", [x, bias], **domain),
             lambda: net.add("SkipSimplifiedLayerNormalization", [x, net.like(shape), net.positive(size)], epsilon=0.01, **domain),
             lambda: net.add("SimplifiedLayerNormalization", [x, net.positive(size)], epsilon=0.01, axis=-1)]
    if len(shape) == 2:
        steps += [lambda: net.add("FusedGemm", [x, net.weight(9, size), net.weight(9)], transB=1, activation=net.one_of("Relu", "Tanh"), **domain)]
    else:
        steps += [lambda: net.add("FusedConv", [x, net.weight(8, shape[1], *[1] * (len(shape) - 2)), net.weight(8)], activation=net.one_of("Relu", "Tanh"), **domain)]
    if len(shape) == 3:
        steps += [lambda: net.add("MultiHeadAttention", [x, x, x], num_heads=heads, **domain),
                  lambda: net.add("Attention", [x, net.weight(3 * size, size).T, net.weight(3 * size, spread=0.3)], num_heads=heads, **domain)]
        steps += [lambda: rotary(net, x, shape, heads)] * 2 * (size // heads % 2 == 0)
    if len(net.input_shape) == 2 and net.opset >= 10:
        steps += [lambda: embedding(net)] * 3
    steps += [lambda: few_bits(net, x, size)] * 3 * (size % 16 == 0)
    net.one_of(*steps)()


def embedding(net):
    """Rows of tables by the input's whole numbers, and by place."""
    rows, size, length = net.one_of(5, 20), net.one_of(8, 12), net.input_shape[1]
    numbers = net.inner("Mod", [net.inner("Cast", [net.inner("Mul", ["x", f32(3.7)])], to=6), np.array(rows, np.int32)])
    tables = [net.weight(n, size, spread=1) for n in (rows, length + 1)]
    inputs = [numbers, "", *tables, "", net.positive(size), net.weight(size, spread=0.3)]
    net.add("Identity", [net.inner("EmbedLayerNormalization", inputs, 2, epsilon=0.01, domain="com.microsoft")])


def rotary(net, x, shape, heads):
    angles = net.rng.uniform(-3, 3, (shape[1] + 2, shape[2] // heads // 2))
    net.add("RotaryEmbedding", [x, np.arange(shape[1])[None].repeat(shape[0], 0), np.cos(angles).astype(f32), np.sin(angles).astype(f32)],
            num_heads=heads, domain="com.microsoft")


def few_bits(net, x, size):
    """Weights of four bits in blocks of sixteen."""
    outputs = net.one_of(3, 8, 17)
    weights = net.rng.integers(0, 256, (outputs, size // 16, 8)).astype(np.uint8)
    scales = net.rng.uniform(0.005, 0.03, (outputs, size // 16)).astype(f32)
    net.add("MatMulNBits", [x, weights, scales], K=size, N=outputs, bits=4, block_size=16, domain="com.microsoft")


def recent(net, x):
    """Operators of the newest opsets, and values that may be absent."""
    shape = net.values[x]
    steps = []
    if net.opset >= 15:
        steps += [lambda: net.add("OptionalGetElement", [net.inner("Optional", [x])]),
                  lambda: net.add("Cast", [net.inner("OptionalHasElement", [net.inner("Optional", [x])])], to=1)]
    if net.opset >= 24:
        steps += [lambda: net.add("Swish", [x], alpha=net.one_of(0.7, 1.0, 1.702)),
                  lambda: len(shape) > 2 and scatter(net, x, shape)]
    if net.opset >= 26:
        steps += [lambda: net.add("CumProd", [net.inner("Tanh", [x]), np.array(net.one_of(0, len(shape) - 1))], exclusive=int(net.often(0.3)), reverse=int(net.often(0.3)))]
    steps and net.one_of(*steps)()


def positions(net, x):
    shape = net.values[x]
    axis = int(net.rng.integers(len(shape)))
    size = shape[axis]
    since = {"Gather": 7, "GatherElements": 11, "ScatterND": 11, "CumSum": 11, "Trilu": 14}
    operator = net.one_of(*(name for name, opset in since.items() if opset <= net.opset))
    if operator == "Gather":
        net.add(operator, [x, net.rng.integers(0 if net.opset < 11 else -size, size, net.one_of((1,), (3,), (2, 2)))], axis=axis)
    elif operator == "GatherElements":
        net.add(operator, [x, net.rng.integers(-size, size, shape)], axis=axis)
    elif operator == "ScatterND":
        rows = net.rng.permutation(shape[0])[:2, None]
        net.add(operator, [x, rows, net.weight(len(rows), *shape[1:], spread=0.5)])
    elif operator == "CumSum":
        net.add(operator, [x, np.array(axis)], exclusive=int(net.often(0.3)), reverse=int(net.often(0.3)))
    elif len(shape) > 1:
        net.add(operator, [x, np.array(net.one_of(-1, 0, 2))], upper=int(net.often(0.5)))


def scatter(net, x, shape):
    """Rows put into a cache, from a place for each sample."""
    rows = net.one_of(*range(1, shape[-2] + 1))
    places = net.rng.integers(0, shape[-2] - rows + 1, shape[0])
    net.add("TensorScatter", [x, net.weight(*shape[:-2], rows, shape[-1], spread=0.5), places], axis=-2, mode=net.one_of("linear", "circular"))


def pairs(net, x):
    """Every element of a row with every other: distances, decays of linear attention."""
    *shape, size = net.values[x]
    if size > 32 or np.prod(shape) * size**2 > 1 << 17:
        return
    column, row = (net.add("Reshape", [x, np.array([*shape, *ends])]) for ends in ((size, 1), (1, size)))
    y = column and row and net.add(net.one_of("Sub", "Sub", "Mul", "Add"), [column, row])
    if y and net.opset >= 9 and net.often(0.4):
        y = net.add("Where", [np.tri(size, dtype=bool), y, f32(net.one_of(0, -3))])
    y and net.often(0.5) and net.add(net.one_of("Tanh", "Sigmoid", "Relu"), [y])


def residual(net, x):
    """Products and their sums with what they read, with the same weights if there are two; rows may lie in front of a dimension of one element."""
    shape = net.values[x]
    is_image = len(shape) == 4
    thin = [*shape[:2], shape[2] * shape[3], 1] if is_image else [int(np.prod(shape[:-1])), 1, shape[-1]]
    y = (net.often(0.6) and net.add("Reshape", [x, np.array(thin)])) or x
    size = shape[1 if is_image else -1]
    if size > 1024:
        return
    kernel = net.one_of(1, 1, 3) if is_image else 1
    weight = net.constant(net.weight(size, size, *[kernel] * 2) if is_image else net.weight(size, size))
    for _ in range(net.one_of(1, 2)):
        product = y and (net.add("Conv", [y, weight], pads=[kernel // 2] * 4) if is_image else net.add("MatMul", [y, weight]))
        if product and net.often(0.5):
            product = net.add("Relu", [product])
        y = product and net.add("Add", net.one_of([product, y], [y, product]))
