# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calibration data on their way to the compiler: checked, and streamed into files so that memory stays bounded."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Union

import numpy as np

from .errors import InputError

CalibrationData = Union[Mapping[str, np.ndarray], Iterable[Mapping[str, np.ndarray]]]

# Samples that come one by one are gathered into files of about this size.
SHARD_BYTES = 32 << 20


def _check_array(array: Any, place: str) -> np.ndarray:
    """The array, if it is one of finite numbers."""
    if not isinstance(array, np.ndarray):
        raise InputError(f"calibration data: {place}: expected a NumPy array, but got {type(array).__name__}")
    if array.dtype.kind not in "fiub":
        raise InputError(f"calibration data: {place}: expected numbers, but got an array of {array.dtype}")
    if array.size == 0:
        raise InputError(f"calibration data: {place}: the array is empty (shape {list(array.shape)})")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise InputError(f"calibration data: {place}: {array[index]} at {list(index)}; remove or repair that sample")
    return array


def _write_arrays(data: Mapping[str, np.ndarray], folder: Path) -> Path:
    """Arrays with a leading sample axis, as one file."""
    if not data:
        raise InputError("calibration data: the dict holds no arrays")
    for name, array in data.items():
        if _check_array(array, f"'{name}'").ndim == 0:
            raise InputError(f"calibration data: '{name}': expected a leading axis of samples, but got a single number")
    counts = {name: len(array) for name, array in data.items()}
    if len(set(counts.values())) > 1:
        text = ", ".join(f"'{name}' {count}" for name, count in counts.items())
        raise InputError(f"calibration data: the arrays have different numbers of samples: {text}")
    path = folder / "samples.npz"
    np.savez(path, **data)
    return path


def _check_sample(sample: Any, index: int, first: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
    """The sample, if it is a dict of arrays like those of the first one."""
    if not isinstance(sample, Mapping):
        raise InputError(f"calibration data: sample {index}: expected a dict of arrays, but got {type(sample).__name__}")
    first = first or sample
    if not sample or set(sample) != set(first):
        raise InputError(f"calibration data: sample {index}: expected the arrays {sorted(first)}, but got {sorted(sample)}")
    for name, array in sample.items():
        _check_array(array, f"sample {index}, '{name}'")
        if array.dtype != first[name].dtype or array.shape != first[name].shape:
            raise InputError(
                f"calibration data: sample {index}, '{name}': expected {first[name].dtype} {list(first[name].shape)} as in "
                f"sample 0, but got {array.dtype} {list(array.shape)}")
    return sample


def _write_samples(data: Iterable[Any], folder: Path) -> Path:
    """Samples that come one by one, as a folder of files of bounded size."""
    shards, pending, first = 0, [], {}  # type: ignore[var-annotated]

    def flush() -> None:
        nonlocal shards
        np.savez(folder / f"samples-{shards:06d}.npz", **{name: np.stack([s[name] for s in pending]) for name in first})
        shards += 1
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
    if not shards:
        raise InputError("calibration data: there is no sample")
    return folder


def write_calibration_data(data: CalibrationData, folder: Path) -> Path:
    """Checks samples, writes them below `folder`, and returns what `octet-compile --calibration-data` is to be given.

    A dict of arrays has a leading sample axis; an iterable of dicts gives one sample each, in the network's own shapes.
    Names, dtypes and shapes are compared with the network's by the compiler.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(data, Mapping):
        return _write_arrays(data, folder)
    if isinstance(data, (str, bytes, np.ndarray)) or not isinstance(data, Iterable):
        raise InputError(
            f"calibration data: expected a dict of arrays or an iterable of dicts, but got {type(data).__name__}")
    return _write_samples(data, folder)
