# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers between residual sums read 16 bits: what that saves, which layers it concerns, and what the written file says."""
import re

import numpy as np
import octet
import onnx
import onnx_networks
import onnxruntime
import pytest
from decibels import get_decibels

f32 = np.float32
SAMPLES = {"x": np.random.default_rng(1).normal(size=(8, 64, 48)).astype(f32)}


def make_stage(name, source, width):
    """A pre-norm block, whose branch is small beside what it is added to."""
    return (f"{name}n = LayerNormalization({source}, g{width})\n{name}h = MatMul({name}n, {name}u)\n{name}r = Relu({name}h)\n"
            f"{name}o = MatMul({name}r, {name}d)\n{name} = Add({name}o, {source})")


def make_constants(rng):
    constants = {"g48": np.ones(48, f32), "g64": np.ones(64, f32), "merge": rng.normal(size=(48, 64))}
    for name, width in (("a", 48), ("b", 48), ("c", 64), ("d", 64)):
        constants |= {f"{name}u": rng.normal(size=(width, 192)), f"{name}d": rng.normal(size=(192, width)) * 2e-4}
    return {name: array.astype(f32) for name, array in constants.items()}


LINES = "\n".join([make_stage("a", "x", 48), make_stage("b", "a", 48), "m = LayerNormalization(b, g48)", "k = MatMul(m, merge)",
                   make_stage("c", "k", 64), make_stage("d", "c", 64), "y = LayerNormalization(d, g64)"])


@pytest.fixture(scope="module")
def network():
    return onnx_networks.make_network(LINES, inputs={"x": [64, 48]}, constants=make_constants(np.random.default_rng(0))).SerializeToString()


@pytest.fixture(scope="module")
def without(source, tmp_path_factory):
    """The mapping of the backend `cpu`, 8 bits everywhere."""
    text = (source / "lib" / "Backend" / "backends" / "cpu_default_mapping.mlir").read_text()
    changed = re.sub(r", trunk_activation = \S+(?=>)", "", text)
    assert changed != text
    path = tmp_path_factory.mktemp("mapping") / "without.mlir"
    path.write_text(changed)
    return str(path)


def run(model):
    return np.stack([model.run({"x": SAMPLES["x"][i]})["y"].copy() for i in range(4, 8)])


def test_what_16_bits_save(network, without):
    calibration = {"calibration_data": {"x": SAMPLES["x"][:4]}}
    exact, wide = run(octet.compile(network)), octet.compile(network, **calibration)
    narrow = octet.compile(network, **calibration, qconfig_mapping=without)
    assert [row.name for row in wide.report if "OCT126" in row.note] == ["k"]
    assert not [row.name for row in narrow.report if "OCT126" in row.note]
    decibels, others = get_decibels(exact, run(wide)), get_decibels(exact, run(narrow))
    assert decibels > 40 and decibels > others + 3, (decibels, others)


def test_written_file(network, tmp_path):
    model = octet.quantize(network, calibration_data={"x": SAMPLES["x"][:4]})
    model.save_onnx(tmp_path / "q.onnx")
    written = onnx.load(tmp_path / "q.onnx")
    wide = [node for node in written.graph.node if node.op_type == "QuantizeLinear" and node.domain == "com.microsoft"]
    assert len(wide) == 1 and {each.domain for each in written.opset_import} == {"", "com.microsoft"}
    session = onnxruntime.InferenceSession(str(tmp_path / "q.onnx"))
    got = np.stack([session.run(None, {"x": SAMPLES["x"][i]})[0] for i in range(4, 8)])
    assert get_decibels(run(model.compile()), got) > 100
    again = np.stack([octet.compile(str(tmp_path / "q.onnx")).run({"x": SAMPLES["x"][i]})["y"].copy() for i in range(4, 8)])
    assert get_decibels(got, again) > 100
