# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sequences of tensors, whose lengths are known at import, and optional tensors."""
import numpy as np
import pytest
from test_control_flow import make_model
from test_import_bad_files import expect_error
from test_import_numerics import run, translate

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

NETWORKS = {
    "pieces": """g (float[2,7,3] x) => (float[a,b,c] y, float[a,b,c] z, float[a,b,c] v) <int64[3] sizes = {3, 1, 3}, int64 one = {1}, int64 last = {-1}, int64 two = {2}> {
        s = SplitToSequence<axis = 1>(x, sizes)
        a = SequenceAt(s, last)
        t = SequenceInsert(s, a)
        u = SequenceInsert(t, a, one)
        w = SequenceErase(u, last)
        q = SequenceErase(w)
        y = ConcatFromSequence<axis = 1>(q)
        p = SplitToSequence<axis = -1, keepdims = 0>(x)
        z = ConcatFromSequence<axis = 1, new_axis = 1>(p)
        r = SplitToSequence<axis = 1>(x, two)
        f = SequenceErase(r, one)
        v = ConcatFromSequence<axis = -2>(f)
    }""",
    "lengths": """g (float[4,3] x) => (float[a] y) <int64[5] n = {1, 2, 3, 4, 5}, float zero = {0}> {
        e = SequenceEmpty()
        s = SequenceConstruct(x, x, x)
        i = SequenceLength(s)
        j = SequenceLength(e)
        k = SplitToSequence(n)
        l = SequenceAt(k, j)
        m = SequenceAt(k, i)
        c = ConcatFromSequence<axis = 0>(k)
        h = Add(l, m)
        o = Mul(h, l)
        f = Cast<to = 1>(o)
        b = ReduceSum<keepdims = 0>(x)
        w = Mul(b, f)
        d = Cast<to = 1>(c)
        y = Mul(d, w)
    }""",
    "loop": """g (float[2,3] x) => (float[a,b] y) <int64 n = {4}, bool yes = {1}, float half = {0.5}> {
        e = SequenceEmpty()
        s, t = Loop(n, yes, e, x) <body = b (int64 i, bool c, seq(float[a,b]) p, float[a,b] q) => (bool d, seq(float[a,b]) u, float[a,b] v) {
            d = Identity(c)
            v = Mul(q, half)
            u = SequenceInsert(p, v)
        }>
        y = ConcatFromSequence<axis = 0>(s)
    }""",
    "map": """g (float[4,3] x, float[1,3] z) => (float[a,b] y, float[a,b] v) {
        s = SplitToSequence(x)
        t, u = SequenceMap(s, z, s) <body = b (float[a,b] p, float[a,b] q, float[a,b] r) => (float[a,b] k, float[a,b] l) {
            k = Add(p, q)
            l = Mul(k, r)
        }>
        y = ConcatFromSequence<axis = 0>(t)
        v = ConcatFromSequence<axis = 1>(u)
    }""",
    "branches": """g (float[4,3] x) => (float[a,b] y) <bool yes = {1}> {
        s = SplitToSequence(x)
        t = If(yes) <then_branch = t () => (seq(float[a,b]) z) { z = SequenceInsert(s, x) }, else_branch = e () => (seq(float[a,b]) z) { z = Identity(s) }>
        u = Identity(t)
        y = ConcatFromSequence<axis = 0>(u)
    }""",
    "optional": """g (float[4,3] x) => (float[a,b] y) {
        o = Optional(x)
        h = OptionalHasElement(o)
        y = If(h) <then_branch = t () => (float[a,b] z) { w = OptionalGetElement(o)
                                                         z = Exp(w) }, else_branch = e () => (float[a,b] z) { z = Neg(x) }>
    }""",
}


@pytest.mark.parametrize("name", NETWORKS)
def test_sequences_are_lists_at_import(name):
    model = make_model(NETWORKS[name])
    random = np.random.default_rng(0)
    feeds = {value.name: random.normal(size=[dim.dim_value for dim in value.type.tensor_type.shape.dim]).astype(np.float32) for value in model.graph.input}
    data = model.SerializeToString()
    expected, got = run(data, feeds), run(translate("--export-onnx", translate("--import-onnx", data)), feeds)
    for want, have in zip(expected, got, strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("nodes, message", [
    ("s = SplitToSequence(x)\ny = Relu(s)", "reads a sequence; expected tensors"),
    ("y = SequenceAt(x, one)", "has an input that is no sequence"),
    ("s = SequenceConstruct(x)\ny = SequenceAt(s, one)", "has the position [1] in a sequence of 1 elements"),
    ("s = SequenceConstruct(x)\ni = Cast<to = 7>(x)\ny = SequenceAt(s, i)", "a position computed at run time"),
    ("s = SequenceConstruct(x)\ny = SequenceAt(s, s)", "has a sequence as a position"),
    ("s = SequenceConstruct(x)\nt = SequenceConstruct(s)\ny = SequenceAt(t, one)", "lacks its input 0, or has a sequence as one"),
    ("s = SequenceConstruct(x)\nt = SequenceInsert(s, s)\ny = SequenceAt(t, one)", "inserts a sequence"),
    ("s = SequenceEmpty()\nt = SequenceErase(s)\ny = SequenceAt(t, one)", "erases an element of an empty sequence"),
    ("s = SequenceEmpty()\ny = ConcatFromSequence<axis = 0>(s)", "an empty sequence"),
    ("s = SplitToSequence(x)\nt = SplitToSequence(s)\ny = SequenceAt(t, one)", "splits a sequence"),
    ("s = SplitToSequence(x)\nt = SplitToSequence(x, s)\ny = SequenceAt(t, one)", "has a sequence as sizes of pieces"),
    ("c = Expand(one, wide)\nw = Cast<to = 1>(c)\ns = SplitToSequence(w)\ny = SequenceAt(s, one)", "a sequence of 1025 pieces"),
    ("c = Expand(one, wide)\nw = Cast<to = 1>(c)\ns = SplitToSequence(w, one)\ny = SequenceAt(s, one)", "a sequence of 1025 pieces"),
    ("s = SplitToSequence(x, sizes)\ny = SequenceAt(s, one)", "splits 4 elements into pieces of [3x2]"),
    ("s = SplitToSequence(x)\nt = SequenceConstruct(x)\nu = SequenceMap(s, t) <body = b (float p, float q) => (float r) { r = Add(p, q) }>\ny = SequenceAt(u, one)",
     "has sequences of different lengths"),
    ("s = SplitToSequence(x)\nu = SequenceMap(s) <body = b (float p, float q) => (float r) { r = Add(p, q) }>\ny = SequenceAt(u, one)",
     "has a body of 2 inputs and 1 outputs"),
    ("s = SplitToSequence(x)\nu = SequenceMap(s)\ny = SequenceAt(u, one)", "lacks the attribute body"),
    ("y = SplitToSequence(x)", 'the output "y" is a sequence or an empty optional; export tensors'),
    ("y = Loop(one, yes) <body = b (int64 i, bool c) => (bool d, seq(float) s) {\n d = Identity(c)\n s = SequenceConstruct(x)\n}>",
     "has sequences or nothing as results of its trips"),
])
def test_errors(tmp_path, nodes, message):
    model = make_model(f"g (float[4,3] x) => (float[a] y) <int64 one = {{1}}, bool yes = {{1}}, int64[2] sizes = {{3, 2}}, int64[1] wide = {{1025}}> {{\n{nodes}\n}}")
    expect_error(tmp_path, model, message)
