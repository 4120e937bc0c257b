# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Evaluates an ONNX QDQ file as the integer program that the law makes of it.

Every operator is evaluated on real numbers as its file says; where a quantize stands behind a product or a mean of quantized
values, the integer form ([N.form], [N.avg_pool]) decides its result instead. All other integer forms ([N.elementwise],
[N.table], [N.max_pool], [N.concat]) give the same bytes as dequantize, operator, quantize.
"""

from dataclasses import dataclass

import numpy as np

from . import elementwise, operators, pools, products, quantization
from .graph import Graph, Node
from .quantization import QParams

f32 = np.float32

ACTIVATION_TYPES = (np.uint8, np.int8)  # [N.signed]
WIDE_TYPES = (np.uint16, np.int16)
INTEGER_TYPES = {np.dtype(kind): (np.iinfo(kind).min, np.iinfo(kind).max) for kind in (np.uint8, np.int8, *WIDE_TYPES, np.int32)}


@dataclass
class Quantized:
    """What a DequantizeLinear read."""

    values: np.ndarray
    params: QParams

    @property
    def is_activation(self):
        return self.values.dtype in ACTIVATION_TYPES

    @property
    def is_wide(self):
        return self.values.dtype in WIDE_TYPES and self.is_per_tensor

    @property
    def is_per_tensor(self):
        return self.params.axis is None

    def bytes(self):
        """[N.wide] What the high and the low bytes of integers of 16 bits stand for."""
        least = np.iinfo(self.values.dtype).min
        parts = [np.divmod(np.asarray(each, np.int64) - least, 256) for each in (self.values, self.params.zero_point)]
        return [Quantized(values.astype(np.uint8), QParams(f32(self.params.scale * f32(factor)), zero, 0, 255))
                for values, zero, factor in zip(*parts, (256, 1))]


@dataclass
class Product:
    """A product with an integer form: its accumulator, S[c], the axis of c, and a bias that is added in floats."""

    accumulator: np.ndarray
    scale: np.ndarray
    axis: int
    bias: np.ndarray | None = None

    @property
    def real(self):
        return quantization.real_accumulator(self.accumulator, self.scale, self.axis, self.bias)


class Network:
    def __init__(self, model):
        self.graph = Graph(model)
        self._find_linears()
        self.constant_values = self._start()
        for node in self.graph.nodes:
            if node.outputs and node.output in self.graph.is_constant:
                self.constant_values.evaluate(node)

    def _find_linears(self):
        """[N.linear]: MatMul with a constant matrix; an Add of a constant vector behind it is its bias."""
        graph, self.bias_of, self.folded_adds = self.graph, {}, {}
        for node in graph.nodes:
            if node.type != "Add":
                continue
            for product, bias in (node.inputs, node.inputs[::-1]):
                writer = graph.producer(product)
                if (writer and writer.type == "MatMul" and writer.inputs[1] in graph.is_constant
                        and writer.inputs[0] not in graph.is_constant and bias in graph.is_constant
                        and self._is_row(bias) and graph.only_read_once(product)):
                    self.bias_of[product], self.folded_adds[node.output] = bias, product

    def _is_row(self, name):
        """Whether a constant has its numbers along the last axis, or one; of a computed one this is not known yet, and assumed."""
        array = self.graph.constants.get(name)
        return array is None or array.size == 1 or array.size == array.shape[-1]

    def _start(self):
        return Evaluation(self, dict(self.graph.constants), {}, {})

    def run(self, inputs, all_tensors=False):
        """Outputs by name; with `all_tensors` every tensor, quantized ones as their storage values."""
        missing = set(self.graph.inputs) - set(inputs)
        if missing:
            raise ValueError(f"missing inputs: {sorted(missing)}")
        known = self.constant_values
        evaluation = Evaluation(self, dict(known.values), dict(known.quantized), dict(known.products))
        evaluation.values.update({name: np.asarray(inputs[name]) for name in self.graph.inputs})
        for node in self.graph.nodes:
            if node.outputs and node.output not in self.graph.is_constant:
                evaluation.evaluate(node)
        return evaluation.values if all_tensors else {name: evaluation.values[name] for name in self.graph.outputs}

    __call__ = run


@dataclass
class Evaluation:
    """The values of one run by name; `quantized` and `products` say more about some of them."""

    network: Network
    values: dict
    quantized: dict
    products: dict

    def get(self, name):
        return None if name is None else self.values[name]

    def evaluate(self, node: Node):
        special = {"QuantizeLinear": self.quantize, "DequantizeLinear": self.dequantize, "Conv": self.product,
                   "Gemm": self.product, "MatMul": self.product, "Add": self.add, "Transpose": self.transpose,
                   "Mul": self.multiply, "Gelu": self.gelu, "Exp": self.exp}
        handler = special.get(node.type)
        if handler:
            handler(node)
        else:
            operators.evaluate(node, self.values)

    # Quantize and dequantize

    def read_params(self, node, dtype=None):
        """Parameters of a (de)quantizing node and its storage type."""
        scale, zero = self.get(node.input(1)), self.get(node.input(2))
        dtype = dtype or (zero.dtype if zero is not None else np.dtype(np.uint8))
        rank = self.values[node.inputs[0]].ndim
        axis = None if scale.ndim == 0 or (scale.size == 1 and rank == 0) else node.attribute("axis", 1) % rank
        low, high = INTEGER_TYPES[dtype]
        return QParams(scale, 0 if zero is None else zero, low, high, axis), dtype

    def dequantize(self, node):
        values = self.values[node.inputs[0]]
        params, _ = self.read_params(node, values.dtype)
        self.quantized[node.output] = Quantized(values, params)
        self.values[node.output] = quantization.dequantize(values, params)

    def quantize(self, node):
        params, dtype = self.read_params(node)
        source = node.inputs[0]
        result = None
        if dtype in ACTIVATION_TYPES:
            result = self.quantize_mean(source, params) if params.axis is None else None
            if result is None:
                result = self.quantize_product(source, params)
        if result is None:
            result = quantization.quantize(self.values[source], params)
        self.values[node.output] = result.astype(dtype)

    def quantize_mean(self, source, params):
        """[N.avg_pool], if `source` is a mean of quantized values."""
        node = self.network.graph.producer(source)
        if not node or node.type not in ("AveragePool", "GlobalAveragePool", "ReduceMean"):
            return None
        operand = self.quantized.get(node.inputs[0])
        if not operand or not operand.is_activation or not operand.is_per_tensor:
            return None
        if node.type == "AveragePool":
            window, include_pad = operators.pool_window(node), bool(node.attribute("count_include_pad", 0))
            return pools.average_pool_integer(operand.values, operand.params, params, window, include_pad)
        axes, keep_dims = operators.mean_axes(node, self.values)
        if operand.values.ndim != 4 or tuple(axes) != (2, 3):
            return None
        return pools.mean_integer(operand.values, operand.params, params, axes, keep_dims)

    # Products

    def product(self, node):
        bias_name = self.network.bias_of.get(node.output) or node.input(2)
        x, w = (self.quantized.get(name) for name in node.inputs[:2])
        wide = self.wide_product(node, x, w, bias_name) if x and w and x.is_wide else None
        integer = self.integer_product(node, bias_name)
        if wide is not None:
            self.values[node.output] = wide
        elif integer:
            self.products[node.output] = integer
            self.values[node.output] = integer.real
        else:
            real = (self.get(name) for name in (*node.inputs[:2], bias_name))
            self.values[node.output] = self.float_product(node, *real)

    def is_linear(self, node):
        return node.type == "Gemm" or (node.type == "MatMul" and node.inputs[1] in self.network.graph.is_constant
                                       and self.values[node.inputs[1]].ndim == 2)

    def filter_rows(self, node, values):
        """The filter with outputs along axis 0."""
        if node.type == "Conv":
            return values
        if node.type == "Gemm":
            if node.attribute("transA", 0) or node.attribute("alpha", 1.0) != 1.0 or node.attribute("beta", 1.0) != 1.0:
                raise NotImplementedError(f"{node.name}: Gemm with transA, alpha or beta")
            return values if node.attribute("transB", 0) else values.T
        return values.T

    def real_product(self, node, bias_name):
        x, w, bias = (self.get(n) for n in (node.inputs[0], node.inputs[1], bias_name))
        if all(n in self.quantized for n in node.inputs[:2]):
            return  # the integer form follows, or nothing quantized is left float (integer_product says so)
        self.values[node.output] = self.float_product(node, x, w, bias)

    def float_product(self, node, x, w, bias):
        if node.type == "Conv":
            return products.conv(x, w, bias, operators.conv_window(node, w), node.attribute("group", 1))
        if self.is_linear(node):
            return products.linear(x, self.filter_rows(node, w), bias)
        return products.matmul(x, w)

    def wide_product(self, node, x, w, bias_name):
        """[N.wide] The sum of the products with the bytes, or nothing."""
        high, low = x.bytes()
        upper, lower = self.product_with_weights(node, high, w, None), self.product_with_weights(node, low, w, bias_name)
        if not upper or not lower:
            return None
        return lower.real + upper.real

    def integer_product(self, node, bias_name):
        x, w = (self.quantized.get(name) for name in node.inputs[:2])
        if x and w and node.type == "MatMul" and (w.values.dtype == np.uint8 or not self.is_linear(node)):
            return self.product_of_activations(x, w)  # of a constant that is quantized as a value, too
        return self.product_with_weights(node, x, w, bias_name) if x and w else None

    def product_with_weights(self, node, x, w, bias_name):
        form = self.check_product(node, x, w, bias_name)
        if form is None:
            return None
        filters, scale, bias, real_bias = form
        if node.type == "Conv":
            accumulator = products.conv_integer(x.values, x.params.zero_point, filters, bias,
                                                operators.conv_window(node, filters), node.attribute("group", 1))
            return Product(accumulator, scale, 1, real_bias)
        accumulator = products.linear_integer(x.values, x.params.zero_point, filters, bias)
        return Product(accumulator, scale, accumulator.ndim - 1, real_bias)

    def product_of_activations(self, x, w):
        """[N.matmul] of two quantized values with one scale each, unless a sum may overflow."""
        operands_fit = all(each.is_activation and each.is_per_tensor for each in (x, w))
        if not operands_fit or x.values.shape[-1] > (2**31 - 1) // 255**2:
            return None
        accumulator = products.matmul_integer(x.values, x.params.zero_point, w.values, w.params.zero_point)
        scale = quantization.accumulator_scale(x.params.scale, w.params.scale)
        return Product(accumulator, np.broadcast_to(scale, accumulator.shape[-1]), accumulator.ndim - 1)

    def check_product(self, node, x, w, bias_name):
        """(filter rows, S[c], integer bias, or real one by [N.float_bias]) if the product has an integer form, else nothing."""
        if not x.is_activation or w.values.dtype != np.int8 or node.inputs[1] not in self.network.graph.is_constant:
            return None
        if node.type != "Conv" and not self.is_linear(node):
            return None
        filters = self.filter_rows(node, w.values)
        outputs, groups = filters.shape[0], node.attribute("group", 1)
        channels = x.params.scale.size
        depthwise = node.type == "Conv" and groups > 1 and groups == x.values.shape[1] and x.params.axis == 1
        if not x.is_per_tensor and not depthwise:
            return None
        rows_axis = 0 if filters is w.values else w.values.ndim - 1
        if w.params.zero_point.any() or (not w.is_per_tensor and w.params.axis != rows_axis):
            return None
        scale = quantization.accumulator_scale(np.repeat(x.params.scale, outputs // channels),
                                               np.broadcast_to(w.params.scale, outputs))
        bias = real_bias = None
        if bias_name:
            held = self.quantized.get(bias_name)
            if bias_name not in self.network.graph.is_constant:
                return None
            counts = held and held.values.dtype == np.int32 and not held.params.zero_point.any() and np.all(held.params.scale == scale)
            bias, real_bias = (held.values, None) if counts else (None, np.asarray(self.values[bias_name], f32))
        if not products.proves_no_overflow(filters, bias, x.params, outputs):
            return None
        return filters, scale, bias, real_bias

    def add(self, node):
        folded = self.network.folded_adds.get(node.output)
        if folded is None:
            operators.evaluate(node, self.values)
            return
        self.values[node.output] = self.values[folded]
        if folded in self.products:
            self.products[node.output] = self.products[folded]

    def quantize_product(self, source, params):
        """[N.requantize] or [N.residual], if [N.form] says so."""
        graph = self.network.graph
        params = QParams(params.scale, params.zero_point, params.low, params.high, params.axis)
        while graph.only_read_once(source):
            interval = operators.clamp_interval(graph.producer(source), self.values)
            if interval is None:
                break
            bounds = quantization.narrow(params, interval)
            if bounds is None:
                break
            params.low, params.high = bounds
            source = graph.producer(source).inputs[0]
        if not graph.only_read_once(source):
            return None
        product = self.products.get(source)
        if product:
            return quantization.requantize(product.accumulator, product.scale, params, product.axis, product.bias)
        node = graph.producer(source)
        if not node or node.type != "Add":
            return None
        for first, second in (node.inputs, node.inputs[::-1]):
            product, other = self.products.get(first), self.quantized.get(second)
            if (product and graph.only_read_once(first) and other and other.is_activation and other.is_per_tensor
                    and other.values.shape == product.accumulator.shape):
                return quantization.residual(product.accumulator, product.scale, other.values, other.params, params,
                                             product.axis, product.bias)
        return None

    # Facts about a value survive a transposition of constants; activations of one operator have two nodes.

    def transpose(self, node):
        operators.evaluate(node, self.values)
        held = self.quantized.get(node.inputs[0])
        if held and node.inputs[0] in self.network.graph.is_constant:
            permutation = node.attribute("perm") or list(range(held.values.ndim))[::-1]
            axis = None if held.params.axis is None else permutation.index(held.params.axis)
            moved = QParams(held.params.scale, held.params.zero_point, held.params.low, held.params.high, axis)
            self.quantized[node.output] = Quantized(held.values.transpose(permutation), moved)

    def multiply(self, node):
        for value, gate in (node.inputs, node.inputs[::-1]):
            activation = operators.gated_activation(self.network.graph, value, gate)
            if activation:
                is_coarse = activation is elementwise.silu and self.is_coarse(value, node.output)
                self.values[node.output] = elementwise.coarse(self.values[value], "silu") if is_coarse else activation(self.values[value])
                return
        operators.evaluate(node, self.values)

    def gelu(self, node):
        if not self.is_coarse(node.inputs[0], node.output):
            operators.evaluate(node, self.values)
            return
        form = node.attribute("approximate", "none")
        self.values[node.output] = elementwise.coarse(self.values[node.inputs[0]], "gelu" if form == "none" else "gelu_tanh")

    def exp(self, node):
        is_coarse = self.is_coarse(node.inputs[0], node.output, behind=())
        self.values[node.output] = (elementwise.coarse_exp if is_coarse else elementwise.exp)(self.values[node.inputs[0]])

    def is_coarse(self, value, result, behind=("Add", "Sub", "Max", "Min", "Relu", "Clip")):
        """Whether an activation of `value` is [N.coarse], with such operators, and products with constants, between its result and the quantize."""
        graph, factor = self.network.graph, 1.0
        producer, reader = graph.producer(value), graph.reader.get(result)
        if producer and producer.type == "DequantizeLinear":
            return False
        while graph.only_read_once(result) and reader:
            constants = [name for name in reader.inputs if name in graph.constants]
            if behind and reader.type == "Mul" and constants:
                factor *= float(np.abs(self.values[constants[0]]).max())
            elif reader.type not in behind:
                break
            result = reader.output
            reader = graph.reader.get(result)
        if not graph.only_read_once(result) or not reader or reader.type != "QuantizeLinear":
            return False
        scales, zero_points = (np.asarray(self.values[name]) for name in reader.inputs[1:3])
        errors = [factor * 2.0**-10 / float(scale) for scale in scales.reshape(-1)]
        return zero_points.dtype in ACTIVATION_TYPES and sum(error * error for error in errors) <= len(errors)
