# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows that a mask chooses, which layers read one by one and which go back to where they were: mixtures of experts as exporters write them."""
import numpy as np
import pytest

octet = pytest.importorskip("octet")
from importing import expect_error  # noqa: E402
from test_integers import make_network, numbers, run_onnxruntime  # noqa: E402

ROWS, WIDTH = 6, 8
X = dict(x=("float32", (ROWS, WIDTH)))
CHOSEN = "f = Gather<axis=1>(x, first)\nm = Greater(f, nought)\np = NonZero(m)\nt = Transpose<perm=[1,0]>(p)\n"
WHICH = "s = Squeeze(t, one)\nr = Gather(x, s)\n"
BACK = "y = ScatterND(x, t, z)"
CONSTANTS = dict(first=np.int64(0), nought=np.float32(0), one=[1], none=[-1], zero=[0], two=[2], three=[3], w=numbers("float32", WIDTH, WIDTH), v=numbers("float32", WIDTH, 3),
                 c=numbers("float32", WIDTH), k=numbers("float32", 2, 1, WIDTH, WIDTH), e=numbers("float32", 1, 1, 3), n=[WIDTH], shape=[-1, 2, 4], back=[-1, WIDTH], all=[ROWS, WIDTH],
                 flat=[0, -1], halves=[4, 4], ones=[1, 1], last=[5], far=[9], twice_wide=[1, WIDTH], length=[ROWS], five=np.float32(5), kept=np.float32(2))

# What is made of the chosen rows `r`, [n, 8], as `z`.
BY_ROW = {
    "product": "z = MatMul(r, w)",
    "gemm": "z = Gemm(r, w, c)",
    "product_of_many": "a = Unsqueeze(r, zero)\nb = Unsqueeze(a, zero)\nd = MatMul(b, k)\ng = ReduceSum<keepdims=0>(d, zero)\nz = Squeeze(g, zero)",
    "norms_and_softmax": "a = LayerNormalization(r, c)\nb = Softmax(a)\nd = LogSoftmax<axis=1>(b)\nz = Sub(r, d)",
    "parts": "a = Slice(r, zero, two, one)\nb = Slice(r, two, n, one)\nz = Concat<axis=1>(b, a)",
    "split": "a, b = Split<axis=1>(r, halves)\nd = Neg(a)\nz = Concat<axis=-1>(b, d)",
    "reductions": "a = ReduceMean<keepdims=1>(r, one)\nb = ReduceSum<keepdims=0>(r, none)\nd = Unsqueeze(b, one)\ng = Sub(r, a)\nz = Mul(g, d)",
    "turned": "a = Transpose<perm=[1,0]>(r)\nb = ReduceSum<keepdims=1>(a, zero)\nd = Add(a, b)\nz = Transpose(d)",
    "shaped": "a = Reshape(r, shape)\nb = Transpose<perm=[0,2,1]>(a)\nz = Reshape(b, back)",
    "flattened": "a = Reshape(r, none)\nb = Tanh(a)\nd = Reshape(b, back)\nz = Reshape(d, flat)",
    "images": "a = Unsqueeze(r, one)\nb = Conv<pads=[1,1]>(a, e)\nz = Squeeze(b, one)",
    "best": "a, b = TopK<axis=1>(r, two)\nd = Cast<to=1>(b)\ng = ReduceSum<keepdims=1>(d, one)\nh = ArgMax<axis=1>(r)\ni = Cast<to=1>(h)\nj = Add(g, i)\nz = Mul(r, j)",
    "columns": "a = Gather<axis=1>(r, halves)\nb = ReduceSum<keepdims=1>(a, one)\nd = CumSum(r, one)\nz = Add(d, b)",
    "elements_by_places": "a, b = TopK<axis=1>(r, n)\nd = GatherElements<axis=1>(r, b)\nz = Sub(d, r)",
    "sizes": "a = Shape(r)\nb = Gather(a, zero)\nd = Concat<axis=0>(b, n)\ng = MatMul(r, v)\nh = ReduceSum<keepdims=1>(g, one)\ni = Expand(h, d)\nz = Reshape(i, d)",
    "filled": "a = Shape<start=0, end=1>(r)\nb = Unsqueeze(a, zero)\nd = Squeeze(b, zero)\ng = Concat<axis=0>(d, n)\nh = ConstantOfShape(g)\nz = Sub(h, r)",
    "expanded": "a = ReduceMax<keepdims=1>(r, one)\nz = Expand(a, twice_wide)",
}


def make(nodes, outputs=("y",), inputs=X):
    used = {name: array for name, array in CONSTANTS.items() if any(name in line.replace(")", "").replace("(", ", ").split(", ") for line in nodes.splitlines())}
    return make_network(nodes, inputs, dict.fromkeys(outputs, "float32"), used)


def check(nodes, inputs=X, offsets=(0, 100, -100)):
    """Of some rows, of all and of none."""
    model = make(nodes, inputs=inputs)
    network = octet.compile(model)
    for offset in offsets:
        feeds = {name: numbers(kind, *shape) for name, (kind, shape) in inputs.items()}
        feeds["x"].reshape(-1, WIDTH)[:, 0] += offset
        expected, = run_onnxruntime(model, feeds)
        got = network.run(feeds)["y"]
        assert got.shape == expected.shape and np.abs(got - expected).max() <= 2e-6 * np.abs(expected).max()


@pytest.mark.parametrize("name", BY_ROW)
def test_rows(name):
    offsets = (0, 100) if name in ("reductions", "flattened") else (0, 100, -100)  # onnxruntime refuses these of no rows
    check(CHOSEN + WHICH + BY_ROW[name] + "\n" + BACK, offsets=offsets)


# The rows go to others, come from others, or come as elements of a mask that is as wide as they are.
ELSEWHERE = {
    "added": CHOSEN + WHICH + "z = MatMul(r, w)\ni = Unsqueeze(s, none)\ny = ScatterND<reduction=\"add\">(x, i, z)",
    "added_elsewhere": CHOSEN + WHICH + "z = MatMul(r, w)\ni = Sub(t, three)\ny = ScatterND<reduction=\"add\">(x, i, z)",
    "others": CHOSEN + "s = Squeeze(t, one)\ni = Sub(last, s)\nr = Gather(x, i)\nz = MatMul(r, w)\n" + BACK,
    "computed_others": CHOSEN + "q = Gather<axis=1>(x, first)\no, u = TopK<axis=0>(q, length)\ns = Squeeze(t, one)\ni = Gather(u, s)\nr = Gather(x, i)\nz = MatMul(r, w)\n"
                                "j = Unsqueeze(i, one)\ny = ScatterND<reduction=\"add\">(x, j, z)",
    "computed_positions": CHOSEN + "h = Min(f, five)\nl = Floor(h)\ng = Cast<to=7>(l)\ni = GatherND(g, t)\nr = Gather(x, i)\nz = MatMul(r, w)\n" + BACK,
    "elements_of_rows": CHOSEN + WHICH + "z = MatMul(r, w)\ni = Unsqueeze(s, one)\nh = Shape(z)\nj = Expand(i, h)\ny = ScatterElements<axis=0>(x, j, z)",
    "wide_mask": CHOSEN + WHICH + "z = MatMul(r, w)\nu = Unsqueeze(m, one)\nk2 = Expand(u, all)\np2 = NonZero(k2)\nt2 = Transpose<perm=[1,0]>(p2)\na = Reshape(z, none)\ny = ScatterND(x, t2, a)",
    "counted": CHOSEN + WHICH + "z = MatMul(r, w)\nu = Unsqueeze(m, one)\nk2 = Expand(u, all)\np2 = NonZero(k2)\nt2 = Transpose<perm=[1,0]>(p2)\nb = Cast<to=7>(m)\n"
                                "d = ReduceSum<keepdims=1>(b)\ng = Concat<axis=0>(d, n)\nh = Expand(z, g)\na = Reshape(h, none)\ny = ScatterND(x, t2, a)",
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_rows_elsewhere(name):
    check(ELSEWHERE[name])


GRID = dict(x=("float32", (2, 3, WIDTH)))
OF_TWO = CHOSEN.replace("axis=1>(x", "axis=2>(x")
WITH_TWO = {
    "tokens_of_batches": OF_TWO + "r = GatherND(x, t)\nz = MatMul(r, w)\ny = ScatterND(x, t, z)",
    "choices_of_tokens": OF_TWO + "i, j = Split<axis=1>(t, ones)\na = Squeeze(j, one)\nb = ReduceSum<keepdims=0>(x, zero)\nr = Gather(b, a)\nz = MatMul(r, w)\nd = GatherND(f, t)\n"
                         "u = Unsqueeze(d, one)\nz2 = Mul(z, u)\ny = ScatterND<reduction=\"add\">(b, j, z2)",
    "a_mask_of_numbers": OF_TWO.replace("p = NonZero(m)", "b = Cast<to=7>(m)\nm2 = Mul(b, three)\np = NonZero(m2)") + "r = GatherND(x, t)\nz = MatMul(r, w)\ny = ScatterND(x, t, z)",
    "elements_of_elements": OF_TWO + "r = GatherND(x, t)\na = Reshape(r, none)\nb = Tanh(a)\nu = Unsqueeze(m, none)\nk2 = Expand(u, grid)\np2 = NonZero(k2)\nt2 = Transpose<perm=[1,0]>(p2)\n"
                            "h = Shape(t2)\nl = Gather(h, zero)\nd = Slice(b, zero, l, zero)\ny = ScatterND<reduction=\"add\">(x, t2, d)",
}
CONSTANTS["grid"] = [2, 3, WIDTH]


@pytest.mark.parametrize("name", WITH_TWO)
def test_rows_of_two_dimensions(name):
    check(WITH_TWO[name], GRID)


# A traced loop over the experts that any row chose: as many parts as there are experts, so that each is chosen.
TRACED = """a, b = TopK<axis=1>(x, two)
d = OneHot(b, width, ends)
g = ReduceSum<keepdims=0>(d, rows)
m = Greater(g, nought)
p = NonZero(m)
t = Transpose<perm=[1,0]>(p)
{split}
{experts}
"""
EXPERT = """i{0} = Squeeze(s{0}, one)
e{0} = Gather(i{0}, first)
h{0} = Gather<axis=2>(d, e{0})
k{0} = Cast<to=9>(h{0})
p{0} = NonZero(k{0})
t{0} = Transpose<perm=[1,0]>(p{0})
r{0}, c{0} = Split<axis=1>(t{0}, ones)
q{0} = Squeeze(r{0}, one)
x{0} = Gather(x, q{0})
w{0} = Gather(many, e{0})
z{0} = MatMul(x{0}, w{0})
y{1} = ScatterND<reduction=\"add\">(y{0}, r{0}, z{0})"""
CONSTANTS |= dict(width=np.int64(WIDTH), wider=np.int64(WIDTH + 1), ends=np.float32([0, 1]), counts=[0, 1], rows=[0, 1], many=numbers("float32", WIDTH, WIDTH, WIDTH), parts=[1] * WIDTH, few=[1] * 3)


def make_traced(count=WIDTH, sizes="parts", head=TRACED):
    parts = ", ".join(f"s{i}" for i in range(count))
    experts = "\n".join(EXPERT.format(i, i + 1) for i in range(count)).replace("(y0,", "(x,").replace(f"y{count} =", "y =")
    return make(head.format(split=f"{parts} = Split<axis=0>(t, {sizes})", experts=experts))


# There is a class that no expert is, whose column of hits cannot be chosen.
OF_ONE_MORE = TRACED.replace("OneHot(b, width, ends)", "OneHot(b, wider, ends)")
WIDER = {
    "columns": OF_ONE_MORE,
    "turned": OF_ONE_MORE.replace("g = ReduceSum<keepdims=0>(d, rows)", "u = Transpose<perm=[2,1,0]>(d)\nf = Cast<to=6>(u)\ng = ReduceSum<keepdims=0>(f, ones_behind)")
                         .replace("Greater(g, nought)", "Greater(g, no_hit)"),
    "one_by_one": OF_ONE_MORE.replace("a, b = TopK<axis=1>(x, two)", "h = ArgMax<axis=1>(x)\ni = ArgMin<axis=1>(x)\nb = Concat<axis=1>(h, i)"),
}
CONSTANTS |= dict(ones_behind=[1, 2], no_hit=np.int32(0))


@pytest.mark.parametrize("head", [TRACED, *WIDER.values()], ids=["traced", *WIDER])
def test_each_expert_is_chosen(head):
    model = make_traced(head=head)
    eye = np.eye(WIDTH, dtype=np.float32)
    feeds = {"x": (eye + 2 * np.roll(eye, 4, 1) - np.roll(eye, 6, 1))[:ROWS]}
    if "Arg" in head:
        feeds["x"] = (3 * eye - 2 * np.roll(eye, 6, 1))[:ROWS]
    expected, = run_onnxruntime(model, feeds)
    np.testing.assert_allclose(octet.compile(model).run(feeds)["y"], expected, atol=2e-6 * np.abs(expected).max())


# Classes along another axis than that of what is chosen, which a condition of fewer dimensions does not have.
ACROSS = OF_ONE_MORE.replace("g = ReduceSum<keepdims=0>(d, rows)\n", """b1 = Slice(b, corner, ones)
b2 = Reshape(b1, one)
is = Equal(b2, classes)
l1 = Gather(x, first)
l2 = Slice(l1, zero, one)
l3 = Concat<axis=0>(l1, l2)
l4 = Reshape(l3, volume)
f = Where(is, l4, nought)
g = ReduceSum<keepdims=0>(f, ones_behind)
""")
CONSTANTS |= dict(corner=[0, 0], classes=np.arange(WIDTH + 1).reshape(-1, 1), volume=[WIDTH + 1, 1, 1])
BEFORE = "TopK<axis=1>(x, two)\n"
NOT_EACH = {
    "across": (WIDTH, ACROSS),
    "few": (3, TRACED),
    "few_of_one_more": (3, OF_ONE_MORE),
    "shifted": (WIDTH, OF_ONE_MORE.replace(BEFORE, BEFORE + "b2 = Add(b, first)\n").replace("OneHot(b,", "OneHot(b2,")),
    "wrapped": (WIDTH, OF_ONE_MORE.replace(BEFORE, BEFORE + "b2 = Cast<to=3>(b)\nb3 = Cast<to=7>(b2)\n").replace("OneHot(b,", "OneHot(b3,")),
}


@pytest.mark.parametrize("name", NOT_EACH)
def test_not_each_expert_is_chosen(tmp_path, name):
    count, head = NOT_EACH[name]
    expect_error(tmp_path, make_traced(count, "few" if count == 3 else "parts", head), "NonZero", "the shape of its result depends on data")


# What needs the number of rows.
REFUSED = {
    "softmax_of_rows": "z = Softmax<axis=0>(r)",
    "sum_of_rows": "z = ReduceSum(r, zero)",
    "sum_of_all": "z = ReduceSum(r)",
    "product_over_rows": "a = Transpose<perm=[1,0]>(r)\nz = MatMul(a, x)",
    "product_of_rows": "a = Transpose<perm=[1,0]>(r)\nz = MatMul(r, a)",
    "behind_others": "z = Concat<axis=0>(r, x)",
    "best_rows": "a, z = TopK<axis=0>(r, one)",
    "first_rows": "z = Slice(r, zero, one, zero)",
    "one_row": "z = Gather(r, zero)",
    "beside_all": "z = Add(r, x)",
    "among_columns": "z = Reshape(r, sideways)",
    "once_more": "a = Unsqueeze(r, one)\nb = Shape(r)\nz = Expand(a, b)",
    "number": "a = Shape(r)\nb = Gather(a, nothing)\nz = Range(nothing, b, unit)",
    "into_others": "a = Unsqueeze(s, one)\nz = ScatterND(r, zero, c)",
}
OTHERS = "f2 = Gather<axis=1>(x, unit)\nm2 = Greater(f2, nought)\np2 = NonZero(m2)\nt2 = Transpose<perm=[1,0]>(p2)\nr2 = GatherND(x, t2)\n"
REFUSED |= {"rows_of_two_masks": OTHERS + "z = Add(r, r2)", "shape_of_another_mask": OTHERS + "a = ReduceSum(r, one)\nb = Shape(r2)\nz = Expand(a, b)",
            "scattered_by_another_mask": OTHERS + "z = ScatterND(x, t2, r)", "cut_by_another_mask": OTHERS + "a = Shape(r2)\nb = Gather(a, zero)\nz = Slice(r, zero, b, zero)"}
CONSTANTS |= dict(sideways=[4, -1], nothing=np.int64(0), unit=np.int64(1))


@pytest.mark.parametrize("name", REFUSED)
def test_refusal(tmp_path, name):
    expect_error(tmp_path, make(CHOSEN + WHICH + REFUSED[name], outputs=("z",)), "NonZero", "the shape of its result depends on data")
