# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiling from Python, on a network of two layers."""
import json
import os
import pickle
import subprocess

import numpy as np
import pytest

octet = pytest.importorskip("octet")
onnx = pytest.importorskip("onnx")
pytestmark = pytest.mark.usefixtures("compiler")

RANDOM = np.random.default_rng(7)
SAMPLES = RANDOM.normal(size=(20, 1, 3, 8, 8)).astype(np.float32)
W = (RANDOM.normal(size=(8, 3, 3, 3)) * 0.2).astype(np.float32)
B = RANDOM.normal(size=8).astype(np.float32)


def make_network(batch=1, operator="Relu"):
    """Convolution and activation, as the bytes of an ONNX file."""
    from onnx import TensorProto, helper, numpy_helper

    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w", "b"], ["c"], name="conv", pads=[1, 1, 1, 1]),
         helper.make_node(operator, ["c"], ["y"], name="activation")],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, 8, 8, 8])],
        [numpy_helper.from_array(W, "w"), numpy_helper.from_array(B, "b")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]).SerializeToString()


def convolve(x):
    """The network in float64."""
    padded = np.pad(x[0].astype(np.float64), ((0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2))
    return np.maximum(np.einsum("chwij,ocij->ohw", windows, W) + B[:, None, None], 0)[None]


@pytest.fixture(scope="module")
def int8(compiler):
    return octet.compile(make_network(), calibration_data={"x": SAMPLES})


def test_float_network(tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(make_network())
    model = octet.compile(path)
    assert [(tensor.name, tensor.shape) for tensor in model.inputs] == [("x", (1, 3, 8, 8))]
    np.testing.assert_allclose(model(SAMPLES[0])["y"], convolve(SAMPLES[0]), rtol=1e-5, atol=1e-5)


def test_int8_network(int8):
    expected = convolve(SAMPLES[3])
    got = int8(SAMPLES[3])["y"]
    assert 0 < np.abs(got - expected).max() < 0.02 * expected.max()


def test_network_of_which_nothing_is_quantized():
    """Its reference model is its float network; it says so itself, no operator does."""
    from onnx import TensorProto, helper

    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Exp", ["x"], ["y"], name="exp")], "net", [x], [y])
    network = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]).SerializeToString()
    model = octet.quantize(network, calibration_data={"x": SAMPLES[0, 0, 0, :, :4].reshape(8, 1, 4)}).compile()
    np.testing.assert_allclose(model(SAMPLES[0, 0, 0, :1, :4])["y"], np.exp(SAMPLES[0, 0, 0, :1, :4]), rtol=1e-6)


@pytest.mark.parametrize("inputs", [{}, {"x": [2]}])
@pytest.mark.parametrize("operator, expected", [("Identity", [[1, -2, 3]]), ("Relu", [[1, 0, 3]])])
def test_network_that_reads_no_input_gives_its_constants(tool, tmp_path, inputs, operator, expected):
    from onnx import TensorProto, helper

    graph = helper.make_graph(
        [helper.make_node(operator, ["c"], ["y"])], "net",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 3])],
        [helper.make_tensor("c", TensorProto.FLOAT, [1, 3], [1, -2, 3])])
    model = octet.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]).SerializeToString())
    feed, output = {name: np.zeros(shape, np.float32) for name, shape in inputs.items()}, np.full((1, 3), 77, np.float32)
    np.testing.assert_array_equal(model.run(feed)["y"], expected)
    np.testing.assert_array_equal(model.bind(feed, [output])()["y"], expected)
    model.save(tmp_path / "net.so")
    if inputs:
        done = tool("octet-run", tmp_path / "net.so", f"--output={tmp_path / 'y.npz'}", check=False)
        assert done.returncode == 1 and "--expect and --output need --input" in done.stderr
    else:
        tool("octet-run", tmp_path / "net.so", f"--output={tmp_path / 'y.npz'}")
        np.testing.assert_array_equal(np.load(tmp_path / "y.npz")["y"], expected)


def test_constant_vector_as_operand():
    """Import writes it as a reshaped constant, which has an address of its own."""
    from onnx_networks import make_network as parse_network

    vector, rows = np.arange(4, dtype=np.float32), SAMPLES[0, 0, 0, :, :4]
    network = parse_network("y = MatMul(x, v)", inputs={"x": [1, 4]}, constants={"v": vector}).SerializeToString()
    np.testing.assert_allclose(octet.compile(network)(rows[:1])["y"], rows[:1] @ vector, rtol=1e-6)


def test_values_too_small_for_their_scale_are_warned_of_once(tmp_path):
    """Biases are corrected, for which a copy of the network is converted first. The least scale is PyTorch's."""
    from onnx_networks import make_network as parse_network

    weights = RANDOM.normal(size=(4, 4)).astype(np.float32)
    (tmp_path / "mapping.mlir").write_text(
        "octet.qconfig_mapping @mine {\n  octet.global #octet.qconfig<activation = #octet.mean_squared_error<dtype = ui8>, "
        "weight = #octet.per_channel_min_max<dtype = si8, scheme = symmetric, range = [-127, 127], axis = 0>>\n}\n")
    network = parse_network("a = MatMul(x, w)\ny = MatMul(a, v)", inputs={"x": [1, 4]}, constants={"w": 1e-12 * weights, "v": weights})
    with pytest.warns(octet.CompileWarning, match="observer's least scale") as record:
        octet.compile(network.SerializeToString(), calibration_data={"x": SAMPLES[0, 0, 0, :, :4].reshape(8, 1, 4)},
                      qconfig_mapping=str(tmp_path / "mapping.mlir"))
    assert sum(str(warning.message).count("least scale") for warning in record) == 1


def test_accumulator_that_may_overflow_stays_float():
    """140 000 products of 128 and 127 do not fit into int32; only the lowered program shows it, and the report follows."""
    from onnx import TensorProto, helper, numpy_helper

    size = 140000
    x, y = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, size]), helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2])
    weights = numpy_helper.from_array(np.ones((size, 2), np.float32), "w")
    graph = helper.make_graph([helper.make_node("Gemm", ["x", "w"], ["y"], name="fc")], "net", [x], [y], [weights])
    network = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]).SerializeToString()
    samples = {"x": RANDOM.normal(size=(3, 1, size)).astype(np.float32)}
    with pytest.warns(octet.CompileWarning, match=r"\"fc\".*stays float \[OCT307\]") as record:
        [row] = octet.compile(network, calibration_data=samples).report.refused
    assert record[0].filename == __file__
    assert (row.name, row.verdict, row.code) == ("fc", "float", "OCT307")
    quantized = octet.quantize(network, calibration_data=samples)
    with pytest.warns(octet.CompileWarning, match="OCT307"):
        assert list(quantized.compile().report.refused) == [row]
    with pytest.raises(octet.CompileError, match=r"\"fc\".*stays float \[OCT307\]: the 32-bit accumulator may overflow; give"):
        octet.compile(network, calibration_data=samples, strict=True)


def test_report_says_int8_of_what_an_epilogue_computes():
    """No pattern takes a scale behind an activation; octet-lower finds its place, and the report follows."""
    from onnx_networks import make_network as parse_network

    network = parse_network("a = Conv(x, w)\nb = Relu(a)\nc = Mul(b, k)\ny = Conv(c, w)", constants={"w": (3, 3, 1, 1), "k": np.float32(0.5)}).SerializeToString()
    report = octet.compile(network, calibration_data={"x": np.ones((1, 1, 3, 8, 8), np.float32)}).report
    assert [row.verdict for row in report] == ["int8", "int8", "int8 to float"]
    assert list(report.refused) == []


def test_report_names_the_layers(int8):
    assert any(row.name == "conv" and row.verdict.startswith("int8") for row in int8.report), str(int8.report)
    assert int8.report.int8_share == 1


def test_report_is_that_of_the_compiler(compiler, tmp_path):
    (tmp_path / "net.onnx").write_bytes(make_network(operator="Exp"))
    np.savez(tmp_path / "samples.npz", x=SAMPLES)
    subprocess.run([compiler, "net.onnx", "--calibration-data=samples.npz", "--report=report.json", "-o", "net.so"],
                   cwd=tmp_path, check=True)
    expected = json.loads((tmp_path / "report.json").read_text())
    assert len(expected["operators"]) == 2
    assert [row.pop("page", None) for row in expected["operators"]] == [  # libraries have no pages
        "docs/reasons.md#oct102-no-quantized-operator-reads-the-result", "docs/reasons.md#oct104-no-integer-form"]
    assert octet.load(tmp_path / "net.so").report.data == expected
    # The reference model carries what was said of it: going on from there gives the same library.
    quantized = octet.quantize(tmp_path / "net.onnx", calibration_data={"x": SAMPLES}).compile()
    assert pickle.loads(pickle.dumps(quantized)).report.data == expected
    quantized.save(tmp_path / "again.so")
    assert (tmp_path / "again.so").read_bytes() == (tmp_path / "net.so").read_bytes()


def test_quantized_inputs_and_outputs(int8):
    levels = ["avx2", "sse2", "reference"]
    model = octet.compile(make_network(), calibration_data={"x": SAMPLES}, cpu_level=levels, quantized_io=True)
    [x], [y] = model.inputs, model.outputs
    assert (x.dtype, y.dtype, x.shape) == (np.uint8, np.uint8, int8.inputs[0].shape)
    bytes_in = np.clip(np.rint(SAMPLES[0] / np.float32(x.scale)) + x.zero_point, 0, 255).astype(np.uint8)
    bytes_out = model(bytes_in)["y"]
    real = (bytes_out.astype(np.float32) - y.zero_point) * y.scale
    assert np.abs(real - int8(SAMPLES[0])["y"]).max() <= 0.5001 * y.scale
    again = octet.quantize(make_network(), calibration_data={"x": SAMPLES}, quantized_io=True).compile(cpu_level=levels)
    np.testing.assert_array_equal(again(bytes_in)["y"], bytes_out)


def test_output_that_is_float_anyway_is_named():
    with pytest.warns(octet.CompileWarning, match='"activation".*this output stays f32: it is not computed in bytes with one scale'):
        model = octet.compile(make_network(operator="Exp"), calibration_data={"x": SAMPLES}, quantized_io=True)
    assert (model.inputs[0].dtype, model.outputs[0].dtype) == (np.uint8, np.float32)


def test_samples_may_come_one_by_one(int8, tmp_path):
    streamed = octet.compile(make_network(), calibration_data=({"x": sample} for sample in SAMPLES))
    for model, path in ((int8, "a.so"), (streamed, "b.so")):
        model.save(tmp_path / path)
    assert (tmp_path / "a.so").read_bytes() == (tmp_path / "b.so").read_bytes()


def test_level_and_threads(int8):
    model = octet.compile(make_network(), calibration_data={"x": SAMPLES}, cpu_level="sse2", threads=2)
    assert (model.cpu_levels, model.cpu_level, model.threads) == (["sse2"], "sse2", 2)
    np.testing.assert_array_equal(model(SAMPLES[0])["y"], int8(SAMPLES[0])["y"])


def test_levels_are_there_once_and_the_best_first():
    model = octet.compile(make_network(), cpu_level=["reference", "sse2", "reference"])
    assert (model.cpu_levels, model.cpu_level) == (["sse2", "reference"], "sse2")


def test_open_shapes_are_fixed_by_name():
    model = octet.compile(make_network("N"), input_shapes={"x": (2, 3, 8, 8)})
    assert model.inputs[0].shape == (2, 3, 8, 8)
    assert octet.compile(make_network("N"), input_shapes={"x": np.array([2, 3, 8, 8])}).inputs[0].shape == (2, 3, 8, 8)
    with pytest.raises(octet.CompileError, match="input-shape"):
        octet.compile(make_network("N"))


@pytest.mark.parametrize("shape", [(-1, 3, 8, 8), (1, -1), (), (1.5, 3), 5, "1x3"])
def test_shapes_must_be_positive(shape):
    with pytest.raises(octet.InputError, match="input_shapes: 'x': expected positive integers"):
        octet.compile(make_network(), input_shapes={"x": shape})


@pytest.mark.parametrize("data, message", [
    ({"z": SAMPLES}, "expected an array 'x' for the network's input, but got 'z'; name the arrays as the network's inputs"),
    ({"x": SAMPLES, "z": SAMPLES}, "the network has no input 'z'; omit that array"),
    ({"x": SAMPLES[:, :, :, :7]}, "'x': expected shape [1, 3, 8, 8], with or without a leading axis of samples, "
     "but got [20, 1, 3, 7, 8]; give every sample the shape of the input"),
    ({"x": SAMPLES.astype(np.float64)}, "'x': expected float32, but got float64; convert the array with .astype(numpy.float32)"),
    ([{"z": SAMPLES[0]}], "sample 0: expected an array 'x' for the network's input, but got 'z'; name the arrays as the network's inputs"),
    ([{"x": x} for x in SAMPLES[..., :7]],
     "sample 0, 'x': expected shape [1, 3, 8, 8], but got [1, 3, 8, 7]; give every sample the shape of the input"),
])
def test_samples_must_fit_the_network(data, message):
    with pytest.raises(octet.InputError) as refusal:
        octet.compile(make_network(), calibration_data=data)
    assert str(refusal.value) == f"calibration data: {message}"


@pytest.mark.parametrize("shard", [1, 1 << 20])
def test_a_sample_that_gives_no_numbers_is_named(shard, monkeypatch):
    """By its number among the caller's samples, in whichever file it lies."""
    monkeypatch.setattr("octet.calibration.SHARD_BYTES", shard)
    samples = [{"x": x.copy()} for x in SAMPLES[:5]]
    samples[3]["x"][0, :, 3:6, 3:6] = 3e38 * np.sign(W[0])
    with pytest.raises(octet.InputError, match="^calibration data: sample 3: the values of "):
        octet.compile(make_network(), calibration_data=samples)


def test_errors_do_not_name_temporary_files():
    with pytest.raises(octet.CompileError, match=r"^model.onnx: error: is not an ONNX file"):
        octet.compile(b"nonsense")


def test_errors_are_the_compilers(tmp_path):
    with pytest.raises(octet.CompileError, match="NoSuchOperator"):
        octet.compile(make_network(operator="NoSuchOperator"))
    with pytest.raises(octet.CompileError, match="error"):
        octet.compile(b"this is no network")
    with pytest.raises(octet.CompileError, match="missing.onnx: error: no such file"):
        octet.compile(tmp_path / "missing.onnx")
    with pytest.raises(octet.CompileError, match="^.: error: is a folder; give the path of an ONNX file$"):
        octet.compile(".")
    with pytest.raises(octet.CompileError, match="missing-backend"):
        octet.compile(make_network(), calibration_data={"x": SAMPLES}, backend="missing-backend.mlir")
    with pytest.raises(octet.CompileError, match="missing-mapping"):
        octet.compile(make_network(), calibration_data={"x": SAMPLES}, qconfig_mapping="missing-mapping.mlir")
    with pytest.raises(octet.CompileError, match="sse9"):
        octet.compile(make_network(), cpu_level="sse9")


@pytest.mark.parametrize("arguments, message", [
    ({"model": 3}, "model: expected a path or the bytes of an ONNX file, but got int"),
    ({"threads": 0}, "threads: expected a whole number from 1 to 256, but got 0"),
    ({"threads": 257}, "threads: expected a whole number from 1 to 256, but got 257"),
    ({"threads": 1.5}, "threads: expected a whole number from 1 to 256, but got 1.5"),
    ({"backend": None}, "backend: expected the name \"cpu\" or the path of a backend file, but got None"),
    ({"qconfig_mapping": 3}, "qconfig_mapping: expected the path of a file, but got 3"),
    ({"input_shapes": [1]}, "input_shapes: expected a dict by the names of inputs, but got list"),
    ({"input_values": {"x": "much"}}, "input_values: 'x': expected a number, but got 'much'"),
    ({"input_values": {"x": float("inf")}}, "input_values: 'x': expected a number, but got inf"),
    ({"cpu_level": 3}, "cpu_level: expected the name of a level or several names, but got 3"),
    ({"backend": "cpu\0"}, r"backend: expected text without null characters and halves of surrogate pairs, but got 'cpu\\x00'"),
    ({"qconfig_mapping": "\ud800"}, "qconfig_mapping: expected text without null characters"),
    ({"input_shapes": {"x\0": [1]}}, "input_shapes: expected text without null characters"),
    ({"cpu_level": "sse2\0"}, "cpu_level: expected text without null characters"),
    ({"cpu_level": []}, r"cpu_level: expected the name of a level or several names, but got \[\]"),
])
def test_arguments_are_checked_before_the_work(arguments, message, monkeypatch):
    monkeypatch.setenv("OCTET_COMPILE", "/bin/false")
    with pytest.raises(octet.InputError, match=message):
        octet.compile(**{"model": make_network(), **arguments})


def test_paths_need_not_be_utf8(tmp_path):
    path = tmp_path / os.fsdecode(b"net\xff.onnx")
    path.write_bytes(make_network())
    model = octet.compile(path)
    assert model.name and repr(model).encode() and str(model.report).encode()
    quantized = octet.quantize(path, calibration_data={"x": SAMPLES})
    assert quantized.mlir.encode()
    np.testing.assert_array_equal(quantized.compile().run([SAMPLES[0]])["y"], octet.compile(path, calibration_data={"x": SAMPLES}).run([SAMPLES[0]])["y"])
    for name in os.fsdecode(b"none\xff.onnx"), "none\0.onnx", "none\ud800.onnx":
        with pytest.raises(octet.CompileError, match="error: no such file") as failure:
            octet.compile(name)
        str(failure.value).encode()


def test_compiler_that_cannot_be_run(tmp_path, monkeypatch):
    fake = tmp_path / "compiler"
    fake.write_bytes(b"\x7fELF no program")
    fake.chmod(0o755)
    monkeypatch.setenv("OCTET_COMPILE", str(fake))
    with pytest.raises(octet.CompileError, match="compiler' cannot be run: Exec format error"):
        octet.compile(make_network())


def test_path_is_no_option(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-net.onnx").write_bytes(make_network())
    assert octet.compile("-net.onnx").inputs[0].name == "x"


def test_compiler_is_named_where_missing(monkeypatch, tmp_path):
    from octet import _compiler

    monkeypatch.setenv("OCTET_COMPILE", "")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(_compiler, "__file__", str(tmp_path / "site" / "octet" / "_compiler.py"))
    with pytest.raises(octet.CompileError, match="octet-compile is not installed: put it on PATH"):
        octet.compile(make_network())


def test_strict(int8):
    octet.compile(make_network(), calibration_data={"x": SAMPLES}, strict=True)


# ---- the reference model -------------------------------------------------------------------------------------------------
def test_reference_model(int8, tmp_path):
    quantized = octet.quantize(make_network(), calibration_data={"x": SAMPLES})
    assert list(quantized.report) == list(int8.report)  # a library carries the report in its short form
    assert "octet.quantize" in quantized.mlir and "octet.dequantize" in quantized.mlir
    np.testing.assert_array_equal(quantized.compile()(SAMPLES[0])["y"], int8(SAMPLES[0])["y"])
    quantized.save_onnx(tmp_path / "q.onnx")
    operators = {node.op_type for node in onnx.load(str(tmp_path / "q.onnx")).graph.node}
    assert {"QuantizeLinear", "DequantizeLinear", "Conv"} <= operators
