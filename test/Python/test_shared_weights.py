# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers that share a matrix share it in the program, too."""
import numpy as np
import pytest
from importing import import_file
from onnx_networks import make_network

octet = pytest.importorskip("octet")
pytestmark = pytest.mark.usefixtures("compiler")

WEIGHTS = np.random.default_rng(3).normal(0, 0.1, (64, 64)).astype(np.float32)
LAYERS = {
    "MatMul": "a = MatMul(x, w)\nb = Relu(a)\nc = Identity(w)\ny = MatMul(b, c)",
    "Gemm": "a = Gemm(x, w)\nb = Relu(a)\ny = Gemm(b, w)",
}


@pytest.mark.parametrize("text", LAYERS.values(), ids=LAYERS)
def test_a_shared_matrix_is_transposed_once(text, tmp_path):
    network = make_network(text, inputs={"x": [4, 64]}, constants={"w": WEIGHTS})
    result, _ = import_file(tmp_path, network, "--summary")
    assert "float weights 16 KB" in result.stdout + result.stderr
    x = np.random.default_rng(4).normal(size=(4, 64)).astype(np.float32)
    got = octet.compile(network.SerializeToString()).run({"x": x})["y"]
    np.testing.assert_allclose(got, np.maximum(x @ WEIGHTS, 0) @ WEIGHTS, atol=1e-5)


def test_another_matrix_of_the_same_shape_stays_another(tmp_path):
    """Also where it comes to lie in the place of the first one, which is released before it is made."""
    text = "p = Neg(w)\na = MatMul(x, p)\nq = Abs(w)\ny = MatMul(a, q)"
    network = make_network(text, inputs={"x": [4, 64]}, constants={"w": WEIGHTS})
    x = np.random.default_rng(4).normal(size=(4, 64)).astype(np.float32)
    got = octet.compile(network.SerializeToString()).run({"x": x})["y"]
    np.testing.assert_allclose(got, x @ -WEIGHTS @ np.abs(WEIGHTS), atol=1e-5)
