# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/reasons.md, Reasons.def and the codes in the sources agree; the page's examples give what it shows."""
import re
import shlex

import pytest
from page_blocks import SOURCE, read_sections

SECTIONS = read_sections("reasons.md")
CODES = [title.split(":")[0] for title in SECTIONS]


@pytest.fixture(scope="module")
def table(source):
    """{code: title} of Reasons.def."""
    text = (source / "include/octet/Dialect/Octet/Reasons.def").read_text()
    return dict(re.findall(r'^OCTET_REASON\("(OCT\d{3})", "(.+)"\)$', text, re.M))


def read_sources():
    for folder in ("lib", "include"):
        for path in (SOURCE / folder).rglob("*"):
            if path.suffix in {".cpp", ".h", ".td", ".def", ".mlir"} and not (path.parent.name == "Octet" and path.name == "Reasons.def"):
                yield path, path.read_text()


def test_page_and_table_have_the_same_codes(table):
    assert [f"{code}: {title}" for code, title in table.items()] == list(SECTIONS)
    assert list(table) == sorted(table)


def test_every_code_in_the_sources_is_in_the_table(table):
    unknown = {(code, path.name) for path, text in read_sources() for code in re.findall(r"\bOCT[123]\d\d\b", text)
               if code not in table and code != "OCT123"}
    assert unknown == set()


def test_every_code_of_the_table_is_given(table):
    given = {code for path, text in read_sources() if path.suffix in {".cpp", ".def"} for code in re.findall(r'"(OCT\d{3})"', text)}
    assert set(table) - given == set()


def test_every_code_has_meaning_and_example():
    for title, (prose, blocks) in SECTIONS.items():
        assert len(prose.split()) >= 8, title
        assert [kind for kind, _ in blocks] == ["mlir", "console"], title


@pytest.mark.parametrize("title", SECTIONS, ids=CODES)
def test_example(tool, tmp_path, title):
    (_, network), (_, console) = SECTIONS[title][1]
    command, *lines = console.splitlines()
    assert any(title.split(":")[0] in line for line in lines)
    (tmp_path / "example.mlir").write_text(network)
    name, *arguments = shlex.split(command.removeprefix("$ "))
    done = tool(name, *arguments, "-o", "/dev/null", check=False, cwd=tmp_path)
    printed = [" ".join(line.split()) for line in (done.stdout + done.stderr).splitlines()]
    for line in lines:
        assert " ".join(line.split()) in printed, done.stdout + done.stderr
