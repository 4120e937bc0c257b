# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A network under construction: what the rows of the table of operators work with."""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import torch

from ..._ir import Builder

#: Element types by their numbers in ONNX's TensorProto.DataType; what the program has no type for is held as f32.
ELEMENTS = {torch.float32: 1, torch.uint8: 2, torch.int8: 3, torch.uint16: 4, torch.int16: 5, torch.int32: 6, torch.int64: 7, torch.bool: 9,
             torch.uint32: 12}
_DTYPES = {number: dtype for dtype, number in ELEMENTS.items()}


class Output(int):
    """The number of an output in place of its tensor."""


class Unsupported(Exception):
    """A row cannot take an operator in this form; the text says which."""


class Unfinished(Exception):
    """The obstacles in a part of a network."""

    def __init__(self, obstacles: List[str]) -> None:
        super().__init__()
        self.obstacles = obstacles


def held_as(dtype: torch.dtype) -> torch.dtype:
    """The type in which the program holds elements: f32 for all floats, pairs of it for complex numbers."""
    return torch.float32 if dtype.is_floating_point else torch.complex64 if dtype.is_complex else dtype


def hold(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor as the program takes it."""
    return tensor.detach().to(held_as(tensor.dtype)).contiguous()


class Value:
    """A tensor of the network: computed when it runs, or a constant (`tensor`) that becomes one of its weights when it is read.

    A constant with a `rounding`, a quantized type, is read through `octet.fake_quantize`.
    """

    def __init__(self, net: "Net", number: int = -1, tensor: Optional[torch.Tensor] = None, name: str = "", rounding: str = "") -> None:
        self.rounding = rounding
        self.net, self.number, self.tensor, self.name = net, number, tensor, name
        if tensor is not None:
            self.shape, self.dtype = tuple(tensor.shape), held_as(tensor.dtype)
        else:
            element, shape = net.builder.get_type(number)
            self.shape, self.dtype = tuple(shape), _DTYPES[element]

    @property
    def rank(self) -> int:
        return len(self.shape)

    def axis(self, axis: int) -> int:
        return axis % max(self.rank, 1)


class Complex(Value):
    """A tensor of complex numbers: a value whose last dimension has the real and the imaginary parts. Few rows take it."""

    def __init__(self, pair: Value) -> None:
        self.net, self.number, self.tensor, self.name, self.pair = pair.net, -1, None, "", pair
        self.shape, self.dtype = pair.shape[:-1], torch.complex64


class Widened(Value):
    """Integers of 8 or 16 bits that the graph has in a wider type. A dequantize reads them."""

    def __init__(self, stored: Value, dtype: torch.dtype) -> None:
        self.net, self.number, self.tensor, self.name, self.rounding = stored.net, -1, None, "", ""
        self.shape, self.dtype, self.stored = stored.shape, dtype, stored


class InEachRun(Value):
    """What PT2E computes of a value that is quantized in each run: scale, zero point, integers. A dequantize makes all three of it at once."""

    def __init__(self, like: torch.Tensor, source: Value, bounds: Tuple[int, int, torch.dtype]) -> None:
        self.net, self.number, self.tensor, self.name, self.rounding = source.net, -1, None, "", ""
        self.shape, self.dtype = tuple(like.shape), held_as(like.dtype)
        self.source, self.bounds = source, bounds


Operand = Union[Value, torch.Tensor, int, float, bool, None]


class Net:
    """Makes operators, all with the origin that was set last. `result` is what PyTorch computed for the one being translated."""

    def __init__(self) -> None:
        self.builder = Builder()
        self.result: Any = None
        self.kept: Dict[int, Value] = {}  # which queries a mask of attention leaves keys, by the mask
        self._origin, self._source, self._constants = "", ("", 0, "", 0), 0

    def set_origin(self, name: str, source_class: str, index: int, file: str, line: int) -> None:
        self._origin, self._source = name, (source_class, index, file, line)
        self.builder.set_origin(name, *self._source)

    def input(self, name: str, tensor: torch.Tensor) -> Value:
        dtype = held_as(tensor.dtype)
        if dtype not in ELEMENTS:
            raise Unsupported(f"inputs of {tensor.dtype}; give float32")
        return Value(self, self.builder.add_input(name, ELEMENTS[dtype], list(tensor.shape)))

    def constant(self, tensor: torch.Tensor, name: str = "", rounding: str = "") -> Value:
        return Value(self, tensor=tensor, name=name, rounding=rounding)

    def number(self, operand: Operand, like: torch.dtype = torch.float32, rank: int = 1) -> int:
        """The builder's number of a value; numbers and tensors become constants."""
        if operand is None:
            return -1
        if isinstance(operand, Value) and operand.number >= 0:
            return operand.number
        if isinstance(operand, Widened):
            raise Unsupported(f"integers of {operand.stored.dtype} in {operand.dtype}, which only a dequantize reads")
        if isinstance(operand, InEachRun):
            raise Unsupported("scales or integers of values that are quantized in each run, which only a dequantize reads")
        if isinstance(operand, (int, float)):
            operand = torch.tensor([operand] if rank else operand, dtype=like)
        value = operand if isinstance(operand, Value) else self.constant(operand)
        self._constants += not value.name
        name = value.name or f"{self._origin}.constant{self._constants}"
        array = hold(value.tensor)
        if value.dtype not in ELEMENTS:
            raise Unsupported(f"constants of {value.dtype}")
        if array.dtype == torch.bool:
            array = array.view(torch.uint8)
        value.number = self.builder.add_constant(name, ELEMENTS[value.dtype], array.numpy())
        if value.rounding:
            value.number = self.builder.add("octet.fake_quantize", [value.number], list(value.shape), quantized_type=value.rounding)
        return value.number

    def _numbers(self, operands: Sequence[Operand]) -> List[int]:
        """Numbers among the operands have the type of the first tensor."""
        tensors = [operand for operand in operands if isinstance(operand, Value)]
        like, rank = (tensors[0].dtype, max(x.rank for x in tensors)) if tensors else (torch.float32, 1)
        return [self.number(operand, like, rank) for operand in operands]

    def nn(self, op: str, *operands: Operand, shape: Optional[Sequence[int]] = None, dtype: Optional[torch.dtype] = None, **attributes: Any) -> Value:
        """An op of the dialect nn."""
        element = None if dtype is None else ELEMENTS[held_as(dtype)]
        return Value(self, self.builder.add(op, self._numbers(operands), None if shape is None else list(shape), element, **attributes))

    def round_in_each_run(self, x: Value, low: int, high: int) -> Value:
        """A value quantized and dequantized, in bytes, at the scale that its elements in this run give."""
        shape = "".join(f"{size}x" for size in x.shape)
        params = self.builder.add_typed("octet.choose_qparams", [self.number(x)], ["tensor<f32>", "tensor<i32>"], range=[low, high])
        stored = self.builder.add_typed("octet.quantize_dynamic", [self.number(x), *params], [f"tensor<{shape}!quant.uniform<u8:f32, 1.0>>"])
        return Value(self, self.builder.add_typed("octet.dequantize_dynamic", [*stored, *params], [f"tensor<{shape}f32>"])[0])

    def compose_all(self, op: str, *operands: Operand, results: int, **attributes: Any) -> List[Value]:
        """The results of an ONNX operator, composed of ops of the dialect nn."""
        numbers = self.builder.compose(op, self._numbers(operands), results, **attributes)
        return [Value(self, number) for number in numbers]

    def compose(self, op: str, *operands: Operand, **attributes: Any) -> Value:
        return self.compose_all(op, *operands, results=1, **attributes)[0]

    def add_function(self, symbol: str, network: Any, mapping: str) -> None:
        """A finished network as a function, with the text of a mapping of its own or an empty one."""
        self.builder.add_function(symbol, network.builder, mapping)

    def call(self, symbol: str, operands: Sequence[int]) -> List[Value]:
        return [Value(self, number) for number in self.builder.call(symbol, list(operands))]

    def move(self, op: str, *operands: Operand, **attributes: Any) -> Value:
        """An op of the dialect nn that an operator needs to move data: the source has none such, and it has no class there."""
        self.builder.set_origin(self._origin, "", 0, *self._source[2:])
        result = self.nn(op, *operands, **attributes)
        self.builder.set_origin(self._origin, *self._source)
        return result

    def reshape(self, x: Value, shape: Sequence[int]) -> Value:
        """For an operator that needs it in this shape."""
        return x if x.shape == tuple(shape) else self.move("reshape", x, shape=shape)

    def cast(self, x: Value, dtype: torch.dtype) -> Value:
        dtype = held_as(dtype)
        return x if x.dtype == dtype else self.nn("cast", x, dtype=dtype)
