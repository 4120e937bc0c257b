# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arithmetic of two operands, element by element."""
from __future__ import annotations

import operator
from typing import Any, Optional

import torch

from ..net import Net, Operand, Value, held_as
from ..table import operators


def promoted(net: Net, x: Operand, dtype: torch.dtype) -> Operand:
    """An operand with elements of the type that PyTorch computes with; numbers stay numbers."""
    if isinstance(x, Value):
        if x.tensor is not None and x.dtype != held_as(dtype):
            return net.constant(x.tensor.to(held_as(dtype)), x.name and f"{x.name}.{held_as(dtype)}")
        return net.cast(x, dtype)
    return net.constant(torch.tensor([x], dtype=held_as(dtype))) if isinstance(x, (int, float)) else x


def binary(net: Net, op: str, a: Operand, b: Operand, dtype: Optional[torch.dtype] = None) -> Value:
    dtype = dtype or net.result.dtype
    result = net.nn(op, promoted(net, a, dtype), promoted(net, b, dtype))
    return net.reshape(result, net.result.shape)


def _scaled(net: Net, x: Operand, alpha: float) -> Operand:
    if alpha == 1:
        return x
    return net.nn("mul", promoted(net, x, net.result.dtype), alpha) if isinstance(x, Value) else x * alpha


@operators("add", operator.add, operator.iadd)
def add(net: Net, a: Operand, b: Operand, *, alpha: float = 1, out: None = None) -> Value:
    if net.result.dtype == torch.bool:
        return binary(net, "or", a, b)
    return binary(net, "add", a, _scaled(net, b, alpha))


@operators("sub", "subtract", operator.sub, operator.isub)
def sub(net: Net, a: Operand, b: Operand, *, alpha: float = 1) -> Value:
    return binary(net, "sub", a, _scaled(net, b, alpha))


@operators("rsub")
def rsub(net: Net, a: Operand, b: Operand, alpha: float = 1) -> Value:
    return binary(net, "sub", b, _scaled(net, a, alpha))


@operators("mul", "multiply", operator.mul, operator.imul)
def mul(net: Net, a: Operand, b: Operand) -> Value:
    return binary(net, "and" if net.result.dtype == torch.bool else "mul", a, b)


@operators("div", "divide", "true_divide", operator.truediv, operator.itruediv)
def div(net: Net, a: Operand, b: Operand, *, rounding_mode: Optional[str] = None) -> Value:
    quotient = lambda: binary(net, "div", a, b)  # noqa: E731
    if rounding_mode is None:
        return quotient()
    if net.result.dtype.is_floating_point:
        return net.nn("floor", quotient()) if rounding_mode == "floor" else trunc(net, quotient())
    if rounding_mode == "trunc":
        return quotient()
    dtype = net.result.dtype
    a, b = promoted(net, a, dtype), promoted(net, b, dtype)
    return net.nn("div", net.nn("sub", a, net.nn("mod", a, b)), b)


@operators("floor_divide", operator.floordiv, operator.ifloordiv)
def floor_divide(net: Net, a: Operand, b: Operand) -> Value:
    return div(net, a, b, rounding_mode="floor")


@operators("trunc", "fix")
def trunc(net: Net, x: Value) -> Value:
    return net.nn("mul", net.nn("sign", x), net.nn("floor", net.nn("abs", x))) if x.dtype.is_floating_point else x


@operators("pow", operator.pow, operator.ipow)
def power(net: Net, a: Operand, b: Operand) -> Value:
    """Of integers by repeated products, so that the result is exact."""
    if not net.result.dtype.is_floating_point and isinstance(b, int) and 1 <= b <= 8:
        result = a
        for _ in range(b - 1):
            result = net.nn("mul", result, a)
        return result
    dtype = net.result.dtype
    as_tensor = lambda x: promoted(net, x, dtype) if isinstance(x, Value) else net.constant(torch.tensor(float(x)))  # noqa: E731
    return net.compose("Pow", as_tensor(a), as_tensor(b))


@operators("fmod")
def fmod(net: Net, a: Operand, b: Operand) -> Value:
    dtype = net.result.dtype
    return net.compose("Mod", promoted(net, a, dtype), promoted(net, b, dtype), fmod=1)


@operators("remainder", operator.mod, operator.imod)
def remainder(net: Net, a: Operand, b: Operand) -> Value:
    """Has the sign of the divisor."""
    if not net.result.dtype.is_floating_point:
        return binary(net, "mod", a, b)
    rest, b = fmod(net, a, b), promoted(net, b, net.result.dtype)
    signs = net.nn("mul", net.nn("sign", rest), net.nn("sign", b))
    return net.nn("select", net.compose("Less", signs, net.constant(torch.zeros(1))), net.nn("add", rest, b), rest, dtype=rest.dtype)


def nan_of(net: Net, x: Value) -> Value:
    return net.nn("not", net.compose("Equal", x, x))


def _ignoring_nan(net: Net, op: str, a: Value, b: Value) -> Value:
    shape = list(net.result.shape)
    a, b = (net.compose("Expand", x, net.constant(torch.tensor(shape))) for x in (a, b))
    either = net.nn("select", nan_of(net, b), a, net.nn(op, a, b), dtype=a.dtype)
    return net.nn("select", nan_of(net, a), b, either, dtype=a.dtype)


@operators("fmax")
def fmax(net: Net, a: Value, b: Value) -> Value:
    return _ignoring_nan(net, "max", a, b)


@operators("fmin")
def fmin(net: Net, a: Value, b: Value) -> Value:
    return _ignoring_nan(net, "min", a, b)


@operators("atan2", "arctan2")
def atan2(net: Net, y: Value, x: Value) -> Value:
    """Zeros count as positive."""
    select = lambda condition, a, b: net.nn("select", condition, a, b, dtype=torch.float32)  # noqa: E731
    number = lambda value: net.constant(torch.tensor([value]))  # noqa: E731
    is_negative = net.compose("Less", y, number(0.0))
    angle = net.nn("atan", net.nn("div", y, x))
    turned = net.nn("add", angle, select(is_negative, number(-torch.pi), number(torch.pi)))
    angle = select(net.compose("Less", x, number(0.0)), turned, angle)
    upright = net.nn("mul", net.nn("sign", y), torch.pi / 2)
    return select(net.compose("Equal", x, number(0.0)), upright, angle)


@operators("hypot")
def hypot(net: Net, a: Value, b: Value) -> Value:
    return net.nn("sqrt", net.nn("add", net.nn("mul", a, a), net.nn("mul", b, b)))


@operators("addcmul")
def addcmul(net: Net, x: Value, a: Value, b: Value, *, value: float = 1) -> Value:
    return net.nn("add", x, _scaled(net, net.nn("mul", a, b), value))


@operators("addcdiv")
def addcdiv(net: Net, x: Value, a: Value, b: Value, *, value: float = 1) -> Value:
    return net.nn("add", x, _scaled(net, net.nn("div", a, b), value))


@operators("lerp")
def lerp(net: Net, a: Value, b: Value, weight: Operand) -> Value:
    return net.nn("add", a, net.nn("mul", net.nn("sub", b, a), weight))


_SHIFTS = {"shift_left": (operator.lshift, "__lshift__"), "shift_right": (operator.rshift, "__rshift__")}


def _register() -> None:
    for name, op in (("maximum", "max"), ("minimum", "min"), ("bitwise_left_shift", "shift_left"), ("bitwise_right_shift", "shift_right")):
        operators(name, *_SHIFTS.get(op, ()))(lambda net, a, b, op=op: binary(net, op, a, b))


def _fill(net: Net, value: Any) -> Value:
    shape, dtype = net.result.shape, net.result.dtype
    if not isinstance(value, Value):
        return net.constant(torch.full(shape, value, dtype=held_as(dtype)))
    value = net.cast(value, dtype)
    return value if value.shape == tuple(shape) else net.compose("Expand", value, net.constant(torch.tensor(list(shape))))


operators("zero")(lambda net, x: _fill(net, 0))
operators("fill")(lambda net, x, value: _fill(net, value))
operators("copy")(lambda net, x, source, non_blocking=False: _fill(net, source))
_register()
