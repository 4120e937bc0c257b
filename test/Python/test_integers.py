# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks with inputs, outputs and values that are no float32: they are what onnxruntime makes of them; a text encoder."""
import ctypes
import os
import pathlib
import subprocess

import numpy as np
import pytest

octet = pytest.importorskip("octet")
onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

pytestmark = pytest.mark.usefixtures("compiler")
BIN = pathlib.Path(os.environ.get("OCTET_BIN", pathlib.Path(__file__).parents[2] / "build" / "bin"))
RANDOM = np.random.default_rng(5)
TYPES = {"float16": TensorProto.FLOAT16, "bool": TensorProto.BOOL, "float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE,
         **{f"{sign}int{bits}": getattr(TensorProto, f"{sign}INT{bits}".upper()) for sign in ("", "u") for bits in (8, 16, 32, 64)}}


def make_network(nodes, inputs, outputs, constants=None, opset=18):
    """`nodes`: lines such as `y = Relu(x)`; `inputs`: (type, shape) by name; `outputs`: types by name; `constants`: arrays by name."""
    tensor = lambda name, kind, shape: helper.make_tensor_value_info(name, TYPES.get(kind, kind), shape)  # noqa: E731
    graph = helper.make_graph(
        [onnx.parser.parse_node(line.strip()) for line in nodes.strip().splitlines()], "test",
        [tensor(name, kind, shape) for name, (kind, shape) in inputs.items()],
        [tensor(name, kind, None) for name, kind in outputs.items()],
        [numpy_helper.from_array(np.asarray(values), name) for name, values in (constants or {}).items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10).SerializeToString()


def run_onnxruntime(model, feeds):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(None, feeds)


def numbers(kind, *shape, low=-9, high=9):
    values = RANDOM.integers(low, high, shape) if np.dtype(kind).kind != "f" else 3 * RANDOM.standard_normal(shape)
    return values.astype(kind)


def is_same(got, expected):
    return got.dtype == expected.dtype and got.shape == expected.shape and np.array_equal(got, expected, equal_nan=got.dtype.kind == "f")


def check(nodes, feeds, outputs, constants=None, opset=18):
    """Compiled, and exported as ONNX and run by onnxruntime, the network gives what the file gives there."""
    inputs = {name: (array.dtype.name, array.shape) for name, array in feeds.items()}
    model = make_network(nodes, inputs, outputs, constants, opset)
    expected = run_onnxruntime(model, feeds)
    ir = subprocess.run([BIN / "octet-translate", "--import-onnx", "-"], input=model, capture_output=True, check=True).stdout
    exported = subprocess.run([BIN / "octet-translate", "--export-onnx", "-"], input=ir, capture_output=True, check=True).stdout
    actual = {"compiled": octet.compile(model).run(feeds).values(), "exported": run_onnxruntime(exported, feeds)}
    for how, results in actual.items():
        for name, got, want in zip(outputs, results, expected, strict=True):
            assert is_same(got, want), f"{how} {name}: {got} instead of {want}"


@pytest.mark.parametrize("nodes, kind", [("y = Greater(e, c)", "bool"), ("y = Cast<to=10>(e)", "float16"), ("a = Mul(e, c)\ny = Cast<to=7>(a)", "int64"),
                                         ("a = Cast<to=2>(e)\nb = Cast<to=1>(a)\ny = Conv<pads=[1,1,1,1]>(b, w)", "float32")])
@pytest.mark.parametrize("product", ["Conv<pads=[1,1,1,1]>", "Conv<group=4,pads=[1,1,1,1]>", "MatMul"])
def test_results_of_products_that_are_no_float32(product, nodes, kind):
    """Products store float32 and 8 bits; what makes something else of them is a step of its own."""
    weights = {"w": numbers("int8", 4, 4, 3, 3, low=0).astype("f4"), "c": np.float32(9)}
    used = {"Conv<pads=[1,1,1,1]>": weights["w"], "MatMul": numbers("int8", 8, 8, low=0).astype("f4")}.get(product, weights["w"][:, :1])
    nodes = f"e = {product}(x, v)\n{nodes}"
    image = numbers("int8", 1, 4, 8, 8, low=0, high=3).astype("f4")
    constants = {"v": used, **{name: array for name, array in weights.items() if f", {name})" in nodes}}
    check(nodes, {"x": image}, {"y": kind}, constants)
    model = make_network(nodes, {"x": ("float32", image.shape)}, {"y": kind}, constants)
    result, = octet.compile(model, calibration_data={"x": image[None]}).run({"x": image}).values()
    expected, = run_onnxruntime(model, {"x": image})
    assert result.dtype == expected.dtype and np.mean(np.abs(np.float64(result) - expected) <= 0.02 * np.abs(np.float64(expected)).max()) > 0.9


CASES = {
    "numbers_behind_layers": ("p = Conv(x, w)\na = Where(c, p, one)\nq = MatMul(r, v)\nn = Neg(q)\nb = Where(c, n, q)\ns = Conv(x, w)\nf = Cast<to=1>(h)\nd = Mul(s, f)",
                              dict(x=np.float32(numbers("int64", 1, 3, 5, 7)), r=np.float32(numbers("int64", 5, 7)), c=np.array([True]), h=np.float16([1.5])),
                              dict.fromkeys("abd", "float32"), dict(w=np.float32(numbers("int64", 16, 3, 1, 1)), v=np.float32(numbers("int64", 7, 20)), one=np.float32(1))),
    "einsum": ('a = Einsum<equation="bi,bj->bij">(x, z)\nb = Einsum<equation="bi,bj->ij">(x, z)\nc = Einsum<equation="bi,cb,bj->jc">(x, w, z)\n'
               'd = Einsum<equation="bi->i">(x)', dict(x=numbers("int64", 3, 4), z=numbers("int64", 3, 5)), dict.fromkeys("abcd", "int64"), dict(w=numbers("int64", 2, 3))),
    "positions_of_ones": ("o = Expand(one, n)\np = NonZero(o)\nt = Transpose<perm=[1,0]>(p)\na = GatherND(x, t)\nq = NonZero(w)\nb = Add(x, q)",
                          dict(x=numbers("int64", 2, 3)), dict(a="int64", b="int64"), dict(one=1, n=[2, 2], w=np.float32([[0, 2], [0, 0], [-1, 3]]))),
    "slices_assigned_in_constants": ("d = ConstantOfShape(n)\ne = ScatterND(d, i, v)\nf = ScatterND(e, j, w)\na = Add(x, f)\ng = ScatterND<reduction=\"add\">(e, j, w)\nb = Add(x, g)",
                                     dict(x=numbers("float32", 3, 4)), dict(a="float32", b="float32"),
                                     dict(n=[3, 4], i=[[1], [-1]], v=numbers("float32", 2, 4), j=[[[0, 1], [2, -1]]], w=numbers("float32", 1, 2))),
    "nothing_scattered": ("o = ConstantOfShape(n)\ns = Slice(o, i, i)\nh = Shape(s)\nu = Expand(v, h)\nf = ConstantOfShape(m)\ne = Cast<to=7>(f)\na = ScatterND(x, e, u)\nb = Neg(a)",
                          dict(x=numbers("float32", 4, 4)), dict(b="float32"),
                          dict(n=[4, 4], i=[0], v=np.float32(2), m=[0, 1])),
    "int64": ("a = Add(x, z)\nb = Mul(x, z)\nc = Mod(x, z)\nd = Div(x, z)\ne = Mod<fmod=1>(x, z)",
              dict(x=numbers("int64", 4, 30), z=numbers("int64", 30, low=1)), dict.fromkeys("abcde", "int64")),
    "int32_wraps": ("a = Mul(x, x)\nb = Sub(x, z)\nc = Neg(a)\nd = Abs(x)\ne = Sign(x)\nf = Add(a, c)\ng = Max(x, z)\nh = Min(x, z, s)",
                    dict(x=numbers("int32", 4, 30, low=-2**31, high=2**31), z=numbers("int32", 30)), dict.fromkeys("abcdefgh", "int32"),
                    dict(s=np.int32(2))),
    "uint8_bits": ("a = BitwiseNot(x)\nb = BitwiseAnd(x, z)\nc = BitwiseOr(x, z)\nd = BitwiseXor(x, z)\n"
                   "e = BitShift<direction=\"LEFT\">(x, s)\nf = BitShift<direction=\"RIGHT\">(x, s)",
                   dict(x=numbers("uint8", 60, low=0, high=255), z=numbers("uint8", 60, low=0, high=255)), dict.fromkeys("abcdef", "uint8"),
                   dict(s=np.uint8(3))),
    "relations": ("a = Equal(x, z)\nb = Less(x, z)\nc = LessOrEqual(x, z)\nd = Greater(x, z)\ne = GreaterOrEqual(x, z)\nf = And(a, c)\n"
                  "g = Or(b, d)\nh = Xor(c, e)\ni = Not(b)", dict(x=np.round(numbers("float32", 5, 20)), z=np.round(numbers("float32", 5, 1))),
                  dict.fromkeys("abcdefghi", "bool")),
    "choice": ("c = Less(x, z)\na = Where(c, x, z)\nb = Where(m, z, x)",
               dict(x=numbers("int64", 5, 20), z=numbers("int64", 5, 1), m=numbers("int8", 20) > 0), dict(a="int64", b="int64")),
    "not_finite": ("a = IsNaN(x)\nb = IsInf(x)\nc = IsInf<detect_negative=0>(x)\nd = IsInf<detect_positive=0>(x)\ne = IsInf<detect_positive=0, detect_negative=0>(x)",
                   dict(x=np.array([1, np.nan, np.inf, -np.inf, 0, -0.0], np.float32)), dict.fromkeys("abcde", "bool")),
    "casts": ("a = Cast<to=7>(x)\nb = Cast<to=9>(x)\nc = Cast<to=1>(b)\nd = Cast<to=3>(a)\ne = Cast<to=2>(a)\nf = CastLike(x, k)\ng = CastLike(x, b)",
              dict(x=20 * numbers("float32", 50), k=numbers("int16", 2)), dict(a="int64", b="bool", c="float32", d="int8", e="uint8", f="int16", g="bool")),
    "halves": ("a = Identity(x)\nb = Cast<to=1>(x)\nc = Cast<to=10>(z)\nd = Cast<to=11>(z)\ne = Cast<to=1>(w)",
               dict(x=100 * numbers("float16", 50), z=1e4 * numbers("float32", 50), w=numbers("float64", 50)),
               dict(a="float16", b="float32", c="float16", d="float64", e="float32")),
    "every_type_passes": ("a = Identity(u)\nb = Identity(v)\nc = Identity(w)\nd = Neg(x)\ne = Not(z)",
                          dict(u=numbers("uint16", 5, low=0), v=numbers("uint32", 5, low=2**31, high=2**32), w=numbers("int8", 5),
                               x=numbers("int16", 5), z=numbers("int8", 5) > 0), dict(a="uint16", b="uint32", c="int8", d="int16", e="bool")),
    "movement": ("a = Transpose<perm=[1,0]>(x)\nb = Concat<axis=0>(a, k)\nc = Slice(x, s, e)\nd = Unsqueeze(m, s)\nf = Expand(d, g)\nh = Tile(x, r)\ni = Pad(x, p, v)\nj, l = Split<axis=1, num_outputs=2>(m)",
                 dict(x=numbers("int64", 4, 20), m=numbers("int8", 4, 20) > 0), dict(b="int64", c="int64", f="bool", h="int64", i="int64", j="bool", l="bool"),
                 dict(k=numbers("int64", 3, 4), s=[1], e=[3], g=[4, 3, 20], r=[2, 1], p=[0, 1, 2, 0], v=np.int64(-7))),
    "clip": ("a = Clip(x, l, h)\nb = Clip(x, l)", dict(x=numbers("int32", 5, 7)), dict(a="int32", b="int32"), dict(l=np.int32(-3), h=np.int32(4))),
    "gather": ("a = Gather(w, i)\nb = Gather<axis=1>(w, j)\nc = Gather(k, i)\nd = Gather<axis=-2>(x, j)\ne = Gather<axis=2>(x, n)",
               dict(i=numbers("int64", 2, 5), j=numbers("int32", 3), x=numbers("float32", 2, 3, 9, 7)),
               dict(a="float32", b="float32", c="int64", d="float32", e="float32"), dict(w=numbers("float32", 9, 33), k=np.arange(9), n=[1, 4, -2])),
    "gather_elements": ("a = GatherElements<axis=1>(x, i)\nb = GatherElements<axis=-1>(k, j)",
                        dict(x=numbers("float32", 4, 9, 3), i=numbers("int64", 4, 5, 3), j=numbers("int32", 2, 2)), dict(a="float32", b="int64"),
                        dict(k=numbers("int64", 3, 9))),
    "gather_nd": ("a = GatherND(x, i)\nb = GatherND<batch_dims=1>(x, j)",
                  dict(x=numbers("float32", 4, 3, 5), i=numbers("int64", 6, 2, low=-3, high=3), j=numbers("int64", 4, 2, 1, low=-3, high=3)),
                  dict(a="float32", b="float32")),
    "scatter": ("a = ScatterND(x, i, u)\nb = ScatterND<reduction=\"add\">(x, i, u)\nc = ScatterElements<axis=1>(x, j, v)\nd = ScatterElements<axis=0, reduction=\"max\">(x, k, v)",
                dict(x=numbers("float32", 4, 6), i=np.array([[1], [-1], [0]]), u=numbers("float32", 3, 6), j=np.array([[1, -2], [0, 3]]),
                     k=np.array([[1, 2], [1, -1]]), v=numbers("float32", 2, 2)), dict.fromkeys("abcd", "float32")),
    "scatter_rows": ("e = Expand(i, s)\na = ScatterElements<axis=0, reduction=\"add\">(x, e, u)\nb = ScatterElements<axis=0, reduction=\"max\">(x, e, u)\nf = Tile(j, r)\n"
                     "c = ScatterElements<axis=0>(x, f, v)\nd = ScatterND<reduction=\"add\">(k, i, l)\ng = GatherElements<axis=0>(x, e)",
                     dict(x=numbers("float32", 5, 23), i=numbers("int64", 9, 1, low=-5, high=5), u=numbers("float32", 9, 23), j=np.array([[1], [-1], [0]], np.int32),
                          v=numbers("float32", 3, 23), k=numbers("int64", 5, 19), l=numbers("int64", 9, 19)),
                     dict(a="float32", b="float32", c="float32", d="int64", g="float32"), dict(s=[9, 23], r=[1, 23])),
    "scatter_inner_rows": ("e = Expand(i, s)\na = ScatterElements<axis=1, reduction=\"add\">(x, e, u)\nb = GatherElements<axis=1>(x, e)\n"
                           "f = Expand(i, t)\nc = GatherElements<axis=1>(x, f)\ng = Expand(j, s)\nd = GatherElements<axis=1>(x, g)",
                           dict(x=numbers("float32", 2, 5, 3, 7), i=numbers("int64", 2, 6, 1, 1, low=-5, high=5), u=numbers("float32", 2, 6, 3, 7),
                                j=numbers("int64", 1, 6, 3, 1, low=-5, high=5)),
                           dict.fromkeys("abcd", "float32"), dict(s=[2, 6, 3, 7], t=[2, 6, 3, 4])),
    "scatter_of_constants": ("a = ScatterElements<axis=1>(w, i, v)\nb = Add(x, a)\nc = ScatterElements(k, j, l)\nd = Add(z, c)", dict(x=numbers("float32", 4, 6), z=numbers("int64", 5)),
                             dict(b="float32", d="int64"), dict(w=numbers("float32", 4, 6), i=np.array([[1, -2], [0, 3]]), v=numbers("float32", 2, 2), k=np.arange(5),
                                                                j=[-1, 0], l=[70, 80])),
    "one_hot": ("a = OneHot(i, n, v)\nc = OneHot<axis=1>(j, o, v)\nb = OneHot<axis=0>(i, n, w)", dict(i=numbers("int64", 3, 4), j=np.round(numbers("float32", 5)), v=numbers("float32", 2)),
                dict(a="float32", c="float32", b="int64"), dict(n=[6], o=np.float32([4]), w=[2, 5])),
    "arguments": ("a = ArgMax(x)\nb = ArgMin<axis=1, keepdims=0>(x)\nc = ArgMax<axis=-1, select_last_index=1>(z)\nd = ArgMin<axis=1, select_last_index=1>(z)",
                  dict(x=numbers("float32", 5, 6, 7), z=numbers("int32", 5, 6, 7, low=-2, high=2)), dict.fromkeys("abcd", "int64")),
    "top_k": ("a, b = TopK(x, k)\nc, d = TopK<axis=1, largest=0>(z, k)", dict(x=numbers("float32", 3, 6, 9), z=numbers("int64", 3, 6, 9, low=-2, high=2)),
              dict(a="float32", b="int64", c="int64", d="int64"), dict(k=[4])),
    "cumulative": ("a = CumSum(x, k)\nb = CumSum<reverse=1>(z, l)\nc = CumSum<exclusive=1, reverse=1>(z, k)",
                   dict(x=numbers("float32", 4, 9), z=numbers("int64", 4, 9)), dict(a="float32", b="int64", c="int64"), dict(k=np.int32(1), l=np.int32(0))),
    "triangles": ("a = Trilu(x)\nb = Trilu<upper=0>(z, k)\nc = EyeLike<k=1>(z)\nd = EyeLike<dtype=1>(z)", dict(x=numbers("float32", 2, 5, 6), z=numbers("int64", 5, 6)),
                  dict(a="float32", b="int64", c="int64", d="float32"), dict(k=np.int64(-1))),
    "reductions": ("a = ReduceSum<keepdims=0>(x, k)\nb = ReduceMax(x, k)\nc = ReduceMin(x)\nd = ReduceProd<keepdims=0>(x, k)\ne = ReduceSumSquare(x, k)\nf = ReduceL1(x, k)",
                   dict(x=numbers("int32", 4, 3, 5, low=-2, high=3)), dict.fromkeys("abcdef", "int32"), dict(k=[0, 2])),
    "powers": ("a = Pow(x, z)\nb = Pow(x, k)\nc = Pow(w, z)", dict(x=numbers("int64", 5, 9), z=numbers("int64", 9, low=0, high=12), w=numbers("int32", 5, 1, low=-4, high=4)),
               dict(a="int64", b="int64", c="int32"), dict(k=np.int64(3))),
    "masks_of_constants": ("r = Range(o, n, l)\nc = Unsqueeze(r, l1)\nm = LessOrEqual(r, c)\na = Where(m, x, s)\nh = Shape(x)\nq = Equal(h, t)\n"
                           "w = Where(q, f, h)\nb = Expand(s, w)", dict(x=numbers("float32", 5, 5)), dict(a="float32", b="float32"),
                           dict(o=0, n=5, l=1, l1=[1], s=np.float32(-1e9), t=[5, 7], f=[2, 2])),
}


@pytest.mark.parametrize("name", CASES)
def test_operators(name):
    check(*CASES[name])


def test_types_at_the_interface(tmp_path):
    """In the header, for octet-run, in Python."""
    feeds = {"ids": numbers("int64", 3), "mask": np.array([True, False, True]), "half": numbers("float16", 3), "wide": numbers("float64", 3)}
    model = make_network("w = Where(mask, ids, k)\nh = Mul(half, half)\nd = Identity(wide)", {n: (a.dtype.name, a.shape) for n, a in feeds.items()},
                         {"w": "int64", "h": "float16", "d": "float64"}, {"k": np.array([7])})
    (tmp_path / "net.onnx").write_bytes(model)
    subprocess.run([BIN / "octet-compile", "net.onnx", "--float", "-o", "net.so"], cwd=tmp_path, check=True)
    subprocess.run([BIN / "octet-compile", "net.onnx", "--float", "--emit=obj", "-o", "net.o"], cwd=tmp_path, check=True)
    header = (tmp_path / "net.h").read_text()
    for line in ("inputs[0]: int64_t ids[3]", "inputs[1]: uint8_t (0 or 1) mask[3]", "inputs[2]: uint16_t (bits of float16) half[3]",
                 "inputs[3]: double wide[3]", "outputs[0]: int64_t w[3]"):
        assert line in header
    np.savez(tmp_path / "in.npz", **feeds)
    expected = {"w": np.where(feeds["mask"], feeds["ids"], 7), "h": feeds["half"] * feeds["half"], "d": feeds["wide"].astype(np.float32).astype(np.float64)}
    np.savez(tmp_path / "expected.npz", **expected)
    command = [BIN / "octet-run", "net.so", "--input", "in.npz", "--output", "out.npz", "--expect", "expected.npz"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0 and result.stdout.count(": 0 of 3 elements differ") == 3, result.stdout + result.stderr
    result = subprocess.run([BIN / "octet-run", "net.so", "--benchmark"], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    network = octet.load(tmp_path / "net.so")
    assert [tensor.dtype.name for tensor in network.inputs] == ["int64", "bool", "float16", "float64"]
    for name, array in network.run(feeds).items():
        assert is_same(array, expected[name]) and is_same(np.load(tmp_path / "out.npz")[name], expected[name])
    with pytest.raises(octet.InputError, match=r"int64\[3\].*astype\(numpy.int64\)"):
        network.run({**feeds, "ids": feeds["ids"].astype(np.int32)})


def test_bfloat16_is_given_as_bits():
    """NumPy lacks the type: its numbers are the upper halves of those of float32."""
    x = np.array([1, -2.5, 3e38, 1e-40, np.nan], np.float32).view(np.uint32)
    network = octet.compile(make_network("y = Add(x, x)", {"x": (TensorProto.BFLOAT16, [5])}, {"y": TensorProto.BFLOAT16}))
    assert network.inputs[0].dtype == np.uint16
    got = network.run({"x": (x >> 16).astype(np.uint16)})["y"].astype(np.uint32) << 16
    expected = 2 * (x & 0xFFFF0000).view(np.float32)
    np.testing.assert_array_equal(got.view(np.float32), expected)


@pytest.mark.parametrize("kind", ["uint64", TensorProto.STRING])
def test_types_that_cannot_be_given(kind):
    with pytest.raises(octet.CompileError, match='the input "x" is a tensor of .*; export the network with inputs that are tensors of'):
        octet.compile(make_network("y = Cast<to=1>(x)", {"x": (kind, [3])}, {"y": "float32"}))


@pytest.mark.parametrize("nodes, message", [
    ("y = Sqrt(i)", "Sqrt.*operands of INT64"), ("y = Add(i, x)", "Add expected elements of one type, but got 'i64' and 'f32'"),
    ("y = And(x, x)", "And expected integers, but got 'f32'"), ("y = Gather(x, x)", "Gather has floats as indices; expected integers"),
    ("y = Cast<to=8>(x)", "Cast.*a cast to STRING"),
    ("y = Concat<axis=0>(x, i)", "Concat has inputs of different types"), ("k, y = TopK(x, i)", "a number of elements computed at run time"),
    ("k, y = TopK(x, ones)", "TopK has 2 numbers of elements; expected one"), ("y = CumSum(x, ones)", "CumSum has 2 axes; expected one"),
    ("y = OneHot(i, ones, x)", "OneHot needs one depth and two values"), ("y = Trilu(x)", "Trilu needs one diagonal and matrices"),
    ("y = EyeLike(x)", "EyeLike has an input of shape 3; expected a matrix"), ("y = GatherElements(x, m)", "GatherElements has indices of shape 2x2 into 3"),
    ("y = GatherND(x, m)", "GatherND has indices of shape 2x2 into 3"), ("y = ScatterND(x, t, x)", "ScatterND has updates of shape 3 for 2 indices"),
    ("j = ReduceMax(i)\ny = Slice(x, j, j)", "Slice.*a start or an end that is computed in the run; expected steps of 1"),
    ("j = Concat<axis=0>(i, i)\ny = Slice(x, i, j)", "Slice needs as many axes, ends and steps as starts"),
    ("j = ReduceMax(i)\nu = Concat<axis=0>(j, four)\nv = Add(u, ones)\ny = Slice(m2, u, v)", "Slice.*a window without elements"),
    ("j = ReduceMax(i)\nk = Add(j, four)\ny = Slice(x, j, k)", "Slice takes 4 elements of 3"),
    ("y = Pow(i, x)", "Pow.*an integer to a power that is none"), ("y = Pad(i, ones, big)", "Pad.*a constant_value of 1000000000"), ("y = Pad(i, ones, ones)", "Pad has 2 values as a constant_value; expected one")])
def test_refusals(nodes, message):
    constants = {"ones": [1, 1], "four": [4], "m2": np.zeros((9, 3), np.float32), "m": [[1, 1], [1, 1]], "t": [[0], [1]], "big": 10**9}
    with pytest.raises(octet.CompileError, match=message):
        octet.compile(make_network(nodes, {"x": ("float32", [3]), "i": ("int64", [3])}, {"y": "float32"}, constants))


def test_refusals_of_what_is_large_or_has_no_type():
    large = make_network("y = GatherElements<axis=1>(w, i)", {"i": ("int64", [8193, 8193])}, {"y": "float32"}, {"w": np.zeros((8193, 2), np.float32)})
    with pytest.raises(octet.CompileError, match="GatherElements.*indices of shape 8193x8193"):
        octet.compile(large)
    with pytest.raises(octet.CompileError, match="EyeLike.*a result of UINT64"):
        octet.compile(make_network("y = EyeLike<dtype=13>(x)", {"x": ("float32", [2, 2])}, {"y": "uint64"}))
    with pytest.raises(octet.CompileError, match='the output "y" is a constant of UINT64'):
        octet.compile(make_network("y = Identity(c)\nz = Relu(x)", {"x": ("float32", [2])}, {"y": "uint64", "z": "float32"}, {"c": np.uint64([1])}))


def test_a_piece_without_elements_is_omitted():
    """As in rotary embeddings that turn the whole head."""
    check("a, b = Split<axis=-1>(x, s)\nc = Neg(a)\ny = Concat<axis=-1>(c, b)", dict(x=numbers("float32", 2, 6)), dict(y="float32"), dict(s=[6, 0]))


@pytest.mark.parametrize("operator", ["y = ScatterElements<axis=0, reduction=\"add\">(z, e, x)", "y = GatherElements<axis=0>(x, e)"])
def test_indices_of_rows_need_no_table(operator, tmp_path):
    """As graph networks expand the ends of their edges: a position for each of 20 million elements would be too large a constant."""
    rows, columns = 60000, 384
    model = make_network("u = Unsqueeze(i, one)\ne = Expand(u, s)\n" + operator, {"x": ("float32", [rows, columns]), "i": ("int64", [rows])}, {"y": "float32"},
                         {"z": np.zeros((8, columns), np.float32), "one": np.array([1]), "s": np.array([rows, columns])})
    octet.compile(model).save(tmp_path / "net.so")
    assert (tmp_path / "net.so").stat().st_size < 1e6


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("nodes", ["y = Gather<axis=0>(w, i)", "y = GatherElements<axis=0>(w, i)", "y = ScatterElements<axis=0>(w, i, w)",
                                   "j = Reshape(i, all)\nk = Unsqueeze(j, one)\ny = ScatterND(q, k, v)"])
def test_an_index_outside_ends_the_run(nodes, threads, tmp_path):
    """In Python with an exception, for octet-run and for C with a code; the next run goes well."""
    constants = {"w": numbers("float32", 4, 3), "q": numbers("float32", 4, 40), "v": numbers("float32", 12, 40), "all": np.array([-1]), "one": np.array([1])}
    model = make_network(nodes, {"i": ("int64", [4, 3])}, {"y": "float32"}, constants)
    network = octet.compile(model, threads=threads)
    good = {"i": numbers("int64", 4, 3, low=-4, high=4)}
    for bad in (4, -5, 2**62, -2**63):
        wrong = good["i"].copy()
        wrong[3, 1] = bad
        with pytest.raises(octet.Error, match="the operator 'y' met an index outside of the tensor that it points into"):
            network.run({"i": wrong})
        assert is_same(network.run(good)["y"], run_onnxruntime(model, good)[0])
    network.save(tmp_path / "net.so")
    np.savez(tmp_path / "in.npz", i=wrong)
    result = subprocess.run([BIN / "octet-run", tmp_path / "net.so", "--input", tmp_path / "in.npz"], capture_output=True, text=True)
    assert result.returncode == 1 and "the operator 'y' met an index outside" in result.stderr


def test_a_bank_of_filters_scattered_from_constants_is_weights():
    constants = {"z": np.zeros((6, 4), np.float32), "i": np.array([[0, 3], [2, 1]]), "u": numbers("float32", 2, 2)}
    model = make_network("w = ScatterElements<axis=1>(z, i, u)\ny = MatMul(x, w)", {"x": ("float32", [3, 6])}, {"y": "float32"}, constants)
    network = octet.compile(model, calibration_data={"x": numbers("float32", 4, 3, 6)})
    assert [row.operator for row in network.report] == ["nn.linear"]


def test_a_constant_index_outside_ends_the_run():
    constants = {"w": numbers("float32", 4), "i": np.array([4]), "u": numbers("float32", 1)}
    network = octet.compile(make_network("s = ScatterElements(w, i, u)\ny = Add(x, s)", {"x": ("float32", [4])}, {"y": "float32"}, constants))
    with pytest.raises(octet.Error, match="the operator 's' met an index outside"):
        network.run({"x": numbers("float32", 4)})


def make_encoder(uses_where, length=16, words=50, width=32, heads=4):
    """Embedding, one attention block with a mask, a mean over the words that are there."""
    weight = lambda *shape: (0.3 * RANDOM.standard_normal(shape)).astype(np.float32)  # noqa: E731
    size = width // heads
    constants = {"words": 3 * weight(words, width), "places": weight(1, length, width), "one": np.float32(1), "far": np.float32(-10000),
                 "scale": np.float32(size**-0.5), "split": [1, length, heads, size], "joined": [1, length, width], "inner": [1, 2], "last": [2], "middle": [1],
                 "half": np.float32(0.5), "root": np.float32(2**0.5), "least": np.float32(1e-9),
                 **{name: weight(width, width) for name in ("wq", "wk", "wv", "wo")}, "w1": weight(width, 2 * width), "b1": weight(2 * width), "w2": weight(2 * width, width),
                 **{name: 1 + weight(width) for name in ("g1", "g2")}, **{name: weight(width) for name in ("bq", "bo", "a1", "a2")}}
    mask = "b = Cast<to=9>(m)\nscores = Where(b, scaled, far)" if uses_where else "f = Cast<to=1>(m)\nleft = Sub(one, f)\noff = Mul(left, far)\nscores = Add(scaled, off)"
    return make_network(f"""
        e = Gather(words, ids)
        x = Add(e, places)
        m = Unsqueeze(mask, inner)
        q1 = MatMul(x, wq)
        q2 = Add(q1, bq)
        q3 = Reshape(q2, split)
        q = Transpose<perm=[0,2,1,3]>(q3)
        k1 = MatMul(x, wk)
        k2 = Reshape(k1, split)
        k = Transpose<perm=[0,2,3,1]>(k2)
        v1 = MatMul(x, wv)
        v2 = Reshape(v1, split)
        v = Transpose<perm=[0,2,1,3]>(v2)
        qk = MatMul(q, k)
        scaled = Mul(qk, scale)
        {mask}
        p = Softmax<axis=-1>(scores)
        c1 = MatMul(p, v)
        c2 = Transpose<perm=[0,2,1,3]>(c1)
        c3 = Reshape(c2, joined)
        o1 = MatMul(c3, wo)
        o = Add(o1, bo)
        r = Add(x, o)
        n = LayerNormalization<axis=-1>(r, g1, a1)
        h1 = MatMul(n, w1)
        h2 = Add(h1, b1)
        h3 = Div(h2, root)
        h4 = Erf(h3)
        h5 = Add(h4, one)
        h6 = Mul(h2, h5)
        h7 = Mul(h6, half)
        h = MatMul(h7, w2)
        s = Add(n, h)
        t = LayerNormalization<axis=-1>(s, g2, a2)
        u = Unsqueeze(mask, last)
        w = Cast<to=1>(u)
        tw = Mul(t, w)
        sum = ReduceSum<keepdims=0>(tw, middle)
        count = ReduceSum<keepdims=0>(w, middle)
        there = Max(count, least)
        y = Div(sum, there)""".replace("\n        ", "\n"), {"ids": ("int64", [1, length]), "mask": ("int64", [1, length])}, {"y": "float32"}, constants)


def make_texts(count, length=16, words=50):
    lengths = RANDOM.integers(3, length + 1, count)
    mask = (np.arange(length) < lengths[:, None]).astype(np.int64)
    return {"ids": (RANDOM.integers(1, words, (count, length)) * mask)[:, None], "mask": mask[:, None]}


@pytest.mark.parametrize("uses_where", [False, True])
def test_text_encoder(uses_where, tmp_path):
    model, texts, samples = make_encoder(uses_where), make_texts(20), make_texts(60)
    expected = np.stack([run_onnxruntime(model, {name: array[i] for name, array in texts.items()})[0] for i in range(20)])
    outputs = {}
    for name, data in (("float", None), ("int8", samples)):
        network = octet.compile(model, calibration_data=data)
        assert [tensor.dtype for tensor in network.inputs] == [np.int64, np.int64]
        outputs[name] = np.stack([network.run({key: array[i] for key, array in texts.items()})["y"] for i in range(20)])
    assert np.abs(outputs["float"] - expected).max() <= 1e-5 * np.abs(expected).max()
    cosines = [np.sum(a * b) / np.sqrt(np.sum(a * a) * np.sum(b * b)) for a, b in zip(outputs["int8"], expected)]
    assert 0.98 < min(cosines) < 1, min(cosines)
    rows = {row.operator: row for row in network.report}
    assert rows["nn.gather"].code == "OCT106" and not any(row.code == "OCT106" for row in network.report.refused)
    assert any(row.verdict.startswith("int8") for name, row in rows.items() if "nn.linear" in name)
    quantized = octet.compile(model, calibration_data=samples, quantized_io=True)
    assert [tensor.dtype for tensor in quantized.inputs] == [np.int64, np.int64]
    wrong = {"ids": samples["ids"].astype(np.int32), "mask": samples["mask"]}
    with pytest.raises(octet.InputError, match=r"expected int64, but got int32; convert the array with .astype\(numpy.int64\)"):
        octet.compile(model, calibration_data=wrong)


def test_samples_with_an_index_outside():
    samples = make_texts(3)
    samples["ids"][1, 0, 2] = 50
    with pytest.raises(octet.CompileError, match="'e' met an index outside of the tensor that it points into"):
        octet.compile(make_encoder(False), calibration_data=samples)


def test_code_of_an_index_outside(tmp_path):
    """From C: 2 and the number of the step."""
    network = octet.compile(make_network("a = Neg(x)\nb = Gather(a, i)\ny = Neg(b)", {"x": ("float32", [4]), "i": ("int64", [2])}, {"y": "float32"}))
    network.save(tmp_path / "net.so")
    library = ctypes.CDLL(str(tmp_path / "net.so"))
    entry = next(getattr(library, name) for name in (f"{network.name}_run",))
    create = getattr(library, f"{network.name}_create")
    create.restype = ctypes.c_void_p
    model = ctypes.c_void_p(create(1, None, None, ctypes.c_size_t(0)))
    x, i, y = np.ones(4, np.float32), np.array([0, 9]), np.zeros(2, np.float32)
    pointers = lambda *arrays: (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))  # noqa: E731
    assert entry(model, pointers(x, i), pointers(y)) == 3
    i[1] = 3
    assert entry(model, pointers(x, i), pointers(y)) == 0 and y.tolist() == [1, 1]
