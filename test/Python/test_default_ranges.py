# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranges that the default mapping gives to values, against the extremes that were seen [N.stat.squared_error] or one for all channels."""
import numpy as np
import pytest

octet = pytest.importorskip("octet")
pytest.importorskip("onnx")
from decibels import get_decibels  # noqa: E402
from onnx_networks import make_network  # noqa: E402

pytestmark = pytest.mark.usefixtures("compiler")

SHAPE = (1, 8, 256, 256)


@pytest.fixture
def extremes(source, tmp_path):
    """The path of the default mapping with the extremes as ranges."""
    text = (source / "lib" / "Backend" / "backends" / "cpu_default_mapping.mlir").read_text()
    assert text.count("#octet.mean_squared_error<") == 1
    (tmp_path / "extremes.mlir").write_text(text.replace("#octet.mean_squared_error<", "#octet.min_max<"))
    return str(tmp_path / "extremes.mlir")


@pytest.mark.parametrize("largest, gain", [(20, 6), (1, -0.5)])
def test_a_few_large_values_do_not_take_the_integers(largest, gain, extremes):
    """Of eight million normal values that calibrate one is as large as `largest`; those that judge are like all others."""
    random = np.random.default_rng(7)
    near_identity = (np.eye(8) + random.normal(0, 0.02, (8, 8))).astype(np.float32)
    network = make_network("r = Conv(x, w)\na = Relu(r)\ny = Conv(a, w)", inputs={"x": list(SHAPE)},
                           constants={"w": near_identity[:, :, None, None]}).SerializeToString()
    data = random.normal(size=(16, *SHAPE)).astype(np.float32)
    data[0, 0, 0, 0, 0] = largest
    x = random.normal(size=SHAPE).astype(np.float32)
    expected = octet.compile(network)(x)["y"]
    on, off = (get_decibels(expected, octet.compile(network, calibration_data={"x": data}, **options)(x)["y"])
               for options in ({}, {"qconfig_mapping": extremes}))
    assert on > off + gain, (on, off)


@pytest.mark.parametrize("spread, least, most", [(256, 10, 60), (1, -1, 3)])
def test_floats_that_a_depthwise_convolution_reads_have_a_scale_per_channel(spread, least, most, source, tmp_path):
    """PP-OCRv5's detection: what is behind an activation there has a float result, with channels of very different ranges."""
    random = np.random.default_rng(3)
    factors = np.geomspace(1, spread, 16).astype(np.float32)[:, None, None, None]
    network = make_network("c = Conv(x, u)\na = HardSwish(c)\ns = Mul(a, k)\nf = Add(s, k)\ny = Conv<group=16, pads=[1,1,1,1]>(f, v)",
                           inputs={"x": [1, 16, 24, 24]}, opset=14,
                           constants={"u": (random.normal(size=(16, 16, 1, 1)) * factors).astype(np.float32),
                                      "v": (random.normal(size=(16, 1, 3, 3)) / factors).astype(np.float32), "k": np.full(1, 0.25, np.float32)}).SerializeToString()
    data, x = random.normal(size=(16, 1, 16, 24, 24)).astype(np.float32), random.normal(size=(1, 16, 24, 24)).astype(np.float32)
    text = (source / "lib" / "Backend" / "backends" / "cpu_default_mapping.mlir").read_text()
    assert text.count(", channel_activation = #channels") == 1
    (tmp_path / "one.mlir").write_text(text.replace(", channel_activation = #channels", ""))
    expected = octet.compile(network)(x)["y"]
    on, off = (get_decibels(expected, octet.compile(network, calibration_data={"x": data}, **options)(x)["y"])
               for options in ({}, {"qconfig_mapping": str(tmp_path / "one.mlir")}))
    assert least < on - off < most, (on, off)
