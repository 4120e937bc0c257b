# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/pipeline.md shows what the stages give today."""

import subprocess
import sys

import pytest


def test_the_page_shows_the_stages_as_they_are(source, build):
    if not (build / "bin" / "octet-opt").is_file():
        pytest.skip("octet-opt is not built")
    command = [sys.executable, source / "tools" / "dev" / "render-pipeline", "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"run tools/dev/render-pipeline\n{done.stdout}{done.stderr}"
