#!/usr/bin/env python3
# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Any ONNX files: which are taken, whether the code is right, how much of it is int8, how fast it is.

    tools/bench/survey.py zoo/ --cpu-level avx2,sse2
    tools/bench/survey.py net.onnx --input-shape x=1x3x64x64

Samples are the arrays of `net.npz` beside `net.onnx` (a leading sample axis), else eight of standard normal numbers; they
calibrate and judge, so that "SQNR" (dB, of all outputs against onnxruntime's) says whether int8 works, not how well it does on
data. "error" is the float library's largest difference to onnxruntime over the largest magnitude. "levels": whether every
level gives the same bytes. "int8": share of the multiply-adds; "float ops": operators that stay float. Times are those of the
first level, medians of interleaved rounds. Exit code 1 if an error is above 1e-4 or levels differ; a network that is refused
is named with what it needs.
"""
from __future__ import annotations

import argparse
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
import speed
import tables

TOLERANCE = 1e-4
NUM_SAMPLES = 8


def find_files(paths):
    return [file for path in paths for file in (sorted(path.glob("**/*.onnx")) if path.is_dir() else [path])]


def parse_shapes(options):
    """{name: shape} from NAME=1x3x64x64."""
    return {name: [int(size) for size in shape.split("x")] for name, shape in (option.rsplit("=", 1) for option in options)}


def make_samples(file, tensors):
    """{name: array with a leading sample axis}."""
    archive = file.with_suffix(".npz")
    if archive.is_file():
        with np.load(archive) as arrays:
            return {tensor.name: arrays[tensor.name] for tensor in tensors}
    rng = np.random.default_rng(0)
    return {tensor.name: rng.normal(size=(NUM_SAMPLES, *tensor.shape)).astype(tensor.dtype) for tensor in tensors}


def make_feeds(samples):
    return [dict(zip(samples, arrays)) for arrays in zip(*samples.values())]


def get_error(got, expected):
    """The largest difference over the largest magnitude, of all outputs."""
    return max(np.abs(a - b).max() / max(np.abs(b).max(), 1e-30) for a, b in zip(got, expected))


def get_sqnr(got, expected):
    """Signal to noise of all outputs, dB; each has the same weight."""
    noise = sum(np.square(a - b, dtype=np.float64).mean() / max(np.var(b, dtype=np.float64), 1e-30) for a, b in zip(got, expected))
    return -10 * np.log10(max(noise / len(expected), 1e-30))


def name_needs(message):
    """Operators that an import error names, or its first line."""
    operators = sorted(set(re.findall(r"\((\w+), domain", message)))
    return ", ".join(operators) or message.splitlines()[0]


class Network:
    """Both libraries of a file, and onnxruntime."""

    def __init__(self, octet, file, shapes, levels):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = 1, 4
        self.session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        shapes = {value.name: shapes[value.name] for value in self.session.get_inputs() if value.name in shapes} or None
        self.float_model = octet.compile(file, input_shapes=shapes, cpu_level=levels[:1])
        samples = make_samples(file, self.float_model.inputs)
        self.feeds = make_feeds(samples)
        model = octet.compile(file, input_shapes=shapes, calibration_data=samples, cpu_level=levels)
        with tempfile.TemporaryDirectory() as folder:
            model.save(path := Path(folder) / "int8.so")
            self.models = [octet.load(path, cpu_level=level) for level in levels]

    def run(self, model):
        return [[array for array in model.run(feed).values()] for feed in self.feeds]

    def judge(self):
        """The float library's error, int8's SQNR, whether levels agree."""
        names = [value.name for value in self.session.get_outputs()]
        expected = [self.session.run(names, feed) for feed in self.feeds]
        stack = lambda outputs: [np.stack(arrays) for arrays in zip(*outputs)]  # noqa: E731
        error = get_error(stack(self.run(self.float_model)), stack(expected))
        sqnr = get_sqnr(stack(self.run(self.models[0])), stack(expected))
        results = [[array.tobytes() for outputs in self.run(model)[:2] for array in outputs] for model in self.models]
        return error, sqnr, all(result == results[0] for result in results)

    def time(self):
        feed = self.feeds[0]
        runners = {"ort": lambda: self.session.run(None, feed), "float": self.float_model.bind(feed), "int8": self.models[0].bind(feed)}
        return speed.measure(runners, 7, 0.05)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, help="ONNX files, or folders of them")
    parser.add_argument("--input-shape", action="append", default=[], metavar="NAME=1x3x64x64")
    parser.add_argument("--cpu-level", default="avx2,sse2", help="levels that this CPU can run; the first is timed")
    options = parser.parse_args()
    octet = tables.import_octet()
    shapes, levels = parse_shapes(options.input_shape), options.cpu_level.split(",")
    print(f"{tables.get_cpu_name()} · {options.cpu_level} · 1 thread · batch 1")
    table = tables.Table(network=34, error=8, SQNR=6, levels=6, int8=6, float_ops=9, ort_f32=9, octet_f32=9, octet_int8=10)
    wrong = refused = taken = 0
    for file in find_files(options.files):
        try:
            network = Network(octet, file, shapes, levels)
        except octet.CompileError as error:
            table.row(file.stem, "refused: " + name_needs(str(error)))
            refused += 1
            continue
        error, sqnr, levels_agree = network.judge()
        times = network.time()
        share = network.models[0].report.int8_share
        floats = sum(row.verdict != "int8" for row in network.models[0].report)
        table.row(file.stem, f"{error:.1e}", f"{sqnr:.1f}", "same" if levels_agree else "DIFFER", "" if share is None else f"{share:.1%}",
                  floats, *(tables.format_microseconds(seconds) for seconds in times.values()))
        wrong += error > TOLERANCE or not levels_agree
        taken += 1
    print(f"{taken} taken, {wrong} of them wrong, {refused} refused")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
