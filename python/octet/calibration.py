# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks calibration data and streams them into files for the compiler, in bounded memory."""
from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Dict, Union

import numpy as np

from ._diagnostics import Diagnostic
from .errors import CompileError, InputError, check_text
from .model import MAX_AXES

CalibrationData = Union[Mapping[str, np.ndarray], Iterable[Mapping[str, np.ndarray]]]

# Single samples are collected into files of about this size.
SHARD_BYTES = 32 << 20

# The file of samples given as arrays; no shard has this name.
ARRAYS_FILE = "samples.npz"

# The beginning of the names of shards, which end with the number of their first sample.
SHARD_FILES = "samples-"

# The beginning of the names of files of one sequence each, which end with its number.
SEQUENCE_FILES = "sequence-"


def _check_names(arrays: Mapping[Any, Any], place: str) -> None:
    """Refuses keys that cannot be names of inputs."""
    for name in arrays:
        if not isinstance(name, str):
            raise InputError(f"calibration data: {place}expected the name of an input as key, but got {name!r}")
        check_text(f"calibration data: {place}the name of an input", name)


def _check_array(array: Any, place: str) -> np.ndarray:
    """The array in the compiler's order of elements and bytes; refuses anything but finite numbers."""
    if not isinstance(array, np.ndarray):
        raise InputError(f"calibration data: {place}: expected a NumPy array, but got {type(array).__name__}")
    if array.dtype.kind not in "fiub":
        raise InputError(f"calibration data: {place}: expected numbers, but got an array of {array.dtype}")
    if array.shape[:1] == (0,):
        raise InputError(f"calibration data: {place}: the array is empty (shape {list(array.shape)})")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise InputError(f"calibration data: {place}: {array[index]} at {list(index)}; remove or repair that sample")
    return np.asarray(array, array.dtype.newbyteorder("="), order="C")


def cannot_write(error: OSError) -> CompileError:
    """The error if temporary files cannot be written."""
    return CompileError(f"temporary files cannot be written: {error.strerror}; set TMPDIR to a folder with more room")


def _write_file(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Writes an uncompressed .npz. (An input may have the name of an argument of numpy.savez.)"""
    try:
        with zipfile.ZipFile(path, "w") as archive:
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                    np.lib.format.write_array(file, array, allow_pickle=False)
    except OSError as error:
        raise cannot_write(error) from None
    except ValueError as error:  # a name that no archive can hold
        raise InputError(f"calibration data: the arrays' names {sorted(arrays)!r} cannot be written: {error}") from None


def _write_arrays(data: Mapping[str, np.ndarray], path: Path, place: str = "") -> Path:
    """Writes arrays with a leading sample axis into one file."""
    if not data:
        raise InputError(f"calibration data: {place}the dict holds no arrays")
    _check_names(data, place)
    arrays = {name: _check_array(array, f"{place}'{name}'") for name, array in data.items()}
    for name, array in arrays.items():
        if array.ndim == 0:
            raise InputError(f"calibration data: {place}'{name}': expected a leading axis of samples, but got a single number")
    counts = {name: len(array) for name, array in arrays.items()}
    if len(set(counts.values())) > 1:
        text = ", ".join(f"'{name}' {count}" for name, count in counts.items())
        raise InputError(f"calibration data: {place}the arrays have different numbers of samples: {text}")
    _write_file(path, arrays)
    return path


def _check_sample(sample: Any, index: int, first: Mapping[str, np.ndarray]) -> Dict[str, np.ndarray]:
    """The arrays of a sample; refuses a sample that differs from the first one in names, types or shapes."""
    if not isinstance(sample, Mapping):
        raise InputError(f"calibration data: sample {index}: expected a dict of arrays, but got {type(sample).__name__}")
    _check_names(sample, f"sample {index}: ")
    if not sample or set(sample) != set(first or sample):
        raise InputError(f"calibration data: sample {index}: expected the arrays {sorted(first)}, but got {sorted(sample)}")
    arrays = {name: _check_array(array, f"sample {index}, '{name}'") for name, array in sample.items()}
    first = first or arrays
    for name, array in arrays.items():
        if array.ndim >= MAX_AXES:
            raise InputError(f"calibration data: sample {index}, '{name}': {array.ndim} axes are too many: with one for "
                             f"samples, NumPy can have {MAX_AXES}")
        if array.dtype != first[name].dtype or array.shape != first[name].shape:
            raise InputError(
                f"calibration data: sample {index}, '{name}': expected {first[name].dtype} {list(first[name].shape)} as in "
                f"sample 0, but got {array.dtype} {list(array.shape)}")
    return arrays


def _write_samples(data: Iterable[Any], folder: Path) -> Path:
    """Writes single samples into a folder of files of bounded size."""
    written, pending, first = 0, [], {}  # type: ignore[var-annotated]

    def flush() -> None:
        nonlocal written
        arrays = {name: np.stack([sample[name] for sample in pending]) for name in first}
        _write_file(folder / f"{SHARD_FILES}{written:06d}.npz", arrays)
        written += len(pending)
        pending.clear()

    size = 0
    for index, sample in enumerate(data):
        sample = _check_sample(sample, index, first)
        # Copies: a generator may fill the same arrays again.
        pending.append({name: np.array(array) for name, array in sample.items()})
        first = first or pending[0]
        size += sum(array.nbytes for array in pending[-1].values())
        if size >= SHARD_BYTES:
            flush()
            size = 0
    if pending:
        flush()
    if not written:
        raise InputError("calibration data: there is no sample")
    return folder


def _write_sequences(data: Iterable[Any], folder: Path) -> Path:
    """Writes sequences, each a dict of arrays along time, into a folder of one file for each."""
    count = 0
    for sequence in data:
        if not isinstance(sequence, Mapping):
            raise InputError(f"calibration data: sequence {count}: expected a dict of arrays, but got {type(sequence).__name__}")
        _write_arrays(sequence, folder / f"{SEQUENCE_FILES}{count:06d}.npz", f"sequence {count}: ")
        count += 1
    if not count:
        raise InputError("calibration data: there is no sequence")
    return folder


def write_calibration_data(data: CalibrationData, folder: Path, has_states: bool = False) -> Path:
    """Checks samples, writes them below `folder`, and returns the path for `octet-compile --calibration-data`.

    A dict of arrays has a leading sample axis; an iterable of dicts gives one sample each, in the network's own shapes, or for
    a network with states one sequence each, of arrays with a leading axis. Names, dtypes and shapes are compared with the
    network's by the compiler.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(data, Mapping):
        return _write_arrays(data, folder / ARRAYS_FILE)
    if isinstance(data, (str, bytes, np.ndarray)) or not isinstance(data, Iterable):
        raise InputError(
            f"calibration data: expected a dict of arrays or an iterable of dicts, but got {type(data).__name__}")
    return _write_sequences(data, folder) if has_states else _write_samples(data, folder)


def describe_refusal(refusal: Diagnostic) -> str:
    """The compiler's message about a file of `write_calibration_data`, in terms of the caller's arrays."""
    text, places = refusal.message, [f"'{refusal.array}'"] if refusal.array else []
    file = Path(refusal.samples)
    if file.name.startswith(SEQUENCE_FILES):
        places.insert(0, f"sequence {int(file.stem[len(SEQUENCE_FILES):])}")
    elif file.name != ARRAYS_FILE:
        before = int(file.stem[len(SHARD_FILES):])
        if of_shard := re.match(r"sample (\d+)", text):
            text = f"sample {before + int(of_shard[1])}{text[of_shard.end():]}"
        else:
            places.insert(0, f"sample {before}")
        if refusal.expected_shape is not None and refusal.actual_shape is not None:
            # The file holds several samples of one shape along a leading axis that the caller's samples do not have.
            expected, actual = list(refusal.expected_shape), list(refusal.actual_shape)[1:]
            text = f"expected shape {expected}, but got {actual}; {refusal.remedy}"
    return f"calibration data: {', '.join(places)}{': ' if places else ''}{text}"
