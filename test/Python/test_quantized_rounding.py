# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How many integers differ from onnxruntime's where more than one of 10 000 does, or where a product stays one of integers."""
import numpy as np
import pytest

octet = pytest.importorskip("octet")
pytest.importorskip("onnxruntime")
from onnx import TensorProto, helper  # noqa: E402
from quantized_networks import SCALES, A, W, compare, integers, make  # noqa: E402

LARGE = {"x": [1, 4, 32, 32]}
CONV = "v = DequantizeLinear<axis=0>(w, ws, wz)\nc = Conv<{}>(d, v)\n"
WEIGHTS = {name: W[name] for name in ("w", "ws", "wz")}


def between(nodes, **arguments):
    """A network that reads d and gives a, in floats between two pairs."""
    lines = f"q = QuantizeLinear(x, xs, xz)\nd = DequantizeLinear(q, xs, xz)\n{nodes}\nr = QuantizeLinear(a, ys, yz)\ny = DequantizeLinear(r, ys, yz)"
    return make(lines, **{**arguments, "constants": {**A, **arguments["constants"]}})


@pytest.mark.parametrize("name, nodes, constants, share", [
    ("silu", CONV.format("pads=[1,1,1,1]") + "s = Sigmoid(c)\na = Mul(c, s)", WEIGHTS, 0.003),
    ("gelu", CONV.format("pads=[1,1,1,1]") + "a = Gelu(c)", WEIGHTS, 0.003),
    ("resize", 'a = Resize<mode="linear">(d, , k)', {"k": np.float32([1, 1, 2, 2]), "ys": A["xs"], "yz": A["xz"]}, 0.04)])
def test_rounding(name, nodes, constants, share):
    model = between(nodes, inputs=LARGE, opset=20, constants={"ys": np.float32(0.04), **constants})
    different, total, largest = compare(model, runs=8)
    print(f"{name}: {different} of {total} integers differ")
    assert different <= share * total and largest <= 1.001 * max(0.04, float(constants.get("ys", 0)))


@pytest.mark.parametrize("type", [TensorProto.INT4, TensorProto.UINT4])
def test_weights_of_four_bits_are_multiplied_as_integers(type):
    low, dtype = -8 if type == TensorProto.INT4 else 0, helper.tensor_dtype_to_np_dtype(type)
    stored = {"w": integers((8, 4, 3, 3), low, low + 16, dtype), "ws": SCALES * np.float32(8.137), "wz": integers(8, low, low + 16, dtype)}
    expect_integers(between(CONV.format("pads=[0,0,0,0]") + "a = Identity(c)", inputs=LARGE, opset=21, constants=stored))


def test_convolutions_of_volumes_run_in_integers():
    """They are those of images, slice by slice, with slices of zeros around them."""
    stored = {"w": integers((8, 4, 3, 3, 3), -127, 128, np.int8), "ws": SCALES * np.float32(0.8137), "wz": np.zeros(8, np.int8)}
    expect_integers(between(CONV.format("pads=[1,1,1,1,1,1]") + "a = Identity(c)", inputs={"x": [1, 4, 6, 8, 8]}, constants=stored))


def expect_integers(model):
    """Everything runs in integers; the scales have no simple ratio, so that there are no ties."""
    different, total, largest = compare(model, runs=8)
    assert different * 10000 <= total and largest <= 1.001 * float(A["ys"])
    assert {row.verdict for row in octet.compile(model.SerializeToString()).report} == {"int8"}
