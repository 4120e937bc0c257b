# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integers, truth values and positions inside a network: compiled code gives the law's bytes at every level of this machine."""

import pathlib
import sys

import numpy as np
import octet_reference as reference
import pytest
import random_networks
from random_networks import tensor
from test_compiled import check, driver  # noqa: F401 (a fixture)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Integration"))
import exactness  # noqa: E402

KINDS = ["i8", "ui8", "i16", "ui16", "i32", "ui32", "i64"]


class Writer(random_networks.Writer):
    """From one input `x` of floats, through values of any type, to results of floats."""

    def __init__(self, shape):
        super().__init__(0, shape)
        self.lines, self.types = [], {"%x": tensor(shape)}

    def op(self, name, operands, shape, element, attributes=""):
        """`name` of `operands`, with what stands in front of them (`name` may end in it) and behind them."""
        result = self.fresh()
        types = ", ".join(self.types[operand] for operand in operands)
        self.types[result] = tensor(shape, element)
        self.lines.append(f"{result} = nn.{name} {', '.join(operands)} {attributes} : ({types}) -> {self.types[result]}")
        return result

    def number(self, values, kind):
        name = self.constant(np.asarray(values), kind)
        self.types[name] = tensor(np.shape(values), kind)
        return name

    def cast(self, value, shape, element):
        return self.op("cast", [value], shape, element)

    def give(self, value, shape):
        """A result, as floats."""
        if not self.types[value].endswith("f32>"):
            value = self.cast(value, shape, "f32")
        self.results[f"y{len(self.results)}"] = random_networks.Value(value, shape, None, None)


@pytest.fixture(scope="module")
def arm_driver(tmp_path_factory, unbuilt):
    """run_samples for AArch64, or nothing where it cannot run."""
    if exactness.why_no_arm():
        return None
    return exactness.build_arm_driver(tmp_path_factory.mktemp("arm"))


def check_arm(tool, driver, folder, writer, spread):
    """The law's bytes under QEMU, at the levels of AArch64."""
    names = ",".join(level for level, _ in exactness.ARM_RUNS)
    library = folder / "arm.so"
    tool("octet-compile", folder / "model.mlir", "--name=model", f"--target={exactness.ARM_TARGET}", f"--cpu-level={names}", "--float", "-o", library)
    image = np.random.default_rng(0).normal(scale=spread, size=writer.input_shape).astype(np.float32)
    wanted = np.concatenate([result.ravel() for result in reference.Network(str(folder / "model.onnx")).run({"x": image}).values()])
    for level, cpu in exactness.ARM_RUNS:
        [got] = exactness.run_arm(driver, library, level, cpu, 2, ["x"], [{"x": image}], [wanted], folder)
        assert got == exactness.as_bytes([wanted]), level


@pytest.fixture
def run(tool, driver, tmp_path, arm_driver):  # noqa: F811
    def run(writer, spread=50):
        check(tool, driver, tmp_path, writer.text(), writer.input_shape, spread=spread, options=["--float"])
        if arm_driver:
            check_arm(tool, arm_driver, tmp_path, writer, spread)
    return run


@pytest.mark.parametrize("kind", KINDS)
def test_arithmetic(run, kind):
    """Every operator, of numbers that wrap; divisors and shifts of every size, 0 and -1 among them."""
    shape = (5, 40)
    writer = Writer(shape)
    x = writer.cast("%x", shape, kind)
    large = writer.op("mul", [x, x], shape, kind)
    storage = np.dtype(f"i{int(kind.lstrip('ui')) // 8}")
    other = writer.number(np.concatenate([np.arange(-20, 19), [127]]).astype(storage), kind)
    for name in ("add", "sub", "mul", "div", "mod", "max", "min", "and", "or", "xor", "shift_left", "shift_right"):
        writer.give(writer.op(name, [large, other], shape, kind), shape)
    for name in ("neg", "abs", "sign", "not"):
        writer.give(writer.op(name, [x], shape, kind), shape)
    run(writer)


@pytest.mark.parametrize("kind", ["f32", "i8", "ui16", "i64"])
def test_truth_values(run, kind):
    shape = (3, 5, 20)
    writer = Writer(shape)
    x = "%x" if kind == "f32" else writer.cast("%x", shape, kind)
    row = writer.op("slice", [x], (1, 5, 20), kind, "starts [1, 0, 0] sizes [1, 5, 20] steps [1, 1, 1]")
    truths = [writer.op(f"compare {predicate}", [x, row], shape, "i1") for predicate in ("equal", "less", "less_or_equal")]
    for name in ("and", "or", "xor"):
        truths.append(writer.op(name, truths[-2:], shape, "i1"))
    truths.append(writer.op("not", truths[1:2], shape, "i1"))
    truths.append(writer.cast(x, shape, "i1"))
    one = writer.op("slice", truths[1:2], (3, 5, 1), "i1", "starts [0, 0, 3] sizes [3, 5, 1] steps [1, 1, 1]")
    truths.append(writer.op("compare equal", [truths[-1], one], shape, "i1"))
    for truth in truths:
        writer.give(truth, shape)
    for condition in (truths[1], one):
        writer.give(writer.op("select", [condition, x, row], shape, kind), shape)
    run(writer, spread=8)


@pytest.mark.parametrize("spread", [3, 1e5, 1e19, 1e-6])
def test_casts(run, spread):
    """To every type and back: numbers beyond integers and beyond float16, and its subnormal ones."""
    shape = (7, 40)
    writer = Writer(shape)
    for kind in [*KINDS, "i1", "f16", "bf16", "f32", "f64"]:
        writer.give(writer.cast(writer.cast("%x", shape, kind), shape, "f32"), shape)
    wide = writer.cast("%x", shape, "i64")
    for kind in [*KINDS, "i1", "f64"]:
        writer.give(writer.cast(writer.cast(wide, shape, kind), shape, "i16"), shape)
    run(writer, spread=spread)


@pytest.mark.parametrize("kind", ["f32", "i64", "i16", "i1"])
@pytest.mark.parametrize("shape", [(6, 33), (2, 5, 4, 20), (30,)])
def test_gather(run, shape, kind):
    """Along every axis, at positions of every rank that are computed, from the end, too."""
    writer = Writer(shape)
    writer.give(writer.op("neg", ["%x"], shape, "f32"), shape)  # so that there are many numbers
    x = "%x" if kind == "f32" else writer.cast("%x", shape, "i8" if kind == "i1" else kind)
    if kind == "i1":
        x = writer.op("compare less", [x, writer.number(np.int8(0), "i8")], shape, "i1")
    for axis, size in enumerate(shape):
        for index_shape in ((), (4,), (2, 3)):
            count = int(np.prod(index_shape))
            values = np.random.default_rng(axis).integers(-size, size, count).astype(np.float32).reshape(index_shape)
            positions = writer.cast(writer.number(values, "f32"), index_shape, "i64")
            result = (*shape[:axis], *index_shape, *shape[axis + 1:])
            writer.give(writer.op("gather", [x, positions], result, kind, f"axis {axis}"), result)
    run(writer)


@pytest.mark.parametrize("kind", ["f32", "i32"])
@pytest.mark.parametrize("row", [(5, 7), (2, 37)])
def test_scatter(run, row, kind):
    """Several updates of one row, in their order."""
    shape, rows = (6, *row), (9, *row)
    writer = Writer(shape)
    x = "%x" if kind == "f32" else writer.cast("%x", shape, kind)
    updates = writer.op("concat", [x, writer.op("slice", [x], (3, *row), kind, f"starts [1, 0, 0] sizes {[3, *row]} steps [1, 1, 1]")],
                        rows, kind, "axis 0")
    positions = writer.number(np.array([3, -1, 0, 3, 5, -6, 2, 3, 0]), "i64")
    for combination in ("replace", "sum", "product", "max", "min"):
        writer.give(writer.op("scatter", [x, positions, updates], shape, kind, combination), shape)
    run(writer)


@pytest.mark.parametrize("kind", ["i8", "i64", "ui16"])
def test_reductions(run, kind):
    shape = (4, 3, 5, 6)
    writer = Writer(shape)
    x = writer.cast("%x", shape, kind)
    for combination in ("sum", "product", "max", "min"):
        for axes in ([0], [1, 2], [0, 3]):
            result = tuple(size for axis, size in enumerate(shape) if axis not in axes)
            writer.give(writer.op("reduce", [x], result, kind, f"{combination} axes {axes}"), result)
    run(writer)


@pytest.mark.parametrize("columns", [5, 37, 150])
def test_reductions_over_rows(run, columns):
    """Several vectors side by side, the last of which overlap those before."""
    shape = (3, 7, columns)
    writer = Writer(shape)
    for name in ("sum", "mean", "max", "min", "prod"):
        for axes in ([0], [1], [0, 1]):
            result = tuple(size for axis, size in enumerate(shape) if axis not in axes)
            writer.give(writer.op(f"reduce_{name}", ["%x"], result, "f32", f"axes {axes}"), result)
    run(writer, spread=2)


@pytest.mark.parametrize("kind", ["f32", "i32"])
def test_cumulative_sum(run, kind):
    shape = (3, 20, 21)
    writer = Writer(shape)
    x = "%x" if kind == "f32" else writer.cast("%x", shape, kind)
    for axis in range(3):
        for exclusive in ("", "exclusive"):
            writer.give(writer.op("cumulative_sum", [x], shape, kind, f"axis {axis} {exclusive}"), shape)
    run(writer)


@pytest.mark.parametrize("kind", ["f32", "i8", "i64"])
@pytest.mark.parametrize("size", [11, 25, 50])
def test_top_k(run, size, kind):
    """Among equal ones the first; of floats, NaN and both zeros."""
    shape = (2, 3, size)
    writer = Writer(shape)
    x = writer.cast("%x", shape, "i64" if kind == "f32" else kind)
    if kind == "f32":
        numbers = writer.cast(x, shape, "f32")
        x = writer.op("div", [numbers, writer.op("abs", [numbers], shape, "f32")], shape, "f32")  # -1, NaN, 1
        x = writer.op("mul", [x, writer.number(np.arange(size, dtype=np.float32) // 5, "f32")], shape, "f32")
    for k in (1, 4, size):
        for smallest in ("", "smallest"):
            writer.give(writer.op("top_k", [x], (2, 3, k), "i64", f"k {k} {smallest}"), (2, 3, k))
    run(writer, spread=3)
