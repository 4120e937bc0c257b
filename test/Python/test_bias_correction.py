# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bias correction where it helps and where it would harm, against the same backend without the rules, and without any correction."""
import numpy as np
import pytest

octet = pytest.importorskip("octet")
pytest.importorskip("onnx")
from decibels import get_decibels  # noqa: E402
from onnx_networks import make_network  # noqa: E402

pytestmark = pytest.mark.usefixtures("compiler")

CHANNELS = 64
RECIPE = 'octet.recipe before_prepare "octet-prepare-attention" after_calibrate "octet-scale-each-run,octet-split-outliers,octet-equalize-channels,octet-round-weights,octet-correct-bias"'


@pytest.fixture
def judged(write_backend):
    return write_backend(RECIPE, 'octet.recipe after_calibrate "octet-correct-bias"')


@pytest.fixture
def unjudged(write_backend):
    return write_backend(RECIPE, 'octet.recipe after_calibrate "octet-correct-bias{judged=false}"')


@pytest.fixture
def uncorrected(write_backend):
    return write_backend(RECIPE, "")


def run_all(network, samples, **options):
    """The first output for each of the samples."""
    model = octet.compile(network.SerializeToString(), **options)
    return np.concatenate([next(iter(model(sample).values())) for sample in samples])


def make_head(nodes="y = Conv(x, w, b)", outputs=("y",), **constants):
    """A detector's head: logits near 0 decide, and all weights are rounded in the same direction."""
    weights = -(np.random.default_rng(1).integers(40, 90, (2, CHANNELS, 1, 1)) + 0.45) / 127
    weights[:, 0] = -1
    bias = -0.05 * weights.sum((1, 2, 3))
    return make_network(nodes, inputs={"x": [1, CHANNELS, 8, 8]},
                        constants={"w": weights.astype(np.float32), "b": bias.astype(np.float32), **constants}, outputs=outputs)


def make_maps(count, seed, share):
    """Inputs of the head, small at most places and large at a share of them, where the logits are near -234."""
    random = np.random.default_rng(seed)
    maps = random.uniform(0, 0.1, (count, 1, CHANNELS, 8, 8))
    is_large = random.uniform(size=(count, 1, 1, 8, 8)) < share
    return np.where(is_large, random.uniform(6.6, 7.6, maps.shape), maps).astype(np.float32)


def agree(expected, got):
    """The share of the logits near 0 on whose sign both agree."""
    near = np.abs(expected) < 5
    assert near.mean() > 0.5 and expected.min() < -200
    return np.mean((expected > 0)[near] == (got > 0)[near])


# The logits leave beside boxes, from which they are sliced off in front of another product.
BOXES = """
c = Conv(x, w, b)
o = Conv(x, v)
j = Concat<axis = 1>(o, c)
r = Reshape(j, lines)
t = Transpose<perm = [0, 2, 1]>(r)
d, y = Split<axis = 2>(t, sizes)
k = Transpose<perm = [0, 2, 1]>(d)
i = Reshape(k, image)
s = Softmax<axis = 1>(i)
z = Conv(s, u)
"""


def make_head_with_boxes():
    return make_head(BOXES, outputs=("y", "z"), v=(4, CHANNELS, 1, 1), u=(2, 4, 1, 1), lines=np.array([1, 6, 64]), sizes=np.array([4, 2]),
                     image=np.array([1, 4, 8, 8]))


@pytest.mark.parametrize("make", [make_head, make_head_with_boxes])
def test_a_correction_by_a_few_large_errors_is_left_out(make, unjudged, uncorrected):
    network, data, samples = make(), {"x": make_maps(30, 0, 0.1)}, make_maps(20, 1, 0.1)
    expected = run_all(network, samples)
    on, off, without = (agree(expected, run_all(network, samples, calibration_data=data, backend=backend))
                        for backend in ("cpu", unjudged, uncorrected))
    assert on > off + 0.2 and on >= without - 0.005, (on, off, without)


def test_a_correction_that_most_values_need_is_made(unjudged, uncorrected):
    network, data, samples = make_head(), {"x": make_maps(30, 0, 1)}, make_maps(20, 1, 1)
    expected = run_all(network, samples)
    on, off, without = (get_decibels(expected, run_all(network, samples, calibration_data=data, backend=backend))
                        for backend in ("cpu", unjudged, uncorrected))
    assert on > off - 0.5 and on > without + 6, (on, off, without)


def test_one_sample_judges_its_own_correction(unjudged):
    network, data, samples = make_head(), {"x": make_maps(1, 0, 0.1)}, make_maps(20, 1, 0.1)
    expected = run_all(network, samples)
    on, off = (agree(expected, run_all(network, samples, calibration_data=data, backend=backend)) for backend in ("cpu", unjudged))
    assert on > off + 0.2, (on, off)


@pytest.mark.parametrize("count", [1, 9])
def test_layers_with_a_product_behind_them_are_not_judged(count, unjudged, tmp_path):
    """The same head in front of a product: of one sample the mean errors are certain, of nine that differ they are not."""
    head = make_head(nodes="c = Conv(x, w, b)\nt = Conv(c, v)\ny = ReduceMean(t)", v=(4, 2, 8, 8))
    libraries = []
    for backend in ("cpu", unjudged):
        octet.compile(head.SerializeToString(), calibration_data={"x": make_maps(count, 0, 0.1)}, backend=backend).save(tmp_path / "net.so")
        libraries.append((tmp_path / "net.so").read_bytes())
    assert (libraries[0] == libraries[1]) == (count == 1)


def test_what_an_activation_hides_is_not_corrected(unjudged, uncorrected):
    """Most logits are far below 0, where rounded weights make large errors and a sigmoid makes none of them."""
    network = make_head("c = Conv(x, w, b)\ny = Sigmoid(c)")
    data, samples = {"x": make_maps(30, 0, 0.9)}, make_maps(20, 1, 0.9)
    expected = run_all(network, samples)
    on, off, without = (get_decibels(expected, run_all(network, samples, calibration_data=data, backend=backend))
                        for backend in ("cpu", unjudged, uncorrected))
    assert on > off + 6 and on > without - 0.5, (on, off, without)


@pytest.mark.parametrize("activation", ["r = Relu(c)", "r = Clip(c, low, high)"])
def test_what_a_clamp_hides_is_not_corrected_in_front_of_a_layer(activation, unjudged, uncorrected):
    """The elements that the clamp lets through are the only ones that later layers read."""
    network = make_head(f"c = Conv(x, w, b)\n{activation}\ny = Conv(r, v)", v=np.ones((1, 2, 1, 1), np.float32), low=np.float32(0), high=np.float32(6))
    data, samples = {"x": make_maps(30, 0, 0.9)}, make_maps(20, 1, 0.9)
    expected = run_all(network, samples)
    on, off, without = (get_decibels(expected, run_all(network, samples, calibration_data=data, backend=backend))
                        for backend in ("cpu", unjudged, uncorrected))
    assert on > off + 3 and on > without - 0.5, (on, off, without)


def make_layers(count=6, size=64, gain=1):
    """Layers whose channels have one element each, so that two samples say little of their mean errors."""
    names = [f"w{i}" for i in range(count)]
    nodes = [f"c{i} = Gemm<transB = 1>({f'r{i - 1}' if i else 'x'}, {name})\nr{i} = Relu(c{i})" for i, name in enumerate(names)]
    random = np.random.default_rng(2)
    constants = {name: random.normal(0, np.sqrt(2 / size), (size, size)).astype(np.float32) for name in [*names, "v"]}
    constants["w0"] *= np.float32(gain)
    return make_network("\n".join([*nodes, f"y = Gemm<transB = 1>(r{count - 1}, v)"]), inputs={"x": [1, size]}, constants=constants)


@pytest.fixture
def measure_layers(judged, unjudged, uncorrected):
    """measure_layers(count, size) is the decibels with the rule, with all of the mean errors, and without correction."""

    def measure(count, size):
        random = np.random.default_rng(0)
        network, samples = make_layers(), random.normal(size=(100, 1, 64)).astype(np.float32)
        data = {"x": random.normal(0, size, (count, 1, 64)).astype(np.float32)}
        expected = run_all(network, samples)
        return [get_decibels(expected, run_all(network, samples, calibration_data=data, backend=backend))
                for backend in (judged, unjudged, uncorrected)]

    return measure


def test_mean_errors_by_chance_are_not_corrected(measure_layers):
    on, off, _ = measure_layers(count=2, size=3)  # large, so that no sample leaves the ranges
    assert on > off + 2, (on, off)


def test_mean_errors_of_many_samples_are_corrected(measure_layers):
    on, off, without = measure_layers(count=30, size=1)
    assert on > off - 0.2 and on > without + 0.5, (on, off, without)


@pytest.mark.parametrize("gain", [2.0**60, 2.0**-12])
def test_corrections_grow_with_the_values(gain, uncorrected):
    """A power of two changes no rounding, so that it comes out as it went in."""
    random = np.random.default_rng(0)
    samples, data = (random.normal(size=(count, 1, 64)).astype(np.float32) for count in (10, 30))
    plain, grown, without = (run_all(make_layers(gain=factor), samples, calibration_data={"x": data}, backend=backend)
                             for factor, backend in ((1, "cpu"), (gain, "cpu"), (1, uncorrected)))
    assert not np.array_equal(plain, without)
    np.testing.assert_array_equal(grown, plain * np.float32(gain))


def test_a_channel_that_overflows_leaves_the_others_corrected(uncorrected):
    """Sums of the largest floats are infinite in both networks: such a channel has no error that could be corrected."""
    weights = np.full((2, CHANNELS, 1, 1), 0.5045 * 2.0**60, np.float32)
    weights[0, 0], weights[1] = 2.0**60, 3e38
    nodes, constants = "c = Conv(x, w)\ns = Slice(c, zero, one, one)\ny = ReduceMean(s)", {"zero": np.array([0]), "one": np.array([1])}
    network = make_network(nodes, inputs={"x": [1, CHANNELS, 8, 8]}, constants={"w": weights, **constants})
    samples = np.random.default_rng(0).uniform(1, 2, (8, 1, CHANNELS, 8, 8)).astype(np.float32)
    expected = run_all(network, samples)
    on, without = (get_decibels(expected, run_all(network, samples, calibration_data={"x": samples}, backend=backend))
                   for backend in ("cpu", uncorrected))
    assert np.isfinite(expected).all() and on > without + 6, (on, without)


def test_corrections_depend_neither_on_order_nor_on_threads(compiler, tool, tmp_path):
    """Of a network of two layers, some of whose channels are corrected and others not."""
    constants = {"v": (CHANNELS, CHANNELS, 1, 1), "w": (4, CHANNELS, 1, 1)}
    network = make_network("c = Conv(x, v)\nr = Relu(c)\ny = Conv(r, w)", inputs={"x": [1, CHANNELS, 8, 8]}, constants=constants)
    (tmp_path / "net.onnx").write_bytes(network.SerializeToString())
    maps = make_maps(11, 0, 0.1)

    def correct(order, threads):
        np.savez(tmp_path / "samples.npz", x=maps[order])
        tool("octet-compile", tmp_path / "net.onnx", f"--calibration-data={tmp_path / 'samples.npz'}", f"--threads={threads}",
             "--stop-after=convert", "-o", tmp_path / "net.mlirbc")
        return (tmp_path / "net.mlir").read_text()

    first = correct(list(range(11)), 1)
    assert ".bias" in first
    assert correct(list(range(10, -1, -1)), 1) == first
    assert correct([7, 3, 0, 10, 1, 9, 4, 2, 8, 6, 5], 3) == first


def test_layers_of_a_state_are_left_alone(compiler, tool, tmp_path):
    """A mean over all steps is wrong for most of them, and a state adds up what it is given."""
    random = np.random.default_rng(6)
    np.savez(tmp_path / "samples.npz", **{name: random.normal(size=(8, 4, size)).astype(np.float32) for name, size in (("x", 8), ("h", 16))})

    def correct(*outputs):
        """The calibrated network. A layer without a bias gets one, of its own name, when it is corrected."""
        network = make_network("p = MatMul(x, w)\ng = Sigmoid(p)\nhn = Mul(g, h)\ny = MatMul(hn, v)", inputs={"x": [4, 8], "h": [4, 16]},
                               outputs=outputs, constants={"w": (8, 16), "v": (16, 8)})
        (tmp_path / "net.onnx").write_bytes(network.SerializeToString())
        tool("octet-compile", tmp_path / "net.onnx", f"--calibration-data={tmp_path / 'samples.npz'}", "--stop-after=calibrate", "-o", tmp_path / "net.mlirbc")
        return (tmp_path / "net.mlir").read_text()

    # The gate multiplies an input that leaves again, or that does not.
    assert "p.bias" in correct("y")
    assert "p.bias" not in correct("y", "hn")
