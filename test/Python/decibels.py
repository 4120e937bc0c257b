# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The signal-to-noise ratio by which tests judge what 8 bits cost."""
import numpy as np


def get_decibels(expected, got):
    return 10 * np.log10(np.mean(expected.astype(np.float64) ** 2) / np.mean((expected - got).astype(np.float64) ** 2))
