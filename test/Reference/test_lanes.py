# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element-wise operators, reductions and softmax: what is in the lanes of a vector, and how the last ones overlap."""

import numpy as np
import pytest
import random_networks
from test_compiled import check, driver  # noqa: F401


@pytest.mark.parametrize("quantize", [False, True])
@pytest.mark.parametrize("operator", ["exp", "tanh", "sigmoid", "erf", "log"])
@pytest.mark.parametrize("size", [3, 4, 7, 8, 13])
def test_short_rows(tool, driver, tmp_path, size, operator, quantize):  # noqa: F811
    """Vectors of four or eight lanes, the last of which overlap, where something is broadcast so that rows are not one."""
    writer = random_networks.Writer(size, (9, 5, size))
    writer.lines = []
    row = writer.constant(writer.rng.normal(size=(1, 5, 1)).astype(np.float32), "f32")
    shape = random_networks.tensor(writer.input_shape)
    name = writer.emit(f"nn.sub %x, {row} : ({shape}, {random_networks.tensor((1, 5, 1))})", writer.input_shape)
    name = writer.emit(f"nn.{operator} {name} : ({shape})", writer.input_shape)
    writer.results["y"] = (writer.quantize(name, writer.input_shape, np.float32(0.02), 117) if quantize
                           else random_networks.Value(name, writer.input_shape, None, None))
    check(tool, driver, tmp_path, writer.text(), writer.input_shape, spread=2, options=[] if quantize else ["--float"])


@pytest.mark.parametrize("kind", ["sum", "mean", "prod", "max", "min"])
@pytest.mark.parametrize("shape, axes", [((3, 4, 37), [2]), ((2, 37, 21), [1]), ((5, 17, 3), [0, 2]), ((12, 2, 9), [1, 2]), ((2, 20, 5, 6), [2, 3]),
                                         ((2, 20, 5, 6), [1]), ((2, 20, 5, 6), [3]), ((18, 3, 5), [1, 2]), ((3, 18, 7), [0, 2]), ((2, 18, 2, 3, 3), [0, 2, 3, 4]),
                                         ((2, 7, 3, 2, 3), [2, 3, 4]), ((20, 1, 3), [1, 2])])
def test_reduction(tool, driver, tmp_path, kind, shape, axes):  # noqa: F811
    """Rows that lie side by side, rows beside one another, and others; images as they come, and behind a pool, as NHWC."""
    writer = random_networks.Writer(0, shape)
    writer.lines, writer.value = [], random_networks.Value("%x", shape, None, None)
    if len(shape) == 4:
        writer.apply("nn.max_pool {0} kernel [1, 1]", shape, quantize=False)
    kept = [size for axis, size in enumerate(shape) if axis not in axes]
    writer.apply(f"nn.reduce_{kind} {{0}} axes {axes}", tuple(kept), quantize=False)
    writer.results["y"] = writer.value
    check(tool, driver, tmp_path, writer.text(), shape, options=["--float"])


@pytest.mark.parametrize("is_float", [False, True])
@pytest.mark.parametrize("shape, axis", [((2, 3, 5, 20), 3), ((3, 4, 37), 2), ((1, 7, 4, 6), 1), ((50, 6), 1), ((2, 37, 21), 1), ((40, 3, 5), 0)])
def test_softmax(tool, driver, tmp_path, shape, axis, is_float):  # noqa: F811
    """Rows that lie side by side, and others, split between threads; from bytes to the range that FX fixes."""
    writer = random_networks.Writer(0, shape)
    if is_float:
        writer.lines, writer.value = [], random_networks.Value("%x", shape, None, None)
    writer.apply(f"nn.softmax {{0}} axis {axis}", shape, same=False, scale=np.float32(1 / 256), zero=0, quantize=not is_float)
    writer.results["y"] = writer.value
    check(tool, driver, tmp_path, writer.text(), shape, spread=5, options=["--float"] if is_float else [])


@pytest.mark.parametrize("is_float", [False, True])
@pytest.mark.parametrize("channels, width, kernel, pads, strides, dilations", [
    (1, 21, (5, 5), (2, 2, 2, 2), (1, 1), (1, 1)), (3, 20, (3, 2), (2, 1, 0, 1), (2, 1), (2, 1)), (5, 9, (3, 3), (0, 2, 1, 2), (1, 1), (1, 2)),
    (3, 4, (3, 5), (1, 2, 1, 2), (1, 1), (1, 1)), (2, 30, (2, 3), (0, 0, 0, 0), (1, 1), (1, 1)), (1, 13, (1, 3), (0, 2, 0, 2), (1, 1), (1, 1))])
def test_pool_of_few_channels(tool, driver, tmp_path, channels, width, kernel, pads, strides, dilations, is_float):  # noqa: F811
    """Vectors over the pixels of a row whose windows are inside, the last of which overlap; the pixels beside them alone."""
    shape = (2, channels, 11, width)
    writer = random_networks.Writer(0, shape)
    if is_float:
        writer.lines, writer.value = [], random_networks.Value("%x", shape, None, None)
    size = [(n + pads[i] + pads[i + 2] - dilations[i] * (kernel[i] - 1) - 1) // strides[i] + 1 for i, n in enumerate(shape[2:])]
    lists = [str(list(values)) for values in (kernel, strides, pads, dilations)]
    text = "nn.max_pool {{0}} kernel {} strides {} pads {} dilations {}".format(*lists)
    writer.apply(text, (2, channels, *size), quantize=not is_float)
    writer.results["y"] = writer.value
    check(tool, driver, tmp_path, writer.text(), shape, options=["--float"] if is_float else [])
