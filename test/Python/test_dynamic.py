# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The backend cpu_dynamic: from an ONNX file to code without samples."""
import json
import pathlib
import sys

import numpy as np
import pytest

octet = pytest.importorskip("octet")
onnx = pytest.importorskip("onnx")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Reference"))
import octet_reference as reference  # noqa: E402
import onnx_networks  # noqa: E402
from decibels import get_decibels  # noqa: E402

pytestmark = pytest.mark.usefixtures("compiler")
f32 = np.float32


def quantize_weights(weights):
    """(integers, scale of each output) as the default mapping has them."""
    scales = np.maximum(np.abs(weights).max(axis=1).astype(f32) / f32(127), f32(2.0**-60))
    return reference.quantize_weight(weights, reference.QParams(scales, 0, -127, 127, 0)), scales


def product(x, weights, bias):
    return reference.linear_dynamic(x, *quantize_weights(weights), bias, per_row=True)


def get_verdicts(model):
    return {(row["operator"], row["verdict"], row.get("code")) for row in model.report.data["operators"]}


def test_linear_layers_need_no_samples():
    rng = np.random.default_rng(0)
    w, v, b = (rng.normal(size=size).astype(f32) for size in ((24, 40), (40, 8), 40))
    model = octet.compile(
        onnx_networks.make_network("h = MatMul(x, w)\na = Add(h, b)\nr = Relu(a)\ny = MatMul(r, v)", inputs={"x": [5, 24]},
                                   constants={"w": w, "v": v, "b": b}).SerializeToString(), backend="cpu_dynamic")
    assert get_verdicts(model) == {("nn.linear+nn.relu", "int8 to float", "OCT218"), ("nn.linear", "int8 to float", "OCT218")}
    x = rng.normal(size=(5, 24)).astype(f32) * np.array([1e-3, 1, 10, 100, 0], f32)[:, None]
    hidden = reference.relu(product(x, np.ascontiguousarray(w.T), b))
    np.testing.assert_array_equal(model(x)["y"], product(hidden, np.ascontiguousarray(v.T), None))
    exact = np.maximum(x.astype(np.float64) @ w + b, 0) @ v
    assert 0 < np.abs(model(x)["y"] - exact).max() < 0.02 * np.abs(exact).max()


def test_a_small_layer_that_reads_the_inputs_stays_float(source, tmp_path):
    """Columns of an input may differ much, as the first coefficients of a spectrum do, which one scale for a row leaves few steps."""
    rng = np.random.default_rng(4)
    sizes = np.geomspace(1, 1000, 8).astype(f32)
    u, w, v = (rng.normal(size=size).astype(f32) for size in ((8, 64), (64, 512), (512, 64)))
    network = onnx_networks.make_network("h = MatMul(x, u)\na = Relu(h)\nm = MatMul(a, w)\nb = Relu(m)\ny = MatMul(b, v)", inputs={"x": [5, 8]},
                                         constants={"u": u / sizes[:, None], "w": w, "v": v}).SerializeToString()
    text = (source / "lib" / "Backend" / "backends" / "cpu_dynamic.mlir").read_text()
    assert text.count("  octet.float_ends ") == 1
    (tmp_path / "off.mlir").write_text(text.replace("  octet.float_ends ", "  // "))
    off = octet.compile(network, backend=str(tmp_path / "off.mlir"), qconfig_mapping="cpu_dynamic_default_mapping")
    on, exact = octet.compile(network, backend="cpu_dynamic"), octet.compile(network)
    assert [row["code"] for row in on.report.data["operators"] if row["macs"]] == ["OCT113", "OCT218", "OCT218"]
    x = rng.normal(size=(5, 8)).astype(f32) * sizes
    assert get_decibels(exact(x)["y"], on(x)["y"]) > get_decibels(exact(x)["y"], off(x)["y"]) + 10


def test_convolutions_need_no_samples():
    rng = np.random.default_rng(2)
    k, b = rng.normal(size=(4, 3, 3, 3)).astype(f32), rng.normal(size=4).astype(f32)
    network = onnx_networks.make_network("c = Conv<pads=[1,1,1,1]>(x, k, b)\ny = Relu(c)", inputs={"x": [2, 3, 9, 7]}, constants={"k": k, "b": b})
    model = octet.compile(network.SerializeToString(), backend="cpu_dynamic")
    assert get_verdicts(model) == {("nn.conv+nn.relu", "int8 to float", "OCT218")}
    x = rng.normal(size=(2, 3, 9, 7)).astype(f32)
    integers, scales = quantize_weights(k.reshape(4, -1))
    wanted = reference.relu(reference.conv_dynamic(x, integers.reshape(k.shape), scales, b, reference.Window((3, 3), pads=(1, 1, 1, 1))))
    np.testing.assert_array_equal(model(x)["y"], wanted)


def test_other_operators_stay_float_and_are_no_errors():
    network = onnx_networks.make_network("c = Conv<group=3>(x, k)\ny = Softmax(c)", constants={"k": (3, 1, 3, 3)}).SerializeToString()
    model = octet.compile(network, backend="cpu_dynamic", strict=True)
    assert {verdict for _, verdict, _ in get_verdicts(model)} == {"float"}


def test_samples_are_still_needed_by_static_observers(tool, tmp_path):
    (tmp_path / "net.onnx").write_bytes(onnx_networks.make_network("y = MatMul(x, w)", inputs={"x": [2, 8]}, constants={"w": (8, 4)}).SerializeToString())
    done = tool("octet-compile", tmp_path / "net.onnx", "-o", tmp_path / "net.so", check=False)
    assert done.returncode and "int8 code needs samples" in done.stderr
    tool("octet-compile", tmp_path / "net.onnx", "--backend=cpu_dynamic", "-o", tmp_path / "net.so")


def test_stopped_compilations_go_on(tool, tmp_path):
    """After each stage, with the same bytes in the end."""
    (tmp_path / "net.onnx").write_bytes(onnx_networks.make_network("h = MatMul(x, w)\ny = Tanh(h)", inputs={"x": [2, 8]}, constants={"w": (8, 4)}).SerializeToString())
    tool("octet-compile", tmp_path / "net.onnx", "--backend=cpu_dynamic", "--name=net", "-o", tmp_path / "whole.so")
    for stage in ("fuse", "prepare", "calibrate", "convert", "lower"):
        tool("octet-compile", tmp_path / "net.onnx", "--backend=cpu_dynamic", f"--stop-after={stage}", "-o", tmp_path / "net.mlirbc")
        tool("octet-compile", tmp_path / "net.mlirbc", "--name=net", "-o", tmp_path / "net.so")
        assert (tmp_path / "net.so").read_bytes() == (tmp_path / "whole.so").read_bytes(), stage


def test_reference_model_has_no_onnx_form(tool, tmp_path):
    (tmp_path / "net.onnx").write_bytes(onnx_networks.make_network("y = MatMul(x, w)", inputs={"x": [2, 8]}, constants={"w": (8, 4)}).SerializeToString())
    done = tool("octet-compile", tmp_path / "net.onnx", "--backend=cpu_dynamic", "--emit=onnx", "-o", tmp_path / "out.onnx", check=False)
    assert done.returncode and not (tmp_path / "out.onnx").exists()
    assert "'octet.choose_qparams' op has no ONNX operator: its scale is chosen in each run; give the QConfig observers that are not dynamic, or quantize with --static-scales where the recipe chose so" in done.stderr


@pytest.mark.parametrize("kind, gates", [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
def test_recurrent_networks(kind, gates):
    rng, size, steps = np.random.default_rng(1), 20, 6
    w, r = (rng.uniform(-0.5, 0.5, (1, gates * size, n)).astype(f32) for n in (12, size))
    b = rng.uniform(-0.5, 0.5, (1, 2 * gates * size)).astype(f32)
    attributes = f"hidden_size = {size}" + (", linear_before_reset = 1" if kind == "GRU" else "")
    network = onnx_networks.make_network(f"y = {kind} <{attributes}> (x, w, r, b)", inputs={"x": [steps, 1, 12]},
                                         constants={"w": w, "r": r, "b": b}).SerializeToString()
    model = octet.compile(network, backend="cpu_dynamic")
    linears = [row for row in model.report.data["operators"] if "nn.linear" in row["operator"]]
    assert len(linears) >= steps and all(row["verdict"] == "int8 to float" for row in linears)
    x = rng.normal(size=(steps, 1, 12)).astype(f32)
    got, exact = model(x)["y"], octet.compile(network)(x)["y"]
    assert 0 < np.abs(got - exact).mean() < 0.02 * np.abs(exact).mean()
    options = {"linear_before_reset": True} if kind == "GRU" else {}
    wanted = getattr(reference, kind.lower())(x, w[0], r[0], b[0], product, **options)
    np.testing.assert_array_equal(got[:, 0].view(np.uint32), wanted.view(np.uint32))
