# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of one operand, element by element."""
from __future__ import annotations

import math
import operator
from typing import Any

import torch

from ..net import Net, Value
from ..table import operators
from .elementwise import nan_of, trunc

#: Functions that are one op of the dialect nn.
_UNARY = {"neg": "neg", "negative": "neg", "abs": "abs", "absolute": "abs", "exp": "exp", "log": "log", "sqrt": "sqrt", "sign": "sign", "sgn": "sign", "sin": "sin",
          "cos": "cos", "atan": "atan", "arctan": "atan", "erf": "erf", "bitwise_not": "not"}
#: Functions that ONNX has.
_COMPOSED = {"reciprocal": "Reciprocal", "tan": "Tan", "asin": "Asin", "arcsin": "Asin", "acos": "Acos", "arccos": "Acos", "sinh": "Sinh", "cosh": "Cosh",
             "asinh": "Asinh", "arcsinh": "Asinh", "acosh": "Acosh", "arccosh": "Acosh", "atanh": "Atanh", "arctanh": "Atanh", "isnan": "IsNaN", "isinf": "IsInf"}
#: Functions of reals that leave integers as they are.
_ROUNDED = ("floor", "ceil")


def _real(net: Net, x: Value) -> Value:
    """PyTorch computes functions of integers in f32."""
    return net.cast(x, torch.float32) if net.result.dtype.is_floating_point or net.result.dtype == torch.bool else x


def _register() -> None:
    for name, op in _UNARY.items():
        operators(name)(lambda net, x, op=op: net.nn(op, _real(net, x) if op not in ("not", "neg", "abs", "sign") else x))
    for name, op in _COMPOSED.items():
        operators(name)(lambda net, x, op=op: net.compose(op, _real(net, x)))
    for name in _ROUNDED:
        operators(name)(lambda net, x, op=name: net.nn(op, x) if x.dtype.is_floating_point else x)
    operators(operator.neg)(lambda net, x: net.nn("neg", x))
    operators(operator.abs)(lambda net, x: net.nn("abs", x))
    operators(operator.invert)(lambda net, x: net.nn("not", x))


@operators("round")
def round_(net: Net, x: Value, *, decimals: int = 0) -> Value:
    if not x.dtype.is_floating_point:
        return x
    if decimals == 0:
        return net.nn("round", x)
    factor = float(10 ** abs(decimals))
    forth, back = ("mul", "div") if decimals > 0 else ("div", "mul")
    return net.nn(back, net.nn("round", net.nn(forth, x, factor)), factor)


@operators("frac")
def frac(net: Net, x: Value) -> Value:
    return net.nn("sub", x, trunc(net, x))


@operators("square")
def square(net: Net, x: Value) -> Value:
    return net.nn("mul", x, x)


@operators("rsqrt")
def rsqrt(net: Net, x: Value) -> Value:
    return net.nn("div", 1.0, net.nn("sqrt", _real(net, x)))


@operators("exp2")
def exp2(net: Net, x: Value) -> Value:
    return net.nn("exp", net.nn("mul", _real(net, x), math.log(2)))


@operators("expm1")
def expm1(net: Net, x: Value) -> Value:
    return net.nn("sub", net.nn("exp", _real(net, x)), 1.0)


@operators("log1p")
def log1p(net: Net, x: Value) -> Value:
    return net.nn("log", net.nn("add", _real(net, x), 1.0))


@operators("log2")
def log2(net: Net, x: Value) -> Value:
    return net.nn("mul", net.nn("log", _real(net, x)), 1 / math.log(2))


@operators("log10")
def log10(net: Net, x: Value) -> Value:
    return net.nn("mul", net.nn("log", _real(net, x)), 1 / math.log(10))


@operators("erfc")
def erfc(net: Net, x: Value) -> Value:
    return net.nn("sub", 1.0, net.nn("erf", _real(net, x)))


@operators("isfinite")
def isfinite(net: Net, x: Value) -> Value:
    return net.nn("not", net.nn("or", nan_of(net, x), net.compose("IsInf", x)))


@operators("signbit")
def signbit(net: Net, x: Value) -> Value:
    """The quotient tells -0 from 0."""
    zero = net.constant(torch.zeros(1))
    return net.nn("or", net.compose("Less", x, zero), net.compose("Less", net.nn("div", 1.0, x), zero))


@operators("copysign")
def copysign(net: Net, x: Value, sign: Any) -> Value:
    size = net.nn("abs", x)
    if not isinstance(sign, Value):
        return net.nn("neg", size) if math.copysign(1.0, sign) < 0 else size
    return net.nn("select", signbit(net, sign), net.nn("neg", size), size, dtype=x.dtype)


_register()
