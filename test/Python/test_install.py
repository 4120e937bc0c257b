# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The installed package: a tool outside the tree finds it, builds against it and runs."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

from stock_opt import find

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


@pytest.fixture(scope="module")
def outside(prefix, build, tmp_path_factory):
    """What is built outside the tree, against the installed package."""
    folder = tmp_path_factory.mktemp("outside")
    compilers = [
        line.replace(":FILEPATH=", "=").replace(":STRING=", "=")
        for line in (build / "CMakeCache.txt").read_text().splitlines()
        if line.startswith(("CMAKE_C_COMPILER:", "CMAKE_CXX_COMPILER:", "CMAKE_EXE_LINKER_FLAGS:"))
    ]
    options = [f"-D{line}" for line in compilers]
    run("cmake", "-G", "Ninja", "-S", INPUTS / "out-of-tree", "-B", folder, f"-DCMAKE_PREFIX_PATH={prefix}", *options)
    assert str(prefix) in (folder / "CMakeCache.txt").read_text()
    run("cmake", "--build", folder)
    return folder


@pytest.fixture
def backend(prefix):
    return prefix / "share" / "octet" / "backends" / "cpu.mlir"


@pytest.mark.slow
def test_a_tool_outside_the_tree_builds_and_runs(outside, backend):
    assert run(outside / "count-groups", INPUTS / "conv-relu.mlir", backend) == "1 groups\n"


@pytest.fixture
def samples(tmp_path):
    path = tmp_path / "samples.npz"
    np.savez(path, x=np.random.RandomState(0).uniform(-1, 2, (8, 1, 2, 4, 4)).astype(np.float32))
    return path


RECIPE = 'octet.recipe before_prepare "octet-prepare-attention" after_calibrate "octet-scale-each-run,octet-split-outliers,octet-equalize-channels,octet-round-weights,octet-correct-bias"'


@pytest.fixture
def toy_policy(backend, tmp_path):
    """toy_policy(factor) is the file of a backend whose recipe is the toy's."""

    def write(factor):
        text, path = backend.read_text(), tmp_path / f"mine{factor}.mlir"
        assert RECIPE in text
        path.write_text(text.replace(RECIPE, f'octet.recipe after_calibrate "toy-correct-output{{factor={factor}}}"'))
        return path

    return write


def read_toy_error(text):
    """The toy's error per channel, as its constant in a network's text has it."""
    assert "dense_resource<toy.error> : tensor<1x2x1x1xf32>" in text
    blob = re.search(r'toy\.error: "0x[0-9A-F]{8}([0-9A-F]{16})"', text)[1]
    return np.frombuffer(bytes.fromhex(blob), np.float32)


@pytest.mark.slow
def test_a_recipe_runs_a_recovery_pass_from_a_plugin(prefix, outside, toy_policy, samples):
    def calibrate(factor):
        passes = [f"--octet-use-samples=files={samples}", f"--octet-attach-policy=backend={toy_policy(factor)}",
                  "--octet-fuse", "--octet-prepare", "--octet-calibrate", "--octet-run-recipe"]
        plugin = f"--load-pass-plugin={outside / 'toy-recovery.so'}"
        return read_toy_error(run(prefix / "bin" / "octet-opt", plugin, INPUTS / "two-convs.mlir", *passes))

    errors = calibrate(1.0)
    assert np.all(errors != 0) and np.all(np.abs(errors) < 0.05)
    np.testing.assert_allclose(calibrate(0.5), errors / 2, rtol=1e-6)


@pytest.mark.slow
def test_the_compiler_runs_a_recovery_pass_from_a_plugin(prefix, outside, toy_policy, samples, tmp_path):
    command = [prefix / "bin" / "octet-compile", INPUTS / "two-convs.mlir", f"--calibration-data={samples}"]
    plugin = f"--load-pass-plugin={outside / 'toy-recovery.so'}"

    def calibrate(factor):
        run(*command, plugin, f"--backend={toy_policy(factor)}", "--stop-after=calibrate", "-o", tmp_path / "net.mlirbc")
        return read_toy_error((tmp_path / "net.mlir").read_text())

    errors = calibrate(1.0)
    assert np.all(errors != 0) and np.all(np.abs(errors) < 0.05)
    np.testing.assert_allclose(calibrate(0.5), errors / 2, rtol=1e-6)
    # The way to a library does not need the plugin any more behind the recipe.
    run(prefix / "bin" / "octet-compile", tmp_path / "net.mlirbc", "--name=net", "-o", tmp_path / "continued.so")
    run(*command, plugin, f"--backend={toy_policy(0.5)}", "--name=net", "-o", tmp_path / "net.so")
    assert (tmp_path / "continued.so").read_bytes() == (tmp_path / "net.so").read_bytes()
    missing = subprocess.run([*command, f"--backend={toy_policy(1.0)}", "-o", tmp_path / "none.so"], capture_output=True, text=True)
    assert missing.returncode == 1 and not (tmp_path / "none.so").exists()
    assert "expected passes that are built in or loaded as a plugin in 'after_calibrate'" in missing.stderr


@pytest.mark.slow
def test_the_compiler_uses_an_observer_from_a_plugin(prefix, outside, samples, tmp_path):
    """The toy means the same types as an observer of Octet's, hence the same library, byte for byte."""
    plugin = f"--load-dialect-plugin={outside / 'toy-observer.so'}"

    def use(name, observer):
        """An octet-compile that quantizes with the observer; given options, returns the bytes of what it writes."""
        mapping = tmp_path / f"{name}.mlir"
        weight = "#octet.per_channel_min_max<dtype = si8, scheme = symmetric, range = [-127, 127], axis = 0>"
        mapping.write_text(f"octet.qconfig_mapping @mine {{ octet.global #octet.qconfig<activation = {observer}, weight = {weight}> }}")

        def compile(*options, network=INPUTS / "two-convs.mlir", output="net.so"):
            policy = [] if network.suffix == ".mlirbc" else [f"--qconfig-mapping={mapping}"]
            run(prefix / "bin" / "octet-compile", network, plugin, *policy, *options, "--name=net", "-o", tmp_path / output)
            return (tmp_path / output).read_bytes()

        return compile

    toy, octet = use("toy", "#toy.largest"), use("octet", "#octet.min_max<dtype = ui8, scheme = symmetric>")
    data, statistics = f"--calibration-data={samples}", tmp_path / "statistics.mlir"
    library = toy(data, f"--save-statistics={statistics}")
    assert library == octet(data)
    # The value it observed.
    state = re.search(r"@x #toy\.largest statistics dense<\[([^]]*)\]>", statistics.read_text())[1]
    [largest, _] = np.array(state.split(","), np.int8).view(np.float32)
    assert largest == np.abs(np.load(samples)["x"]).max()
    # Stopped as bytecode and continued; calibrated from two files of statistics, which are merged.
    toy(data, "--stop-after=calibrate", output="net.mlirbc")
    assert toy(network=tmp_path / "net.mlirbc") == library
    loaded = [data, f"--load-statistics={statistics}", f"--load-statistics={statistics}"]
    assert toy(*loaded) == library


@pytest.mark.slow
def test_a_stock_mlir_opt_uses_an_observer_and_a_constraint_from_a_second_plugin(prefix, outside, source, tmp_path):
    """The policy of docs/observer-plugin.md on values with an even and an odd number of columns."""
    page = (source / "docs" / "observer-plugin.md").read_text()
    (tmp_path / "mine.mlir").write_text(re.search(r"^```mlir\n(.*?)^```", page, re.M | re.S)[1])
    (tmp_path / "net.mlir").write_text("""func.func @net(%x: tensor<2x4xf32>, %y: tensor<2x3xf32>) -> (tensor<2x4xf32>, tensor<2x3xf32>) {
  %0 = "my.relu"(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = "my.relu"(%y) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0, %1 : tensor<2x4xf32>, tensor<2x3xf32>
}
""")
    octet = prefix / "lib" / "octet" / "OctetPlugin.so"
    plugins = [f"--load-dialect-plugin={octet}", f"--load-pass-plugin={octet}", f"--load-dialect-plugin={outside / 'toy-observer.so'}"]

    def stock(network, passes):
        return run(find("mlir-opt"), "--allow-unregistered-dialect", *plugins, network, f"--pass-pipeline=builtin.module({passes})")

    prepared = stock(tmp_path / "net.mlir", f"octet-attach-policy{{backend={tmp_path / 'mine.mlir'}}},octet-prepare")
    assert prepared.count("octet.observe ") == 2 and prepared.count("#toy.largest\n") == 2
    # The observer's own code on a global of its state; four bytes of the state are 6.0.
    (tmp_path / "prepared.mlir").write_text(prepared)
    lowered = stock(tmp_path / "prepared.mlir", "octet-lower-observers")
    assert "arith.negf" in lowered and 'vector.print str "octet.observer @arg0 #toy.largest statistics dense<["' in lowered
    statistics = "".join(f"octet.observer @{name} #toy.largest statistics dense<[0, 0, -64, 64, 0, 0, 0, 0]> : tensor<8xi8>\n"
                         for name in re.findall(r"octet\.observer @(\w+)", prepared))
    (tmp_path / "statistics.mlir").write_text(statistics)
    reference = stock(tmp_path / "prepared.mlir", f"octet-load-statistics{{files={tmp_path / 'statistics.mlir'}}},octet-convert")
    assert len(re.findall(r"octet\.quantize .*!quant\.uniform<u8:f32, 0\.0470588\d*:128>", reference)) == 2


def test_tools_and_headers_are_installed(prefix):
    files = {str(path.relative_to(prefix)) for path in prefix.rglob("*") if path.is_file()}
    assert {"bin/octet-opt", "bin/octet-compile", "bin/octet-run", "bin/octet-translate"} <= files
    assert {"include/octet/Runtime/octet.h", "include/octet/Dialect/NN/NNOps.td", "include/octet/Dialect/NN/NNOps.h.inc"} <= files
    assert not [name for name in files if "CMakeFiles" in name or name.endswith("CMakeLists.txt")]


def read_dynamic_section(path):
    """Tag and value of every entry; none for what is no ELF file."""
    readelf = shutil.which("llvm-readelf-22") or shutil.which("readelf") or pytest.fail("there is no readelf")
    done = subprocess.run([readelf, "--dynamic", "--wide", str(path)], capture_output=True, text=True)
    return re.findall(r"\((\w+)\)\s+(.*)", done.stdout) if done.returncode == 0 else []


def test_no_library_is_looked_for_in_the_current_folder(prefix, build):
    """An empty or relative entry of a RUNPATH is the folder that a tool happens to be started in."""
    folders = [build / "bin", build / "lib", build / "python" / "octet", build / "test" / "Unit", prefix / "bin", prefix / "lib" / "octet"]
    needed = set()
    for path in (path for folder in folders for path in folder.iterdir() if path.is_file() and path.suffix != ".a"):
        for tag, value in read_dynamic_section(path):
            if tag == "NEEDED":
                needed.add(path.name)
            if tag in {"RUNPATH", "RPATH"}:
                entries = value[value.index("[") + 1 : value.rindex("]")].split(":")
                assert all(entry.startswith(("/", "$ORIGIN/")) for entry in entries), f"{path}: {value}"
    assert {"octet-compile", "octet-opt", "octet-run", "octet-translate", "OctetPlugin.so"} <= needed


def test_the_python_module_needs_no_folder_of_llvm(build):
    modules = list((build / "python" / "octet").glob("_octet*.so"))
    assert modules and not [tag for path in modules for tag, _ in read_dynamic_section(path) if tag in {"RUNPATH", "RPATH"}]


def test_a_lost_target_fails_the_complete_check(tmp_path):
    (tmp_path / "CMakeCache.txt").touch()
    command = [sys.executable, "-m", "pytest", "-q", f"{__file__}::test_tools_and_headers_are_installed"]
    for complete, outcome in ("", "1 skipped"), ("1", "1 error"):
        environment = {**os.environ, "OCTET_BUILD": str(tmp_path), "OCTET_COMPLETE": complete}
        assert outcome in subprocess.run(command, env=environment, capture_output=True, text=True).stdout
