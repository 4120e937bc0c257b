# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Softmax as one step with the operators around it."""

import numpy as np
import pytest
import random_networks
from test_compiled import check, driver  # noqa: F401


@pytest.mark.parametrize("quantize", [False, True])
@pytest.mark.parametrize("shape", [(2, 3, 5, 20), (3, 4, 37), (7, 16), (2, 300)])
def test_softmax_with_mask(tool, driver, tmp_path, shape, quantize):
    """One step with what is in front and behind; a row that is masked altogether is no number, and becomes zeros."""
    writer = random_networks.Writer(0, shape)
    writer.lines = []
    mask = np.where(writer.rng.random(shape[-2:]) < 0.3, -np.inf, 0).astype(np.float32)
    mask[-1] = -np.inf
    mask_name = writer.constant(mask, "f32")
    writer.lines[-1] = writer.lines[-1].replace("-inf", "0xFF800000")  # as MLIR writes it
    whole, rows, bits = random_networks.tensor(shape), random_networks.tensor(mask.shape), f"tensor<{'x'.join(map(str, shape))}xi1>"
    sums = writer.emit(f"nn.add %x, {mask_name} : ({whole}, {rows})", shape)
    parts = writer.emit(f"nn.softmax {sums} axis {len(shape) - 1} : ({whole})", shape)
    writer.lines.append(f"%numbers = nn.compare equal {parts}, {parts} : ({whole}, {whole}) -> {bits}")
    zero = writer.constant(np.zeros(1, np.float32), "f32")
    name = writer.emit(f"nn.select %numbers, {parts}, {zero} : ({bits}, {whole}, tensor<1xf32>)", shape)
    writer.results["y"] = writer.quantize(name, shape, np.float32(1 / 256), 0) if quantize else random_networks.Value(name, shape, None, None)
    check(tool, driver, tmp_path, writer.text(), shape, spread=2, options=[] if quantize else ["--float"])


@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize("shape", [(3, 317, 20), (1, 530, 37)])
def test_softmax_between_products(tool, driver, tmp_path, shape, mask):  # noqa: F811
    """Attention whose scores no second cache holds: rows and columns that tiles and vectors do not divide, with and without masked rows."""
    matrices, length, width = shape
    writer = random_networks.Writer(0, shape)
    writer.lines = []
    turned, whole = (matrices, width, length), (matrices, length, length)
    kinds = {of: random_networks.tensor(of) for of in (shape, turned, whole)}
    keys = writer.emit(f"nn.transpose %x permutation [0, 2, 1] : ({kinds[shape]})", turned)
    name = writer.emit(f"nn.matmul %x, {keys} : ({kinds[shape]}, {kinds[turned]})", whole)
    if mask:
        numbers = np.where(writer.rng.random((length, length)) < 0.3, -np.inf, 0).astype(np.float32)
        numbers[5] = -np.inf
        masks = writer.constant(numbers, "f32")
        writer.lines[-1] = writer.lines[-1].replace("-inf", "0xFF800000")  # as MLIR writes it
        name = writer.emit(f"nn.add {name}, {masks} : ({kinds[whole]}, {random_networks.tensor((length, length))})", whole)
    name = writer.emit(f"nn.softmax {name} axis 2 : ({kinds[whole]})", whole)
    if mask:
        writer.lines.append(f"%numbers = nn.compare equal {name}, {name} : ({kinds[whole]}, {kinds[whole]}) -> {kinds[whole].replace('f32', 'i1')}")
        zero = writer.constant(np.zeros(1, np.float32), "f32")
        name = writer.emit(f"nn.select %numbers, {name}, {zero} : ({kinds[whole].replace('f32', 'i1')}, {kinds[whole]}, tensor<1xf32>)", whole)
    name = writer.emit(f"nn.matmul {name}, %x : ({kinds[whole]}, {kinds[shape]})", shape)
    writer.results["y"] = random_networks.Value(name, shape, None, None)
    check(tool, driver, tmp_path, writer.text(), shape, options=["--float"])
