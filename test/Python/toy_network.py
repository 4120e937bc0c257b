# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs of the network `toy` (Inputs/toy.c) and what it makes of them."""
import numpy as np

A = np.arange(6, dtype=np.float32).reshape(2, 3)
B = np.array([3, 1, 200, 0], np.uint8)
SUM = A + 3
TWICE = np.array([6, 2, 255, 0], np.uint8)


def check(outputs):
    assert list(outputs) == ["sum", "twice"]
    np.testing.assert_array_equal(outputs["sum"], SUM)
    np.testing.assert_array_equal(outputs["twice"], TWICE)
