# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of floats whose lanes are rows or pixels: the same bytes at every CPU level, with 1 and 3 threads, and under QEMU."""
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from test_exactness import exactness, machines, make_network  # noqa: E402, F401

ROWS = """
a = MatMul(x, v)
b = MatMul(x, w)
c = MatMul(y, v)
d = Softmax<axis=1>(x)
e = Softmax<axis=1>(z)
f = ReduceMean<axes=[2,3], keepdims=0>(z)
g = ReduceMax<axes=[0,2,3], keepdims=0>(z)
s = Sub(q, r)
h = Exp(s)
t = Sub(p, r)
i = Tanh(t)
k = Mul(i, i)
l, o = TopK(x, n)
j = MaxPool<kernel_shape=[3,5], pads=[1,2,1,2]>(m)
"""


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Floats: products by few columns, softmax and reductions over other axes, rows that fill no vector, the first elements of rows, a pool of
    few channels."""
    octet = pytest.importorskip("octet")
    folder = tmp_path_factory.mktemp("rows")
    inputs = {"x": [3, 37, 18], "y": [3, 7, 18], "v": [3, 18, 1], "w": [3, 18, 3], "z": [2, 20, 5, 7], "q": [9, 5, 8], "p": [9, 5, 7], "m": [2, 3, 11, 20]}
    network = make_network(ROWS, inputs=inputs, outputs="abcdefghklj", constants={"r": (1, 5, 1), "n": np.array([9])})
    rng = np.random.default_rng(0)
    feeds = [{name: rng.normal(size=shape).astype(np.float32) for name, shape in inputs.items()} for _ in range(2)]
    model = octet.compile(network.SerializeToString(), cpu_level=exactness.X86_LEVELS)
    model.save(folder / "rows.so")
    (folder / "rows.onnx").write_bytes(network.SerializeToString())
    expected = exactness.run_model(octet.load(folder / "rows.so", cpu_level="reference"), feeds)
    assert len(set(expected)) == 2
    return folder, model, feeds, expected


def test_lanes_that_are_rows(rows):
    octet = pytest.importorskip("octet")
    folder, model, feeds, expected = rows
    for level in exactness.get_levels_here(model):
        for threads in (1, 3):
            assert exactness.run_model(octet.load(folder / "rows.so", cpu_level=level, threads=threads), feeds) == expected, (level, threads)


def test_lanes_that_are_rows_on_aarch64(rows, machines, tool, tmp_path):  # noqa: F811
    if reason := exactness.why_no_arm():
        pytest.skip(reason)
    folder, model, feeds, expected = rows
    library = tmp_path / "arm.so"
    tool("octet-compile", folder / "rows.onnx", "--float", f"--target={exactness.ARM_TARGET}", f"--cpu-level={exactness.ARM_LEVELS}", "-o", library)
    for level, cpu in exactness.ARM_RUNS:
        assert exactness.run_arm(machines.arm_driver, library, level, cpu, 1, list(feeds[0]), feeds, model.outputs, tmp_path) == expected, level
