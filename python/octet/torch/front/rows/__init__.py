# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rows of the table of operators, by subject."""
from . import (activations, attention, blocks, complex_numbers, elementwise, embedding, fast_paths, functions, identity, indexing, logic,  # noqa: F401
               movement, normalization, pooling, products, quantized, recurrent, reductions, resampling, scattering, transformer)
