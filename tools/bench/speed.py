#!/usr/bin/env python3
# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Latency of every network beside onnxruntime and OpenVINO: one process, interleaved rounds, medians, bound buffers.

    tools/bench/speed.py                      all networks, one thread
    tools/bench/speed.py --threads 2 yolox_nano
    tools/bench/speed.py net.onnx             any file; samples as survey.py takes them
    tools/bench/speed.py --packaged           networks of Python packages (packaged.py)

Batch 1. "vs peer" is the fastest int8 peer over our int8, "vs float" our float over it, "float" the fastest float peer over our
float. Rounds of all runners of a network alternate, so that what disturbs the machine disturbs all. The
peak of the core's int8 multiply-adds is measured in the same run and printed beside. A runner that cannot be made is a
missing row, which is a failure; times are printed and never judged.
"""
from __future__ import annotations

import argparse
import gc
import statistics
import sys
import time
from pathlib import Path

import networks
import onnx_files
import peers
import tables

OURS = {"octet-f32": False, "octet-int8": True}  # name -> runs int8


def make_octet_runner(octet, task, feed, threads, is_int8):
    """A bound call of Octet's library for a network."""
    constants = getattr(task, "constants", {})
    feeds = [{name: array for name, array in feed.items() if name not in constants} for feed in task.calib()]
    model = octet.compile(task.onnx, calibration_data=networks.as_arrays(feeds) if is_int8 else None, threads=threads,
                          input_shapes=networks.get_input_shapes(task) or None, input_values=constants)
    names = {tensor.name for tensor in model.inputs}
    return model.bind({name: array for name, array in feed.items() if name in names})


def make_runners(octet, task, feed, threads, wanted):
    """Calls by name, and the reasons of those that could not be made."""
    runners, missing = {}, {}
    for name in wanted:
        try:
            if name in OURS:
                runners[name] = make_octet_runner(octet, task, feed, threads, OURS[name])
            else:
                runner = peers.make_runner(name, task, feed, threads)
                runners[name] = runner.run
            runners[name]()
        except Exception as error:  # whatever a peer throws: the row is missing and the table says why
            missing[name] = get_reason(error)
    return runners, missing


def get_reason(error):
    """An exception in one line."""
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"


def measure(runners, rounds, seconds):
    """Median time of a call of each runner over `rounds` interleaved rounds of about `seconds` each."""
    clock = time.perf_counter
    counts = {}
    for name, run in runners.items():
        start = clock()
        while clock() - start < seconds:  # warm up, and see how many calls make a round
            run()
        start = clock()
        run()
        counts[name] = max(1, min(2000, int(seconds / max(clock() - start, 1e-7))))
    times = {name: [] for name in runners}
    gc.disable()
    for _ in range(rounds):
        for name, run in runners.items():
            run()  # brings the network's weights back into the caches, as between two calls of the same network
            samples = []
            for _ in range(counts[name]):
                start = clock()
                run()
                samples.append(clock() - start)
            times[name].append(statistics.median(samples))
    gc.enable()
    return {name: statistics.median(values) for name, values in times.items()}


def count_macs(task):
    """Multiply-adds of convolution and linear layers of the prepared network, as far as shapes are known."""
    import numpy as np
    import onnx

    model = onnx.shape_inference.infer_shapes(onnx.load(str(peers.prepare(task))))
    values = [*model.graph.value_info, *model.graph.output, *model.graph.input]
    shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in values}
    shapes.update({i.name: list(i.dims) for i in model.graph.initializer})
    macs = 0
    for node in model.graph.node:
        if not {node.output[0], *node.input[:2]} <= shapes.keys():
            continue
        if node.op_type in ("Conv", "FusedConv"):
            macs += int(np.prod(shapes[node.output[0]]) * np.prod(shapes[node.input[1]][1:]))
        elif node.op_type in ("MatMul", "Gemm", "FusedGemm", "FusedMatMul"):
            transposed = any(a.name == "transA" and a.i for a in node.attribute)
            macs += int(np.prod(shapes[node.output[0]]) * shapes[node.input[0]][0 if transposed else -1])
    return macs


def judge(times):
    """Octet's int8 time against the fastest int8 peer and Octet's float time, and Octet's float time against the fastest float
    peer: three ratios, or None where a time is missing."""
    best = {kind: min((times[name] for name, (is_int8, _, _) in peers.PEERS.items() if is_int8 == kind and name in times), default=None)
            for kind in (False, True)}
    divide = lambda a, b: a / b if a and b else None  # noqa: E731
    int8, real = times.get("octet-int8"), times.get("octet-f32")
    return divide(best[True], int8), divide(real, int8), divide(best[False], real)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", help="names of networks, ONNX files or folders of them; by default all that have bars")
    parser.add_argument("--packaged", nargs="?", const="", metavar="NAME,...", help="networks of installed packages; by default all")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.05, help="length of a round of one runner")
    parser.add_argument("--only", help="runners to measure, by commas: " + ", ".join([*peers.PEERS, *OURS]))
    options = parser.parse_args()
    wanted = options.only.split(",") if options.only else [*peers.PEERS, *OURS]
    octet = tables.import_octet() if any(name in OURS for name in wanted) else None

    peak = tables.measure_peak()
    how = f"{options.threads} thread(s) · batch 1 · median of {options.rounds} interleaved rounds · µs"
    print(f"{tables.get_cpu_name()} · {how}")
    print(f"int8 peak of a core: {peak / 1e9:.0f} GMAC/s (512-bit VPDPBUSD, measured now)" if peak else "no AVX-512-VNNI here")
    columns = {"network": 31, **{name: 10 for name in wanted}, "vs_peer": 8, "vs_float": 8, "float": 6, "peak": 6}
    table = tables.Table(**columns)
    ratios, failures = {}, []
    for task in find_tasks(options.networks, options.packaged):
        feed = task.samples(1)[0]
        runners, missing = make_runners(octet, task, feed, options.threads, wanted)
        times = measure(runners, options.rounds, options.seconds)
        ratios[task.name] = judge(times)
        macs = count_macs(task) if peak and "octet-int8" in times else 0
        share = f"{macs / times['octet-int8'] / peak / options.threads:.0%}" if macs else ""
        cells = [f"{ratio:.2f}" if ratio else "-" for ratio in ratios[task.name]]
        table.row(task.name, *(tables.format_microseconds(times.get(name)) for name in wanted), *cells, share)
        failures += [f"{task.name}: {name}: {reason}" for name, reason in missing.items()]
    report(ratios, failures)
    return 1 if failures else 0


def find_tasks(names, packages):
    """The tasks of networks with bars, of files, and of packages' networks."""
    files = [Path(name) for name in names if Path(name).exists()]
    known = [name for name in names if not Path(name).exists()]
    if known or not (files or packages is not None):
        yield from networks.get_tasks(known)
    yield from (make() for make in onnx_files.find_tasks(files, packages))


def report(ratios, failures):
    """Geometric means, and the networks that do not win."""
    for index, kind in enumerate(["int8 against the fastest int8 peer", "int8 against our float", "float against the fastest float peer"]):
        known = {name: row[index] for name, row in ratios.items() if row[index]}
        if known:
            slower = ", ".join(name for name, ratio in known.items() if ratio <= 1) or "none"
            print(f"{kind}: geometric mean {tables.geometric_mean(known.values()):.2f} over {len(known)}; not faster: {slower}")
    for failure in failures:
        print(f"missing: {failure}")


if __name__ == "__main__":
    sys.exit(main())
