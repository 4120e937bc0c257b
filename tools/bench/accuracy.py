#!/usr/bin/env python3
# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Golden match of the float library and accuracy of the int8 library, default settings, for every network.

    tools/bench/accuracy.py                   all networks, whole evaluation splits
    tools/bench/accuracy.py --limit 100 yolox_nano

float error: the largest error against the recorded outputs, relative to the output's largest magnitude. int8 MACs: the share
of the multiply-adds of convolution and linear that runs in int8. Splits and measures are those of evaluate.py.
"""
from __future__ import annotations

import argparse
import sys
import time

import networks
import tables


def make_run(model):
    """run(feed) -> list of output arrays, as evaluate.py calls it."""
    names = {tensor.name for tensor in model.inputs}
    return lambda feed: list(model.run({name: array for name, array in feed.items() if name in names}).values())


def get_golden_error(task, run):
    """The largest error of `run` over the recorded cases, relative to each output's largest magnitude."""
    return max((tables.get_error(output, golden) for feed, expected in task.golden() for output, golden in zip(run(feed), expected)),
               default=0.0)


def evaluate(task, run, limit=None):
    """evaluate.py's measures, on the first `limit` evaluation samples if given."""
    if limit is None or limit >= len(task._evals):
        return task.evaluate(run)
    samples = task._evals[:limit]
    reference = task.reference()[:limit]
    task._evals = samples
    return task.judge(reference, task.outputs(run))


def format_value(task, value):
    if task.metric in ("psnr", "sqnr"):
        return f"{value:.1f} dB"
    return f"{value:.3f}" if task.metric == "detect" else f"{value:.2%}"


def measure(octet, task, limit):
    """The cells of a row, and whether every bar is met."""
    shapes = networks.get_input_shapes(task)
    error = get_golden_error(task, make_run(octet.compile(task.onnx, input_shapes=shapes)))
    start = time.perf_counter()
    model = octet.compile(task.onnx, calibration_data=networks.as_arrays(task.calib()), input_shapes=shapes)
    seconds = time.perf_counter() - start
    result = evaluate(task, make_run(model), limit)
    share = model.report.int8_share
    bar = networks.BARS[task.name]
    checks = [error <= networks.GOLDEN_TOLERANCE, result["value"] >= bar, share is not None and share >= networks.INT8_SHARES[task.name]]
    cells = [f"{error:.1e}", format_value(task, result["value"]), format_value(task, bar), f"{result['sqnr_db']:.1f}",
             "-" if share is None else f"{share:.2%}", result["n"], f"{seconds:.1f}"]
    reasons = [reason for ok, reason in zip(checks, ("float", "accuracy", "int8 share")) if not ok]
    return cells, reasons


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", help="names of networks; all by default")
    parser.add_argument("--limit", type=int, help="evaluate at most so many samples")
    options = parser.parse_args()
    octet = tables.import_octet()
    table = tables.Table(network=31, float_error=11, int8=9, bar=9, SQNR=6, int8_MACs=9, samples=7, compile_s=9, bars=6)
    failed = []
    for task in networks.get_tasks(options.networks):
        try:
            cells, reasons = measure(octet, task, options.limit)
            table.row(task.name, *cells, "below: " + ", ".join(reasons) if reasons else "met")
        except octet.Error as error:
            reasons = [str(error)]
            table.row(task.name, *["-"] * 7, "error")
            print(f"  {error}")
        if reasons:
            failed.append(task.name)
    print(f"bars met by {len(networks.NAMES if not options.networks else options.networks) - len(failed)} networks; not by: "
          + (", ".join(failed) or "none"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
