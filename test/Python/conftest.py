# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests of the Python package share: a network written in C, so that running is tested without the compiler."""
import importlib.machinery
import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from stock_opt import StockOpt, find

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def load_program():
    """load_program(name) gives a program of tools/dev, a Python file without an extension, as a module."""
    def load(name):
        loader = importlib.machinery.SourceFileLoader("octet_" + name.replace("-", "_"), str(ROOT / "tools" / "dev" / name))
        module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
        sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
        loader.exec_module(module)
        sys.dont_write_bytecode = before
        return module

    return load


@pytest.fixture(scope="session")
def build_toy(tmp_path_factory, unbuilt):
    """build_toy(file) makes a library of the network in a C file of Inputs and returns its path."""
    clang = shutil.which("clang-22") or shutil.which("cc")
    if not clang:
        unbuilt("no C compiler")

    def build(file):
        path = tmp_path_factory.mktemp("toy") / "toy.so"
        source = ROOT / "test" / "Python" / "Inputs" / file
        command = [clang, "-shared", "-fPIC", "-O1", f"-I{ROOT}/include", str(source), "-o", str(path), "-lpthread"]
        subprocess.run(command, check=True)
        return path

    return build


@pytest.fixture(scope="session")
def toy(build_toy):
    """The path of the library of the network `toy`."""
    return build_toy("toy.c")


@pytest.fixture
def stock(build, unbuilt, tmp_path):
    """A stock mlir-opt with the plugin, and MLIR's runner."""
    plugin = build / "lib" / "OctetPlugin.so"
    if not plugin.is_file():
        unbuilt("the plugin is not built")
    if not find("mlir-opt") or not find("mlir-runner"):
        unbuilt("mlir-opt and mlir-runner are not installed")
    return StockOpt(plugin, tmp_path)


# A child's peak begins with its parent's: this small process stands between the tests and what they measure.
MEASURE = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
"""


@pytest.fixture
def measure_peak():
    """measure_peak(command, …) gives the exit code of a process and its peak of memory in bytes; … is for subprocess.run."""

    def measure(command, **options):
        command = [sys.executable, "-c", MEASURE, *map(str, command)]
        options = {"stderr": subprocess.DEVNULL, **options}
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, **options)
        return tuple(map(int, done.stdout.split()))

    return measure


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


@pytest.fixture(scope="session")
def compile_files(tmp_path_factory):
    """compile_files(network, *options, samples=None) runs octet-compile on them; gives its process and the library's path."""
    import numpy
    from octet._compiler import find_compiler

    def run(network, *options, samples=None):
        folder = tmp_path_factory.mktemp("buckets")
        (folder / "net.onnx").write_bytes(network)
        if samples is not None:
            numpy.savez(folder / "samples.npz", **samples)
            options = (*options, "--calibration-data=samples.npz")
        command = [find_compiler(), "net.onnx", "-o", "net.so", *options]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True), folder / "net.so"

    return run


@pytest.fixture(scope="session")
def refuse(compile_files):
    """refuse(network, *options) gives the compiler's message."""
    def run(*arguments, **samples):
        process, library = compile_files(*arguments, **samples)
        assert process.returncode == 1 and not library.exists()
        assert process.stderr.startswith(("octet-compile: error: ", "net.onnx: error: ", "samples.npz: error: ")), process.stderr
        return process.stderr

    return run


@pytest.fixture(scope="session")
def float_products_backend(tmp_path_factory):
    """A backend file that keeps products of two activations float, as buckets do."""
    text = (ROOT / "lib/Backend/backends/cpu.mlir").read_text()
    path = tmp_path_factory.mktemp("backend") / "cpu.mlir"
    path.write_text(text.replace("octet.float_products share = 0.02", "octet.float_products share = 1.0"))
    assert path.read_text() != text
    return path


@pytest.fixture(scope="session")
def plain_backend(float_products_backend):
    """The same without a recipe: bias correction would need the samples in every bucket's shape."""
    text = float_products_backend.read_text()
    path = float_products_backend.parent / "plain.mlir"
    path.write_text(re.sub("octet.recipe .*", "", text))
    assert path.read_text() != text
    return path


@pytest.fixture
def write_backend(source, tmp_path):
    """write_backend(old, new) is the path of the CPU backend with another text in one place."""

    def write(old, new):
        text = (source / "lib" / "Backend" / "backends" / "cpu.mlir").read_text()
        assert text.count(old) == 1
        path = tmp_path / f"backend{len(list(tmp_path.iterdir()))}.mlir"
        path.write_text(text.replace(old, new))
        return str(path)

    return write
