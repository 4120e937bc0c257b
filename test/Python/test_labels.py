# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The labels of docs/numerics.md: C++ and the NumPy reference cite each one, and nothing cites a label that is not there."""

import pathlib
import re

import pytest

MARK = r"\(\*compiler only\*\)"
# Files that may cite labels, and the two implementations. ODS cites labels, but implements nothing.
FOLDERS = ["include", "lib", "python", "test", "tools", "docs"]
SUFFIXES = {".c", ".cpp", ".h", ".def", ".td", ".mlir", ".py", ".md"}
CPP = {".c", ".cpp", ".h"}


def find_definitions(page):
    """{label: whether NumPy has it, too} of the page: the mark stands behind a label, or behind a section's title."""
    definitions, section_is_marked = {}, False
    for line in page.splitlines():
        if line.startswith("#"):
            section_is_marked = re.search(MARK + "$", line) is not None
        for label, mark in re.findall(rf"\*\*\[N\.([a-z_.]+)\]\*\*( {MARK})?", line):
            definitions[label] = not (mark or section_is_marked)
    return definitions


def find_citations(text):
    return set(re.findall(r"\[N\.([a-z_.]+)\]", text))


def find_errors(page, texts):
    """What is wrong with the labels of a page and of the files {path: text}."""
    definitions, cited = find_definitions(page), {"C++": set(), "NumPy": set()}
    for path, text in texts.items():
        labels = find_citations(text)
        yield from (f"{path}: there is no label [N.{label}]" for label in sorted(labels - set(definitions)))
        if path.parts[0] in {"include", "lib"} and path.suffix in CPP:
            cited["C++"] |= labels
        if path.parts[:3] == ("test", "Reference", "octet_reference"):
            cited["NumPy"] |= labels
    for label, is_in_numpy in definitions.items():
        if label not in cited["C++"]:
            yield f"[N.{label}] is not cited in C++"
        if is_in_numpy != (label in cited["NumPy"]):
            yield f"[N.{label}] is {'not cited' if is_in_numpy else 'compiler only, but cited'} in the NumPy reference"


def test_labels_and_citations_agree(source):
    page = (source / "docs" / "numerics.md").read_text()
    files = [path for folder in FOLDERS for path in (source / folder).rglob("*") if path.suffix in SUFFIXES]
    texts = {path.relative_to(source): path.read_text() for path in files if path.resolve() != pathlib.Path(__file__).resolve()}
    assert len(find_definitions(page)) > 40
    assert list(find_errors(page, texts)) == []


PAGE = "## 1\n- **[N.a]** x. **[N.b_c]** y, see [N.a].\n- **[N.d]** (*compiler only*) z.\n## 2 (*compiler only*)\n- **[N.e.f]** w.\n"


@pytest.mark.parametrize(
    "cpp, numpy, error",
    [
        ("[N.a] [N.b_c] [N.d] [N.e.f]", "[N.a] [N.b_c]", None),
        ("[N.a] [N.d] [N.e.f]", "[N.a] [N.b_c]", "[N.b_c] is not cited in C++"),
        ("[N.a] [N.b_c] [N.d] [N.e.f]", "[N.b_c]", "[N.a] is not cited in the NumPy reference"),
        ("[N.a] [N.b_c] [N.d] [N.e.f]", "[N.a] [N.b_c] [N.d]", "[N.d] is compiler only, but cited in the NumPy reference"),
        ("[N.a] [N.b_c] [N.d]", "[N.a] [N.b_c]", "[N.e.f] is not cited in C++"),
        ("[N.a] [N.b_c] [N.d] [N.e.f] [N.g]", "[N.a] [N.b_c]", "lib/a.cpp: there is no label [N.g]"),
    ],
)
def test_what_is_refused(cpp, numpy, error):
    paths = {"lib/a.cpp": cpp, "test/Reference/octet_reference/a.py": numpy, "include/a.td": "[N.a]"}
    texts = {pathlib.Path(path): text for path, text in paths.items()}
    assert list(find_errors(PAGE, texts)) == ([error] if error else [])
