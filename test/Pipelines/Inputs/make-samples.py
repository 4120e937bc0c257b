# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""make-samples.py FILE: eight samples of x[1,2,4,4] with values from -1 to 2."""
import sys

import numpy as np

x = np.linspace(-1, 2, 8 * 32, dtype=np.float32).reshape(8, 1, 2, 4, 4)
np.savez(sys.argv[1], x=x)
