# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The error of every quantized operator, against NumPy on the values that onnxruntime computes in both networks."""
import json
import re

import numpy as np
import pytest

octet = pytest.importorskip("octet")
onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from onnx_networks import make_network  # noqa: E402

pytestmark = pytest.mark.usefixtures("compiler")

NODES = """
a = Gemm<transB = 1>(x, w1, b1)
r = Relu(a)
y = Gemm<transB = 1>(r, w2, b2)
"""
#: Sums of the two programs have different orders, and so do squares: decibels agree within 0.02.
DECIBELS = 0.02


def make(seed=0):
    return make_network(NODES, inputs={"x": [1, 16]}, constants={"w1": (24, 16), "b1": (24,), "w2": (8, 24), "b2": (8,)}, seed=seed)


def make_samples(count=10):
    return np.random.default_rng(1).normal(size=(count, 1, 16)).astype(np.float32)


def sqnr(wanted, got):
    wanted, got = np.float64(wanted), np.float64(got)
    return 20 * np.log10(np.linalg.norm(wanted) / np.linalg.norm(wanted - got))


@pytest.fixture
def plain(source, tmp_path):
    """The CPU backend without recovery passes."""
    text = (source / "lib/Backend/backends/cpu.mlir").read_text()
    (tmp_path / "plain.mlir").write_text(re.sub("octet.recipe .*", "", text))
    return str(tmp_path / "plain.mlir")


def run_all(network, names, samples):
    """The values with these names for all samples together."""
    network = onnx.ModelProto.FromString(network.SerializeToString())
    present = {output.name for output in network.graph.output}
    network.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in names if name not in present)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(network.SerializeToString(), options)
    return [np.concatenate(values) for values in zip(*(session.run(names, {"x": sample}) for sample in samples))]


class Values:
    """What both networks compute: inputs and results of the two layers, and their weights as integers stand for them."""

    def __init__(self, network, samples, backend, tmp_path):
        quantized = octet.quantize(network.SerializeToString(), calibration_data={"x": samples}, backend=backend)
        quantized.save_onnx(tmp_path / "quantized.onnx")
        qdq = onnx.load(tmp_path / "quantized.onnx")
        first, second = [node for node in qdq.graph.node if node.op_type in ("Gemm", "MatMul")]
        self.x, self.hidden, self.y = run_all(qdq, [first.input[0], second.input[0], qdq.graph.output[0].name], samples)
        self.w1, self.w2 = (value if value.shape == shape else value.T for value, shape in zip(
            (values[:shape[0]] if values.shape[0] == shape[0] * len(samples) else values[:shape[1]] for values, shape in zip(
                run_all(qdq, [first.input[1], second.input[1]], samples), ((24, 16), (8, 24)))), ((24, 16), (8, 24))))
        self.float_hidden, self.float_y = run_all(network, ["r", "y"], samples)
        self.constants = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in network.graph.initializer}


@pytest.fixture
def values(plain, tmp_path):
    return Values(make(), make_samples(), plain, tmp_path)


@pytest.fixture
def layers(plain):
    found = octet.compare_layers(make().SerializeToString(), calibration_data={"x": make_samples()}, backend=plain)
    assert [layer.operator for layer in found] == ["nn.linear+nn.relu", "nn.linear"]
    return found


def test_numeric_suite_activations(layers, values):
    for layer, wanted, got in zip(layers, (values.float_hidden, values.float_y), (values.hidden, values.y)):
        assert layer.output.sqnr == pytest.approx(sqnr(wanted, got), abs=DECIBELS)


def test_numeric_suite_shadows(layers, values):
    c = values.constants
    twins = (np.maximum(values.x @ c["w1"].T + c["b1"], 0), values.hidden @ c["w2"].T + c["b2"])
    for layer, wanted, got in zip(layers, twins, (values.hidden, values.y)):
        assert layer.alone.sqnr == pytest.approx(sqnr(wanted, got), abs=DECIBELS)
    assert layers[1].alone.sqnr > layers[1].output.sqnr  # the second layer has not the first one's error


def test_numeric_suite_local_errors(layers, values):
    """With the rounding of the network's input, and of the first layer's result, which the twin of the second one reads."""
    c = values.constants
    first = np.maximum(make_samples()[:, 0] @ c["w1"].T + c["b1"], 0)
    assert layers[0].local.sqnr == pytest.approx(sqnr(first, values.hidden), abs=DECIBELS)
    assert layers[0].local.sqnr == pytest.approx(layers[0].output.sqnr, abs=DECIBELS)
    before = np.maximum(values.x @ values.w1.T + c["b1"], 0)
    assert layers[1].local.sqnr == pytest.approx(sqnr(before @ c["w2"].T + c["b2"], values.y), abs=DECIBELS)


def test_numeric_suite_weights(layers, values):
    for layer, name, got in zip(layers, ("w1", "w2"), (values.w1, values.w2)):
        assert layer.weights.sqnr == pytest.approx(sqnr(values.constants[name], got), abs=1e-6)


def test_numeric_suite_metrics(layers, values):
    """Normalized L2 and cosine of weights, which have no sums that may differ."""
    for layer, name, got in zip(layers, ("w1", "w2"), (values.w1, values.w2)):
        x, y = np.float64(values.constants[name]).ravel(), np.float64(got).ravel()
        assert layer.weights.normalized_l2 == pytest.approx(np.sqrt(np.sum((x - y) ** 2) / np.sum(x**2)), rel=1e-9)
        assert layer.weights.cosine == pytest.approx(x @ y / (np.linalg.norm(x) * np.linalg.norm(y)), rel=1e-12)


def test_figures_do_not_depend_on_the_order_of_samples(plain):
    samples = make_samples(70)  # more than are compared
    orders = [samples, samples[np.random.default_rng(2).permutation(len(samples))]]
    texts = [str(octet.compare_layers(make().SerializeToString(), calibration_data={"x": order}, backend=plain)) for order in orders]
    assert texts[0] == texts[1]


def test_layers_print_as_a_table(layers):
    lines = str(layers).splitlines()
    assert lines[0].split() == ["layer", "operator", "output", "local", "alone", "weights", "cosine"] and len(lines) == 3
    assert [layer.name for layer in layers.worst(1)] == [min(layers, key=lambda layer: layer.local.sqnr).name]


def test_recovery_passes_do_not_count(layers):
    """Bias correction changes the float network's biases, too: what is compared is the network as it was."""
    quantized = octet.quantize(make().SerializeToString(), calibration_data={"x": make_samples()}, compare_layers=True)
    assert quantized.report.data["corrected_biases"]
    assert str(octet.LayerErrors(quantized.report.data["layers"])) == str(layers)
    assert "layers" not in octet.quantize(make().SerializeToString(), calibration_data={"x": make_samples()}).report.data


FINE = {"activation": "#octet.min_max<dtype = ui8>",
        "weight": "#octet.per_channel_min_max<dtype = si8, scheme = symmetric, range = [-127, 127]>"}
#: A range of ten for two hundred: 26 times as coarse.
COARSE = {**FINE, "activation": "#octet.min_max<dtype = ui8, range = [0, 10]>"}


def test_numeric_suite_n_shadows(plain, tmp_path):
    network, data = make().SerializeToString(), {"x": make_samples()}
    errors = octet.compare_qconfigs(network, {"coarse": COARSE, "fine": FINE}, calibration_data=data, backend=plain)
    assert set(errors.best.values()) == {"fine"} and len(errors.best) == 2
    for coarse, fine in zip(errors.errors["coarse"], errors.errors["fine"]):
        assert coarse.name == fine.name and coarse.local.sqnr < fine.local.sqnr
    lines = str(errors).splitlines()
    assert lines[0].split() == ["layer", "coarse", "fine", "best"] and len(lines) == 3


def test_best_qconfigs_make_a_mapping(plain, tmp_path):
    network, data = make().SerializeToString(), {"x": make_samples()}
    errors = octet.compare_qconfigs(network, {"coarse": COARSE, "fine": FINE}, calibration_data=data, backend=plain)
    errors.save_mapping(tmp_path / "best.json")
    saved = json.loads((tmp_path / "best.json").read_text())
    assert saved[""] == COARSE and [row[0] for row in saved["module_name"]] == [layer.name for layer in errors.errors["fine"]]
    best = octet.compare_layers(network, calibration_data=data, backend=plain, qconfig_mapping=str(tmp_path / "best.json"))
    assert str(best) == str(errors.errors["fine"])


def test_qconfigs_that_are_none():
    with pytest.raises(octet.InputError, match="qconfigs: expected a dict from names to QConfigs, but got"):
        octet.compare_qconfigs(b"", {}, calibration_data={})
    with pytest.raises(octet.InputError, match="calibration_data: expected a dict or a list, .* but got an iterator"):
        octet.compare_qconfigs(b"", {"fine": FINE}, calibration_data=iter([]))
    with pytest.raises(octet.CompileError):
        octet.compare_qconfigs(make().SerializeToString(), {"wrong": {"activation": "#octet.max_min"}}, calibration_data={"x": make_samples()})


def test_statistics_alone_do_not_do(compile_files, tmp_path):
    network = make().SerializeToString()
    process, _ = compile_files(network, f"--save-statistics={tmp_path / 'saved'}", samples={"x": make_samples()})
    assert process.returncode == 0
    process, library = compile_files(network, f"--load-statistics={tmp_path / 'saved'}", "--compare-layers")
    assert process.returncode == 1 and not library.exists()
    assert "the layers are not compared: octet-compare-layers needs samples" in process.stderr
    process, _ = compile_files(network, "--float", "--compare-layers")
    assert "--compare-layers has no effect with --float; omit it" in process.stderr
