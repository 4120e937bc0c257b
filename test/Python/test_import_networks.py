# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The real networks import as they are: with the multiply-adds of the record, their idioms raised, the float results of
the recorded runs (through the export and onnxruntime), names kept and weights out of the text."""

import re
import sys

import numpy as np
import pytest

onnxruntime = pytest.importorskip("onnxruntime")

# name: (million multiply-adds, ops that must be there); of ppocr_cls without 0.77 million whose taps only meet padding
NETWORKS = {
    "mlperf_resnet8_cifar10": (12.50, {"conv": 9, "linear": 1, "add": 3, "batch_norm": 7}),
    "mnist_cntk": (0.79, {"conv": 2, "linear": 1, "add": 0, "max_pool": 2}),
    "mlperf_kws_dscnn": (2.66, {"conv": 9, "linear": 1}),
    "resnet20_cifar10": (40.55, {"conv": 19, "linear": 1, "add": 9, "slice": 4, "pad": 2}),
    "resnet56_cifar10": (125.49, {"conv": 55, "linear": 1, "add": 27, "slice": 4, "pad": 2}),
    "mobilenet_v1_025_224_imagenet": (41.03, {"conv": 28, "clip": 27, "pad": 0}),
    "mobilenet_v2_050_128_person": (18.15, {"conv": 52, "linear": 1, "add": 10, "pad": 0}),
    "mlperf_vww_mobilenetv1_025_96": (7.49, {"conv": 27, "linear": 1}),
    "mlperf_streaming_wakeword": (0.83, {"conv": 8, "linear": 1}),
    "mlperf_ad01_autoencoder": (0.26, {"linear": 10, "add": 0}),
    "super_resolution_10": (2984.87, {"conv": 4, "reshape": 2, "transpose": 1}),
    "ppocr_cls": (15.55, {"conv": 53, "linear": 1, "hard_swish": 18, "hard_sigmoid": 9, "clip": 0, "div": 0}),
    "yolox_nano": (522.55, {"conv": 113, "silu": 104, "sigmoid": 6, "mul": 0, "resize": 2}),
}


@pytest.fixture(scope="module", params=NETWORKS)
def network(request, shared_models, tool, tmp_path_factory):
    """(task, bytecode file, text, messages) of an imported network."""
    pytest.importorskip("cv2", reason="evaluate.py needs it")
    sys.path.insert(0, str(shared_models))
    import evaluate

    task = evaluate.task(request.param)
    folder = tmp_path_factory.mktemp(request.param)
    ((name, shape),) = task.shapes.items()
    flags = ["--import-onnx", str(task.onnx), f"--input-shape={name}={'x'.join(map(str, shape))}"]
    tool("octet-translate", *flags, "-o", str(folder / "net.mlirbc"))
    text = tool("octet-translate", *flags, "--mlir", "--summary")
    return task, folder / "net.mlirbc", text.stdout, text.stderr


def test_operators_and_multiply_adds(network):
    task, _, text, messages = network
    multiply_adds, operators = NETWORKS[task.name]
    assert f"· {multiply_adds:.2f} MMAC ·" in messages
    assert {name: len(re.findall(rf"= nn\.{name} ", text)) for name in operators} == operators


def test_names_are_kept_and_weights_left_out(network):
    task, _, text, _ = network
    assert re.findall(r'%arg0: \S+ {nn.name = "([^"]*)"}', text) == list(task.shapes)
    assert not re.search(r"0x[0-9A-Fa-f]{64}", text)
    assert len(re.findall(r"= nn\.", text)) == len(re.findall(r"= nn\..* loc\(#loc\d+\)", text))


def test_results_of_the_recorded_run(network, tool, tmp_path):
    task, bytecode, _, _ = network
    tool("octet-translate", "--export-onnx", str(bytecode), "-o", str(tmp_path / "net.onnx"))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    session = onnxruntime.InferenceSession(str(tmp_path / "net.onnx"), options, providers=["CPUExecutionProvider"])
    for feed, expected in task.golden():
        for have, want in zip(session.run(None, feed), expected, strict=True):
            assert have.size == want.size
            assert np.abs(have.reshape(want.shape) - want).max() <= 1e-4 * np.abs(want).max()
