# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of decoders: a past before there is one, results that are empty or given twice, branches that call their results as the `If` does."""
import numpy as np
import pytest

octet = pytest.importorskip("octet")
from test_integers import check, make_network, numbers, run_onnxruntime  # noqa: E402

PAST = "k = Concat<axis=1>(p, x)\ny = Relu(k)"


def test_a_past_without_elements_is_left_out():
    data = make_network(PAST, {"p": ("float32", [2, "past", 3]), "x": ("float32", [2, 4, 3])}, {"y": "float32"})
    x = numbers("float32", 2, 4, 3)
    with pytest.warns(octet.CompileWarning, match='the input "p" of shape 2x0x3 has no elements and is left out'):
        network = octet.compile(data, input_shapes={"p": (2, 0, 3)})
    assert [tensor.name for tensor in network.inputs] == ["x"]
    for feeds in ({"x": x}, {"x": x, "p": x[:, :0]}):
        np.testing.assert_array_equal(network.run(feeds)["y"], np.maximum(x, 0))
    samples = {"p": np.zeros((4, 2, 0, 3), np.float32), "x": np.stack([x] * 4)}
    with pytest.warns(octet.CompileWarning, match="left out"):
        assert len(octet.compile(data, input_shapes={"p": (2, 0, 3)}, calibration_data=samples).inputs) == 1
    with pytest.warns(octet.CompileWarning, match="left out"):
        assert len(octet.compile(data, input_shapes={"past": (0,)}).inputs) == 1
    with pytest.raises(octet.InputError, match="expected positive integers"):
        octet.compile(data, input_shapes={"p": [(2, 0, 3), (2, 1, 3)]})
    with pytest.raises(octet.CompileError, match='reads the constant "x", which has no elements'):
        octet.compile(make_network("y = Softmax(x)", {"x": ("float32", [0, 3])}, {"y": "float32"}))


def test_outputs_without_elements_are_left_out():
    constants = {"e": np.zeros((0, 4), np.float32)}
    with pytest.warns(octet.CompileWarning, match='the output "z" of shape 0x4 has no elements and is left out'):
        network = octet.compile(make_network("y = Relu(x)\nz = Identity(e)", {"x": ("float32", [3])}, {"z": "float32", "y": "float32"}, constants))
    assert list(network.run({"x": numbers("float32", 3)})) == ["y"]
    with pytest.raises(octet.CompileError, match="no output has elements"):
        octet.compile(make_network("z = Identity(e)", {"x": ("float32", [3])}, {"z": "float32"}, constants))


def test_functions_of_no_elements():
    """As tf2onnx writes the places of diagonals."""
    nodes = "r = Range(z, z, o)\na = Abs(r)\nk = Concat<axis=0>(a, i)\nc = Cast<to=1>(a)\ng = Gelu(c)\nl = Concat<axis=0>(g, x)\ny = Gather<axis=0>(l, k)"
    check(nodes, dict(x=numbers("float32", 3)), {"y": "float32"}, dict(z=np.int64(0), o=np.int64(1), i=[2, 0]), opset=20)


def test_an_output_given_twice_is_there_once():
    import onnx
    model = onnx.load_from_string(make_network("y = Relu(x)\nz = Neg(x)", {"x": ("float32", [3])}, {"y": "float32", "z": "float32"}))
    model.graph.output.append(model.graph.output[0])
    x = numbers("float32", 3)
    got = octet.compile(model.SerializeToString()).run({"x": x})
    assert list(got) == ["y", "z"]
    np.testing.assert_array_equal(got["y"], np.maximum(x, 0))


@pytest.mark.parametrize("condition", [True, False])
def test_branches_that_call_their_results_as_the_if_does(condition):
    import onnx
    model = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["": 18]>
        g (bool c, float[2,3] x) => (float[2,3] y) {
            z = Neg(x)
            y = If(c) <then_branch = t () => (float[2,3] y) { y = Relu(z) }, else_branch = e () => (float[2,3] y) { y = Exp(z) }>
        }""")
    data, x = model.SerializeToString(), numbers("float32", 2, 3)
    expected, = run_onnxruntime(data, {"c": np.array(condition), "x": x})
    np.testing.assert_allclose(octet.compile(data).run({"c": np.array(condition), "x": x})["y"], expected, rtol=1e-6)
    np.testing.assert_allclose(octet.compile(data, input_values={"c": condition}).run({"x": x})["y"], expected, rtol=1e-6)
