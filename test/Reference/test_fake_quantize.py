# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""[N.fake_quantize] and the decomposed form: recorded results of PyTorch, NumPy, the compiler, and upstream arithmetic when it runs."""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest
from octet_reference import QParams, dequantize, fake_quantize

f32 = np.float32
LLVM = "/usr/lib/llvm-22"


def generate(spec):
    """The tensor that a record describes by its seed."""
    state, values = spec["seed"], []
    for _ in range(int(np.prod(spec["shape"]))):
        state = (1664525 * state + 1013904223) % 2**32
        values.append(spec["lo"] + (spec["hi"] - spec["lo"]) * ((state >> 8) / 2**24))
    return np.array(values, np.float64).astype(f32).reshape(spec["shape"])


@pytest.fixture(params=["golden", "golden-2.13"])
def records(request, shared_spec):
    """(input, parameters, rounded values, where a gradient passes or None) of each record."""
    folder = shared_spec / request.param
    inputs = json.loads((folder / "observers.json").read_text())["inputs"]
    recorded = json.loads((folder / "qdq.json").read_text())
    found = []
    for record in recorded["fake_quantize"]:
        params = QParams(record["scale"], record["zero_point"], record["quant_min"], record["quant_max"])
        found.append((generate(inputs[record["input"]]), params, f32(record["y"]), np.array(record["grad_mask"], bool)))
    for record in recorded["ties_scale1"]:
        x, y = f32([float(v) for v in record["x"]]), f32([float(v) for v in record["fake"]])
        known = x != np.inf if request.param == "golden" else x == x  # 1.13 takes infinity for the least integer
        found.append((x, QParams(1.0, record["zero_point"]), np.where(known | np.isnan(x), y, np.nan), None))
    return found


def quantized_type(params, signed=None):
    """The text of a quantized type."""
    signed = params.low < 0 if signed is None else signed
    whole = (-128, 127) if signed else (0, 255)
    bounds = "" if (params.low, params.high) == whole else f"<{params.low}:{params.high}>"
    scales = [f"{float(s)!r}:{z}" if "e" not in repr(float(s)) else f"{float(s):.60f}:{z}"
              for s, z in zip(params.scale, params.zero_point)]
    values = scales[0] if params.axis is None else "{" + ", ".join(scales) + "}"
    axis = "" if params.axis is None else f":{params.axis}"
    return f"!quant.uniform<{'i' if signed else 'u'}8{bounds}:f32{axis}, {values}>"


def tensor(shape, element="f32"):
    return f"tensor<{'x'.join(map(str, shape))}x{element}>"


def constant(array):
    return f'dense<"0x{array.astype("<f4").tobytes().hex().upper()}"> : {tensor(array.shape)}'


def test_reference_is_pytorchs(records):
    assert len(records) == 7
    for x, params, wanted, mask in records:
        got, passes = fake_quantize(x, params)
        known = ~np.isnan(wanted)
        np.testing.assert_array_equal(got[known], wanted[known])
        if mask is not None:
            np.testing.assert_array_equal(passes, mask)


def test_ends():
    params = QParams([0.5, 2.0], [3, -1], low=-4, high=5, axis=1)
    x = f32([[np.nan, np.nan], [np.inf, -np.inf], [1e38, -1e38], [0.25, 1], [0.75, 3]])
    got, passes = fake_quantize(x, params)
    np.testing.assert_array_equal(got, f32([[-3.5, -6], [1, -6], [1, -6], [0, 0], [1, 4]]))
    np.testing.assert_array_equal(passes, [[0, 0], [0, 0], [0, 0], [1, 1], [1, 1]])


def fold(tool, folder, cases):
    """What the compiler makes of the fake-quantize of each constant."""
    body = "".join(f'  %c{i} = nn.constant {constant(x)}\n  %y{i} = octet.fake_quantize %c{i} as {quantized_type(params)} : {tensor(x.shape)}\n'
                   for i, (x, params) in enumerate(cases))
    results = ", ".join(f"%y{i}" for i in range(len(cases)))
    types = ", ".join(tensor(x.shape) for x, _ in cases)
    (folder / "fold.mlir").write_text(f"func.func @main() -> ({types}) {{\n{body}  return {results} : {types}\n}}\n")
    text = tool("octet-opt", folder / "fold.mlir", "--octet-expand-fake-quantize", "--octet-fold-constants").stdout
    blobs = dict(re.findall(r'([\w.]+): "0x[0-9A-F]{8}([0-9A-F]*)"', text))
    names = re.findall(r"nn\.constant dense_resource<([\w.]+)>", text)
    return [np.frombuffer(bytes.fromhex(blobs[name]), "<f4").reshape(x.shape) for name, (x, _) in zip(names, cases)]


def test_compiler_is_pytorchs(records, tool, tmp_path):
    got = fold(tool, tmp_path, [(x, params) for x, params, _, _ in records])
    assert len(got) == 7
    for value, (_, _, wanted, _) in zip(got, records):
        known = ~np.isnan(wanted)
        np.testing.assert_array_equal(value[known], wanted[known])


CASES = [
    (QParams(0.1, 7), False), (QParams(0.013, -3, low=-128, high=127), True), (QParams(0.3, 5, low=0, high=15), False),
    (QParams([0.1, 0.02, 0.7], [0, 0, 0], low=-127, high=127, axis=1), True), (QParams([0.1, 0.02, 0.7], [3, 255, 90], axis=1), False)]


def make_inputs(params):
    random = np.random.default_rng(1)
    x = (random.standard_normal((4, 3, 5)) * 9 * params.along(params.scale, 3) * 10).astype(f32)
    x[0, 0, :4] = [np.nan, np.inf, -np.inf, 3e38]
    ties = (random.integers(-300, 300, (3, 5)) + 0.5).astype(f32)
    x[1] = ties * (params.scale[:, None] if params.axis is not None else params.scale[0])
    return x


@pytest.mark.parametrize("params, signed", CASES)
def test_compiler_is_numpys(params, signed, tool, tmp_path):
    x = make_inputs(params)
    np.testing.assert_array_equal(fold(tool, tmp_path, [(x, params)])[0], fake_quantize(x, params)[0])


# One-shot bufferization of constants, loops, machine code: upstream's passes alone.
LOWERING = ("--convert-elementwise-to-linalg", "--one-shot-bufferize=bufferize-function-boundaries", "--convert-linalg-to-loops",
            "--convert-scf-to-cf", "--expand-strided-metadata", "--lower-affine", "--convert-math-to-llvm", "--convert-math-to-libm",
            "--convert-arith-to-llvm", "--finalize-memref-to-llvm", "--convert-func-to-llvm", "--convert-cf-to-llvm",
            "--reconcile-unrealized-casts")
RUN = """
func.func private @printMemrefF32(tensor<*xf32>)
func.func @main() {{
  %c = arith.constant {constant}
  %y = call @model(%c) : ({type}) -> {type}
  %u = tensor.cast %y : {type} to tensor<*xf32>
  call @printMemrefF32(%u) : (tensor<*xf32>) -> ()
  return
}}
"""


def run_upstream(tool, folder, body, x):
    """The numbers of `%y`, computed from `%x` by octet-decompose, a stock mlir-opt and mlir-runner."""
    opt, runner = (f"{LLVM}/bin/mlir-opt", f"{LLVM}/bin/mlir-runner")
    if not (shutil.which(opt) and shutil.which(runner)):
        pytest.skip("mlir-opt or mlir-runner is absent")
    kind = tensor(x.shape)
    # Bits of f32 as integers, which are printed exactly.
    model = f"func.func @model(%x: {kind}) -> {kind} {{\n{body}\n  return %y : {kind}\n}}\n"
    (folder / "model.mlir").write_text(model + RUN.format(constant=constant(x), type=kind))
    decomposed = tool("octet-opt", folder / "model.mlir", "--octet-decompose").stdout
    assert "octet." not in decomposed and "quant" not in decomposed
    lowered = subprocess.run([opt, *LOWERING], input=decomposed, capture_output=True, text=True, check=True).stdout
    libraries = [f"--shared-libs={LLVM}/lib/lib{name}.so" for name in ("mlir_runner_utils", "mlir_c_runner_utils")]
    printed = subprocess.run([runner, "-e", "main", "--entry-point-result=void", *libraries], input=lowered, capture_output=True, text=True,
                             check=True).stdout
    numbers = re.findall(r"-?(?:\d[\d.e+-]*|nan|inf)", printed.split("data =")[1])
    return np.array([float(number) for number in numbers], f32).reshape(x.shape)


@pytest.mark.parametrize("params, signed", CASES)
def test_decomposed_form_runs_upstream(params, signed, tool, tmp_path):
    """Six digits are printed: enough to tell neighbouring steps apart."""
    x = make_inputs(params)
    kind, quantized = tensor(x.shape), quantized_type(params, signed)
    stored = tensor(x.shape, quantized)
    bodies = [f"  %y = octet.fake_quantize %x as {quantized} : {kind}",
              f"  %q = octet.quantize %x : ({kind}) -> {stored}\n  %y = octet.dequantize %q : ({stored}) -> {kind}"]
    wanted, _ = fake_quantize(x, params)
    for body in bodies:
        got = run_upstream(tool, tmp_path, body, x)
        steps = np.rint(got / params.along(params.scale, 3)).astype(int) + params.along(params.zero_point, 3)
        np.testing.assert_array_equal(dequantize(steps, params), wanted)
