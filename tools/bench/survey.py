#!/usr/bin/env python3
# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Any ONNX files: which of them compile, the errors of the code, its share in int8, its speed.

    tools/bench/survey.py zoo/
    tools/bench/survey.py net.onnx --input-shape x=1x3x64x64
    tools/bench/survey.py --packaged                    networks of Python packages (packaged.py)
    tools/bench/survey.py --packaged ppocr4_rec,magika

Samples are the arrays of `net.npz` beside `net.onnx` (a leading sample axis), which give inputs the shapes that the file leaves open, else eight of standard normal numbers, smoothed in images; integers are
0 unless packaged.py says otherwise. They calibrate and judge, so that "SQNR" (dB, of all outputs against onnxruntime's) says whether int8 works, not how well it does on
data. "error" is the float library's largest difference to onnxruntime over the largest magnitude. "levels": whether every
level gives the same bytes. "int8": share of the multiply-adds; "float ops": operators that stay float. Times are those of the
best level, medians of interleaved rounds. Exit code 1 if an error is above 1e-4 (and
the difference above 1e-6) or levels differ; a network that is refused
is named with what it needs.
"""
from __future__ import annotations

import argparse
import re
import sys
import tempfile
from pathlib import Path

import networks
import numpy as np
import onnx_files
import speed
import tables

TOLERANCE = 1e-4
DIFFERENCE = 1e-6  # onnxruntime's own sigmoid is 1e-7 off, which is much where all results are 1e-6


def get_decibels(errors, variances):
    """Signal to noise of all outputs, dB; each has the same weight."""
    return -10 * np.log10(max(np.mean(errors / np.maximum(variances, 1e-30)), 1e-30))


def get_sqnr(got, expected):
    pairs = list(zip(got, expected))
    errors = [np.square(a - b, dtype=np.float64).mean() for a, b in pairs]
    return get_decibels(np.array(errors), np.array([np.var(b, dtype=np.float64) for _, b in pairs]))


def name_needs(message):
    """Operators that an import error names, or its first line."""
    operators = sorted(set(re.findall(r"\((\w+), domain", message)))
    return ", ".join(operators) or message.splitlines()[0]


class Network:
    """Both libraries of a file, and onnxruntime."""

    def __init__(self, octet, task, levels):
        self.session, self.feeds = task.session, task.calib()
        self.own_feeds = [{name: array for name, array in feed.items() if name not in task.constants} for feed in self.feeds]
        fixed = {"input_shapes": task.shapes or None, "input_values": task.constants}
        model = octet.compile(task.onnx, calibration_data=networks.as_arrays(self.own_feeds), cpu_level=levels, **fixed)
        with tempfile.TemporaryDirectory() as folder:
            model.save(path := Path(folder) / "int8.so")
            self.models = []
            for level in levels or model.cpu_levels:
                try:
                    self.models.append(octet.load(path, cpu_level=level))
                except octet.LoadError:
                    if levels:
                        raise
        self.float_model = octet.compile(task.onnx, cpu_level=self.models[0].cpu_level, **fixed)

    def run(self, model):
        return [[array for array in model.run(feed).values()] for feed in self.own_feeds]

    def judge(self):
        """The float library's error, relative and as a difference, int8's SQNR, whether levels agree."""
        names = [value.name for value in self.session.get_outputs()]
        expected = [self.session.run(names, feed) for feed in self.feeds]
        stack = lambda outputs: [np.stack(arrays) for arrays in zip(*outputs)]  # noqa: E731
        got, expected_stack = stack(self.run(self.float_model)), stack(expected)
        error = max(map(tables.get_error, got, expected_stack))
        difference = max(float(np.abs(a - b).max()) for a, b in zip(got, expected_stack))
        sqnr = get_sqnr(stack(self.run(self.models[0])), expected_stack)
        results = [[array.tobytes() for outputs in self.run(model)[:2] for array in outputs] for model in self.models]
        return error, difference, sqnr, all(result == results[0] for result in results)

    def time(self):
        feed, own = self.feeds[0], self.own_feeds[0]
        runners = {"ort": lambda: self.session.run(None, feed), "float": self.float_model.bind(own), "int8": self.models[0].bind(own)}
        return speed.measure(runners, 7, 0.05)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="ONNX files, or folders of them")
    parser.add_argument("--packaged", nargs="?", const="", metavar="NAME,...", help="networks of installed packages; by default all")
    parser.add_argument("--input-shape", action="append", default=[], metavar="NAME=1x3x64x64")
    parser.add_argument("--cpu-level", help="levels, best first; by default all that this CPU can run")
    options = parser.parse_args()
    octet = tables.import_octet()
    shapes, levels = onnx_files.parse_shapes(options.input_shape), options.cpu_level.split(",") if options.cpu_level else None
    print(f"{tables.get_cpu_name()} · 1 thread · batch 1 · µs")
    table = tables.Table(network=34, error=8, SQNR=6, levels=6, int8=6, float_ops=9, ort_f32=9, octet_f32=9, octet_int8=10)
    wrong = refused = taken = 0
    tasks = onnx_files.find_tasks(options.files, options.packaged, shapes)
    if not tasks:
        parser.error("expected files or --packaged")
    for make in tasks:
        task = make()
        try:
            network = Network(octet, task, levels)
        except octet.CompileError as error:
            table.row(task.name, "refused: " + name_needs(str(error)))
            refused += 1
            continue
        error, difference, sqnr, levels_agree = network.judge()
        times = network.time()
        share = network.models[0].report.int8_share
        floats = sum(row.verdict != "int8" for row in network.models[0].report)
        table.row(task.name, f"{error:.1e}", f"{sqnr:.1f}", "same" if levels_agree else "DIFFER", "" if share is None else f"{share:.1%}",
                  floats, *(tables.format_microseconds(seconds) for seconds in times.values()))
        wrong += (error > TOLERANCE and not difference <= DIFFERENCE) or not levels_agree
        taken += 1
    print(f"{taken} taken, {wrong} of them wrong, {refused} refused")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
