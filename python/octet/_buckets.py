# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks for several shapes of inputs: which bucket runs, how inputs are filled up to it, and what of its outputs counts."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, List, NamedTuple, Optional, Set, Tuple

import numpy as np

from .errors import InputError


class TensorInfo(NamedTuple):
    """An input or output of a network. An element q of a quantized one represents (q - zero_point) * scale; others have scale 0."""

    name: str
    dtype: np.dtype
    shape: Tuple[int, ...]
    scale: float
    zero_point: int


class Bucket(NamedTuple):
    """The inputs and outputs of a network for one set of shapes."""

    inputs: List[TensorInfo]
    outputs: List[TensorInfo]


Shape = Tuple[int, ...]
Paddings = Sequence[Optional[float]]


def get_tensors(records: Sequence[Tuple[str, str, Shape, float, int]]) -> List[TensorInfo]:
    return [TensorInfo(name, np.dtype(dtype), shape, scale, zero) for name, dtype, shape, scale, zero in records]


def describe(dtype: Any, shape: Any) -> str:
    return f"{np.dtype(dtype).name}[{', '.join(str(size) for size in shape)}]"


def _holds(bucket: Bucket, shapes: Sequence[Shape], paddings: Sequence[bool]) -> bool:
    """Whether the bucket has these shapes, or larger ones for inputs that can be padded."""
    return all(tensor.shape == shape or (padded and len(tensor.shape) == len(shape) and
                                         all(size <= most for size, most in zip(shape, tensor.shape)))
               for tensor, shape, padded in zip(bucket.inputs, shapes, paddings))


def _list_shapes(bucket: Bucket) -> str:
    return ", ".join(f"{tensor.name} [{', '.join(map(str, tensor.shape))}]" for tensor in bucket.inputs)


def find_bucket(buckets: Sequence[Bucket], arrays: Sequence[np.ndarray], paddings: Paddings) -> int:
    """The number of the smallest bucket for arrays of these shapes; the last one is the smallest."""
    shapes = [array.shape for array in arrays]

    def find(padded: Sequence[bool]) -> Optional[int]:
        return next((i for i in reversed(range(len(buckets))) if _holds(buckets[i], shapes, padded)), None)

    number = find([padding is not None for padding in paddings])
    if number is not None:
        return number
    got = ", ".join(f"'{tensor.name}': {describe(array.dtype, array.shape)}" for tensor, array in zip(buckets[0].inputs, arrays))
    larger = find([True] * len(shapes))
    if larger is not None:
        raise InputError(f"no bucket has the shapes of the inputs, {got}; fill them up to {_list_shapes(buckets[larger])}, or see pad "
                         "of octet.compile")
    raise InputError(f"no bucket holds the inputs, {got}; the largest is {_list_shapes(buckets[0])}, see input_shapes of octet.compile")


def fill_up(array: np.ndarray, tensor: TensorInfo, padding: Optional[float]) -> np.ndarray:
    """The array in the shape of the tensor, with the padding behind its ends."""
    if array.shape == tensor.shape or padding is None:
        return array
    value: Any = padding
    if tensor.scale:
        limits = np.iinfo(tensor.dtype)
        value = np.clip(np.rint(padding / tensor.scale) + tensor.zero_point, limits.min, limits.max)
    full = np.full(tensor.shape, value, tensor.dtype)
    full[tuple(slice(size) for size in array.shape)] = array
    return full


def get_output_shape(buckets: Sequence[Bucket], number: int, output: int, shapes: Sequence[Shape]) -> Shape:
    """What of a bucket's output counts for inputs of these shapes. An axis counts up to an input's size if it is in every bucket
    as long as that input's axis, and all such axes have one size; else as far as it goes."""
    whole = buckets[number].outputs[output].shape

    def count(axis: int) -> int:
        sizes = [bucket.outputs[output].shape[axis] for bucket in buckets]
        if len(set(sizes)) == 1:
            return whole[axis]
        given: Set[int] = {shape[i] for number, shape in enumerate(shapes) for i in range(len(shape))
                           if [bucket.inputs[number].shape[i] for bucket in buckets] == sizes}
        return given.pop() if len(given) == 1 else whole[axis]

    return tuple(count(axis) for axis in range(len(whole)))


def cut(array: np.ndarray, shape: Shape) -> np.ndarray:
    return array if array.shape == shape else array[tuple(slice(size) for size in shape)].copy()
