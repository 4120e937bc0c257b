# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/coverage.md is what the compiler does with the patterns of PyTorch's BackendConfigs, and has no empty cell."""
import json
import re
import subprocess
import sys

import pytest

BACKENDS = ("native", "fbgemm", "x86", "qnnpack", "onednn", "tensorrt", "executorch")


@pytest.fixture(scope="module")
def written(source, build, unbuilt, tmp_path_factory):
    for tool in ("octet-opt", "octet-translate"):
        if not (build / "bin" / tool).is_file():
            unbuilt(f"{tool} is not built")
    path = tmp_path_factory.mktemp("coverage") / "coverage.md"
    subprocess.run([sys.executable, source / "tools" / "dev" / "coverage-doc", "--output", path, "--build", build], check=True)
    return path.read_text()


def read_rows(text):
    rows = [line.strip("|").split(" | ") for line in re.findall(r"^\| .* \|$", text, re.M)]
    return {row[0].strip(): [cell.strip(" |") for cell in row[1:]] for row in rows if len(row) == len(BACKENDS) + 1}


def test_the_committed_file_is_what_the_compiler_does(source, written):
    assert (source / "docs" / "coverage.md").read_text() == written


def test_every_pattern_has_a_row_and_every_cell_a_text(written, shared_spec):
    rows = read_rows(written)
    assert rows.pop("pattern") == list(BACKENDS)
    recorded = json.loads((shared_spec / "golden-2.13" / "backend_patterns213.json").read_text())["rows"]
    assert len(rows) == len([row for row in recorded.values() if set(row) & set(BACKENDS)])
    for index, name in enumerate(BACKENDS):
        cells = [row[index] for row in rows.values()]
        assert len(cells) - cells.count("no pattern") == sum(name in row for row in recorded.values())
        assert all(re.fullmatch(r"int8|weight only|no pattern|(?:reference|float) OCT\d+|parts(?: OCT\d+)?", cell) for cell in cells)
    reasons = set(re.findall(r"OCT\d+", "".join(cell for row in rows.values() for cell in row)))
    assert reasons == set(re.findall(r"^\| (OCT\d+) \|", written, re.M))
