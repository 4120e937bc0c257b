# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that are quantized in part, completed by calibration: ranges of the file are kept, others found, numbers those of the reference model."""

import subprocess

import numpy as np
import pytest

octet = pytest.importorskip("octet")
onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from onnx import numpy_helper  # noqa: E402
from quantized_networks import SCALES, make, make_feed, open_onnxruntime  # noqa: E402

pytestmark = pytest.mark.usefixtures("compiler")

PAIR = "{0}q = QuantizeLinear({0}, {1}s, {1}z)\n{0}d = DequantizeLinear({0}q, {1}s, {1}z)\n"
WEIGHTS = "wd = DequantizeLinear<axis=0>(w, ws, wz)\n"
LAYERS = "r = Conv<pads=[1,1,1,1]>({x}, {w}, b)\na = Relu(r)\n{behind}e = Conv<pads=[1,1,1,1]>({a}, v, c)\ny = Relu(e)\n"
CONSTANTS = dict(b=(8,), v=(8, 8, 3, 3), c=(8,), xs=np.float32(0.03), xz=np.uint8(128), ys=np.float32(0.04), yz=np.uint8(0))
STORED = dict(w=np.random.default_rng(0).integers(-127, 128, (8, 3, 3, 3)).astype(np.int8), ws=SCALES * np.float32(0.1), wz=np.zeros(8, np.int8))


def make_file(inside="", pair_x=True, pair_w=True, pair_a=True, **constants):
    """Two layers; the first has the pairs that are asked for."""
    text = (PAIR.format("x", "x") if pair_x else "") + (WEIGHTS if pair_w else "")
    text += LAYERS.format(x="xd" if pair_x else "x", w="wd" if pair_w else "w", a="ad" if pair_a else "a",
                          behind=PAIR.format("a", "y") if pair_a else "")
    if inside:
        text = text.replace("a = Relu(r)", PAIR.format("r", "x") + "a = Relu(rd)")
    known = {**CONSTANTS, **(STORED if pair_w else dict(w=(8, 3, 3, 3))), **constants}
    return make(text, constants={name: value for name, value in known.items() if name in text})


def make_samples(model, count=4):
    return [make_feed(open_onnxruntime(model), 50 + seed) for seed in range(count)]


def complete(model, **options):
    samples = make_samples(model)
    return octet.compile(model.SerializeToString(), calibration_data={name: np.stack([sample[name] for sample in samples]) for name in samples[0]}, **options)


def read_reference(model, compiler, folder):
    """The reference model of the completed network, as ONNX."""
    (folder / "net.onnx").write_bytes(model.SerializeToString())
    np.savez(folder / "samples.npz", **{name: np.stack([sample[name] for sample in make_samples(model)]) for name in make_samples(model)[0]})
    subprocess.run([compiler, folder / "net.onnx", "--calibration-data", folder / "samples.npz", "--emit=onnx", "-o", folder / "reference.onnx"],
                   check=True, capture_output=True)
    return onnx.load(folder / "reference.onnx")


def read_scales(model):
    """{scale: zero point} of all quantize nodes."""
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    return [(float(constants[node.input[1]]), int(constants[node.input[2]])) for node in model.graph.node if node.op_type == "QuantizeLinear"]


FORMS = {
    "everything that the file can say": {}, "no pair at the input": dict(pair_x=False), "no pair at the weights": dict(pair_w=False),
    "no pair behind the first layer": dict(pair_a=False), "only the input": dict(pair_w=False, pair_a=False),
    "only the weights": dict(pair_x=False, pair_a=False), "a pair inside of the layer": dict(inside="r")}


@pytest.mark.parametrize("form", FORMS)
def test_every_layer_is_quantized(form, compiler, tmp_path):
    """The file's scales are kept, whatever is missing; results are the reference model's, within a step."""
    model = make_file(**FORMS[form])
    compiled = complete(model)
    assert {row.verdict for row in compiled.report} <= {"int8", "int8 to float"}
    assert len(compiled.report) == (3 if FORMS[form].get("inside") else 2)
    reference = read_reference(model, compiler, tmp_path)
    own, scales = read_scales(model), read_scales(reference)
    assert set(own) <= set(scales) and len(scales) == (3 if FORMS[form].get("inside") else 2)
    session = open_onnxruntime(reference)
    for seed in range(3):
        feed = make_feed(session, seed)
        wanted, got = session.run(None, feed)[0], compiled.run(feed)["y"]
        assert np.abs(wanted - got).max() <= 1e-2 * np.abs(wanted).max()


def test_weights_keep_their_integers(compiler, tmp_path):
    reference = read_reference(make_file(), compiler, tmp_path)
    stored = [numpy_helper.to_array(tensor) for tensor in reference.graph.initializer]
    assert any(array.dtype == np.int8 and array.shape == STORED["w"].shape and np.array_equal(array, STORED["w"]) for array in stored)


def test_without_samples_the_rest_stays_float():
    compiled = octet.compile(make_file().SerializeToString())
    assert [row.verdict for row in compiled.report] == ["int8", "int8", "float", "float"]


@pytest.mark.parametrize("zero, error", [(128, 0.01), (90, 0.02)])
def test_unsigned_weights(zero, error):
    """Distances from a zero point of 128 are signed bytes; those from 90 reach 165, and are rounded to a wider scale."""
    w = np.random.default_rng(0).integers(0, 256, (8, 3, 3, 3)).astype(np.uint8)
    w[0, 0, 0, 0] = 255
    model = make_file(w=w, wz=np.full(8, zero, np.uint8))
    compiled, feed = complete(model), make_feed(open_onnxruntime(model), 3)
    assert compiled.report[0].verdict == "int8"
    expected = open_onnxruntime(model).run(None, feed)[0]
    assert np.abs(compiled.run(feed)["y"] - expected).max() < error * np.abs(expected).max()


def test_signed_activations():
    """The CPU's integers are unsigned: the same real numbers."""
    model = make_file(xz=np.int8(-5), yz=np.int8(-128))
    compiled = complete(model)
    assert {row.verdict for row in compiled.report} <= {"int8", "int8 to float"}
    adopted = octet.compile(model.SerializeToString())
    feed = make_feed(open_onnxruntime(model), 3)
    # The second layer is float in one and rounded in the other.
    assert np.abs(compiled.run(feed)["y"] - adopted.run(feed)["y"]).max() < 0.05 * np.abs(adopted.run(feed)["y"]).max()


def test_batch_norm_in_training_form(compiler, tmp_path):
    """PyTorch's ConvBnReLU2d in evaluation: weights times k, divided by k behind the convolution."""
    rng = np.random.default_rng(1)
    k = rng.uniform(0.5, 2, 8).astype(np.float32)
    model = make("xq = QuantizeLinear(x, xs, xz)\nxd = DequantizeLinear(xq, xs, xz)\nwq = QuantizeLinear(w, ws, wz)\nwd = DequantizeLinear(wq, ws, wz)\n"
                 "p = Conv<pads=[1,1,1,1]>(xd, wd, zero)\nd = Div(p, k)\na = Add(d, b)\nn = BatchNormalization(a, g, h, m, v)\nr = Relu(n)\n"
                 "rq = QuantizeLinear(r, ys, yz)\ny = DequantizeLinear(rq, ys, yz)",
                 constants=dict(w=(8, 3, 3, 3), ws=np.float32(0.02), wz=np.int8(0), zero=np.zeros(8, np.float32), k=k.reshape(1, 8, 1, 1),
                                b=rng.normal(size=(1, 8, 1, 1)).astype(np.float32), g=k * np.sqrt(np.float32(1.00001)), h=(8,),
                                m=rng.normal(size=8).astype(np.float32), v=np.ones(8, np.float32),
                                xs=np.float32(0.03), xz=np.uint8(128), ys=np.float32(0.05), yz=np.uint8(0)))
    compiled = complete(model)
    assert [(row.operator, row.verdict) for row in compiled.report] == [("nn.conv+nn.relu", "int8")]
    session, different, total = open_onnxruntime(model), 0, 0
    for seed in range(4):
        feed = make_feed(session, seed)
        steps = np.rint((session.run(None, feed)[0] - compiled.run(feed)["y"]) / 0.05)
        different, total = different + np.count_nonzero(steps), total + steps.size
        assert np.abs(steps).max() <= 1
    # Ties: the file's sums are in f32, and its batch norm is three roundings, here one bias.
    assert different * 1000 <= total


TRAINED = """func.func @main(%x: tensor<1x4xf32> {nn.name = "x"}) -> (tensor<1x3xf32> {nn.name = "y"}) {
  %w = nn.constant dense<[[1.0, 0.5, -0.25, 0.1], [0.3, 0.2, 0.7, -0.9], [0.1, 0.2, 0.3, 0.4]]> : tensor<3x4xf32>
  %xf = octet.fake_quantize %x as !quant.uniform<u8:f32, 0.02:128> : tensor<1x4xf32>
  %wf = octet.fake_quantize %w as !quant.uniform<i8:f32, 0.01> : tensor<3x4xf32>
  %l = nn.linear %xf, %wf {octet.origin = #octet.origin<"l">} : (tensor<1x4xf32>, tensor<3x4xf32>) -> tensor<1x3xf32>
  %y = octet.fake_quantize %l as !quant.uniform<u8:f32, 0.03:100> : tensor<1x3xf32>
  return %y : tensor<1x3xf32>
}
"""


def test_trained_ir(compiler, tmp_path):
    """A network with octet.fake_quantize, adopted, completed and in float: the same numbers."""
    (tmp_path / "net.mlir").write_text(TRAINED)
    x = np.array([[0.5, -1, 1.5, 0.25]], np.float32)
    np.savez(tmp_path / "samples.npz", x=x[None])
    for options, verdicts in ([], ["int8"]), (["--calibration-data", tmp_path / "samples.npz"], ["int8"]), (["--float"], []):
        subprocess.run([compiler, tmp_path / "net.mlir", "-o", tmp_path / "net.so", *options], check=True, capture_output=True)
        compiled = octet.load(tmp_path / "net.so")
        assert [row.verdict for row in compiled.report] == verdicts
        np.testing.assert_array_equal(np.rint(compiled.run({"x": x})["y"] / np.float32(0.03)), [[-12, 26, 13]])


def test_going_on_from_every_stage(compiler, tmp_path):
    """The library is the same through a stop; samples are given until they have been shown."""
    model = make_file(pair_a=False)
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    samples = make_samples(model)
    np.savez(tmp_path / "samples.npz", **{name: np.stack([sample[name] for sample in samples]) for name in samples[0]})
    data = ["--calibration-data", tmp_path / "samples.npz"]
    run = lambda *arguments: subprocess.run([compiler, *arguments], capture_output=True, text=True)  # noqa: E731
    assert run(tmp_path / "net.onnx", *data, "-o", tmp_path / "net.so").returncode == 0
    wanted = octet.load(tmp_path / "net.so").run(samples[0])["y"]
    for stage in ("fuse", "prepare", "calibrate", "convert", "lower"):
        stopped = tmp_path / f"{stage}.mlirbc"
        assert run(tmp_path / "net.onnx", *data, "-o", stopped, f"--stop-after={stage}").returncode == 0
        done = run(stopped, "-o", tmp_path / "net.so", *(data if stage in ("fuse", "prepare") else []))
        assert done.returncode == 0, done.stderr
        np.testing.assert_array_equal(octet.load(tmp_path / "net.so").run(samples[0])["y"], wanted)
    done = run(tmp_path / "fuse.mlirbc", "-o", tmp_path / "net.so")
    assert done.returncode == 1 and "give --calibration-data" in done.stderr


def test_integers_that_come_in_are_refused(compiler, tmp_path):
    model = make("d = DequantizeLinear(x, xs, xz)\ny = Conv(d, w)", constants=dict(w=(8, 3, 3, 3), xs=np.float32(0.1), xz=np.uint8(3)),
                 types={"x": onnx.TensorProto.UINT8})
    with pytest.raises(octet.CompileError, match="reads integers that no octet.quantize makes; adopt the network as it is"):
        octet.compile(model.SerializeToString(), calibration_data={"x": np.zeros((2, *[d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]), np.uint8)})
