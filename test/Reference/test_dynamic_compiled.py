# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Linear layers and convolutions quantized in each run: compiled code gives the law's bytes at every level of this machine."""

import pathlib
import sys

import numpy as np
import octet_reference as reference
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Integration"))
import exactness  # noqa: E402
from test_compiled import LEVELS, driver, run_library, supports  # noqa: E402, F401  (a fixture)

f32 = np.float32

BACKEND = """
octet.backend @b {
  octet.dtypes @dynamic dynamic input = <ui8> weight = <si8> bias = f32
  octet.pattern @product_act dtypes = [@dynamic] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %p = octet.match ["nn.linear", "nn.conv"](%x, %w, %b)
    %y = octet.match ["nn.relu", "nn.sigmoid"](%p)
    octet.yield %y : none
  }
  octet.pattern @product_add dtypes = [@dynamic] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %r = octet.activation
    %p = octet.match ["nn.linear", "nn.conv"](%x, %w, %b)
    %y = octet.match ["nn.add"](%p, %r) commutative
    octet.yield %y : none
  }
  octet.pattern @product dtypes = [@dynamic] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %y = octet.match ["nn.linear", "nn.conv"](%x, %w, %b)
    octet.yield %y : none
  }
}
"""
WEIGHTS = {"tensor": "#octet.min_max<dtype = si8, scheme = symmetric, range = [-127, 127]>",
           "channels": "#octet.per_channel_min_max<dtype = si8, scheme = symmetric, range = [-127, 127], axis = 0>"}


def kind(shape):
    return f"tensor<{'x'.join(map(str, shape))}xf32>"


def constant(array):
    return f'nn.constant dense<"0x{array.astype("<f4").tobytes().hex().upper()}"> : {kind(array.shape)}'


def make_network(shape, weights, bias, body):
    """One layer of [..., K], and what its unit has behind the product."""
    result = (*shape[:-1], len(weights))
    operands, types = ["%x", "%w"], [kind(shape), kind(weights.shape)]
    lines = [f"%w = {constant(weights)}"]
    if bias is not None:
        lines.append(f"%b = {constant(bias)}")
        operands.append("%b")
        types.append(kind(bias.shape))
    lines.append(f"%p = nn.linear {', '.join(operands)} : ({', '.join(types)}) -> {kind(result)}")
    last = "%p"
    if body == "residual":
        lines.append(f"%a = nn.add %p, %r : ({kind(result)}, {kind(result)}) -> {kind(result)}")
        last = "%a"
    elif body:
        lines.append(f"%a = nn.{body} %p : ({kind(result)}) -> {kind(result)}")
        last = "%a"
    residual = f', %r: {kind(result)} {{nn.name = "r"}}' if body == "residual" else ""
    return (f'func.func @main(%x: {kind(shape)} {{nn.name = "x"}}{residual}) -> ({kind(result)} {{nn.name = "y"}}) {{\n  '
            + "\n  ".join(lines) + f"\n  return {last} : {kind(result)}\n}}\n")


def quantize_weights(weights, form):
    """(integers, scale of each output)."""
    axes = 1 if form == "channels" else None
    extremes = np.broadcast_to(np.abs(weights).max(axis=axes), len(weights)).astype(f32)
    scales = np.maximum(extremes / f32(127), f32(2.0**-23))
    return reference.quantize_weight(weights, reference.QParams(scales, 0, -127, 127, 0)), scales


# Rows of the input, depth, outputs; what follows; how weights and activations are quantized. Depths that are no multiple of
# four, outputs that fill a part of a vector, one row (which has a kernel of its own), rows in several dimensions.
CASES = [((1, 64), 48, "", "channels", True, False), ((1, 67), 33, "relu", "channels", False, False),
         ((7, 32), 16, "sigmoid", "tensor", True, False), ((7, 30), 8, "", "channels", True, True),
         ((2, 3, 20), 20, "relu", "channels", True, True), ((2, 1, 36), 5, "", "tensor", True, True),
         ((1, 5, 64), 64, "residual", "channels", True, True), ((40, 128), 96, "residual", "channels", False, False),
         ((3, 2, 2, 24), 40, "", "channels", True, True), ((37, 20), 24, "", "channels", True, True),
         ((2, 25, 36), 12, "relu", "channels", False, True)]


def make_linear(folder, shape, outputs, body, form, has_bias, per_row):
    """(arguments of octet-compile, the inputs one behind the other, the bits of the output)."""
    rng = np.random.default_rng(len(shape) * 1000 + outputs)
    weights = rng.normal(size=(outputs, shape[-1])).astype(f32)
    bias = rng.normal(size=outputs).astype(f32) if has_bias else None
    reduced = per_row and len(shape) == 3
    activation = f"#octet.placeholder<dtype = ui8, dynamic = true{', reduce_range = true' * reduced}{', per_row = true' * per_row}>"
    (folder / "backend.mlir").write_text(BACKEND)
    (folder / "mapping.mlir").write_text(
        f"octet.qconfig_mapping @m {{\n  octet.global #octet.qconfig<activation = {activation}, weight = {WEIGHTS[form]}>\n}}\n")
    (folder / "network.mlir").write_text(make_network(shape, weights, bias, body))
    x = rng.normal(size=shape).astype(f32) * f32(3)
    x.reshape(-1, shape[-1])[: x.size // shape[-1] - 1][:1] = 0  # the first row of several has the scale of zeros
    if len(rows := x.reshape(-1, shape[-1])) > 16:  # those of the least scale
        rows[3:6] *= f32(1e-6)
        rows[3], rows[4] = abs(rows[3]), -abs(rows[4])
    x.reshape(-1)[-1] = np.nan  # does not count, and is quantized to the zero point
    inputs = [x]
    wanted = reference.linear_dynamic(x, *quantize_weights(weights, form), bias, 0, 127 if reduced else 255, per_row)
    if body == "residual":
        inputs.append(rng.normal(size=wanted.shape).astype(f32))
        wanted = wanted + inputs[1]
    elif body:
        wanted = getattr(reference, body)(wanted)
    wanted = np.ascontiguousarray(wanted, f32).ravel().view(np.uint32)
    assert len(np.unique(wanted)) > 3
    options = [folder / "network.mlir", "--name=model", f"--backend={folder / 'backend.mlir'}", f"--qconfig-mapping={folder / 'mapping.mlir'}"]
    return options, np.concatenate([value.ravel() for value in inputs]), wanted


# Shape of the input, outputs, kernel, strides, pads, dilations, groups; what follows; how weights are quantized; whether there is a bias.
CONVOLUTIONS = [((1, 16, 9, 11), 24, (1, 1), (1, 1), (0, 0, 0, 0), (1, 1), 1, "", "channels", True),
                ((1, 3, 12, 12), 8, (3, 3), (2, 2), (1, 1, 1, 1), (1, 1), 1, "relu", "channels", True),
                ((2, 32, 7, 7), 33, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 1, "residual", "channels", True),
                ((1, 16, 10, 9), 16, (3, 3), (1, 1), (1, 0, 2, 1), (1, 1), 16, "sigmoid", "tensor", False),
                ((1, 8, 10, 9), 8, (5, 5), (2, 1), (2, 2, 2, 2), (1, 1), 8, "", "channels", True),
                ((1, 12, 8, 8), 20, (3, 3), (1, 1), (2, 2, 2, 2), (2, 2), 4, "relu", "channels", True),
                ((1, 1, 1, 64), 20, (1, 16), (1, 4), (0, 3, 0, 3), (1, 1), 1, "", "channels", False),
                ((1, 20, 1, 30), 40, (1, 3), (1, 1), (0, 1, 0, 1), (1, 1), 1, "relu", "tensor", True),
                ((2, 72, 9, 9), 72, (3, 3), (2, 2), (0, 1, 1, 0), (1, 1), 72, "relu", "channels", True),
                ((1, 12, 9, 8), 24, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 12, "residual", "channels", True),
                ((1, 32, 1, 40), 32, (1, 9), (1, 1), (0, 8, 0, 0), (1, 1), 32, "", "channels", False)]


def make_convolution(folder, shape, outputs, kernel, strides, pads, dilations, groups, body, form, has_bias):
    rng = np.random.default_rng(outputs + shape[1])
    weights = rng.normal(size=(outputs, shape[1] // groups, *kernel)).astype(f32)
    bias = rng.normal(size=outputs).astype(f32) if has_bias else None
    x = (rng.normal(size=shape) + 1).astype(f32)
    x.ravel()[-1] = np.nan
    integers, scales = quantize_weights(weights.reshape(outputs, -1), form)
    wanted = reference.conv_dynamic(x, integers.reshape(weights.shape), scales, bias, reference.Window(kernel, strides, pads, dilations), groups)
    result, inputs = wanted.shape, [x]
    operands, types = ["%x", "%w"] + ["%b"] * has_bias, [kind(shape), kind(weights.shape)] + [kind((outputs,))] * has_bias
    lines = [f"%w = {constant(weights)}"] + ([f"%b = {constant(bias)}"] if has_bias else [])
    lines.append(f"%p = nn.conv {', '.join(operands)} strides {list(strides)} pads {list(pads)} dilations {list(dilations)} groups {groups} : "
                 f"({', '.join(types)}) -> {kind(result)}")
    if body == "residual":
        inputs.append(rng.normal(size=result).astype(f32))
        lines.append(f"%y = nn.add %p, %r : ({kind(result)}, {kind(result)}) -> {kind(result)}")
        wanted = wanted + inputs[1]
    elif body:
        lines.append(f"%y = nn.{body} %p : ({kind(result)}) -> {kind(result)}")
        wanted = getattr(reference, body)(wanted)
    residual = f', %r: {kind(result)} {{nn.name = "r"}}' if body == "residual" else ""
    (folder / "backend.mlir").write_text(BACKEND)
    (folder / "mapping.mlir").write_text("octet.qconfig_mapping @m {\n  octet.global #octet.qconfig<"
                                         f"activation = #octet.placeholder<dtype = ui8, dynamic = true>, weight = {WEIGHTS[form]}>\n}}\n")
    (folder / "network.mlir").write_text(
        f'func.func @main(%x: {kind(shape)} {{nn.name = "x"}}{residual}) -> ({kind(result)} {{nn.name = "y"}}) {{\n  '
        + "\n  ".join(lines) + f"\n  return {'%y' if body else '%p'} : {kind(result)}\n}}\n")
    options = [folder / "network.mlir", "--name=model", f"--backend={folder / 'backend.mlir'}", f"--qconfig-mapping={folder / 'mapping.mlir'}"]
    return options, np.concatenate([value.ravel() for value in inputs]), np.ascontiguousarray(wanted, f32).ravel().view(np.uint32)


PRODUCTS = [*((make_linear, case) for case in CASES), *((make_convolution, case) for case in CONVOLUTIONS)]


@pytest.mark.parametrize("make, case", PRODUCTS, ids=lambda value: getattr(value, "__name__", str(value)))
def test_product(tool, driver, tmp_path, make, case):  # noqa: F811
    options, given, wanted = make(tmp_path, *case)
    library = tmp_path / "model.so"
    done = tool("octet-compile", *options, "--cpu-level=" + ",".join(LEVELS), "-o", library)
    assert "float [OCT" not in done.stderr
    for level in filter(lambda level: supports(library, level), LEVELS):
        for threads in (1, 2):
            got = run_library(driver, library, level, threads, tmp_path, given)
            assert np.array_equal(got, wanted), f"{level}, {threads} threads: {np.count_nonzero(got != wanted)} of {wanted.size} differ"


def make_onnx_case(folder, shape, outputs, magnitude=1):
    """The same of a layer as ONNX's files have it: sums times both scales, a bias, GELU."""
    rng = np.random.default_rng(outputs)
    weights, bias = rng.integers(-128, 128, (outputs, shape[-1])).astype(np.int8), (rng.normal(size=outputs) * magnitude).astype(f32)
    x = ((rng.normal(size=shape) + 1) * magnitude).astype(f32)
    x.ravel()[-1] = np.nan
    result = (*shape[:-1], outputs)
    kinds = {"q": f"tensor<{'x'.join(map(str, shape))}x!quant.uniform<u8:f32, 1.0>>", "w": f"tensor<{outputs}x{shape[-1]}x!quant.uniform<i8:f32, 1.0>>"}
    (folder / "network.mlir").write_text(f"""
func.func @main(%x: {kind(shape)} {{nn.name = "x"}}) -> ({kind(result)} {{nn.name = "y"}}) {{
  %s, %z = octet.choose_qparams %x range [0, 255] onnx : ({kind(shape)}) -> (tensor<f32>, tensor<i32>)
  %q = octet.quantize_dynamic %x by %s, %z : ({kind(shape)}, tensor<f32>, tensor<i32>) -> {kinds["q"]}
  %one = nn.constant dense<1.0> : tensor<f32>
  %c = nn.constant dense<0.0123> : tensor<f32>
  %b = {constant(bias)}
  %w = nn.constant dense<"0x{weights.tobytes().hex().upper()}"> : tensor<{outputs}x{shape[-1]}xi8> -> {kinds["w"]}
  %d = octet.dequantize_dynamic %q by %one, %z : ({kinds["q"]}, tensor<f32>, tensor<i32>) -> {kind(shape)}
  %f = octet.dequantize %w : ({kinds["w"]}) -> {kind(weights.shape)}
  %a = nn.linear %d, %f : ({kind(shape)}, {kind(weights.shape)}) -> {kind(result)}
  %t = nn.mul %s, %c : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %m = nn.mul %a, %t : ({kind(result)}, tensor<f32>) -> {kind(result)}
  %r = nn.add %m, %b : ({kind(result)}, {kind(bias.shape)}) -> {kind(result)}
  %y = nn.relu %r : ({kind(result)}) -> {kind(result)}
  return %y : {kind(result)}
}}
""")
    wanted = reference.relu(reference.linear_dynamic(x, weights, f32(0.0123), bias, onnx=True))
    assert len(np.unique(wanted)) > 3
    return [folder / "network.mlir", "--name=model", "--as-in-file"], x.ravel(), np.ascontiguousarray(wanted, f32).ravel().view(np.uint32)


# The last two have scales that are divided by: their reciprocals would not do.
@pytest.mark.parametrize("shape, outputs, magnitude", [((1, 64), 48, 1), ((7, 30), 20, 1), ((2, 3, 100), 33, 1), ((3, 64), 20, 1e-30), ((3, 64), 20, 1e31)])
def test_linear_layer_of_onnx(tool, driver, tmp_path, shape, outputs, magnitude):  # noqa: F811
    options, given, wanted = make_onnx_case(tmp_path, shape, outputs, magnitude)
    library = tmp_path / "model.so"
    done = tool("octet-compile", *options, "--cpu-level=" + ",".join(LEVELS), "-o", library)
    assert "float [OCT" not in done.stderr
    for level in filter(lambda level: supports(library, level), LEVELS):
        assert np.array_equal(run_library(driver, library, level, 2, tmp_path, given), wanted), level


@pytest.mark.parametrize("make, case", PRODUCTS, ids=lambda value: getattr(value, "__name__", str(value)))
def test_on_aarch64(tool, tmp_path, make, case):
    if reason := exactness.why_no_arm():
        pytest.skip(reason)
    options, given, wanted = make(tmp_path, *case)
    library, arm = tmp_path / "model.so", exactness.build_arm_driver(tmp_path)
    tool("octet-compile", *options, f"--target={exactness.ARM_TARGET}", "--cpu-level=" + ",".join(level for level, _ in exactness.ARM_RUNS), "-o", library)
    for level, cpu in exactness.ARM_RUNS:
        got, = exactness.run_arm(arm, library, level, cpu, 1, ["x"], [{"x": given}], [wanted], tmp_path)
        assert got == exactness.as_bytes([wanted]), level
