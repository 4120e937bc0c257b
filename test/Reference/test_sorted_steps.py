# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights whose products by 255 just fit in i16, two by two or four by four, some in another order of the bytes, beside some that do
not: levels that multiply these as bytes, those as i16, give the law's bytes."""

import numpy as np
import pytest
import random_networks
from test_compiled import check, driver  # noqa: F401


class Writer(random_networks.Writer):
    """Weights by steps of four channels, of kinds that all outputs share: those that fit, two such steps together, those where the first
    fits with the third or with the fourth only, and those that do not fit. Often the same for all outputs, so that sums add up."""

    KINDS = [[(64, 64, -64, -64), (127, 1, 1, 127), (-127, -1, 100, -100), (0, 0, 3, -5)],
             [(32, 32, -32, -32), (63, 1, 1, 63), (-64, 0, 0, -64), (64, -64, 64, 0), (65, 0, 0, -65), (10, -20, 5, 7)],
             [(100, 100, -100, -90), (-127, -64, 127, 64), (1, 2, 3, 4)],
             [(127, 5, 5, -100), (-127, -5, -5, 100), (1, 2, 3, 4)],
             [(127, 127, 127, 127), (-127, -1, -1, -127), (65, 64, 65, 64), (-64, -65, -64, -65)]]
    SHARES = [0.25, 0.4, 0.15, 0.15, 0.05]

    def weight(self, *shape):
        outputs, channels, *taps = shape
        kinds = self.rng.choice(len(self.KINDS), size=(*taps, channels // 4), p=self.SHARES)
        values = np.empty((outputs, *taps, channels // 4, 4), np.int8)
        for place, kind in np.ndenumerate(kinds):
            quads = np.int8(self.KINDS[kind])
            values[(slice(None), *place)] = quads[self.rng.integers(len(quads), size=outputs)]
        values = np.ascontiguousarray(np.moveaxis(values.reshape(outputs, *taps, channels), -1, 1))
        scale = self.rng.uniform(0.001, 0.01, outputs).astype(np.float32)
        kind = random_networks.quantized_type(scale, 0, "i8", 0)
        name = self.constant(values, kind)
        return self.emit(f"octet.dequantize {name} : ({random_networks.tensor(shape, kind)})", shape), scale, values


@pytest.mark.parametrize("outputs", [8, 16, 24, 40, 52])
@pytest.mark.parametrize("size", [(1, 2), (3, 5), (7, 9), (2, 19)])
def test_sorted_steps(tool, driver, tmp_path, outputs, size):  # noqa: F811
    """Of one run (1 x 1), of several, of groups, of a stride, of a linear layer; pixels in even and odd numbers. Steps are many enough
    to be sorted in layers with 128 channels or more."""
    writer = Writer(outputs + 100 * size[1], (1, 140, *size))
    writer.convolution(outputs, (1, 1))
    writer.convolution(128, (3, 1), pads=(1, 0, 1, 0))
    writer.convolution(128, (1, 1), groups=2)
    writer.convolution(outputs, (2, 2), pads=(1, 1, 0, 0), dilations=(1, 1))
    writer.convolution(128, (1, 1))
    writer.convolution(128, (1, 1), pads=(1, 0, 1, 0), strides=(2, 1), residual=True)
    writer.results["features"] = writer.value
    height = (size[0] + 1) // 2 + 1
    writer.apply("nn.reshape {0}", (height * size[1], 128))
    writer.linear(outputs)
    writer.results["y"] = writer.value
    check(tool, driver, tmp_path, writer.text(), writer.input_shape, spread=4)
