# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights of linear layers rounded against data, beside the same backend without it [N.round_weights]."""
import numpy as np
import pytest

octet = pytest.importorskip("octet")
pytest.importorskip("onnx")
from decibels import get_decibels  # noqa: E402
from onnx_networks import make_network  # noqa: E402

pytestmark = pytest.mark.usefixtures("compiler")


@pytest.mark.parametrize("columns, rows", [(25, 3), (24, 4)])  # an odd number of values is filled up where they are kept
@pytest.mark.parametrize("bias", ["", "\ny = Add(p, b)"])
def test_results_change_less(columns, rows, bias, source, tmp_path):
    """Inputs are mixtures of two values: what the rounding of a weight changes others can make up for. A large weight makes for large steps."""
    random = np.random.default_rng(3)
    mixture = random.choice([-1.0, 1.0], (2, columns))
    draw = lambda count: (random.uniform(-1, 1, (count, 1, rows, 2)) @ mixture + random.normal(scale=0.02, size=(count, 1, rows, columns))).astype(np.float32)  # noqa: E731
    weights = random.normal(size=(columns, 64)).astype(np.float32)
    weights[0] *= 8
    network = make_network(f"n = Neg(x)\n{'p' if bias else 'y'} = MatMul(n, w){bias}", inputs={"x": [1, rows, columns]},
                           constants={"w": weights, **({"b": random.normal(size=64).astype(np.float32)} if bias else {})})
    data, samples = {"x": draw(64)}, list(draw(32))
    text = (source / "lib" / "Backend" / "backends" / "cpu.mlir").read_text()
    assert text.count("octet-round-weights,") == 1
    (tmp_path / "off.mlir").write_text(text.replace("octet-round-weights,", ""))

    def run(**options):
        model = octet.compile(network.SerializeToString(), **options)
        return np.concatenate([model(sample)["y"] for sample in samples])

    assert octet.compile(network.SerializeToString(), calibration_data=data).report.data["rounded_layers"] == 1
    few = octet.compile(network.SerializeToString(), calibration_data={"x": data["x"][:2]}).report.data
    assert "rounded_layers" not in few  # fewer rows than columns
    expected = run()
    on, off = (get_decibels(expected, run(calibration_data=data, **options))
               for options in ({}, {"backend": str(tmp_path / "off.mlir"), "qconfig_mapping": "cpu_default_mapping"}))
    assert on > off + 3, (on, off)
