# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element-wise operators one behind the other, of several quantized values each: one step, with the bytes of two."""

import numpy as np
import pytest
import random_networks
from test_compiled import check, driver  # noqa: F401


@pytest.mark.parametrize("channels", [16, 24, 64])
@pytest.mark.parametrize("second", ["add", "sub", "mul"])
def test_scaled_image_beside_the_image(tool, driver, tmp_path, second, channels):  # noqa: F811
    """x + x * gate, as behind squeeze and excite; the result has a border, or none, or is read twice."""
    writer = random_networks.Writer(channels, (1, 5, 9, 11))
    for step in range(3):
        random_networks.gate(writer, channels, per_channel=False)
        # The gate's product is what the writer's value is; the image that it scales is the value before it.
        scaled, image = writer.value, writer.image
        name = writer.emit(f"nn.{second} {image.name}, {scaled.name} : ({image.type}, {scaled.type})", image.shape)
        if step == 1:
            writer.results["scaled"] = scaled
        writer.value = writer.quantize(name, image.shape, np.float32(max(image.scale, scaled.scale) * 1.3), 117 + step)
        if step == 0:
            writer.convolution(channels, (3, 3), pads=(1, 1, 1, 1))
    writer.results["y"] = writer.value
    check(tool, driver, tmp_path, writer.text(), writer.input_shape, spread=2)
    tool("octet-compile", tmp_path / "model.mlir", "--stop-after=lower", "-o", tmp_path / "lowered.mlirbc")
    assert (tmp_path / "lowered.mlir").read_text().count("= octet.quantize %") == 3  # of the input and of two gates
