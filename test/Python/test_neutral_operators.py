# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums with 0 and products with 1 hide nothing from quantization [N.neutral]."""
import numpy as np
import pytest

octet = pytest.importorskip("octet")
pytest.importorskip("onnx")
from onnx_networks import make_network  # noqa: E402

pytestmark = pytest.mark.usefixtures("compiler")

SHAPE = [1, 8, 8, 8]
WEIGHTS = np.random.default_rng(3).normal(0, 0.3, (8, 8, 1, 1)).astype(np.float32)


def compile_quantized(text):
    network = make_network(text, inputs={"x": SHAPE}, constants={"w": WEIGHTS, "zero": np.zeros(1, np.float32), "one": np.ones(1, np.float32),
                                                                 "axis": np.zeros(1, np.int64)})
    data = np.random.default_rng(4).normal(size=(4, *SHAPE)).astype(np.float32)
    return octet.compile(network.SerializeToString(), calibration_data={"x": data})


def test_a_copy_written_as_a_sum_does_not_end_the_integers():
    """PP-OCRv5's recognition: the pool and the layer in front of it stayed float because of it."""
    model = compile_quantized("c = Conv(x, w)\na = Relu(c)\np = AveragePool<kernel_shape=[2, 2], strides=[2, 2]>(a)\nu = Unsqueeze(p, axis)\n"
                              "s = Add(u, zero)\nq = Squeeze(s, axis)\ny = Conv(q, w)")
    first = next(row for row in model.report if row.operator.startswith("nn.conv"))
    assert first.verdict == "int8"


def test_a_factor_of_one_does_not_hide_an_activation():
    model = compile_quantized("c = Conv(x, w)\nf = Mul(c, one)\ng = Sigmoid(f)\na = Mul(c, g)\ny = Conv(a, w)")
    assert [row.operator for row in model.report] == ["nn.conv+nn.silu", "nn.conv"]
