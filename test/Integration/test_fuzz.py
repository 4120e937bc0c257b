# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A few random networks through the whole compiler; `test/Integration/fuzz.py` takes as many as one has time for."""
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "Python"))
octet = pytest.importorskip("octet")
onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
import exactness  # noqa: E402
import fuzz  # noqa: E402
import random_onnx  # noqa: E402
from onnx_networks import make_network  # noqa: E402


def test_same_seed_same_network():
    first, again, other = (random_onnx.make_random_model(seed).SerializeToString() for seed in (3, 3, 4))
    assert first == again != other


@pytest.fixture(scope="module")
def emulator(tmp_path_factory):
    return exactness.build_emulator(tmp_path_factory.mktemp("emulator")) if exactness.list_emulated() else None


@pytest.mark.parametrize("seed", range(10))
def test_random_network(seed, tmp_path, emulator):
    assert fuzz.check(octet, seed, tmp_path, emulator) == []


@pytest.mark.skipif(bool(exactness.why_no_arm()), reason=str(exactness.why_no_arm()))
@pytest.mark.parametrize("seed", range(10, 13))
def test_random_network_under_qemu(seed, tmp_path):
    assert fuzz.check(octet, seed, tmp_path, None, exactness.build_arm_driver(tmp_path)) == []


# Channels whose weights are so small that biases are far beyond 2^22 steps and beyond 2^24, where floats leave integers out.
FAR = """
a = Conv<group=16, pads=[1,1,1,1]>(x, w, b)
b1 = Relu(a)
c = Conv(b1, v, b)
y = Conv<pads=[1,1,1,1]>(c, u, b)
"""


@pytest.mark.skipif(bool(exactness.why_no_arm()), reason=str(exactness.why_no_arm()))
def test_sums_far_from_zero_under_qemu(tmp_path):
    rng = np.random.default_rng(7)
    sizes = np.geomspace(1e-6, 1, 16)[:, None, None, None]
    weights = {name: (sizes * rng.normal(size=shape)).astype(np.float32) for name, shape in (("w", (16, 1, 3, 3)), ("v", (16, 16, 1, 1)), ("u", (16, 16, 3, 3)))}
    model = make_network(FAR, inputs={"x": [1, 16, 9, 11]}, outputs=("y",), constants={**weights, "b": rng.normal(size=16).astype(np.float32)})
    path = tmp_path / "far.onnx"
    onnx.save(model, path)
    samples, feeds = fuzz.make_feeds(model, 0)
    assert [*fuzz.compare_int8(octet, path, samples, feeds, None, exactness.build_arm_driver(tmp_path))] == []


# Floats that only depthwise convolutions read have a scale per channel: behind a product, and where nothing joins the quantize.
FLOATS = """
a = Conv<pads=[1,1,1,1]>(x, w, b)
s = HardSwish(a)
m = Mul(s, k)
n = Add(m, k)
d = Conv<group=20, pads=[1,1,1,1]>(n, v, b)
p = Softmax<axis=1>(d)
e = Conv<group=20, strides=[2,2]>(p, v)
q = Exp(p)
f = Conv<group=20, strides=[2,2]>(q, v)
y = Add(e, f)
"""


@pytest.mark.skipif(bool(exactness.why_no_arm()), reason=str(exactness.why_no_arm()))
@pytest.mark.parametrize("size", [(9, 11), (16, 16), (3, 40)])
def test_floats_with_a_scale_per_channel(size, tmp_path, emulator):
    model = make_network(FLOATS, opset=14, inputs={"x": [1, 3, *size]}, constants={"w": (20, 3, 3, 3), "v": (20, 1, 3, 3), "b": (20,), "k": np.full(1, 0.25, np.float32)})
    path = tmp_path / "floats.onnx"
    onnx.save(model, path)
    samples, feeds = fuzz.make_feeds(model, 0)
    assert [*fuzz.compare_int8(octet, path, samples, feeds, emulator, exactness.build_arm_driver(tmp_path))] == []
    octet.quantize(path, calibration_data=samples).save_onnx(tmp_path / "quantized.onnx")
    nodes = onnx.load(tmp_path / "quantized.onnx").graph.node
    axes = [attribute.i for node in nodes if node.op_type == "QuantizeLinear" for attribute in node.attribute if attribute.name == "axis"]
    assert axes == [1, 1, 1]  # n, p and q


# A detector's outputs, patches of a vision transformer, a pixel shuffle; the images may have a border for other readers, rows
# of one pixel, and dimensions of size 1 in between.
MOVEMENT = """
a = Conv<pads=[1,1,1,1]>(x, w)
b = Conv<strides=[2,3]>(x, w)
c = Conv<kernel_shape=[3,3], pads=[0,0,0,0], strides=[1,9]>(x, w)
ra = Reshape(a, lines)
rb = Reshape(b, lines)
rc = Reshape(c, lines)
joined = Concat<axis=2>(ra, rb, rc)
boxes = Transpose<perm=[0,2,1]>(joined)
d = Conv<pads=[1,1,1,1]>(a, v)
rd = Reshape(d, lines)
patches = Transpose<perm=[0,2,1]>(rd)
re = Reshape(d, split)
te = Transpose<perm=[0,1,4,2,5,3]>(re)
shuffled = Reshape(te, image)
rf = Reshape(a, ones)
tf = Transpose<perm=[3,0,2,1,4]>(rf)
"""


def test_transposes_of_reshapes(tmp_path, emulator):
    constants = {"w": (8, 3, 3, 3), "v": (8, 8, 3, 3), "lines": np.int64([2, 8, -1]), "split": np.int64([2, 2, 2, 2, 9, 11]),
                 "image": np.int64([2, 2, 18, 22]), "ones": np.int64([2, 8, 9, 1, 11])}
    model = make_network(MOVEMENT, inputs={"x": [2, 3, 9, 11]}, outputs=("boxes", "patches", "shuffled", "tf"), constants=constants)
    path = tmp_path / "movement.onnx"
    onnx.save(model, path)
    samples, feeds = fuzz.make_feeds(model, 0)
    assert [*fuzz.compare_float(octet, path, model, feeds), *fuzz.compare_int8(octet, path, samples, feeds, emulator)] == []


# Slices of channels with scales of their own: behind convolutions, a sum and a depthwise convolution, strided, overlapping, moved,
# beside a depthwise reader of the whole value, and in a concatenation that rescales one of them.
PARTS = """
a = Conv<pads=[1,1,1,1]>(x, w)
b = Relu(a)
c, d, e = Split<axis=1>(b, sizes)
f = Conv(c, u)
g = MaxPool<kernel_shape=[2,2]>(d)
h = Conv(g, u)
i = Transpose<perm=[0,1,3,2]>(e)
j = Conv(i, v)
k = Conv<pads=[1,1,1,1]>(x, w)
kk = Conv<pads=[1,1,1,1]>(x, w)
l = Add(kk, k)
m = Slice(l, zero, eight, one, two)
n = Slice(l, four, sixteen, one, two)
o = Slice(l, one, eight, one, two)
p = Conv(m, t)
q = Conv(n, s)
r = Conv(o, t)
aa = Conv<group=16, pads=[1,1,1,1]>(k, z)
bb, cc, dd = Split<axis=1>(aa, sizes)
ee = Conv(cc, u)
ff = Concat<axis=1>(bb, cc, dd, cc)
gg = Conv(ff, y)
"""


def test_slices_of_channels(tmp_path, emulator):
    rng = np.random.default_rng(5)
    spread = np.repeat([200, 1, 20], (4, 4, 8)).astype(np.float32)[:, None, None, None]
    numbers = {"zero": 0, "one": 1, "two": 2, "four": 4, "eight": 8, "sixteen": 16}
    constants = {"w": spread * rng.normal(size=(16, 3, 3, 3)).astype(np.float32), "z": np.ones((16, 1, 3, 3), np.float32), "u": (5, 4, 1, 1),
                 "v": (5, 8, 1, 1), "t": (5, 4, 1, 1), "s": (5, 6, 1, 1), "y": (5, 20, 1, 1), "sizes": np.int64([4, 4, 8]),
                 **{name: np.int64([value]) for name, value in numbers.items()}}
    model = make_network(PARTS, inputs={"x": [2, 3, 9, 11]}, constants=constants, outputs=("f", "h", "j", "p", "q", "r", "ee", "gg"))
    path = tmp_path / "parts.onnx"
    onnx.save(model, path)
    samples, feeds = fuzz.make_feeds(model, 0)
    assert [*fuzz.compare_float(octet, path, model, feeds), *fuzz.compare_int8(octet, path, samples, feeds, emulator)] == []
    scales = {init.name: onnx.numpy_helper.to_array(init) for init in onnx.load(path.with_suffix(".qdq.onnx")).graph.initializer}
    quantized = [scales[node.input[1]] for node in onnx.load(path.with_suffix(".qdq.onnx")).graph.node if node.op_type == "QuantizeLinear"]
    # Of l, four channels are read by nobody.
    assert sorted(len(np.unique(array)) for array in quantized if array.size > 1) == [2, 3, 2 + 4]


# Scales and shifts behind activations, one for all channels or one each: dense, depthwise and grouped, few channels and many.
AFFINE = """
a = Conv<pads=[1,1,1,1]>(x, w)
b = HardSwish(a)
c = Mul(b, k)
d = Add(c, s)
e = Conv<group=72, pads=[1,1,1,1]>(d, u)
f = Relu(e)
g = Mul(k, f)
h = Add(channels, g)
i = Conv(h, v)
j = Tanh(i)
l = Div(j, k)
m = Conv<group=6, pads=[1,1,1,1]>(l, t)
n = Sub(s, m)
o = Conv<pads=[1,1,1,1]>(n, r)
p = GlobalAveragePool(o)
q = Flatten(p)
y = Gemm<transB=1>(q, z)
"""


def test_affine_behind_activations(tmp_path, emulator):
    rng = np.random.default_rng(5)
    constants = {"w": (72, 3, 3, 3), "u": (72, 1, 3, 3), "v": (6, 72, 1, 1), "t": (6, 1, 3, 3), "r": (20, 6, 3, 3), "z": (5, 20),
                 "k": np.float32([1.7]), "s": np.float32(-0.3), "channels": rng.normal(size=(72, 1, 1)).astype(np.float32)}
    model, path = make_network(AFFINE, inputs={"x": [2, 3, 9, 11]}, constants=constants, opset=14), tmp_path / "affine.onnx"
    onnx.save(model, path)
    samples, feeds = fuzz.make_feeds(model, 0)
    assert [*fuzz.compare_float(octet, path, model, feeds), *fuzz.compare_int8(octet, path, samples, feeds, emulator)] == []


# Both directions, lengths, a layer behind another, a step that reads two products, and a sum with what goes in.
RECURRENT = """
a, ah, ac = LSTM<hidden_size=12, direction="bidirectional">(x, w4, r4, b4, lengths)
t = Transpose<perm=[0,2,1,3]>(a)
b = Reshape(t, rows)
c, ch = GRU<hidden_size=12, linear_before_reset=1>(b, w3, r3, b3)
d = GRU<hidden_size=12>(b, w3, r3)
e, eh = RNN<hidden_size=12>(b, w1, r1)
f = Add(c, e)
g = Add(f, d)
y = Relu(g)
"""


def test_recurrences(tmp_path, emulator):
    constants = {"w4": (2, 48, 6), "r4": (2, 48, 12), "b4": (2, 96), "w3": (1, 36, 24), "r3": (1, 36, 12), "b3": (1, 72), "w1": (1, 12, 24), "r1": (1, 12, 12),
                 "lengths": np.int32([7, 4]), "rows": np.int64([7, 2, 24])}
    model, path = make_network(RECURRENT, inputs={"x": [7, 2, 6]}, constants=constants, outputs=("y", "ac", "eh"), opset=14), tmp_path / "recurrent.onnx"
    onnx.save(model, path)
    samples, feeds = fuzz.make_feeds(model, 0)
    arm_driver = None if exactness.why_no_arm() else exactness.build_arm_driver(tmp_path)
    assert [*fuzz.compare_float(octet, path, model, feeds), *fuzz.compare_int8(octet, path, samples, feeds, emulator, arm_driver)] == []


def make_model(operator):
    tensor = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph([onnx.helper.make_node(operator, ["x"], ["y"])], "one", [tensor("x", onnx.TensorProto.FLOAT, [1, 8])],
                                   [tensor("y", onnx.TensorProto.FLOAT, [1, 8])])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)


def test_a_constant_that_is_quantized_as_a_value(tmp_path, emulator):
    """Behind a transposition the constant is no weight: the product is that of two activations."""
    rng = np.random.default_rng(0)
    model = make_network('y = Einsum<equation="bij,kj->bik">(x, c)', inputs={"x": [1, 10, 6]}, constants={"c": rng.normal(size=(7, 6)).astype(np.float32)})
    path = tmp_path / "net.onnx"
    onnx.save(model, path)
    assert list(fuzz.compare_int8(octet, path, *fuzz.make_feeds(model, 0), emulator)) == []


def test_a_wrong_network_is_noticed(tmp_path):
    model, path = make_model("Relu"), tmp_path / "neg.onnx"
    onnx.save(make_model("Neg"), path)
    _, feeds = fuzz.make_feeds(model, 0)
    assert len(list(fuzz.compare_float(octet, path, model, feeds))) == len(feeds)


def test_sigmoid_of_onnxruntime_is_not_blamed(tmp_path):
    """exp(-a) * sigmoid(a) is 1 where a is far below zero; onnxruntime's own Sigmoid is 0 there."""
    lines = "a = Mul(x, c)\nn = Neg(a)\ne = Exp(n)\ns = Sigmoid(a)\ny = Mul(e, s)"
    model, path = make_network(lines, inputs={"x": [1, 64]}, constants={"c": np.float32(8)}), tmp_path / "sigmoid.onnx"
    onnx.save(model, path)
    _, feeds = fuzz.make_feeds(model, 0)
    assert list(fuzz.compare_float(octet, path, model, feeds)) == []


def test_ties_are_not_blamed(tmp_path):
    """Where last bits decide, either integer is right; a third one is wrong, and so is another number beside a tie."""
    model, path = make_network("a = Mul(x, c)\ny = Floor(a)", inputs={"x": [1, 3]}, constants={"c": np.float32(0.1)}), tmp_path / "ties.onnx"
    onnx.save(model, path)
    feeds = [{"x": np.float32([[10, 14, 30]])}]

    class Given:
        def __init__(self, *numbers):
            self.numbers = np.float32([numbers])

        def compile(self, *_, **__):
            return self

        def run(self, _):
            return {"y": self.numbers}
    for numbers in ([1, 1, 3], [0, 1, 3], [1, 1, 2], [0, 1, 2]):
        assert list(fuzz.compare_float(Given(*numbers), path, model, feeds)) == []
    for numbers in ([2, 1, 3], [1, 2, 3], [1, 0, 3], [0, 1, 4], [0, 1, np.nan]):
        assert len(list(fuzz.compare_float(Given(*numbers), path, model, feeds))) == 1


def test_networks_together(tmp_path, emulator):
    """Networks of one opset, and those that choose scales in each run, in one file each."""
    batches = list(fuzz.take_batches(range(100), 8))
    assert sorted(seed for batch in batches for seed in batch) == list(range(100))
    static = next(batch for batch in batches if len(batch) > 3 and not any(map(fuzz.is_dynamic, batch.values())))
    dynamic = next(batch for batch in batches if all(map(fuzz.is_dynamic, batch.values())))
    for batch in (static, dynamic):
        model, samples, feeds = fuzz.join(batch)
        assert {value.name for value in model.graph.input} >= set(samples[0]) == set(feeds[0]) == {f"s{seed}.x" for seed in batch}
        assert fuzz.check_together(octet, batch, tmp_path, emulator) == {}


def test_a_wrong_network_among_others_is_found(tmp_path, monkeypatch):
    """Neg stands in the file where another network has Relu."""
    models = {seed: make_model(operator) for seed, operator in enumerate(["Tanh", "Neg", "Abs"])}
    monkeypatch.setattr(fuzz, "make_random_model", models.get)
    compile = octet.compile

    def miscompile(path, **options):
        model = onnx.load(path)
        for node in model.graph.node:
            node.op_type = node.op_type.replace("Neg", "Relu")
        onnx.save(model, path)
        return compile(path, **options)
    monkeypatch.setattr(octet, "compile", miscompile)
    assert list(fuzz.check_together(octet, models, tmp_path, None)) == [1]


def test_operators_are_counted(capsys):
    import collections
    fuzz.print_operators(collections.Counter({name: 2 for name in fuzz.list_operators(random_onnx.make_random_model(3).graph)}))
    counted, missing, _ = capsys.readouterr().out.split("\n")
    assert all(f"{node.op_type} 2" in counted for node in random_onnx.make_random_model(3).graph.node)
    assert "NonMaxSuppression" in missing and "operator," not in missing


def test_wrong_bytes_are_noticed(tmp_path, monkeypatch):
    path = tmp_path / "net.onnx"
    model = random_onnx.make_random_model(0)
    onnx.save(model, path)
    samples, feeds = fuzz.make_feeds(model, 0)
    run_reference = exactness.run_reference
    monkeypatch.setattr(exactness, "run_reference", lambda *args: [bytes([data[0] ^ 1]) + data[1:] for data in run_reference(*args)])
    assert len(list(fuzz.compare_int8(octet, path, samples, feeds, None))) >= 4
