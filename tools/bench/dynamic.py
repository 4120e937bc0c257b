#!/usr/bin/env python3
# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks quantized in each run beside onnxruntime's and PyTorch's dynamic quantization: one process, interleaved rounds.

    tools/bench/dynamic.py [--threads N] [--rounds N] [NETWORK...]

`linear` is one layer of 1 x 768 x 3072, `lstm` two layers of 256 units over 100 steps. PyTorch takes part where it can be
imported. Ratios are the peer's time over ours.
"""
from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
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


def make_octet(octet, folder, path, x, threads):
    library = folder / "model.so"
    tool = Path(__file__).resolve().parents[2] / "build" / "bin" / "octet-compile"
    subprocess.run([tool, path, "--backend=cpu_dynamic", "-o", library], check=True, capture_output=True)
    model = octet.load(library, threads=threads)
    return model.bind({model.inputs[0].name: x})


def make_onnxruntime(folder, path, x, threads):
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with peers.silence():
        quantize_dynamic(str(path), str(folder / "dynamic.onnx"), per_channel=True, weight_type=QuantType.QInt8,
                         op_types_to_quantize=["MatMul", "LSTM"])
    return peers.OnnxRuntimeRunner(folder / "dynamic.onnx", {"x": x}, threads).run


def make_pytorch(make_module, x, threads):
    import torch

    torch.set_num_threads(threads)
    module = torch.ao.quantization.quantize_dynamic(make_module(torch).eval(), {torch.nn.Linear, torch.nn.LSTM}, dtype=torch.qint8)
    tensor = torch.from_numpy(x)

    def run():
        with torch.inference_mode():
            module(tensor)

    return run


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", choices=[*NETWORKS, []], help="by default all")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.05, help="length of a round of one runner")
    options = parser.parse_args()
    octet = tables.import_octet()
    for name in options.networks or NETWORKS:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            model, x, make_module = NETWORKS[name]()
            (folder / "float.onnx").write_bytes(model.SerializeToString())
            runners = {"octet": make_octet(octet, folder, folder / "float.onnx", x, options.threads),
                       "onnxruntime": make_onnxruntime(folder, folder / "float.onnx", x, options.threads)}
            try:
                runners["pytorch"] = make_pytorch(make_module, x, options.threads)
            except ImportError:
                pass
            times = speed.measure(runners, options.rounds, options.seconds)
            cells = [f"{peer} {time * 1e6:.0f} µs ({time / times['octet']:.2f})" for peer, time in times.items()]
            print(f"{name}, {options.threads} thread(s): " + " · ".join(cells))
    return 0


if __name__ == "__main__":
    sys.exit(main())
