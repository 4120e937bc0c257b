#!/usr/bin/env python3
# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks quantized in each run beside onnxruntime's and PyTorch's dynamic quantization: one process, interleaved rounds.

    tools/bench/dynamic.py [--threads N] [--rounds N] [linear] [lstm]
    /tmp/exporters/bin/python tools/bench/dynamic.py --files FOLDER [NAME ...]    networks of make_networks.py, from its environment

`linear` is one layer of 1 x 768 x 3072, `lstm` two layers of 256 units over 100 steps. PyTorch takes part where it can be
imported. Ratios are the peer's time over ours.

With --files, FOLDER has what make_networks.py writes. PyTorch runs the module of the same weights, if its float results are those of
the file. "vs dyn" is the fastest dynamic peer over Octet's dynamic int8, "vs torch" the faster of PyTorch's float and dynamic int8
over Octet's static int8, which the samples calibrate. "dB" is the signal to noise of dynamic int8 on the samples, of all outputs
against onnxruntime's float. What is missing is named at the end, and the exit code is 1.
"""
from __future__ import annotations

import argparse
import functools
import sys
import tempfile
import warnings
from pathlib import Path
from typing import NamedTuple

import networks
import numpy as np
import onnx_files
import packaged_accuracy
import peers
import speed
import tables


def make_model(nodes, inputs, outputs, constants):
    from onnx import TensorProto, helper, numpy_helper

    describe = lambda shapes: [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]  # noqa: E731
    graph = helper.make_graph(nodes, "g", describe(inputs), describe(outputs),
                              [numpy_helper.from_array(array, name) for name, array in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", peers.OPSET)])
    model.ir_version = 9
    return model


def make_linear():
    """(network, input, PyTorch's module)."""
    from onnx import helper

    rng = np.random.default_rng(0)
    w, b = (rng.normal(scale=0.05, size=size).astype(np.float32) for size in ((768, 3072), 3072))
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Add", ["p", "b"], ["y"])]
    model = make_model(nodes, {"x": [1, 768]}, {"y": [1, 3072]}, {"w": w, "b": b})
    return model, rng.normal(size=(1, 768)).astype(np.float32), lambda torch: torch.nn.Linear(768, 3072)


def make_lstm(steps=100, units=256):
    from onnx import helper

    rng = np.random.default_rng(0)
    nodes, constants, last = [], {}, "x"
    for layer in range(2):
        for name, shape in (("w", (1, 4 * units, units)), ("r", (1, 4 * units, units)), ("b", (1, 8 * units))):
            constants[f"{name}{layer}"] = rng.uniform(-1, 1, shape).astype(np.float32) / np.float32(units**0.5)
        nodes += [helper.make_node("LSTM", [last, *(f"{name}{layer}" for name in "wrb")], [f"h{layer}"], hidden_size=units),
                  helper.make_node("Squeeze", [f"h{layer}", "one"], ["y" if layer else "s"])]
        last = "s"
    constants["one"] = np.array([1])
    model = make_model(nodes, {"x": [steps, 1, units]}, {"y": [steps, 1, units]}, constants)
    return model, rng.normal(size=(steps, 1, units)).astype(np.float32), lambda torch: torch.nn.LSTM(units, units, num_layers=2)


NETWORKS = {"linear": make_linear, "lstm": make_lstm}


class Runner(NamedTuple):
    """A network in one of the libraries."""

    call: object  # one call of the bound sample
    run: object  # feed -> outputs


def make_ours(octet, path, feed, threads, **how):
    model = octet.compile(path, threads=threads, **how)
    return Runner(model.bind(feed), lambda feed: list(model.run(feed).values()))


def make_onnxruntime(folder, path, x, threads):
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with peers.silence():
        quantize_dynamic(str(path), str(folder / "dynamic.onnx"), per_channel=True, weight_type=QuantType.QInt8,
                         op_types_to_quantize=["MatMul", "LSTM"])
    return peers.OnnxRuntimeRunner(folder / "dynamic.onnx", {"x": x}, threads).run


def quantize_module(module):
    """PyTorch's dynamic int8 of linear and recurrent layers."""
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that torchao has another way
        return torch.ao.quantization.quantize_dynamic(module, {torch.nn.Linear, torch.nn.LSTM, torch.nn.GRU}, dtype=torch.qint8)


def run_module(module, tensors):
    import torch

    with torch.inference_mode():
        return module(*tensors)


def make_torch(module, feed, threads):
    """A module whose arguments are the inputs of the file, in its order."""
    import torch

    torch.set_num_threads(threads)
    as_tensors = lambda feed: [torch.from_numpy(np.ascontiguousarray(array)) for array in feed.values()]  # noqa: E731

    def run(feed):
        outputs = run_module(module, as_tensors(feed))
        return [output.numpy() for output in (outputs if isinstance(outputs, tuple) else [outputs])]

    return Runner(functools.partial(run_module, module, as_tensors(feed)), run)


# ---- files of make_networks.py -------------------------------------------------------------------------------------------
FILES = ("vit_tiny", "deit_small", "swin_tiny", "convnext_tiny", "mobilevit_s", "bert_base", "distilbert", "minilm", "whisper_tiny_encoder",
         "wav2vec2_base", "segformer_b0", "conformer_block", "lstm_tagger", "gru_denoiser", "crnn")
DYNAMIC, STATIC = "octet-dyn", "octet-int8"
DYNAMIC_PEERS, TORCH = ("ort-dyn", "torch-dyn"), ("torch-f32", "torch-dyn")
COLUMNS = (DYNAMIC, STATIC, "ort-dyn", *TORCH)
LEAST, FLOAT_TOLERANCE = 1.2, 1e-3  # times as fast as the fastest dynamic peer; PyTorch's float against the file's


def load_module(name, task, threads):
    """The module that make_networks.py exports."""
    import make_networks
    import torch

    torch.manual_seed(0)
    module, *_ = make_networks.NETWORKS[name]()
    feed = task.samples(1)[0]
    error = max(map(tables.get_error, make_torch(module.eval(), feed, threads).run(feed), task.session.run(None, feed)))
    if error > FLOAT_TOLERANCE:
        raise ValueError(f"PyTorch's float is {error:.1e} off the file's: made by other versions?")
    return module


def make_runners(octet, task, threads):
    """Runners by column, and the reasons of those that could not be made."""
    feed, module = task.samples(1)[0], functools.cache(lambda: load_module(task.name, task, threads))
    makers = {
        DYNAMIC: lambda: make_ours(octet, task.onnx, feed, threads, backend="cpu_dynamic"),
        STATIC: lambda: make_ours(octet, task.onnx, feed, threads, calibration_data=networks.as_arrays(task.calib())),
        "ort-dyn": lambda: Runner(peers.make_runner("ort-dyn", task, feed, threads).run, packaged_accuracy.load_peer("ort-dyn", task)),
        "torch-f32": lambda: make_torch(module(), feed, threads),
        "torch-dyn": lambda: make_torch(quantize_module(module()), feed, threads),
    }
    runners, missing = {}, {}
    for column, make in makers.items():
        try:
            runner = make()
            runner.call()
            runners[column] = runner
        except Exception as error:  # whatever a library throws
            missing[column] = speed.get_reason(error)
    return runners, missing


def judge(times):
    """The fastest dynamic peer over Octet's dynamic int8, and PyTorch's fastest over Octet's static int8; None where a time is missing."""
    best = lambda names: min((times[name] for name in names if name in times), default=None)  # noqa: E731
    return tuple(peer / times[ours] if peer and ours in times else None for ours, peer in ((DYNAMIC, best(DYNAMIC_PEERS)), (STATIC, best(TORCH))))


def measure_file(octet, task, options):
    """Times by column, dB of dynamic int8 by column, reasons of missing columns."""
    runners, missing = make_runners(octet, task, options.threads)
    times = speed.measure({column: runner.call for column, runner in runners.items()}, options.rounds, options.seconds)
    runs = {column: runners[column].run for column in (DYNAMIC, *DYNAMIC_PEERS) if column in runners}
    counts = packaged_accuracy.count_samples(runs, task, task.calib(), packaged_accuracy.SQNR)
    return times, {column: packaged_accuracy.SQNR.get_figure(rows) for column, rows in counts.items()}, missing


def measure_files(octet, options):
    table = tables.Table(network=20, **{column: 10 for column in COLUMNS}, vs_dyn=6, vs_torch=8, octet_dB=8, ort_dB=6, torch_dB=8)
    ratios, failures = {}, []
    for name in options.networks or FILES:
        file = options.files / f"{name}.onnx"
        if not file.is_file():
            failures.append(f"{name}: no file {file}")
            continue
        times, noise, missing = measure_file(octet, onnx_files.make_task(file, {}), options)
        ratios[name] = judge(times)
        shown = [f"{ratio:.2f}" if ratio else "-" for ratio in ratios[name]]
        shown += [f"{noise[column]:.1f}" if column in noise else "-" for column in (DYNAMIC, *DYNAMIC_PEERS)]
        table.row(name, *(tables.format_microseconds(times.get(column)) for column in COLUMNS), *shown)
        failures += [f"{name}: {column}: {reason}" for column, reason in missing.items()]
    report(ratios, failures)
    return 1 if failures else 0


def report(ratios, failures):
    """Geometric means, and the networks that do not win by enough."""
    for index, kind, least in ((0, "dynamic int8 against the fastest dynamic peer", LEAST), (1, "static int8 against PyTorch's fastest", 1)):
        known = {name: row[index] for name, row in ratios.items() if row[index]}
        if known:
            slower = ", ".join(name for name, ratio in known.items() if ratio < least) or "none"
            print(f"{kind}: geometric mean {tables.geometric_mean(known.values()):.2f} over {len(known)}; below {least}: {slower}")
    for failure in failures:
        print(f"missing: {failure}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", help=f"{', '.join(NETWORKS)}; with --files names of files: {', '.join(FILES)}; by default all")
    parser.add_argument("--files", type=Path, metavar="FOLDER", help="where make_networks.py wrote its files")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.05, help="length of a round of one runner")
    options = parser.parse_args()
    if unknown := [] if options.files else sorted(set(options.networks) - set(NETWORKS)):
        parser.error(f"unknown network {', '.join(unknown)}; there are {', '.join(NETWORKS)} (others need --files)")
    octet = tables.import_octet()
    if options.files:
        print(f"{tables.get_cpu_name()} · {options.threads} thread(s) · batch 1 · median of {options.rounds} interleaved rounds · µs")
        return measure_files(octet, options)
    for name in options.networks or NETWORKS:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            model, x, make_module = NETWORKS[name]()
            (folder / "float.onnx").write_bytes(model.SerializeToString())
            runners = {"octet": make_ours(octet, folder / "float.onnx", {"x": x}, options.threads, backend="cpu_dynamic").call,
                       "onnxruntime": make_onnxruntime(folder, folder / "float.onnx", x, options.threads)}
            try:
                import torch

                runners["pytorch"] = make_torch(quantize_module(make_module(torch).eval()), {"x": x}, options.threads).call
            except ImportError:
                pass
            times = speed.measure(runners, options.rounds, options.seconds)
            cells = [f"{peer} {time * 1e6:.0f} µs ({time / times['octet']:.2f})" for peer, time in times.items()]
            print(f"{name}, {options.threads} thread(s): " + " · ".join(cells))
    return 0


if __name__ == "__main__":
    sys.exit(main())
