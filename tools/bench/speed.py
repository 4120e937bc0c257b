#!/usr/bin/env python3
# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Latency of every network beside onnxruntime and OpenVINO: one process, interleaved rounds, medians, bound buffers.

    tools/bench/speed.py                      all networks, one thread
    tools/bench/speed.py --threads 2 yolox_nano

Batch 1, f32 in and out. Rounds of all runners of a network alternate, so that what disturbs the machine disturbs all. The
peak of the core's int8 multiply-adds is measured in the same run and printed beside. A runner that cannot be made is a
missing row, which is a failure; times are printed and never judged.
"""
from __future__ import annotations

import argparse
import gc
import statistics
import sys
import time

import networks
import peers
import tables

OURS = {"octet-f32": False, "octet-int8": True}  # name -> runs int8


def make_octet_runner(octet, task, feed, threads, is_int8):
    """A bound call of Octet's library for a network."""
    samples = networks.as_arrays(task.calib()) if is_int8 else None
    model = octet.compile(task.onnx, calibration_data=samples, input_shapes=networks.get_input_shapes(task), threads=threads)
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
            missing[name] = f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"
    return runners, missing


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
    """Multiply-adds of convolution and linear layers of the prepared network."""
    import numpy as np
    import onnx

    model = onnx.shape_inference.infer_shapes(onnx.load(str(peers.prepare(task))))
    values = [*model.graph.value_info, *model.graph.output, *model.graph.input]
    shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in values}
    shapes.update({i.name: list(i.dims) for i in model.graph.initializer})
    macs = 0
    for node in model.graph.node:
        if node.op_type in ("Conv", "FusedConv"):
            macs += int(np.prod(shapes[node.output[0]]) * np.prod(shapes[node.input[1]][1:]))
        elif node.op_type in ("MatMul", "Gemm", "FusedGemm", "FusedMatMul"):
            transposed = any(a.name == "transA" and a.i for a in node.attribute)
            macs += int(np.prod(shapes[node.output[0]]) * shapes[node.input[0]][0 if transposed else -1])
    return macs


def judge(times):
    """Octet's int8 time against the fastest int8 peer and Octet's float time: two ratios, or None where a time is missing."""
    int8 = [times[name] for name, (is_int8, _, _) in peers.PEERS.items() if is_int8 and name in times]
    ours = times.get("octet-int8")
    if not ours or not int8:
        return None, None
    return min(int8) / ours, times["octet-f32"] / ours if "octet-f32" in times else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", help="names of networks; all by default")
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
    columns = {"network": 31, **{name: 10 for name in wanted}, "vs_peer": 8, "vs_float": 8, "peak": 6}
    table = tables.Table(**columns)
    against_peers, slower, failures = [], [], []
    for task in networks.get_tasks(options.networks):
        feed = task.samples(1)[0]
        runners, missing = make_runners(octet, task, feed, options.threads, wanted)
        times = measure(runners, options.rounds, options.seconds)
        versus_peer, versus_float = judge(times)
        share = ""
        if peak and "octet-int8" in times:
            share = f"{count_macs(task) / times['octet-int8'] / peak / options.threads:.0%}"
        ratios = [f"{ratio:.2f}" if ratio else "-" for ratio in (versus_peer, versus_float)]
        table.row(task.name, *(tables.format_microseconds(times.get(name)) for name in wanted), *ratios, share)
        failures += [f"{task.name}: {name}: {reason}" for name, reason in missing.items()]
        if versus_peer:
            against_peers.append(versus_peer)
            if versus_peer <= 1 or (versus_float or 0) <= 1:
                slower.append(task.name)
    report(against_peers, slower, failures)
    return 1 if failures else 0


def report(against_peers, slower, failures):
    if against_peers:
        mean = tables.geometric_mean(against_peers)
        print(f"geometric mean over {len(against_peers)}: {mean:.2f} × the fastest int8 peer (bar: 2)")
        print("slower than an int8 peer or our own float: " + (", ".join(slower) or "none"))
    for failure in failures:
        print(f"missing: {failure}")


if __name__ == "__main__":
    sys.exit(main())
