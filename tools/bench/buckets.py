#!/usr/bin/env python3
# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A text encoder for several lengths in one int8 library: accuracy, size, and speed beside a library for each length alone.

    /tmp/exporters/bin/python tools/bench/make_networks.py zoo minilm_open
    tools/bench/buckets.py zoo/minilm_open.onnx
    tools/bench/buckets.py zoo/minilm_open.onnx --lengths 16,32,64,128,256,512

All inputs are [1, length]. `net.npz` calibrates; each text of `net.eval.npz` (its length is the sum of `attention_mask`) runs in the
smallest length that holds it, filled up with zeros, and in onnxruntime as it is. SQNR is of the first output (dB), "cosine" of a text's.
Times are medians of interleaved rounds, with either library loaded first; nothing judges them.
"""
from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import onnx_files
import speed
import survey
import tables


def compile_for(octet, options, samples, lengths, path):
    """Saves the library for one length or several."""
    shapes = {name: [(1, length) for length in lengths] if len(lengths) > 1 else (1, *lengths) for name in samples}
    pad = {name: 0 for name in samples} if len(lengths) > 1 else None
    octet.compile(options.file, calibration_data=samples, input_shapes=shapes, pad=pad).save(path)


def read_texts(path):
    """The feeds of single texts, without what fills them up."""
    with np.load(path) as arrays:
        arrays = dict(arrays)
    sizes = arrays["attention_mask"].sum((1, 2))
    return [{name: array[i, :, :size] for name, array in arrays.items()} for i, size in enumerate(sizes)]


def judge(octet, options, path, texts):
    """Signal to noise of all texts, mean and least cosine."""
    session, network = onnx_files.make_session(options.file), octet.load(path)
    expected = np.stack([session.run(None, feed)[0] for feed in texts])
    got = np.stack([next(iter(network.run(feed).values())) for feed in texts])
    rows, others = got.reshape(len(texts), -1), expected.reshape(len(texts), -1)
    cosines = (rows * others).sum(1) / np.linalg.norm(rows, axis=1) / np.linalg.norm(others, axis=1)
    return survey.get_sqnr([got], [expected]), cosines.mean(), cosines.min()


def time_both(octet, alone, together, feed, threads):
    """Times of the library for one length, and how many times as fast the one for all is."""
    ratios = []
    for paths in ({"alone": alone, "together": together}, {"together": together, "alone": alone}):
        times = speed.measure({name: octet.load(path, threads=threads).bind(feed) for name, path in paths.items()}, 15, 0.05)
        ratios.append(times["alone"] / times["together"])
    return times["alone"], float(np.sqrt(ratios[0] * ratios[1]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--lengths", default="16,32,64,128", help="by commas (%(default)s)")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    octet, lengths = tables.import_octet(), sorted(map(int, options.lengths.split(",")))
    with np.load(options.file.with_suffix(".npz")) as arrays:
        samples = dict(arrays)
    texts = [feed for feed in read_texts(options.file.with_suffix(".eval.npz")) if feed["attention_mask"].size <= lengths[-1]]
    with tempfile.TemporaryDirectory() as folder:
        together = Path(folder) / "together.so"
        compile_for(octet, options, samples, lengths, together)
        sqnr, mean, least = judge(octet, options, together, texts)
        print(f"{tables.get_cpu_name()} · {options.threads} thread(s)")
        print(f"{len(texts)} texts: {sqnr:.1f} dB, cosine {mean:.5f}, least {least:.5f}")
        table = tables.Table(length=8, alone_us=10, ratio=7, bytes=7)
        for length in lengths:
            alone, feed = Path(folder) / f"{length}.so", {name: np.resize(array[0], (1, length)) for name, array in samples.items()}
            # Only times: any tokens do.
            cut = {name: np.resize(array, (len(array), 1, length)) for name, array in samples.items()}
            compile_for(octet, options, cut, [length], alone)
            seconds, ratio = time_both(octet, alone, together, feed, options.threads)
            table.row(length, tables.format_microseconds(seconds), f"{ratio:.2f}", f"{together.stat().st_size / alone.stat().st_size:.3f}")


if __name__ == "__main__":
    main()
