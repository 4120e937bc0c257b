# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""octet-compile on files that are quantized already: options, reports, stages."""

import subprocess

import numpy as np
import pytest

octet = pytest.importorskip("octet")
onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from onnx_networks import make_network  # noqa: E402
from quantized_networks import A, IMAGE, INT, QAT, SCALES, WU, integers, make, make_feed, open_onnxruntime  # noqa: E402

pytestmark = pytest.mark.usefixtures("compiler")


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("quantized") / "net.onnx"
    constants = dict(s=np.float32(0.03), z=np.int8(0), low=np.int8(-127), high=np.int8(127), w=(8, 3, 3, 3), b=(8,), ws=SCALES,
                     wz=np.zeros(8, np.int8), s2=np.float32(0.1), z2=np.uint8(0), zero=np.uint8(0), fifteen=np.uint8(15))
    path.write_bytes(make(QAT, constants=constants).SerializeToString())
    return path


def compile_file(compiler, file, *options):
    done = subprocess.run([compiler, file, "-o", file.with_suffix(".out"), *options], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def test_no_samples_are_needed(compiler, file):
    code, text = compile_file(compiler, file)
    assert code == 0 and "as in the file · 1 conv, 1 relu → int8" in text


@pytest.mark.parametrize("option", ["--save-statistics=x", "--qconfig-mapping=x"])
def test_options_without_effect(compiler, file, option):
    code, text = compile_file(compiler, file, option)
    assert code == 1 and f"{option.split('=')[0]} has no effect with a network that is quantized in its file; omit it" in text


def test_float_code_of_a_quantized_file(compiler, file):
    """The reference model: what the file means, computed in float."""
    assert compile_file(compiler, file, "--float")[0] == 0
    model = onnx.load(file)
    session, compiled = open_onnxruntime(model), octet.load(file.with_suffix(".out"))
    feed = make_feed(session, 1)
    np.testing.assert_array_equal(compiled.run(feed)["y"], session.run(None, feed)[0])
    assert compiled.report.data["precision"] == "float"


def test_inputs_and_outputs_in_integers(compiler, file):
    """--quantized-io uses the scales of the file."""
    assert compile_file(compiler, file, "--quantized-io")[0] == 0
    compiled = octet.load(file.with_suffix(".out"))
    assert [(value.dtype, value.scale, value.zero_point) for value in [*compiled.inputs, *compiled.outputs]] == [
        (np.int8, np.float32(0.03), 0), (np.uint8, np.float32(0.1), 0)]


def test_strict(compiler, tmp_path):
    """Weights of 9 bits in several groups have no kernel: a warning, or an error."""
    model = make("y = QLinearConv<group=4>(x, xs, xz, w, ws, wz, ys, yz)", inputs=IMAGE, types=INT,
                 constants={**A, **WU, "w": integers((8, 1, 3, 3), 0, 256, np.uint8)})
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    message = "stays float [OCT305]: the filter is not a constant of symmetric 8-bit signed values; quantize the weights symmetrically"
    code, text = compile_file(compiler, tmp_path / "net.onnx")
    assert code == 0 and "warning: " in text and message in text
    (row,) = octet.load(tmp_path / "net.out").report
    assert (row.verdict, row.code) == ("float", "OCT305")
    code, text = compile_file(compiler, tmp_path / "net.onnx", "--strict")
    assert code == 1 and "error: " in text and message in text


def test_operators_that_stay_float_for_one_reason_are_told_together(compiler, tmp_path):
    model = make("e = Exp(x)\ns = Sin(e)\nt = Exp(s)\nq = QuantizeLinear(t, xs, xz)\ny = DequantizeLinear(q, xs, xz)\nz = Exp(y)\nw = Sin(z)\nv = Exp(w)",
                 constants=A, inputs=IMAGE, outputs=("v",))
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    code, text = compile_file(compiler, tmp_path / "net.onnx")
    assert code == 0, text
    assert " · 2 exp, 1 sin stay float [OCT102: no quantized operator reads the result] · 1 exp, 1 sin stay float [OCT111: the file has it in float] · exp stays float [OCT112" in text


def test_reasons_that_differ_in_names_are_told_together(compiler, tmp_path):
    """A sine between a product and a quotient, once and twice."""
    def tell(nodes, outputs):
        model = make_network(nodes, inputs={"x": [4, 8]}, constants=dict(w=(8, 8)), outputs=outputs)
        (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
        np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(2, 4, 8)).astype(np.float32))
        code, text = compile_file(compiler, tmp_path / "net.onnx", f"--calibration-data={tmp_path / 'x.npy'}")
        assert code == 0, text
        return text.replace('"', "'")

    one, two = "m = MatMul(x, w)\na = Sin(m)\nu = Div(a, x)", "n = MatMul(u, w)\nb = Sin(n)\nv = Div(b, x)"
    nearest = "OCT116: the nearest fold @linear_division does not match: it stands between"
    assert f" · sin stays float [{nearest} nn.linear 'm' and nn.div 'u'," in tell(one, ("u",))
    assert f" · 2 sin stay float [{nearest} nn.linear and nn.div," in tell(f"{one}\n{two}", ("v",))


def test_parts_without_an_integer_form_are_float_in_the_report(tmp_path):
    """A sum whose result nothing quantizes, and a mean that has no kernel, between quantized values."""
    model = make("q = QuantizeLinear(x, xs, xz)\nd = DequantizeLinear(q, xs, xz)\nm = ReduceMean<axes=[1]>(d)\n"
                 "p = QuantizeLinear(m, xs, xz)\ne = DequantizeLinear(p, xs, xz)\ny = Add(d, e)", constants=A, inputs=IMAGE)
    with pytest.warns(octet.CompileWarning, match=r"stays float \[OCT104\]: no integer form"):
        compiled = octet.compile(model.SerializeToString())
    assert [(row.name, row.verdict, row.code) for row in compiled.report] == [("m", "float", "OCT104"), ("y", "float", "OCT102")]


def test_going_on_from_every_stage(compiler, file):
    """The library is the same through a stop."""
    direct = file.with_suffix(".out")
    assert compile_file(compiler, file)[0] == 0
    wanted = direct.read_bytes()
    for stage in ("import", "fuse", "prepare", "calibrate", "convert", "lower"):
        stopped = file.with_suffix(f".{stage}.mlirbc")
        assert subprocess.run([compiler, file, "-o", stopped, f"--stop-after={stage}"], capture_output=True).returncode == 0
        done = subprocess.run([compiler, stopped, "-o", direct, "--name=net"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert list(octet.load(direct).report) == list(octet.Model(wanted, "net.so").report)
        feed = make_feed(open_onnxruntime(onnx.load(file)), 1)
        np.testing.assert_array_equal(octet.load(direct).run(feed)["y"], octet.Model(wanted, "net.so").run(feed)["y"])


def test_float_networks_stay_float_without_samples(compiler, tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(make_network("y = Relu(x)").SerializeToString())
    assert compile_file(compiler, path, "--as-in-file")[0] == 0
    assert octet.load(path.with_suffix(".out")).report.data["precision"] == "float"
    code, text = compile_file(compiler, path, "--as-in-file", "--strict")
    assert code == 1 and "--strict has no effect with --float" in text
