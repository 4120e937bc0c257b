# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/torch-operators.md lists the rows of octet.torch."""
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (pip install torch)")


def test_the_committed_page_lists_the_rows(source, load_program):
    assert (source / "docs" / "torch-operators.md").read_text() == load_program("torch-operators-doc").write_page()
