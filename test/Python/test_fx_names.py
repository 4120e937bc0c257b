# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table *From FX to Octet* of docs/fx.md: what it names here exists, and no name of FX's API is left out."""
import re

import pytest

#: Of the API page, methods of the two directions of a dictionary, which files take the place of.
DICTIONARIES = {"from_dict", "to_dict"}


@pytest.fixture(scope="module")
def rows(source):
    """(text about FX, text about Octet)."""
    section = (source / "docs" / "fx.md").read_text().split("## From FX to Octet")[1].split("\n## ")[0]
    return re.findall(r"^\| (.+?) \| (.+?) \|$", section, re.M)[1:]


def test_operators_attributes_and_passes_exist(source, rows):
    tables = "".join(path.read_text() for path in (source / "include").rglob("*.td"))
    for _, here in rows:
        for name in re.findall(r"`#?octet\.(\w+)", here):
            assert f'"{name}"' in tables, name
        for name in re.findall(r"`(octet-[a-z-]+)`", here):
            assert f'"{name}"' in tables or (source / "tools" / name).is_dir(), name
        for page in re.findall(r"\]\((\S+\.md)\)", here):
            assert (source / "docs" / page).is_file()


def test_every_row_has_a_counterpart_or_a_reason(rows):
    assert len(rows) > 50 and len({there for there, _ in rows}) == len(rows)
    for _, here in rows:
        assert not here.startswith("–") or len(here.split()) > 3, here


def test_every_name_of_the_api_page_is_there(shared_spec, rows):
    page = (shared_spec / "sources" / "backend-config-api.txt").read_text()
    named = set(re.findall(r"\w+", " ".join(there for there, _ in rows)))
    wanted = set(re.findall(r"\b(?:set|add)_\w+", page)) | {"BackendConfig", "BackendPatternConfig", "DTypeConfig", "DTypeWithConstraints"}
    wanted -= {"set_backend_pattern_config", "set_backend_pattern_configs", *DICTIONARIES}
    assert len(wanted) > 10 and wanted - named == set()
