# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pages about PyTorch: the blocks of each are one program."""
import importlib.util

import pytest
from page_blocks import SOURCE, read_blocks

pytest.importorskip("torch", reason="PyTorch is not installed (pip install torch)")
pytest.importorskip("octet")

#: For each page the number of its blocks, the files that it writes, and a package that it needs besides PyTorch.
PAGES = {"torch.md": (8, {"network.so", "network.onnx"}, None), "torch-export.md": (6, {"tagger.so", "lengths.so", "quantized.so"}, "torchao"),
         "torch-dynamic.md": (4, {"tagger.so"}, None)}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page", PAGES)
def test_the_page_is_a_program(page, compiler, tmp_path, monkeypatch):
    count, files, package = PAGES[page]
    if package and not importlib.util.find_spec(package):
        pytest.skip(f"{package} is not installed")
    monkeypatch.chdir(tmp_path)
    blocks = [block for kind, block in read_blocks((SOURCE / "docs" / page).read_text()) if kind == "python"]
    path = tmp_path / "page.py"
    path.write_text("\n".join(blocks))  # messages quote lines of files
    space = {"__name__": "page"}
    exec(compile(path.read_text(), str(path), "exec"), space)
    assert files <= {file.name for file in tmp_path.iterdir()} and len(blocks) == count
