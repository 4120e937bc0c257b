# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All that stands in the way of an import is reported at once, counted, in names that cannot forge a message."""

import subprocess

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from importing import BIN, expect_error, import_file, network  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402
from onnx_networks import make_network  # noqa: E402


def test_unsupported_operators_are_reported_at_once(tmp_path):
    model = make_network(
        "a = Unique<axis=0>(x)\nb = MaxPool<kernel_shape=[2,2], storage_order=2>(x)\n"
        'c = Relu(a)\nd = Pad<mode="symmetric">(x, n)\ne = NonZero(x)\nf = Tanh(x)\ng, y = BatchNormalization(x, s, s, s, s)\n'
        "i = Shrink<lambd=-1.0>(x)\nj = Celu<alpha=-1.0>(x)\nk = Celu<alpha=-2.0>(x)",
        outputs=("c", "b", "d", "e", "f", "y", "i", "j", "k"), constants={"w": (3, 3), "n": np.zeros(8, np.int64), "s": np.ones(3, np.float32)})
    model.graph.node.append(helper.make_node("Fancy", ["x"], ["h"], name="own", domain="com.example", depth=3))
    model.graph.output.append(helper.make_tensor_value_info("h", TensorProto.FLOAT, None))
    model.opset_import.append(helper.make_opsetid("com.example", 2))
    expect_error(
        tmp_path, model, "9 operators are not supported\n",
        '\n  node "a" (Unique, domain ai.onnx, opset 13): the shape of its result depends on data',
        '\n  node "b" (MaxPool, domain ai.onnx, opset 13): attribute storage_order=2',
        '\n  node "d" (Pad, domain ai.onnx, opset 13): attribute mode="symmetric"',
        '\n  node "e" (NonZero, domain ai.onnx, opset 13): the shape of its result depends on data',
        '\n  node "i" (Shrink, domain ai.onnx, opset 13): a negative lambd',
        '\n  2 nodes (Celu, domain ai.onnx, opset 13): an alpha that is not positive: "j", "k"\n',
        '\n  node "own" (Fancy, domain com.example, opset 2): no such operator here',
        'its result "y"', "\n  note: `octet-compile --list-operators` shows what is supported; nothing was written")


@pytest.mark.parametrize("line", ["y = ScatterND(x, j, u)", "y = ScatterND(x, i, v)", "y = ScatterND(x, j, e)", "y = Gather<axis=1>(x, k)"])
def test_rows_of_a_mask_are_refused_where_others_do_not_fit_them(tmp_path, line):
    """Indices and updates are chosen by one mask, and the updates are rows."""
    nodes = ("m = Greater(s, z)\np = NonZero(m)\nt = Transpose<perm=[1,0]>(p)\nk = Squeeze(t, one)\nj = Gather(i, k)\nv = Gather(u, k)\n"
             "h = Shape(t)\nn = Gather(h, zero)\nc = Unsqueeze(n, zero)\ne = Expand(z, c)\n" + line)
    model = make_network(nodes, inputs={"x": [5, 3], "s": [3], "u": [3, 3]}, constants={"z": np.float32(0), "one": np.int64([1]), "zero": np.int64([0]),
                                                                                     "i": np.int64([[0], [1], [2]])}, opset=18)
    expect_error(tmp_path, model, 'node "p" (NonZero, domain ai.onnx, opset 18): the shape of its result depends on data')


@pytest.mark.parametrize("line", ["y, , , c = Unique(i)", "y, , w, c = Unique<sorted=0>(i)\na = ScatterElements(z, y, c)\nb = Add(a, w)", "y, , , c = Unique(x)\na = ScatterElements(z, c, c)",
                                  "y, , , c = Unique(l)\na = ScatterElements(z, y, c)", "y, , , c = Unique<axis=1>(t)\na = ScatterElements(z, c, c)",
                                  "y, , , c = Unique(i)\nd = Slice(c, c, y)\na = ScatterElements(z, d, d)", "y, , , c = Unique(i)\na = ScatterElements(t, c, c)",
                                  "y, , , c = Unique(i)\nd, , , e = Unique(i)\na = ScatterElements(z, y, e)"])
def test_different_numbers_are_refused_where_they_are_not_composed(tmp_path, line):
    """Their number counts, or they are no integers, too many, along another axis, chosen by another operator."""
    model = make_network(line, inputs={"x": [4], "i": [4], "l": [1025], "t": [2, 3]}, constants={"z": np.zeros(9, np.int64)}, opset=18,
                         outputs=("y", "b")[-1:] if "b =" in line else ("a",) if "a =" in line else ("y",))
    for given in model.graph.input[1:]:
        given.type.tensor_type.elem_type = TensorProto.INT64
    expect_error(tmp_path, model, "(Unique, domain ai.onnx, opset 18): the shape of its result depends on data")


@pytest.mark.parametrize("nodes, remedy", [("", "d=0"), ("t = Not(d)\n", "d=1"), ("a = Not(d)\nt = Not(a)\n", "d=0"), ("t = And(d, d)\n", "")])
def test_training_that_is_asked_for_in_the_run(tmp_path, nodes, remedy):
    """The message says how the flag is given."""
    model = make_network(f"{nodes}y = Dropout(x, r, {'t' if nodes else 'd'})", inputs={"x": [4], "d": []}, constants={"r": np.float32(0.1)})
    model.graph.input[1].type.tensor_type.elem_type = TensorProto.BOOL
    expect_error(tmp_path, model, "training_mode computed at run time" + (f"; make it a constant with --input-value {remedy}\n" if remedy else "\n"))
    if remedy:
        assert import_file(tmp_path, model, f"--input-value={remedy}")[0].returncode == 0


def test_types_of_the_graph_are_not_those_of_names_in_functions(tmp_path):
    """Behind an obstacle in a function nothing is known; the graph's own tensor of that name is another."""
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17, "own": 1]>
        g (float[2,3] x) => (float[2,3] y) <float[7] a> { y = own.Block(x) }
        <domain: "own", opset_import: ["": 17]> Block (x) => (y) { a = NoSuchOperator(x) y = Add(x, a) }""")
    expect_error(tmp_path, model, "error: 1 operator is not supported\n", 'node "a" (NoSuchOperator')


@pytest.mark.parametrize("output", ["p", "t", "g", "y"])
def test_elements_of_a_mask_are_refused_where_their_number_counts(tmp_path, output):
    model = make_network("m = Greater(x, z)\np = NonZero(m)\nt = Transpose<perm=[1,0]>(p)\ng = GatherND(x, t)\ny = ReduceSum(g)", outputs=(output,),
                         constants={"z": np.float32(0)})
    expect_error(tmp_path, model, 'node "p" (NonZero, domain ai.onnx, opset 13): the shape of its result depends on data')


def test_random_numbers_are_refused(tmp_path):
    nodes = "a = RandomNormalLike(x)\nb = RandomUniform<shape=[2]>()\nc = Bernoulli(x)\nd = com.microsoft.NonZero(x)"
    model = make_network(nodes, opset=15, outputs=tuple("abcd"))
    expect_error(tmp_path, model, "(RandomNormalLike, domain ai.onnx, opset 15): its result is random", "(RandomUniform, domain ai.onnx, opset 15): its result is random",
                 "(Bernoulli, domain ai.onnx, opset 15): its result is random", "(NonZero, domain com.microsoft, opset 1): no such operator here")


def test_windows_have_up_to_three_dimensions(tmp_path):
    model = make_network("a = Conv(x, w)\nb = MaxPool<kernel_shape=[2,2,2,2]>(x)\nc = Conv<group=2>(v, u)\nd = Conv(v, v)\ne = Conv(t, t)", outputs=tuple("abcde"),
                         inputs={"x": [1, 3, 4, 4, 4, 4], "v": [1, 3, 4, 4, 4], "t": [1, 1, 33, 32]}, constants={"w": (2, 3, 1, 1, 1, 1), "u": (2, 3, 1, 2, 2)})
    expect_error(tmp_path, model, "a convolution over 4 dimensions", "a pool over 4 dimensions", "3 input channels in 2 groups and a filter of shape 2x3x1x2x2",
                 "a filter over three dimensions that is no constant", "a filter of more than 1024 taps that is no constant")


def test_equal_obstacles_are_counted_on_one_line(tmp_path):
    nodes = "\n".join(f"a{i} = NonZero(x)\nb{i} = Celu<alpha=-1.0>(x)" for i in range(23)) + "\ny = Sum(" + ", ".join(
        f"a{i}, b{i}" for i in range(23)) + ")"
    result, _ = import_file(tmp_path, make_network(nodes))
    assert result.stderr.splitlines() == [
        f"{tmp_path / 'net.onnx'}: error: 46 operators are not supported",
        "  23 nodes (NonZero, domain ai.onnx, opset 13): the shape of its result depends on data: "
        + ", ".join(f'"a{i}"' for i in range(8)) + " and 15 more",
        "  23 nodes (Celu, domain ai.onnx, opset 13): an alpha that is not positive: "
        + ", ".join(f'"b{i}"' for i in range(8)) + " and 15 more",
        "  note: `octet-compile --list-operators` shows what is supported; nothing was written"]


def test_obstacles_of_every_kind_are_reported_at_once(tmp_path):
    """An invalid node, an input of another type and one of unknown shape end neither the list nor each other."""
    model = make_network(
        "a = Conv<strides=[0,1]>(x, w)\nb = NonZero(a)\nc = Transpose<perm=[0,0]>(r)\nd = Relu(ids)\n"
        "e = Gather(w, ids)\nf = NoSuchOperator(open)\ng = Add(x, s)\ny = Relu(x)",
        outputs=tuple("abcdefgy"), constants={"w": (4, 3, 3, 3), "r": (3, 3), "s": (2, 2)},
        inputs={"x": [1, 3, 8, 8], "ids": [4], "open": ["N", 2]})
    model.graph.input[1].type.tensor_type.elem_type = TensorProto.UINT64
    model.graph.initializer[2].data_type = TensorProto.STRING
    expect_error(
        tmp_path, model,
        "error: 2 operators are not supported, 2 nodes are invalid, 2 inputs cannot be used, 1 initializer cannot be used\n",
        '\n  node "b" (NonZero, domain ai.onnx, opset 13): the shape of its result depends on data',
        '\n  node "f" (NoSuchOperator, domain ai.onnx, opset 13): no such operator here',
        '\n  node "a": Conv has a value below 1 in strides', '\n  node "c": Transpose names an axis twice',
        '\n  the input "ids" is a tensor of UINT64; export the network with inputs that are tensors of float32, int64 or bool',
        '\n  the input "open" has the shape Nx2; give all its dimensions with --input-shape open=1x...',
        '\n  the initializer "s" has the element type STRING, which is not supported')


def test_import_goes_on_with_what_the_file_says_of_results(tmp_path):
    """Behind an operator that is not supported: by the types in the file. What does not fit those is no obstacle of its own."""
    model = make_network(
        "a = NoSuchOperator(x)\nb = MaxPool<kernel_shape=[2,2], storage_order=2>(a)\nc = Conv(a, w)\nd = Resize(a, none, s)\n"
        "e = NoSuchOperator(s)\nf = Resize(x, none, e)\ny = Relu(a)",
        outputs=tuple("bcdfy"), constants={"w": (4, 5, 3, 3), "s": np.float32([1, 1, 2, 2]), "none": np.float32([])})
    model.graph.value_info.append(helper.make_tensor_value_info("a", TensorProto.FLOAT, [1, 3, 8, 8]))
    expect_error(tmp_path, model, "3 operators are not supported\n", '\n  2 nodes (NoSuchOperator, domain', '"a", "e"', '\n  node "b" (MaxPool')


def test_unread_nodes_and_initializers_are_no_obstacles(tmp_path):
    model = make_network("a = NoSuchOperator(x)\nb = Relu(a)\nc = Conv(x, s)\ny = Relu(x)", constants={"s": (2, 2)})
    model.graph.initializer[0].data_type = TensorProto.STRING
    assert import_file(tmp_path, model)[0].returncode == 0


def test_unread_constants_take_no_memory(tmp_path, measure_peak):
    """24 constants of 2^26 elements, 256 MiB each; none is made."""
    lines = "\n".join(f"k{i} = ConstantOfShape(n)" for i in range(24))
    model = make_network(lines + "\ny = Relu(x)", constants={"n": np.array([1 << 26])})
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    assert measure_peak([BIN / "octet-translate", "--import-onnx", tmp_path / "net.onnx", "-o", "/dev/null"]) == (0, pytest.approx(0, abs=300 << 20))


def test_sum_of_computed_constants_is_bounded(tmp_path, measure_peak):
    """Of 24 constants of 2^26 elements that are read, the second is one too many, and no third is made."""
    lines = "\n".join(f"k{i} = ConstantOfShape(n)" for i in range(24))
    sums = "\n".join(f"a{i + 1} = Add(a{i}, k{i})" for i in range(24)).replace("a0", "x").replace("a24", "y")
    model = make_network(lines + "\n" + sums, constants={"n": np.array([1 << 26])}, inputs={"x": [1]})
    expect_error(tmp_path, model, "1 operator is not supported", 'node "k1" (ConstantOfShape',
                 "a constant of shape 67108864; with it, the constants computed during the import would exceed their limit; store it in the file")
    assert measure_peak([BIN / "octet-translate", "--import-onnx", tmp_path / "net.onnx", "-o", "/dev/null"]) == (1, pytest.approx(0, abs=1 << 30))


# The mask of shifted windows, as networks compute it, and other constants behind it.
MASK = ("d = Sub(rows, columns)\nb = Equal(d, zero)\nn = Not(b)\nm = Where(n, least, d)\ne = Equal(m, zero)\nk = Where(e, zero, m)\n"
        "a = Add(x, k)\nl = LayerNormalization(a, gain)\nv = Conv(z, w)\ny = ReduceMax<keepdims=0>(l)\n")


def make_mask(size):
    numbers = np.arange(size, dtype=np.float32)
    constants = {"rows": numbers[None] // 9, "columns": numbers[:, None] // 9, "zero": np.float32(0), "least": np.float32(-100),
                 "gain": np.ones(size, np.float32), "w": (3, 2, 3, 3, 3)}
    return make_network(MASK, opset=17, inputs={"x": [1, size], "z": [1, 2, 4, 4, 4]}, outputs=("y", "v"), constants=constants)


def test_constants_that_are_gone_do_not_count(tmp_path):
    """Six of 3600x3600 are computed one after the other, of which four are there at a time."""
    result, _ = import_file(tmp_path, make_mask(3600))
    assert result.returncode == 0, result.stderr


def test_small_constants_behind_one_that_is_too_large_are_no_obstacles(tmp_path):
    expect_error(tmp_path, make_mask(7000), "1 operator is not supported", "a constant of shape 7000x7000; with it")


def test_names_cannot_forge_messages(tmp_path):
    """Terminal escapes, line ends and marks of direction in a name are escaped, and a long name is cut."""
    for name, shown in (("\x1b[2Jnode", r'"\x1B[2Jnode"'), ("a\nnet.onnx: forged", r'"a\x0Anet.onnx: forged"'),
                        ("\u202egnol", r'"\xE2\x80\xAEgnol"'), ('a"b\\', r'"a\"b\\"'), ("größe", '"größe"'),
                        ("n" * 100000, '"' + "n" * 120 + "...(99820 more)..." + "n" * 60 + '"')):
        model = make_network("a = NoSuchOperator(x)\ny = Relu(a)")
        model.graph.node[0].name = name
        expect_error(tmp_path, model, f"node {shown} (NoSuchOperator")
        model = network(inputs={"x": [1, 3, 8, 8], name: ["N", 3, 8, 8]})
        expect_error(tmp_path, model, f"the input {shown} has the shape")


def test_an_unknown_operator_is_named_not_its_attribute(tmp_path):
    model = make_network("y = RandomNormalLike<scale=3.0>(x)")
    expect_error(tmp_path, model, '1 operator is not supported\n  node "y" (RandomNormalLike, domain ai.onnx, opset 13): its result is random\n')


def test_missing_file(tmp_path):
    result = subprocess.run([BIN / "octet-translate", "--import-onnx", tmp_path / "none.onnx"], capture_output=True, text=True)
    assert result.returncode == 1 and "none.onnx" in result.stderr


def test_list_of_operators():
    result = subprocess.run([BIN / "octet-compile", "--list-operators"], capture_output=True, text=True, check=True)
    assert "\nConv " in result.stdout and "storage_order=0" in result.stdout and "dilations" in result.stdout
