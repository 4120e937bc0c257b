# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bad ONNX files: one clear message with place and remedy, exit code 1, no crash, nothing written."""

import os

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from importing import expect_error, import_file, network  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402
from onnx_networks import make_network  # noqa: E402


def test_good_file_is_imported(tmp_path):
    result, output = import_file(tmp_path, network())
    assert result.returncode == 0 and result.stderr == ""
    assert output.read_bytes()[:4] == b"ML\xefR"


def test_truncated(tmp_path):
    data = network().SerializeToString()
    for length in (0, 1, len(data) // 2, len(data) - 1):
        expect_error(tmp_path, data[:length], "is not an ONNX", "again")


def test_random_bytes(tmp_path):
    for seed in range(20):
        expect_error(tmp_path, np.random.default_rng(seed).bytes(100 + 37 * seed), "is not an ONNX")


def test_other_formats(tmp_path):
    for magic in (b"\x7fELF" + bytes(60), b"PK\x03\x04" + bytes(60), b"ML\xefR" + bytes(60), b"module {\n}\n"):
        expect_error(tmp_path, magic, "is not an ONNX")


def test_flipped_bytes_never_crash(tmp_path):
    data = bytearray(network().SerializeToString())
    random = np.random.default_rng(3)
    for _ in range(60):
        bad = bytearray(data)
        for position in random.integers(0, len(bad), 4):
            bad[position] = random.integers(0, 256)
        result, _ = import_file(tmp_path, bytes(bad))
        assert result.returncode in (0, 1), result.stderr


def test_cycle(tmp_path):
    expect_error(tmp_path, make_network("a = Add(x, b)\nb = Relu(a)\ny = Relu(b)"), "cycle", 'node "a"')


def test_unsorted_nodes_are_sorted(tmp_path):
    assert import_file(tmp_path, make_network("y = Relu(a)\na = Sigmoid(x)"))[0].returncode == 0


def test_missing_initializer(tmp_path):
    model = network()
    del model.graph.initializer[:]
    expect_error(tmp_path, model, 'node "c"', 'the tensor "w"', "no node, input or initializer defines it")


def test_undefined_output(tmp_path):
    expect_error(tmp_path, make_network("a = Relu(x)"), 'the tensor "y"')


@pytest.mark.parametrize("shape, message", [((-5, 3, 8, 8), "dimension -5"), ((1, 1 << 40, 1 << 40, 1 << 40), "product of at most")])
def test_input_dimensions(tmp_path, shape, message):
    expect_error(tmp_path, network(inputs={"x": list(shape)}), 'the input "x"', message)


@pytest.mark.parametrize("dims", [(-4, 3, 3, 3), (1 << 40, 1 << 40, 3, 3)])
def test_initializer_dimensions(tmp_path, dims):
    model = network()
    model.graph.initializer[0].dims[:] = dims
    expect_error(tmp_path, model, 'the initializer "w"', "must not be negative")


def test_byte_count(tmp_path):
    model = network()
    model.graph.initializer[0].raw_data = model.graph.initializer[0].raw_data[:-4]
    expect_error(tmp_path, model, 'the initializer "w" has 428 bytes', "needs 432")
    model.graph.initializer[0].CopyFrom(helper.make_tensor("w", TensorProto.FLOAT, [4, 3, 3, 3], [0.0] * 108))
    del model.graph.initializer[0].float_data[-1]
    expect_error(tmp_path, model, 'the initializer "w" has 107 values', "needs 108")


def test_element_type(tmp_path):
    model = network()
    model.graph.initializer[0].data_type = TensorProto.STRING
    expect_error(tmp_path, model, 'the initializer "w"', "STRING")
    model.graph.initializer[0].data_type = 77
    expect_error(tmp_path, model, 'the initializer "w"', "number 77")


def make_external(location, offset=None, length=None):
    model = network()
    tensor = model.graph.initializer[0]
    data = tensor.raw_data
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", offset), ("length", length)):
        if value is not None:
            tensor.external_data.add(key=key, value=str(value))
    return model, data


def test_external_data_beside_the_network(tmp_path):
    model, data = make_external("weights.bin", 16, 432)
    (tmp_path / "weights.bin").write_bytes(bytes(16) + data + bytes(5))
    assert import_file(tmp_path, model)[0].returncode == 0


def test_external_data_outside(tmp_path):
    folder = tmp_path / "net"
    folder.mkdir()
    (tmp_path / "secret.bin").write_bytes(bytes(432))
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    for location in ("../secret.bin", str(tmp_path / "secret.bin"), "link.bin"):
        expect_error(folder, make_external(location)[0], 'the initializer "w"', "outside the network's folder")


def test_external_data_that_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "weights.bin")
    expect_error(tmp_path, make_external("weights.bin")[0], 'the initializer "w"', "is not a regular file")


def test_external_data_damaged(tmp_path):
    expect_error(tmp_path, make_external("weights.bin")[0], "is not there; put it beside the network")
    (tmp_path / "weights.bin").write_bytes(bytes(100))
    expect_error(tmp_path, make_external("weights.bin")[0], "has 100 bytes", "needs 432")
    expect_error(tmp_path, make_external("weights.bin", 101)[0], 'offset "101"')
    expect_error(tmp_path, make_external("weights.bin", "far")[0], 'offset "far"')
    expect_error(tmp_path, make_external("weights.bin", 0, 432)[0], "432 bytes of a file that has 100")


@pytest.mark.parametrize("line, message", [
    ("y = Conv<strides=[0,1]>(x, w)", "below 1 in strides"),
    ("y = Conv<strides=[1]>(x, w)", "1 values in strides; expected 2"),
    ("y = Conv<kernel_shape=[5,5]>(x, w)", "kernel_shape 5x5, but a filter of 3x3"),
    ("y = Conv<group=2>(x, w)", "3 input channels in 2 groups"),
    ("y = ConvTranspose(x, w)", "3 input channels in 1 groups and a filter of shape 4x3x3x3"),
    ('y = ConvTranspose<auto_pad="SAME_UPPER", output_padding=[1,1]>(x, t)', "output_padding beside auto_pad"),
    ("y = ConvTranspose<group=2>(x, w)", "3 input channels in 2 groups"),
    ("y = ConvTranspose<strides=[65536,65536]>(x, t)", "strides of 65536x65536, which need a filter of 2x65536x65536x3x1x1 elements"),
    ("y = ConvTranspose<output_padding=[1]>(x, t)", "has output_padding 1; expected 2 sizes"),
    ("y = ConvTranspose<output_padding=[-1,0]>(x, t)", "not negative"),
    ("y = ConvTranspose<output_shape=[9]>(x, t)", "has output_shape 9; expected 2 sizes"),
    ("y = ConvTranspose<pads=[9,9,9,9]>(x, t)", "has a result of -8 elements along dimension 2"),
    ("y = ConvTranspose<kernel_shape=[5,5]>(x, t)", "kernel_shape 5x5, but a filter of 3x3"),
    ("y = ConvTranspose(x, t, v)", "has a bias of 4 values; expected 2"),
    ("y = Conv<dilations=[9,9]>(x, w)", "spans 19 of 8 padded elements"),
    ('y = Conv<strides="two">(x, w)', "of the wrong type"),
    ("y = Conv<pads=[1,1,4611686018427387904,1]>(x, w)", "out of range"),
    ("y = Conv(x)", "has 1 inputs; expected 2 to 3"),
    ("y = ConvTranspose(w, x)", "a filter that is no constant"),
    ("y = Conv<group=2>(x, x)", "has 3 input channels in 2 groups and a filter of shape 1x3x8x8"),
    ("y = Conv(x, x, x)", "has a bias of shape 1x3x8x8; expected 1 values"),
    ("y = Relu(x, x)", "has 2 inputs; expected 1"),
    ("y = Relu()", "has 0 inputs; expected 1"),
    ("y = MaxPool(x)", "lacks a kernel_shape"),
    ("y = MaxPool<kernel_shape=[0,2]>(x)", "expected positive sizes"),
    ("y = Transpose<perm=[0,0,1,2]>(x)", "names an axis twice"),
    ("y = Transpose<perm=[0,1]>(x)", "perm"),
    ("y = Concat<axis=7>(x, x)", "axis 7"),
    ("y = Concat(x, x)", "lacks its attribute 'axis'"),
    ("y, z = Split<axis=1>(x)", "splits 3 elements into 2 equal pieces"),
    ("y = PRelu(x, wide)", "has slopes of shape 5x3 for an input of shape 1x3x8x8"),
    ("y = PRelu(r, w)", "has slopes of shape 4x3x3x3 for an input of shape 3x3"),
    ("y = Resize(x, f, f, n)", "has both scales and sizes"),
    ("y = Add(x, w)", 'node "y": Add expected shapes that broadcast, but got [1, 3, 8, 8] and [4, 3, 3, 3]'),
    ("y = Sum(x, w, x)", 'node "y": Sum expected shapes that broadcast'),
    ("y = MatMul(x, w)", 'node "y": MatMul expected'),
    ("y = Gemm(r, r, w)", "adds a C of shape 4x3x3x3 to a product of shape 3x3"),
    ("y = Gemm(r, r, wide)", "adds a C of shape 5x3 to a product of shape 3x3"),
    ("y = Conv(x, w, i)", "has a bias of integers"),
    ("y = Relu<alpha=1, alpha=2>(x)", "has the attribute alpha twice"),
    ("y = Reshape(x, bad)", "cannot make the shape 0x-1x-1"),
    ("y = Reshape(x, odd)", "makes the shape 7x27 from 1x3x8x8"),
    ("y = Gemm(x, w)", "expected matrices"),
    ("y = Softmax<axis=-9>(x)", "axis -9"),
    ("y = Squeeze<axes=[1]>(x)", "removes the dimension 1"),
    ("y = ReduceSum<keepdims=0>(x, four)", "axis 4"),
    ("y = ReduceMax<axes=[1,-3]>(x)", "names an axis twice"),
    ("y = DepthToSpace<blocksize=2>(x)", "has blocks of 2 for an input of shape 1x3x8x8"),
    ("y = SpaceToDepth<blocksize=3>(x)", "has blocks of 3 for an input of shape 1x3x8x8"),
    ("y = SpaceToDepth(x)", "has blocks of 0"),
    ("y = Tile(x, four)", "has 1 repeats for an input of shape 1x3x8x8"),
    ("y = Tile(x, bad4)", "repeats of [1x0x1x1]"),
    ("y = Expand(x, odd)", "cannot expand 1x3x8x8 to 7x-1"),
    ("a = GlobalMaxPool(x)\nb = ReduceMax<axes=[1]>(a)\ny = Expand(b, bad4)", "a result without elements, of shape 1x0x1x1"),
    ("y = InstanceNormalization(x, v, v)", "has a scale or bias of shape 4; expected 3"),
    ("y = InstanceNormalization(x, , v)", "lacks its input 1"),
    ("y = InstanceNormalization(v, v, v)", "has an input of shape 4; expected two or more dimensions"),
    ("y = LRN(x)", "has size=0; expected 1 or more"),
    ("y = LpPool<kernel_shape=[2,2], p=0>(x)", "has p=0; expected 1 or more"),
    ("y = GlobalLpPool(r)", "has an input of shape 3x3; expected three or more dimensions"),
    ("y = LpNormalization<p=3>(x)", "attribute p=3"),
    ('y = Einsum<equation="ij,jk">(r, x)', 'has the equation "ij,jk", which does not fit its inputs'),
    ('y = Einsum<equation="ij->ik">(r)', 'has the equation "ij->ik"'),
    ('y = Einsum<equation="ij->ii">(r)', 'has the equation "ij->ii"'),
    ('y = Einsum<equation="i1->i">(r)', 'has the equation "i1->i"'),
    ('y = Einsum<equation="ii->i">(wide)', "has a label for dimensions of 5 and 3 elements"),
    ('y = Einsum<equation="ij,kj->ik">(x3, x2)', "Einsum expected matrices that multiply, but got [3, 3] and [2, 2]"),
    ("c = Cast<to=9>(x)\ny = Compress(x, c)", "a condition computed at run time, on which the result's shape depends"),
    ("y = Compress<axis=0>(x, bad4)", "a condition that holds for none of 1 elements, or for one behind them"),
    ("y = Compress<axis=4>(x, n)", "has the axis 4"),
    ("y = ReverseSequence(x, four)", "has an input of shape 1x3x8x8 and lengths of shape 1"),
    ("y = ReverseSequence<batch_axis=0>(x, four)", "has an input of shape 1x3x8x8 and lengths of shape 1"),
    ("y = Hardmax<axis=4>(x)", "has the axis 4"),
    ("k = Cast<to=7>(x)\ny = Mod<fmod=1>(x, k)", "has operands of different types"),
    ("y = MaxUnpool<kernel_shape=[2]>(x, x)", "has an input of shape 1x3x8x8 and positions of shape 1x3x8x8"),
    ("y = MaxUnpool<kernel_shape=[2,2]>(x, v)", "has an input of shape 1x3x8x8 and positions of shape 4"),
    ("k = Cast<to=7>(x)\ny = MaxUnpool<kernel_shape=[2,2]>(x, k, n)", "a result of shape 1x3x8x8"),
    ("y = Celu<alpha=-1.0>(x)", "an alpha that is not positive"),
    ("y = Shrink<lambd=-1.0>(x)", "a negative lambd"),
    ("y = PRelu(x, i8)", "has integers as slopes; expected floats"),
    ("y = Max(x, v)", "expected shapes that broadcast"),
    ('y = Pad<mode="reflect">(x, far)', "pads that repeat its input more than 256 times"),
    ('y = Pad<mode="edge">(x, farther)', "a result of shape"),
    ("y = BatchNormalization(x, v, v, v, v)", "expected 3 values"),
    ("y = Clip<min=1>(x)", "of the wrong type"),
    ("y = Constant<value_int=1, value_float=2.0>()", "exactly one value"),
])
def test_nonsense_node(tmp_path, line, message):
    constants = {"w": (4, 3, 3, 3), "v": (4,), "bad": np.array([0, -1, -1]), "odd": np.array([7, -1]),
                 "four": np.array([4]), "bad4": np.array([1, 0, 1, 1]), "i8": np.ones(8, np.int64), "x2": (2, 2), "x3": (3, 3),
                 "far": np.array([0] * 7 + [4000]), "farther": np.array([0] * 6 + [1 << 30] * 2),
                 "t": (3, 2, 3, 3), "r": (3, 3), "wide": (5, 3), "i": np.ones((1, 4), np.int64),
                 "f": np.ones(4, np.float32), "n": np.array([1, 3, 8, 8])}
    expect_error(tmp_path, make_network(line, opset=12, constants=constants), message)


def test_enormous_computed_constants(tmp_path):
    huge = {"n": np.array([1 << 20, 1 << 20]), "a": np.int64(0), "b": np.int64(1 << 60), "c": np.int64(1)}
    for line in ("k = ConstantOfShape(n)", "k = Range(a, b, c)", "k = Expand(c, n)"):
        expect_error(tmp_path, make_network(line + "\ny = Reshape(x, k)", constants=huge), 'node "k"')
    doubled = "\n".join(f"k{i + 1} = Concat<axis=0>(k{i}, k{i})" for i in range(40))
    expect_error(tmp_path, make_network(doubled + "\ny = Reshape(x, k40)", constants={"k0": np.zeros(1024, np.int64)}),
                 "the constants computed during the import would exceed their limit")


def test_positions_of_too_many_windows(tmp_path):
    model = make_network("y, k = MaxPool<kernel_shape=[3,3], pads=[1,1,1,1]>(x)", inputs={"x": [1, 1, 4096, 4096]}, outputs=("k",))
    expect_error(tmp_path, model, "positions of 4096x4096 windows")


def test_integer_division_by_zero(tmp_path):
    expect_error(tmp_path, make_network("k = Div(a, b)\ny = Reshape(x, k)", constants={"a": np.array([4]), "b": np.array([0])}),
                 'node "k": Div divides an integer by zero')


@pytest.mark.parametrize("line, opset, message", [
    ("y = BatchNormalization<training_mode=1>(x, v, v, v, v)", 15, "training_mode=1 on values computed at run time"),
    ("s = BatchNormalization<training_mode=1>(w, v, v, v, v)\ny = Add(x, s)", 15, "needs floats, and a scale of 8 elements"),
    ("s = BatchNormalization(w, v, v, v, v)\ny = Add(x, s)", 15, "needs floats, and a scale of 8 elements"),
    ("y = LayerNormalization<axis=4>(x, v)", 17, "has the axis 4; its input has 4 dimensions"),
    ("y = LayerNormalization(x, v)", 17, "has a scale or bias of shape 4 for an input of shape 1x3x8x8"),
    ("y = LayerNormalization<stash_type=11>(x, v)", 17, "attribute stash_type=11"),
    ("y = RMSNormalization(x, v)", 23, "has a scale or bias of shape 4 for an input of shape 1x3x8x8"),
    ("y = GroupNormalization<num_groups=2>(x, v, v)", 18, "has 3 channels in 2 groups"),
    ("y = GroupNormalization<num_groups=3>(x, v, v)", 21, "has a scale or bias of shape 4; expected 3"),
    ("y = LSTM<hidden_size=6>(q, q, q)", 14, "has weights of shape 1x8x6; expected 1x24x6"),
    ("y = LSTM<hidden_size=2>(q, q, w)", 14, "has recurrent weights of shape 1x8x3; expected 1x8x2"),
    ("y = LSTM<hidden_size=-1>(q, q, w)", 14, "has hidden_size=-1"),
    ("y = LSTM<hidden_size=2>(x, q, w)", 14, "has an input of shape 1x3x8x8 and weights of shape 1x8x6; expected three dimensions each"),
    ("z = Relu(q)\na = Identity(x)\nb = Reshape(a, m)\ny = RNN<hidden_size=8>(q, b, e)", 14, "weights that are no constants"),
    ("y = RNN<hidden_size=8>(q, q, e, , n)", 14, "has the lengths [0x1x2x3] of 8 sequences of at most 1 steps"),
    ("y = RNN<hidden_size=8>(q, q, e, , , q)", 14, "has an initial state of shape 1x8x6; expected 1x8x8"),
    ('y = RNN<hidden_size=8, activations=["Cube"]>(q, q, e)', 14, "the activation Cube"),
    ('y = RNN<hidden_size=8, activations=["Tanh", "Tanh"]>(q, q, e)', 14, "has 2 activations; expected 1"),
    ("y = RNN<hidden_size=8>(f, q, e)", 14, "a sequence of 8193 steps (at most 8192)"),
    ("y = Attention(x, x, k)", 23, "has queries, keys and values of shape 1x3x8x8, 1x3x8x8 and 1x3x5x8 with 3 and 3 heads"),
    ("y = Attention(q, q, q)", 23, "has queries, keys and values of shape 1x8x6, 1x8x6 and 1x8x6 with 0 and 0 heads"),
    ("y = Attention<q_num_heads=4, kv_num_heads=2>(q, q, q)", 23, "with 4 and 2 heads"),
    ("y = Attention(x, x, x, , k)", 23, "has keys or values of the past without the other"),
    ("y = Attention(x, x, x, , k, q)", 23, "has keys and values of the past of shape 1x3x5x8 and 1x8x6"),
    ("y = Attention(x, x, x, c)", 23, "has a mask of shape 9x4 for scores of shape 1x3x8x8"),
    ("y = Attention(x, x, x, , , , n)", 24, "has lengths of keys of shape 4 for 1 batches, or a past beside them"),
    ("y = RotaryEmbedding(q, c, c, p)", 23, "rotates 6 elements of an input of shape 1x8x6 with 0 heads"),
    ("y = RotaryEmbedding<rotary_embedding_dim=3>(x, c, c, p)", 23, "rotates 3 elements of an input of shape 1x3x8x8"),
    ("y = RotaryEmbedding(x, c, c)", 23, "has angles of shape 9x4; expected 8 times 4"),
    ("y = RotaryEmbedding(x, c, c, n)", 23, "has angles of shape 9x4 and 4 positions; expected 8 and rows of 4"),
    ("y = RotaryEmbedding(x, c, c, p)", 23, "has the position 9, but 9 rows of angles"),
    ("y = RotaryEmbedding(x, z, c, p)", 23, "has angles of shape 1x3x1x1 and 8 positions"),
])
def test_nonsense_in_new_opsets(tmp_path, line, opset, message):
    constants = {"v": (4,), "k": (1, 3, 5, 8), "q": (1, 8, 6), "n": np.arange(4), "c": (9, 4), "p": np.arange(2, 10).reshape(1, 8),
                 "w": (1, 8, 3), "e": (1, 8, 8), "m": np.array([1, 24, 8]), "f": (8193, 1, 6)}
    if "(x, z," in line:
        line = "z = GlobalMaxPool(x)\n" + line
    expect_error(tmp_path, make_network(line, opset=opset, constants=constants), message)


@pytest.mark.parametrize("variance, message", [
    ([1, -0.5, 1], "has the variance -0.500000 in channel 1; the file is damaged; export it again"),
    ([1, 1, float("nan")], "has the variance nan in channel 2"),
])
def test_variances_without_a_root(tmp_path, variance, message):
    constants = {"v": np.float32([1, 1, 1]), "variance": np.float32(variance)}
    expect_error(tmp_path, make_network("y = BatchNormalization(x, v, v, v, variance)", constants=constants), message)


def test_invalid_utf8(tmp_path):
    model = network()
    model.graph.node[0].name = "first__node"
    data = model.SerializeToString()
    expect_error(tmp_path, data.replace(b"first__node", b"first\xff\xfenode"), "the node name", "not valid UTF-8")


def test_duplicate_names(tmp_path):
    expect_error(tmp_path, make_network("y = Relu(x)\ny = Sigmoid(x)"), 'the tensor "y" is defined twice')
    model = network()
    model.graph.initializer.append(model.graph.initializer[0])
    expect_error(tmp_path, model, 'the initializer "w" is defined twice')
    model = network()
    model.graph.input.append(model.graph.input[0])
    expect_error(tmp_path, model, 'the input "x" is defined twice')


def test_opsets(tmp_path):
    for opset in (6, 1000):
        expect_error(tmp_path, network(opset=opset), f"opset {opset} is not supported", "version_converter")


def test_sparse_initializer(tmp_path):
    model = network()
    model.graph.sparse_initializer.add()
    expect_error(tmp_path, model, "sparse")


def test_input_type(tmp_path):
    model = network()
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.UINT64
    expect_error(tmp_path, model, 'the input "x" is a tensor of UINT64; export the network with inputs that are tensors of float32, int64 or bool')


def test_missing_dimension_names_input_and_flag(tmp_path):
    for shape in (["N", 3, 8, 8], [1, 3, None, "width"]):
        expect_error(tmp_path, network(inputs={"x": shape}), 'the input "x"', "--input-shape x=1x...")


def test_input_shape_flag(tmp_path):
    model = network(inputs={"x": ["N", 3, "H", 8]})
    assert import_file(tmp_path, model, "--input-shape=x=2x3x9x8")[0].returncode == 0
    expect_error(tmp_path, model, "N x 3 x H x 8".replace(" ", ""), "contradicts", flags=["--input-shape=x=1x4x8x8"])
    expect_error(tmp_path, model, "contradicts", flags=["--input-shape=x=1x3x8"])
    scalar = make_network("y = Relu(x)", inputs={"x": []})
    expect_error(tmp_path, scalar, 'the input "x" is a scalar, which --input-shape x=1 contradicts', flags=["--input-shape=x=1"])
    expect_error(tmp_path, model, 'names "z", but the inputs are "x"', flags=["--input-shape=z=1x3x8x8"])
    for bad in ("x", "x=", "x=1x-3x8x8", "x=1xax8x8", "=1x3x8x8"):
        expect_error(tmp_path, model, "expected a name and positive sizes, as in x=1x3x224x224", flags=["--input-shape=" + bad])
    expect_error(tmp_path, model, 'names "N", but the inputs are "x"', flags=["--input-shape=N=2x3,H=9"])
    expect_error(tmp_path, model, "Nx3xHx8", flags=["--input-shape=N=2"])
    expect_error(tmp_path, model, "contradicts", flags=["--input-shape=N=2,x=3x3x9x8"])
    namesakes = make_network("y = Relu(x)\nz = Relu(N)", inputs={"x": ["N", 3], "N": ["K"]}, outputs=("y", "z"))
    expect_error(tmp_path, namesakes, 'the input "x" has the shape Nx3', flags=["--input-shape=N=2"])
    expect_error(tmp_path, model, "twice", flags=["--input-shape=x=1x3x8x8", "--input-shape=x=2x3x8x8"])


def test_unknown_batch(tmp_path):
    model = network(inputs={"x": ["N", 3, 8, 8]})
    result, _ = import_file(tmp_path, model, "--unknown-batch=one")
    assert result.returncode == 0
    assert 'remark: the input "x" of shape Nx3x8x8 is imported with batch 1' in result.stderr
    expect_error(tmp_path, network(inputs={"x": ["N", 3, "H", 8]}), "--input-shape", flags=["--unknown-batch=one"])
    expect_error(tmp_path, model, "--input-shape", flags=["--unknown-batch=error"])
