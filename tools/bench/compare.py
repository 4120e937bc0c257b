#!/usr/bin/env python3
# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the code of two compilers for every network: one process, interleaved rounds, medians, bound buffers.

    git worktree add ../before main~5                        build octet-compile there, too
    tools/bench/compare.py ../before/build/bin/octet-compile build/bin/octet-compile --cpu-level avx2 ppocr_cls zoo/resnet18.onnx

Both compile the network from the same samples. "ratio" is the time before over the time after; "same" says whether the outputs
for the first evaluation sample are the same bytes. Times are printed and never judged. Both libraries must have the interface
of this checkout (OCTET_ABI).
"""
from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import networks
import resources
import speed
import onnx_files
import tables


def make_runner(octet, compiler, task, folder, level):
    """A bound call of the library that `compiler` makes of a network."""
    bench = resources.Bench(octet, compiler, task, folder)
    bench.compile("net.so", "samples", f"--cpu-level={level}")
    model = octet.load(bench.folder / "net.so", cpu_level=level)
    feed = task.samples(1)[0]
    return model.bind({tensor.name: feed[tensor.name] for tensor in model.inputs})


def compare(runners, rounds, seconds):
    """Times before and after, and whether both give the same bytes."""
    outputs = [[array.tobytes() for array in run().values()] for run in runners.values()]
    times = speed.measure(runners, rounds, seconds)
    return times["before"], times["after"], outputs[0] == outputs[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, help="an octet-compile")
    parser.add_argument("after", type=Path, help="another one")
    parser.add_argument("networks", nargs="*", help="names of networks, or ONNX files (see survey.py); all by default")
    parser.add_argument("--cpu-level", default="avx2")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.05, help="length of a round of one library")
    options = parser.parse_intermixed_args()
    octet = tables.import_octet()
    print(f"{tables.get_cpu_name()} · {options.cpu_level} · 1 thread · batch 1 · median of {options.rounds} interleaved rounds · µs")
    table = tables.Table(network=31, before=10, after=10, ratio=7, same=5)
    ratios = []
    files = [name for name in options.networks if name.endswith(".onnx")]
    names = [name for name in options.networks if name not in files]
    tasks = [] if files and not names else networks.get_tasks(names)
    for task in [*tasks, *(onnx_files.make_task(file, {}) for file in files)]:
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
            runners = {"before": make_runner(octet, options.before, task, one, options.cpu_level),
                       "after": make_runner(octet, options.after, task, other, options.cpu_level)}
            before, after, same = compare(runners, options.rounds, options.seconds)
        ratios.append(before / after)
        times = [tables.format_microseconds(seconds) for seconds in (before, after)]
        table.row(task.name, *times, f"{before / after:.2f}", "yes" if same else "no")
    print(f"geometric mean {tables.geometric_mean(ratios):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
