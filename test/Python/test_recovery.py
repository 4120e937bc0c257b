# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules that win back what 8 bits cost, each on a network made for its cause, against the same backend without the rule."""
import re

import numpy as np
import pytest

octet = pytest.importorskip("octet")
pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from decibels import get_decibels  # noqa: E402
from onnx_networks import make_network  # noqa: E402

pytestmark = pytest.mark.usefixtures("compiler")


# ---- states --------------------------------------------------------------------------------------------------------------
SIZE = 24
STATES = 'octet.float_states because "a state that comes in and leaves again collects what 8 bits with one scale lose at every step"'

CELL = """
h = Slice(state, zero, size, one)
c = Slice(state, size, both, one)
a = Gemm<transB = 1>(x, w, b)
r = Gemm<transB = 1>(h, u)
s = Add(a, r)
i, f, g, o = Split<axis = 1>(s)
it = Sigmoid(i)
ft = Sigmoid(f)
gt = Tanh(g)
ot = Sigmoid(o)
kept = Mul(ft, c)
new = Mul(it, gt)
cn = Add(kept, new)
act = Tanh(cn)
hn = Mul(ot, act)
staten = Concat<axis = 1>(hn, cn)
y = Gemm<transB = 1>(hn, v)
"""


def make_cell():
    """An LSTM cell in small operators: hidden and cell state come in as one tensor and leave as one. Cells reach far beyond 1."""
    random = np.random.default_rng(3)
    bias = random.normal(0, 0.5, 4 * SIZE)
    bias[SIZE : 2 * SIZE] = 4
    constants = {"w": random.normal(0, 0.4, (4 * SIZE, SIZE)), "u": random.normal(0, 0.2, (4 * SIZE, SIZE)), "b": bias,
                 "v": random.normal(0, 0.3, (8, SIZE))}
    constants = {name: value.astype(np.float32) for name, value in constants.items()}
    integers = {"zero": np.array([0]), "size": np.array([SIZE]), "both": np.array([2 * SIZE]), "one": np.array([1])}
    return make_network(CELL, inputs={"x": [1, SIZE], "state": [1, 2 * SIZE]}, constants={**constants, **integers},
                        outputs=("y", "staten"))


def follow(model, seed, count=60):
    """All inputs, states and outputs of one sequence, the states as the model itself computes them."""
    random = np.random.default_rng(seed)
    state, inputs, states, outputs = np.zeros((1, 2 * SIZE), np.float32), [], [], []
    for _ in range(count):
        x = random.normal(0, 1, (1, SIZE)).astype(np.float32)
        inputs.append({"x": x, "state": state})
        got = model.run(inputs[-1])
        state = got["staten"]
        states.append(state)
        outputs.append(got["y"])
    return inputs, np.concatenate(states), np.concatenate(outputs)


def test_states_and_gates_stay_float(write_backend):
    network = make_cell().SerializeToString()
    floating = octet.compile(network)
    samples = [sample for seed in range(4) for sample in follow(floating, seed)[0]]
    _, states, outputs = follow(floating, 9)
    assert np.abs(states[:, SIZE:]).max() > 5

    def measure(backend):
        model = octet.compile(network, calibration_data=samples, backend=backend)
        _, own_states, own_outputs = follow(model, 9)
        return (get_decibels(outputs, own_outputs), get_decibels(states[:, SIZE:], own_states[:, SIZE:])), model.report

    (on, report), (off, off_report) = measure("cpu"), measure(write_backend(STATES, ""))
    assert on[0] > off[0] + 3 and on[1] > off[1] + 6, (on, off)
    codes = {row.name: row.code for row in report if row.code == "OCT107"}
    assert codes and "OCT107" not in [row.code for row in off_report]
    assert all(row.verdict.startswith("int8") for row in report if "nn.linear" in row.operator)
    assert all(row.verdict == "float" for row in report if "nn.linear" not in row.operator)


def make_sequence(operator, steps):
    """A recurrent operator over a whole sequence; an LSTM that rarely forgets, whose cells reach far beyond 1."""
    random, gates = np.random.default_rng(3), {"LSTM": 4, "GRU": 3}[operator]
    bias = random.normal(0, 0.5, (1, 2 * gates * SIZE))
    if operator == "LSTM":
        bias[:, 2 * SIZE : 3 * SIZE] = 4
    constants = {"w": random.normal(0, 0.4, (1, gates * SIZE, SIZE)), "r": random.normal(0, 0.2, (1, gates * SIZE, SIZE)), "b": bias}
    return make_network(f"y = {operator}<hidden_size = {SIZE}>(x, w, r, b)", inputs={"x": [steps, 1, SIZE]},
                        constants={name: value.astype(np.float32) for name, value in constants.items()}).SerializeToString()


@pytest.mark.parametrize("operator", ["LSTM", "GRU"])
def test_states_between_the_steps_of_a_sequence_stay_float(operator, write_backend, tmp_path):
    """Forty steps in one network: more accurate, and one step's code serves all of them."""
    network, random = make_sequence(operator, 40), np.random.default_rng(5)
    samples = [{"x": random.normal(size=(40, 1, SIZE)).astype(np.float32)} for _ in range(12)]
    expected = np.concatenate([octet.compile(network).run(sample)["y"] for sample in samples[8:]])

    def measure(backend):
        model = octet.compile(network, calibration_data=samples[:8], backend=backend, cpu_level="sse2")
        model.save(path := tmp_path / "net.so")
        got = np.concatenate([model.run(sample)["y"] for sample in samples[8:]])
        return get_decibels(expected, got), path.stat().st_size, model.report

    (on, on_bytes, report), (off, off_bytes, _) = measure("cpu"), measure(write_backend(STATES, ""))
    assert on > off + 1 and on_bytes < off_bytes / 2, (on, off, on_bytes, off_bytes)
    products = [row for row in report if row.operator.startswith("nn.linear")]
    assert sum(row.verdict.startswith("int8") for row in products) >= 39
    assert {row.verdict for row in report if row.code == "OCT107"} == {"float"}


CONVOLUTIONS = {
    "moved input, last sum, relu and softmax": """
        t = Transpose<perm = [0, 1, 3, 2]>(x)
        a = Conv(t, w)
        r = Relu(a)
        b = Conv(r, w)
        s = Add(a, b)
        q = Relu(s)
        p = Conv(q, w)
        z = Add(q, p)
        y = Softmax<axis = 1>(z)
        """,
    "residual around the network": """
        a = Conv(x, w)
        r = Relu(a)
        b = Conv(r, w)
        y = Add(x, b)
        """,
}


@pytest.mark.parametrize("nodes", CONVOLUTIONS.values(), ids=CONVOLUTIONS)
def test_convolutional_networks_have_no_state(nodes, write_backend, tmp_path):
    network = make_network(nodes, inputs={"x": [1, 4, 8, 8]}, constants={"w": (4, 4, 1, 1)}).SerializeToString()
    data = {"x": np.random.default_rng(0).normal(size=(6, 1, 4, 8, 8)).astype(np.float32)}
    libraries = []
    for backend in ("cpu", write_backend(STATES, "")):
        octet.compile(network, calibration_data=data, backend=backend).save(tmp_path / "net.so")
        libraries.append((tmp_path / "net.so").read_bytes())
    assert libraries[0] == libraries[1]


# ---- slices of channels --------------------------------------------------------------------------------------------------
PARTS = {
    "split": ("a, b = Split<axis = 1>(r)\np = Conv(a, u)\nq = Conv(b, u)", ("p", "q")),
    "slices": ("a = Slice(r, zero, half, one, one)\nb = Slice(r, half, all, one, one)\np = Conv(a, u)\nm = MaxPool<kernel_shape = [2, 2]>(b)\nq = Conv(m, u)",
               ("p", "q")),
    "split, concatenated behind a convolution": (
        "a, b = Split<axis = 1>(r)\nc = Conv<pads = [1, 1, 1, 1]>(b, u)\nm = Relu(c)\nj = Concat<axis = 1>(a, b, m)\np = Conv(j, t)\nq = Conv(m, u)", ("p", "q")),
}


@pytest.fixture
def no_scales_per_channel(source, tmp_path):
    """The path of the default mapping with one scale for each activation."""
    text = (source / "lib" / "Backend" / "backends" / "cpu_default_mapping.mlir").read_text()
    assert text.count(", channel_activation = #channels") == 1
    (tmp_path / "mapping.mlir").write_text(text.replace(", channel_activation = #channels", ""))
    return str(tmp_path / "mapping.mlir")


def make_parts(nodes, outputs, ranges):
    """A convolution whose lower and upper channels span different ranges, read in slices."""
    random = np.random.default_rng(5)
    w = random.normal(size=(16, 8, 1, 1))
    w *= np.repeat(ranges, 8)[:, None, None, None] / np.abs(w).sum((1, 2, 3), keepdims=True)
    constants = {"w": w.astype(np.float32), "u": (8, 8, 3, 3)}
    if "(j, t)" in nodes:
        constants["t"] = (8, 24, 1, 1)
    if "Slice" in nodes:
        constants |= {"zero": np.array([0]), "half": np.array([8]), "all": np.array([16]), "one": np.array([1])}
    return make_network("v = Conv(x, w)\nr = Relu(v)\n" + nodes, inputs={"x": [1, 8, 12, 12]}, constants=constants, outputs=outputs)


@pytest.mark.parametrize("ranges", [(252, 8), (8, 252), (252, 240)])
@pytest.mark.parametrize("nodes, outputs", PARTS.values(), ids=PARTS)
def test_slices_have_scales_of_their_own(nodes, outputs, ranges, no_scales_per_channel, write_backend, tmp_path):
    network = make_parts(nodes, outputs, ranges).SerializeToString()
    random = np.random.default_rng(1)
    data = {"x": random.uniform(-1, 1, (16, 1, 8, 12, 12)).astype(np.float32)}
    x = random.uniform(-1, 1, (1, 8, 12, 12)).astype(np.float32)
    expected = octet.compile(network)(x)

    def measure(model):
        got = model(x)
        return np.array([get_decibels(expected[name], got[name]) for name in outputs])

    model = octet.compile(network, calibration_data=data)
    static = {"qconfig_mapping": no_scales_per_channel, "backend": write_backend("octet-scale-each-run,", "")}
    on, off = measure(model), measure(octet.compile(network, calibration_data=data, **static))
    assert (on > off - 0.5).all() and on.min() > 30, (on, off)
    if min(ranges) == 8:
        assert on.min() > off.min() + 6, (on, off)
    assert all(row.verdict.startswith("int8") for row in model.report)
    model.save(tmp_path / "net.so")
    here = [level for level, is_possible in model._library.levels if is_possible]
    results = [octet.load(tmp_path / "net.so", cpu_level=level)(x) for level in here]
    assert all(np.array_equal(result[name], results[0][name]) for result in results for name in outputs)


# ---- weights too small to matter -----------------------------------------------------------------------------------------
def read_constant(text, name):
    """The values of a constant as a network's text has them."""
    return np.frombuffer(bytes.fromhex(re.search(rf'"?{re.escape(name)}"?: "0x[0-9A-F]{{8}}([0-9A-F]*)"', text)[1]), np.float32)


def is_subnormal(values):
    return (values != 0) & (np.abs(values) < np.finfo(np.float32).tiny)


def test_weights_that_cannot_matter_become_zero(compiler, tool, tmp_path):
    """Half of them are subnormal in the file, those of a channel become so by its batch norm."""
    random = np.random.default_rng(0)
    w = random.normal(size=(4, 8, 3, 3)).astype(np.float32)
    w[:, ::2] *= np.float32(1e-40)
    k = np.array([1, 2, 3e-39, 1], np.float32)
    ones, zeros, b = np.ones(4, np.float32), np.zeros(4, np.float32), random.normal(size=4).astype(np.float32)
    network = make_network("c = Conv<pads = [1, 1, 1, 1]>(x, w)\ny = BatchNormalization(c, k, b, zeros, ones)", inputs={"x": [1, 8, 6, 6]},
                           constants={"w": w, "k": k, "b": b, "zeros": zeros, "ones": ones}).SerializeToString()
    (tmp_path / "net.onnx").write_bytes(network)

    def stop_after(stage):
        tool("octet-compile", tmp_path / "net.onnx", "--float", f"--stop-after={stage}", "-o", tmp_path / "net.mlirbc")
        return tool("octet-opt", tmp_path / "net.mlirbc").stdout

    read = read_constant(stop_after("import"), "w.flushed").reshape(w.shape)
    assert is_subnormal(w).mean() > 0.4 and np.array_equal(read, np.where(np.abs(w) < 2**-100 * np.abs(w).max(), 0, w))
    text = stop_after("fuse")
    folded = read_constant(text, re.search(r"dense_resource<\"?([^>\"]*)\"?> : tensor<4x8x3x3xf32>", text)[1]).reshape(w.shape)
    assert not is_subnormal(folded).any() and not folded[2].any() and folded[[0, 1, 3], 1::2].all()
    x = random.normal(size=(1, 8, 6, 6)).astype(np.float32)
    session = onnxruntime.InferenceSession(network, providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(octet.compile(network)(x)["y"], session.run(None, {"x": x})[0], rtol=1e-5, atol=1e-5)


# ---- outliers ------------------------------------------------------------------------------------------------------------
def make_rows(wide=1, rows=32, columns=128, outputs=64):
    """A linear layer on rows; some columns of its input reach six times as far as the others, in one row."""
    rng = np.random.default_rng(5)
    weights = {"w": rng.normal(size=(columns, outputs)).astype(np.float32), "b": rng.normal(size=outputs).astype(np.float32)}
    model = make_network("h = MatMul(x, w)\ny = Add(h, b)", inputs={"x": [rows, columns]}, constants=weights).SerializeToString()
    x = rng.normal(size=(24, rows, columns)).astype(np.float32)
    for column in rng.choice(columns, wide, replace=False):
        x[:, 0, column] = 6 * np.abs(x[:, 0, column])
    return model, x[:16], x[16:]


def measure(model, samples, evaluation, **options):
    compiled = octet.compile(model, calibration_data={"x": samples}, **options)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    expected = np.stack([session.run(None, {"x": x})[0] for x in evaluation])
    return get_decibels(expected, np.stack([compiled.run({"x": x})["y"] for x in evaluation]))


def test_wide_columns_are_split(write_backend):
    network = make_rows()
    off = measure(*network, backend=write_backend("octet-split-outliers,", ""))
    assert measure(*network) > off + 5


def test_even_columns_are_not_split(write_backend):
    """They lose nothing by a range that is a little smaller, which they have if many rows were seen."""
    off = {"backend": write_backend("octet-split-outliers,", "")}
    for rows, is_clipped in ((32, False), (128, True)):
        model, samples, evaluation = make_rows(wide=0, rows=rows)
        libraries = [octet.compile(model, calibration_data={"x": samples}, **options) for options in ({}, off)]
        results = [np.stack([library.run({"x": x})["y"] for x in evaluation]) for library in libraries]
        assert libraries[0].report.data["weights_bytes"] == libraries[1].report.data["weights_bytes"]
        assert np.array_equal(*results) != is_clipped
    assert measure(model, samples, evaluation) > measure(model, samples, evaluation, **off)


def test_shared_weights_stay_shared(write_backend):
    """Layers that are repeated, the values in front of which differ in size, are split at the same columns."""
    rng, columns, repeats = np.random.default_rng(6), 128, 4
    constants = {"w": rng.normal(size=(columns, 256), scale=0.1).astype(np.float32), "v": rng.normal(size=(256, columns), scale=0.1).astype(np.float32)}
    wide = np.where(np.arange(columns) % 32 == 3, 6, 1)
    constants.update({f"g{i}": ((1 + i) * wide).astype(np.float32) for i in range(repeats)})
    lines = [f"n{i} = LayerNormalization(x{i}, g{i})\nm{i} = MatMul(n{i}, w)\nr{i} = Relu(m{i})\nv{i} = MatMul(r{i}, v)\nx{i + 1} = Add(x{i}, v{i})" for i in range(repeats)]
    lines = "\n".join(lines).replace("x0", "x").replace(f"x{repeats} =", "y =")
    model = make_network(lines, inputs={"x": [64, columns]}, constants=constants).SerializeToString()
    x = rng.normal(size=(12, 64, columns)).astype(np.float32)
    assert octet.compile(model, calibration_data={"x": x[:8]}).report.data["weights_bytes"] < 2 * 2 * columns * 256
    off = write_backend("octet-scale-each-run,octet-split-outliers,", "")
    assert measure(model, x[:8], x[8:]) > measure(model, x[:8], x[8:], backend=off) + 3


@pytest.mark.filterwarnings("error")
def test_what_computes_a_split_value_is_float_without_a_warning(write_backend):
    """A gated unit, of which one column is wide: nothing reads the product as integers any more, by no fault of the user's."""
    rng = np.random.default_rng(6)
    constants = {name: rng.normal(size=(64, 64)).astype(np.float32) for name in "uvw"}
    constants["u"][:, 5] *= 20
    model = make_network("h = MatMul(x, u)\ng = MatMul(x, v)\nm = Mul(h, g)\ny = MatMul(m, w)", inputs={"x": [32, 64]}, constants=constants)
    samples, static = {"x": rng.normal(size=(16, 32, 64)).astype(np.float32)}, write_backend("octet-scale-each-run,", "")
    compiled = octet.compile(model.SerializeToString(), calibration_data=samples, backend=static)
    assert {row.name: (row.verdict, row.code) for row in compiled.report}["m"] == ("float", "OCT302")


def read_columns(text):
    """The text without statistics of columns, and these: the ranges, and the number of rows and of those of each magnitude."""
    (digits,) = re.findall(r'column_min_max<[^>]*> statistics dense<"0x([0-9A-F]+)"', text)
    data, size = bytes.fromhex(digits), 8 * (1 + 1024)
    return text.replace(digits, ""), data[:-size], np.frombuffer(data[-size:], np.int64)


def test_statistics_of_a_split_network_are_loaded(tmp_path, tool):
    model, samples, evaluation = make_rows()
    (tmp_path / "net.onnx").write_bytes(model)
    np.savez(tmp_path / "x.npz", x=samples)
    tool("octet-compile", tmp_path / "net.onnx", "--calibration-data", tmp_path / "x.npz", "--save-statistics", tmp_path / "s", "-o", tmp_path / "a.so")
    tool("octet-compile", tmp_path / "net.onnx", "--calibration-data", tmp_path / "x.npz", "--load-statistics", tmp_path / "s",
         "--save-statistics", tmp_path / "again", "-o", tmp_path / "b.so")
    results = [np.stack([octet.load(tmp_path / name).run({"x": x})["y"] for x in evaluation]) for name in ("a.so", "b.so")]
    assert np.array_equal(*results)
    # Seen twice: counts of rows are twice as large, all else is the same.
    (before, ranges, counts), (after, same, twice) = (read_columns((tmp_path / name).read_text()) for name in ("s", "again"))
    assert counts[0] == 512 and before == after and ranges == same and np.array_equal(2 * counts, twice)
