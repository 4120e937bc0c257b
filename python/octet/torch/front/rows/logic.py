# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Comparisons, logic, choices, and limits of values."""
from __future__ import annotations

import math
import operator
from typing import Any

import torch

from ..net import Net, Operand, Value
from ..table import methods, operators
from .elementwise import binary, promoted

_RELATIONS = {"eq": ("Equal", operator.eq), "lt": ("Less", operator.lt), "less": ("Less", operator.lt), "le": ("LessOrEqual", operator.le),
              "less_equal": ("LessOrEqual", operator.le), "gt": ("Greater", operator.gt), "greater": ("Greater", operator.gt), "ge": ("GreaterOrEqual", operator.ge),
              "greater_equal": ("GreaterOrEqual", operator.ge)}
_BITS = {"bitwise_and": ("and", operator.and_), "bitwise_or": ("or", operator.or_), "bitwise_xor": ("xor", operator.xor)}
_IN_PLACE_BITS = {"and": operator.iand, "or": operator.ior, "xor": operator.ixor}


def _compare(net: Net, op: str, a: Operand, b: Operand) -> Value:
    known = [x.dtype for x in (a, b) if isinstance(x, Value)]
    dtype = torch.float32 if any(isinstance(x, float) for x in (a, b)) else known[0] if len(known) == 1 else torch.promote_types(*known)
    if dtype == torch.bool:
        dtype = torch.int32
    return net.reshape(net.compose(op, promoted(net, a, dtype), promoted(net, b, dtype)), net.result.shape)


@operators("ne", "not_equal", operator.ne)
def not_equal(net: Net, a: Operand, b: Operand) -> Value:
    return net.nn("not", _compare(net, "Equal", a, b))


def truth(net: Net, x: Value) -> Value:
    """Whether numbers are other than zero."""
    return x if x.dtype == torch.bool else net.nn("not", net.compose("Equal", x, net.constant(torch.zeros(1, dtype=x.dtype))))


@operators("logical_not")
def logical_not(net: Net, x: Value) -> Value:
    return net.nn("not", truth(net, x))


def _register() -> None:
    for name, (op, function) in _RELATIONS.items():
        operators(name, function)(lambda net, a, b, op=op: _compare(net, op, a, b))
    for name, (op, function) in _BITS.items():
        operators(name, f"__{op}__", function, _IN_PLACE_BITS[op])(lambda net, a, b, op=op: binary(net, op, a, b))
    for op in ("and", "or", "xor"):
        operators(f"logical_{op}")(lambda net, a, b, op=op: net.nn(op, truth(net, a), truth(net, b)))


@operators("where")
def where(net: Net, condition: Value, a: Operand, b: Operand) -> Value:
    dtype = net.result.dtype
    return net.reshape(net.nn("select", condition, promoted(net, a, dtype), promoted(net, b, dtype), dtype=dtype), net.result.shape)


@methods("where")
def where_method(net: Net, x: Value, condition: Value, other: Operand) -> Value:
    return where(net, condition, x, other)


@operators("masked_fill")
def masked_fill(net: Net, x: Value, mask: Value, value: Operand) -> Value:
    return where(net, mask, value, x)


@operators("clamp", "clip")
def clamp(net: Net, x: Value, min: Operand = None, max: Operand = None) -> Value:
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


@operators("heaviside")
def heaviside(net: Net, x: Value, values: Value) -> Value:
    zero = net.constant(torch.zeros(1))
    step = net.cast(net.compose("Less", zero, x), torch.float32)
    return net.nn("select", net.compose("Equal", x, zero), values, step, dtype=torch.float32)


@operators("isin")
def isin(net: Net, x: Value, elements: Any, **_: Any) -> Value:
    elements = elements if isinstance(elements, Value) else net.constant(torch.tensor([elements]))
    row = net.constant(elements.tensor.reshape(-1)) if elements.tensor is not None else net.reshape(elements, (math.prod(elements.shape),))
    every = net.compose("Equal", net.reshape(x, (*x.shape, 1)), promoted(net, row, x.dtype))
    found = net.compose("ReduceMax", net.cast(every, torch.int32), net.constant(torch.tensor([x.rank])), keepdims=0)
    return net.cast(found, torch.bool)


_register()
