# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX operators on real numbers and storage values, one table row each."""

import numpy as np

from . import elementwise, integers, movement, pools, products
from .graph import pads_of, scalar
from .products import Window

f32 = np.float32


def conv_window(node, filters):
    return Window(tuple(filters.shape[2:]), tuple(node.attribute("strides", [1, 1])), pads_of(node),
                  tuple(node.attribute("dilations", [1, 1])))


def pool_window(node):
    return Window(tuple(node.attribute("kernel_shape")), tuple(node.attribute("strides", [1, 1])), pads_of(node),
                  tuple(node.attribute("dilations", [1, 1])))


def mean_axes(node, values):
    """(ascending axes, whether they are kept)."""
    rank = values[node.inputs[0]].ndim
    if node.type == "GlobalAveragePool":
        return tuple(range(2, rank)), True
    axes = node.attribute("axes")
    if node.input(1):
        axes = values[node.input(1)].tolist()
    return tuple(sorted(a % rank for a in axes or range(rank))), bool(node.attribute("keepdims", 1))


def clamp_interval(node, values):
    """The interval that `node` clamps real numbers to, or nothing."""
    if node is None:
        return None
    if node.type == "Relu":
        return f32(0), f32(np.inf)
    if node.type != "Clip" or values[node.inputs[0]].dtype != f32:
        return None
    return clip_bounds(node, values)


def clip_bounds(node, values):
    bounds = []
    for i, name, default in ((1, "min", -np.inf), (2, "max", np.inf)):
        value = values[node.input(i)] if node.input(i) else node.attribute(name, default)
        bounds.append(f32(scalar(value)))
    return tuple(bounds)


def gated_activation(graph, value, gate):
    """[N.silu] or [N.hard_swish] of `value`, if `gate` is its gate and nothing else reads that."""
    node = graph.producer(gate)
    if not node or node.inputs[:1] != [value] or not graph.only_read_once(gate):
        return None
    if node.type == "Sigmoid":
        return elementwise.silu
    is_sixth = node.type == "HardSigmoid" and f32(node.attribute("alpha", 0.2)) == f32(1 / 6)
    return elementwise.hard_swish if is_sixth and node.attribute("beta", 0.5) == 0.5 else None


def _clip(node, values):
    x = values[node.inputs[0]]
    if x.dtype == f32:
        return elementwise.clip(x, *clip_bounds(node, values))
    low, high = (values[node.input(i)] for i in (1, 2))
    return np.minimum(np.maximum(x, low), high)


def _max_pool(node, values):
    return pools.max_pool(values[node.inputs[0]], pool_window(node))


def _average_pool(node, values):
    return pools.average_pool(values[node.inputs[0]], pool_window(node), bool(node.attribute("count_include_pad", 0)))


def _global_average(node, values):
    """[N.mean]: over one dimension it is a pool, too."""
    x = values[node.inputs[0]]
    return pools.reduce(x.reshape(*x.shape[:2], 1, -1), "mean", (2, 3)).reshape(*x.shape[:2], *[1] * (x.ndim - 2))


def _reduction(kind, of_integers=None):
    """[N.reduce] of reals; `of_integers` is for other types."""
    def apply(node, values):
        if of_integers and values[node.inputs[0]].dtype.kind != "f":
            return of_integers(node, values)
        return pools.reduce(values[node.inputs[0]], kind, *mean_axes(node, values))

    return apply


def _batch_norm(node, values):
    return products.batch_norm(*(values[name] for name in node.inputs[:5]), node.attribute("epsilon", 1e-5))


def _pad(node, values):
    if node.attribute("mode", "constant") != "constant" or node.input(3):
        raise NotImplementedError(f"{node.name}: Pad with mode or axes")
    x, pads = values[node.inputs[0]], values[node.inputs[1]].reshape(2, -1)
    value = scalar(values[node.input(2)]) if node.input(2) else 0
    return np.pad(x, pads.T, constant_values=value)


def _slice(node, values):
    x = values[node.inputs[0]]
    starts, ends, axes, steps = (values[node.input(i)].tolist() if node.input(i) else None for i in (1, 2, 3, 4))
    index = [slice(None)] * x.ndim
    for i, (start, end) in enumerate(zip(starts, ends)):
        axis, step = (axes[i] if axes else i) % x.ndim, steps[i] if steps else 1
        size = x.shape[axis]
        start = min(max(start + size if start < 0 else start, 0), size if step > 0 else size - 1)
        end = end + size if end < 0 else end
        end = min(max(end, 0), size) if step > 0 else max(end, -1)
        index[axis] = slice(start, None if end < 0 else end, step)
    return x[tuple(index)]


def _reshape(node, values):
    x, shape = values[node.inputs[0]], values[node.inputs[1]].tolist()
    return x.reshape([x.shape[i] if n == 0 else n for i, n in enumerate(shape)])


def _flatten(node, values):
    x, axis = values[node.inputs[0]], node.attribute("axis", 1)
    return x.reshape(int(np.prod(x.shape[: axis % (x.ndim + 1)])), -1)


def _axes(node, values):
    return values[node.input(1)].tolist() if node.input(1) else node.attribute("axes")


def _squeeze(node, values):
    x, axes = values[node.inputs[0]], _axes(node, values)
    return np.squeeze(x, None if axes is None else tuple(axes))


def _unsqueeze(node, values):
    return np.expand_dims(values[node.inputs[0]], tuple(_axes(node, values)))


def _transpose(node, values):
    return np.transpose(values[node.inputs[0]], node.attribute("perm"))


def _concat(node, values):
    return np.concatenate([values[name] for name in node.inputs], node.attribute("axis"))


def _resize(node, values):
    x = values[node.inputs[0]]
    factors = values[node.input(2)] if node.input(2) and values[node.input(2)].size else None
    size = values[node.input(3)][-2:].tolist() if node.input(3) else None
    if size is None:
        size = [int(np.floor(n * f)) for n, f in zip(x.shape[-2:], factors[-2:])]
    return movement.resize(x, size, None if factors is None else factors[-2:], node.attribute("mode", "nearest"),
                           node.attribute("coordinate_transformation_mode", "half_pixel"),
                           node.attribute("nearest_mode", "round_prefer_floor"))


def _constant(node, _):
    from onnx import numpy_helper
    for name, value in node.attributes.items():
        if name == "value":
            return numpy_helper.to_array(value)
        if name in ("value_float", "value_floats"):
            return np.asarray(value, f32)
        if name in ("value_int", "value_ints"):
            return np.asarray(value, np.int64)
    raise NotImplementedError(f"{node.name}: Constant with {list(node.attributes)}")


def _unary(function, **attributes):
    """An operator of one value; `attributes` are its ONNX attributes and their defaults."""
    return lambda node, values: function(values[node.inputs[0]], *(node.attribute(n, d) for n, d in attributes.items()))


def _binary(function):
    return lambda node, values: function(values[node.inputs[0]], values[node.inputs[1]])


def _by_kind(of_reals, of_integers):
    """An operator of real numbers or of integers."""
    def apply(node, values):
        operands = [values[name] for name in node.inputs]
        return (of_reals if operands[0].dtype.kind == "f" else of_integers)(*operands)
    return apply


def _cast(node, values):
    from onnx import helper
    return integers.cast(values[node.inputs[0]], helper.tensor_dtype_to_np_dtype(node.attribute("to")))


def _bit_shift(node, values):
    shift = integers.shift_left if node.attribute("direction") == "LEFT" else integers.shift_right
    return shift(values[node.inputs[0]], values[node.inputs[1]])


def _gather(node, values):
    return integers.gather(values[node.inputs[0]], values[node.inputs[1]], node.attribute("axis", 0))


def _scatter(node, values):
    data, indices, updates = (values[name] for name in node.inputs)
    return integers.scatter(data, indices[:, 0], updates, node.attribute("reduction", "none"))


def _cumulative_sum(node, values):
    x, axis = (values[name] for name in node.inputs)
    return integers.cumulative_sum(x, int(axis), node.attribute("exclusive", 0), node.attribute("reverse", 0))


def _top_k(node, values):
    """Its values, which nothing reads, have the first name."""
    x, k = (values[name] for name in node.inputs)
    largest = node.attribute("largest", 1)
    values[node.outputs[0]], values[node.outputs[1]] = integers.top_k(x, int(k[0]), node.attribute("axis", -1), largest)
    return values[node.outputs[0]]


def _reduce(function):
    """[N.integer] over axes."""
    def apply(node, values):
        x, axes = (values[name] for name in node.inputs)
        keep = bool(node.attribute("keepdims", 1))
        return function(x.astype(np.int64), axis=tuple(axes), keepdims=keep).astype(x.dtype)
    return apply


def _where(node, values):
    return np.where(*(values[name] for name in node.inputs))


TABLE = {
    "Add": _by_kind(elementwise.add, integers.add), "Sub": _by_kind(elementwise.sub, integers.sub),
    "Mul": _by_kind(elementwise.mul, integers.mul), "Div": _by_kind(elementwise.div, integers.div),
    "Relu": _unary(elementwise.relu), "Sigmoid": _unary(elementwise.sigmoid), "Tanh": _unary(elementwise.tanh),
    "Exp": _unary(elementwise.exp), "Erf": _unary(elementwise.erf),
    "Softplus": _unary(elementwise.softplus), "Gelu": _unary(elementwise.gelu, approximate="none"), "Sqrt": _unary(elementwise.sqrt),
    "Neg": _by_kind(np.negative, integers.neg),  # [N.neg]
    "HardSwish": _unary(elementwise.hard_swish), "Identity": _unary(np.asarray),
    "Abs": _by_kind(elementwise.magnitude, integers.magnitude), "Sign": _by_kind(elementwise.sign, integers.sign), "Round": _unary(elementwise.nearest),
    "Floor": _unary(elementwise.floor), "Ceil": _unary(elementwise.ceil), "Log": _unary(elementwise.log),
    "Sin": _unary(elementwise.sin), "Cos": _unary(elementwise.cos), "Atan": _unary(elementwise.atan),
    "Max": _by_kind(elementwise.larger, integers.larger), "Min": _by_kind(elementwise.lesser, integers.lesser), "Pow": _binary(elementwise.power),
    "PRelu": _binary(elementwise.prelu), "ThresholdedRelu": _unary(elementwise.thresholded_relu, alpha=1.0),
    "LeakyRelu": _unary(elementwise.leaky_relu, alpha=0.01), "Elu": _unary(elementwise.elu, alpha=1.0),
    "HardSigmoid": _unary(elementwise.hard_sigmoid, alpha=0.2, beta=0.5),
    "Softmax": _unary(elementwise.softmax, axis=-1), "Clip": _clip,
    "MaxPool": _max_pool, "AveragePool": _average_pool, "GlobalAveragePool": _global_average,
    "ReduceMean": _reduction("mean"), "ReduceSum": _reduction("sum", _reduce(np.sum)),
    "ReduceMax": _reduction("max", _reduce(np.max)), "ReduceMin": _reduction("min", _reduce(np.min)),
    "ReduceProd": _reduction("prod", _reduce(np.prod)),
    "BatchNormalization": _batch_norm,
    "Pad": _pad, "Slice": _slice, "Reshape": _reshape, "Flatten": _flatten, "Squeeze": _squeeze, "Unsqueeze": _unsqueeze,
    "Mod": _binary(integers.mod), "BitShift": _bit_shift, "Cast": _cast, "Where": _where, "Gather": _gather,
    "ScatterND": _scatter, "CumSum": _cumulative_sum, "TopK": _top_k,
    "Equal": _binary(integers.equal), "Less": _binary(integers.less), "LessOrEqual": _binary(integers.less_or_equal),
    "And": _binary(np.logical_and), "Or": _binary(np.logical_or), "Xor": _binary(np.logical_xor), "Not": _unary(np.logical_not),
    "BitwiseAnd": _binary(np.bitwise_and), "BitwiseOr": _binary(np.bitwise_or), "BitwiseXor": _binary(np.bitwise_xor),
    "BitwiseNot": _unary(np.invert),
    "Transpose": _transpose, "Concat": _concat, "Resize": _resize, "Constant": _constant,
}


def evaluate(node, values):
    if node.type not in TABLE:
        raise NotImplementedError(f"{node.name}: operator {node.type}")
    values[node.output] = np.asarray(TABLE[node.type](node, values))
