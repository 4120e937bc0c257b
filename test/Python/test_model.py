# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tools/bench/model.py: what QEMU executes and llvm-mca weighs, of a network with a known number of products."""
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools" / "bench"), str(ROOT / "test" / "Integration")]
import exactness  # noqa: E402
import model  # noqa: E402


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    pytest.importorskip("octet")
    if reason := exactness.why_no_arm():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("model")
    samples = np.load(ROOT / "test/Inputs/digits/calibration.npz")["input"][:16]
    task = SimpleNamespace(name="digits", onnx=ROOT / "test/Inputs/digits/digits.onnx", shapes={}, _evals=[0],
                           calib=lambda: [{"input": sample} for sample in samples], feed=lambda _: {"input": samples[0]})
    return task, exactness.build_arm_driver(folder), folder


@pytest.mark.parametrize("level", model.LEVELS)
def test_products_are_counted_and_weighed(digits, level):
    task, driver, folder = digits
    fast, slow = {"sve512": ("a64fx", "cortex-a510"), "sve256": ("neoverse-v1", "cortex-a510"),
                  "i8mm": ("neoverse-v2", "neoverse-n2")}.get(level, ("neoverse-n1", "cortex-a55"))
    kernels, models = model.model(task, level, [fast, slow], driver, folder)
    products = sum(kernel.products() for kernel in kernels)
    # Tiles add what overlaps and fills lanes, which is less than the work itself.
    useful = count_products(task.onnx)
    assert useful <= products < 2 * useful
    totals = []
    for cycles, limit in models.values():
        total = sum(kernel.cycles(cycles) for kernel in kernels)
        assert products / limit < total < sum(kernel.instructions() for kernel in kernels) * 10
        totals.append(total)
    assert totals[0] < totals[1]  # twice as many multiplies a cycle


def count_products(path):
    onnx = pytest.importorskip("onnx")
    network = onnx.shape_inference.infer_shapes(onnx.load(path)).graph
    shapes = {value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in [*network.value_info, *network.output]}
    weights = {tensor.name: list(tensor.dims) for tensor in network.initializer}
    total = 0
    for node in network.node:
        if node.op_type == "Conv":
            total += int(np.prod(shapes[node.output[0]])) * int(np.prod(weights[node.input[1]][1:]))
        elif node.op_type in ("Gemm", "MatMul"):
            total += int(np.prod(weights[node.input[1]]))
    return total


def test_blocks_end_with_jumps_and_not_where_qemu_divides_them():
    library = model.Library.__new__(model.Library)
    library.instructions = {0xff8: "mov x0, x1", 0xffc: "add x0, x0, #1", 0x1000: "sub x0, x0, #1", 0x1004: "b.ne there", 0x1008: "ret"}
    library.targets = {0x1004: 0xffc}
    assert library.block(0xff8) == ("mov x0, x1", "add x0, x0, #1", "sub x0, x0, #1", "b.ne there")
    assert library.block(0x2000) == ()
    assert library.continues(0xff8, 0x1000)
    assert library.continues(0xff8, 0x1004)  # QEMU divides long blocks anywhere
    assert not library.continues(0x1000, 0x1000)  # a loop from there
    assert not library.continues(0x1008, 0x1000)
    assert not library.continues(0xff8, 0xffc)  # by the block's own jump
    library.targets = {0x1004: 0x1000}
    assert library.continues(0xff8, 0x1000)  # the end of a page, even if the block jumps to there


def test_first_turns_of_loops_count():
    loop, kernel = ("sdot v0.4s, v1.16b, v2.16b", "b.ne there"), model.Kernel("dense", model.LEVELS["dotprod"])
    kernel.blocks.update({("mov x0, x1", *loop): 3, loop: 30, ("ret",): 3})
    assert kernel.inner() == loop
    assert kernel.inner_instructions() == 2 * 33
