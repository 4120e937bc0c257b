# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kinds of quantization. PyTorch: `torch.ao.quantization.quant_type`."""
import enum

__all__ = ["QuantType"]


class QuantType(enum.IntEnum):
    """When values get their scales. PyTorch: `QuantType`, with its numbers."""

    DYNAMIC = 0
    STATIC = 1
    QAT = 2
    WEIGHT_ONLY = 3
