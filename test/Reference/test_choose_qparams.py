# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The reference's dynamic quantization against PyTorch's records (spec/golden*/qdq.json) and exact numbers."""
import json
from fractions import Fraction

import numpy as np
import octet_reference as reference
import pytest

f32 = np.float32


def generate(spec):
    """The tensor that a record describes by its seed."""
    state, count = spec["seed"], int(np.prod(spec["shape"]))
    if spec["kind"] == "const":
        return np.full(count, spec["lo"], f32)
    assert spec["kind"] == "uniform"
    values = []
    for _ in range(count):
        state = (1664525 * state + 1013904223) % 2**32
        values.append(spec["lo"] + (spec["hi"] - spec["lo"]) * ((state >> 8) / 2**24))
    return np.array(values, np.float64).astype(f32)


def get_range(record):
    low, high = {"quint8": (0, 255), "qint8": (-128, 127)}[record.get("dtype", "quint8")]
    return (int(low / 2), int(high / 2)) if record["reduce_range"] else (low, high)


@pytest.fixture(scope="module", params=["golden", "golden-2.13"])
def records(request, shared_spec):
    inputs = json.loads((shared_spec / "golden" / "observers.json").read_text())["inputs"]
    return {name: generate(spec) for name, spec in inputs.items() if spec["kind"] in ("const", "uniform")}, json.loads(
        (shared_spec / request.param / "qdq.json").read_text())


def test_choose_qparams_is_pytorchs(records):
    inputs, golden = records
    assert len(golden["choose_qparams"]) == 12
    for record in golden["choose_qparams"]:
        scale, zero = reference.choose_qparams(inputs[record["input"]], *get_range(record))
        assert (scale, zero) == (f32(record["scale"]), record["zero_point"]), record


def test_quantize_dynamic_is_pytorchs(records):
    inputs, golden = records
    assert len(golden["quantize_per_tensor_dynamic"]) == 24
    for record in golden["quantize_per_tensor_dynamic"]:
        x = inputs[record["input"]]
        scale, zero = reference.choose_qparams(x, *get_range(record))
        assert (scale, zero) == (f32(record["scale"]), record["zero_point"]), record
        low, high = (0, 255) if record["dtype"] == "quint8" else (-128, 127)
        q = reference.quantize_dynamic(x, scale, zero, low, high)
        np.testing.assert_array_equal(q[: len(record["q"])], record["q"], str(record))


def test_rows_have_their_own_parameters():
    x = np.random.default_rng(0).uniform(-1, 2, (2, 3, 5)).astype(f32) * np.array([1e-7, 1, 100], f32)[:, None]
    x[0, 1, 2] = np.nan
    scale, zero = reference.choose_qparams(x, per_row=True)
    assert scale.shape == zero.shape == (2, 3, 1)
    for index in np.ndindex(2, 3):
        assert (scale[index][0], zero[index][0]) == reference.choose_qparams(x[index])


def test_values_that_are_no_numbers_do_not_count():
    x = np.array([np.nan, -1, np.nan, 4.1], f32)
    assert reference.choose_qparams(x) == reference.choose_qparams(x[[1, 3]])
    assert reference.choose_qparams(np.full(3, np.nan, f32)) == (f32(0.1), 0)


def test_infinite_values_give_an_infinite_scale():
    assert reference.choose_qparams([-1, np.inf]) == (np.inf, 0)


@pytest.mark.parametrize("low, high, scale, zero", [(-1, 254, 1, 1), (2, 510, 2, 0), (-255, -1, 1, 255), (0, 0, 2.0**-126, 0), (-0.5, 254.5, 1, 0), (-1.5, 253.5, 1, 2)])
def test_onnx_has_a_rule_of_its_own(low, high, scale, zero):
    assert reference.choose_qparams_as_onnx(np.array([low, np.nan, high], f32)) == (f32(scale), zero)


def test_onnxs_rule_is_onnxruntimes():
    onnx, onnxruntime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    node = onnx.helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"])
    values = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT if name in "xs" else onnx.TensorProto.UINT8, None) for name in "xqsz"]
    graph = onnx.helper.make_graph([node], "dynamic", values[:1], values[1:])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for seed in range(40):
        rng = np.random.default_rng(seed)
        x = (rng.uniform(-1, 1, 33) * 10.0 ** rng.integers(-6, 6) + rng.uniform(-1, 1)).astype(f32)
        q, scale, zero = session.run(None, {"x": x})
        assert reference.choose_qparams_as_onnx(x) == (scale, zero)
        np.testing.assert_array_equal(reference.quantize_dynamic(x, scale, zero), q)


def test_product_is_of_distances_from_the_zero_point():
    rng = np.random.default_rng(1)
    x, w = rng.uniform(-1, 3, (2, 7)).astype(f32), rng.integers(-127, 128, (3, 7)).astype(np.int8)
    scales, bias = rng.uniform(0.001, 0.01, 3).astype(f32), rng.uniform(-1, 1, 3).astype(f32)
    for per_row in (False, True):
        scale, zero = reference.choose_qparams(x, per_row=per_row)
        q = reference.quantize_dynamic(x, scale, zero)
        y = reference.linear_dynamic(x, w, scales, bias, per_row=per_row)
        for i, o in np.ndindex(2, 3):
            row_scale, row_zero = (np.broadcast_to(p, (2, 1))[i, 0] for p in (scale, zero))
            acc = sum((int(q[i, k]) - int(row_zero)) * int(w[o, k]) for k in range(7))
            # Two roundings of the exact product, of S and of the product.
            exact = Fraction(acc) * Fraction(float(row_scale * scales[o]))
            assert y[i, o] == f32(f32(float(exact)) + bias[o])
