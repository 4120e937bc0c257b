# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""States inside: chunk by chunk the same bytes as stepping outside, in float and int8, and how they are calibrated."""
import itertools
import pickle
import re
import subprocess

import numpy as np
import pytest

octet = pytest.importorskip("octet")
onnx = pytest.importorskip("onnx")
pytestmark = pytest.mark.usefixtures("compiler")

STEPS = 7

# Inputs, outputs and nodes; constants by name and shape; the states. `mixed` has states of half precision, integers and
# truth values, one that is only passed on, and two that change places.
NETWORKS = {
    "gru": ("float[1,1,8] x, float[1,1,16] h", "float[1,1,16] hn, float[1,4] y", """
        seq, hn = GRU <hidden_size: int = 16> (x, w, r, b, , h)
        flat = Reshape (hn, two)
        y = Gemm <transB: int = 1> (flat, v)""",
            {"w": (1, 48, 8), "r": (1, 48, 16), "b": (1, 96), "v": (4, 16)}, {"h": "hn"}),
    "lstm": ("float[2,1,8] x, float[1,1,16] h0, float[1,1,16] c0", "float[2,1,1,16] y, float[1,1,16] hn, float[1,1,16] cn",
             "y, hn, cn = LSTM <hidden_size: int = 16> (x, w, r, b, , h0, c0)",
             {"w": (1, 64, 8), "r": (1, 64, 16), "b": (1, 128)}, {"h0": "hn", "c0": "cn"}),
    "conv": ("float[1,6,5,9] x, float[1,6,2,9] cache", "float[1,8,5,9] y, float[1,6,2,9] new_cache", """
        all = Concat <axis: int = 2> (cache, x)
        c = Conv <pads = [0,1,0,1]> (all, w, v)
        y = Relu (c)
        p = Conv (all, u)
        new_cache = Slice (p, from, to, axes)""",
             {"w": (8, 6, 3, 3), "v": (8,), "u": (6, 6, 1, 1)}, {"cache": "new_cache"}),
    "mixed": ("float[1,8] x, float16[1,8] half, int64[1] n, float[1,8] same, float[1,8] a, float[1,8] b, bool[1,8] odd",
              "float[1,8] y, float16[1,8] half_n, int64[1] n_next, float[1,8] same_out, float[1,8] a_next, float[1,8] b_next, bool[1,8] odd_n", """
        real = Cast <to: int = 1> (half)
        sum = Add (x, real)
        half_n = Cast <to: int = 10> (sum)
        n_next = Add (n, one)
        part = Cast <to: int = 1> (n)
        c = Gemm <transB: int = 1> (sum, w)
        d = Add (c, part)
        e = Add (d, same)
        f = Where (odd, e, x)
        y = Sub (f, a)
        odd_n = Not (odd)
        same_out = Identity (same)
        a_next = Identity (b)
        b_next = Tanh (y)""",
              {"w": (8, 8)}, {"half": "half_n", "n": "n_next", "same": "same_out", "a": "b_next", "b": "a_next", "odd": "odd_n"}),
}
CONSTANTS = {"one": np.array([1], np.int64), "two": np.array([1, 16]), "from": np.array([-2]), "to": np.array([99]), "axes": np.array([2])}


def make_network(kind):
    """The bytes of an ONNX file."""
    from onnx import numpy_helper

    inputs, outputs, nodes, weights, _ = NETWORKS[kind]
    random = np.random.default_rng(3)
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : 17]>\nnet ({inputs}) => ({outputs}) {{\n{nodes}\n}}')
    for name, shape in weights.items():
        model.graph.initializer.append(numpy_helper.from_array((0.4 * random.normal(size=shape)).astype(np.float32), name))
    used = {name for node in model.graph.node for name in node.input}
    model.graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in CONSTANTS.items() if name in used)
    return model.SerializeToString()


def make_steps(kind, steps=STEPS):
    shape = {"gru": (1, 1, 8), "lstm": (2, 1, 8), "conv": (1, 6, 5, 9), "mixed": (1, 8)}[kind]
    return np.random.default_rng(steps).normal(size=(steps, *shape)).astype(np.float32)


def step_outside(model, states, xs):
    """The other outputs of every step, with the states carried here; and the inputs of every step."""
    kept = {tensor.name: np.zeros(tensor.shape, tensor.dtype) for tensor in model.inputs if tensor.name in states}
    results, fed = [], []
    for x in xs:
        fed.append({"x": x, **kept})
        outputs = model.run(fed[-1])
        kept = {name: outputs.pop(output) for name, output in states.items()}
        results.append(outputs)
    return results, fed


def assert_same(results, expected):
    assert len(results) == len(expected) > 0
    for got, wanted in zip(results, expected):
        assert got.keys() == wanted.keys() and len(got) > 0
        for name in got:
            assert got[name].tobytes() == wanted[name].tobytes(), name


def assert_stepping_is_the_same(library, outside, states, xs):
    """On every level that runs here, with one thread and two."""
    model = octet.load(library)
    assert [tensor.name for tensor in model.inputs] == ["x"]
    assert not set(states.values()) & {tensor.name for tensor in model.outputs}
    checked = 0
    for level, threads in itertools.product(model.cpu_levels, (1, 2)):
        try:
            inside = octet.load(library, threads=threads, cpu_level=level)
        except octet.LoadError:
            continue
        expected, _ = step_outside(octet.load(outside, threads=threads, cpu_level=level), states, xs)
        assert len({result["y"].tobytes() for result in expected}) > len(xs) // 2
        assert_same([inside.run({"x": x}) for x in xs], expected)
        inside.reset()
        assert_same([inside.run({"x": x}) for x in xs], expected)
        checked += 1
    assert checked >= 2


def drop_states(text):
    """IR whose states are inputs and outputs again."""
    return re.sub(r', nn\.state = "\w+"', "", text)


@pytest.fixture
def run(compiler, tmp_path):
    def run(*arguments, ok=True):
        result = subprocess.run([compiler, *map(str, arguments)], capture_output=True, text=True, timeout=300)
        assert (result.returncode == 0) == ok, result.stderr
        return result

    return run


@pytest.mark.parametrize("kind", NETWORKS)
def test_float_is_the_same_as_stepping_outside(kind, run, tmp_path):
    (tmp_path / "net.onnx").write_bytes(make_network(kind))
    states = NETWORKS[kind][4]
    given = [f"--state={name}={output}" for name, output in states.items()]
    run(tmp_path / "net.onnx", "--float", *given, "--cpu-level=reference,sse2,avx2,avx512vnni", "-o", tmp_path / "in.so")
    run(tmp_path / "net.onnx", "--float", "--cpu-level=reference,sse2,avx2,avx512vnni", "-o", tmp_path / "out.so")
    assert_stepping_is_the_same(tmp_path / "in.so", tmp_path / "out.so", states, make_steps(kind))


@pytest.fixture(scope="module", params=["gru", "lstm", "conv"])
def calibrated(request, compiler, tmp_path_factory):
    """(folder, kind, sequences) with the network and a file of samples for each sequence."""
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "net.onnx").write_bytes(make_network(request.param))
    sequences = [make_steps(request.param, count) for count in (9, 5)]
    for i, steps in enumerate(sequences):
        np.savez(folder / f"{i}.npz", x=steps)
    return folder, request.param, sequences


def convert(run, folder, name, *arguments):
    """The reference model's text, and the statistics, of a calibration."""
    run(folder / "net.onnx", f"--save-statistics={folder / name}.statistics", "--stop-after=convert", "-o", folder / f"{name}.mlirbc",
        *arguments)
    return (folder / f"{name}.statistics").read_text(), (folder / f"{name}.mlirbc").read_bytes()


def test_int8_is_the_same_as_stepping_outside(calibrated, run, tool, tmp_path):
    folder, kind, sequences = calibrated
    convert(run, folder, "inside", "--state=auto", f"--calibration-data={folder / '0.npz'}", f"--calibration-data={folder / '1.npz'}")
    text = tool("octet-opt", folder / "inside.mlirbc").stdout
    assert drop_states(text) != text
    (tmp_path / "outside.mlir").write_text(drop_states(text))
    run(folder / "inside.mlirbc", "--cpu-level=reference,sse2,avx2,avx512vnni", "-o", tmp_path / "in.so")
    run(tmp_path / "outside.mlir", "--cpu-level=reference,sse2,avx2,avx512vnni", "-o", tmp_path / "out.so")
    assert octet.load(tmp_path / "in.so").report.data["states"]
    assert any(verdict.verdict.startswith("int8") for verdict in octet.load(tmp_path / "in.so").report)
    assert_stepping_is_the_same(tmp_path / "in.so", tmp_path / "out.so", NETWORKS[kind][4], sequences[0])


def test_calibration_is_that_of_the_network_outside(calibrated, run, tool, tmp_path):
    """The statistics and the corrected biases are those of a network that is given the states as inputs. They depend neither on
    the order of files nor on threads, but on where a sequence begins."""
    folder, kind, sequences = calibrated
    samples = [f"--calibration-data={folder / f'{i}.npz'}" for i in range(2)]
    statistics, model = convert(run, folder, "a", "--state=auto", *samples)
    assert convert(run, folder, "b", "--state=auto", *samples[::-1], "--threads=2") == (statistics, model)
    np.savez(folder / "joined.npz", x=np.concatenate(sequences))
    joined, _ = convert(run, folder, "c", "--state=auto", f"--calibration-data={folder / 'joined.npz'}")
    assert joined != statistics or kind == "conv"  # whose cache holds inputs, of the same range

    outside = octet.compile(folder / "net.onnx")
    fed = [inputs for steps in sequences for inputs in step_outside(outside, NETWORKS[kind][4], steps)[1]]
    np.savez(folder / "fed.npz", **{name: np.stack([inputs[name] for inputs in fed]) for name in fed[0]})
    expected, _ = convert(run, folder, "d", f"--calibration-data={folder / 'fed.npz'}")
    assert statistics == expected
    inside, outside = (tool("octet-opt", folder / f"{name}.mlirbc").stdout.partition("func.func")[2] for name in "ad")
    assert drop_states(inside) == outside != inside


def test_bias_correction_chooses_samples_of_any_order_of_files(run, tmp_path):
    """More samples than it uses."""
    (tmp_path / "net.onnx").write_bytes(make_network("gru"))
    for count in (40, 30):
        np.savez(tmp_path / f"{count}.npz", x=make_steps("gru", count))
    samples = [f"--calibration-data={tmp_path / f'{count}.npz'}" for count in (40, 30)]
    assert convert(run, tmp_path, "a", "--state=auto", *samples) == convert(run, tmp_path, "b", "--state=auto", *samples[::-1])


def test_python(tmp_path):
    """States by name and found; every model has its own; reset, bound calls and copies."""
    network, steps = make_network("gru"), make_steps("gru")
    model = octet.compile(network, states={"h": "hn"})
    expected, _ = step_outside(octet.compile(network), {"h": "hn"}, steps)
    other = octet.compile(network, states="auto")
    assert other.report.data["states"] == [{"input": "h", "output": "hn"}]
    for x, wanted in zip(steps, expected):
        assert_same([model(x), other(x)], [wanted, wanted])
    copy, x = pickle.loads(pickle.dumps(model)), steps[0].copy()
    bound = model.bind([x])
    assert_same([copy(x)], [expected[0]])
    model.reset()
    for step, wanted in zip(steps, expected):
        x[:] = step
        assert_same([bound()], [wanted])


def test_python_calibration_data():
    """A dict is one sequence; an iterable of dicts gives several."""
    network, steps = make_network("gru"), make_steps("gru", 12)
    one = octet.quantize(network, states="auto", calibration_data={"x": steps})
    same = octet.quantize(network, states="auto", calibration_data=[{"x": steps}])
    two = octet.quantize(network, states="auto", calibration_data=({"x": part} for part in (steps[:6], steps[6:])))
    assert one.mlir == same.mlir != two.mlir
    assert 'nn.state = "h"' in one.mlir


@pytest.mark.parametrize("data, message", [
    ([], "calibration data: there is no sequence"),
    ([np.zeros(3)], "calibration data: sequence 0: expected a dict of arrays, but got ndarray"),
    ([{"x": np.zeros((2, 1, 1, 8), "f")}, {"x": np.float32(1)}], "calibration data: sequence 1: 'x': expected a NumPy array"),
    ([{"x": np.zeros((2, 1, 1, 8), "f")}, {"x": np.zeros((2, 1, 9), "f")}],
     "calibration data: sequence 1, 'x': expected shape [1, 1, 8], with or without a leading axis of samples, but got [2, 1, 9]"),
])
def test_python_refuses_sequences(data, message):
    with pytest.raises(octet.InputError) as failure:
        octet.compile(make_network("gru"), states={"h": "hn"}, calibration_data=data)
    assert str(failure.value).startswith(message)


@pytest.mark.parametrize("states", ["h", ["h"], {"h": 1}, {1: "hn"}])
def test_python_refuses_other_arguments(states):
    with pytest.raises(octet.InputError, match='states: expected "auto" or a dict from the names of inputs to those of outputs'):
        octet.compile(make_network("gru"), states=states)


def test_states_stay_out_of_an_integer_interface():
    network, steps = make_network("gru"), make_steps("gru", 12)
    model = octet.compile(network, states="auto", calibration_data={"x": steps}, quantized_io=True)
    assert [(tensor.name, tensor.dtype) for tensor in model.inputs] == [("x", np.uint8)]
    results = [model(np.full((1, 1, 8), value, np.uint8))["y"].tobytes() for value in (90, 90, 90)]
    assert len(set(results)) > 1


def test_a_run_that_fails_leaves_the_states(tmp_path):
    model = octet.compile(onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 17]>
        net (int64[1] x, float[3] h) => (float[1] y, float[3] hn) {
          one = Constant <value_floats = [1.0, 1.0, 1.0]> ()
          hn = Add (h, one)
          y = Gather (hn, x)
        }""").SerializeToString(), states="auto")
    assert model(np.array([2]))["y"] == 1
    with pytest.raises(octet.Error, match="index outside of the tensor"):
        model(np.array([3]))
    assert model(np.array([2]))["y"] == 2


def test_export_has_the_states_as_inputs_and_outputs(tmp_path):
    """Other programs step outside; the file can be compiled with its states again."""
    model = octet.quantize(make_network("lstm"), states="auto", calibration_data={"x": make_steps("lstm", 12)})
    model.save_onnx(tmp_path / "net.onnx")
    graph = onnx.load(tmp_path / "net.onnx").graph
    assert {tensor.name for tensor in graph.input} == {"x", "h0", "c0"}
    assert {tensor.name for tensor in graph.output} == {"y", "hn", "cn"}
    again, steps = octet.compile(tmp_path / "net.onnx", states="auto"), make_steps("lstm")
    inside = model.compile()
    for x in steps:
        np.testing.assert_allclose(again(x)["y"], inside(x)["y"], atol=0.02)


def test_octet_run_carries_states(run, tool, tmp_path):
    (tmp_path / "net.onnx").write_bytes(make_network("gru"))
    run(tmp_path / "net.onnx", "--float", "--state=auto", "-o", tmp_path / "net.so")
    steps = make_steps("gru")
    expected, _ = step_outside(octet.compile(make_network("gru")), {"h": "hn"}, steps)
    np.savez(tmp_path / "x.npz", x=steps)
    for flags, wanted in (([], expected), (["--reset"], [step_outside(octet.compile(make_network("gru")), {"h": "hn"}, [x])[0][0] for x in steps])):
        tool("octet-run", tmp_path / "net.so", "--input", tmp_path / "x.npz", "--output", tmp_path / "y.npz", *flags)
        np.testing.assert_array_equal(np.load(tmp_path / "y.npz")["y"], np.concatenate([result["y"] for result in wanted]))


@pytest.mark.parametrize("options, message", [
    (["--state=h=hn", "--input-value=h=0"], 'the input "h" is both a state (--state) and a constant (--input-value); omit one of them'),
    (["--state=h=y"], 'the state "h" is a \'tensor<1x1x16xf32>\', but its output "y" is a \'tensor<1x4xf32>\''),
    (["--state=z=hn"], 'a state names the input "z", but the inputs are "x" "h"'),
    (["--state=h=z"], 'a state names the output "z", but the outputs are "hn" "y"'),
    (["--state=h=hn", "--state=h=hn"], 'the input "h" belongs to a state already; give each input and output once'),
    (["--state=h"], 'the state "h": expected an input and an output, as in h=hn, or auto'),
    (["--state=auto", "--input-value=h=0"], "no input and output have names of one state, such as h and hn, and one type"),
])
def test_octet_compile_refuses(options, message, run, tmp_path):
    (tmp_path / "net.onnx").write_bytes(make_network("gru"))
    result = run(tmp_path / "net.onnx", "--float", *options, "-o", tmp_path / "net.so", ok=False)
    assert message in result.stderr and result.stderr.count("error:") == 1
    assert not (tmp_path / "net.so").exists()


def test_states_are_given_before_the_network_is_fused(run, tmp_path):
    (tmp_path / "net.onnx").write_bytes(make_network("gru"))
    run(tmp_path / "net.onnx", "--float", "--stop-after=fuse", "-o", tmp_path / "net.mlirbc")
    result = run(tmp_path / "net.mlirbc", "--float", "--state=auto", "-o", tmp_path / "net.so", ok=False)
    assert "--state has no effect with IR that has passed 'fuse'; omit it" in result.stderr
