# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights whose products by 255 just fit in i16 two by two, beside some that do not: levels that multiply these as bytes, those as
i16, give the law's bytes."""

import numpy as np
import pytest
import random_networks
from test_compiled import check, driver  # noqa: F401


class Writer(random_networks.Writer):
    """Neighbouring channels' weights of 128 together, some of 254 or 129; often the same for all outputs, so that sums add up."""

    FITTING = np.int8([(64, 64), (127, 1), (1, 127), (-64, -64), (-127, -1), (100, -100), (0, 0), (3, -5)])
    LARGE = np.int8([(127, 127), (-127, -127), (65, 64), (-64, -65)])

    def weight(self, *shape):
        outputs, channels, *taps = shape
        pairs = (outputs, *taps, channels // 2)
        values = self.FITTING[self.rng.integers(len(self.FITTING), size=pairs)]
        large = self.LARGE[self.rng.integers(len(self.LARGE), size=pairs)]
        values = np.where(self.rng.random((*pairs, 1)) < 0.002, large, values).reshape(outputs, *taps, channels)
        values = np.ascontiguousarray(np.moveaxis(values, -1, 1))
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
