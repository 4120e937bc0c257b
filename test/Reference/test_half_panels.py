# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Outputs that leave half a panel beside whole ones: in tiles of one, two and more panels, few pixels, an odd number of them."""

import numpy as np
import pytest
import random_networks
from test_compiled import check, driver  # noqa: F401


@pytest.mark.parametrize("size", [(1, 2), (2, 3), (9, 11), (1, 40)])
@pytest.mark.parametrize("outputs", [24, 40, 56, 72, 120, 136])
def test_half_panel(tool, driver, tmp_path, outputs, size):  # noqa: F811
    """Of a kernel that sums over columns, of one that does not, and of a linear layer; quantized per channel, and real."""
    writer = random_networks.Writer(outputs, (1, 5, *size))
    writer.convolution(outputs, (3, 3), pads=(1, 1, 1, 1))
    writer.convolution(outputs, (1, 1), channels=True)
    writer.value = writer.quantize(writer.value.name, writer.value.shape, np.float32(np.max(writer.value.scale)), 128)
    writer.convolution(24, (1, 1), residual=True)
    writer.results["features"] = writer.value
    writer.apply("nn.reshape {0}", (size[0] * size[1], 24))
    writer.linear(outputs)
    writer.results["y"] = writer.value
    check(tool, driver, tmp_path, writer.text(), writer.input_shape, spread=2)
