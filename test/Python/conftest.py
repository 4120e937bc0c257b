# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests of the Python package share: a network written in C, so that running is tested without the compiler."""
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def toy(tmp_path_factory, unbuilt):
    """The path of the library of the network `toy`."""
    clang = shutil.which("clang-22") or shutil.which("cc")
    if not clang:
        unbuilt("no C compiler")
    path = tmp_path_factory.mktemp("toy") / "toy.so"
    source = ROOT / "test" / "Python" / "Inputs" / "toy.c"
    subprocess.run([clang, "-shared", "-fPIC", "-O1", f"-I{ROOT}/include", str(source), "-o", str(path), "-lpthread"], check=True)
    return path


@pytest.fixture
def model(toy):
    import octet

    return octet.load(toy)


@pytest.fixture(scope="session")
def compiler(unbuilt):
    """The path of octet-compile."""
    octet = pytest.importorskip("octet")
    from octet import _compiler

    try:
        return _compiler.find_compiler()
    except octet.CompileError as error:
        unbuilt(str(error))
