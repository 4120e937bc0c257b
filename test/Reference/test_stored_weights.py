# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights in few bits: what compiled look-ups and linear layers compute, on every level of this machine, is the law's."""

from dataclasses import dataclass

import numpy as np
import octet_reference as reference
import pytest
from test_compiled import LEVELS, driver, run_library, supports  # noqa: F401

f32 = np.float32
RANGES = {"ui8": (0, 255), "si8": (-128, 127), "ui4": (0, 15), "si4": (-8, 7), "ui2": (0, 3)}


@dataclass
class Matrix:
    """Random weights with a scale and a zero point for each block."""

    kind: str
    shape: tuple
    block: tuple
    has_zero_points: bool = True
    seed: int = 0

    def __post_init__(self):
        rng = np.random.default_rng(self.seed)
        low, high = RANGES[self.kind]
        self.blocks = tuple(-(-size // block) for size, block in zip(self.shape, self.block))
        self.stored = rng.integers(low, high + 1, self.shape)
        self.scales = rng.uniform(0.001, 0.1, self.blocks).astype(f32)
        zeros = rng.uniform(low, high, self.blocks).astype(f32)
        self.zeros = zeros if self.has_zero_points else np.zeros(self.blocks, f32)

    @property
    def real(self):
        return reference.dequantize_weights(self.stored, self.scales, self.zeros, self.block)

    def text(self, name):
        sizes, blocks = ("x".join(map(str, shape)) for shape in (self.shape, self.blocks))
        zeros = f" zero_points %{name}_z" if self.has_zero_points else ""
        parameters = f"tensor<{blocks}xf32>" + (f", tensor<{blocks}xf32>" if zeros else "")
        lines = [f"%{name}_q = nn.constant dense<{self.stored.tolist()}> : tensor<{sizes}x{self.kind}>",
                 f"%{name}_s = {real_constant(self.scales)}", f"%{name}_z = {real_constant(self.zeros)}",
                 f"%{name} = octet.dequantize_weights %{name}_q scales %{name}_s{zeros} block {list(self.block)} "
                 f": (tensor<{sizes}x{self.kind}>, {parameters}) -> tensor<{sizes}xf32>"]
        return "\n".join(lines)


@dataclass
class Halves:
    """Weights as float16 or bfloat16."""

    kind: str
    shape: tuple

    def __post_init__(self):
        single = np.random.default_rng(1).normal(size=self.shape).astype(f32)
        self.bits = single.astype(np.float16).view(np.uint16) if self.kind == "f16" else (single.view(np.uint32) >> 16).astype(np.uint16)

    @property
    def real(self):
        return self.bits.view(np.float16).astype(f32) if self.kind == "f16" else (self.bits.astype(np.uint32) << 16).view(f32)

    def text(self, name):
        kind = f"tensor<{'x'.join(map(str, self.shape))}x{self.kind}>"
        return (f'%{name}_h = nn.constant dense<"0x{self.bits.astype("<u2").tobytes().hex().upper()}"> : {kind}\n'
                f"%{name} = octet.dequantize_weights %{name}_h : ({kind}) -> {kind.replace(self.kind, 'f32')}")


def real_constant(array):
    kind = f"tensor<{'x'.join(map(str, array.shape))}xf32>"
    return f'nn.constant dense<"0x{array.astype("<f4").tobytes().hex().upper()}"> : {kind}'


def run_levels(tool, driver, folder, text, inputs, wanted):
    """`text` on all levels and with several threads gives `wanted`, bit for bit."""
    (folder / "model.mlir").write_text(text)
    library = folder / "model.so"
    tool("octet-compile", folder / "model.mlir", "--name=model", "--cpu-level=" + ",".join(LEVELS), "-o", library)
    for level in filter(lambda level: supports(library, level), LEVELS):
        for threads in (1, 2):
            got = run_library(driver, library, level, threads, folder, inputs)
            differing = np.count_nonzero(got != wanted.astype(f32).ravel().view(np.uint32))
            assert differing == 0, f"{level}, {threads} threads: {differing} of {wanted.size} differ"
    return library


TABLES = [Matrix("ui8", (9, 37), (1, 37)), Matrix("ui4", (9, 37), (1, 37)), Matrix("si8", (9, 16), (1, 16), False),
          Matrix("si4", (9, 33), (1, 33)), Matrix("ui2", (9, 48), (3, 16)), Matrix("ui4", (9, 40), (1, 16)),
          Matrix("ui4", (9, 40), (1, 5)), Halves("f16", (9, 37)), Halves("bf16", (9, 37))]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: f"{table.kind}-{table.shape[1]}")
def test_rows_of_a_table(tool, driver, tmp_path, table):
    columns = table.shape[1]
    text = f"""func.func @main(%x: tensor<2x5xf32>) -> tensor<2x5x{columns}xf32> {{
{table.text("w")}
%i = nn.cast %x : (tensor<2x5xf32>) -> tensor<2x5xi64>
%y = nn.gather %w, %i axis 0 : (tensor<9x{columns}xf32>, tensor<2x5xi64>) -> tensor<2x5x{columns}xf32>
return %y : tensor<2x5x{columns}xf32>
}}"""
    indices = np.array([[0, 8, 3, -1, 4], [7, 7, 1, 2, -9]])
    run_levels(tool, driver, tmp_path, text, indices.astype(f32), table.real[indices])


@pytest.mark.parametrize("table", [Matrix("ui8", (9, 8), (1, 8)), Matrix("si4", (9, 8), (1, 8), False), Halves("f16", (9, 8))],
                         ids=lambda table: table.kind)
def test_onnx_files_compute_the_same(tool, tmp_path, table):
    (tmp_path / "model.mlir").write_text(f"""func.func @main(%i: tensor<4xi64> {{nn.name = "i"}}) -> (tensor<4x8xf32> {{nn.name = "y"}}) {{
{table.text("w").replace(" block [1, 8]", "")}
%y = nn.gather %w, %i axis 0 : (tensor<9x8xf32>, tensor<4xi64>) -> tensor<4x8xf32>
return %y : tensor<4x8xf32>
}}""")
    tool("octet-translate", "--export-onnx", tmp_path / "model.mlir", "-o", tmp_path / "model.onnx")
    indices = np.array([0, 8, 3, 3])
    session = pytest.importorskip("onnxruntime").InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    np.testing.assert_array_equal(session.run(None, {"i": indices})[0], table.real[indices])


LINEARS = [Matrix("ui4", (40, 64), (1, 16)), Matrix("ui8", (48, 40), (1, 16)), Matrix("ui4", (7, 33), (1, 32)),
           Matrix("si8", (64, 20), (1, 20), False), Matrix("ui2", (16, 32), (1, 16)), Matrix("ui8", (32, 24), (4, 24)),
           Matrix("si8", (64, 530), (1, 530), False), Matrix("ui8", (16, 300), (1, 50)),
           Halves("f16", (24, 19)), Halves("bf16", (32, 16))]


@pytest.mark.parametrize("rows", [1, 3, 17])
@pytest.mark.parametrize("matrix", LINEARS, ids=lambda matrix: f"{matrix.kind}-{matrix.shape[0]}x{matrix.shape[1]}")
def test_linear_layer(tool, driver, tmp_path, matrix, rows):
    outputs, depth = matrix.shape
    bias = np.random.default_rng(2).normal(size=outputs).astype(f32)
    x = np.random.default_rng(3).normal(size=(rows, depth)).astype(f32)
    text = f"""func.func @main(%x: tensor<{rows}x{depth}xf32>) -> tensor<{rows}x{outputs}xf32> {{
{matrix.text("w")}
%b = {real_constant(bias)}
%y = nn.linear %x, %w, %b : (tensor<{rows}x{depth}xf32>, tensor<{outputs}x{depth}xf32>, tensor<{outputs}xf32>) -> tensor<{rows}x{outputs}xf32>
return %y : tensor<{rows}x{outputs}xf32>
}}"""
    run_levels(tool, driver, tmp_path, text, x, reference.products.linear(x, matrix.real, bias))


@pytest.mark.parametrize("kind, most", [("ui8", 0.3), ("ui4", 0.17)])
def test_libraries_hold_the_bits(tool, tmp_path, kind, most):
    """A library is the table in its bits, its scales and zero points, and some code."""
    table = Matrix(kind, (4000, 64), (1, 64))
    text = f"""func.func @main(%x: tensor<3xf32>) -> tensor<3x64xf32> {{
{table.text("w")}
%i = nn.cast %x : (tensor<3xf32>) -> tensor<3xi64>
%y = nn.gather %w, %i axis 0 : (tensor<4000x64xf32>, tensor<3xi64>) -> tensor<3x64xf32>
return %y : tensor<3x64xf32>
}}"""
    (tmp_path / "model.mlir").write_text(text)
    sizes = []
    for name, options in (("stored", []), ("float", ["--float"])):
        tool("octet-compile", tmp_path / "model.mlir", *options, "-o", tmp_path / f"{name}.so")
        sizes.append((tmp_path / f"{name}.so").stat().st_size)
    assert sizes[0] < most * sizes[1]


def test_recorded_parameters():
    """PyTorch's record of a row: a range without zero is not widened."""
    assert reference.float_qparams(f32(0.10081133991479874), f32(0.8855265378952026)) == (f32(0.003077314468100667), f32(-32.759517669677734))
    assert reference.float_qparams(f32(2), f32(2)) == (f32(1), f32(-2))
    rng = np.random.default_rng(0)
    w = rng.normal(size=(5, 9)).astype(f32)
    scale, zero = (np.array(p, f32)[:, None] for p in zip(*(reference.float_qparams(row.min(), row.max()) for row in w)))
    q = reference.quantize_stored(w, scale, zero, 0, 255)
    assert q.min() == 0 and q.max() == 255
    assert np.abs(reference.dequantize_weights(q, scale, zero) - w).max() <= scale.max() * f32(0.5001)
