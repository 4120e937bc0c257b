# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Complex numbers, as rotary embeddings have them: made of pairs, multiplied, and made pairs again."""
from __future__ import annotations

from typing import Any, Callable

import torch

from ..net import Complex, Net, Operand, Unsupported, Value
from ..table import COMPLEX, Row, operators
from .elementwise import add, mul, sub
from .identity import identity
from .indexing import getitem
from .movement import expand, reshape, select, slice_, slice_along, transpose


def _pair(net: Net, x: Operand) -> Value:
    """The parts [..., 2] of a complex value or constant."""
    if isinstance(x, Complex):
        return x.pair
    if not isinstance(x, Value) or x.tensor is None or not x.tensor.is_complex():
        raise Unsupported("complex numbers together with real ones")
    return net.constant(torch.view_as_real(x.tensor.resolve_conj()))


def _part(net: Net, pair: Value, i: int) -> Value:
    return net.reshape(slice_along(net, pair, pair.rank - 1, i, 1), pair.shape[:-1])


def _joined(net: Net, real: Value, imaginary: Value) -> Complex:
    parts = (net.reshape(part, (*part.shape, 1)) for part in (real, imaginary))
    return Complex(net.nn("concat", *parts, axis=real.rank))


def of(row: Row) -> Callable[[Row], Row]:
    """The row that takes complex numbers in place of another."""
    def register(made: Row) -> Row:
        COMPLEX[row] = made
        return made
    return register


@operators("view_as_complex")
def view_as_complex(net: Net, x: Value) -> Complex:
    return Complex(x)


@operators("view_as_real")
def view_as_real(net: Net, x: Value) -> Value:
    return _pair(net, x)


COMPLEX[view_as_real] = view_as_real


@operators("polar")
def polar(net: Net, size: Value, angle: Value) -> Complex:
    return _joined(net, net.nn("mul", size, net.nn("cos", angle)), net.nn("mul", size, net.nn("sin", angle)))


@of(mul)
def multiply(net: Net, a: Operand, b: Operand) -> Complex:
    numbers = [x for x in (a, b) if not isinstance(x, Value) or x.dtype != torch.complex64]
    if numbers:
        pair = _pair(net, a if numbers[0] is b else b)
        factor = net.reshape(numbers[0], (*numbers[0].shape, 1)) if isinstance(numbers[0], Value) else float(numbers[0])
        return Complex(net.nn("mul", pair, factor))
    (a_real, a_imaginary), (b_real, b_imaginary) = ([_part(net, _pair(net, x), i) for i in (0, 1)] for x in (a, b))
    real = net.nn("sub", net.nn("mul", a_real, b_real), net.nn("mul", a_imaginary, b_imaginary))
    return _joined(net, real, net.nn("add", net.nn("mul", a_real, b_imaginary), net.nn("mul", a_imaginary, b_real)))


of(add)(lambda net, a, b: Complex(net.nn("add", _pair(net, a), _pair(net, b))))
of(sub)(lambda net, a, b: Complex(net.nn("sub", _pair(net, a), _pair(net, b))))
of(identity)(lambda net, x, *_, **__: x)


@of(reshape)
def reshaped(net: Net, x: Value, *_: Any, **__: Any) -> Complex:
    return Complex(net.reshape(_pair(net, x), (*net.result.shape, 2)))


@of(expand)
def expanded(net: Net, x: Value, *_: Any, **__: Any) -> Complex:
    return Complex(net.compose("Expand", _pair(net, x), net.constant(torch.tensor([*net.result.shape, 2]))))


@of(transpose)
def transposed(net: Net, x: Value, dim0: int, dim1: int) -> Complex:
    return Complex(transpose(net, _pair(net, x), x.axis(dim0), x.axis(dim1)))


@of(getitem)
def taken(net: Net, x: Value, index: Any) -> Complex:
    items = index if isinstance(index, tuple) else (index,)
    net.result = torch.view_as_real(net.result.resolve_conj())
    has_ellipsis = any(item is Ellipsis for item in items)
    return Complex(getitem(net, _pair(net, x), (*items, slice(None)) if has_ellipsis else items))


@of(select)
def selected(net: Net, x: Value, dim: int, index: int) -> Complex:
    net.result = torch.view_as_real(net.result.resolve_conj())
    return Complex(select(net, _pair(net, x), x.axis(dim), index))


@of(slice_)
def sliced(net: Net, x: Value, dim: int = 0, *ends: Any) -> Complex:
    return Complex(slice_(net, _pair(net, x), x.axis(dim), *ends))
