# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalizations along the last dimension, which are one step where their operators are read by one another only."""

import pytest
from random_networks import quantized_type, tensor
from test_compiled import check, driver  # noqa: F401


def layer_norm(shape, *, centres=True, factor=None, result=None, quantized_input=None):
    """The text of x without its mean over its deviation, which may have a factor for each row, with weight and bias."""
    row, axis, lines = (*shape[:-1], 1), len(shape) - 1, []
    full, column, vector = tensor(shape), tensor(row), tensor(shape[-1:])
    emit = lines.append
    x = "%x"
    if quantized_input:
        kind = quantized_type(*quantized_input)
        emit(f"%xq = octet.quantize %x : ({full}) -> {tensor(shape, kind)}")
        emit(f"%xr = octet.dequantize %xq : ({tensor(shape, kind)}) -> {full}")
        x = "%xr"
    weights = [round(0.5 + 0.03 * i, 3) for i in range(shape[-1])]
    emit(f"%w = nn.constant dense<{weights}> : {vector}")
    emit("%e = nn.constant dense<0.01> : tensor<1xf32>")
    if centres:
        emit(f"%m = nn.reduce_mean {x} axes [{axis}] keep_dims : ({full}) -> {column}")
        emit(f"%d = nn.sub {x}, %m : ({full}, {column}) -> {full}")
        x = "%d"
    emit(f"%s = nn.mul {x}, {x} : ({full}, {full}) -> {full}")
    emit(f"%v = nn.reduce_mean %s axes [{axis}] keep_dims : ({full}) -> {column}")
    emit(f"%a = nn.add %v, %e : ({column}, tensor<1xf32>) -> {column}")
    emit(f"%r = nn.sqrt %a : ({column}) -> {column}")
    if factor:
        emit(f"%f = nn.slice %x starts {[0] * len(shape)} sizes {list(row)} steps {[1] * len(shape)} : ({full}) -> {column}")
        emit(f"%rf = nn.add %r, %f : ({column}, {column}) -> {column}")
    emit(f"%n = nn.div {x}, {'%rf' if factor else '%r'} : ({full}, {column}) -> {full}")
    emit(f"%y0 = nn.mul %n, %w : ({full}, {vector}) -> {full}")
    emit(f"%y1 = nn.add %y0, %w : ({full}, {vector}) -> {full}")
    y = "%y1"
    if result:
        kind = quantized_type(*result)
        emit(f"%q = octet.quantize %y1 : ({full}) -> {tensor(shape, kind)}")
        emit(f"%y = octet.dequantize %q : ({tensor(shape, kind)}) -> {full}")
        y = "%y"
    body = "\n  ".join(lines)
    return f'func.func @main(%x: {full} {{nn.name = "x"}}) -> ({full} {{nn.name = "y"}}) {{\n  {body}\n  return {y} : {full}\n}}\n'


def check_one_step(tool, driver, folder, text, shape):  # noqa: F811
    options = () if "octet.quantize" in text else ("--float",)
    check(tool, driver, folder, text, shape, options=options)
    tool("octet-compile", folder / "model.mlir", "--name=model", "--stop-after=layout", *options, "-o", folder / "layout.mlirbc")
    layout = (folder / "layout.mlir").read_text()
    assert "octet.group" in layout and layout.index("octet.group") < layout.index("nn.reduce_")


@pytest.mark.parametrize("result", [None, (0.04, 117)])
@pytest.mark.parametrize("shape", [(1, 16), (2, 17), (3, 1, 49), (4, 64), (5, 95), (1, 7, 96), (2, 3, 3, 130), (6, 31)])
def test_shapes(tool, driver, tmp_path, shape, result):  # noqa: F811
    """Rows that fill no vector, and fewer or more of them than are computed at a time."""
    check_one_step(tool, driver, tmp_path, layer_norm(shape, result=result), shape)


@pytest.mark.parametrize("centres, factor, quantized_input", [(False, False, None), (True, True, None), (True, False, (0.03, 100)), (False, True, (0.03, 3))])
def test_forms(tool, driver, tmp_path, centres, factor, quantized_input):  # noqa: F811
    """Without a mean, with a number for each row from outside, of quantized values."""
    text = layer_norm((2, 5, 40), centres=centres, factor=factor, result=(0.05, 128), quantized_input=quantized_input)
    check_one_step(tool, driver, tmp_path, text, (2, 5, 40))


@pytest.mark.parametrize("name", ["reduce_max", "reduce_min", "reduce_sum"])
def test_reductions(tool, driver, tmp_path, name):  # noqa: F811
    """The difference from what a row is reduced to, between two operators that are computed again."""
    full, column = tensor((5, 37)), tensor((5, 1))
    check_one_step(tool, driver, tmp_path, f"""func.func @main(%x: {full} {{nn.name = "x"}}) -> ({full} {{nn.name = "y"}}) {{
  %k = nn.constant dense<-1.5> : tensor<1xf32>
  %a = nn.mul %x, %k : ({full}, tensor<1xf32>) -> {full}
  %m = nn.{name} %a axes [1] keep_dims : ({full}) -> {column}
  %d = nn.sub %a, %m : ({full}, {column}) -> {full}
  %y = nn.exp %d : ({full}) -> {full}
  return %y : {full}
}}
""", (5, 37))
