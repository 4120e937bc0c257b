# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Channels of unequal ranges in front of a convolution, against the same backend without their equalization [N.equalize_channels]."""
import numpy as np
import pytest

octet = pytest.importorskip("octet")
pytest.importorskip("onnx")
from decibels import get_decibels  # noqa: E402
from onnx_networks import make_network  # noqa: E402

pytestmark = pytest.mark.usefixtures("compiler")


def run_all(network, samples, **options):
    """The output for each of the samples."""
    model = octet.compile(network.SerializeToString(), **options)
    return np.concatenate([model(sample)["y"] for sample in samples])


@pytest.mark.parametrize("spread, least, most", [(64, 6, 60), (1, 0, 0)])
@pytest.mark.parametrize("act", ["a = Relu(c)", "s = Mul(c, two)\nt = HardSwish(s)\nm = Mul(t, two)\na = Add(m, two)"])
def test_channels_of_unequal_ranges_share_a_scale(act, spread, least, most, source, tmp_path):
    """PP-OCR's recognition: gates leave channels with ranges that the next convolution's weights undo. Equal channels are left alone."""
    random = np.random.default_rng(5)
    factors = np.geomspace(1, spread, 16).astype(np.float32)
    w = (random.normal(size=(16, 16)) / 4).astype(np.float32)
    network = make_network(f"c = Conv(x, u)\n{act}\ny = Conv(a, v)", inputs={"x": [1, 16, 12, 12]},
                           constants={"u": (w * factors[:, None])[:, :, None, None], "v": (w.T / factors)[:, :, None, None], "two": np.full(1, 2, np.float32)})
    draw = lambda count: random.normal(size=(count, 1, 16, 12, 12)).astype(np.float32)  # noqa: E731
    data, samples = {"x": draw(16)}, list(draw(8))
    text = (source / "lib" / "Backend" / "backends" / "cpu.mlir").read_text()
    assert text.count("octet-equalize-channels,") == 1
    (tmp_path / "off.mlir").write_text(text.replace("octet-equalize-channels,", ""))
    off = str(tmp_path / "off.mlir")
    expected = run_all(network, samples)
    gains = {name: get_decibels(expected, run_all(network, samples, calibration_data=data, **options))
             for name, options in {"on": {}, "off": {"backend": off, "qconfig_mapping": "cpu_default_mapping"}}.items()}
    assert least <= gains["on"] - gains["off"] <= most, gains
    report = octet.compile(network.SerializeToString(), calibration_data=data).report
    assert next(row for row in report if row.operator.startswith("nn.conv")).verdict == "int8"
    assert report.data.get("equalized_layers") == (1 if spread > 1 else None)


def test_few_samples_say_little_of_channels(source, tmp_path):
    """REXNet, four samples: factors leave no channel headroom, and in the next sample another channel is the largest."""
    random = np.random.default_rng(7)
    factors = np.geomspace(1, 8, 16).astype(np.float32)
    w = (random.normal(size=(16, 16)) / 4).astype(np.float32)
    network = make_network("c = Conv(x, u)\na = Relu(c)\ny = Conv(a, v)", inputs={"x": [1, 16, 6, 6]},
                           constants={"u": np.diag(factors)[:, :, None, None], "v": (w / factors)[:, :, None, None]})
    sizes = np.exp(1.5 * random.normal(size=(20, 1, 16, 1, 1)))
    samples = (sizes * random.normal(size=(20, 1, 16, 6, 6))).astype(np.float32)
    text = (source / "lib" / "Backend" / "backends" / "cpu.mlir").read_text()
    (tmp_path / "always.mlir").write_text(text.replace("octet-equalize-channels,", "octet-equalize-channels{excess=100},"))
    expected = run_all(network, samples[4:])
    always = {"backend": str(tmp_path / "always.mlir"), "qconfig_mapping": "cpu_default_mapping"}
    decibels = {name: get_decibels(expected, run_all(network, samples[4:], calibration_data={"x": samples[:4]}, **options))
                for name, options in {"default": {}, "always": always}.items()}
    assert decibels["default"] > decibels["always"] + 1, decibels


def test_weights_that_another_layer_reads_stay():
    """RAFT: steps share their convolutions, and the factors of one step's input are not those of the next."""
    random = np.random.default_rng(6)
    factors = np.geomspace(1, 64, 16).astype(np.float32)
    w = (random.normal(size=(16, 16)) / 4).astype(np.float32)
    network = make_network("c = Conv(x, u)\na = Relu(c)\np = Conv(a, v)\nd = Conv(x, t)\nb = Relu(d)\nq = Conv(b, v)\ny = Concat<axis=1>(p, q)",
                           inputs={"x": [1, 16, 12, 12]},
                           constants={"u": (w * factors[:, None])[:, :, None, None], "t": w[:, :, None, None], "v": (w.T / factors)[:, :, None, None]})
    samples = list(random.normal(size=(8, 1, 16, 12, 12)).astype(np.float32))
    expected, got = run_all(network, samples), run_all(network, samples, calibration_data={"x": np.stack(samples)})
    for half in (slice(0, 16), slice(16, 32)):
        assert get_decibels(expected[:, half], got[:, half]) > 15  # -16 with one step's factors in both
