# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Equalization across layers and of inputs: known answers, the same network in float, and what it is for."""
import re

import numpy as np
import pytest

octet = pytest.importorskip("octet")
pytest.importorskip("onnx")
from onnx_networks import make_network  # noqa: E402
from test_golden_operators import constant, generate, kind  # noqa: E402

pytestmark = pytest.mark.usefixtures("compiler")
f32 = np.float32


def linear_network(layers):
    """Layers of (weights, bias) called l0, l1, … with a relu behind all but the last."""
    body, value = [], "%x"
    for i, (w, b) in enumerate(layers):
        types = f"(tensor<1x{w.shape[1]}xf32>, {kind(w.shape)}, {kind(b.shape)}) -> tensor<1x{w.shape[0]}xf32>"
        body += [f"  %w{i} = {constant(w)}", f"  %b{i} = {constant(b)}",
                 f'  %l{i} = nn.linear {value}, %w{i}, %b{i} {{octet.origin = #octet.origin<"l{i}">}} : {types}']
        value = f"%l{i}"
        if i + 1 < len(layers):
            body.append(f"  %r{i} = nn.relu %l{i} : (tensor<1x{w.shape[0]}xf32>) -> tensor<1x{w.shape[0]}xf32>")
            value = f"%r{i}"
    size = layers[-1][0].shape[0]
    return "\n".join([f'func.func @main(%x: tensor<1x{layers[0][0].shape[1]}xf32> {{nn.name = "x"}}) -> tensor<1x{size}xf32> {{', *body,
                      f"  return {value} : tensor<1x{size}xf32>", "}"]) + "\n"


def read_constants(text):
    """The constants of @main in the order in which they stand, flat."""
    data = dict(re.findall(r'([\w.]+): "0x(?:04|10)000000([0-9A-F]+)"', text))
    found = []
    for name, inline in re.findall(r'nn\.constant (?:dense_resource<([\w.]+)>|dense<"0x([0-9A-F]+)">)', text.split("return")[0]):
        found.append(np.frombuffer(bytes.fromhex(data[name] if name else inline), f32))
    return found


@pytest.fixture
def run_pass(tool, tmp_path):
    """run_pass(network, samples, passes) gives the text behind them."""

    def run(network, samples, *passes):
        (tmp_path / "net.mlir").write_text(network)
        np.savez(tmp_path / "samples.npz", x=samples)
        tool("octet-opt", tmp_path / "net.mlir", f"--octet-use-samples=files={tmp_path / 'samples.npz'}", "--octet-attach-policy", "--octet-fuse",
             *passes, "-o", tmp_path / "out.mlir")
        return (tmp_path / "out.mlir").read_text()

    return run


# ---- inputs and weights --------------------------------------------------------------------------------------------------
X = np.array([[-1, 2, 0.5], [3, -4, 0.25]], f32)
W = np.array([[0.5, -0.25, 1], [0.1, 0.75, -1]], f32)


def test_equalization_scales(run_pass):
    """PyTorch's known answer."""
    text = run_pass(linear_network([(W, np.zeros(2, f32))]), X[:, None], "--octet-equalize-inputs")
    factors, w, _ = read_constants(text)
    np.testing.assert_allclose(factors, [0.3162278, 0.4082483, 2.8284271], rtol=1e-6)
    np.testing.assert_allclose(w, [1.581139, -0.612372, 0.353553, 0.316228, 1.837117, -0.353553], rtol=2e-6)


def test_equalization_activation_ranges(run_pass, source):
    """The input is quantized for min x·e to max x·e."""
    text = run_pass(linear_network([(W, np.zeros(2, f32))]), X[:, None], "--octet-equalize-inputs", "--octet-prepare", "--octet-calibrate", "--octet-convert")
    scale, zero = re.search(r"octet\.quantize .*!quant\.uniform<u8:f32, ([\d.e+-]+):(\d+)>", text).groups()
    low, high = f32(-1.6329932), f32(1.4142135)
    assert f32(scale) == pytest.approx((high - low) / 255, rel=1e-6) and int(zero) == np.rint(-low / f32(scale))


def make_layers(seed=0, sizes=(6, 8, 5, 3)):
    """Layers whose channels have ranges from 1 to 100."""
    random = np.random.default_rng(seed)
    layers = []
    for inputs, outputs in zip(sizes, sizes[1:]):
        w = random.normal(size=(outputs, inputs)) * np.logspace(0, 2, outputs)[:, None]
        layers.append((w.astype(f32), random.normal(size=outputs).astype(f32)))
    return layers


def run_layers(layers, x):
    for i, (w, b) in enumerate(layers):
        x = x @ np.float64(w).T + b
        x = np.maximum(x, 0) if i + 1 < len(layers) else x
    return x


def test_equalization_weights_and_bias(run_pass):
    """Each layer has its own factors and those of the next one, by [N.equalize_inputs] in NumPy."""
    layers, samples = make_layers(), np.random.default_rng(1).normal(size=(20, 6)).astype(f32)
    values, x = [], np.float64(samples)
    for w, b in layers:
        values.append(x)
        x = np.maximum(x @ np.float64(w).T + b, 0)
    factors = [np.sqrt(np.ptp(np.float64(w), axis=0) / np.ptp(x, axis=0)) for (w, _), x in zip(layers, values)]
    found = read_constants(run_pass(linear_network(layers), samples[:, None], "--octet-equalize-inputs"))
    np.testing.assert_allclose(found[0], factors[0], rtol=1e-6)
    for i, (w, b) in enumerate(layers):
        following = factors[i + 1] if i + 1 < len(factors) else np.ones(len(w))
        # Ranges are measured in f32, a sum of which may lose some bits.
        np.testing.assert_allclose(found[2 * i + 1].reshape(w.shape), np.float64(w) / factors[i] * following[:, None], rtol=1e-4)
        np.testing.assert_allclose(found[2 * i + 2], b * following, rtol=1e-4)
    scaled = [(found[2 * i + 1].reshape(w.shape), found[2 * i + 2]) for i, (w, _) in enumerate(layers)]
    np.testing.assert_allclose(run_layers(scaled, samples * found[0]), run_layers(layers, samples), rtol=1e-5, atol=1e-3)


def test_equalization_converted_graph(run_pass):
    """A multiplication where the chain begins, in front of the quantize, and no other."""
    text = run_pass(linear_network(make_layers()), np.random.default_rng(1).normal(size=(20, 1, 6)).astype(f32), "--octet-equalize-inputs",
                    "--octet-prepare", "--octet-calibrate", "--octet-convert")
    function = text.split("octet.backend")[0]
    assert function.count("= nn.mul") == 1 and function.index("= nn.mul") < function.index("= octet.quantize")


@pytest.fixture
def with_recipe(source, tmp_path):
    """with_recipe(passes) is the path of the CPU backend with passes in front of prepare."""

    def write(passes):
        text = (source / "lib/Backend/backends/cpu.mlir").read_text()
        path = tmp_path / f"backend{len(list(tmp_path.iterdir()))}.mlir"
        path.write_text(re.sub("octet.recipe .*", f'octet.recipe before_prepare "{passes}"' if passes else "", text))
        return str(path)

    return write


def uneven_network():
    """Three layers of one width; columns of the second layer's input have ranges from 1 to 1000, those of its weights from 1000 to 1."""
    random = np.random.default_rng(4)
    spread = np.logspace(0, 3, 32)
    constants = {"w0": random.normal(size=(32, 32)) * spread[:, None], "w1": random.normal(size=(32, 32)) / spread, "w2": random.normal(size=(32, 32))}
    nodes = "a = Gemm<transB = 1>(x, w0)\nr = Relu(a)\nb = Gemm<transB = 1>(r, w1)\ns = Relu(b)\ny = Gemm<transB = 1>(s, w2)"
    network = make_network(nodes, inputs={"x": [1, 32]}, constants={name: value.astype(f32) for name, value in constants.items()})
    return network.SerializeToString(), {"x": random.normal(size=(30, 1, 32)).astype(f32)}


def test_equalization_of_the_worst_layer(with_recipe):
    """Selective: the layer with the least ratio alone is equalized, and gains."""
    network, data = uneven_network()
    before = octet.compare_layers(network, calibration_data=data, backend=with_recipe(""))
    worst = before.worst(1)[0]
    after = octet.compare_layers(network, calibration_data=data, backend=with_recipe(f"octet-equalize-inputs{{layers={worst.name}}}"))
    everything = octet.compare_layers(network, calibration_data=data, backend=with_recipe("octet-equalize-inputs"))
    assert {layer.name for layer in after} >= {layer.name for layer in before}
    assert after[-1].output.sqnr > before[-1].output.sqnr + 6 and everything[-1].output.sqnr > before[-1].output.sqnr + 6


def test_strict_takes_the_factors(with_recipe):
    """The multiplication by the factors is the pass's, not the network's: it stays float, which is no error."""
    network, data = uneven_network()
    model = octet.compile(network, calibration_data=data, backend=with_recipe("octet-equalize-inputs"), strict=True)
    factors, *layers = model.report.data["operators"]
    assert (factors["operator"], factors["code"], factors["refused"]) == ("nn.mul", "OCT122", False)
    assert len(layers) == 3 and all(row["verdict"].startswith("int8") for row in layers)


# ---- consecutive layers --------------------------------------------------------------------------------------------------
#: What `torch.ao.quantization._equalize.equalize` of 2.13 makes of the layers below, threshold 1e-4.
RECORDED = [
    ([[-3.3141794, -4.0066786, 2.1233714], [-33.020672, -32.255184, -28.668692], [13.261933, 25.953497, 8.169875], [-37.235535, -17.985029, 9.282654]],
     [-3.2647886, -6.2730966, 0.054723736, -0.09945485]),
    ([[-0.5820794, -0.41496769, -1.0632317, -11.206127], [0.93573403, 1.2472749, -5.754838, 11.136395], [-5.1943159, -3.1047032, 12.028779, -35.381779]],
     [-3.6536746, -0.87732577, -0.25185016]),
    ([[-0.072609104, -0.19199783, -2.2224166], [-10.863768, -17.083231, 45.188141]], [-0.51081181, -0.4519006]),
]


def test_equalize_equals_pytorchs(run_pass):
    layers = []
    for i, (outputs, inputs) in enumerate(((4, 3), (3, 4), (2, 3))):
        w = generate({"seed": 10 + i, "shape": (outputs, inputs), "kind": "uniform", "lo": -1, "hi": 1}) * np.logspace(0, 2, outputs).astype(f32)[:, None]
        layers.append((w.astype(f32), generate({"seed": 20 + i, "shape": (outputs,), "kind": "uniform", "lo": -1, "hi": 1})))
    found = read_constants(run_pass(linear_network(layers), np.zeros((1, 1, 3), f32), "--octet-equalize"))
    for i, (w, b) in enumerate(RECORDED):
        # Both stop where a round changes the weights by less than 1e-4 in total.
        np.testing.assert_allclose(found[2 * i].reshape(np.shape(w)), w, rtol=1e-3)
        np.testing.assert_allclose(found[2 * i + 1], b, rtol=1e-3)


def test_equalize_computes_the_same(tool, tmp_path):
    nodes = """
        a = Conv<pads = [1, 1, 1, 1]>(x, w0, b0)
        r = Relu(a)
        d = Conv<pads = [1, 1, 1, 1], group = 8>(r, w1)
        s = LeakyRelu<alpha = 0.25>(d)
        g = Conv<group = 2>(s, w2)
        m = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(g)
        y = Conv(m, w3)
        """
    constants = {"w0": (8, 3, 3, 3), "b0": (8,), "w1": (8, 1, 3, 3), "w2": (6, 4, 1, 1), "w3": (4, 6, 1, 1)}
    network = make_network(nodes, constants=constants).SerializeToString()
    (tmp_path / "net.onnx").write_bytes(network)
    tool("octet-translate", "--import-onnx", tmp_path / "net.onnx", "-o", tmp_path / "net.mlir")
    tool("octet-opt", tmp_path / "net.mlir", "--octet-attach-policy", "--octet-fuse", "--octet-equalize", "-o", tmp_path / "out.mlir")
    assert len(set(re.findall(r"dense_resource<([\w.]*equalized[\w.]*)>", (tmp_path / "out.mlir").read_text()))) == 5
    libraries = []
    for name in ("net", "out"):
        tool("octet-compile", tmp_path / f"{name}.mlir", "--float", "-o", tmp_path / f"{name}.so")
        libraries.append(octet.load(tmp_path / f"{name}.so"))
    x = np.random.default_rng(0).normal(size=(1, 3, 8, 8)).astype(f32)
    before, after = (library(x)["y"] for library in libraries)
    assert np.abs(before - after).max() < 1e-5 * np.abs(before).max()  # some roundings of f32 in each of four layers


def test_equalize_helps_where_channels_differ(with_recipe):
    """With one scale for all channels of weights, as in PyTorch's qnnpack, narrow channels are lost without it."""
    network, data = uneven_network()
    weight = "#octet.min_max<dtype = si8, scheme = symmetric, range = [-127, 127]>"
    qconfig = {"one scale": {"activation": "#octet.min_max<dtype = ui8>", "weight": weight}}
    results = [octet.compare_qconfigs(network, qconfig, calibration_data=data, backend=with_recipe(passes)).errors["one scale"][-1].output.sqnr
               for passes in ("", "octet-equalize")]
    assert results[1] > results[0] + 10
