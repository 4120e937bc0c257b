# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A sum with the layer's input is read at its own rows, wherever dimensions of one element stand between."""
import numpy as np
import pytest

octet = pytest.importorskip("octet")
pytest.importorskip("onnx")
from onnx_networks import make_network  # noqa: E402

pytestmark = pytest.mark.usefixtures("compiler")

ROWS = [[1, 32, 64], [32, 1, 64], [4, 8, 1, 64], [4, 1, 8, 64], [2, 3, 1, 1, 64]]
IMAGES = [[1, 64, 32, 1], [32, 64, 1, 1], [4, 64, 8, 1], [4, 64, 1, 8]]
PER_CHANNEL = {"linear": [1, 64], "conv": [1, 64, 1, 1]}


def make(kind, shape, addend):
    rng = np.random.default_rng(1)
    weight = rng.normal(0, 0.125, (64, 64)).astype(np.float32)
    product = "p = MatMul(x, w)" if kind == "linear" else "p = Conv(x, w)"
    constants = {"w": weight if kind == "linear" else weight.T[:, :, None, None], "v": rng.normal(size=PER_CHANNEL[kind]).astype(np.float32)}
    last = {"input": "y = Add(p, x)", "both": "s = Sigmoid(p)\nt = Mul(s, x)\ny = Add(t, v)"}[addend]
    x = rng.normal(size=(4, *shape)).astype(np.float32)
    axis = -1 if kind == "linear" else 2
    product_value = np.moveaxis(np.moveaxis(x, axis, -1).astype(np.float64) @ weight, -1, axis)
    expected = product_value + x if addend == "input" else x / (1 + np.exp(-product_value)) + constants["v"]
    return make_network(f"{product}\n{last}", inputs={"x": shape}, constants=constants).SerializeToString(), x, expected


@pytest.mark.parametrize("addend", ["input", "both"])
@pytest.mark.parametrize("kind, shape", [*(("linear", shape) for shape in ROWS), *(("conv", shape) for shape in IMAGES)])
def test_rows_between_dimensions_of_one_element(kind, shape, addend, tmp_path):
    network, samples, expected = make(kind, shape, addend)

    def run(model):
        return np.stack([model.run({"x": x})["y"] for x in samples])

    assert np.abs(run(octet.compile(network)) - expected).max() <= 1e-5 * np.abs(expected).max()
    octet.compile(network, calibration_data={"x": samples}, cpu_level=["avx2", "sse2", "reference"]).save(path := tmp_path / "net.so")
    results = [run(octet.load(path, cpu_level=level)) for level in ("sse2", "reference")] + [run(octet.load(path))]
    assert all(result.tobytes() == results[0].tobytes() for result in results)
    assert np.square(results[0] - expected).mean() < 1e-3 * expected.var()
