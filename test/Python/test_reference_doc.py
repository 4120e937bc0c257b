# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tools/dev/reference-doc: every op and every pass has an example, which is a piece of a lit test."""

import pathlib
import re
import subprocess
import sys

import pytest

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "tools" / "dev" / "reference-doc"


@pytest.fixture(scope="module")
def reference(load_program):
    return load_program("reference-doc")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """{file name: text} of the whole reference; the program fails where an example is missing."""
    folder = tmp_path_factory.mktemp("generated")
    done = subprocess.run([sys.executable, PROGRAM, "--output", folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {path.name: path.read_text() for path in folder.iterdir()}


def split_entries(text):
    """{name: text} of the ops or passes of a page."""
    parts = re.split(r"(?m)^### `-?([\w.-]+)`[^\n]*\n", text)
    return dict(zip(parts[1::2], parts[2::2]))


@pytest.mark.parametrize(
    "page, name, piece",
    [
        ("nn.md", "nn.conv", "nn.conv %x, %w, %b strides [2, 2]"),
        ("octet.md", "octet.group", "octet.yield"),
        ("octet.md", "octet.pattern", "octet.match"),
        ("kernel.md", "kernel.dot4", "kernel.dot4 %"),
        ("quantize-passes.md", "octet-fuse", "// CHECK"),
        ("lower-passes.md", "octet-lower", "func.func"),
        ("pipelines-passes.md", "octet-calibrate", "octet.observe"),
    ],
)
def test_entries_show_their_example(pages, page, name, piece):
    entry = split_entries(pages[page])[name]
    assert piece in re.search(r"```mlir\n(.*?)```", entry, re.S)[1]


def test_kernels_are_rows(pages):
    text = pages["kernels.md"]
    assert "| filter | si8 | zero | output |" in text
    assert "| product | products with weights: convolutions, linear layers | product_input | filter | product_result | channels_last |" in text
    assert "| depthwise | product | bytes | arguments | compact | tiles |" in text
    assert "arguments: steps give them" in text


def test_a_statement_ends_with_its_last_bracket(reference):
    lines = ["  octet.a {", "    // CHECK: x", '    octet.b "}"', "  } // end (", "  octet.c"]
    assert reference.cut_statement(lines, 0) == ["octet.a {", '  octet.b "}"', "} // end ("]
    assert reference.cut_statement(lines, 4) == ["octet.c"]


def test_what_has_no_example_is_named(reference):
    missing = []
    text = "### `nn.unheard_of` (::octet::nn::UnheardOfOp)\n\nText.\n"
    assert reference.splice(text, pathlib.Path("Dialect/NN/NNOps.td"), missing) == text
    assert missing == ["Dialect/NN/NNOps.td: nn.unheard_of"]
