# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX files that no benchmark knows, as networks of the benchmarks: samples are the arrays of `net.npz` beside `net.onnx`
(a leading sample axis), else standard normal numbers, smoothed in images; integers are 0 unless packaged.py says otherwise."""
from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import packaged

NUM_SAMPLES = 8


def find_files(paths):
    return [file for path in paths for file in (sorted(path.glob("**/*.onnx")) if path.is_dir() else [path])]


def parse_shapes(options):
    """{name: shape} from NAME=1x3x64x64."""
    return {name: [int(size) for size in shape.split("x")] for name, shape in (option.rsplit("=", 1) for option in options)}


DTYPES = {"float16": np.float16, "double": np.float64, "bool": np.bool_}


def make_floats(rng, shape):
    """Standard normal numbers; images are sums of such noise in squares of 1, 4 and 16 pixels."""
    if len(shape) != 5 or shape[2] != 3 or min(shape[3:]) < 16:
        return rng.normal(size=shape)
    parts = [np.kron(rng.normal(size=(*shape[:3], *(-(-n // size) for n in shape[3:]))), np.ones((size, size)))[..., : shape[3], : shape[4]]
             for size in (1, 4, 16)]
    return sum(parts) / np.sqrt(3)


def make_array(rng, value, shape, content):
    """Samples of an input: standard normal numbers unless one is given; of integers a number, or random ones between two."""
    if unknown := [dim for dim in shape if not isinstance(dim, int)]:
        raise SystemExit(f"the size {unknown[0]} of the input {value.name} is not known: give --input-shape {value.name}=...")
    kind = value.type.removeprefix("tensor(").removesuffix(")")
    dtype = np.dtype(DTYPES.get(kind, np.float32 if kind == "float" else kind))
    if dtype.kind == "f" and content is not None:
        return np.full((NUM_SAMPLES, *shape), content, dtype)
    if dtype.kind == "f":
        return make_floats(rng, (NUM_SAMPLES, *shape)).astype(dtype)
    low, high = content if isinstance(content, tuple) else (content or 0, (content or 0) + 1)
    return rng.integers(low, high, (NUM_SAMPLES, *shape)).astype(dtype)


def make_samples(file, session, shapes, integers):
    """{input: array with a leading sample axis}."""
    archive, rng = file.with_suffix(".npz"), np.random.default_rng(0)
    if archive.is_file():
        with np.load(archive) as arrays:
            return {value.name: arrays[value.name] for value in session.get_inputs()}
    return {value.name: make_array(rng, value, shapes.get(value.name, value.shape), integers.get(value.name)) for value in session.get_inputs()}


def make_session(file):
    """onnxruntime with all optimizations, on one thread."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


def make_task(file, shapes, integers=None, name=None, constants=None):
    """A file in the form of the benchmarks' networks."""
    file, session = Path(file), make_session(file)
    shapes = {value.name: shapes[value.name] for value in session.get_inputs() if value.name in shapes}
    samples = make_samples(file, session, shapes, {**(integers or {}), **(constants or {})})
    is_free = lambda value: not all(isinstance(size, int) for size in value.shape)  # noqa: E731
    shapes = {**{value.name: list(samples[value.name].shape[1:]) for value in session.get_inputs() if is_free(value)}, **shapes}
    feeds = [dict(zip(samples, map(np.asarray, arrays))) for arrays in zip(*samples.values())]  # scalars, too
    return SimpleNamespace(name=name or file.stem, onnx=file, shapes=shapes, constants=constants or {}, session=session, calib=lambda: feeds, samples=lambda count: feeds[:count])


def find_tasks(files, names, shapes=None):
    """Functions that make the tasks of files (or folders of them) and of the packages' networks with these names, by commas;
    an empty text means all of these, None none."""
    tasks = [lambda file=file: make_task(file, shapes or {}) for file in find_files(files)]
    chosen = [] if names is None else packaged.find([name for name in names.split(",") if name])
    return tasks + [lambda each=each: make_task(each.path, each.shapes, each.integers, each.name, each.constants) for each in chosen]
