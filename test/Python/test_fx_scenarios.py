# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scenarios of FX's own test suite that no other test has; docs/scenarios.md lists all of them with their tests."""
import re

import numpy as np
import pytest
from fx_networks import GLOBAL, mapping, qconfig

FIRST, SECOND = [1, 2, 2, 3, 4, 5, 6], [4, 5, 5, 6, 7, 8, 8]
CORNERS = [[[[1, 2], [2, 2.5]], [[3, 4], [4.5, 6]]], [[[-4, -3], [5, 5]], [[6, 3], [7, 8]]]]

UNARY = """octet.backend @any {
  octet.dtypes @open
  octet.pattern @negation dtypes = [@open] {
    %x = octet.activation
    %y = octet.match ["nn.neg"](%x)
    octet.yield %y : none
  }
}
"""


def write(body, shape, results=1):
    """`main` of one input and the lines of `body`, which ends with `return`."""
    kind = f"tensor<{'x'.join(map(str, shape))}xf32>"
    text = "\n".join(f"  {line}" for line in body.replace("!t", kind).strip().splitlines())
    outputs = kind if results == 1 else "(" + ", ".join([kind] * results) + ")"
    return f'func.func @main(%x: {kind} {{nn.name = "x"}}) -> {outputs} {{\n{text}\n}}\n'


@pytest.fixture
def run(tool, tmp_path):
    """run(network, samples, backend=text or built-in name, mapping=text, passes=(…)) gives the IR."""

    def run(network, samples=None, backend="native", mapping=GLOBAL, passes=("--octet-calibrate", "--octet-convert")):
        (tmp_path / "network.mlir").write_text(network)
        (tmp_path / "mapping.mlir").write_text(mapping)
        path = backend
        if "{" in backend:
            path = tmp_path / "backend.mlir"
            path.write_text(backend)
        options = []
        if samples is not None:
            np.savez(tmp_path / "samples.npz", x=np.asarray(samples, np.float32))
            options = [f"--octet-use-samples=files={tmp_path / 'samples.npz'}"]
        done = tool("octet-opt", tmp_path / "network.mlir", *options, "--mlir-print-local-scope",
                    f"--octet-attach-policy=backend={path} qconfig-mapping={tmp_path / 'mapping.mlir'}", "--octet-fuse", "--octet-prepare", *passes)
        return done.stdout

    return run


def explain(run, network, **options):
    """{layer: (verdict, rest of the line)}."""
    text = run(network, passes=("--octet-explain", "-o", "/dev/null"), **options)
    rows = [re.split(r" {2,}", line.strip()) for line in text.splitlines()[1:] if line[:1].strip()]
    return {row[0]: row[2] for row in rows if len(row) > 3}


@pytest.fixture
def observe(run):
    """observe(observer, samples) gives scale and zero point of the observed input; one each, or lists."""

    def observe(observer, samples):
        shape = np.shape(samples[0])
        network = write("%y = nn.neg %x : (!t) -> !t\nreturn %y : !t", shape)
        text = run(network, samples, UNARY, f"octet.qconfig_mapping @m {{ octet.global #octet.qconfig<activation = {observer}> }}\n")
        found = re.search(r"octet.quantize %arg0.*-> tensor<.*!quant.uniform<\w+(?:<[^>]*>)?:f32(?::\d+)?, (.*)>>", text)[1]
        numbers = [(float(scale), int(zero or 0)) for scale, zero in re.findall(r"([-+.\dEe]+)(?::(-?\d+))?(?:,|\}|$)", found.strip("{}"))]
        return numbers[0] if len(numbers) == 1 else tuple(zip(*numbers))

    return observe


# The observers' numbers of TestObserver.

@pytest.mark.parametrize("dtype, parameters, scale, zero", [
    ("si8", "", 0.0313726, -128),
    ("si8", ", reduce_range = true", 0.0629921, -64),
    ("ui8", "", 0.0313726, 0),
    ("ui8", ", reduce_range = true", 0.0629921, 0),
    ("si8", ", scheme = symmetric", 0.0627451, 0),
    ("si8", ", scheme = symmetric, reduce_range = true", 0.1259843, 0),
    ("ui8", ", scheme = symmetric", 0.0627451, 128),
])
def test_min_max_observer(observe, dtype, parameters, scale, zero):
    got = observe(f"#octet.min_max<dtype = {dtype}{parameters}>", [FIRST, SECOND])
    assert got == (pytest.approx(scale, abs=5e-8), zero)  # the scenario has seven digits


@pytest.mark.parametrize("dtype, parameters, scale, zero", [
    ("si8", "", 0.0274510, -128),
    ("si8", ", reduce_range = true", 0.0551181, -64),
    ("si8", ", scheme = symmetric", 0.0549020, 0),
    ("si8", ", scheme = symmetric, reduce_range = true", 0.1102362, 0),
])
def test_moving_average_observer(observe, dtype, parameters, scale, zero):
    got = observe(f"#octet.moving_average_min_max<dtype = {dtype}, constant = 0.5{parameters}>", [FIRST, SECOND])
    assert got == (pytest.approx(scale, abs=5e-8), zero)


@pytest.mark.parametrize("axis, scales, zeros", [
    (0, [0.023529, 0.047059], (0, 85)),
    (1, [0.035294, 0.031373], (113, 0)),
    (2, [0.039216, 0.031373], (102, 0)),
    (3, [0.043137, 0.043137], (93, 70)),
])
def test_per_channel_observer(observe, axis, scales, zeros):
    got = observe(f"#octet.per_channel_min_max<dtype = ui8, axis = {axis}>", [CORNERS])
    assert got == (pytest.approx(scales, abs=5e-7), zeros)  # the scenario has six digits


def test_one_sided_data_keeps_zero_point_0(observe):
    assert observe("#octet.min_max<dtype = ui8>", [[3, 4, 5]]) == (pytest.approx(5 / 255), 0)
    assert observe("#octet.min_max<dtype = ui8>", [[-3, -4, -5]]) == (pytest.approx(5 / 255), 255)


@pytest.mark.parametrize("observer", ["min_max", "histogram"])
def test_constant_input(observe, observer):
    scale, zero = observe(f"#octet.{observer}<dtype = ui8>", [[2, 2, 2]])
    # Exact to the f32 of a scale; docs/numerics.md gives histograms more.
    assert zero == 0 and scale * 255 == pytest.approx(2, rel=2**-23 if observer == "min_max" else 0.01)


def test_repeated_same_input(observe):
    once = observe("#octet.histogram<dtype = ui8>", [[2, 3, 3]])
    assert observe("#octet.histogram<dtype = ui8>", [[2, 3, 3]] * 5) == once


# Mappings and backends of TestQuantizeFx and TestFuseFx.

CHAIN = """%w = nn.constant dense<0.5> : tensor<4x4xf32>
%a = nn.linear %x, %w {octet.origin = #octet.origin<"a">} : (!t, tensor<4x4xf32>) -> !t
%b = nn.linear %a, %w {octet.origin = #octet.origin<"b">} : (!t, tensor<4x4xf32>) -> !t
return %b : !t"""


def test_global_none(run):
    text = run(write(CHAIN, (1, 4)), passes=(), mapping="octet.qconfig_mapping @m { octet.global none }")
    assert "octet.observe " not in text and "OCT205" in text


def test_module_name_overrides_global_none(run):
    entries = mapping(f'octet.module_name "b" {qconfig()}', everything="none")
    assert explain(run, write(CHAIN, (1, 4)), mapping=entries) == {"a": "float", "b": "int8"}


def test_regex_order(run):
    """The first expression that matches decides."""
    first, second = f'octet.module_name_regex "[ab]" {qconfig()}', 'octet.module_name_regex "b" none'
    network = write(CHAIN, (1, 4))
    assert explain(run, network, mapping=mapping(first, second, everything="none")) == {"a": "int8", "b": "int8"}
    assert explain(run, network, mapping=mapping(second, first, everything="none")) == {"a": "int8", "b": "float"}


def test_not_fused_in_other_backends(run):
    """The sum behind a convolution is a part of it where the backend says so."""
    body = """%w = nn.constant dense<0.5> : tensor<2x2x1x1xf32>
%c = nn.conv %x, %w {octet.origin = #octet.origin<"c">} : (!t, tensor<2x2x1x1xf32>) -> !t
%s = nn.add %c, %x {octet.origin = #octet.origin<"s">} : (!t, !t) -> !t
%r = nn.relu %s {octet.origin = #octet.origin<"r">} : (!t) -> !t
return %r : !t"""
    network = write(body, (1, 2, 3, 3))
    native = run(network, passes=())
    assert len(re.findall("octet.group @", native)) == 1 and "@product" not in re.findall(r"octet.group @\w+::(@\w+)", native)
    assert "@cpu::@conv_add_act" in run(network, passes=(), backend="cpu", mapping=GLOBAL)


def test_observation_is_different_by_default(run):
    text = run(write("%y = nn.neg %x : (!t) -> !t\nreturn %y : !t", (4,)), passes=(), backend=UNARY)
    assert len(re.findall(r"octet.observer @", text)) == 2
    shared = UNARY.replace("dtypes = [@open]", "dtypes = [@open] observation = shared")
    text = run(write("%y = nn.neg %x : (!t) -> !t\nreturn %y : !t", (4,)), passes=(), backend=shared)
    assert len(re.findall(r"octet.observer @", text)) == 1


def test_list_outputs(run):
    """Every result of the network is dequantized at the end."""
    body = CHAIN.replace("return %b : !t", "return %a, %b : !t, !t")
    text = run(write(body, (1, 4), results=2), np.ones((2, 1, 4)))
    returned = re.search(r"return (%\w+), (%\w+)", text).groups()
    for value in returned:
        assert re.search(rf"{value} = octet.dequantize", text)


def test_several_readers_share_one_pair(run):
    body = CHAIN.replace("nn.linear %a", "nn.linear %x").replace(
        "return %b : !t", '%s = nn.add %a, %b {octet.origin = #octet.origin<"s">} : (!t, !t) -> !t\nreturn %s : !t')
    text = run(write(body, (1, 4)), np.ones((2, 1, 4)))
    assert len(re.findall(r"octet.quantize %arg0", text)) == 1


# Whole networks of TestQuantizeFxModels.

def count(text):
    """How often values are quantized and dequantized; what groups say of their epilogues is not counted."""
    return tuple(len(re.findall(rf"^    %\w+ = octet.{op} ", text, re.M)) for op in ("quantize", "dequantize"))


def block(number, x):
    return f"""%c{number} = nn.conv {x}, %w pads [1, 1, 1, 1] {{octet.origin = #octet.origin<"c{number}">}} : (!t, tensor<4x4x3x3xf32>) -> !t
%n{number} = nn.batch_norm %c{number}, %one, %zero, %zero, %one epsilon 1.0e-5 : (!t, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> !t"""


CONSTANTS = """%w = nn.constant dense<0.1> : tensor<4x4x3x3xf32>
%one = nn.constant dense<1.0> : tensor<4xf32>
%zero = nn.constant dense<0.0> : tensor<4xf32>"""


def test_resnet_has_one_quantize_and_one_dequantize(run):
    body = f"""{CONSTANTS}
{block(0, "%x")}
%r0 = nn.relu %n0 : (!t) -> !t
{block(1, "%r0")}
%r1 = nn.relu %n1 : (!t) -> !t
{block(2, "%r1")}
%s = nn.add %n2, %r0 : (!t, !t) -> !t
%y = nn.relu %s : (!t) -> !t
return %y : !t"""
    text = run(write(body, (1, 4, 6, 6)), np.random.default_rng(1).normal(size=(4, 1, 4, 6, 6)),
               passes=("--octet-calibrate", "--octet-convert", "--octet-lower"))
    assert count(text) == (1, 1) and len(re.findall(r"nn.conv .*!quant.uniform", text)) == 3 and "nn.batch_norm %" not in text


def test_mobilenet_has_one_quantize_and_one_dequantize(run):
    body = f"""{CONSTANTS}
{block(0, "%x")}
%h0 = nn.hard_swish %n0 : (!t) -> !t
%d = nn.transpose %h0 permutation [0, 1, 2, 3] {{octet.origin = #octet.origin<"dropout">}} : (!t) -> !t
{block(1, "%d")}
%h1 = nn.hard_swish %n1 : (!t) -> !t
return %h1 : !t"""
    text = run(write(body, (1, 4, 6, 6)), np.random.default_rng(2).normal(size=(4, 1, 4, 6, 6)),
               passes=("--octet-calibrate", "--octet-convert", "--octet-lower"))
    assert count(text) == (1, 1) and len(re.findall(r"nn.conv .*!quant.uniform", text)) == 2
