# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The installed package: a tool outside the tree finds it, builds against it and runs."""

import os
import pathlib
import subprocess
import sys

import pytest

INPUTS = pathlib.Path(__file__).resolve().parents[1] / "Inputs"


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def prefix(build, unbuilt, tmp_path_factory):
    for needed in ("bin/octet-opt", "bin/octet-compile", "lib/libOctetQuantize.a"):
        if not (build / needed).is_file():
            unbuilt(f"the build is not complete ({needed} is missing)")
    folder = tmp_path_factory.mktemp("prefix")
    run("cmake", "--install", build, "--prefix", folder)
    return folder


@pytest.mark.slow
def test_a_tool_outside_the_tree_builds_and_runs(prefix, build, tmp_path):
    compilers = [
        line.replace(":FILEPATH=", "=").replace(":STRING=", "=")
        for line in (build / "CMakeCache.txt").read_text().splitlines()
        if line.startswith(("CMAKE_C_COMPILER:", "CMAKE_CXX_COMPILER:", "CMAKE_EXE_LINKER_FLAGS:"))
    ]
    options = [f"-D{line}" for line in compilers]
    run("cmake", "-G", "Ninja", "-S", INPUTS / "out-of-tree", "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={prefix}", *options)
    assert str(prefix) in (tmp_path / "CMakeCache.txt").read_text()
    run("cmake", "--build", tmp_path)
    backend = prefix / "share" / "octet" / "backends" / "cpu.mlir"
    assert run(tmp_path / "count-groups", INPUTS / "conv-relu.mlir", backend) == "1 groups\n"


def test_tools_and_headers_are_installed(prefix):
    files = {str(path.relative_to(prefix)) for path in prefix.rglob("*") if path.is_file()}
    assert {"bin/octet-opt", "bin/octet-compile", "bin/octet-run", "bin/octet-translate"} <= files
    assert {"include/octet/Runtime/octet.h", "include/octet/Dialect/NN/NNOps.td", "include/octet/Dialect/NN/NNOps.h.inc"} <= files
    assert not [name for name in files if "CMakeFiles" in name or name.endswith("CMakeLists.txt")]


def test_a_lost_target_fails_the_complete_check(tmp_path):
    (tmp_path / "CMakeCache.txt").touch()
    command = [sys.executable, "-m", "pytest", "-q", f"{__file__}::test_tools_and_headers_are_installed"]
    for complete, outcome in ("", "1 skipped"), ("1", "1 error"):
        environment = {**os.environ, "OCTET_BUILD": str(tmp_path), "OCTET_COMPLETE": complete}
        assert outcome in subprocess.run(command, env=environment, capture_output=True, text=True).stdout
