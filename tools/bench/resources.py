#!/usr/bin/env python3
# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cost of compiling: time, calibration time, memory, size of the result, and whether the result is deterministic.

    tools/bench/resources.py                  all networks
    tools/bench/resources.py --samples 50,5000 mlperf_resnet8_cifar10

compile s: the int8 compilation with all levels of this architecture, from one sample (bar 10 s). calibrate: what the
compiler says that reading 200 samples and running the observed network on them took, over the time of 200 runs of our own
float library (bar 1.5; the median of three pairs). peak MB: the compiler's resident memory,
while compiling and with few and many calibration samples (bar 1500; no growth). size: stripped library over the ONNX file
(bar 0.5 above 500 KB). same: two compilations, and one with the samples in another order, give the same bytes
of IR and library.
"""
from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import networks
import tables


def read_peak(pid):
    """Resident megabytes at most so far, or 0 when the process has ended. (The rusage of a child begins with what its parent
    had when it was started.)"""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    match = re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
    return int(match.group(1)) / 1024 if match else 0


class Compilation:
    """A run of octet-compile: its seconds, its peak of resident megabytes, and what it printed."""

    def __init__(self, compiler, *arguments):
        start = time.perf_counter()
        with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
            process = subprocess.Popen([compiler, *map(str, arguments)], stdout=output, stderr=errors)
            self.megabytes = 0
            while process.poll() is None:
                self.megabytes = max(self.megabytes, read_peak(process.pid))
                time.sleep(0.002)
            self.seconds = time.perf_counter() - start
            output.seek(0), errors.seek(0)
            self.output, message = output.read(), errors.read()
        if process.returncode:
            raise RuntimeError(message.strip())

    def get_calibration_seconds(self):
        """From the line `calibrate   200 samples · 22863/s`."""
        count, rate = re.search(r"^calibrate +(\d+) samples · (\d+)/s$", self.output, re.MULTILINE).groups()
        return int(count) / max(int(rate), 1)


class Bench:
    """One network with its samples on disk."""

    def __init__(self, octet, compiler, task, folder):
        import numpy as np

        self.octet, self.compiler, self.task, self.folder = octet, compiler, task, Path(folder)
        feeds = task.calib()
        self.feeds = [feeds[i % len(feeds)] for i in range(200)]
        self.shapes = [f"--input-shape={name}={'x'.join(map(str, shape))}" for name, shape in task.shapes.items()]
        self.write("samples", self.feeds)
        self.write("one", self.feeds[:1])
        self.write("shuffled", [self.feeds[i] for i in np.random.default_rng(0).permutation(200)])

    def write(self, name, feeds):
        import numpy as np

        np.savez(self.folder / f"{name}.npz", **networks.as_arrays(feeds))

    def compile(self, output, samples=None, *options):
        data = [f"--calibration-data={self.folder / samples}.npz"] if samples else ["--float"]
        return Compilation(self.compiler, self.task.onnx, *self.shapes, *data, *options, "-o", self.folder / output)

    def make_float_runs(self):
        """A function that runs Octet's float library on the 200 samples and returns the seconds."""
        model = self.octet.load(self.folder / "float.so")
        names = {tensor.name for tensor in model.inputs}
        feed = {name: array.copy() for name, array in self.feeds[0].items() if name in names}
        run = model.bind(feed)
        run()

        def run_all():
            start = time.perf_counter()
            for sample in self.feeds:
                for name, array in feed.items():
                    array[...] = sample[name]
                run()
            return time.perf_counter() - start

        return run_all

    def measure_calibration(self):
        """Calibration with 200 samples over 200 float runs: the median of three pairs, each one right after the other."""
        run_all = self.make_float_runs()
        ratios = []
        for _ in range(3):
            calibration = self.compile("samples.mlirbc", "samples", "--stop-after=calibrate")
            ratios.append(calibration.get_calibration_seconds() / run_all())
        return statistics.median(ratios)

    def get_stripped_size(self, name):
        stripped = self.folder / "stripped.so"
        subprocess.run(["llvm-strip-22", "-o", stripped, self.folder / name], check=True)
        return stripped.stat().st_size

    def is_deterministic(self):
        """Whether ranges, IR and library are the same bytes for the same samples, and for the samples in another order."""
        for samples in ("samples", "shuffled"):
            self.compile(f"again-{samples}.so", samples)
            self.compile(f"{samples}.mlirbc", samples, "--stop-after=convert")
        self.compile("again.mlirbc", "samples", "--stop-after=convert")
        groups = [("int8.so", "again-samples.so", "again-shuffled.so"), ("samples.mlirbc", "again.mlirbc", "shuffled.mlirbc")]
        return all(len({(self.folder / name).read_bytes() for name in names}) == 1 for names in groups)


def measure_memory(bench, count):
    """Peak megabytes of a compilation with `count` samples, in files of 50 (the network's samples, repeated)."""
    folder = bench.folder / f"many{count}"
    folder.mkdir()
    bench.write("fifty", bench.feeds[:50])
    for index in range(count // 50):
        os.link(bench.folder / "fifty.npz", folder / f"{index:04d}.npz")
    output = bench.folder / "many.so"
    return Compilation(bench.compiler, bench.task.onnx, *bench.shapes, f"--calibration-data={folder}", "-o", output).megabytes


def measure(bench, counts):
    """The cells of a row, and the bars that are not met."""
    bench.compile("float.so")
    one = bench.compile("one.so", "one").seconds
    peak = bench.compile("int8.so", "samples").megabytes
    ratio = bench.measure_calibration()
    onnx_bytes, library_bytes = bench.task.onnx.stat().st_size, bench.get_stripped_size("int8.so")
    same = bench.is_deterministic()
    few, many = (measure_memory(bench, count) for count in counts)
    size = library_bytes / onnx_bytes
    checks = {"time": one <= 10, "calibration": ratio <= 1.5, "memory": max(peak, few, many) <= 1500,
              "memory grows": many <= few * 1.05 + 8, "size": onnx_bytes <= 500_000 or size <= 0.5, "determinism": same}
    cells = [f"{one:.1f}", f"{ratio:.2f}", f"{peak:.0f}", f"{few:.0f}", f"{many:.0f}", onnx_bytes // 1000,
             library_bytes // 1000, f"{size:.2f}", "yes" if same else "NO"]
    return cells, [name for name, ok in checks.items() if not ok]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", help="names of networks; all by default")
    parser.add_argument("--samples", default="50,5000", help="the two numbers of samples that memory is compared for")
    options = parser.parse_args()
    counts = [int(count) for count in options.samples.split(",")]
    octet = tables.import_octet()
    from octet._compiler import find_compiler

    table = tables.Table(network=31, compile_s=9, calibrate=9, peak_MB=7, **{f"MB_{c}": 8 for c in counts}, ONNX_KB=7,
                         library_KB=10, size=5, same=4, bars=6)
    failed = []
    for task in networks.get_tasks(options.networks):
        with tempfile.TemporaryDirectory() as folder:
            try:
                cells, reasons = measure(Bench(octet, find_compiler(), task, folder), counts)
                table.row(task.name, *cells, "not met: " + ", ".join(reasons) if reasons else "met")
            except RuntimeError as error:
                reasons = [str(error)]
                table.row(task.name, *["-"] * 9, f"error: {error}")
        if reasons:
            failed.append(task.name)
    print("bars not met by: " + (", ".join(failed) or "none"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
