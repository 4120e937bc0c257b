# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random ONNX networks of the operators that compute (not of shape arithmetic), in the opsets 7 to 26: random attributes, shapes and wiring.

A step proposes a node behind a value of a growing network, which drops what onnxruntime does not take.
"""
from __future__ import annotations

import numpy as np
import onnx
import exporter_steps
import function_steps
import integer_steps
import quantized_steps
import sampling_steps
import sequence_steps
from growing_network import Input, Network, list_reads
from onnx import helper

f32 = np.float32


# ---- steps: each adds a node or a few behind the value x ---------------------------------------------------------------------
def window(net, size, kernel):
    """Strides and pads of a window that slides over dimensions of `size`."""
    arguments = {"kernel_shape": kernel}
    if net.often(0.6):
        arguments["strides"] = net.numbers(len(kernel), 1, 4)
    if net.often(0.5):
        arguments["pads"] = [int(net.rng.integers(0, k)) for k in kernel * 2]
    elif net.often(0.6):
        arguments["auto_pad"] = net.one_of("SAME_UPPER", "SAME_LOWER", "VALID")
    return arguments if all(k <= n for k, n in zip(kernel, size)) else None


def convolution(net, x):
    n, channels, *size = net.values[x]
    kernel = [net.one_of(1, 1, 2, 3, 3, 5) for _ in size]
    divisors = [d for d in range(1, channels + 1) if channels % d == 0]
    groups = net.one_of(1, 1, 1, channels, channels, net.one_of(*divisors))
    outputs = groups * net.one_of(1, 1, 2, 3, 8, 16) if groups > 1 else net.one_of(1, 3, 4, 8, 12, 16, 17, 24, 32, 48, 64, 80, 130)
    inputs = [x, net.weight(outputs, channels // groups, *kernel)] + ([net.weight(outputs, spread=0.3)] if net.often(0.6) else [])
    arguments = window(net, size, kernel)
    if arguments is None:
        return
    if "auto_pad" not in arguments and net.often(0.2):
        arguments["dilations"] = net.numbers(len(kernel), 1, 4)
    y = net.add("Conv", inputs, group=groups, **arguments)
    if y and net.often(0.4):
        batch_norm(net, y)


def transposed_convolution(net, x):
    n, channels, *size = net.values[x]
    kernel = [net.one_of(1, 2, 2, 3, 4) for _ in size]
    groups = net.one_of(1, 1, 1, channels)
    outputs = net.one_of(1, 2) if groups > 1 else net.one_of(1, 4, 12, 16, 20)
    inputs = [x, net.weight(channels, outputs, *kernel)] + ([net.weight(outputs * groups, spread=0.3)] if net.often(0.6) else [])
    strides, pads = net.numbers(len(size), 1, 3), [int(net.rng.integers(0, k)) for k in kernel * 2]
    spans = [(s - 1) * t + k - sum(p) for s, t, k, p in zip(size, strides, kernel, zip(pads, pads[len(size):]))]
    if all(1 <= span <= 64 for span in spans):
        net.add("ConvTranspose", inputs, group=groups, strides=strides, pads=pads)


def batch_norm(net, x):
    channels = net.values[x][1]
    parameters = [net.positive(channels), net.weight(channels, spread=0.3), net.weight(channels, spread=0.3), net.positive(channels)]
    net.add("BatchNormalization", [x, *parameters], epsilon=net.one_of(1e-5, 1e-3))


def gemm(net, x):
    rows, depth = net.values[x]
    transposes = {"transA": int(net.often(0.1)), "transB": int(net.often(0.6))}
    outputs, depth = net.one_of(1, 2, 10, 16, 33, 64), rows if transposes["transA"] else depth
    weight = net.weight(outputs, depth)
    biases = [net.weight(outputs, spread=0.3), net.weight(1, outputs, spread=0.3), net.weight(1, spread=0.3)]
    inputs = [x, weight if transposes["transB"] else weight.T, net.one_of(*biases)]
    net.add("Gemm", inputs, alpha=net.one_of(1.0, 1.0, 0.5, -1.0), beta=net.one_of(1.0, 1.0, 2.0, 0.0), **transposes)


def matmul(net, x):
    shape = net.values[x]
    if net.often(0.25) and shape[-2] <= 1024:
        order = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
        other = net.add("Transpose", [x], perm=order)
        other and net.add("MatMul", [x, other])
        return
    y = net.add("MatMul", [x, net.weight(net.one_of(1, 8, 16, 20), shape[-1]).T])
    if y and net.often(0.4):
        net.add("Add", [y, net.weight(net.values[y][-1], spread=0.3)])
    elif y and net.often(0.3):
        batch_norm(net, y)


def pool(net, x):
    size = net.values[x][2:]
    arguments = window(net, size, net.numbers(len(size), 1, 4))
    if arguments is None:
        return
    if any(s > k for s, k in zip(arguments.get("strides", []), arguments["kernel_shape"])):
        arguments.pop("auto_pad", None)  # onnxruntime's pools crop, or fail, where there is less than nothing to pad
    operator = net.one_of("MaxPool", "AveragePool")
    if net.opset >= (10 if operator == "MaxPool" else 19) and net.often(0.3):
        arguments["ceil_mode"] = 1
    if operator == "AveragePool" and net.often(0.5):
        arguments["count_include_pad"] = 1
    if operator == "MaxPool" and net.opset >= 10 and "auto_pad" not in arguments and net.often(0.2):
        dilations = net.numbers(len(size), 1, 3)
        if all((k - 1) * d < n for k, d, n in zip(arguments["kernel_shape"], dilations, size)):  # ONNX's shape inference does not check
            arguments["dilations"] = dilations
    net.add(operator, [x], **arguments)


def global_pool(net, x):
    net.add(net.one_of("GlobalAveragePool", "GlobalAveragePool", "GlobalMaxPool"), [x])


def mean(net, x):
    rank = len(net.values[x])
    axes = sorted(int(a) for a in net.rng.choice(rank, net.rng.integers(1, rank + 1), replace=False))
    if net.opset >= 11 and net.often(0.3):
        axes = [axis - rank for axis in axes]
    net.add("ReduceMean", [x], axes=Input(np.array(axes), 18), keepdims=int(net.often(0.6)))


def binary(net, x):
    shape, operator = net.values[x], net.one_of("Add", "Add", "Sub", "Mul", "Mul", "Div")
    other = net.one_of(net.like(shape), net.positive(), net.positive(*[size if net.often(0.5) else 1 for size in shape]),
                       net.positive(shape[1], *[1] * (len(shape) - 2)) if len(shape) > 1 else net.positive())
    if operator == "Div" and isinstance(other, str):
        return
    y = net.add(operator, [x, other] if operator == "Div" or net.often(0.7) else [other, x])
    if y and net.often(0.4):
        activation(net, y)


def gated(net, x, last, factor):
    """clip(x + 3, 0, 6), maybe times x, over 6."""
    y = net.add("Add", [x, f32(3)])
    y = y and net.add("Clip", [y], min=Input(f32(0), 11), max=Input(f32(6), 11))
    if y and net.often(0.5):
        y = net.add("Mul", net.one_of([x, y], [y, x]))
    y and net.add(last, [y, factor])


def spelled_gelu(net, x):
    """x * (1 + erf(x / sqrt(2))) / 2, or with a tanh, halved before or after."""
    tanh = [("Mul", x), ("Mul", f32(0.044715)), ("Add", f32(1)), ("Mul", x), ("Mul", f32(np.sqrt(2 / np.pi))), ("Tanh",)]
    y = x
    for operator, *operand in [*net.one_of([("Div", f32(np.sqrt(2))), ("Erf",)], tanh), ("Add", f32(1)),
                               *net.one_of([("Mul", x), ("Mul", f32(0.5))], [("Mul", f32(0.5)), ("Mul", x)])]:
        y = y and net.add(operator, [y, *operand])


def activation(net, x):
    operator = net.one_of("Relu", "Relu", "Identity", "Sigmoid", "Tanh", "Exp", "Sqrt", "Neg", "HardSwish", "HardSigmoid", "LeakyRelu", "PRelu",
                          "Elu", "Clip", "Clip", "Softmax", "Softmax", "Sum", "silu", "gated", "Dropout", "Erf", "Softplus", "Softplus", "gelu",
                          *["Gelu"] * (4 if net.opset >= 20 else 0))
    if operator == "Clip":
        low, high = net.one_of((0, 6), (-0.7, 0.9), (-0.7, None), (None, 0.9))
        net.add("Clip", [x], **{name: Input(None if bound is None else f32(bound), 11) for name, bound in (("min", low), ("max", high))})
    elif operator == "PRelu":
        net.add("PRelu", [x, f32([0.2])])
    elif operator in ("LeakyRelu", "Elu"):
        net.add(operator, [x], alpha=net.one_of(0.1, 0.3, 1.0))
    elif operator == "HardSigmoid":
        net.add(operator, [x], alpha=net.one_of(0.2, 1 / 6), beta=0.5)
    elif operator == "Softmax":
        rank = len(net.values[x])
        net.add(operator, [x], axis=int(net.rng.integers(-rank if net.opset >= 11 else 0, rank)))
    elif operator == "Sum":
        net.add(operator, [x, *(net.like(net.values[x]) for _ in range(net.rng.integers(0, 3)))])
    elif operator == "silu":
        y = net.add("Sigmoid", [x])
        y and net.add("Mul", net.one_of([x, y], [y, x]))
    elif operator == "Gelu":
        net.add(operator, [x], approximate=net.one_of("none", "tanh"))
    elif operator == "gelu":
        spelled_gelu(net, x)
    elif operator == "gated":
        gated(net, x, *net.one_of(("Div", f32(6)), ("Mul", f32(1 / 6))))
    else:
        net.add(operator, [x])


def function(net, x):
    """Steps are taken of the input only, which is the same number in onnxruntime; logarithms and powers of what is not near 0."""
    shape = net.values[x]
    operator = net.one_of("Abs", "Sin", "Cos", "Atan", "Softsign", "Selu", "Celu", "Mish", "Log", "Pow", "PRelu", "Sign", "Round", "Floor", "Ceil",
                          "ThresholdedRelu", "Shrink", "Tan", "Sinh", "Hardmax", "Mod")
    if operator in ("Sign", "Round", "Floor", "Ceil", "ThresholdedRelu", "Shrink", "Hardmax"):
        net.add(operator, ["x"])
    elif operator in ("Sin", "Cos"):  # of large numbers the last bit decides
        net.add(operator, [net.inner("Mul", [net.inner("Softsign", [x]), f32(20)])])
    elif operator == "Tan":  # away from its poles, as well
        net.add(operator, [net.inner("Mul", [net.inner("Tanh", [x]), f32(1.4)])])
    elif operator == "Mod":
        net.add(operator, ["x", f32(net.one_of(0.3, -1.7))], fmod=1)
    elif operator in ("Log", "Pow"):
        y = net.add("Abs", [x])
        y = y and net.add("Add", [y, f32(0.5)])
        y and net.add(operator, [y] if operator == "Log" else [y, f32(net.one_of(1.3, -0.7, 4, -1))])
    elif operator == "PRelu":
        net.add(operator, [x, net.weight(*[size if i == 1 else 1 for i, size in enumerate(shape) if i], spread=0.4)])
    else:
        net.add(operator, [x])


def reduction(net, x):
    rank = len(net.values[x])
    axes = sorted(int(a) for a in net.rng.choice(rank, net.rng.integers(1, rank + 1), replace=False))
    operator = net.one_of("Sum", "Sum", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSumExp")
    net.add("Reduce" + operator, [x], axes=Input(np.array(axes), 13 if operator == "Sum" else 18), keepdims=int(net.often(0.6)))


def normalization(net, x):
    shape = net.values[x]
    operator = net.one_of("LayerNormalization", "InstanceNormalization", "LpNormalization", "MeanVarianceNormalization", "LRN", "LogSoftmax")
    if operator == "LayerNormalization":
        axis = int(net.rng.integers(1, len(shape)))
        net.add(operator, [x, net.positive(*shape[axis:]), net.weight(*shape[axis:], spread=0.3)], axis=axis, epsilon=0.01)
    elif operator == "InstanceNormalization":  # of one element, onnxruntime's own error is that of its magnitude
        if np.prod(shape[2:]) == 1:
            return
        net.add(operator, [x, net.positive(shape[1]), net.weight(shape[1], spread=0.3)], epsilon=0.01)
    elif operator == "LRN":
        net.add(operator, [x], size=net.one_of(1, 3, 5), alpha=0.3)
    elif operator == "MeanVarianceNormalization":
        net.add(operator, [x], axes=[0, 2, 3][: len(shape) - 1])
    else:
        net.add(operator, [x], axis=int(net.rng.integers(1, len(shape))))


def extremes(net, x):
    shape = net.values[x]
    net.add(net.one_of("Max", "Min", "Mean"), [x, *(net.like(shape) for _ in range(net.rng.integers(0, 2))), net.weight(shape[-1], spread=0.5)])


def rearrangement(net, x):
    shape, mode = net.values[x], net.one_of("reflect", "edge")
    block = net.one_of(2, 2, 3)
    net.one_of(
        lambda: len(shape) == 4 and net.add("DepthToSpace", [x], blocksize=block, **({"mode": net.one_of("DCR", "CRD")} if net.opset >= 11 else {})),
        lambda: len(shape) == 4 and net.add("SpaceToDepth", [x], blocksize=block),
        lambda: net.add("Tile", [x, np.array([net.one_of(1, 1, 2, 3) for _ in shape])]),
        lambda: net.add("Expand", [x, np.array([net.one_of(2, 3) if size == 1 else size for size in shape])]),
        lambda: net.opset >= 9 and net.add("Compress", [x, np.arange(shape[-1]) % net.one_of(2, 3) == 0], axis=len(shape) - 1),
        lambda: net.opset >= 10 and len(shape) > 1 and net.add("ReverseSequence", [x, net.rng.integers(1, shape[1] + 1, shape[0])], batch_axis=0, time_axis=1),
        lambda: pieces(net, x),
        lambda: net.add("Pad", [x], mode=mode, pads=Input(np.array(net.numbers(2 * len(shape), 0, 3)), 11)),
        lambda: len(shape) == 3 and net.add("Einsum", [x, net.weight(7, shape[2])], equation=net.one_of("bij,kj->bik", "bij,kj->kb", "abc,dc->adb")))()


def pieces(net, x):
    """A tensor that is taken apart and put together again, or a piece of it."""
    if net.opset >= 11:
        axis = int(net.rng.integers(len(net.values[x])))
        net.nodes.append(helper.make_node("SplitToSequence", [x], [sequence := net.fresh("s")], axis=axis))
        if net.add("ConcatFromSequence", [sequence], axis=net.one_of(0, axis)) is None:
            net.nodes.pop()


def reshape(net, x):
    shape = net.values[x]
    elements = int(np.prod(shape))

    def divisor(of):
        return net.one_of(*(d for d in range(1, min(of, 64) + 1) if of % d == 0))
    first = divisor(elements)
    second = divisor(elements // first)
    rest = elements // first // second
    ones = [axis for axis, size in enumerate(shape) if size == 1]
    net.one_of(
        lambda: net.add("Flatten", [x], axis=int(net.rng.integers(0, len(shape) + 1))),
        lambda: ones and len(ones) < len(shape) and net.add("Squeeze", [x], axes=Input(np.array(ones), 13)),
        lambda: len(shape) < 4 and net.add("Unsqueeze", [x], axes=Input(net.rng.integers(0, len(shape) + 1, 1), 13)),
        lambda: net.add("Reshape", [x, np.array(net.one_of([1, -1], [0, -1], [1, first, second, rest], [first, second, rest]))]))()


def transpose(net, x):
    net.add("Transpose", [x], perm=[int(axis) for axis in net.rng.permutation(len(net.values[x]))])


def concatenation(net, x):
    shape = net.values[x]
    axis = int(net.rng.integers(len(shape)))
    fitting = [name for name, other in net.values.items()
               if len(other) == len(shape) and all(a == b for i, (a, b) in enumerate(zip(shape, other)) if i != axis)]
    inputs = [x, *(net.one_of(*fitting) for _ in range(net.rng.integers(1, 3)))]
    if net.often(0.1):
        inputs.append(net.weight(*shape, spread=0.5))
    net.add("Concat", [inputs[i] for i in net.rng.permutation(len(inputs))], axis=axis)


def slicing(net, x):
    shape = net.values[x]
    axis = int(net.rng.integers(len(shape)))
    size = shape[axis]
    if size < 2:
        return
    if net.often(0.35):
        first = int(net.rng.integers(1, size))
        net.add("Split", [x], 2, axis=axis, split=Input(np.array([first, size - first]), 13))
        return
    start, step = int(net.rng.integers(0, size - 1)), net.one_of(1, 1, 2, 3)
    end = int(net.rng.integers(start + 1, size + 1))
    if net.opset >= 10 and net.often(0.2):
        start, end, step = end - 1, start - 1 if start > 0 else -size - 1, -step
    steps = {"steps": Input(np.array([step]), 10)} if net.opset >= 10 else {}
    net.add("Slice", [x], starts=Input(np.array([start]), 10), ends=Input(np.array([end]), 10), axes=Input(np.array([axis]), 10), **steps)


def padding(net, x):
    rank = len(net.values[x])
    pads = np.array(net.numbers(2 * rank, 0, 3))
    if net.often(0.6):
        pads[[0, rank]] = 0
    if net.often(0.5):
        pads[:2] = pads[rank : rank + 2] = 0
    net.add("Pad", [x], pads=Input(pads, 11), value=Input(f32(net.one_of(0, 0.25, -1)), 11))


def resizing(net, x):
    scales = f32([1, 1, net.one_of(1, 2, 3, 0.5, 1.5), net.one_of(1, 2, 2.2, 0.5)])
    mode = net.one_of("nearest", "linear", *["cubic"] * (net.opset >= 11))
    if net.opset < 10:
        net.add("Upsample", [x], mode=mode, scales=Input(np.maximum(np.floor(scales), 1), 9))
    elif net.opset == 10:
        net.add("Resize", [x, np.maximum(np.floor(scales), 1)], mode=mode)
    else:
        target = [scales] if net.often(0.5) else [f32([]), np.maximum(np.floor(net.values[x] * scales), 1).astype(np.int64)]
        net.add("Resize", [x, f32([]), *target], mode=mode,
                coordinate_transformation_mode=net.one_of("half_pixel", "pytorch_half_pixel", "asymmetric", "asymmetric", "align_corners"),
                nearest_mode=net.one_of("round_prefer_floor", "round_prefer_ceil", "floor", "floor", "ceil"))


def choice(net, x):
    """Of two values that are the same where the condition changes: rounding does not decide."""
    scaled, condition = net.add("Mul", [x, f32(0.3)]), net.fresh("v")
    if scaled and net.opset >= 9:
        net.nodes.append(helper.make_node(net.one_of("Less", "Greater"), [x, net.constant(f32(0))], [condition]))
        if net.add("Where", [condition, scaled, x]) is None:
            net.nodes.pop()


def volume(net, x):
    """Rows as slices: what follows is over three dimensions."""
    n, channels, height, width = net.values[x]
    depths = [depth for depth in range(2, 8) if height % depth == 0]
    y = depths and net.add("Reshape", [x, np.array([n, channels, depth := net.one_of(*depths), height // depth, width])])
    y and net.one_of(convolution, convolution, transposed_convolution, pool)(net, y)


# Step, how often, the ranks that it takes.
STEPS = [(convolution, 7, (3, 4, 5)), (transposed_convolution, 1, (3, 4, 5)), (activation, 4, (1, 2, 3, 4)), (binary, 4, (1, 2, 3, 4)), (pool, 2, (3, 4, 5)), (global_pool, 1, (3, 4, 5)),
         (volume, 1, (4,)), (function_steps.residual, 2, (2, 3, 4)), (function_steps.fused, 2, (2, 3, 4)), (function_steps.bounded, 1, (1, 2, 3, 4)), (function_steps.pooled, 1, (3, 4)),
         (mean, 1, (1, 2, 3, 4)), (gemm, 2, (2,)), (matmul, 1, (2, 3, 4)), (batch_norm, 1, (2, 3, 4)), (reshape, 1, (1, 2, 3, 4)),
         (transpose, 1, (2, 3, 4)), (concatenation, 2, (1, 2, 3, 4)), (slicing, 1, (1, 2, 3, 4)), (padding, 1, (1, 2, 3, 4)),
         (resizing, 1, (4,)), (function, 2, (1, 2, 3, 4)), (reduction, 1, (1, 2, 3, 4)), (normalization, 1, (2, 3, 4)),
         (extremes, 1, (1, 2, 3, 4)), (rearrangement, 1, (1, 2, 3, 4)), (choice, 1, (1, 2, 3, 4)), (function_steps.positions, 1, (1, 2, 3, 4)),
         (sampling_steps.sampling, 1, (4,)), (sampling_steps.deformation, 1, (4,)), (sampling_steps.transform, 1, (2, 3)), (sampling_steps.boxes, 1, (4,)), (sampling_steps.suppression, 1, (4,)), (sampling_steps.unfolding, 1, (2, 3, 4)),
         *[(step, 1, (1, 2, 3, 4)) for step in (integer_steps.arithmetic, integer_steps.truth, integer_steps.ranking, integer_steps.scattering, integer_steps.known,
                                                sequence_steps.control_flow, sequence_steps.lists)],
         (function_steps.recent, 2, (1, 2, 3, 4)), (quantized_steps.quantized, 3, (1, 2, 3, 4)),
         (function_steps.pairs, 1, (1, 2, 3, 4)), (sequence_steps.recurrence, 2, (3,)), (sequence_steps.attention, 4, (3,)),
         (exporter_steps.by_data, 2, (1, 2, 3, 4)), (exporter_steps.few_bits, 1, (1, 2, 3, 4)), (exporter_steps.decoding, 4, (2, 3))]


def make_random_model(seed):
    """A model with the input `x` whose outputs are what nothing reads, and sometimes a value inside."""
    net = Network(seed)
    length = int(net.rng.integers(1, 12))
    weights = np.array([often for _, often, _ in STEPS], float)
    while len(net.nodes) < length:
        step, _, ranks = STEPS[net.rng.choice(len(STEPS), p=weights / weights.sum())]
        x = net.pick()
        if len(net.values[x]) in ranks:
            net.pending.clear()
            step(net, x)
    read = set(list_reads(net.nodes))
    outputs = [name for node in net.nodes for name in node.output if name not in read and name in net.values]
    inner = [name for node in net.nodes for name in node.output if name in read and name in net.values]
    if inner and net.often(0.15):
        outputs.append(net.one_of(*inner))
    return onnx.shape_inference.infer_shapes(net.model(outputs))
