#!/usr/bin/env python3
# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random networks through the whole compiler: float code against onnxruntime, int8 code against the NumPy reference.

    test/Integration/fuzz.py                    seeds 0 to 99
    test/Integration/fuzz.py 500 600 --keep wrong/
    test/Integration/fuzz.py --arm              AArch64 code under QEMU, too
    test/Integration/fuzz.py 0 9999 --list-operators    only count what the networks are made of

Float results may differ from onnxruntime's by TOLERANCE, or be what onnxruntime gives when numbers change in their last bits (a tie); int8 results are the same bytes (all NaNs count as one) at every level that this CPU has
(VNNI emulated where it has the rest) with 1 and 2 threads. Prints what is wrong or refused, a line each, and keeps
those networks on request; exit code 1 if there is any. Ctrl-C ends it with the counts so far.
"""
from __future__ import annotations

import argparse
import collections
import contextlib
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools" / "bench"), str(ROOT / "test" / "Reference"), str(ROOT / "test" / "Python")]
import exactness  # noqa: E402
import tables  # noqa: E402
from growing_network import make_session  # noqa: E402
from random_onnx import make_random_model  # noqa: E402

# Of the largest magnitude, or of 1 where all is small: sums in another order, other polynomials.
TOLERANCE = 1e-4
LEVELS_HERE = [level.name for level in exactness.levels.read_levels() if level.runs_here]
BEST_LEVEL = next(iter(LEVELS_HERE), None)
# Levels that nothing can run here are compiled only where AArch64's are, too: that costs a fifth of the time.
RUN_LEVELS = [level for level in exactness.X86_LEVELS if level in {*LEVELS_HERE, *exactness.list_emulated()}]


def is_dynamic(model):
    """Whether scales of the network are chosen in each run."""
    return any(node.op_type.startswith("DynamicQuantize") for node in model.graph.node)


def make_feeds(model, seed, count=6):
    """Standard normal samples; the last one is far outside what the others span."""
    rng = np.random.default_rng(seed)
    name, shape = model.graph.input[0].name, [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
    feeds = [{name: rng.normal(size=shape).astype(np.float32)} for _ in range(count)]
    return feeds, [*feeds[:2], {name: feeds[0][name] * 4}]


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


def find_range(model, feed, runs=8):
    """The least and the largest values of each output where inputs and constants change in their last bits: where these differ, what is
    rounded lies between two integers, or what is compared is equal."""
    rng = np.random.default_rng(0)
    sizes = {"Range": slice(None), "Resize": slice(2, 3), "Upsample": slice(1, 2)}  # inputs that say how many there are
    ends = {name for node in model.graph.node if node.op_type in sizes for name in node.input[sizes[node.op_type]]}

    def shake(array):
        is_real = array.dtype in (np.float32, np.float64)
        return array * (1 + rng.uniform(-1, 1, array.shape) * 2.0**-20).astype(array.dtype) if is_real else array
    results = []
    for _ in range(runs):
        shaken = onnx.ModelProto()
        shaken.CopyFrom(model)
        for constant in shaken.graph.initializer:
            if constant.name in ends:
                continue
            constant.CopyFrom(onnx.numpy_helper.from_array(shake(onnx.numpy_helper.to_array(constant)), constant.name))
        results.append(make_session(shaken).run(None, {name: shake(array) for name, array in feed.items()}))
    return [(np.min(values, axis=0), np.max(values, axis=0)) for values in zip(*results)]


def compare_float(octet, path, model, feeds):
    """What is wrong with float code of the best level."""
    model = spell_out_sigmoid(model)
    session, compiled = make_session(model), octet.compile(path, cpu_level=BEST_LEVEL)
    for feed in feeds:
        for number, (want, got) in enumerate(zip(session.run(None, feed), compiled.run(feed).values())):
            if want.shape != got.shape:
                yield f"float code gives the shape {got.shape}, onnxruntime {want.shape}"
                continue
            scale = np.abs(want[np.isfinite(want)]).max(initial=1)
            wrong = ~np.isclose(got, want, rtol=0, atol=TOLERANCE * scale, equal_nan=True)
            if wrong.any():
                least, largest = find_range(model, feed)[number]
                wrong &= ~((got >= least - TOLERANCE * scale) & (got <= largest + TOLERANCE * scale))
            if wrong.any():
                yield f"float code gives {got[wrong][0]:g}, onnxruntime {want[wrong][0]:g}; the largest is {scale:g}"


def compare_arm(octet, quantized, folder, arm_driver, feeds, outputs, expected):
    """What is wrong with int8 code for AArch64."""
    library = folder / "arm.so"
    exactness.compile_for_arm(octet, quantized, library)
    for level, cpu in exactness.ARM_RUNS:
        got = exactness.run_arm(arm_driver, library, level, cpu, 1, list(feeds[0]), feeds, outputs, folder)
        cell, good = exactness.compare(expected, got)
        if not good:
            yield f"{level} under QEMU differs from the reference: {cell}"


def compare_int8(octet, path, samples, feeds, emulator, arm_driver=None):
    """What is wrong with int8 code. Where scales are chosen in each run, the scalar level stands in for the reference, which has no such operators."""
    library, reference = path.with_suffix(".so"), path.with_suffix(".qdq.onnx")
    levels = exactness.X86_LEVELS if arm_driver else RUN_LEVELS
    if is_dynamic(onnx.load(path)):
        quantized = path
        octet.compile(path, cpu_level=levels).save(library)
        expected = exactness.run_model(octet.load(library, cpu_level="reference"), feeds)
    else:
        quantized = octet.quantize(path, calibration_data=samples)
        quantized.compile(cpu_level=levels).save(library)
        quantized.save_onnx(reference)
        expected = exactness.run_reference(reference, feeds)
    for level in exactness.get_levels_here(octet.load(library)):
        for threads in (1, 2):
            cell, good = exactness.compare(expected, exactness.run_model(octet.load(library, threads=threads, cpu_level=level), feeds))
            if not good:
                yield f"{level} with {threads} threads differs from the reference: {cell}"
    entry, here = exactness.find_entry(library), exactness.get_levels_here(octet.load(library))
    for level in exactness.list_emulated() if emulator else []:
        if level in here:
            continue
        cell, good = exactness.compare(expected, exactness.run_emulated(octet, emulator, library, level, feeds, entry))
        if not good:
            yield f"emulated {level} differs from the reference: {cell}"
    if arm_driver:
        yield from compare_arm(octet, quantized, path.parent, arm_driver, feeds, octet.load(library).outputs, expected)


def check_model(octet, model, path, samples, feeds, emulator, arm_driver):
    onnx.save(model, path)
    try:
        return [*compare_float(octet, path, model, feeds), *compare_int8(octet, path, samples, feeds, emulator, arm_driver)]
    except octet.Error as error:  # of the network or of its samples: the other seeds go on
        return [f"refused: {error}"]


def check(octet, seed, folder, emulator, arm_driver=None):
    """What is wrong with the network of a seed; its file is in `folder`."""
    model = make_random_model(seed)
    return check_model(octet, model, folder / f"{seed}.onnx", *make_feeds(model, seed), emulator, arm_driver)


# ---- several networks in one file ----------------------------------------------------------------------------------------------
def rename(graph, prefix):
    """Puts a prefix in front of all names of a graph and of the graphs inside."""
    for named in (*graph.node, *graph.input, *graph.output, *graph.initializer, *graph.value_info):
        named.name = named.name and prefix + named.name
    for value in (*graph.output, *graph.value_info):  # sizes that depend on data are those of one network
        for size in value.type.tensor_type.shape.dim:
            if size.dim_param:
                size.dim_param = prefix + size.dim_param
    for node in graph.node:
        for names in (node.input, node.output):
            names[:] = [name and prefix + name for name in names]
        for attribute in node.attribute:
            rename(attribute.g, prefix)


def join(models):
    """One model of several of the same opset, whose names get their seeds in front, and the samples and feeds of all."""
    whole, parts = onnx.ModelProto(), []
    whole.CopyFrom(next(iter(models.values())))
    whole.graph.Clear()
    for seed, model in models.items():
        named = onnx.ModelProto()
        named.CopyFrom(model)
        rename(named.graph, f"s{seed}.")
        whole.graph.MergeFrom(named.graph)
        parts.append(make_feeds(named, seed))
    whole.graph.name = "together"
    return whole, *([{name: array for feed in feeds for name, array in feed.items()} for feeds in zip(*kind)] for kind in zip(*parts))


def check_together(octet, models, folder, emulator, arm_driver=None):
    """What is wrong, by seed. Compiling many in one file costs a fraction; if there is a problem, each is compiled alone to know whose it is."""
    model, samples, feeds = join(models)
    problems = check_model(octet, model, folder / f"together_{min(models)}.onnx", samples, feeds, emulator, arm_driver)
    if not problems:
        return {}
    if len(models) == 1:
        return {min(models): problems}
    alone = {seed: found for seed in models if (found := check(octet, seed, folder, emulator, arm_driver))}
    return alone or {min(models): [f"only together with {', '.join(map(str, list(models)[1:]))}: {problem}" for problem in problems]}


def take_batches(seeds, size):
    """Random models by seed, in dicts of those of one opset."""
    batches = collections.defaultdict(dict)
    for seed in seeds:
        model = make_random_model(seed)
        kind = model.opset_import[0].version, is_dynamic(model)
        batches[kind][seed] = model
        if len(batches[kind]) == size:
            yield batches.pop(kind)
    yield from batches.values()


# ---- what they are made of -----------------------------------------------------------------------------------------------------
def list_operators(graph):
    """Operators of a graph and the graphs inside, with their domains."""
    for node in graph.node:
        yield f"{node.domain}.{node.op_type}".lstrip(".")
        for attribute in node.attribute:
            yield from list_operators(attribute.g)


def print_operators(counts):
    """In how many networks each operator was, and what Octet imports that was in none."""
    print(", ".join(f"{name} {count}" for name, count in sorted(counts.items())))
    from octet import _compiler
    listed = subprocess.run([_compiler.find_compiler(), "--list-operators"], check=True, capture_output=True, text=True).stdout
    known = {line.split()[0] for line in listed.splitlines()[1:] if line.strip()}
    print(f"{len(counts)} operators; never made: {', '.join(sorted(known - counts.keys())) or 'none'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", nargs="?", type=int, default=0)
    parser.add_argument("end", nargs="?", type=int, help="100 seeds by default")
    parser.add_argument("--keep", type=Path, help="folder for the networks with which something is wrong")
    parser.add_argument("--arm", action="store_true", help="every AArch64 level under QEMU, too")
    parser.add_argument("--together", type=int, default=8, help="networks of one opset that are compiled as one file (8)")
    parser.add_argument("--list-operators", action="store_true", help="compile nothing")
    options = parser.parse_args()
    if options.arm and (why := exactness.why_no_arm()):
        parser.error(f"--arm: {why}")
    seeds = range(options.first, options.first + 100 if options.end is None else options.end)
    octet, checked, wrong, operators = tables.import_octet(), set(), set(), collections.Counter()
    with tempfile.TemporaryDirectory() as name, contextlib.suppress(KeyboardInterrupt):
        folder = Path(name)
        emulator = exactness.build_emulator(folder) if exactness.list_emulated() else None
        arm_driver = exactness.build_arm_driver(folder) if options.arm else None
        for models in take_batches(seeds, options.together):
            problems = {}
            if not options.list_operators:
                with tempfile.TemporaryDirectory() as files:
                    problems = check_together(octet, models, Path(files), emulator, arm_driver)
            for seed, found in problems.items():
                for problem in found:
                    print(f"{seed}: {problem}", flush=True)
                if options.keep:
                    options.keep.mkdir(parents=True, exist_ok=True)
                    onnx.save(models[seed], options.keep / f"{seed}.onnx")
            checked, wrong = checked | models.keys(), wrong | problems.keys()
            for model in models.values():
                operators.update(set(list_operators(model.graph)))
    print_operators(operators)
    if not options.list_operators:
        print(f"{len(checked - wrong)} networks right, {len(wrong)} wrong or refused")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
