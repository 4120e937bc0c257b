# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables and matrices of a few bits, as onnxruntime's quantizers write them, are what onnxruntime makes of them."""
import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
octet = pytest.importorskip("octet")
from importing import expect_error  # noqa: E402
from onnx import TensorProto  # noqa: E402
from quantized_networks import make, open_onnxruntime  # noqa: E402

RANDOM = np.random.default_rng(3)
ROWS, BLOCK = 20, 16
IDS = dict(inputs={"i": [2, 5]}, types={"i": TensorProto.INT64})


def integers(shape, low, high, dtype=np.uint8):
    return RANDOM.integers(low, high, shape).astype(dtype)


def scales(*shape):
    return RANDOM.uniform(0.001, 0.01, shape).astype(np.float32)


def narrow(shape, type):
    """A constant of four bits."""
    low = -8 if type == TensorProto.INT4 else 0
    return integers(shape, low, low + 16, onnx.helper.tensor_dtype_to_np_dtype(type))


def gather(table, attributes="", zero_points=None, blocks=3, **more):
    """Rows of three blocks."""
    constants = {"w": table, "s": scales(ROWS, blocks), **({} if zero_points is None else {"z": zero_points}), **more}
    return (f"y = com.microsoft.GatherBlockQuantized<gather_axis=0, quantize_axis=1, block_size={BLOCK}{attributes}>(w, i, s"
            f"{'' if zero_points is None else ', z'})", dict(IDS, constants=constants))


def multiply(kind, rows=6, columns=40, block=16, **more):
    """Blocks run across rows; the last one is shorter."""
    count = rows * columns
    constants = {"w": integers((count + 1) // 2, 0, 256), "s": scales(-(-count // block)), **more}
    return f"y = com.microsoft.MatMulBnb4<K={columns}, N={rows}, block_size={block}, quant_type={kind}>(x, w, s)", dict(inputs={"x": [2, columns]}, constants=constants)


CASES = {
    "bytes_of_four_bits": gather(integers((ROWS, 24), 0, 256), ", bits=4"),
    "bytes_of_four_bits_zero_points": gather(integers((ROWS, 24), 0, 256), ", bits=4", integers((ROWS, 2), 0, 256)),
    "bytes": gather(integers((ROWS, 48), 0, 256), ", bits=8"),
    "bytes_zero_points": gather(integers((ROWS, 48), 0, 256), ", bits=8", integers((ROWS, 3), 0, 256)),
    "a_short_block": gather(integers((ROWS, 20), 0, 256), ", bits=4"),
    "four_bits": gather(narrow((ROWS, 48), TensorProto.UINT4), "", narrow((ROWS, 3), TensorProto.UINT4)),
    "four_bits_without_zero_points": gather(narrow((ROWS, 48), TensorProto.UINT4)),
    "signed_four_bits": gather(narrow((ROWS, 48), TensorProto.INT4), "", narrow((ROWS, 3), TensorProto.INT4)),
    "signed_four_bits_without_zero_points": gather(narrow((ROWS, 48), TensorProto.INT4)),
    "float4": multiply(0),
    "normal_float4": multiply(1),
    "an_odd_count": multiply(1, rows=3, columns=13),
}


def run(nodes, arguments):
    model = make(nodes, **arguments)
    session = open_onnxruntime(model)
    shapes = {value.name: value.shape for value in session.get_inputs()}
    feeds = {"i": integers(shapes["i"], -ROWS, ROWS, np.int64)} if "i" in shapes else {"x": RANDOM.standard_normal(shapes["x"]).astype(np.float32)}
    return octet.compile(model.SerializeToString()).run(feeds)["y"], session.run(None, feeds)[0]


@pytest.mark.parametrize("name", CASES)
def test_operator_is_that_of_onnxruntime(compiler, name):
    got, expected = run(*CASES[name])
    assert got.shape == expected.shape
    if "com.microsoft.Gather" in CASES[name][0]:
        np.testing.assert_array_equal(got, expected)
    else:
        assert np.abs(got - expected).max() <= 1e-6 * np.abs(expected).max()


def test_an_index_outside_ends_the_run(compiler):
    """onnxruntime gives zeros."""
    nodes, arguments = CASES["bytes_of_four_bits"]
    compiled = octet.compile(make(nodes, **arguments).SerializeToString())
    with pytest.raises(octet.Error, match="an index outside of the tensor"):
        compiled.run({"i": np.full((2, 5), ROWS)})


def test_a_table_stays_in_bytes(compiler, tmp_path):
    rows, columns = 20000, 64
    constants = {"w": integers((rows, columns // 2), 0, 256), "s": scales(rows, columns // BLOCK)}
    model = make(f"y = com.microsoft.GatherBlockQuantized<gather_axis=0, quantize_axis=1, bits=4, block_size={BLOCK}>(w, i, s)", **dict(IDS, constants=constants))
    octet.compile(model.SerializeToString()).save(tmp_path / "table.so")
    assert (tmp_path / "table.so").stat().st_size < 2 * rows * columns


def dequantized(weights, blocks, axis, block=16, zero_points=None, name="w"):
    """x times a matrix of integers in blocks along its rows or columns."""
    inputs = "w, s" if zero_points is None else "w, s, z"
    nodes = f"r = DequantizeLinear<axis={axis}{f', block_size={block}' if block else ''}>({inputs})\n" + ("t = Transpose<perm=[1, 0]>(r)\ny = MatMul(x, t)" if axis == 1 and block else "y = MatMul(x, r)")
    constants = {"w": weights, "s": scales(*blocks), **({} if zero_points is None else {"z": zero_points})}
    return nodes, dict(inputs={"x": [19, 64]}, constants=constants, opset=21)


FEW_BITS = {
    "bytes_per_channel": (dequantized(integers((64, 48), -127, 128, np.int8), (48,), 1, block=0), 1),
    "bytes_with_zero_points": (dequantized(integers((64, 48), 0, 256), (48,), 1, 0, integers(48, 100, 140)), 1),
    "blocks": (dequantized(narrow((64, 48), TensorProto.INT4), (4, 48), 0), 0.5),
    "blocks_with_zero_points": (dequantized(narrow((64, 48), TensorProto.UINT4), (4, 48), 0, 16, narrow((4, 48), TensorProto.UINT4)), 0.5),
    "blocks_of_a_transposed_matrix": (dequantized(narrow((48, 64), TensorProto.UINT4), (48, 4), 1, 16, narrow((48, 4), TensorProto.UINT4)), 0.5),
    "blocks_of_bytes": (dequantized(integers((64, 48), -128, 128, np.int8), (4, 48), 0), 1),
}


@pytest.mark.parametrize("name", FEW_BITS)
def test_weights_alone_stay_as_they_are_in_the_file(compiler, name):
    """A library holds them, their scales and zero points."""
    (nodes, arguments), bytes_each = FEW_BITS[name]
    model = make(nodes, **arguments)
    got, expected = run(nodes, arguments)
    assert np.abs(got - expected).max() <= 1e-6 * np.abs(expected).max()
    compiled = octet.compile(model.SerializeToString())
    parameters = 4 * sum(array.size for key, array in arguments["constants"].items() if key != "w")
    assert compiled.report.data["weights_bytes"] <= 64 * 48 * bytes_each + parameters + 64


def test_blocks_that_are_scaled_are_floats(compiler):
    nodes, arguments = FEW_BITS["blocks"][0]
    got, expected = run(nodes.replace("y = MatMul(x, r)", "two = Constant<value_float=1.7>()\nr2 = Mul(r, two)\ny = MatMul(x, r2)"), arguments)
    assert np.abs(got - expected).max() <= 1e-6 * np.abs(expected).max()


REFUSED = {
    "axes": ("y = com.microsoft.GatherBlockQuantized<gather_axis=1, quantize_axis=0, block_size=16>(w, i, s)",
             dict(IDS, constants={"w": narrow((48, 9), TensorProto.UINT4), "s": scales(3, 9)}), "quantized along axis 0 and gathered along axis 1"),
    "table_at_run_time": ("y = com.microsoft.GatherBlockQuantized<quantize_axis=1, block_size=16>(w, i, s)",
                          dict(inputs={**IDS["inputs"], "w": [ROWS, 48]}, types={"w": TensorProto.UINT8, **IDS["types"]}, constants={"s": scales(ROWS, 6)}), "a table computed at run time"),
    "table_of_floats": (*gather(scales(ROWS, 48)), "a table of FLOAT"),
    "blocks": ("y = com.microsoft.GatherBlockQuantized<quantize_axis=1, block_size=8>(w, i, s)", dict(IDS, constants={"w": integers((ROWS, 24), 0, 256), "s": scales(ROWS, 6)}), "has blocks of 8"),
    "scales": (*gather(integers((ROWS, 24), 0, 256), blocks=4), "other shapes than 20x3, one for each block"),
    "scales_at_run_time": ("y = com.microsoft.GatherBlockQuantized<quantize_axis=1, block_size=16>(w, i, s)",
                           dict(IDS, inputs={**IDS["inputs"], "s": [ROWS, 3]}, constants={"w": integers((ROWS, 24), 0, 256)}), "scales or zero points computed at run time"),
    "bnb_scales": (*multiply(1, s=scales(14)), "scales of shape 14 for 6 rows and 40 columns in blocks of 16"),
    "bnb_at_run_time": ("y = com.microsoft.MatMulBnb4<K=40, N=6, block_size=16, quant_type=1>(x, w, s)",
                        dict(inputs={"x": [2, 40], "s": [15]}, constants={"w": integers(120, 0, 256)}), "a matrix or scales computed at run time"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusal(tmp_path, name):
    nodes, arguments, reason = REFUSED[name]
    expect_error(tmp_path, make(nodes, **arguments), reason)
