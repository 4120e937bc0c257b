# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The blocks of docs/write-a-backend.md do what the page says."""
from page_blocks import run_page


def test_blocks_run(tool, tmp_path):
    assert run_page("write-a-backend.md", tool, tmp_path) == 4
