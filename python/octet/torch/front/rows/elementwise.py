# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arithmetic, comparisons and logic, element by element."""
from __future__ import annotations

import operator
from typing import Any, Optional

import torch

from ..net import Net, Operand, Unsupported, Value, held_as
from ..table import modules, operators


def promoted(net: Net, x: Operand, dtype: torch.dtype) -> Operand:
    """An operand with elements of the type that PyTorch computes with; numbers stay numbers."""
    if isinstance(x, Value):
        if x.tensor is not None and x.dtype != held_as(dtype):
            return net.constant(x.tensor.to(held_as(dtype)), x.name)
        return net.cast(x, dtype)
    return net.constant(torch.tensor([x], dtype=held_as(dtype))) if isinstance(x, (int, float)) else x


def binary(net: Net, op: str, a: Operand, b: Operand, dtype: Optional[torch.dtype] = None) -> Value:
    dtype = dtype or net.result.dtype
    result = net.nn(op, promoted(net, a, dtype), promoted(net, b, dtype))
    return net.reshape(result, net.result.shape)


def _scaled(net: Net, x: Operand, alpha: float) -> Operand:
    return x if alpha == 1 else binary(net, "mul", x, alpha) if isinstance(x, Value) else x * alpha


@operators("add", operator.add, operator.iadd)
def add(net: Net, a: Operand, b: Operand, *, alpha: float = 1) -> Value:
    return binary(net, "add", a, _scaled(net, b, alpha))


@operators("sub", "subtract", operator.sub, operator.isub)
def sub(net: Net, a: Operand, b: Operand, *, alpha: float = 1) -> Value:
    return binary(net, "sub", a, _scaled(net, b, alpha))


@operators("rsub")
def rsub(net: Net, a: Operand, b: Operand, alpha: float = 1) -> Value:
    return binary(net, "sub", b, _scaled(net, a, alpha))


@operators("mul", "multiply", operator.mul, operator.imul)
def mul(net: Net, a: Operand, b: Operand) -> Value:
    return binary(net, "mul", a, b)


@operators("div", "divide", "true_divide", operator.truediv, operator.itruediv)
def div(net: Net, a: Operand, b: Operand, *, rounding_mode: Optional[str] = None) -> Value:
    if rounding_mode is None:
        return binary(net, "div", a, b)
    if net.result.dtype.is_floating_point and rounding_mode == "floor":
        return net.nn("floor", binary(net, "div", a, b))
    if net.result.dtype.is_floating_point:
        quotient = binary(net, "div", a, b)
        return net.nn("mul", net.nn("sign", quotient), net.nn("floor", net.nn("abs", quotient)))
    raise Unsupported(f"quotients of integers, rounding_mode={rounding_mode!r}")


@operators("floor_divide", operator.floordiv)
def floor_divide(net: Net, a: Operand, b: Operand) -> Value:
    return div(net, a, b, rounding_mode="floor")


@operators("pow", operator.pow)
def power(net: Net, a: Operand, b: Operand) -> Value:
    if isinstance(b, (int, float)):
        b = net.constant(torch.tensor(float(b)))
    if not isinstance(a, Value):
        a = net.constant(torch.tensor(float(a)))
    return net.compose("Pow", a, b)


@operators("square")
def square(net: Net, x: Value) -> Value:
    return net.nn("mul", x, x)


@operators("remainder", operator.mod)
def remainder(net: Net, a: Operand, b: Operand) -> Value:
    quotient = net.nn("floor", binary(net, "div", a, b)) if net.result.dtype.is_floating_point else None
    if quotient is None:
        return binary(net, "mod", a, b)
    return binary(net, "sub", a, net.nn("mul", quotient, promoted(net, b, net.result.dtype)))


#: Functions that are one op of the dialect nn.
_UNARY = {"neg": "neg", "negative": "neg", "abs": "abs", "absolute": "abs", "exp": "exp", "log": "log", "sqrt": "sqrt", "sign": "sign", "floor": "floor", "ceil": "ceil",
          "round": "round", "sin": "sin", "cos": "cos", "atan": "atan", "erf": "erf", "bitwise_not": "not", "logical_not": "not"}
#: Functions that ONNX has.
_COMPOSED = {"reciprocal": "Reciprocal", "tan": "Tan", "asin": "Asin", "acos": "Acos", "sinh": "Sinh", "cosh": "Cosh", "asinh": "Asinh", "acosh": "Acosh",
             "atanh": "Atanh", "isnan": "IsNaN", "isinf": "IsInf"}
_RELATIONS = {"eq": ("Equal", operator.eq), "lt": ("Less", operator.lt), "le": ("LessOrEqual", operator.le), "gt": ("Greater", operator.gt),
              "ge": ("GreaterOrEqual", operator.ge)}
_LOGIC = {"logical_and": "and", "logical_or": "or", "logical_xor": "xor", "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor"}


def _compare(net: Net, op: str, a: Operand, b: Operand) -> Value:
    known = [x.dtype for x in (a, b) if isinstance(x, Value)]
    dtype = torch.float32 if any(isinstance(x, float) for x in (a, b)) or torch.float32 in known else known[0]
    return net.compose(op, promoted(net, a, dtype), promoted(net, b, dtype))


@operators("ne", operator.ne)
def not_equal(net: Net, a: Operand, b: Operand) -> Value:
    return net.nn("not", _compare(net, "Equal", a, b))


def _register() -> None:
    for name, op in _UNARY.items():
        operators(name)(lambda net, x, op=op: net.nn(op, x))
    for name, op in _COMPOSED.items():
        operators(name)(lambda net, x, op=op: net.compose(op, x))
    for name, (op, function) in _RELATIONS.items():
        operators(name, function)(lambda net, a, b, op=op: _compare(net, op, a, b))
    for name, op in _LOGIC.items():
        operators(name)(lambda net, a, b, op=op: binary(net, op, a, b))
    for name, op in (("maximum", "max"), ("minimum", "min")):
        operators(name)(lambda net, a, b, op=op: binary(net, op, a, b))
    operators(operator.neg)(lambda net, x: net.nn("neg", x))
    operators(operator.invert)(lambda net, x: net.nn("not", x))
    operators(operator.and_)(lambda net, a, b: binary(net, "and", a, b))
    operators(operator.or_)(lambda net, a, b: binary(net, "or", a, b))


@operators("rsqrt")
def rsqrt(net: Net, x: Value) -> Value:
    return net.nn("div", 1.0, net.nn("sqrt", x))


@operators("log1p")
def log1p(net: Net, x: Value) -> Value:
    return net.nn("log", net.nn("add", x, 1.0))


@operators("where")
def where(net: Net, condition: Value, a: Operand, b: Operand) -> Value:
    dtype = net.result.dtype
    return net.reshape(net.nn("select", condition, promoted(net, a, dtype), promoted(net, b, dtype), dtype=dtype), net.result.shape)


@operators("masked_fill")
def masked_fill(net: Net, x: Value, mask: Value, value: Operand) -> Value:
    return where(net, mask, value, x)


@operators("clamp", "clip", "hardtanh")
def clamp(net: Net, x: Value, min: Operand = None, max: Operand = None, *_: Any, **__: Any) -> Value:
    if x.dtype.is_floating_point and not isinstance(min, Value) and not isinstance(max, Value):
        low, high = float("-inf") if min is None else float(min), float("inf") if max is None else float(max)
        return net.nn("clip", x, min=low, max=high)
    result = x if min is None else binary(net, "max", x, min)
    return result if max is None else binary(net, "min", result, max)


@operators("clamp_min")
def clamp_min(net: Net, x: Value, min: Operand) -> Value:
    return clamp(net, x, min=min)


@operators("clamp_max")
def clamp_max(net: Net, x: Value, max: Operand) -> Value:
    return clamp(net, x, max=max)


@operators("to", "type_as", "float", "long", "int", "bool", "half", "double", "type", "_to_copy")
def to(net: Net, x: Value, *_: Any, **__: Any) -> Value:
    """Whatever the arguments say: the type of the result is PyTorch's."""
    return net.cast(x, net.result.dtype)


@operators("clone", "contiguous", "detach", "alias", "lift_fresh_copy", "dropout", "dropout2d", "feature_dropout", "alpha_dropout", "native_dropout", "cpu",
           "requires_grad")
def identity(net: Net, x: Value, *_: Any, **__: Any) -> Value:
    """Also dropout, which does nothing in evaluation."""
    return x


@modules(torch.nn.Identity, torch.nn.Dropout, torch.nn.Dropout1d, torch.nn.Dropout2d, torch.nn.Dropout3d, torch.nn.AlphaDropout,
         torch.nn.FeatureAlphaDropout)
def identity_module(net: Net, module: Any, x: Value) -> Value:
    return x


_register()
