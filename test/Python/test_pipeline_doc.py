# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/pipeline.md can be written again, and shows the stages that there are."""

import platform
import re
import subprocess
import sys

import pytest


@pytest.fixture(scope="module")
def written(source, build, unbuilt, tmp_path_factory):
    if not (build / "bin" / "octet-compile").is_file():
        unbuilt("octet-compile is not built")
    if build != source / "build":
        pytest.skip("tools/dev/pipeline-doc runs the compiler of the folder build only")
    path = tmp_path_factory.mktemp("pipeline") / "pipeline.md"
    subprocess.run([sys.executable, source / "tools" / "dev" / "pipeline-doc", "--output", path], check=True)
    return path.read_text()


def test_the_committed_file_is_what_the_compiler_prints(source, written):
    if platform.machine() != "x86_64":
        pytest.skip("docs/pipeline.md shows the levels of x86-64")
    assert (source / "docs" / "pipeline.md").read_text() == written
    assert len(re.findall(r"^## .*$", written, re.M)) >= 6


@pytest.mark.parametrize(
    "stage, there, gone",
    [
        ("import", "nn.batch_norm", "octet.group"),
        ("fuse", "octet.group", "nn.batch_norm"),
        ("prepare", "octet.observe ", "statistics dense"),
        ("calibrate", "statistics dense", "octet.quantize"),
        ("convert", "octet.dequantize", "octet.observe"),
        ("lower", "!quant.uniform", "octet.group"),
        ("program", "kernel.step", "nn.conv"),
    ],
)
def test_a_stage_does_what_it_is_for(written, stage, there, gone):
    body = re.search(rf"^## {stage}:.*?^```mlir\n(.*?)^```", written, re.M | re.S)[1]
    assert there in body and gone not in body
