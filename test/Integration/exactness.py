#!/usr/bin/env python3
# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exactness: the int8 library's output bytes at every CPU level, with 1 and 2 threads, under QEMU, and by the NumPy reference.

    test/Integration/exactness.py                       all networks: 200 evaluation inputs (or all) and 50 random ones
    test/Integration/exactness.py --samples 5 --random 2 mnist_cntk
    test/Integration/exactness.py --backend tensorrt --qconfig-mapping tensorrt_default_mapping mlperf_kws_dscnn

A cell says how many inputs were compared, `=` if all outputs are the same bytes as those of the best level with one thread,
and otherwise how many differ. The scalar level, QEMU and the NumPy reference are slow: they see the first inputs and the first
random ones only; so do the levels with VNNI on a CPU that has all they need but VNNI, for which emulated_vnni.c stands in
(`*`). A level that this CPU cannot run otherwise is not checked, which is said and is a failure of the whole.
"""
from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools" / "bench"), str(ROOT / "tools" / "dev"), str(ROOT / "test" / "Reference")]
import levels  # noqa: E402
import networks  # noqa: E402
import tables  # noqa: E402

X86_LEVELS = levels.get_names("x86_64")
# Level, the CPU that QEMU plays: all levels on the largest, with registers of the level's length, the baseline on one that has nothing else.
ARM_RUNS = [(level, "cortex-a72" if level == "neon" else f"max,{level}=on" if level.startswith("sve") else "max") for level in levels.get_names("aarch64") if level != "reference"]
ARM_LEVELS = ",".join(level for level, _ in ARM_RUNS)
ARM_TARGET = "aarch64-linux-gnu"
SYSROOT = Path("/usr/aarch64-linux-gnu")
# The levels whose VNNI instructions can be emulated, and what they need beside, as Linux names it.
AVX2 = {"avx2", "fma", "f16c", "bmi1", "bmi2"}
EMULATED = {"avx512vnni": AVX2 | {"avx512f", "avx512bw", "avx512dq", "avx512vl"}, "avxvnni": AVX2}


# ---- inputs ------------------------------------------------------------------------------------------------------------
def make_random_feeds(feeds, count, seed=1):
    """Feeds of the same shapes: half uniform over the range of `feeds`, half with three times its spread, to saturate."""
    rng = np.random.default_rng(seed)
    result = []
    for i in range(count):
        feed = {}
        for name, array in feeds[0].items():
            values = np.concatenate([f[name].ravel() for f in feeds])
            low, high = float(values.min()), float(values.max())
            middle, half = (low + high) / 2, (high - low) / 2 * (1 if i % 2 == 0 else 3)
            feed[name] = rng.uniform(middle - half, middle + half, array.shape).astype(array.dtype)
        result.append(feed)
    return result


def choose(feeds, num_random, few):
    """Indices of the first evaluation inputs and the first random ones, `few` in all (at least one of each)."""
    first_random = len(feeds) - num_random
    half = max(1, few // 2)
    return list(range(min(half, first_random))) + list(range(first_random, min(first_random + half, len(feeds))))


# ---- outputs -----------------------------------------------------------------------------------------------------------
def settle_nans(array):
    """The array with one NaN for all: their sign and payload are left open (docs/numerics.md, 1). All else bit for bit."""
    array = np.asarray(array)
    return np.where(np.isnan(array), array.dtype.type(np.nan), array) if array.dtype.kind == "f" else array


def as_bytes(outputs):
    """One feed's outputs, in order, as bytes to compare."""
    return b"".join(settle_nans(array).tobytes() for array in outputs)


def split_outputs(data, outputs):
    """For each feed the bytes to compare. `data` are the bytes of all feeds' outputs, `outputs` (arrays or TensorInfo) says what one feed's are."""
    row = np.dtype([(f"y{i}", output.dtype, output.shape) for i, output in enumerate(outputs)])
    return [as_bytes(feed[name] for name in row.names) for feed in np.frombuffer(data, row)]


def run_model(model, feeds):
    names = [tensor.name for tensor in model.inputs]
    return [as_bytes(model.run({name: feed[name] for name in names}).values()) for feed in feeds]


def count_differences(expected, got):
    """How many of the outputs differ; a missing one differs."""
    return sum(a != b for a, b in zip(expected, got)) + abs(len(expected) - len(got))


def compare(expected, got):
    """A cell of the table, and whether all is the same."""
    differing = count_differences(expected, got)
    return (f"={len(expected)}" if differing == 0 else f"{differing}/{len(expected)}"), differing == 0 and len(expected) > 0


# ---- other machines ------------------------------------------------------------------------------------------------------
def find_entry(library):
    """The exported symbol that gives the network's interface."""
    listing = subprocess.run(["nm", "-D", "--defined-only", str(library)], check=True, capture_output=True, text=True).stdout
    entries = [line.split()[-1] for line in listing.splitlines() if line.endswith("_octet_model_v1")]
    if len(entries) != 1:
        raise RuntimeError(f"{library}: expected one symbol that ends in _octet_model_v1, but got {entries}")
    return entries[0]


def why_no_arm():
    """Why AArch64 libraries cannot run here, or nothing."""
    missing = [tool for tool in ("aarch64-linux-gnu-gcc", "qemu-aarch64-static") if not shutil.which(tool)]
    if missing:
        return f"{', '.join(missing)} not installed"
    return None if SYSROOT.is_dir() else f"{SYSROOT} is missing"


def compile_for_arm(octet, quantized, library):
    """Python compiles for its own machine; the compiler's command line for any. Takes a QuantizedModel, or the path of a network that is
    compiled as it is in its file."""
    from octet import _compiler
    source, options = quantized, ["--as-in-file"]
    if not isinstance(quantized, Path):
        source, options = library.with_suffix(".mlirbc"), []
        source.write_bytes(quantized._bytecode)
    names = ",".join(level for level, _ in ARM_RUNS)
    command = [_compiler.find_compiler(), source, *options, f"--target={ARM_TARGET}", f"--cpu-level={names}", "-o", library]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def build_arm_driver(folder):
    driver = folder / "run_samples"
    source = ROOT / "test" / "Integration" / "run_samples.c"
    subprocess.run(["aarch64-linux-gnu-gcc", "-O1", "-I", str(ROOT / "include"), str(source), "-o", str(driver), "-ldl"], check=True)
    return driver


def run_arm(driver, library, level, cpu, threads, names, feeds, outputs, folder):
    """The outputs of an AArch64 library under QEMU; `outputs` as in split_outputs."""
    given, computed = folder / "inputs.bin", folder / "outputs.bin"
    given.write_bytes(b"".join(np.ascontiguousarray(feed[name]).tobytes() for feed in feeds for name in names))
    command = ["qemu-aarch64-static", "-L", str(SYSROOT), "-cpu", cpu, str(driver), str(library), find_entry(library), level,
               str(threads), str(given), str(computed)]
    subprocess.run(command, check=True)
    return split_outputs(computed.read_bytes(), outputs)


def find_c_compiler():
    return shutil.which("clang-22") or shutil.which("cc")


def why_no_emulation(level):
    """Why the level's VNNI instructions cannot be emulated here, or nothing."""
    cpuinfo = Path("/proc/cpuinfo")
    flags = {flag for line in cpuinfo.read_text().splitlines() if line.startswith("flags") for flag in line.split()} if cpuinfo.exists() else set()
    if missing := sorted(EMULATED[level] - flags):
        return f"this CPU lacks {', '.join(missing)}"
    return None if find_c_compiler() else "no C compiler"


def list_emulated():
    """The levels that run here only with VNNI emulated, or could."""
    return [level for level in EMULATED if level in X86_LEVELS and not why_no_emulation(level)]


def build_emulator(folder):
    library = folder / "emulated_vnni.so"
    source = ROOT / "test" / "Integration" / "emulated_vnni.c"
    subprocess.run([find_c_compiler(), "-shared", "-fPIC", "-O2", f"-I{ROOT}/include", str(source), "-o", str(library), "-lpthread", "-ldl"], check=True)
    return library


def run_emulated(octet, emulator, library, level, feeds, entry=None):
    """The outputs of a library's level with VNNI emulated."""
    variables = {"OCTET_EMULATED": str(library), "OCTET_EMULATED_ENTRY": entry or find_entry(library)}
    os.environ.update(variables)
    try:
        return run_model(octet.load(emulator, cpu_level=level), feeds)
    finally:
        for name in variables:
            del os.environ[name]


def run_reference(onnx_file, feeds):
    from octet_reference import Network
    network = Network(str(onnx_file))
    return [as_bytes(network.run(feed).values()) for feed in feeds]


# ---- one network -----------------------------------------------------------------------------------------------------------
class Check:
    """One network: its libraries, its inputs, the bytes that everything must give."""

    def __init__(self, octet, task, options, machines, folder):
        self.octet, self.folder, self.options, self.machines = octet, folder, options, machines
        shapes = networks.get_input_shapes(task)
        self.quantized = octet.quantize(task.onnx, calibration_data=networks.as_arrays(task.calib()), input_shapes=shapes,
                                        backend=options.backend, qconfig_mapping=options.qconfig_mapping)
        real = task.samples(options.samples)
        self.feeds = real + make_random_feeds(real, options.random)
        self.library = folder / "x86.so"
        self.quantized.compile(cpu_level=X86_LEVELS).save(self.library)
        self.levels = get_levels_here(octet.load(self.library))
        best = self.load(self.levels[0], 1)
        self.inputs, self.outputs = [tensor.name for tensor in best.inputs], best.outputs
        self.expected = run_model(best, self.feeds)

    def load(self, level, threads):
        return self.octet.load(self.library, threads=threads, cpu_level=level)

    def few(self, count):
        indices = choose(self.feeds, self.options.random, count)
        return [self.feeds[i] for i in indices], [self.expected[i] for i in indices]

    def check_levels(self):
        for level in self.levels:
            for threads in (1, 2):
                feeds, expected = self.few(self.options.few) if level == "reference" else (self.feeds, self.expected)
                if (level, threads) != (self.levels[0], 1):
                    yield f"{level}/{threads}", compare(expected, run_model(self.load(level, threads), feeds))

    def check_emulated(self):
        feeds, expected = (part[: self.options.emulated] for part in self.few(self.options.few))
        for level in self.machines.emulated:
            if level not in self.levels:
                cell, good = compare(expected, run_emulated(self.octet, self.machines.emulator, self.library, level, feeds))
                yield f"{level}/1", (cell + "*", good)

    def check_arm(self):
        library = self.folder / "arm.so"
        compile_for_arm(self.octet, self.quantized, library)
        feeds, expected = (part[: self.options.arm] for part in self.few(self.options.few))
        for level, cpu in ARM_RUNS:
            got = run_arm(self.machines.arm_driver, library, level, cpu, 2 if level == "dotprod" else 1, self.inputs, feeds, self.outputs, self.folder)
            yield level, compare(expected, got)

    def check_reference(self):
        onnx_file = self.folder / "quantized.onnx"
        self.quantized.save_onnx(onnx_file)
        feeds, expected = self.few(self.options.few)
        yield "numpy", compare(expected, run_reference(onnx_file, feeds))

    def run(self):
        """(column, (cell, whether it is right)) one after the other."""
        yield f"{self.levels[0]}/1", ("base", True)
        yield from self.check_levels()
        yield from self.check_emulated()
        if self.machines.arm_driver:
            yield from self.check_arm()
        yield from self.check_reference()

    def is_trivial(self):
        """Outputs that do not depend on the input prove nothing."""
        return len(set(self.expected)) < min(2, len(self.expected))


def get_levels_here(model):
    """The levels of a library that this CPU can run, best first."""
    return [level for level, is_possible in model._library.levels if is_possible]


class Machines:
    """What stands in for machines that this one is not, or why nothing does."""

    def __init__(self, folder):
        self.why_no_arm = why_no_arm()
        # An instruction that traps costs some microseconds: whole networks are run with zmm registers only.
        self.emulated = [level for level in list_emulated() if level == "avx512vnni"]
        self.arm_driver = None if self.why_no_arm else build_arm_driver(folder)
        self.emulator = build_emulator(folder) if self.emulated else None


COLUMNS = [f"{level}/{threads}" for level in X86_LEVELS for threads in (1, 2)] + [level for level, _ in ARM_RUNS] + ["numpy"]


def check_network(octet, task, options, machines):
    """The cells by column, whether all bytes are the same, and the levels that ran natively."""
    cells, good = {}, True
    with tempfile.TemporaryDirectory() as name:
        check = Check(octet, task, options, machines, Path(name))
        for column, (cell, ok) in check.run():
            cells[column], good = cell, good and ok
        if check.is_trivial():
            raise RuntimeError(f"{task.name}: all outputs are the same, whatever the input")
    return cells, good, check.levels


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", help="names of networks; all by default")
    parser.add_argument("--backend", default="cpu", help="operators and types that can be quantized (cpu)")
    parser.add_argument("--qconfig-mapping", help="observers of each operator (the backend's own)")
    parser.add_argument("--samples", type=int, default=200, help="evaluation inputs at most (200)")
    parser.add_argument("--random", type=int, default=50, help="random inputs (50)")
    parser.add_argument("--few", type=int, default=4, help="inputs for the scalar level and NumPy (4)")
    parser.add_argument("--emulated", type=int, default=4, help="of these, inputs for emulated VNNI (4)")
    parser.add_argument("--arm", type=int, default=4, help="of these, inputs for QEMU (4)")
    options = parser.parse_args()
    octet = tables.import_octet()
    table = tables.Table(network=31, inputs=7, **{column: max(len(column), 7) for column in COLUMNS})
    failed, ran = [], X86_LEVELS
    with tempfile.TemporaryDirectory() as name:
        machines = Machines(Path(name))
        for task in networks.get_tasks(options.networks):
            try:
                cells, good, ran = check_network(octet, task, options, machines)
            except (octet.Error, RuntimeError, NotImplementedError, subprocess.CalledProcessError) as error:
                cells, good = {}, False
                print(f"  {task.name}: {error}")
            inputs = min(options.samples, len(task._evals)) + options.random
            table.row(task.name, inputs, *(cells.get(column, "-") for column in COLUMNS))
            failed += [] if good else [task.name]
    unchecked = [level for level in X86_LEVELS if level not in ran]
    for level in set(unchecked) & set(machines.emulated):
        unchecked.remove(level)
        print(f"* {level}: this CPU lacks VNNI; its instructions were emulated, on a few inputs")
    if unchecked:
        print(f"not checked: {', '.join(unchecked)}: this CPU cannot run it")
    if machines.why_no_arm:
        print(f"not checked: AArch64: {machines.why_no_arm}")
    is_partial = bool(unchecked or machines.why_no_arm)
    print(f"not exact: {', '.join(failed)}" if failed else "same bytes" if is_partial else "same bytes everywhere")
    return 1 if failed or is_partial else 0


if __name__ == "__main__":
    sys.exit(main())
