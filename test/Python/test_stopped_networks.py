# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks that stop behind a stage: what the IR says there, and that it is enough to go on."""
import json
import re

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

RANDOM = np.random.default_rng(7)
STAGES = ["import", "fuse", "prepare", "calibrate", "convert", "lower", "layout", "program", "llvm"]
SHAPE = [1, 4, 8, 8]


def make_network(*nodes, **weights):
    """An ONNX file from `x` to `y`: nodes are (operator type, inputs, output, attributes), weights shapes or arrays."""
    from onnx import TensorProto, helper, numpy_helper

    protos = [helper.make_node(kind, inputs.split(), [output], name=f"/body/{output}/{kind}", **attributes)
              for kind, inputs, output, attributes in nodes]
    tensors = [numpy_helper.from_array(
        (0.3 * RANDOM.normal(size=value) if isinstance(value, tuple) else value).astype(np.float32), name)
               for name, value in weights.items()]
    graph = helper.make_graph(
        protos, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, SHAPE)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]).SerializeToString()


def make_residual():
    """Swish in two operators, a shortcut, a clamp that is absorbed, a mean, a layer without bias."""
    return make_network(
        ("Conv", "x w0", "a", {"pads": [1, 1, 1, 1]}), ("Sigmoid", "a", "s", {}), ("Mul", "a s", "m", {}),
        ("Conv", "m w1", "b", {"pads": [1, 1, 1, 1], "group": 4}), ("Add", "b m", "r", {}), ("Relu", "r", "t", {}),
        ("GlobalAveragePool", "t", "p", {}), ("Flatten", "p", "f", {}), ("MatMul", "f w2", "y", {}),
        w0=(4, 4, 3, 3), w1=(4, 1, 3, 3), w2=(4, 5))


def make_branches():
    """Branches that are concatenated, batch norm that no weights take, data movement, softmax."""
    return make_network(
        ("Conv", "x w0 b0", "a", {}), ("MaxPool", "x", "q", {"kernel_shape": [1, 1]}), ("Concat", "a q", "c", {"axis": 1}),
        ("BatchNormalization", "c scale shift mean variance", "n", {}), ("Relu", "n", "r", {}),
        ("Transpose", "r", "t", {"perm": [0, 2, 3, 1]}), ("Flatten", "t", "f", {}), ("Gemm", "f w1 b1", "g", {}),
        ("Softmax", "g", "y", {"axis": 1}),
        w0=(2, 4, 1, 1), b0=(2,), scale=(6,), shift=(6,), mean=(6,), variance=np.linspace(1, 2, 6), w1=(384, 3), b1=(3,))


@pytest.fixture(scope="module", params=["residual", "branches", "digits"])
def network(request, source, tmp_path_factory):
    """A folder with net.onnx and samples.npz."""
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "digits":
        for name, file in (("net.onnx", "digits.onnx"), ("samples.npz", "calibration.npz")):
            (folder / name).write_bytes((source / "test" / "Inputs" / "digits" / file).read_bytes())
        return folder
    (folder / "net.onnx").write_bytes(make_branches() if request.param == "branches" else make_residual())
    np.savez(folder / "samples.npz", x=RANDOM.normal(size=(12, *SHAPE)).astype(np.float32))
    return folder


@pytest.fixture
def stop(tool, network):
    """stop(stage, options...) compiles up to a stage; returns the IR as text."""

    def stopped(stage, *options):
        tool("octet-compile", "net.onnx", "--calibration-data=samples.npz", f"--stop-after={stage}", *options,
             "-o", f"{stage}.mlirbc", "--cpu-level=reference", cwd=network)
        return (network / f"{stage}.mlir").read_text()

    return stopped


# ---- origins -------------------------------------------------------------------------------------------------------------
OPERATOR = re.compile(r"^ *(?:%[\w:, %]+ = )?((?:nn|octet)\.\w+|kernel\.step)\b")
HAVE_NO_ORIGIN = {"nn.constant", "octet.observer", "octet.yield"}


@pytest.mark.parametrize("stage", STAGES)
def test_every_operator_has_an_origin(stop, stage):
    """Constants go by their resource's name, arguments by `nn.name`, observers by their symbol."""
    body = re.split(r"\n(?:  octet.backend @|\{-#)", stop(stage))[0].splitlines()
    inside = [line for line in body if (match := OPERATOR.match(line)) and match[1] not in HAVE_NO_ORIGIN]
    assert len(inside) > 3, "the operators are printed"
    assert [line for line in inside if "octet.origin = #octet.origin<" not in line] == []


@pytest.mark.parametrize("network", ["residual"], indirect=True)
def test_origin_has_name_class_and_number(stop, network):
    text = stop("import")
    assert '#octet.origin<"/body/a/Conv", "Conv", 0>' in text and '#octet.origin<"/body/b/Conv", "Conv", 0>' in text
    assert 'nn.silu' in text and '#octet.origin<"/body/m/Mul", "Mul", 0>' in text


# ---- going on ------------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def policy(source, network):
    """A backend of another name with a mapping that includes and overrides, in a file that goes away."""
    text = (source / "lib" / "Backend" / "backends" / "cpu.mlir").read_text()
    assert text.count("@cpu ") == 1
    path = network / "mine.mlir"
    path.write_text(text.replace("@cpu ", "@mine ") + """
octet.qconfig_mapping @mine_mapping includes "cpu_default_mapping" {
  octet.object_type "nn.max_pool" none
}
""")
    return path


@pytest.fixture(scope="module")
def whole(tool, network, policy):
    """The library of the network compiled without a stop."""
    tool("octet-compile", "net.onnx", "--calibration-data=samples.npz", f"--backend={policy}", "--name=net", "-o", "whole.so",
         "--cpu-level=reference", cwd=network)
    return (network / "whole.so").read_bytes()


@pytest.mark.parametrize("stage", STAGES[: STAGES.index("program")])
def test_stopped_network_goes_on_without_policy_and_locations(tool, stop, network, policy, whole, stage):
    stop(stage, f"--backend={policy}", "--name=net")
    tool("octet-opt", f"{stage}.mlirbc", "--strip-debuginfo", "--emit-bytecode", "-o", "stripped.mlirbc", cwd=network)
    rest = ["--calibration-data=samples.npz"] if STAGES.index(stage) < STAGES.index("calibrate") else []
    tool("octet-compile", "stripped.mlirbc", *rest, "--name=net", "-o", "resumed.so", "--cpu-level=reference", cwd=network)
    assert (network / "resumed.so").read_bytes() == whole


def test_going_on_with_another_policy_names_both(tool, stop, network, policy):
    stop("prepare", f"--backend={policy}")
    go_on = ["octet-compile", "prepare.mlirbc", "--calibration-data=samples.npz", "-o", "other.so", "--cpu-level=reference"]
    for option, own, other in (("--backend=cpu", "octet.backend @mine", "@cpu from 'cpu'"),
                               ("--qconfig-mapping=cpu_default_mapping", "octet.qconfig_mapping @mine_mapping",
                                "@cpu_default from 'cpu_default_mapping'")):
        done = tool(*go_on, option, cwd=network, check=False)
        assert done.returncode == 1 and f"was begun with {own} and cannot go on with {other}" in done.stderr, done.stderr
    tool(*go_on, f"--backend={policy}", cwd=network)


# ---- the report ----------------------------------------------------------------------------------------------------------
def test_fallback_that_no_plan_foresaw_has_a_row(tool, tmp_path):
    (tmp_path / "net.mlir").write_text("""
!q = !quant.uniform<u8:f32, 0.5>
!w = !quant.uniform<i8:f32, 0.5:3>
func.func @main(%x: tensor<1x2xf32> {nn.name = "x"}) -> (tensor<1x2xf32> {nn.name = "y"}) {
  %xq = octet.quantize %x : (tensor<1x2xf32>) -> tensor<1x2x!q>
  %xd = octet.dequantize %xq : (tensor<1x2x!q>) -> tensor<1x2xf32>
  %wq = nn.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8> -> tensor<2x2x!w>
  %wd = octet.dequantize %wq : (tensor<2x2x!w>) -> tensor<2x2xf32>
  %y = nn.linear %xd, %wd {octet.origin = #octet.origin<"fc", "Gemm", 0>} : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  return %y : tensor<1x2xf32>
}
""")
    done = tool("octet-compile", "net.mlir", "--report=report.json", "-o", "net.so", "--cpu-level=reference", cwd=tmp_path)
    assert "stays float [OCT305]: the filter is not a constant of symmetric 8-bit signed values" in done.stderr
    [row] = json.loads((tmp_path / "report.json").read_text())["operators"]
    assert (row["name"], row["operator"], row["verdict"], row["code"], row["refused"]) == ("fc", "nn.linear", "float", "OCT305", True)
