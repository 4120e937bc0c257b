# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that a network calls: calibrated and compiled as what they are, with a QConfig mapping of their own or the network's."""
import json
import re

import numpy as np
import pytest

KIND = "tensor<2x4xf32>"
OWN = """octet.qconfig_mapping @own {
  octet.global #octet.qconfig<activation = #octet.min_max<dtype = ui8, range = [0, 127]>, weight = #octet.min_max<dtype = si8, scheme = symmetric>>
}
"""


def linear(result, operand, name, seed):
    weights = np.random.default_rng(seed).normal(size=(4, 4)).astype("<f4").tobytes().hex().upper()
    return (f'  %w{seed} = nn.constant dense<"0x{weights}"> : tensor<4x4xf32>\n'
            f'  {result} = nn.linear {operand}, %w{seed} {{octet.origin = #octet.origin<"{name}">}} : ({KIND}, tensor<4x4xf32>) -> {KIND}\n')


def write_calling(attributes=""):
    """Two layers, with a function of one layer and relu in between, which is called twice."""
    function = (f"func.func private @inner(%x: {KIND}) -> {KIND}{attributes} {{\n" + linear("%0", "%x", "inner.fc", 1)
                + f"  %1 = nn.relu %0 : ({KIND}) -> {KIND}\n  return %1 : {KIND}\n}}\n")
    call = "  %{} = call @inner(%{}) : (" + KIND + ") -> " + KIND + "\n"
    return (function + f'func.func @main(%x: {KIND} {{nn.name = "x"}}) -> {KIND} {{\n' + linear("%0", "%x", "fc1", 2) + call.format(1, 0)
            + call.format(2, 1) + linear("%3", "%2", "fc2", 3) + f"  return %3 : {KIND}\n}}\n")


def write_flat():
    """The same with the function's operators in place."""
    def inner(result, operand, seed):
        return linear(f"%l{result}", f"%{operand}", "inner.fc", seed) + f"  %{result} = nn.relu %l{result} : ({KIND}) -> {KIND}\n"
    return (f'func.func @main(%x: {KIND} {{nn.name = "x"}}) -> {KIND} {{\n' + linear("%0", "%x", "fc1", 2) + inner(1, 0, 1)
            + inner(2, 1, 1).replace("%w1", "%v1") + linear("%3", "%2", "fc2", 3) + f"  return %3 : {KIND}\n}}\n")


@pytest.fixture
def samples(tmp_path):
    x = np.random.default_rng(0).normal(size=(20, 2, 4)).astype(np.float32)
    np.savez(tmp_path / "samples.npz", x=x)
    np.savez(tmp_path / "inputs.npz", x=x[0])
    return x


def run(tool, folder, name, text, *options):
    (folder / f"{name}.mlir").write_text(text)
    tool("octet-compile", folder / f"{name}.mlir", *options, f"--report={folder / 'report.json'}", "-o", folder / f"{name}.so")
    tool("octet-run", folder / f"{name}.so", "--input", folder / "inputs.npz", "--output", folder / "outputs.npz")
    result, = np.load(folder / "outputs.npz").values()
    return result


def test_a_call_computes_in_float_what_its_operators_do(tool, tmp_path, samples):
    called, flat = (run(tool, tmp_path, name, text, "--float") for name, text in (("called", write_calling()), ("flat", write_flat())))
    np.testing.assert_array_equal(called, flat)


def test_a_called_function_runs_in_integers(tool, tmp_path, samples):
    """Its observers see both calls, so that the scales are not those of the operators in place."""
    called, flat, exact = (run(tool, tmp_path, name, text, *options) for name, text, *options in (
        ("called", write_calling(), f"--calibration-data={tmp_path / 'samples.npz'}"), ("flat", write_flat(), f"--calibration-data={tmp_path / 'samples.npz'}"),
        ("exact", write_flat(), "--float")))
    size = np.abs(exact).max()
    assert 0 < np.abs(called - exact).max() < 0.1 * size and np.abs(called - flat).max() < 0.1 * size


def test_observers_of_a_function_see_all_calls(tool, tmp_path, samples):
    (tmp_path / "net.mlir").write_text(write_calling(" attributes {octet.qconfig_mapping = @own}") + OWN)
    text = tool("octet-opt", tmp_path / "net.mlir", "--octet-attach-policy=qconfig-mapping=cpu_default_mapping", f"--octet-use-samples=files={tmp_path / 'samples.npz'}",
                "--octet-fuse", "--octet-prepare", "--octet-calibrate", "--octet-convert").stdout
    weights = {seed: np.random.default_rng(seed).normal(size=(4, 4)).astype(np.float32) for seed in (1, 2)}
    first = samples @ weights[2].T
    second = np.maximum(first @ weights[1].T, 0)
    low, high = min(first.min(), second.min(), 0), max(first.max(), second.max(), 0)
    inner = text[text.index("func.func private @inner"):]
    scale, zero = re.search(r"octet\.quantize %arg0 .*!quant\.uniform<u8:f32, ([\d.e+-]+):(\d+)>", inner).groups()
    assert float(scale) == pytest.approx((high - low) / 127, rel=1e-5)  # sums of f32 in another order
    assert int(zero) == np.rint(-low / np.float32(scale))


def test_the_report_lists_the_operators_of_functions(tool, tmp_path, samples):
    run(tool, tmp_path, "called", write_calling(), f"--calibration-data={tmp_path / 'samples.npz'}")
    rows = json.loads((tmp_path / "report.json").read_text())["operators"]
    assert rows[0]["operator"] == "nn.linear+nn.relu" and rows[0]["verdict"] == "int8 to float"  # the function's result is float
    calls = [row for row in rows if row["operator"] == "func.call"]
    assert len(calls) == 2 and all(row["code"] == "OCT121" and row["page"] == "docs/reasons.md#oct121-a-call" for row in calls)
