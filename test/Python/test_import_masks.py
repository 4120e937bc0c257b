# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What looks like a shape that depends on data, and has a known one: windows that move, elements that a mask chooses."""
import numpy as np
import pytest

octet = pytest.importorskip("octet")
from test_integers import check, make_network, numbers  # noqa: E402

CASES = {
    "moving_windows": ("p = Add(i, four)\na = Slice(x, i, p)\nb = Slice(w, i, p, one, one)\nq = Sub(i, one)\nr = Add(two, i)\nc = Slice(x, q, r, last)\n"
                       "u = Unsqueeze(j, zero)\nv = Add(j, n)\nt = Unsqueeze(v, zero)\nd = Slice(w, u, t, one)",
                       dict(x=numbers("float32", 9, 5), i=np.array([2]), j=np.array(3)), dict.fromkeys("abcd", "float32"),
                       dict(w=numbers("float32", 3, 9), four=[4], one=[1], two=[2], zero=[0], last=[-1], n=np.int64(6))),
    "windows_of_32_bits_and_along_two_axes": (
        "s = Unsqueeze(j, zero)\np = Add(j, n)\ne = Unsqueeze(p, zero)\na = Slice(x, s, e, z)\nb = Slice(w, s, e, o)\nt = Cast<to=7>(s)\nu = Concat<axis=0>(zero, t)\n"
        "v = Add(u, six)\nc = Slice(w, u, v)\nd = Slice(w, u, v, last)\nk = Sub(v, one)\nf = Slice(w, u, k, last)",
        dict(x=numbers("float32", 9, 5), j=np.array(2, np.int32)), dict.fromkeys("abcdf", "float32"),
        dict(w=numbers("float32", 9, 9), zero=[0], one=[1], z=np.int32([0]), o=np.int32([1]), n=np.int32(3), six=[2, 6], last=[1, 0])),
    "positions_that_broadcast": ("u = Add(j, rows)\nv = Add(u, columns)\ns = Reshape(v, neg)\ne = Add(s, sizes)\na = Slice(w, s, e)",
                                 dict(x=numbers("float32", 2), j=np.array([1])), {"a": "float32"},
                                 dict(w=numbers("float32", 4, 5, 4, 5), rows=[[0], [1]], columns=[[0, 1]], neg=[-1], sizes=[2, 2, 1, 2])),
    "elements_of_a_mask": ("m = Greater(x, o)\ni = NonZero(m)\nt = Transpose<perm=[1,0]>(i)\np = GatherND(x, t)\nq = Mul(p, k)\nr = GatherND(z, t)\ns = Add(q, r)\n"
                           "f = Reshape(s, neg)\nh = Shape(t)\nn = Gather<axis=0>(h, l)\nu = Unsqueeze(n, ax)\nw = Slice(f, ax, u, ax)\na = ScatterND(z, t, w)\n"
                           "e = Expand(k, u)\nb = ScatterND(c, t, e)\ng = GatherND(v, t)\nj = Neg(g)\nd = ScatterND(v, t, j)",
                           dict(x=numbers("float32", 4, 8), z=numbers("float32", 4, 8), v=numbers("float32", 4, 8, 3)), dict.fromkeys("abd", "float32"),
                           dict(o=np.float32(0), k=np.float32(3), neg=[-1], l=np.int64(0), ax=[0], c=numbers("float32", 4, 8))),
}


@pytest.mark.parametrize("name", CASES)
def test_operators(name):
    check(*CASES[name])


@pytest.mark.parametrize("position", [-1, 6, 2**40])
def test_windows_that_are_not_inside(position):
    """One before the beginning is not some of the end."""
    network = octet.compile(make_network("p = Add(i, four)\ny = Slice(x, i, p)", {"x": ("float32", (9, 5)), "i": ("int64", (1,))}, {"y": "float32"}, {"four": [4]}))
    x = numbers("float32", 9, 5)
    np.testing.assert_array_equal(network.run({"x": x, "i": np.array([5])})["y"], x[5:])
    with pytest.raises(octet.Error, match="index"):
        network.run({"x": x, "i": np.array([position])})
