# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Maxima, linear resampling and data movement of 16-bit integers, and means, which are of floats: compiled code against the law."""

import pytest
from test_compiled import check, driver  # noqa: F401  (driver is a fixture)

SHAPE = (2, 20, 9, 11)
# operator, shape of the result, whether the scale stays
OPERATORS = {
    "max_pool": ("nn.max_pool {} kernel [3, 2] strides [2, 1] pads [1, 0, 1, 1]", (2, 20, 5, 11), True),
    "max_pool_rescaled": ("nn.max_pool {} kernel [2, 2] strides [2, 2]", (2, 20, 4, 5), False),
    "max_pool_of_nothing": ("nn.max_pool {} kernel [1, 1] strides [2, 2] pads [1, 1, 1, 1]", (2, 20, 6, 7), True),
    "avg_pool": ("nn.avg_pool {} kernel [3, 2] strides [1, 2] pads [1, 0, 1, 1]", (2, 20, 9, 6), False),
    "avg_pool_with_border": ("nn.avg_pool {} kernel [3, 2] strides [1, 2] pads [1, 0, 1, 1] count_include_pad", (2, 20, 9, 6), False),
    "mean": ("nn.reduce_mean {} axes [2, 3] keep_dims", (2, 20, 1, 1), False),
    "nearest": ("nn.resize {} size [18, 22] scales [2.0, 2.0] nearest asymmetric floor", (2, 20, 18, 22), True),
    "linear": ("nn.resize {} size [18, 22] scales [2.0, 2.0] linear half_pixel floor", (2, 20, 18, 22), False),
    "slice": ("nn.slice {} starts [0, 3, 8, 1] sizes [2, 16, 9, 2] steps [1, 1, -1, 2]", (2, 16, 9, 2), True),
    "transpose": ("nn.transpose {} permutation [0, 2, 3, 1]", (2, 9, 11, 20), True),
    "transpose_rescaled": ("nn.transpose {} permutation [0, 2, 3, 1]", (2, 9, 11, 20), False),
    "reshape": ("nn.reshape {}", (2, 1980), True),
    "concat": ("nn.concat {0}, {0} axis 1", (2, 40, 9, 11), True),
    "concat_rescaled": ("nn.concat {0}, {0} axis 3", (2, 20, 9, 22), False),
    "pad": ("nn.pad {} low [0, 0, 1, 2] high [0, 0, 1, 0] value 0.5", (2, 20, 11, 13), False),
}
INTEGERS = {"u16": (30000, 12345), "i16": (-7, -20000)}


@pytest.mark.parametrize("storage", INTEGERS)
@pytest.mark.parametrize("name", OPERATORS)
def test_operator(tool, driver, tmp_path, name, storage):  # noqa: F811
    operator, result, keeps = OPERATORS[name]
    zero, other = INTEGERS[storage]
    tensor = lambda shape, element: f"tensor<{'x'.join(map(str, shape))}x{element}>"  # noqa: E731
    first = f"!quant.uniform<{storage}:f32, 1.3e-4:{zero}>"
    second = first if keeps else f"!quant.uniform<{storage}:f32, 1.1e-4:{other}>"
    x, y = tensor(SHAPE, "f32"), tensor(result, "f32")
    operands = ", ".join([x] * operator.count("{"))
    text = f"""func.func @main(%x: {x} {{nn.name = "x"}}) -> {y} {{
  %t = nn.tanh %x : ({x}) -> {x}
  %q = octet.quantize %t : ({x}) -> {tensor(SHAPE, first)}
  %d = octet.dequantize %q : ({tensor(SHAPE, first)}) -> {x}
  %r = {operator.format("%d")} : ({operands}) -> {y}
  %rq = octet.quantize %r : ({y}) -> {tensor(result, second)}
  %rd = octet.dequantize %rq : ({tensor(result, second)}) -> {y}
  %n = nn.neg %rd : ({y}) -> {y}
  return %n : {y}
}}
"""
    check(tool, driver, tmp_path, text, SHAPE)
