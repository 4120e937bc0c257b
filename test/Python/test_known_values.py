# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values that operators need at the import and that follow from constants alone, through whatever operators."""
import numpy as np
import pytest

octet = pytest.importorskip("octet")
onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from onnx_networks import make_network  # noqa: E402

pytestmark = pytest.mark.usefixtures("compiler")

RNG = np.random.default_rng(7)
LONG = {name: np.int64([value]) for name, value in (("zero", 0), ("one", 1), ("two", 2), ("minus", -1))}
NETWORKS = {
    "filter behind spectral normalization": (
        "r = Reshape(w, rows)\na = MatMul(r, v)\ns = MatMul(u, a)\nf = Div(w, s)\ny = Conv(x, f)",
        {"w": (6, 4, 3, 3), "rows": np.int64([6, 36]), "v": (36,), "u": (6,)}),
    "filter that is a softmax": ("f = Softmax<axis=1>(w)\ny = Conv(x, f)", {"w": (6, 4, 3, 3)}),
    "filter that is resized": ("f = Resize<mode=\"linear\">(w, none, scales)\ny = Conv(x, f)",
                               {"w": (6, 4, 2, 2), "none": np.float32([]), "scales": np.float32([1, 1, 2, 2])}),
    "shape of sums": ("c = CumSum(sizes, zero)\ny = Reshape(x, c)", {"sizes": np.int64([4, 4, 8])}),
    "places that a sum counts": (
        "d = ScatterElements<reduction=\"add\">(none, edges, ones)\nc = Equal(d, two)\nz = NonZero(c)\ni = Reshape(z, minus)\ny = Gather<axis=2>(x, i)",
        {"none": np.zeros(8, np.int64), "edges": np.int64([3, 1, 3, 5, 5]), "ones": np.ones(5, np.int64)}),
    "lengths that were sorted": (
        "n, o = TopK(lengths, two)\nl = Cast<to=6>(n)\nr = Reshape(x, steps)\ny = LSTM<hidden_size=5>(r, w, h, , l)",
        {"lengths": np.int64([4, 16]), "steps": np.int64([16, 2, 16]), "w": (1, 20, 16), "h": (1, 20, 5)}),
    "no elements": ("e = Gather<axis=3>(x, nothing)\ny = Concat<axis=3>(e, x)", {"nothing": np.zeros(0, np.int64)}),
}
# Chosen by a value that follows from constants; one branch cannot be imported.
BRANCHES = ("s = CumSum(sizes, zero)\nm = ReduceMax<keepdims=0>(s)\nc = GreaterOrEqual(m, bound)\n"
            "y = If (c) <then_branch = t () => (float[1,4,8,16] u) { u = RandomNormalLike(x) }, else_branch = e () => (float[1,4,8,16] v) { v = Relu(x) }>")
NETWORKS["branch that is taken"] = (BRANCHES, {"sizes": np.int64([1, 2]), "bound": np.int64(4)})


@pytest.mark.parametrize("name", NETWORKS)
def test_what_follows_from_constants_is_known(name):
    nodes, constants = NETWORKS[name]
    model = make_network(nodes, inputs={"x": [1, 4, 8, 16]}, constants={**constants, **LONG}, opset=17)
    x = RNG.normal(size=(1, 4, 8, 16)).astype(np.float32)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    np.testing.assert_allclose(octet.compile(model.SerializeToString()).run({"x": x})["y"], session.run(None, {"x": x})[0], rtol=0, atol=1e-5)


@pytest.mark.parametrize("attributes", ["", "<sorted=0>", "<axis=0>", "<axis=1, sorted=0>", "<axis=-1>"])
def test_different_elements(attributes):
    constant = RNG.integers(0, 2, (2, 3, 4, 2))[:, :, [0, 1, 0, 2]] - 1
    model = make_network(f"y, f, w, c = Unique{attributes}(k)", inputs={"x": [1]}, outputs=("y", "f", "w", "c"), constants={"k": constant}, opset=17)
    for output in model.graph.output:
        output.type.tensor_type.elem_type = onnx.TensorProto.INT64
    x = np.zeros(1, np.float32)
    wanted = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    for want, got in zip(wanted, octet.compile(model.SerializeToString()).run({"x": x}).values(), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("size", [40, 1500])
@pytest.mark.parametrize("node,dtype", [("MatMulInteger(a, b, z)", "INT32"), ("com.microsoft.MatMulIntegerToFloat(a, b, s, s, z)", "FLOAT")])
def test_products_of_constant_integers(node, dtype, size):
    """As those of integers quantized at run time: in one part, and in two where f32 might not hold a sum."""
    constants = {"a": RNG.integers(0, 256, (3, size)).astype(np.uint8), "b": RNG.integers(-127, 128, (size, 5)).astype(np.int8), "z": np.uint8(7), "s": np.float32(0.5)}
    model = make_network(f"y = {node}", inputs={"x": [1]}, constants=constants, opset=17)
    model.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
    model.graph.output[0].type.tensor_type.elem_type = getattr(onnx.TensorProto, dtype)
    x = np.zeros(1, np.float32)
    wanted = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})[0]
    np.testing.assert_array_equal(octet.compile(model.SerializeToString()).run({"x": x})["y"], wanted)


def test_what_follows_from_inputs_is_refused_as_before():
    model = make_network("f = Reshape(x, shape)\ny = ConvTranspose(z, f)", inputs={"x": [1, 4, 8, 16], "z": [1, 4, 8, 8]}, constants={"shape": np.int64([8, 4, 4, 4])}, opset=17)
    with pytest.raises(octet.Error, match="a filter that is no constant"):
        octet.compile(model.SerializeToString())


def test_what_is_wrong_with_a_known_value_is_said():
    model = make_network("s = CumSum(sizes, zero)\ny = Reshape(x, s)", inputs={"x": [1, 4, 8, 16]}, constants={"sizes": np.int64([4, 13, 16]), "zero": np.int64(0)}, opset=17)
    with pytest.raises(octet.Error, match="Reshape makes the shape 4x17x33 from 1x4x8x16"):
        octet.compile(model.SerializeToString())


def test_what_is_refused_inside_a_branch_is_said():
    """The condition follows from constants, and the branch is imported again with its value: its obstacles are named, once."""
    model = make_network(BRANCHES, inputs={"x": [1, 4, 8, 16]}, constants={"sizes": np.int64([1, 2]), "zero": np.int64(0), "bound": np.int64(3)}, opset=17)
    with pytest.raises(octet.Error, match="RandomNormalLike") as refused:
        octet.compile(model.SerializeToString())
    assert str(refused.value).count("RandomNormalLike") == 1
