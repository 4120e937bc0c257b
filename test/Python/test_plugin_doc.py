# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pages for compiler engineers: docs/plugin.md runs as it stands, docs/observer-plugin.md shows what the example has."""

import os
import re
import subprocess

import pytest

from stock_opt import LLVM, find

BLOCK = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```$", re.M | re.S)


def read_blocks(path):
    """(language, file, text) of every fenced block of a page."""
    return [match.groups() for match in BLOCK.finditer(path.read_text())]


def test_the_page_about_the_plugin_runs(source, build, unbuilt, tmp_path):
    plugin = build / "lib" / "OctetPlugin.so"
    if not plugin.is_file():
        unbuilt("the plugin is not built")
    if not find("mlir-opt") or not find("mlir-runner"):
        unbuilt("mlir-opt and mlir-runner are not installed")
    environment = {**os.environ, "PLUGIN": str(plugin), "LLVM": str(LLVM)}
    blocks = read_blocks(source / "docs" / "plugin.md")
    definitions = blocks[0][2]
    assert blocks[0][0] == "sh" and definitions.startswith("octet()")
    output, shown = "", 0
    for language, file, text in blocks[1:]:
        if language == "sh":
            script = f"set -e -o pipefail\n{definitions}{text}"
            done = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True)
            assert done.returncode == 0, f"{text}\n{done.stderr}"
            output = done.stdout
        elif language == "text":
            for line in text.splitlines():
                assert line in output, f"{line}\n--- is not in ---\n{output}"
                shown += 1
        else:
            (tmp_path / file).write_text(text)
    assert shown >= 8
    # Every pass that the page names was run.
    assert set(re.findall(r"`(octet-[a-z-]+)`", (source / "docs" / "plugin.md").read_text())) <= {
        name for _, _, text in blocks for name in re.findall(r"octet-[a-z-]+", text)
    }


@pytest.mark.parametrize("language, files", [("cpp", ["toy-observer.cpp"]), ("cmake", ["CMakeLists.txt"])])
def test_the_page_about_observers_shows_the_example(source, language, files):
    text = "".join((source / "test" / "Inputs" / "out-of-tree" / file).read_text() for file in files)
    blocks = [block for kind, _, block in read_blocks(source / "docs" / "observer-plugin.md") if kind == language]
    assert blocks and all(block in text for block in blocks)


def test_the_page_about_observers_has_every_method(source):
    interface = (source / "include/octet/Dialect/Octet/OctetInterfaces.td").read_text()
    observer = interface[: interface.index("def Octet_MatchConstraintAttrInterface")]
    methods = re.findall(r'"([a-z]\w*)"(?:,\s*\(ins|>)', observer)
    page = (source / "docs" / "observer-plugin.md").read_text()
    assert len(methods) >= 8 and [name for name in methods if f"`{name}`" not in page] == []
