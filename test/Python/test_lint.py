# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tools/dev/lint: the repository is clean, and each of its checks finds what it is for."""

import pathlib
import subprocess
import sys

import pytest

LINT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "dev" / "lint"


@pytest.fixture(scope="module")
def lint(load_program):
    return load_program("lint")


def find(check, **files):
    """The (file, line) of the findings of one check on files given as name=text, `__` for a slash."""
    texts = {pathlib.Path(name): text for name, text in files.items()}
    return [(str(path), line) for path, line, _ in check(texts)]


def test_repository_is_clean():
    done = subprocess.run([sys.executable, LINT], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_check_line_without_colon(lint):
    text = "// RUN: octet-opt %s | FileCheck %s --check-prefix=OTHER\n// CHECK: a\n// CHECK-NEXT b\n// OTHER c\n// OTHER-NOT: d\n"
    assert find(lint.check_lines, **{"test/Lower/a.mlir": text}) == [("test/Lower/a.mlir", 3), ("test/Lower/a.mlir", 4)]


PASSES = 'def A : Pass<"octet-a"> {\n let options = [Option<"x", "width", "int", "1", "">];\n}\ndef B : Pass<"octet-b">;\n'


@pytest.mark.parametrize(
    "run, lines",
    [
        ("--octet-a=width=3 --octet-b", []),
        ("--pass-pipeline='builtin.module(octet-a{width=3},octet-b)'", []),
        ("--octet-a --octet-b", [1]),
        ("--octet-a=width=3", [4]),
        ("--octet-a=width=3 --octet-b-other", [4]),
    ],
)
def test_passes_and_their_options(lint, run, lines):
    files = {"include/octet/Lower/Passes.td": PASSES, "test/Lower/a.mlir": f"// RUN: octet-opt %s {run}\n"}
    assert [line for _, line in find(lint.check_passes, **files)] == lines


def test_tool_option_without_a_test(lint):
    tool = 'static cl::opt<bool> strict(\n  "strict", cl::desc("x"));\nstatic llvm::cl::opt<std::string> out("o");\n'
    files = {"tools/octet-compile/a.cpp": tool, "test/Tools/a.test": "# RUN: octet-compile %s -o %t\n"}
    assert find(lint.check_tool_options, **files) == [("tools/octet-compile/a.cpp", 1)]


@pytest.mark.parametrize(
    "path, include, clean",
    [
        ("lib/Lower/A.cpp", "octet/Backend/Backend.h", True),
        ("lib/Lower/A.cpp", "octet/Lower/Passes.h", True),
        ("lib/Lower/A.cpp", "octet/Quantize/Passes.h", False),
        ("lib/Dialect/NN/A.cpp", "octet/Backend/Backend.h", False),
        ("include/octet/Codegen/A.h", "octet/Pipelines/Compile.h", False),
        ("lib/Pipelines/A.cpp", "octet/Lower/Passes.h", True),
    ],
)
def test_layering(lint, path, include, clean):
    assert find(lint.check_layering, **{path: f'\n#include "{include}"\n'}) == ([] if clean else [(path, 2)])


def test_oversized_file(lint):
    files = {"lib/A.cpp": "\n" * 401, "lib/B.cpp": "\n" * 400, "test/Unit/C.cpp": "\n" * 400, "docs/d.md": "\n" * 900}
    assert find(lint.check_sizes, **files) == [("lib/A.cpp", 1)]


def test_long_function(lint):
    def write(lines):
        return "namespace a {\n\nint f(int x,\n      int y) {\n" + "  x += y;\n" * (lines - 3) + "}\n\n} // namespace a\n"

    assert find(lint.check_sizes, **{"lib/A.cpp": write(60), "lib/B.cpp": write(61)}) == [("lib/B.cpp", 3)]


def test_banned_words(lint):
    path = "/" + "home" + "/somebody/octet"
    assert find(lint.check_words, **{"README.md": f"fine\nsee {path}\n"}) == [("README.md", 2)]


def test_format(lint):
    files = {"lib/A/good.cpp": "int one() { return 1; }\n", "lib/A/bad.cpp": "int one() { return 1; }\nint  two();\n", "docs/a.md": "int  two();\n"}
    assert find(lint.check_format, **files) == [("lib/A/bad.cpp", 2)]


def test_a_missing_formatter_is_said(lint, monkeypatch):
    monkeypatch.setattr(lint, "FORMATTER", "no-such-formatter")
    assert [what for *_, what in lint.check_format({})] == ["no-such-formatter is missing; tools/dev/setup installs it"]
