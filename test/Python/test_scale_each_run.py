# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Samples that differ much in size, as sound does, against the same backend with one scale for all of them [N.vary]."""
import numpy as np
import pytest

octet = pytest.importorskip("octet")
pytest.importorskip("onnx")
from decibels import get_decibels  # noqa: E402
from onnx_networks import make_network  # noqa: E402

pytestmark = pytest.mark.usefixtures("compiler")


def run_all(network, samples, **options):
    """The output for each of the samples, and the report."""
    model = octet.compile(network, **options)
    return np.concatenate([model(sample)["y"] for sample in samples]), model.report


@pytest.mark.parametrize("sizes, least, most", [([1, 0.02, 0.02, 0.02], 12, 60), ([1, 0.5, 0.5, 0.5], 0, 0)])
@pytest.mark.parametrize("front", ["p = Identity(x)", "p = Pad(x, pads)"])
def test_quiet_samples_take_a_scale_of_their_own(front, sizes, least, most, source, tmp_path):
    """A loud sample among quiet ones leaves these all of their steps; samples of about one size share a scale."""
    random = np.random.default_rng(3)
    network = make_network(f"{front}\nc = Conv(p, u)\na = Relu(c)\ny = Conv(a, v)", inputs={"x": [1, 1, 16, 16]},
                           constants={"u": (8, 1, 3, 3), "v": (4, 8, 1, 1), "pads": np.array([0, 0, 1, 1, 0, 0, 1, 1])}).SerializeToString()
    draw = lambda sizes: np.stack([random.normal(size=(1, 1, 16, 16)) * size for size in sizes]).astype(np.float32)  # noqa: E731
    data, samples = {"x": draw(sizes * 4)}, list(draw(sizes[1:] * 4))
    text = (source / "lib" / "Backend" / "backends" / "cpu.mlir").read_text()
    assert text.count("octet-scale-each-run,") == 1
    (tmp_path / "off.mlir").write_text(text.replace("octet-scale-each-run,", ""))
    off = {"backend": str(tmp_path / "off.mlir"), "qconfig_mapping": "cpu_default_mapping"}
    expected, _ = run_all(network, samples)
    (on, report), (without, _) = (run_all(network, samples, calibration_data=data, **options) for options in ({}, off))
    gain = get_decibels(expected, on) - get_decibels(expected, without)
    assert least <= gain <= most, gain
    codes = [row.code for row in report if row.operator.startswith("nn.conv")]
    assert codes == (["OCT218", "OCT218"] if least else ["", "OCT102"])
    assert report.int8_share == 1
    # A file of ONNX has no such scales.
    quantized = octet.quantize(network, calibration_data=data)
    static, _ = run_all(network, samples, calibration_data=data, **off) if least else (on, None)
    model = quantized.compile()
    np.testing.assert_array_equal(np.concatenate([model(sample)["y"] for sample in samples]), static)
    quantized.save_onnx(tmp_path / "net.onnx")


def test_products_of_activations_take_a_scale_of_each_row(write_backend):
    """Of a gated unit; the product, which no integers are read of, computes floats."""
    random = np.random.default_rng(4)
    network = make_network("g = MatMul(x, u)\ns = Sigmoid(g)\na = Mul(g, s)\nv = MatMul(x, w)\nm = Mul(a, v)\ny = MatMul(m, d)", inputs={"x": [16, 32]},
                           constants={"u": (32, 64), "w": (32, 64), "d": (64, 32)}).SerializeToString()
    data = random.normal(size=(24, 16, 32)).astype(np.float32)
    samples, static = list(data[16:]), write_backend("octet-scale-each-run,", "")
    expected, _ = run_all(network, samples)
    (on, report), (off, _) = (run_all(network, samples, calibration_data={"x": data[:16]}, **options) for options in ({}, {"backend": static}))
    assert get_decibels(expected, on) > get_decibels(expected, off) + 2
    assert {row.name: row.code for row in report}["y"] == "OCT218" and {row.name: row.verdict for row in report}["m"] == "float"
    assert report.int8_share == 1


def test_files_of_onnx_have_static_scales(tool, tmp_path):
    random = np.random.default_rng(3)
    network = make_network("y = Conv(x, w)", inputs={"x": [1, 1, 8, 8]}, constants={"w": (4, 1, 3, 3)})
    (tmp_path / "net.onnx").write_bytes(network.SerializeToString())
    sizes = np.tile([1, 0.02, 0.02, 0.02], 4).astype(np.float32)
    np.savez(tmp_path / "x.npz", x=random.normal(size=(16, 1, 1, 8, 8)).astype(np.float32) * sizes[:, None, None, None, None])
    quantize = ["octet-compile", tmp_path / "net.onnx", f"--calibration-data={tmp_path / 'x.npz'}"]
    export = ["octet-compile", tmp_path / "net.mlirbc", "--emit=onnx", "-o", tmp_path / "out.onnx"]
    tool(*quantize, "--emit=onnx", "-o", tmp_path / "at_once.onnx")
    tool(*quantize, "--stop-after=convert", "-o", tmp_path / "net.mlirbc")
    done = tool(*export, check=False)
    assert done.returncode and "or quantize with --static-scales where the recipe chose so" in done.stderr
    tool(*quantize, "--static-scales", "--stop-after=convert", "-o", tmp_path / "net.mlirbc")
    tool(*export)
    assert (tmp_path / "out.onnx").read_bytes() == (tmp_path / "at_once.onnx").read_bytes()
