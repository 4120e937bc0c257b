#!/usr/bin/env python3
# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random networks through the whole compiler: float code against onnxruntime, int8 code against the NumPy reference.

    test/Integration/fuzz.py                    seeds 0 to 99
    test/Integration/fuzz.py 500 600 --keep wrong/
    test/Integration/fuzz.py --arm              AArch64 code under QEMU, too

Float results may differ from onnxruntime's by TOLERANCE; int8 results are the same bytes at every level that this CPU has
(VNNI emulated where it has the rest) with 1 and 2 threads. Prints what is wrong or refused, a line each, and keeps
those networks on request; exit code 1 if there is any.
"""
from __future__ import annotations

import argparse
import collections
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools" / "bench"), str(ROOT / "test" / "Reference")]
import exactness  # noqa: E402
import tables  # noqa: E402
from growing_network import make_session  # noqa: E402
from random_onnx import make_random_model  # noqa: E402

# Of the largest magnitude, or of 1 where all is small: sums in another order, other polynomials.
TOLERANCE = 1e-4


def make_feeds(model, seed, count=6):
    """Standard normal samples; the last one is far outside what the others span."""
    rng = np.random.default_rng(seed)
    shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
    feeds = [{"x": rng.normal(size=shape).astype(np.float32)} for _ in range(count)]
    return feeds, [*feeds[:2], {"x": feeds[0]["x"] * 4}]


def spell_out_sigmoid(model):
    """The network with 1 / (1 + exp(-x)) for each Sigmoid: onnxruntime's own is exact to 1e-7 of 1 only, and 0 below -18, of which a
    product with something large makes any difference."""
    helper, spelt_out = onnx.helper, onnx.ModelProto()
    spelt_out.CopyFrom(model)
    del spelt_out.graph.node[:]
    for i, node in enumerate(model.graph.node):
        if node.op_type != "Sigmoid":
            spelt_out.graph.node.append(node)
            continue
        one, neg, exp, total = (f"sigmoid.{i}.{step}" for step in ("one", "neg", "exp", "sum"))
        spelt_out.graph.node.extend([
            helper.make_node("Constant", [], [one], value=helper.make_tensor(one, onnx.TensorProto.FLOAT, [], [1])),
            helper.make_node("Neg", [node.input[0]], [neg]), helper.make_node("Exp", [neg], [exp]),
            helper.make_node("Add", [exp, one], [total]), helper.make_node("Div", [one, total], [node.output[0]])])
    return spelt_out


def compare_float(octet, path, model, feeds):
    """What is wrong with float code."""
    session, compiled = make_session(spell_out_sigmoid(model)), octet.compile(path)
    for feed in feeds:
        for want, got in zip(session.run(None, feed), compiled.run(feed).values()):
            if want.shape != got.shape:
                yield f"float code gives the shape {got.shape}, onnxruntime {want.shape}"
                continue
            scale = np.abs(want[np.isfinite(want)]).max(initial=1)
            wrong = ~np.isclose(got, want, rtol=0, atol=TOLERANCE * scale, equal_nan=True)
            if wrong.any():
                yield f"float code gives {got[wrong][0]:g}, onnxruntime {want[wrong][0]:g}; the largest is {scale:g}"


def compare_arm(octet, quantized, folder, arm_driver, feeds, expected):
    """What is wrong with int8 code for AArch64."""
    library = folder / "arm.so"
    exactness.compile_for_arm(octet, quantized, library)
    for level, cpu in exactness.ARM_RUNS:
        got = exactness.run_arm(arm_driver, library, level, cpu, 1, list(feeds[0]), feeds, len(expected[0]), folder)
        cell, good = exactness.compare(expected, got)
        if not good:
            yield f"{level} under QEMU differs from the reference: {cell}"


def compare_int8(octet, path, samples, feeds, emulator, arm_driver=None):
    """What is wrong with int8 code."""
    quantized = octet.quantize(path, calibration_data=samples)
    library, reference = path.with_suffix(".so"), path.with_suffix(".qdq.onnx")
    quantized.compile(cpu_level=exactness.X86_LEVELS).save(library)
    quantized.save_onnx(reference)
    expected = exactness.run_reference(reference, feeds)
    for level in exactness.get_levels_here(octet.load(library)):
        for threads in (1, 2):
            cell, good = exactness.compare(expected, exactness.run_model(octet.load(library, threads=threads, cpu_level=level), feeds))
            if not good:
                yield f"{level} with {threads} threads differs from the reference: {cell}"
    for level in exactness.list_emulated() if emulator else []:
        cell, good = exactness.compare(expected, exactness.run_emulated(octet, emulator, library, level, feeds))
        if not good:
            yield f"emulated {level} differs from the reference: {cell}"
    if arm_driver:
        yield from compare_arm(octet, quantized, path.parent, arm_driver, feeds, expected)


def check(octet, seed, folder, emulator, arm_driver=None):
    """What is wrong with the network of a seed; its file is in `folder`."""
    model, path = make_random_model(seed), folder / f"{seed}.onnx"
    onnx.save(model, path)
    samples, feeds = make_feeds(model, seed)
    try:
        return [*compare_float(octet, path, model, feeds), *compare_int8(octet, path, samples, feeds, emulator, arm_driver)]
    except octet.CompileError as error:
        return [f"refused: {error}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", nargs="?", type=int, default=0)
    parser.add_argument("end", nargs="?", type=int, help="100 seeds by default")
    parser.add_argument("--keep", type=Path, help="folder for the networks with which something is wrong")
    parser.add_argument("--arm", action="store_true", help="every AArch64 level under QEMU, too")
    options = parser.parse_args()
    if options.arm and (why := exactness.why_no_arm()):
        parser.error(f"--arm: {why}")
    octet, counts = tables.import_octet(), collections.Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        emulator = exactness.build_emulator(folder) if exactness.list_emulated() else None
        arm_driver = exactness.build_arm_driver(folder) if options.arm else None
        for seed in range(options.first, options.first + 100 if options.end is None else options.end):
            problems = check(octet, seed, folder, emulator, arm_driver)
            counts["wrong" if problems else "right"] += 1
            for problem in problems:
                print(f"{seed}: {problem}", flush=True)
            if problems and options.keep:
                options.keep.mkdir(parents=True, exist_ok=True)
                (options.keep / f"{seed}.onnx").write_bytes((folder / f"{seed}.onnx").read_bytes())
    print(f"{counts['right']} networks right, {counts['wrong']} wrong or refused")
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
