# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shapes and ends of slices that are computed in the run, of which the bounds are known, and those are enough."""
import numpy as np
import pytest

octet = pytest.importorskip("octet")
from test_integers import check, make_network, numbers  # noqa: E402

ZERO = dict(zero=[0])
SIZE = "m = ReduceMax<keepdims=0>(i)\n{}\nv = Unsqueeze(s, zero)\nz = ConstantOfShape(v)\ny = Add(z, x)"
SHAPES = {
    "bounded_by_one_number": ("a = Max(n, m)\ns = Min(n, a)", dict(n=np.int64(10))),
    "bounded_of_32_bits": ("k = Cast<to=6>(m)\na = Max(n, k)\nb = Min(n, a)\ns = Cast<to=7>(b)", dict(n=np.int32(10))),
    "bounded_as_a_float": ("k = Cast<to=1>(m)\na = Max(n, k)\nb = Min(a, n)\ns = Cast<to=7>(b)", dict(n=np.float32(10))),
    "chosen": ("l = Less(m, h)\nc = And(l, no)\no = Not(c)\nb = Or(o, l)\ns = Where(b, n, m)", dict(h=np.int64(3), no=np.array(False), n=np.int64(10))),
    "a_sum": ("a = Max(h, m)\nb = Min(h, a)\ns = Add(b, h)", dict(h=np.int64(5))),
}
# As tf2onnx writes x[:, i]: the step is larger than the axis, and the end behind it.
COLUMN = ("l = Less(steps, start)\nu = Unsqueeze(i, zero)\ns = Concat<axis=0>(start, u)\nc = And(l, mask)\nb = Where(c, most, s)\nj = Add(i, one)\nv = Unsqueeze(j, zero)\n"
          "t = Concat<axis=0>(start, v)\nf = Cast<to=1>(t)\ng = Max(f, ends)\nh = Cast<to=6>(g)\nq = Equal(h, most)\nr = And(q, l)\ne = Where(r, least, h)\n"
          "y = Slice(x, b, e, axes, steps)")
CONSTANTS = dict(ZERO, steps=np.int32([1, 10**9]), start=np.int32([0]), mask=np.array([True, False]), most=np.int32(10**9), least=np.int32(-10**9), one=np.int32(1),
                 ends=np.float32([1e9, 1e9]), axes=np.int32([0, 1]))


@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name):
    size, constants = SHAPES[name]
    check(SIZE.format(size), dict(i=numbers("int64", 7), x=numbers("float32", 10)), {"y": "float32"}, ZERO | constants)


@pytest.mark.parametrize("size, message", [
    ("a = Max(n, m)\ns = Min(x, a)", "ConstantOfShape, domain ai.onnx, opset 18): a shape computed at run time"),
    ("s = Min(n, m)", "a shape computed at run time"),
    ("k = Neg(r)\na = Max(f, k)\nb = Min(f, a)\ns = Cast<to=7>(b)", "a shape computed at run time"),  # it may be NaN
    ("k = Add(m, n)\na = Max(k, m)\nb = Max(n, a)\nc = Sub(b, m)\ns = Min(n, c)", "a shape computed at run time"),
    ("a = Max(n, m)\nb = Add(a, w)\ns = Min(l, b)", "a shape computed at run time"),  # it may wrap around
])
def test_shapes_that_are_not_bounded(size, message):
    constants = dict(ZERO, n=np.int64(10), x=np.int64(11), f=np.float32(10), w=np.int64(2**62), l=np.int64(20))
    with pytest.raises(octet.CompileError, match=message.replace("(", r"\(").replace(")", r"\)")):
        octet.compile(make_network(SIZE.format(size).replace("Add(z, x)", "Identity(z)"), {"i": ("int64", (7,)), "r": ("float32", ())}, {"y": "float32"}, constants))


@pytest.mark.parametrize("position", [0, 5, -1, -8])
def test_one_element(position):
    check(COLUMN, dict(x=numbers("float32", 6, 8), i=np.array(position, np.int32)), {"y": "float32"}, CONSTANTS)
    check("p = Add(i, one)\ny = Slice(x, p, far, axes, far)", dict(x=numbers("float32", 6, 8), i=np.array([position])), {"y": "float32"}, dict(one=[0], far=[8], axes=[1]))


@pytest.mark.parametrize("position", [8, -9, 2**31 - 1])
def test_one_element_that_is_not_inside(position):
    network = octet.compile(make_network(COLUMN, {"x": ("float32", (6, 8)), "i": ("int32", ())}, {"y": "float32"}, CONSTANTS))
    with pytest.raises(octet.Error, match="index"):
        network.run({"x": numbers("float32", 6, 8), "i": np.array(position, np.int32)})


@pytest.mark.parametrize("changed", [dict(ends=np.float32([1e9, 7])), dict(steps=np.int32([1, 7])), dict(mask=np.array([True, True]), steps=np.int32([1, -10**9]))])
def test_ends_that_may_be_inside(changed):
    with pytest.raises(octet.CompileError, match="a start or an end that is computed in the run"):
        octet.compile(make_network(COLUMN, {"x": ("float32", (6, 8)), "i": ("int32", ())}, {"y": "float32"}, CONSTANTS | changed))


def test_a_step_of_zero_is_invalid():
    with pytest.raises(octet.CompileError, match="Slice has a step of zero"):
        octet.compile(make_network("y = Slice(x, i, far, axes, none)", {"x": ("float32", (6, 8)), "i": ("int64", (1,))}, {"y": "float32"}, dict(far=[9], axes=[1], none=[0])))
