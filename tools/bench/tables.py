# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plain tables, the processor's peak, and the compiled networks that every benchmark starts from."""
from __future__ import annotations

import math
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def import_octet():
    """The Python package: that of the build tree if there is one, else the installed one."""
    package = Path(os.environ.get("OCTET_BUILD") or ROOT / "build") / "python"
    if (package / "octet").is_dir():
        sys.path.insert(0, str(package))
    import octet

    return octet


class Table:
    """Rows that are printed one by one, in columns of fixed width."""

    def __init__(self, **columns):
        self.widths = {name.replace("_", " "): width for name, width in columns.items()}
        self.row(*self.widths)

    def row(self, *cells):
        texts = []
        for index, (width, cell) in enumerate(zip(self.widths.values(), cells)):
            texts.append(f"{cell!s:<{width}}" if index == 0 else f"{cell!s:>{width}}")
        print("  ".join(texts).rstrip(), flush=True)


def format_microseconds(seconds):
    """A time in µs with about three digits."""
    if seconds is None:
        return "missing"
    value = seconds * 1e6
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def get_error(got, expected):
    """The largest difference over the largest finite magnitude, or the largest difference if only zeros are expected; infinite where NaN or infinities differ."""
    import numpy as np

    expected = np.asarray(expected, np.float64)
    got, finite = np.asarray(got, np.float64).reshape(expected.shape), np.isfinite(expected)
    if not np.array_equal(got[~finite], expected[~finite], equal_nan=True) or not np.isfinite(got[finite]).all():
        return math.inf
    return float(np.abs(got[finite] - expected[finite]).max(initial=0) / (np.abs(expected[finite]).max(initial=0) or 1.0))


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def read_cpu_info():
    """What Linux says of the cores: their name, their flags; empty elsewhere."""
    file = Path("/proc/cpuinfo")
    return file.read_text() if file.exists() else ""


def get_cpu_name():
    for line in read_cpu_info().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def measure_peak():
    """int8 multiply-adds per second of one core by 512-bit VPDPBUSD, or None where that cannot run."""
    if "avx512_vnni" not in read_cpu_info():
        return None
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "peak")
        flags = ["-O2", "-mavx512f", "-mavx512vnni"]
        subprocess.run(["clang-22", *flags, str(HERE / "peak.c"), "-o", program], check=True)
        return float(subprocess.run([program], check=True, capture_output=True, text=True).stdout)
