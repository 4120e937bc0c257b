# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The benchmarks' own arithmetic: what they judge, count and prepare for the peers."""
import platform
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "bench"))
import accuracy  # noqa: E402
import compare  # noqa: E402
import dynamic  # noqa: E402
import networks  # noqa: E402
import onnx_files  # noqa: E402
import packaged  # noqa: E402
import packaged_accuracy  # noqa: E402
import peers  # noqa: E402
import speed  # noqa: E402
import survey  # noqa: E402
import tables  # noqa: E402

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")


def test_ours_is_compared_with_the_fastest_int8_peer_and_our_float():
    times = {"ort-f32": 1, "ort-u8s8": 8, "ov-int8": 6, "ov-mixed": 7, "octet-f32": 9, "octet-int8": 3}
    assert speed.judge(times) == (2, 3, 1 / 9)
    assert speed.judge({"ort-f32": 1, "octet-int8": 3}) == (None, None, None)
    assert speed.judge({"ort-u8s8": 6, "octet-int8": 3}) == (2, None, None)


def test_runner_that_cannot_be_made_is_named(monkeypatch):
    def fail(*_):
        raise ValueError("no such operator\nand more")

    monkeypatch.setattr(peers, "make_runner", fail)
    assert speed.make_runners(None, None, None, 1, ["ort-f32"]) == ({}, {"ort-f32": "ValueError: no such operator"})


def test_two_compilers_code_is_timed_and_compared(monkeypatch):
    monkeypatch.setattr(speed, "measure", lambda runners, rounds, seconds: {"after": 1, "before": 2})
    zeros, ones = (lambda: {"y": np.zeros(2)}), (lambda: {"y": np.ones(2)})
    assert compare.compare({"before": zeros, "after": zeros}, 1, 0) == (2, 1, True)
    assert compare.compare({"before": zeros, "after": ones}, 1, 0) == (2, 1, False)


def test_dynamic_int8_is_compared_with_the_fastest_dynamic_peer_and_static_int8_with_torch():
    times = {"octet-dyn": 2, "octet-int8": 1, "ort-dyn": 3, "torch-f32": 7, "torch-dyn": 5}
    assert dynamic.judge(times) == (1.5, 5)
    assert dynamic.judge({"octet-dyn": 2, "ort-dyn": 3, "torch-f32": 7}) == (1.5, None)
    assert dynamic.judge({"octet-dyn": 2, "octet-int8": 1, "torch-f32": 7}) == (None, 7)


def test_module_of_other_weights_takes_no_part(monkeypatch):
    torch = pytest.importorskip("torch")
    module, x = torch.nn.Linear(3, 2), np.ones((1, 3), np.float32)
    monkeypatch.setitem(sys.modules, "make_networks", SimpleNamespace(NETWORKS={"net": lambda: (module, ())}))
    expected = module(torch.from_numpy(x)).detach().numpy()
    make_task = lambda factor: SimpleNamespace(samples=lambda count: [{"x": x}], session=SimpleNamespace(run=lambda *_: [expected * factor]))  # noqa: E731
    assert dynamic.load_module("net", make_task(1), 1) is module
    with pytest.raises(ValueError, match="PyTorch's float is 5.0e-01 off the file's"):
        dynamic.load_module("net", make_task(2), 1)


def test_dynamic_int8_of_files(compiler, monkeypatch, tmp_path, capsys):
    def fail(*_):
        raise ImportError("No module named 'timm'")

    model, x, _ = dynamic.make_linear()
    (tmp_path / "linear.onnx").write_bytes(model.SerializeToString())
    np.savez(tmp_path / "linear.npz", x=np.stack([x, -x]))
    monkeypatch.setattr(peers, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(dynamic, "load_module", fail)
    monkeypatch.setattr(sys, "argv", ["dynamic.py", "--files", str(tmp_path), "linear", "none", "--rounds", "1", "--seconds", "0"])
    assert dynamic.main() == 1
    number = r" +[\d.]+"
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(rf"linear{number * 3} +missing +missing{number} +-{number * 2} +-", lines[2]), lines
    assert lines[-3:] == ["missing: linear: torch-f32: ImportError: No module named 'timm'", "missing: linear: torch-dyn: ImportError: No module named 'timm'",
                          f"missing: none: no file {tmp_path / 'none.onnx'}"]


def test_geometric_mean():
    assert tables.geometric_mean([1, 4, 16]) == pytest.approx(4)


def test_lines_are_compared_by_their_characters():
    """Class 0 is a blank; equal neighbours are one character."""
    outputs = lambda *classes: [np.eye(5)[list(classes)][None]]  # noqa: E731
    assert packaged_accuracy.read_line(outputs(1, 1, 0, 1, 2, 2, 0)) == [1, 1, 2]
    assert [packaged_accuracy.count_edits(a, b) for a, b in (("abc", "abc"), ("abc", "axc"), ("abc", "bc"), ("", "ab"))] == [0, 1, 1, 2]
    counts = [packaged_accuracy.count_lines(a, b) for a, b in ((outputs(1, 0, 2), outputs(1, 0, 2)), (outputs(3, 4), outputs(3, 3)))]
    assert packaged_accuracy.CHARACTERS.get_figure(counts) == 0.75


def test_pixels_that_are_text_are_compared():
    outputs = lambda *values: [np.array(values, np.float32)]  # noqa: E731
    counts = [packaged_accuracy.count_pixels(outputs(0.9, 0.4, 0.1, 0), outputs(0.5, 0.2, 0.4, 0)), packaged_accuracy.count_pixels(outputs(0, 0), outputs(0, 0))]
    assert packaged_accuracy.PIXELS.get_figure(counts) == 0.5


def test_standard_error_is_that_of_a_mean():
    mean = packaged_accuracy.SAME
    assert mean.get_standard_error([(1, 1), (0, 1), (1, 1), (0, 1)], parts=2) == 0.5
    assert mean.get_standard_error([(1, 1)] * 4) == 0 and mean.get_standard_error([(1, 1)] * 3) is None
    draws = np.random.default_rng(0).integers(0, 2, 6400)
    assert abs(mean.get_standard_error([(draw, 1) for draw in draws]) - 0.5 / 80) < 0.003


def test_noise_of_samples_is_that_of_all_at_once():
    rng = np.random.default_rng(0)
    expected = rng.normal(loc=3, size=(2, 5, 40)).astype(np.float32)
    got = expected + rng.normal(scale=[[[0.1]], [[0.02]]], size=expected.shape).astype(np.float32)
    counts = [packaged_accuracy.count_noise(expected[:, sample], got[:, sample]) for sample in range(5)]
    assert packaged_accuracy.SQNR.get_figure(counts) == pytest.approx(survey.get_sqnr(got, expected), abs=1e-4)


def test_no_outputs_are_kept():
    """One sample at a time: each is fed to all libraries before the next is drawn."""
    drawn, task = [], SimpleNamespace(session=SimpleNamespace(run=lambda names, feed: [np.array([feed])]))
    feeds = (drawn.append(feed) or feed for feed in range(3))
    runs = {"a": lambda feed: [np.array([drawn[-1]])], "b": lambda feed: [np.array([-1])]}
    counts = packaged_accuracy.count_samples(runs, task, feeds, packaged_accuracy.Measure("sum", lambda a, b: (int(a[0][0] == b[0][0]), 1), None))
    assert counts == {"a": [(1, 1)] * 3, "b": [(0, 1)] * 3}


def test_shares_of_integers():
    row = lambda operator, verdict, macs: SimpleNamespace(operator=operator, verdict=verdict, macs=macs)  # noqa: E731
    report = [row("nn.conv+nn.relu", "int8", 60), row("nn.conv", "int8 to float", 20), row("nn.linear", "int8", 10), row("nn.matmul", "float", 10)]
    assert packaged_accuracy.get_shares(report) == (0.75, 0.7, 0.9)


def test_peers_that_fail_are_left_out(monkeypatch, capsys):
    monkeypatch.setattr(packaged_accuracy, "load_peer", lambda name, task: {"a": len, "b": lambda feed: feed[5]}[name])
    task = SimpleNamespace(name="net", calib=lambda: [[1]])
    assert packaged_accuracy.load_peers(("a", "b", "none"), task) == {"a": len}
    assert "net: b: list index out of range" in (text := capsys.readouterr().err) and "net: none: 'none'" in text


@pytest.mark.parametrize("seconds, text", [(None, "missing"), (17.04e-6, "17.0"), (298.4e-6, "298"), (14.8e-3, "14800")])
def test_times_are_microseconds(seconds, text):
    assert tables.format_microseconds(seconds) == text


def test_golden_error_is_relative_to_the_largest_magnitude():
    task = SimpleNamespace(golden=lambda: [({}, [np.array([1.0, -4.0])]), ({}, [np.array([2.0, 2.0])])])
    assert accuracy.get_golden_error(task, lambda feed: [np.array([1.0, -4.0])]) == 3
    assert accuracy.get_golden_error(task, lambda feed: [np.array([2.0, 2.0])]) == 1.5


def test_feeds_are_stacked():
    arrays = networks.as_arrays([{"x": np.zeros((1, 2))}, {"x": np.ones((1, 2))}])
    assert arrays["x"].shape == (2, 1, 2) and arrays["x"][1].all()


def test_every_network_has_a_bar_and_a_task():
    assert len(networks.NAMES) == 13
    if networks.load_evaluate() is None:
        pytest.skip(f"the networks are not here ({networks.SHARED}/models; set OCTET_SHARED)")
    assert [task.name for task in networks.get_tasks()] == networks.NAMES


# ---- the form that the peers' quantizers take --------------------------------------------------------------------------
def make_awkward_network():
    """Opset 9, open batch, weights also listed as inputs, a constant as a node, a bias of shape [1, n], a batch norm."""
    from onnx import TensorProto, helper, numpy_helper

    random = np.random.default_rng(3)
    arrays = {"w": random.normal(size=(4, 3, 3, 3)), "s": random.uniform(1, 2, 4), "o": random.normal(size=4),
              "m": random.normal(size=4), "v": random.uniform(1, 2, 4), "k": random.normal(size=(4, 5)),
              "b": random.normal(size=(1, 5))}
    arrays = {name: numpy_helper.from_array(array.astype(np.float32), name) for name, array in arrays.items()}
    shape = numpy_helper.from_array(np.array([-1, 4], np.int64), "shape")
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"]),
             helper.make_node("BatchNormalization", ["c", "s", "o", "m", "v"], ["n"]),
             helper.make_node("GlobalAveragePool", ["n"], ["p"]),
             helper.make_node("Constant", [], ["shape"], value=shape),
             helper.make_node("Reshape", ["p", "shape"], ["f"]),
             helper.make_node("Gemm", ["f", "k", "b"], ["y"])]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3, 8, 8])]
    inputs += [helper.make_tensor_value_info(name, TensorProto.FLOAT, list(array.dims)) for name, array in arrays.items()]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 5])]
    graph = helper.make_graph(nodes, "awkward", inputs, outputs, list(arrays.values()))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 9)], ir_version=4)


@pytest.fixture
def awkward(tmp_path, monkeypatch):
    monkeypatch.setattr(peers, "CACHE", tmp_path / "cache")
    path = tmp_path / "awkward.onnx"
    onnx.save(make_awkward_network(), str(path))
    random = np.random.default_rng(4)
    feeds = [{"x": random.normal(size=(1, 3, 8, 8)).astype(np.float32)} for _ in range(8)]
    return SimpleNamespace(name="awkward", onnx=path, shapes={"x": [1, 3, 8, 8]}, calib=lambda: feeds)


def test_prepared_network_is_plain_and_computes_the_same(awkward):
    feed = awkward.calib()[0]
    expected = ort.InferenceSession(str(awkward.onnx), providers=["CPUExecutionProvider"]).run(None, feed)[0]
    path = peers.prepare(awkward)
    got = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, feed)[0]
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)
    graph = onnx.load(str(path)).graph
    assert [value.name for value in graph.input] == ["x"]
    assert [d.dim_value for d in graph.input[0].type.tensor_type.shape.dim] == [1, 3, 8, 8]
    assert not {node.op_type for node in graph.node} & {"Constant", "BatchNormalization", "Shape"}
    assert speed.count_macs(awkward) == 4 * 6 * 6 * 27 + 4 * 5


def test_quantized_networks_are_kept_by_their_samples(awkward):
    """Those of a benchmark of speed, calibrated with all samples, are not judged by some of these."""
    path = peers.get_path(awkward, "x")
    assert path == peers.get_path(awkward, "x") and path.name.startswith("awkward.")
    some = SimpleNamespace(**{**vars(awkward), "calib": lambda: awkward.calib()[:4]})
    others = {peers.quantize_onnxruntime(task) for task in (awkward, some)}
    awkward.onnx.write_bytes(awkward.onnx.read_bytes() + b"\x42\x00")  # no opset's domain: another file
    assert len(others) == 2 and peers.get_path(awkward, "x") != path


def test_survey_judges_a_file(awkward, compiler, monkeypatch, capsys):
    level = "sse2" if platform.machine() == "x86_64" else "neon"
    monkeypatch.setattr(sys, "argv", ["survey.py", str(awkward.onnx), "--input-shape", "x=1x3x8x8", "--cpu-level", f"{level},reference"])
    assert survey.main() == 0
    output = capsys.readouterr().out
    assert re.search(r"^awkward +\d.\de-\d\d +\d+.\d +same +100.0% ", output, re.MULTILINE), output
    assert output.endswith("1 taken, 0 of them wrong, 0 refused\n")


def test_survey_makes_samples():
    rng = np.random.default_rng(0)
    make = lambda kind, shape, content=None: onnx_files.make_array(rng, SimpleNamespace(name="x", type=f"tensor({kind})"), shape, content)  # noqa: E731
    assert make("int64", (), 16000).tolist() == [16000] * onnx_files.NUM_SAMPLES
    assert make("float", (), 46.875).tolist() == [46.875] * onnx_files.NUM_SAMPLES
    assert not make("int64", (2,)).any()
    with pytest.raises(SystemExit, match="the size batch of the input x is not known: give --input-shape x="):
        make("float", ("batch", 3))
    ids, mask = make("int32", (3, 50), (5, 8)), make("bool", (4,), 1)
    assert ids.dtype == np.int32 and ids.min() == 5 and ids.max() == 7 and mask.dtype == np.bool_ and mask.all()
    images, rows = make("float", (1, 3, 40, 50)), make("float16", (3, 40))
    assert images.shape == (onnx_files.NUM_SAMPLES, 1, 3, 40, 50) and images.dtype == np.float32 and rows.dtype == np.float16
    assert np.corrcoef(images[..., 1:].ravel(), images[..., :-1].ravel())[0, 1] > 0.4 > abs(np.corrcoef(rows[..., 1:].ravel(), rows[..., :-1].ravel())[0, 1])


def test_networks_of_packages_are_found_by_name(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(packaged, "FOLDER", tmp_path)
    assert packaged.find(["magika"]) == [] and "not installed (tools/dev/setup --networks): magika" in capsys.readouterr().out
    [magika] = [network for network in packaged.NETWORKS if network.name == "magika"]
    magika.path.parent.mkdir(parents=True)
    magika.path.write_bytes(b"")
    assert packaged.find() == [magika] and packaged.find(["magika"]) == [magika]
    with pytest.raises(SystemExit, match="unknown network mouse; there are nudenet"):
        packaged.find(["mouse"])


def test_survey_measures():
    a, b = np.array([1.0, -4.0]), np.array([2.0, 2.0])
    assert tables.get_error(b, b + 1) == pytest.approx(1 / 3)
    assert tables.get_error(b * 0 + 1e-9, b * 0) == pytest.approx(1e-9)
    assert tables.get_error([np.nan, np.inf, 3], [np.nan, np.inf, 2]) == pytest.approx(0.5)
    assert tables.get_error([np.nan, 2], [1, 2]) == tables.get_error([1, 2], [np.nan, 2]) == tables.get_error([np.inf, 2], [-np.inf, 2]) == np.inf
    assert survey.get_sqnr([a + 0.25], [a]) == pytest.approx(10 * np.log10(6.25 / 0.0625))
    message = 'x.onnx: error: 2 operators are not supported\n  node "a" (Erf, domain ai.onnx, opset 17): no\n  node "b" (Erf, domain'
    assert survey.name_needs(message) == "Erf" and survey.name_needs("x.onnx: error: no file\nmore") == "x.onnx: error: no file"


@pytest.mark.parametrize("peer", list(peers.PEERS))
def test_every_peer_runs_in_place(awkward, peer):
    for module in ("openvino", "nncf") if peer.startswith("ov") else ():
        pytest.importorskip(module)
    feed = {"x": awkward.calib()[0]["x"].copy()}
    expected = ort.InferenceSession(str(awkward.onnx), providers=["CPUExecutionProvider"])
    runner = peers.make_runner(peer, awkward, feed)
    for sample in awkward.calib()[:2]:
        feed["x"][...] = sample["x"]
        runner.run()
        reference = expected.run(None, sample)[0]
        # Random weights behind a global pool: int8 has a few bits left for what differs from sample to sample.
        tolerance = 0.4 if peers.PEERS[peer][0] else 1e-4
        assert np.abs(runner.get_outputs()[0] - reference).max() <= tolerance * np.abs(reference).max()
