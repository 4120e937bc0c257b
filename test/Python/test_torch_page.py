# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/torch.md: its blocks are one program."""
import pytest
from page_blocks import SOURCE, read_blocks

pytest.importorskip("torch", reason="PyTorch is not installed (pip install torch)")
pytest.importorskip("octet")


@pytest.mark.filterwarnings("ignore")
def test_the_page_is_a_program(compiler, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = [block for kind, block in read_blocks((SOURCE / "docs" / "torch.md").read_text()) if kind == "python"]
    path = tmp_path / "page.py"
    path.write_text("\n".join(blocks))  # messages quote lines of files
    space = {"__name__": "page"}
    exec(compile(path.read_text(), str(path), "exec"), space)
    assert {"network.so", "network.onnx"} <= {file.name for file in tmp_path.iterdir()} and len(blocks) == 8
