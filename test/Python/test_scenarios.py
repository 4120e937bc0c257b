# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/scenarios.md and docs/deviations.md name tests that exist."""
import importlib
import re

import pytest


@pytest.fixture(scope="module")
def rows(source):
    """(scenario, test) of the tables."""
    found = re.findall(r"^\| (.+?) \| (.+?) \|$", (source / "docs" / "scenarios.md").read_text(), re.M)
    return [row for row in found if row != ("scenario", "test") and not row[0].startswith("-")]


def get_parameters(path, test):
    """The ids of a test's last parameter, or None if they are not plain texts."""
    module = importlib.import_module(path.stem)
    [mark] = [mark for mark in getattr(module, test).pytestmark if mark.name == "parametrize"]
    return list(mark.args[1])


def exists(source, name):
    file, behind, test = re.match(r"([^:]+)(::|: |$)(.*)", name).groups()
    path = source / file
    if not path.is_file() or not behind:
        return path.is_file()
    text = path.read_text()
    if behind == "::":
        test, _, parameter = test.rstrip("]").partition("[")
        return re.search(rf"^def {test}\(", text, re.M) and (not parameter or parameter in get_parameters(path, test))
    if path.suffix == ".cpp":
        suite, test = test.split(".")
        return re.search(rf"^TEST(?:_F|_P)?\({suite}, {test}\)", text, re.M)
    return re.search(rf"func.func @{test}\(", text)


def test_every_test_exists(source, rows):
    assert len(rows) > 100
    missing = []
    for scenario, cell in rows:
        if not cell.startswith("–") and not exists(source, cell.strip("`")):
            missing.append((scenario, cell))
    assert missing == []


def test_every_scenario_has_a_test_or_a_reason(rows):
    for scenario, cell in rows:
        assert re.fullmatch(r"`[^`]+`|– \S.+", cell), (scenario, cell)
    assert len({scenario for scenario, _ in rows}) == len(rows)


def test_every_deviation_has_a_reason_and_a_test(source):
    rows = [re.split(r" \| ", line.strip("| ")) for line in (source / "docs" / "deviations.md").read_text().splitlines() if line.startswith("| ")]
    rows = [row for row in rows if row[0] != "PyTorch"]
    assert len(rows) > 15 and all(len(row) == 4 and all(row) for row in rows)
    assert [row for row in rows if not exists(source, row[3].strip("`"))] == []


@pytest.mark.parametrize("name", ["test/Python/test_scenarios.py::test_nowhere", "test/Python/nowhere.py::test_x", "test/Quantize/fuse.mlir: nowhere",
                                  "test/Python/test_fx_graphs.py::test_reference_model_is_pytorchs[nowhere]",
                                  "test/Unit/Observers/StatisticsTest.cpp: Statistics.Nowhere"])
def test_what_does_not_exist_is_found(source, name):
    assert not exists(source, name)
