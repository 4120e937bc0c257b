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

# As JAX drops the rows of a scatter whose indices are outside: NonZero gives the others. Only these are counted from the end, and later ones win.
DROPPED = "p = NonZero(m)\nt = Transpose<perm=[1,0]>(p)\nk = Squeeze(t, one)\nj = Gather<axis=0>(i, k)\nv = Gather<axis=0>(u, k)\n"
KEPT = np.array([1, 0, 1, 1, 0, 1, 1], bool)


def make_rows(reduction, kind="float32"):
    indices = np.array([1, 9, -2, 1, -7, 4, 0])[:, None]
    feeds = dict(x=numbers(kind, 5, 3), i=indices, m=KEPT, u=numbers(kind, 7, 3))
    return DROPPED + f'y = ScatterND<reduction="{reduction}">(x, j, v)', feeds, {"y": kind}, dict(one=[1])


CASES |= {f"rows_dropped_{reduction}": make_rows(reduction) for reduction in ("none", "add", "mul", "max", "min")}
CASES["integers_dropped"] = make_rows("add", "int32")
CASES["elements_dropped"] = (
    DROPPED + "n = Neg(v)\ny = ScatterND(x, j, n)\nz = ScatterND(c, j, v)",
    dict(x=numbers("float32", 3, 4), i=np.array([[1, 3], [3, 0], [-3, 2], [1, -1], [0, 4], [2, 2], [2, 2]]), m=KEPT, u=numbers("float32", 7)),
    dict.fromkeys("yz", "float32"), dict(one=[-1], c=np.zeros((3, 4), np.float32)))
CASES["places_of_two_dimensions_dropped"] = (
    "p = NonZero(m)\nt = Transpose<perm=[1,0]>(p)\nj = GatherND(i, t)\nv = GatherND(u, t)\ny = ScatterND(x, j, v)",
    dict(x=numbers("float32", 5, 3), i=numbers("int64", 2, 4, 1, low=0, high=5), m=numbers("int8", 2, 4, low=0, high=2).astype(bool), u=numbers("float32", 2, 4, 3)),
    {"y": "float32"})

# Unique chooses the first of equal numbers: its order shows where updates meet. Compress chooses among what is chosen.
MEET = "h = Div(v, two)\nu = Unsqueeze(h, last)\nb = ScatterND(x, u, c)\nd = ScatterElements<reduction=\"add\">(z, v, p)"
COUNTED = dict(i=np.array([5, 3, -3, 3, 4, 5, 5, -8]), x=numbers("int64", 5))
NUMBERS = dict(two=np.int64(2), last=[-1], z=np.zeros(9, np.int64))
for attributes, group in (("", "w"), ("<sorted=0>", ""), ("<axis=0>", "w")):
    CASES[f"different_numbers{attributes}"] = (f"v, p, {group}, c = Unique{attributes}(i)\n{MEET}", COUNTED, dict.fromkeys("bd" + group, "int64"), NUMBERS)
CASES["different_rows"] = (
    "v, , w, c = Unique<axis=0>(i)\ns = Slice(v, one, two, one)\nq = Squeeze(s, one)\nl = Less(q, n)\ng = Greater(q, m)\nk = And(g, l)\nt = Compress<axis=0>(v, k)\n"
    "e = Compress<axis=0>(c, k)\na = ScatterND(x, t, e)\nh = Shape(t)\nr = Slice(h, zero, one, zero)\no = ConstantOfShape(r)\nd = ScatterND<reduction=\"max\">(z, t, o)",
    dict(i=np.array([[0, 3], [1, 5], [0, 3], [1, -1], [0, 1], [1, 2], [1, 5], [0, 3], [1, 2]]), x=numbers("int64", 2, 5), n=np.array(5)), {"a": "int64", "d": "float32", "w": "int64"},
    dict(zero=[0], one=[1], two=[2], m=np.int64(-1), z=np.full((2, 5), -1, np.float32)))


@pytest.mark.parametrize("name", CASES)
def test_operators(name):
    check(*CASES[name])


@pytest.mark.parametrize("columns", [1, 2])
def test_rows_that_are_kept_must_be_inside(columns):
    """One behind the data is not the place of those that are dropped."""
    feeds = dict(x=numbers("float32", 5, 3), i=np.zeros((7, columns), np.int64), m=KEPT, u=numbers("float32", *(7, 3)[:3 - columns]))
    network = octet.compile(make_network(DROPPED + "y = ScatterND(x, j, v)", {name: (array.dtype.name, array.shape) for name, array in feeds.items()},
                                         {"y": "float32"}, dict(one=[1])))
    for index in (5, -6):
        feeds["i"][1, 0] = index  # dropped
        network.run(feeds)
    for index in (5, -6):
        feeds["i"][2, 0] = index
        with pytest.raises(octet.Error, match="index"):
            network.run(feeds)


@pytest.mark.parametrize("position", [-1, 6, 2**40])
def test_windows_that_are_not_inside(position):
    """One before the beginning is not some of the end."""
    network = octet.compile(make_network("p = Add(i, four)\ny = Slice(x, i, p)", {"x": ("float32", (9, 5)), "i": ("int64", (1,))}, {"y": "float32"}, {"four": [4]}))
    x = numbers("float32", 9, 5)
    np.testing.assert_array_equal(network.run({"x": x, "i": np.array([5])})["y"], x[5:])
    with pytest.raises(octet.Error, match="index"):
        network.run({"x": x, "i": np.array([position])})
