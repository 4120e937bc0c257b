# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps of random networks through integers and truth values, and back. Most start from the network's input, which is the same number in
onnxruntime: what is rounded or compared must not depend on the last bit. The others read what the network computes; a test sees their ties."""
from __future__ import annotations

import numpy as np
from onnx import TensorProto, numpy_helper

f32 = np.float32
NUMPY = {TensorProto.INT32: np.int32, TensorProto.INT64: np.int64, TensorProto.UINT8: np.uint8, TensorProto.BOOL: np.bool_}


def to_integers(net, x, kind=None):
    """Whole numbers from about -30 to 30 (without sign for UINT8) of the input or of a bounded x (by what never gets to 1), of a type."""
    kind = kind or net.one_of(TensorProto.INT32, TensorProto.INT64)
    value, factor = ("x", net.one_of(2, 3.7)) if net.often(0.7) else (net.inner("Softsign", [x]), 25)
    scaled = net.inner("Mul", [value, f32(factor)])
    if kind == TensorProto.UINT8:
        scaled = net.inner("Abs", [scaled])
    return net.inner("Cast", [scaled], to=kind), kind


def to_truth(net, x):
    """Comparisons of the input, or of another value."""
    bound = net.constant(f32(net.one_of(0, 0.5, -1)))
    operators = ["Greater", "Less", *["GreaterOrEqual", "LessOrEqual"] * (net.opset >= 12)]
    return net.inner(net.one_of(*operators), net.one_of([x, bound], [x, bound], [bound, x]))


def arithmetic(net, x):
    """Sums, products, remainders and bits of integers."""
    if net.opset < 14:
        return
    y, kind = to_integers(net, x, net.one_of(None, None, TensorProto.UINT8))
    number = lambda *choices: NUMPY[kind](net.one_of(*choices))  # noqa: E731
    for _ in range(net.rng.integers(1, 4)):
        operators = ["Add", "Mul", "Mod", "Max", "Min"]
        operators += ["BitShift"] if kind == TensorProto.UINT8 else ["Sub", "Abs", "Sign", "Neg", "Div"]
        operators += ["BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot"] if net.opset >= 18 else []
        operator = net.one_of(*operators)
        if operator in ("Abs", "Sign", "Neg", "BitwiseNot"):
            y = net.inner(operator, [y])
        elif operator == "BitShift":
            y = net.inner(operator, [y, number(1, 2)], direction=net.one_of("LEFT", "RIGHT"))
        elif operator in ("Max", "Min") and kind == TensorProto.UINT8:
            continue
        else:
            y = net.inner(operator, [y, number(3, 5) if operator in ("Mul", "Mod", "Div") else number(1, 6, 7, 12)])
    net.add("Cast", [y], to=TensorProto.FLOAT)


def truth(net, x):
    """Truth values, joined, as numbers or as a choice between numbers."""
    compared = net.one_of("x", "x", x)
    y = to_truth(net, compared)
    for _ in range(net.rng.integers(0, 3)):
        operator = net.one_of("And", "Or", "Xor", "Not", *["Equal"] * (net.opset >= 11))
        y = net.inner(operator, [y] if operator == "Not" else [y, to_truth(net, compared)])
    if net.opset >= 9 and net.often(0.2):
        strange = net.inner(net.one_of("IsNaN", *["IsInf"] * (net.opset >= 10)), [net.inner("Mul", [x, f32(2)])])
        net.add("Cast", [strange], to=TensorProto.FLOAT)
    elif net.opset >= 9 and net.often(0.5):
        net.add("Where", [y, "x", net.weight(1, spread=0.5)])
    else:
        net.add("Cast", [y], to=TensorProto.FLOAT)


def ranking(net, x):
    """Places of extremes of the input, as numbers, as what they choose, or as one of many."""
    shape = net.input_shape
    axis = int(net.rng.integers(len(shape)))
    best = net.inner(net.one_of("ArgMax", "ArgMin"), ["x"], axis=axis, keepdims=int(net.often(0.5)))
    if net.often(0.3) and net.opset >= 10:
        k = int(net.rng.integers(1, shape[axis] + 1))
        arguments = {"largest": int(net.often(0.6))} if net.opset >= 11 else {}
        net.add("Identity", [net.inner("TopK", ["x", np.array([k])], 2, axis=axis, **arguments)])
    elif net.often(0.5) and net.opset >= 9:
        net.add("OneHot", [best, np.array(shape[axis]), f32([-0.5, 1])], axis=-1)
    else:
        net.add("Cast", [best], to=TensorProto.FLOAT)


def scattering(net, x):
    """Elements put to constant places, in place of others or added to them."""
    shape = net.values[x]
    axis = int(net.rng.integers(len(shape)))
    rows = int(net.rng.integers(1, shape[axis] + 1))
    places = np.argsort(net.rng.random(shape), axis=axis).take(range(rows), axis=axis)
    updates = net.weight(*places.shape, spread=0.5)
    if net.opset < 11:
        net.opset >= 9 and net.add("Scatter", [x, places, updates], axis=axis)
    elif net.opset >= 12 and net.often(0.3):
        net.add("GatherND", [x, net.rng.integers(0, min(shape[:1]), (3, 1))])
    else:
        reductions = ["none", *["add", "mul"] * (net.opset >= 16), *["max", "min"] * (net.opset >= 18)]
        reduction = {"reduction": net.one_of(*reductions)} if net.opset >= 16 else {}
        net.add("ScatterElements", [x, places, updates], axis=axis, **reduction)


def known(net, x):
    """What is known at import: shapes, ranges, windows, filled and unit matrices, as a factor."""
    shape = net.values[x]
    count = shape[-1]
    long = lambda value: net.constant(np.array(value, np.int64))  # noqa: E731
    as_float = lambda value: net.inner("Cast", [value], to=TensorProto.FLOAT)  # noqa: E731
    kind = net.one_of("Shape", "Size", *["Range"] * (net.opset >= 11), *["ConstantOfShape", "EyeLike"] * (net.opset >= 9), "Constant",
                      *["HannWindow", "HammingWindow", "BlackmanWindow", "MelWeightMatrix"] * (net.opset >= 17))
    if kind in ("Shape", "Size"):
        whole = net.inner("Size", [x])
        y = net.inner("Div", [as_float(whole), f32(np.prod(shape))])
        if kind == "Shape":
            last = net.inner("Gather", [net.inner("Shape", [x]), long(len(shape) - 1)])
            y = net.inner("Div", [y, as_float(last)])
    elif kind == "Range":
        y = net.inner("Range", [f32(0.5), f32(0.5 + 0.25 * count), f32(0.25)])
    elif kind == "ConstantOfShape":
        y = net.inner(kind, [long([count])])
        y = net.inner("Add", [y, f32(1.5)])
    elif kind == "EyeLike":
        y = net.inner(kind, [net.constant(np.zeros((count, count), f32))], k=net.one_of(0, 1, -1))
        return len(shape) > 1 and net.add("MatMul", [x, y])
    elif kind == "Constant":
        y = net.inner(kind, [], value=numpy_helper.from_array(net.weight(count, spread=0.5)))
    elif kind == "MelWeightMatrix":
        bins = net.inner(kind, [long(8), long(2 * (count - 1) or 2), long(8000), f32(10), f32(3900)])
        return len(shape) > 1 and count > 4 and net.add("MatMul", [x, bins])
    else:
        y = net.inner(kind, [long(count)], periodic=int(net.often(0.5)))
    net.add("Mul", [x, y])
