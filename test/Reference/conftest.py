# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the reference importable: it is a test tool, not part of the installed package."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
