# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The shipped network: its files are what test/Inputs/digits/train.py makes of scikit-learn's digits."""

import importlib.util
import pathlib

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "Inputs" / "digits"

# Training again on another machine adds up matrix products in another order. Between two instruction sets, and with initial
# weights perturbed by 1e-15, the float32 weights came out identical; this leaves room for a few roundings.
WEIGHT_TOLERANCE = 1e-6


@pytest.fixture(scope="module")
def script():
    for package in ("autograd", "sklearn"):
        pytest.importorskip(package, reason=f"test/Inputs/digits/train.py needs {package}")
    spec = importlib.util.spec_from_file_location("digits_train", FOLDER / "train.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def committed():
    return onnx.load(FOLDER / "digits.onnx")


def get_weights(model):
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}


def get_structure(model):
    """Everything but the weights."""
    copy = onnx.ModelProto.FromString(model.SerializeToString())
    for tensor in copy.graph.initializer:
        tensor.raw_data = b""
    return copy.SerializeToString(deterministic=True)


def get_accuracy(model, samples, labels):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    found = [session.run(None, {"input": sample[None]})[0].argmax() for sample in samples]
    return np.mean(np.array(found) == labels)


def test_data_files_are_the_script_s(script):
    (images, _), (test_images, test_labels) = script.load_data()
    calibration, test = np.load(FOLDER / "calibration.npz"), np.load(FOLDER / "test.npz")
    assert np.array_equal(calibration["input"], images[: script.CALIBRATION])
    assert np.array_equal(test["input"], test_images) and np.array_equal(test["labels"], test_labels)


def test_network_is_small_and_accurate(committed):
    test = np.load(FOLDER / "test.npz")
    assert (FOLDER / "digits.onnx").stat().st_size < 200_000
    assert get_accuracy(committed, test["input"], test["labels"]) >= 0.97


def test_network_has_what_the_demonstration_is_for(committed):
    kinds = {node.op_type for node in committed.graph.node}
    assert {"Conv", "BatchNormalization", "Add", "MaxPool", "GlobalAveragePool", "Gemm"} <= kinds
    groups = [helper.i for node in committed.graph.node for helper in node.attribute if helper.name == "group"]
    assert max(groups) > 1


@pytest.mark.slow
def test_training_again_gives_the_committed_network(script, committed):
    (images, labels), _ = script.load_data()
    model = script.make_onnx(*script.train(images, labels, report=lambda line: None))
    assert get_structure(model) == get_structure(committed)
    again = get_weights(model)
    for name, weight in get_weights(committed).items():
        assert np.abs(weight - again[name]).max() <= WEIGHT_TOLERANCE * np.abs(weight).max(), name
