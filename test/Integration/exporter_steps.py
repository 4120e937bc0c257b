# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps of random networks: choices by masks and places that are computed in the run, as exporters write them, and what onnxruntime's builder of
decoders and its quantizers write."""
from __future__ import annotations

import numpy as np

f32 = np.float32
MICROSOFT = {"domain": "com.microsoft"}


# ---- what depends on data, but has a known shape -----------------------------------------------------------------------------------
def get_places(net, mask):
    return net.inner("Transpose", [net.inner("NonZero", [mask])], perm=[1, 0])


def chosen(net, x):
    """y[mask] = c * x[mask], which is the same on both sides of where the mask changes."""
    places = get_places(net, net.inner(net.one_of("Less", "Greater"), [x, f32(0)]))
    elements = net.inner("Mul", [net.inner("GatherND", [x, places]), f32(net.one_of(0.3, -0.5, 2))])
    net.add("ScatterND", [x, places, elements])


def kept(net, x):
    """Rows of `x` go to places that are computed, but for those that lie outside."""
    shape = net.values[x]
    number = net.inner("Cast", [net.inner("ReduceMax", ["x"], keepdims=0)], to=7)
    places = net.inner("Add", [net.inner("Mod", [net.inner("Abs", [number]), np.array(3)]), net.rng.integers(0, shape[0] + 1, shape[0])])
    mask = net.inner("Less", [places, np.array(shape[0])])
    rows = net.inner("Squeeze", [get_places(net, mask), *[np.array([1])] * (net.opset >= 13)], **({} if net.opset >= 13 else {"axes": [1]}))
    column = net.inner("Reshape", [places, np.array([-1, 1])])
    indices, updates = (net.inner("Gather", [value, rows], axis=0) for value in (column, x))
    reduction = {"reduction": net.one_of("none", "add")} if net.opset >= 16 else {}
    net.add("ScatterND", [net.weight(*shape, spread=0.3), indices, updates], **reduction)


def windows(net, x):
    """A part of `x` from a computed place on."""
    shape = net.values[x]
    axis = int(net.rng.integers(len(shape)))
    count = net.one_of(1, 2, 3)
    if shape[axis] <= count:
        return
    number = net.inner("Cast", [net.inner("Mul", [net.inner("Reshape", [net.inner("Flatten", ["x"]), np.array([-1])]), f32(3.7)])], to=7)
    first = net.inner("Slice", [number, np.array([0]), np.array([1])])
    start = net.inner("Mod", [net.inner("Abs", [first]), np.array([shape[axis] - count + 1])])
    net.add("Slice", [x, start, net.inner("Add", [start, np.array([count])]), np.array([axis])])


def computed_filter(net, x):
    """A convolution by what other layers make of the network's input."""
    channels, outputs, kernel = net.values[x][1], net.one_of(1, 3, 8), net.one_of(1, 1, 2)
    if channels > 20 or min(net.values[x][2:]) < kernel:
        return
    numbers = net.inner("Reshape", [net.inner("ReduceMax", ["x"], keepdims=0), np.array([1, 1])])
    weights = net.inner("MatMul", [net.inner("Tanh", [numbers]), net.weight(outputs * channels * kernel * kernel, 1, spread=0.4).T])
    net.add("Conv", [x, net.inner("Reshape", [weights, np.array([outputs, channels, kernel, kernel])])], strides=[net.one_of(1, 2)] * 2)


def by_data(net, x):
    rank = len(net.values[x])
    steps = [*[lambda: chosen(net, x), lambda: kept(net, x)] * (net.opset >= 11), *[lambda: windows(net, x)] * (net.opset >= 10)]
    if rank == 4:
        steps += [lambda: computed_filter(net, x)]
    steps and net.one_of(*steps)()


# ---- decoders ----------------------------------------------------------------------------------------------------------------------
def grouped_attention(net, x):
    """One input has queries, keys and values; the past is a constant."""
    batch, length, width = net.values[x]
    groups, size = net.one_of(1, 2), net.one_of(8, 16)
    heads, past = groups * net.one_of(1, 2), net.one_of(0, 3)
    if batch > 1 and length > 1:
        past = 0
    packed = net.inner("MatMul", [x, net.weight((heads + 2 * groups) * size, width).T])
    cache = [net.weight(batch, groups, past, size, spread=0.5) for _ in range(2)] if past else ["", ""]
    angles = net.rng.uniform(-3, 3, (past + length, size // 2))
    lengths = [np.full(batch, past + length - 1, np.int32), np.array(past + length, np.int32)]
    options = {**({"local_window_size": 3} if net.often(0.3) else {}), **({"softcap": 2.0} if net.often(0.2) else {})}
    net.add("GroupQueryAttention", [packed, "", "", *cache, *lengths, np.cos(angles).astype(f32), np.sin(angles).astype(f32)], 3,
            num_heads=heads, kv_num_heads=groups, do_rotary=int(net.often(0.5)), **options, **MICROSOFT)


def experts(net, x):
    """A residual: onnxruntime gives zeros where the result may take the place of an input that nothing else reads."""
    shape = net.values[x]
    rows, columns, count, hidden = int(np.prod(shape[:-1])), shape[-1], net.one_of(2, 4), net.one_of(4, 16)
    gated = net.often(0.4)
    activation = {"activation_type": "swiglu", "swiglu_fusion": 1, "activation_alpha": 1.7} if gated else {"activation_type": net.one_of("relu", "gelu", "silu", "identity")}
    scores = net.inner("MatMul", [net.inner("Reshape", [x, np.array([rows, columns])]), net.weight(count, columns).T])
    parameters = [net.weight(count, hidden * (2 if gated else 1), columns, spread=0.4), "", net.weight(count, columns, hidden, spread=0.4)]
    mixed = net.inner("MoE", [x, scores, *parameters], k=count, normalize_routing_weights=int(net.often(0.5)), **activation, **MICROSOFT)
    net.add("Add", [mixed, x])


def causal_convolution(net, x):
    batch, channels, _ = net.values[x]
    taps, dilation = net.one_of(1, 2, 4), net.one_of(1, 1, 2)
    state = [net.weight(batch, channels, (taps - 1) * dilation, spread=0.5)] if taps > 1 and net.often(0.5) else []
    inputs = [x, net.weight(channels, 1, taps), net.weight(channels, spread=0.3) if net.often(0.5) else "", *state]
    net.add("Identity", [net.inner("CausalConvWithState", inputs, 2, activation=net.one_of("none", "silu"), dilation=dilation, **MICROSOFT)])


# ---- weights of a few bits ---------------------------------------------------------------------------------------------------------
def table(net, x):
    """Rows in blocks of sixteen, by the input's whole numbers."""
    rows, bits, blocks = net.one_of(5, 20), net.one_of(4, 8), net.one_of(1, 3)
    numbers = net.inner("Mod", [net.inner("Cast", [net.inner("Mul", ["x", f32(3.7)])], to=7), np.array(rows)])
    part = net.inner("Slice", [net.inner("Reshape", [numbers, np.array([-1])]), np.array([0]), np.array([6])])
    stored = net.rng.integers(0, 256, (rows, blocks * 16 * bits // 8)).astype(np.uint8)
    scales = net.rng.uniform(0.005, 0.03, (rows, blocks)).astype(f32)
    net.add("GatherBlockQuantized", [stored, part, scales], bits=bits, block_size=16, gather_axis=0, quantize_axis=1, **MICROSOFT)


def named_numbers(net, x):
    size, outputs = net.values[x][-1], net.one_of(2, 8, 16)
    if size > 1024:
        return
    stored = net.rng.integers(0, 256, (outputs * size + 1) // 2).astype(np.uint8)
    scales = net.rng.uniform(0.1, 0.5, -(-outputs * size // 16)).astype(f32)
    net.add("MatMulBnb4", [x, stored, scales], K=size, N=outputs, block_size=16, quant_type=net.one_of(0, 1), **MICROSOFT)


def few_bits(net, x):
    steps = [*[lambda: named_numbers(net, x)] * (len(net.values[x]) > 1), *[lambda: table(net, x)] * (net.opset >= 10)]
    steps and net.one_of(*steps)()


def decoding(net, x):
    steps = [lambda: experts(net, x)]
    if len(net.values[x]) == 3:
        steps += [lambda: grouped_attention(net, x)] * 3 + [lambda: causal_convolution(net, x)]
    net.one_of(*steps)()
