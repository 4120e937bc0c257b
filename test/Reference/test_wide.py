# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""[N.wide] Products of activations of 16 bits: compiled code against the law, and that against numbers without rounding."""

import numpy as np
import octet_reference as reference
import onnxruntime
import pytest
from octet_reference.network import Quantized
from octet_reference.quantization import QParams
from test_compiled import LEVELS, check, compile_network, driver, run_library, supports  # noqa: F811,F401  (driver is a fixture)

f32 = np.float32


def make_constant(name, array, kind, result=None):
    text = f'  %{name} = nn.constant dense<"0x{array.tobytes().hex().upper()}"> : tensor<{"x".join(map(str, array.shape))}x{kind}>'
    return text + (f" -> tensor<{'x'.join(map(str, array.shape))}x{result}>" if result else "")


def make_network(storage, product, shape, weights, result, attributes="", behind="", seed=0):
    """A layer that reads 16 bits, `behind` it operators on %y that give %z, or nothing."""
    rng = np.random.default_rng(seed)
    zero = int(rng.integers(20000, 45000)) - (32768 if storage == "i16" else 0)
    scales = ",".join(str(s) for s in rng.uniform(0.001, 0.01, weights[0]))
    x, w, y = (f"tensor<{'x'.join(map(str, s))}xf32>" for s in (shape, weights, result))
    kind = {name: text.replace("f32>", f"!{name}>") for name, text in (("x", x), ("w", w))}
    return "\n".join([
        f"!x = !quant.uniform<{storage}:f32, {rng.uniform(0.5, 2) / 16384}:{zero}>", f"!w = !quant.uniform<i8<-127:127>:f32:0, {{{scales}}}>",
        f'func.func @main(%x: {x} {{nn.name = "x"}}) -> {y} {{',
        make_constant("wq", rng.integers(-127, 128, weights).astype(np.int8), "i8", "!w"),
        make_constant("b", rng.normal(size=weights[0]).astype(f32), "f32"),
        f"  %q = octet.quantize %x : ({x}) -> {kind['x']}", f"  %d = octet.dequantize %q : ({kind['x']}) -> {x}",
        f"  %w = octet.dequantize %wq : ({kind['w']}) -> {w}",
        f"  %y = {product} %d, %w, %b {attributes} : ({x}, {w}, tensor<{weights[0]}xf32>) -> {y}",
        behind.replace("!y", y) or f"  %z = nn.relu %y : ({y}) -> {y}", f"  return %z : {y}", "}"]) + "\n"


LAYERS = {
    "1x1": ("nn.conv", (1, 20, 9, 7), (33, 20, 1, 1), (1, 33, 9, 7)),
    "3x3": ("nn.conv", (2, 8, 9, 7), (16, 8, 3, 3), (2, 16, 5, 4), "strides [2, 2] pads [1, 1, 1, 1]"),
    "image": ("nn.conv", (1, 3, 16, 16), (8, 3, 4, 4), (1, 8, 4, 4), "strides [4, 4]"),
    "depthwise": ("nn.conv", (1, 24, 9, 7), (24, 1, 3, 3), (1, 24, 9, 7), "pads [1, 1, 1, 1] groups 24"),
    "groups": ("nn.conv", (1, 8, 6, 6), (12, 4, 3, 3), (1, 12, 6, 6), "pads [1, 1, 1, 1] groups 2"),
    "row": ("nn.linear", (1, 70), (37, 70), (1, 37)),
    "rows": ("nn.linear", (3, 5, 64), (48, 64), (3, 5, 48)),
}
BEHIND = """  %s = nn.silu %y : (!y) -> !y
  %sq = octet.quantize %s : (!y) -> !q
  %z = octet.dequantize %sq : (!q) -> !y"""


@pytest.mark.parametrize("storage", ["u16", "i16"])
@pytest.mark.parametrize("layer", LAYERS)
def test_layer(tool, driver, tmp_path, layer, storage):  # noqa: F811
    text = make_network(storage, *LAYERS[layer])
    check(tool, driver, tmp_path, text, LAYERS[layer][1])


@pytest.mark.parametrize("layer", ["3x3", "rows"])
def test_bytes_behind_it(tool, driver, tmp_path, layer):  # noqa: F811
    result = LAYERS[layer][3]
    quantized = f"tensor<{'x'.join(map(str, result))}x!quant.uniform<u8:f32, 0.03:9>>"
    text = make_network("u16", *LAYERS[layer], behind=BEHIND.replace("!q", quantized))
    check(tool, driver, tmp_path, text, LAYERS[layer][1])


@pytest.mark.parametrize("storage,zero", [("u16", 0), ("u16", 65535), ("i16", -32768), ("i16", 32767)])
def test_ends_and_numbers_that_are_none(tool, driver, tmp_path, storage, zero):  # noqa: F811
    """Both ends of the range, a zero point there, and a NaN, which is a zero."""
    first, rest = make_network(storage, *LAYERS["row"]).split("\n", 1)
    library, onnx_file = compile_network(tool, tmp_path, f"{first.rsplit(':', 1)[0]}:{zero}>\n{rest.replace('nn.relu', 'nn.tanh')}")
    image = np.random.default_rng(0).normal(scale=3, size=(1, 70)).astype(f32)
    image[0, :3] = np.nan, np.inf, -np.inf
    values = reference.Network(str(onnx_file)).run({"x": image}, all_tensors=True)
    (stored,) = (v for v in values.values() if v.dtype in (np.uint16, np.int16) and v.ndim == 2)
    info = np.iinfo(stored.dtype)
    assert stored[0, :3].tolist() == [zero, info.max, info.min]
    (wanted,) = reference.Network(str(onnx_file)).run({"x": image}).values()
    assert np.isfinite(wanted).all() and len(np.unique(wanted)) > 10
    for level in filter(lambda level: supports(library, level), LEVELS):
        assert np.array_equal(run_library(driver, library, level, 1, tmp_path, image), wanted.ravel().view(np.uint32)), level


def test_bytes_are_the_integers():
    for dtype, zero in (np.uint16, 777), (np.int16, -3):
        info = np.iinfo(dtype)
        values = np.arange(info.min, info.max + 1).astype(dtype)
        high, low = Quantized(values, QParams(f32(0.5), zero, info.min, info.max)).bytes()
        real = sum((part.values.astype(np.float64) - part.params.zero_point) * part.params.scale for part in (high, low))
        assert np.array_equal(real, (values.astype(np.float64) - zero) * 0.5)


def test_law_is_close_to_real_numbers(tool, tmp_path):
    (tmp_path / "model.mlir").write_text(make_network("u16", *LAYERS["rows"]))
    tool("octet-translate", "--export-onnx", tmp_path / "model.mlir", "-o", tmp_path / "model.onnx")
    x = np.random.default_rng(1).normal(size=LAYERS["rows"][1]).astype(f32)
    (own,) = reference.Network(str(tmp_path / "model.onnx")).run({"x": x}).values()
    (other,) = onnxruntime.InferenceSession(str(tmp_path / "model.onnx")).run(None, {"x": x})
    np.testing.assert_allclose(own, other, atol=1e-5 * np.abs(other).max())
