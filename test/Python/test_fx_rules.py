# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random graphs, backends and mappings: octet-prepare puts observers where FX's rules do (fx_rules.py)."""
import pytest
import random_mappings


@pytest.mark.parametrize("seed", range(10))
def test_observers_stand_where_fx_puts_them(tool, tmp_path, seed):
    counts = random_mappings.check(lambda *arguments: tool("octet-opt", *arguments).stdout, tmp_path, seed)
    assert counts["quantized twice"] and counts["refused"]


def test_the_sample_has_all_kinds(tool, tmp_path):
    totals = {}
    for seed in range(10):
        for key, count in random_mappings.check(lambda *arguments: tool("octet-opt", *arguments).stdout, tmp_path, seed).items():
            totals[key] = totals.get(key, 0) + count
    assert min(totals.values()) > 30, totals
