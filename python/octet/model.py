# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled networks: loading, running, saving."""
from __future__ import annotations

import errno
import math
import operator
import os
import secrets
import stat
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple, Union

import numpy as np

from . import _octet
from ._buckets import Bucket, TensorInfo, cut, describe, fill_up, find_bucket, get_output_shape, get_tensors
from .errors import InputError, LoadError, SaveError, check_text, show_path
from .report import Report

Arrays = Union[Mapping[str, np.ndarray], Sequence[np.ndarray]]
BoundModel = Callable[[], Dict[str, np.ndarray]]


# The largest number of axes of a NumPy array.
MAX_AXES = getattr(np, "MAXDIMS", 64)


def _check_axes(tensors: Sequence[TensorInfo], library: str) -> None:
    """Refuses a library whose inputs and outputs no array can hold."""
    for tensor in tensors:
        if len(tensor.shape) > MAX_AXES:
            raise LoadError(f"cannot load '{library}': '{tensor.name}' has {len(tensor.shape)} axes, and NumPy arrays have at "
                            f"most {MAX_AXES}; reshape it in the ONNX file, or run the library from C")


def _check_output_names(outputs: Sequence[TensorInfo], library: str) -> None:
    """Refuses a library two outputs of which have the same name, since `Model.run` gives them by name."""
    names = [tensor.name for tensor in outputs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise LoadError(f"cannot load '{library}': two outputs are called '{twice}'; rename one of them in the ONNX file")


def _is_same_type(first: np.dtype, second: np.dtype) -> bool:
    """Whether two types differ at most in byte order."""
    return (first.kind, first.itemsize) == (second.kind, second.itemsize)


def _get_remedy(kind: str, tensor: TensorInfo, array: np.ndarray) -> str:
    """The remedy for an array whose type or shape is not the tensor's."""
    dtype = f"numpy.{tensor.dtype.name}"
    if kind == "output":
        return f"make it with numpy.empty({tensor.shape}, {dtype})"
    if not _is_same_type(array.dtype, tensor.dtype):
        if tensor.scale and array.dtype.kind == "f":
            return f"quantize it: numpy.rint(array / {tensor.scale:.9g}) + {tensor.zero_point}, clipped to {tensor.dtype.name}"
        return f"convert it with .astype({dtype})"
    if array.size == math.prod(tensor.shape):
        return "transpose or reshape it"
    return "shapes are fixed when a network is compiled, see input_shapes of octet.compile"


def _check_array(kind: str, tensor: TensorInfo, array: Any) -> np.ndarray:
    """The array; refuses one whose type (in any byte order) or shape is not the tensor's."""
    if not isinstance(array, np.ndarray):
        raise InputError(f"{kind} '{tensor.name}': expected a NumPy array, but got {type(array).__name__}; use numpy.asarray")
    if not _is_same_type(array.dtype, tensor.dtype) or array.shape != tensor.shape:
        expected, got = describe(tensor.dtype, tensor.shape), describe(array.dtype, array.shape)
        raise InputError(f"{kind} '{tensor.name}': expected {expected}, but got {got}; {_get_remedy(kind, tensor, array)}")
    return array


def _order_arrays(kind: str, tensors: Sequence[TensorInfo], arrays: Arrays) -> List[Any]:
    """Arrays given by name or by position, in the network's order. Arrays without elements may be those of inputs that were left out."""
    names = [tensor.name for tensor in tensors]
    if isinstance(arrays, Mapping):
        missing = [name for name in names if name not in arrays]
        unknown = [str(name) for name in arrays if name not in names and np.size(arrays[name])]
        if missing or unknown:
            parts = [f"no {kind} '{name}'" for name in missing] + [f"unknown {kind} '{name}'" for name in unknown]
            raise InputError(f"{'; '.join(parts)}; the network's {kind}s are {', '.join(names)}")
        arrays = [arrays[name] for name in names]
    if isinstance(arrays, np.ndarray) or not isinstance(arrays, Sequence):
        raise InputError(f"expected {kind}s as a dict or a sequence of arrays, but got {type(arrays).__name__}")
    if len(arrays) != len(names):
        raise InputError(f"expected {len(names)} {kind}s ({', '.join(names)}), but got {len(arrays)}")
    return list(arrays)


def _check_arrays(kind: str, tensors: Sequence[TensorInfo], arrays: Sequence[Any]) -> List[np.ndarray]:
    return [_check_array(kind, tensor, array) for tensor, array in zip(tensors, arrays)]


def _check_buffer(kind: str, tensor: TensorInfo, array: np.ndarray) -> np.ndarray:
    """The array; refuses one whose memory cannot be read or written in place."""
    if not array.flags.c_contiguous:
        raise InputError(f"{kind} '{tensor.name}': a bound array must be contiguous; use numpy.ascontiguousarray")
    if array.dtype != tensor.dtype:
        remedy = f"use .astype(numpy.{tensor.dtype.name})"
        raise InputError(f"{kind} '{tensor.name}': a bound array must have this machine's byte order; {remedy}")
    if kind == "output" and not array.flags.writeable:
        raise InputError(f"output '{tensor.name}': a bound output must be writable")
    return array


# As in lib/Runtime/pool.h; a test compares the two.
MAX_THREADS = 256


def check_threads(threads: Any) -> int:
    """The number of threads; refuses a number that a network cannot run with."""
    try:
        count = operator.index(threads)
    except TypeError:
        count = 0
    if not 1 <= count <= MAX_THREADS:
        raise InputError(f"threads: expected a whole number from 1 to {MAX_THREADS}, but got {threads!r}")
    return count


def _check_level(level: Any) -> str:
    """The CPU level to force, or an empty text for none."""
    if level is not None and not isinstance(level, str):
        raise InputError(f"cpu_level: expected the name of a level, but got {level!r}")
    return check_text("cpu_level", level or "")


def _check_overlap(inputs: List[np.ndarray], outputs: List[np.ndarray]) -> None:
    for i, output in enumerate(outputs):
        if any(np.may_share_memory(output, other) for other in [*inputs, *outputs[:i]]):
            raise InputError("an output overlaps an input or another output; give it memory of its own")


class Model:
    """A compiled network, ready to run. Created by `octet.compile` and `octet.load`.

    A model may be used from several Python threads; it releases the GIL while it runs. One model runs in one thread at a time
    (others wait); for concurrent runs, give each thread a model of its own. A model has states of its own, which start as
    zeros; a copy by pickle starts anew.
    """

    def __init__(self, library: bytes, name: str, *, threads: int = 1, cpu_level: Optional[str] = None) -> None:
        count, level = check_threads(threads), _check_level(cpu_level)
        self._bytes, name = library, show_path(name)
        try:
            self._library = _octet.Library.load(library, name)
            self._network = _octet.Network(self._library, count, level)
            self._buckets = [Bucket(get_tensors(inputs), get_tensors(outputs)) for inputs, outputs in self._library.buckets]
            self._paddings = [padding and padding[1] for padding in self._library.paddings]
            self._pads = any(padding is not None for padding in self._paddings)
            self._inputs, self._outputs = self._buckets[0]
        except UnicodeDecodeError as error:
            raise LoadError(f"{name}: its tensors' names are not UTF-8 ({error.object!r}); compile the network again") from None
        except RuntimeError as error:
            raise LoadError(str(error)) from None
        _check_axes([*self._inputs, *self._outputs], name)
        _check_output_names(self._outputs, name)

    # ---- what it is --------------------------------------------------------------------------------------------------
    @property
    def name(self) -> str:
        """The network's name, the prefix of its C functions."""
        return self._library.name

    @property
    def inputs(self) -> List[TensorInfo]:
        """Names, types and shapes of the arguments of `run`; of several buckets those of the largest."""
        return list(self._inputs)

    @property
    def outputs(self) -> List[TensorInfo]:
        """Names, types and shapes of the results of `run`; of several buckets those of the largest."""
        return list(self._outputs)

    @property
    def buckets(self) -> List[Bucket]:
        """The inputs and outputs for each set of shapes that the network was compiled for, the largest first."""
        return [Bucket(list(inputs), list(outputs)) for inputs, outputs in self._buckets]

    @property
    def pad(self) -> Dict[str, float]:
        """The numbers by input with which `run` fills up what is smaller than a bucket."""
        return {tensor.name: padding[0] for tensor, padding in zip(self._inputs, self._library.paddings) if padding}

    @property
    def cpu_level(self) -> str:
        """The CPU level in use, for example "avx512vnni"."""
        return self._network.level

    @property
    def cpu_levels(self) -> List[str]:
        """The levels in the library, best first."""
        return [level for level, _ in self._library.levels]

    @property
    def threads(self) -> int:
        """The number of threads that a run uses."""
        return self._network.threads

    @property
    def arena_bytes(self) -> int:
        """Memory for intermediate values, allocated once."""
        return self._library.arena_bytes

    @property
    def report(self) -> Report:
        """Every operator with its verdict, int8 or float, and the reason."""
        data = Report.parse(self._library.report_json).data
        library = self._library
        data.update(arena_bytes=library.arena_bytes, weights_bytes=library.weights_bytes, output_bytes=len(self._bytes))
        return Report(data)

    def __repr__(self) -> str:
        inputs = ", ".join(f"{tensor.name}: {describe(tensor.dtype, tensor.shape)}" for tensor in self._inputs)
        outputs = ", ".join(f"{tensor.name}: {describe(tensor.dtype, tensor.shape)}" for tensor in self._outputs)
        buckets = f", {len(self._buckets)} buckets" if len(self._buckets) > 1 else ""
        return f"<octet.Model {self.name}({inputs}) -> ({outputs}){buckets}, {self.cpu_level}, {self.threads} thread(s)>"

    # ---- running it --------------------------------------------------------------------------------------------------
    def _find_bucket(self, arrays: Sequence[Any], paddings: Sequence[Optional[float]]) -> int:
        """The bucket for the arrays; the first one also where they are wrong in any bucket, which is found later."""
        has_choice = len(self._buckets) > 1 or self._pads
        return find_bucket(self._buckets, arrays, paddings) if has_choice and all(isinstance(a, np.ndarray) for a in arrays) else 0

    def _take_inputs(self, inputs: Arrays) -> Tuple[int, List[Tuple[int, ...]], List[np.ndarray]]:
        """The bucket, the shapes given, and the inputs in the network's order, each in its order of elements and bytes; copied only
        if necessary."""
        arrays = _order_arrays("input", self._inputs, inputs)
        number = self._find_bucket(arrays, self._paddings)
        tensors, shapes = self._buckets[number].inputs, [np.shape(array) for array in arrays]
        if self._pads:
            for tensor, array in zip(tensors, arrays):
                if isinstance(array, np.ndarray):
                    _check_array("input", tensor._replace(shape=array.shape), array)
            arrays = [fill_up(array, tensor, padding) if isinstance(array, np.ndarray) else array
                      for array, tensor, padding in zip(arrays, tensors, self._paddings)]
        arrays = _check_arrays("input", tensors, arrays)
        return number, shapes, [np.asarray(array, tensor.dtype, order="C") for tensor, array in zip(tensors, arrays)]

    def _allocate_outputs(self, number: int) -> List[np.ndarray]:
        return [np.empty(tensor.shape, tensor.dtype) for tensor in self._buckets[number].outputs]

    def _name_outputs(self, arrays: Sequence[np.ndarray]) -> Dict[str, np.ndarray]:
        return {tensor.name: array for tensor, array in zip(self._outputs, arrays)}

    def run(self, inputs: Arrays) -> Dict[str, np.ndarray]:
        """Runs the network once.

        Args:
          inputs: an array per input, by name (dict) or in the network's order (sequence), with exactly its dtype and shape.
            Any order of elements and bytes in memory is accepted. Of several buckets the one with the arrays' shapes runs; with
            `pad` of `octet.compile` the smallest one that holds them.

        Returns:
          New arrays by output name. If inputs were padded, an axis that is as long as an input's axis in every bucket is cut to
          the size given; other outputs are those of the bucket.

        Raises:
          InputError: a name, dtype or shape does not fit.
        """
        number, shapes, arrays = self._take_inputs(inputs)
        outputs = self._allocate_outputs(number)
        self._network.run(arrays, outputs, number)
        if self._pads:
            outputs = [cut(array, get_output_shape(self._buckets, number, i, shapes)) for i, array in enumerate(outputs)]
        return self._name_outputs(outputs)

    def __call__(self, *inputs: np.ndarray) -> Dict[str, np.ndarray]:
        """Runs the network once on inputs given by position; the same as `run(inputs)`."""
        return self.run(inputs)

    def bind(self, inputs: Arrays, outputs: Optional[Arrays] = None) -> BoundModel:
        """A callable that runs the network on the same arrays every time, without allocating memory.

        Each call reads the input arrays, overwrites the output arrays and returns the same dict of outputs. It takes less
        than a microsecond longer than the network itself.

        Args:
          inputs: contiguous arrays of this machine's byte order, by name or position, in the shapes of a bucket; fill them in place
            between calls.
          outputs: contiguous writable arrays by name or position; by default new arrays.
        """
        input_arrays = _order_arrays("input", self._inputs, inputs)
        number = self._find_bucket(input_arrays, [None] * len(input_arrays))
        bucket = self._buckets[number]
        _check_arrays("input", bucket.inputs, input_arrays)
        output_arrays = self._allocate_outputs(number) if outputs is None else _order_arrays("output", self._outputs, outputs)
        _check_arrays("output", bucket.outputs, output_arrays)
        for kind, tensors, arrays in (("input", bucket.inputs, input_arrays), ("output", bucket.outputs, output_arrays)):
            for tensor, array in zip(tensors, arrays):
                _check_buffer(kind, tensor, array)
        _check_overlap(input_arrays, output_arrays)
        result = self._name_outputs(output_arrays)
        return _octet.BoundNetwork(self._network, input_arrays, output_arrays, result, number)

    def profile(self, inputs: Arrays) -> List[Tuple[str, int]]:
        """Runs the network once and returns the name and the time in nanoseconds of every step."""
        number, _, arrays = self._take_inputs(inputs)
        return self._network.profile(arrays, self._allocate_outputs(number), number)

    def reset(self) -> None:
        """Sets the network's states (`states` of `octet.compile`) to zeros, as in a new model. Bound callables share them."""
        self._network.reset()

    # ---- keeping it --------------------------------------------------------------------------------------------------
    def save(self, path: Union[str, os.PathLike]) -> None:
        """Writes the shared library for C programs, `octet-run` and `octet.load`. Replaces an existing file atomically.

        Raises:
          SaveError: the file cannot be written; an existing file is unchanged.
        """
        write_file(path, self._bytes)

    def __reduce__(self) -> Any:
        return _restore, (self._bytes, self.name, self.threads, self.cpu_level)


def _restore(library: bytes, name: str, threads: int, cpu_level: str) -> Model:
    return Model(library, name, threads=threads, cpu_level=cpu_level)


# Remedies for files that cannot be written.
_SAVE_REMEDIES = {
    errno.EACCES: "choose a folder that you may write to",
    errno.EISDIR: "give the path of a file",
    errno.ENOENT: "create its folder first",
    errno.ENOSPC: "make room or choose another disk",
}


def _replace_file(path: str, content: bytes) -> None:
    """Writes a temporary file beside `path` and renames it, so that a failure leaves an existing file unchanged."""
    part = os.path.join(os.path.dirname(path), f".octet-{secrets.token_hex(8)}.tmp")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.replace(part, path)
    except BaseException:
        os.unlink(part)
        raise


def write_file(path: Union[str, "os.PathLike[str]"], content: bytes) -> None:
    """Writes a file atomically. The target of a link is replaced, not the link; devices and pipes are written to.

    Raises:
      SaveError: the file cannot be written; an existing file is unchanged.
    """
    name = os.fsdecode(path)
    try:
        if os.path.exists(name) and not os.path.isfile(name) and not os.path.isdir(name):
            with open(name, "wb") as file:
                file.write(content)
        else:
            _replace_file(os.path.realpath(name) if os.path.isfile(name) else name, content)
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        code = getattr(error, "errno", None)
        reason = os.strerror(code) if code else str(error)
        failure = SaveError(f"cannot write '{show_path(name)}': {reason}; {_SAVE_REMEDIES.get(code, 'choose another path')}")
        failure.errno = code
        raise failure from None


def load(path: Union[str, os.PathLike], *, threads: int = 1, cpu_level: Optional[str] = None) -> Model:
    """Loads a compiled network. Loading runs the library's code, as does unpickling a model: load and unpickle only what you
    would run as a program (SECURITY.md).

    Args:
      path: a shared library written by `Model.save` or `octet-compile`.
      threads: the number of threads of a run, 256 at most; with 1 none is created.
      cpu_level: one of `Model.cpu_levels`; by default that of the environment variable OCTET_CPU_LEVEL, else the best that this
        CPU can run.

    Raises:
      LoadError: not a network for this machine, or a level that the library does not have or this CPU cannot run.
      InputError: `threads` or `cpu_level` has the wrong form.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise InputError(f"path: expected the path of a library, but got {type(path).__name__}")
    name = show_path(path)
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise LoadError(f"cannot load '{name}': not a regular file")
        content = Path(path).read_bytes()
    except OSError as error:
        raise LoadError(f"cannot load '{name}': {error.strerror}") from error
    except ValueError as error:  # a null character in the path
        raise LoadError(f"cannot load '{name}': {error}") from error
    return Model(content, name, threads=threads, cpu_level=cpu_level)
