# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Completes statistics of columns, from standard input to standard output, by counts of no rows by their mean square."""
import re
import sys

COUNTS = 1024


def add_counts(match):
    return f'{match[1]}{"00" * 8 * COUNTS}"> : tensor<{int(match[2]) + 8 * COUNTS}xi8>'


print(re.sub(r'(column_min_max<[^>]*> statistics dense<"0x[0-9A-F]+)"> : tensor<(\d+)xi8>', add_counts, sys.stdin.read()))
