# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Activations of 4 and 16 bits: quantize, the operator between floats and dequantize, as the law has them."""

import numpy as np
import octet_reference as reference
import pytest
from octet_reference import QParams
from test_compiled import driver  # noqa: F401
from test_stored_weights import run_levels

f32 = np.float32
TYPES = {"u16": (0, 65535, 1e-4, 30000), "i16": (-32768, 32767, 2e-4, -7), "u4": (0, 15, 0.3, 6), "i4": (-8, 7, 0.4, -2)}


@pytest.mark.parametrize("first, second", [("u16", "i4"), ("i16", "u4"), ("u4", "u16"), ("i4", "i16"), ("u16", "i16"), ("i16", "u16")])
def test_small_and_wide_integers(tool, driver, tmp_path, first, second):  # noqa: F811
    params, kinds = [], []
    for name in (first, second):
        low, high, scale, zero = TYPES[name]
        params.append(QParams(scale, zero, low, high))
        kinds.append(f"tensor<4x37x!quant.uniform<{name}:f32, {scale}:{zero}>>")
    text = f"""func.func @main(%x: tensor<4x37xf32>) -> tensor<4x37xf32> {{
%0 = octet.quantize %x : (tensor<4x37xf32>) -> {kinds[0]}
%1 = octet.dequantize %0 : ({kinds[0]}) -> tensor<4x37xf32>
%2 = nn.neg %1 : (tensor<4x37xf32>) -> tensor<4x37xf32>
%3 = octet.quantize %2 : (tensor<4x37xf32>) -> {kinds[1]}
%4 = octet.dequantize %3 : ({kinds[1]}) -> tensor<4x37xf32>
return %4 : tensor<4x37xf32>
}}"""
    x = np.random.default_rng(0).normal(scale=2, size=(4, 37)).astype(f32)
    x[0, :4] = np.inf, -np.inf, np.nan, 0
    y = -reference.dequantize(reference.quantize(x, params[0]), params[0])
    wanted = reference.dequantize(reference.quantize(y, params[1]), params[1])
    assert len(np.unique(wanted)) > 8
    run_levels(tool, driver, tmp_path, text, x, wanted)


@pytest.mark.parametrize("first, second", [("u16", "u16"), ("u16", "i16"), ("i16", "u8"), ("u8", "u16")])
def test_sums_of_wide_integers(tool, driver, tmp_path, first, second):  # noqa: F811
    """[N.elementwise] One kernel reads both operands as they are stored."""
    types = {**TYPES, "u8": (0, 255, 0.03, 100)}
    params = {name: QParams(types[name][2], types[name][3], *types[name][:2]) for name in (first, second)}
    kind = {name: f"tensor<4x37x!quant.uniform<{name}:f32, {types[name][2]}:{types[name][3]}>>" for name in params}
    text = f"""func.func @main(%x: tensor<4x37xf32>) -> tensor<4x37xf32> {{
%0 = octet.quantize %x : (tensor<4x37xf32>) -> {kind[first]}
%1 = octet.dequantize %0 : ({kind[first]}) -> tensor<4x37xf32>
%2 = octet.quantize %x : (tensor<4x37xf32>) -> {kind[second]}
%3 = octet.dequantize %2 : ({kind[second]}) -> tensor<4x37xf32>
%4 = nn.add %1, %3 : (tensor<4x37xf32>, tensor<4x37xf32>) -> tensor<4x37xf32>
%5 = nn.relu %4 : (tensor<4x37xf32>) -> tensor<4x37xf32>
%6 = octet.quantize %5 : (tensor<4x37xf32>) -> {kind[second]}
%7 = octet.dequantize %6 : ({kind[second]}) -> tensor<4x37xf32>
return %7 : tensor<4x37xf32>
}}"""
    x = np.random.default_rng(0).normal(scale=2, size=(4, 37)).astype(f32)
    x[0, :4] = np.inf, -np.inf, np.nan, 0
    a, b = (reference.dequantize(reference.quantize(x, params[name]), params[name]) for name in (first, second))
    wanted = reference.dequantize(reference.quantize(np.maximum(a + b, f32(0)), params[second]), params[second])
    assert len(np.unique(wanted)) > 8
    run_levels(tool, driver, tmp_path, text, x, wanted)
