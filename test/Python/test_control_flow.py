# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX If, Loop, Scan and functions of the file: imported as what remains when conditions and numbers of trips are known, or as choices."""
import numpy as np
import pytest
from test_import_bad_files import expect_error
from test_import_numerics import run, translate

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


def make_model(graph, functions=""):
    return onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 18, "own" : 1]>\n{graph}\n{functions}')


ADD = "y = Add(x, one)"
NETWORKS = {
    "if_by_shape": """g (float[2,3] x) => (float[a,b] y) <int64 two = {2}> {
        s = Shape<start=0, end=1>(x)
        c = Equal(s, two)
        y = If(c) <then_branch = t () => (float[a,b] z) { w = Relu(x)
                                                         z = Exp(w) },
                   else_branch = e () => (float[b] z) { z = Abs(x) }>
    }""",
    "loop_that_ends_itself": """g (float[2,3] x) => (float[a,b] y) <int64 three = {3}, bool yes = {1}> {
        y = Loop("", yes, x) <body = b (int64 i, bool c, float[a,b] s) => (bool d, float[a,b] t) {
            d = Less(i, three)
            t = Exp(s)
        }>
    }""",
    "ifs_in_one_another": """g (float[2,3] x) => (float[a,b] y, float[a,b] v) <bool yes = {1}, bool no = {0}> {
        h = Neg(x)
        y, v = If(yes) <then_branch = t () => (float[a,b] p, float[a,b] q) {
                            p = If(no) <then_branch = t2 () => (float[a,b] z) { z = Abs(h) },
                                        else_branch = e2 () => (float[a,b] z) { z = Mul(h, x) }>
                            q = Identity(h) },
                        else_branch = e () => (float[a,b] p, float[a,b] q) { p = Abs(h)
                                                                             q = Abs(x) }>
    }""",
    "loop": """g (float[2,3] x) => (float[a,b] y, float[a,b,c] all, int64[a] numbers) <int64 n = {4}, bool yes = {1}, float half = {0.5}> {
        y, all, numbers = Loop(n, yes, x) <body = b (int64 i, bool c, float[a,b] s) => (bool d, float[a,b] t, float[a,b] u, int64 j) {
            d = Identity(c)
            t = Mul(s, half)
            u = Add(t, x)
            j = Add(i, i)
        }>
    }""",
    "if_at_run_time": """g (float[2,3] x) => (float[a,b] y, float[a] v) <float zero = {0.0}, int64[1] first = {0}> {
        s = ReduceSum<keepdims=0>(x)
        c = Greater(s, zero)
        y, n = If(c) <then_branch = t () => (float[a,b] p, int64[a] q) { p = Abs(x)
                                                                          q = Identity(first) },
                      else_branch = e () => (float[a,b] p, int64[a] q) { p = Exp(x)
                                                                          q = Identity(first) }>
        v = ReduceMax<keepdims=0>(y, n)
    }""",
    "loop_that_ends_at_run_time": """g (float[2,3] x) => (float[a,b] y) <int64 n = {9}, bool yes = {1}, float two = {2.0}, float end = {20.0}> {
        y = Loop(n, yes, x) <body = b (int64 i, bool c, float[a,b] s) => (bool d, float[a,b] t) {
            t = Mul(s, two)
            m = ReduceMax<keepdims=0>(t)
            d = Less(m, end)
        }>
    }""",
    "loop_of_two_conditions": """g (float[2,3] x, float[9] table) => (float[a,b] y, int64 k) <int64 zero = {0}, int64 one = {1}, int64 n = {9}, bool yes = {1}, float two = {2.0}, float end = {20.0}> {
        y, k = Loop("", yes, x, zero) <body = b (int64 i, bool c, float[a,b] s, int64 j) => (bool d, float[a,b] t, int64 l) {
            m = Gather(table, j)
            u = Mul(s, two)
            t = Add(u, m)
            l = Add(j, one)
            r = ReduceMax<keepdims=0>(t)
            e = Less(r, end)
            f = Less(l, n)
            d = And(e, f)
        }>
    }""",
    "loop_of_two_conditions_and_a_large_number": """g (float[2,3] x) => (float[a,b] y, int64 k) <int64 zero = {0}, int64 one = {1}, int64 n = {5}, int64 most = {9223372036854775807}, float two = {2.0}, float end = {9.0}> {
        q = ReduceMax<keepdims=0>(x)
        c = Less(q, end)
        y, k = Loop(most, c, x, zero) <body = b (int64 i, bool c, float[a,b] s, int64 j) => (bool d, float[a,b] t, int64 l) {
            t = Mul(s, two)
            l = Add(j, one)
            r = ReduceMax<keepdims=0>(t)
            e = Less(r, end)
            f = Less(l, n)
            d = And(f, e)
        }>
    }""",
    "scan": """g (float[2] h, float[5,2] x, float[2,5] w) => (float[a] y, float[a,b] all, float[a,b] sums) {
        y, all, sums = Scan(h, x, w) <num_scan_inputs = 2, scan_input_axes = [0, -1], scan_input_directions = [0, 1], scan_output_axes = [1, 0],
                                      scan_output_directions = [1, 0],
            body = b (float[a] s, float[a] e, float[a] f) => (float[a] t, float[a] r, float[a] q) {
                t = Add(s, e)
                r = Mul(t, f)
                q = Tanh(t)
            }>
    }""",
}
FUNCTIONS = """
    <domain: "own", opset_import: ["" : 18, "own" : 1]>
    scaled <alpha> (x, y) => (z) { a = LeakyRelu<alpha: float = @alpha>(x)
                                   z = Mul(a, y) }
    <domain: "own", opset_import: ["" : 18, "own" : 1]>
    twice (x) => (y) { z = own.scaled<alpha = 0.3>(x, x)
                       y = own.scaled<alpha = 0.6>(z, x) }
"""
NETWORKS["functions"] = "g (float[2,3] x) => (float[a,b] y) { z = Neg(x)\n a = own.twice(z)\n y = Add(a, z) }", FUNCTIONS
NETWORKS["attributes_with_defaults"] = "g (float[2,3] x) => (float[a,b] y) { z = own.leaky(x)\n y = own.leaky<beta = 0.7>(z) }", """
    <domain: "own", opset_import: ["" : 18, "own" : 1]>
    leaky <beta: float = 0.3> (x) => (y) { y = own.scaled<alpha: float = @beta>(x, x) }
""" + FUNCTIONS
NETWORKS["inputs_that_are_missing"] = """g (float[2,3] x) => (float[a,b] y) <float h = {0.5}, float lo = {9}> {
        z = own.bounded(x)
        v = own.bounded(z, , h)
        y = Add(v, lo)
    }""", """
    <domain: "own", opset_import: ["" : 18]>
    bounded (x, lo, hi) => (y) { y = Clip(x, lo, hi) }
"""
NETWORKS["attributes_in_branches"] = "g (float[2,3] x) => (float[a,b] y) { y = own.branch<alpha = 0.3>(x) }", """
    <domain: "own", opset_import: ["" : 18]>
    branch <alpha> (x) => (y) {
        s = ReduceSum<keepdims = 0>(x)
        c = Greater(s, s)
        y = If(c) <then_branch = t () => (float[a,b] z) { z = Abs(x) },
                   else_branch = e () => (float[a,b] z) { z = LeakyRelu<alpha: float = @alpha>(x) }>
    }
"""


@pytest.mark.parametrize("name", NETWORKS)
def test_what_remains_computes_the_same(name):
    graph, functions = NETWORKS[name] if isinstance(NETWORKS[name], tuple) else (NETWORKS[name], "")
    model = make_model(graph, functions)
    rng = np.random.default_rng(0)
    feeds = {value.name: rng.normal(size=[dim.dim_value for dim in value.type.tensor_type.shape.dim]).astype(np.float32)
             for value in model.graph.input}
    data = model.SerializeToString()
    names = [output.name for output in model.graph.output]
    exported = translate("--export-onnx", translate("--import-onnx", data))
    assert names == [output.name for output in onnx.load_from_string(exported).graph.output]
    for sign in (1, -1):  # conditions at run time are true and false
        feed = {name: sign * array for name, array in feeds.items()}
        for actual, desired in zip(run(exported, feed), run(data, feed)):
            np.testing.assert_allclose(actual, desired, rtol=1e-6, atol=1e-6)


def test_overloads_of_a_function(compiler):
    octet = pytest.importorskip("octet")
    functions = "".join(f'<domain: "own", opset_import: ["" : 18], overload: "{name}">\nf (x) => (y) {{ y = {name}(x) }}\n' for name in ("Exp", "Abs"))
    model = make_model("g (float[2,3] x) => (float[a,b] y) { z = own.f(x)\n y = own.f(z) }", functions)
    model.ir_version = 10
    model.graph.node[0].overload, model.graph.node[1].overload = "Abs", "Exp"
    x = np.float32([[1, -2, 3], [0.5, 0, -1]])
    np.testing.assert_allclose(octet.compile(model.SerializeToString()).run({"x": x})["y"], np.exp(np.abs(x)), rtol=1e-6)


def test_an_input_that_is_a_constant_chooses_the_branch(compiler, tmp_path):
    """As sample rates do. The other inputs stay; the constant may be of any type."""
    octet = pytest.importorskip("octet")
    model = make_model("""g (int64 rate, float[2,3] x, bool[1] flag, float[1] offset) => (float[a,b] y) <int64 high = {16000}> {
        c = Equal(rate, high)
        z = If(c) <then_branch = t () => (float[a,b] p) { p = Exp(x) }, else_branch = e () => (float[a,b] p) { p = Neg(x) }>
        w = If(flag) <then_branch = u () => (float[a,b] q) { q = Add(z, offset) }, else_branch = f () => (float[a,b] q) { q = Abs(z) }>
        y = Identity(w)
    }""")
    x = np.float32([[1, -2, 3], [0.5, 0, -1]])
    for rate, flag in ((16000, True), (8000, False)):
        compiled = octet.compile(model.SerializeToString(), input_values={"rate": rate, "flag": flag, "offset": 0.25})
        feeds = {"rate": np.array(rate, np.int64), "x": x, "flag": np.array([flag]), "offset": np.float32([0.25])}
        assert [each.name for each in compiled.inputs] == ["x"]
        np.testing.assert_allclose(compiled.run({"x": x})["y"], run(model.SerializeToString(), feeds)[0], rtol=1e-6)


LOOP = "y = Loop({0}) <body = b (int64 i, bool c, float[a,b] s) => (bool d, float[a,b] t) {{ d = {1}\nt = {2} }}>"


@pytest.mark.parametrize("body, message", [
    ("s = ReduceMax<keepdims=0>(x)\nc = Greater(s, s)\ny = If(c) <then_branch = t () => (float z) { z = Abs(s) }, else_branch = e () => (float[a,b] z) { z = Neg(x) }>",
     "computed at run time and chooses between tensor<f32> and tensor<2x3xf32>"),
    ("s = ReduceMax<keepdims=0>(x)\nc = Greater(s, s)\nq = If(c) <then_branch = t () => (seq(float[a,b]) z) { z = SequenceConstruct(x) }, else_branch = e () => (seq(float[a,b]) z) "
     "{ z = SequenceConstruct(x, x) }>\ny = SequenceAt(q, big)", "computed at run time and chooses between sequences, or nothing"),
    ("s = ReduceMax<keepdims=0>(x)\nc = Greater(s, s)\n" + LOOP.format('"", c, x', "Identity(c)", "Abs(s)"), "without a number of trips"),
    ("s = ReduceMax<keepdims=0>(x)\nc = Greater(s, s)\ny, v = Loop(big, c, x) <body = b (int64 i, bool e, float[a,b] s) => (bool d, float[a,b] t, float[a,b] u) { d = Identity(e)\n"
     "t = Abs(s)\nu = Neg(s) }>", "with results that are stacked"),
    ("y = If(yes) <else_branch = e () => (float[a,b] z) { z = Neg(x) }>", "If lacks the attribute then_branch"),
    ("y, v = If(yes) <then_branch = t () => (float[a,b] z) { z = Abs(x) }, else_branch = e () => (float[a,b] z) { z = Neg(x) }>",
     "If has 2 outputs, but its graph gives 1"),
    ("y = If(yes) <then_branch = t () => (float[a,b] z) { w = NoSuchOperator(x)\nz = NonZero(w) }, else_branch = e () => (float[a,b] z) { z = Neg(x) }>",
     "2 operators are not supported"),
    ("y = If(yes) <then_branch = t () => (float[a,b] z) { z = Abs(nobody) }, else_branch = e () => (float[a,b] z) { z = Neg(x) }>",
     'the tensor "nobody" is read, but no node, input or initializer defines it'),
    ("y = If(yes) <then_branch = t () => (float[a,b] z) { z = Abs(w)\nw = Abs(z) }, else_branch = e () => (float[a,b] z) { z = Neg(x) }>",
     "the graph has a cycle"),
    ("y = If(yes) <then_branch = t () => (float[a,b] z) { z = Abs(x)\nz = Neg(x) }, else_branch = e () => (float[a,b] z) { z = Neg(x) }>",
     'the tensor "z" is defined twice'),
    (LOOP.format('"", yes, x', "Identity(c)", "Abs(s)"), "more than 8192 trips"),
    (LOOP.format("big, yes, x", "Identity(c)", "Abs(s)"), "more than 8192 trips"),
    (LOOP.format("big, yes, x, x", "Identity(c)", "Abs(s)"), "Loop has a body of 3 inputs and 2 outputs for 2 states"),
    ("y = Scan(x) <num_scan_inputs = 2, body = b (float[a] s) => (float[a] t) { t = Abs(s) }>",
     "Scan has 1 inputs, 2 of them scanned, and a body of 1 inputs and 1 outputs"),
    ("v = Transpose(x)\ny = Scan(x, v) <num_scan_inputs = 2, body = b (float[a] s, float[a] u) => (float[a] t) { t = Abs(s) }>",
     "Scan scans inputs of 2 and 3 elements"),
    ("y = own.f(x, x)", "f has 2 inputs and 1 outputs; its function has 1 and 1"),
    ("y = own.f(x)", "functions that call themselves, or so many of their nodes"),
])
def test_control_flow_that_cannot_be(tmp_path, body, message):
    model = make_model(f"g (float[2,3] x) => (float[a,b] y) <bool yes = {{1}}, int64 big = {{1000000}}> {{ {body} }}",
                       '<domain: "own", opset_import: ["own" : 1]>\nf (x) => (y) { y = own.f(x) }' if "own.f" in body else "")
    expect_error(tmp_path, model, message)


def test_loops_in_loops_are_bounded(tmp_path):
    """1000 trips of 1000 trips: refused before they are made."""
    inner = "u = Loop(n, yes, s) <body = c (int64 j, bool k, float[a,b] p) => (bool l, float[a,b] q) { l = Identity(k)\nq = Exp(p) }>"
    model = make_model(f"""g (float[2,3] x) => (float[a,b] y) <int64 n = {{1000}}, bool yes = {{1}}> {{
        y = Loop(n, yes, x) <body = b (int64 i, bool c, float[a,b] s) => (bool d, float[a,b] t) {{ d = Identity(c)
                                                                                                  {inner}
                                                                                                  t = Neg(u) }}>
    }}""")
    expect_error(tmp_path, model, "so many nodes in loops and branches")


def test_obstacles_inside_of_branches_are_listed_with_the_others(tmp_path):
    model = make_model("""g (float[2,3] x) => (float[a,b] y, float[a,b] v) <bool yes = {1}> {
        y = If(yes) <then_branch = t () => (float[a,b] z) { z = NoSuchOperator(x) }, else_branch = e () => (float[a,b] z) { z = NonZero(x) }>
        v = Unique<axis=0>(y)
    }""")
    expect_error(tmp_path, model, "2 operators are not supported", "(NoSuchOperator, domain", "(Unique, domain")
