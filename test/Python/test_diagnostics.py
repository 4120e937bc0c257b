# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`octet-compile --diagnostics=json`: errors and warnings of every kind as fields, which the package reads."""
import json
import subprocess

import numpy as np
import pytest

octet = pytest.importorskip("octet")
pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx_networks import make_network  # noqa: E402

CONV = make_network("c = Conv(x, w)\ny = Relu(c)", constants={"w": (4, 3, 3, 3)})
SAMPLES = np.random.default_rng(5).standard_normal((20, 1, 3, 8, 8)).astype(np.float32)


@pytest.fixture
def diagnose(compiler, tmp_path):
    def run(network, *options):
        """The exit code and the diagnostics; every line is one, and `rendered` is what people are shown."""
        path = tmp_path / "net.onnx"
        path.write_bytes(network if isinstance(network, bytes) else network.SerializeToString())
        command = [compiler, path, *options, "-o", tmp_path / "net.so"]
        result = subprocess.run([*command, "--diagnostics=json"], capture_output=True, text=True)
        text = subprocess.run([*command, "--diagnostics=text"], capture_output=True, text=True)
        assert text.returncode == result.returncode
        diagnostics = [json.loads(line) for line in result.stderr.splitlines()]
        for each in diagnostics:  # Code and remedy are parts of the text.
            assert "remedy" not in each or each["message"].endswith("; " + each["remedy"])
            assert not each.get("code", "").startswith("OCT") or f"[{each['code']}]" in each["message"]
        assert text.stderr.replace("octet-compile: error: ", "error: ").strip() == "\n".join(d["rendered"] for d in diagnostics)
        return result.returncode, diagnostics

    return run


def test_nothing_to_say(diagnose):
    assert diagnose(CONV, "--float") == (0, [])


def test_option(diagnose):
    code, [error] = diagnose(CONV, "--float", "--strict")
    assert code == 1 and error["severity"] == "error" and "--strict has no effect with --float" in error["message"]
    code, [error] = diagnose(CONV, "--float", "--input-shape=x")
    assert code == 1 and "file" not in error and "--input-shape" in error["message"]


def test_damaged_file(diagnose, tmp_path):
    code, [error] = diagnose(b"nonsense", "--float")
    assert (code, error["file"], error.get("node")) == (1, str(tmp_path / "net.onnx"), None)
    assert error["message"].startswith("is not an ONNX file")


def test_obstacles(diagnose):
    code, [error] = diagnose(make_network("a = NoSuchOperator(x)\nb = NoSuchOperator(x)\ny = Add(a, b)"), "--float")
    assert code == 1 and error["message"].startswith("2 operators are not supported\n")
    [note] = error["notes"]
    assert "octet-compile --list-operators" in note and "note:" in error["rendered"]


def test_invalid_node(diagnose):
    """The name is exact as a field, and escaped for people."""
    network = make_network("c = Conv<strides=[0,1]>(x, w)\ny = Relu(c)", constants={"w": (4, 3, 3, 3)})
    network.graph.node[0].name = "\x1b[2J\n"
    code, [error] = diagnose(network, "--float")
    assert (code, error["node"]) == (1, "\x1b[2J\n")
    assert 'error: node "\\x1B[2J\\x0A": Conv ' in error["rendered"]


def test_policy_file(diagnose, tmp_path):
    (tmp_path / "backend.mlir").write_text("\noctet.backend {\n")
    np.savez(tmp_path / "samples.npz", x=SAMPLES)
    code, [error] = diagnose(CONV, f"--calibration-data={tmp_path}/samples.npz", f"--backend={tmp_path}/backend.mlir")
    assert (code, error["file"], error["line"]) == (1, str(tmp_path / "backend.mlir"), 2) and error["column"] > 0


@pytest.mark.parametrize("arrays, array, message, remedy", [
    ({"z": SAMPLES}, None, "expected an array 'x' for the network's input, but got 'z'", "name the arrays as the network's inputs"),
    ({"x": SAMPLES, "z": SAMPLES}, None, "the network has no input 'z'", "omit that array"),
    ({"x": SAMPLES.astype(np.float64)}, "x", "expected float32, but got float64", "convert the array with .astype(numpy.float32)"),
    ({"x": SAMPLES[..., :7]}, "x", "expected shape [1, 3, 8, 8], with or without a leading axis of samples, but got [20, 1, 3, 8, 7]",
     "give every sample the shape of the input"),
    ({"x": SAMPLES[:0]}, "x", "the array is empty", None),
])
def test_samples(diagnose, tmp_path, arrays, array, message, remedy):
    np.savez(tmp_path / "samples.npz", **arrays)
    code, [error] = diagnose(CONV, f"--calibration-data={tmp_path}/samples.npz")
    assert (code, error["code"], error["samples"]) == (1, "samples", str(tmp_path / "samples.npz"))
    assert (error.get("array"), error.get("remedy")) == (array, remedy)
    assert error["message"] == message + (f"; {remedy}" if remedy else "")
    if "shape [1" in message:
        assert (error["expected_shape"], error["actual_shape"]) == ([1, 3, 8, 8], [20, 1, 3, 8, 7])


@pytest.mark.parametrize("options, remedy", [
    (["--float", "--strict"], "omit it"),
    (["--float", "--static-scales"], "omit it"),
    (["--stop-after=import", "--emit=asm"], "omit --emit"),
    ([], "give --calibration-data, or --float for float code"),
])
def test_remedy_of_options(diagnose, options, remedy):
    code, [error] = diagnose(CONV, *options)
    assert (code, error["remedy"]) == (1, remedy)


def test_remedy_of_outputs(diagnose, tmp_path):
    code, [error] = diagnose(CONV, "--float", f"--report={tmp_path}/net.so")
    assert (code, error["remedy"]) == (1, "give it another name")


def make_cycle():
    return make_network("a = Add(x, b)\nb = Relu(a)\ny = Relu(b)")


def make_bad_variance():
    return make_network("y = BatchNormalization(x, s, b, m, v)",
                        constants={"s": (3,), "b": (3,), "m": (3,), "v": np.float32([1, -1, 1])})


def make_outside():
    network = make_network("y = Add(x, w)", constants={"w": (8,)})
    [tensor] = network.graph.initializer
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="/etc/hostname")
    return network


@pytest.mark.parametrize("network, remedy", [
    (b"nonsense", "export or download it again"),
    (make_network("y = Relu(x)", opset=3), "convert the network to one of 7 to 28 (onnx.version_converter)"),
    (make_cycle(), "export the network again"),
    (make_bad_variance(), "export it again"),
    (make_outside(), "move it beside the network"),
    (make_network("y = Relu(x)", inputs={"x": ["n", 3]}), "give all its dimensions with --input-shape x=1x..."),
    (make_network("y = Relu(x)\nz = NoSuchOperator(x)", inputs={"x": ["n", 3]}, outputs=("y", "z")), None),  # one of several obstacles
])
def test_remedy_of_networks(diagnose, network, remedy):
    code, [error] = diagnose(network, "--float")
    assert (code, error.get("remedy")) == (1, remedy)


@pytest.mark.parametrize("policy, remedy", [
    ('octet.module_name_regex "(?=a)" none', "write it with groups, sets, classes, repetitions and alternatives"),
    ("", "omit one of them"),
])
def test_remedy_of_policies(diagnose, tmp_path, policy, remedy):
    np.savez(tmp_path / "samples.npz", x=SAMPLES)
    includes = "" if policy else ' includes "mine.mlir"'
    (tmp_path / "mine.mlir").write_text(f"octet.qconfig_mapping @mine{includes} {{ {policy} }}")
    code, [error] = diagnose(CONV, f"--calibration-data={tmp_path}/samples.npz", f"--qconfig-mapping={tmp_path}/mine.mlir")
    assert (code, error["remedy"]) == (1, remedy)


def test_remedy_of_weights(diagnose, tmp_path):
    np.savez(tmp_path / "samples.npz", x=SAMPLES)
    weights = np.full((4, 3, 3, 3), np.nan, np.float32)
    code, [error] = diagnose(make_network("y = Conv(x, w)", constants={"w": weights}), f"--calibration-data={tmp_path}/samples.npz")
    assert (code, error["remedy"]) == (1, "repair it, or keep the operator float in the QConfig mapping (none)")


def test_remedy_of_warnings(diagnose, tmp_path):
    np.savez(tmp_path / "samples.npz", x=SAMPLES * 0)
    code, [warning] = diagnose(CONV, f"--calibration-data={tmp_path}/samples.npz")
    assert code == 0 and warning["remedy"].startswith("check the samples, or give observers a smaller eps")


def test_strict_error_before_calibration(diagnose, tmp_path):
    np.savez(tmp_path / "samples.npz", x=SAMPLES)
    observer = "#octet.min_max<dtype = si32>"
    (tmp_path / "mine.mlir").write_text(f"octet.qconfig_mapping @mine {{ octet.global #octet.qconfig<activation = {observer}> }}")
    options = [f"--calibration-data={tmp_path}/samples.npz", f"--qconfig-mapping={tmp_path}/mine.mlir"]
    code, [error] = diagnose(CONV, "--strict", *options)
    assert (code, error["code"], error["remedy"]) == (1, "OCT211", "give the activation observer the dtype ui8 or si8")


def make_long_sum():
    size = 140000
    x, y = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, size]), helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2])
    weights = numpy_helper.from_array(np.ones((size, 2), np.float32), "w")
    graph = helper.make_graph([helper.make_node("Gemm", ["x", "w"], ["y"], name="fc")], "net", [x], [y], [weights])
    samples = np.random.default_rng(3).normal(size=(3, 1, size)).astype(np.float32)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), samples


def test_warning_and_strict_error(diagnose, tmp_path):
    network, samples = make_long_sum()
    np.savez(tmp_path / "samples.npz", x=samples)
    code, [warning] = diagnose(network, f"--calibration-data={tmp_path}/samples.npz")
    assert (code, warning["severity"], warning["code"], warning["node"]) == (0, "warning", "OCT307", "fc")
    assert warning["message"].endswith("; " + warning["remedy"])
    code, [error] = diagnose(network, f"--calibration-data={tmp_path}/samples.npz", "--strict")
    assert (code, error["severity"], error["node"]) == (1, "error", "fc")


def test_exceptions_have_the_fields():
    with pytest.raises(octet.CompileError) as refusal:
        octet.compile(make_network("y = NoSuchOperator(x)").SerializeToString())
    [diagnostic] = refusal.value.diagnostics
    assert str(refusal.value) == str(diagnostic) == diagnostic.rendered and diagnostic.file == "model.onnx"
    assert diagnostic.severity == "error" and len(diagnostic.notes) == 1


def test_other_output_is_in_the_error(tmp_path, monkeypatch):
    """As of a compiler that crashes."""
    script = tmp_path / "octet-compile"
    script.write_text('#!/bin/sh\necho \'{"severity": "error", "message": "m", "rendered": "net: error: m", "new": 1}\' >&2\n'
                      "echo 'LLVM ERROR: out of memory' >&2\nexit 3\n")
    script.chmod(0o755)
    monkeypatch.setenv("OCTET_COMPILE", str(script))
    with pytest.raises(octet.CompileError) as refusal:
        octet.compile(CONV.SerializeToString())
    assert str(refusal.value) == "net: error: m\nLLVM ERROR: out of memory"
    script.write_text("#!/bin/sh\nkill -SEGV $$\n")
    with pytest.raises(octet.CompileError, match="^octet-compile ended with signal 11$"):
        octet.compile(CONV.SerializeToString())


def test_report_shows_names_on_one_line():
    name = "\x1b[2J\n" + "n" * 300
    network = make_network("c = Conv(x, w)\ny = Relu(c)", constants={"w": (4, 3, 3, 3)})
    network.graph.node[0].name = name
    report = octet.compile(network.SerializeToString(), calibration_data={"x": SAMPLES}).report
    assert any(row.name == name for row in report)
    assert "\\x1b[2J\\n" + "n" * 111 + "...(129 more)..." + "n" * 60 in str(report)
