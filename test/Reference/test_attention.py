# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention of quantized values, which is one step where its operators are read by one another only."""

import numpy as np
import pytest
from random_networks import quantized_type, tensor
from test_compiled import check, driver  # noqa: F401


class Attention:
    """The text of softmax(q . k) . v as octet-prepare-attention and octet-convert write it; q is the input x."""

    def __init__(self, matrices, rows, depth, columns, width, zeros=(131, 120, 140), weight=(1 / 255, 0)):
        self.lines, self.count = [], 0
        self.input_shape = (*matrices, rows, depth)
        self.scores_shape, self.values_shape = (*matrices, rows, columns), (*matrices, rows, width)
        self.one = self.emit(f"nn.reshape {self.first()} : (tensor<1x1xf32>)", (1,))
        q = self.quantize("%x", self.input_shape, 0.02, zeros[0])
        k, v = (self.quantize(self.operand(shape, seed), shape, 0.015, zero)
                for seed, shape, zero in ((1, (*matrices, depth, columns), zeros[1]), (2, (*matrices, columns, width), zeros[2])))
        self.scores = self.emit(f"nn.matmul {q}, {k} : ({tensor(self.input_shape)}, {tensor((*matrices, depth, columns))})", self.scores_shape)
        self.v, self.weight, self.matrices = v, weight, matrices

    def emit(self, text, shape, kind="f32"):
        self.count += 1
        self.lines.append(f"%v{self.count} = {text} -> {tensor(shape, kind)}")
        return f"%v{self.count}"

    def first(self):
        size = int(np.prod(self.input_shape))
        row = self.emit(f"nn.reshape %x : ({tensor(self.input_shape)})", (1, size))
        return self.emit(f"nn.slice {row} starts [0, 0] sizes [1, 1] steps [1, 1] : ({tensor((1, size))})", (1, 1))

    def constant(self, shape, seed):
        values = np.random.default_rng(seed).normal(size=int(np.prod(shape))).astype(np.float32)
        self.count += 1
        self.lines.append(f"%v{self.count} = nn.constant dense<{values.tolist()}> : {tensor(values.shape)}")
        return self.emit(f"nn.reshape %v{self.count} : ({tensor(values.shape)})", shape)

    def mask(self, hidden):
        """Zeros, and minus infinity where `hidden`."""
        values = np.where(hidden, np.float32(-np.inf), np.float32(0)).astype(np.float32)
        numbers = ", ".join(f"0x{bits:08X}" for bits in values.reshape(-1).view(np.uint32))
        self.lines.append(f"%mask = nn.constant dense<[{numbers}]> : {tensor((values.size,))}")
        return self.emit(f"nn.reshape %mask : ({tensor((values.size,))})", values.shape)

    def operand(self, shape, seed):
        """It depends on the input, too: a constant would make the product a linear layer."""
        return self.emit(f"nn.add {self.constant(shape, seed)}, {self.one} : ({tensor(shape)}, tensor<1xf32>)", shape)

    def quantize(self, name, shape, scale, zero):
        kind = quantized_type(scale, zero)
        q = self.emit(f"octet.quantize {name} : ({tensor(shape)})", shape, kind)
        return self.emit(f"octet.dequantize {q} : ({tensor(shape, kind)})", shape)

    def zero_nan(self, value):
        self.lines.append("%zero = nn.constant dense<0.0> : tensor<f32>")
        shape = tensor(self.values_shape)
        is_number = self.emit(f"nn.compare equal {value}, {value} : ({shape}, {shape})", self.values_shape, "i1")
        return self.emit(f"nn.select {is_number}, {value}, %zero : ({tensor(self.values_shape, 'i1')}, {shape}, tensor<f32>)", self.values_shape)

    def finish(self, scores, factor=None, result=None, zeroed=False):
        """The softmax of `scores`, times v; the differences may have a factor; the result may be quantized, and its NaN be zeros."""
        shape, column = self.scores_shape, (*self.scores_shape[:-1], 1)
        axis = len(shape) - 1
        largest = self.emit(f"nn.reduce_max {scores} axes [{axis}] keep_dims : ({tensor(shape)})", column)
        x = self.emit(f"nn.sub {scores}, {largest} : ({tensor(shape)}, {tensor(column)})", shape)
        if factor:
            self.lines.append(f"%factor = nn.constant dense<{factor}> : tensor<1xf32>")
            x = self.emit(f"nn.mul {x}, %factor : ({tensor(shape)}, tensor<1xf32>)", shape)
        e = self.quantize(self.emit(f"nn.exp {x} : ({tensor(shape)})", shape), shape, *self.weight)
        v_shape = (*self.matrices, shape[-1], self.values_shape[-1])
        product = self.emit(f"nn.matmul {e}, {self.v} : ({tensor(shape)}, {tensor(v_shape)})", self.values_shape)
        total = self.emit(f"nn.reduce_sum {e} axes [{axis}] keep_dims : ({tensor(shape)})", column)
        y = self.emit(f"nn.div {product}, {total} : ({tensor(self.values_shape)}, {tensor(column)})", self.values_shape)
        if zeroed:
            y = self.zero_nan(y)
        if result:
            y = self.quantize(y, self.values_shape, *result)
        body, shape = "\n  ".join(self.lines), tensor(self.values_shape)
        return (f'func.func @main(%x: {tensor(self.input_shape)} {{nn.name = "x"}}) -> ({shape} {{nn.name = "y"}}) {{\n'
                f"  {body}\n  return {y} : {shape}\n}}\n")


def count_steps(tool, folder):
    """Attentions among the steps of the network that was compiled last."""
    tool("octet-compile", folder / "model.mlir", "--name=model", "--stop-after=layout", "-o", folder / "layout.mlirbc")
    return (folder / "layout.mlir").read_text().count("tensor.empty()")


@pytest.mark.parametrize("result", [None, (0.004, 117)])
@pytest.mark.parametrize("matrices, rows, depth, columns, width", [
    ((), 5, 8, 16, 16), ((2,), 7, 9, 37, 20), ((1, 3), 20, 64, 99, 64), ((2, 1), 33, 5, 48, 17), ((), 4, 70, 130, 33), ((2,), 9, 16, 1500, 32)])
def test_shapes(tool, driver, tmp_path, matrices, rows, depth, columns, width, result):  # noqa: F811
    """Rows and columns that fill no tile, vector or quad; rows so long that few of them fit on the stack."""
    attention = Attention(matrices, rows, depth, columns, width)
    check(tool, driver, tmp_path, attention.finish(attention.scores, result=result), attention.input_shape)
    assert count_steps(tool, tmp_path) == 1


@pytest.mark.parametrize("zeros, weight", [((0, 255, 128), (1 / 255, 0)), ((255, 0, 0), (0.003, 3)), ((128, 128, 255), (1 / 64, 128)),
                                           ((3, 200, 77), (1e-30, 0))])
def test_parameters(tool, driver, tmp_path, zeros, weight):  # noqa: F811
    """Zero points at both ends; weights that saturate, that have a zero point, whose scale has no reciprocal."""
    attention = Attention((2,), 11, 24, 50, 24, zeros, weight)
    check(tool, driver, tmp_path, attention.finish(attention.scores, factor=0.125), attention.input_shape)
    assert count_steps(tool, tmp_path) == 1


@pytest.mark.parametrize("mask", [(50,), (11, 50), (2, 1, 50), (2, 11, 50), (1,)])
def test_masks(tool, driver, tmp_path, mask):  # noqa: F811
    """What is added to the scores and varies along any of their dimensions, and a factor."""
    attention = Attention((2,), 11, 24, 50, 24)
    shape = tensor(attention.scores_shape)
    masked = attention.emit(f"nn.add {attention.scores}, {attention.constant(mask, 3)} : ({shape}, {tensor(mask)})", attention.scores_shape)
    scaled = attention.emit(f"nn.mul {masked}, {attention.constant((1,), 4)} : ({shape}, tensor<1xf32>)", attention.scores_shape)
    check(tool, driver, tmp_path, attention.finish(scaled), attention.input_shape)
    assert count_steps(tool, tmp_path) == 1


@pytest.mark.parametrize("result", [None, (0.004, 117)])
@pytest.mark.parametrize("rows, columns, width", [(11, 50, 24), (4, 16, 16), (7, 37, 20)])
def test_masked_altogether(tool, driver, tmp_path, rows, columns, width, result):  # noqa: F811
    """Rows without a number, whose quotients are NaN, and rows of which a part is masked."""
    attention = Attention((2,), rows, 24, columns, width)
    hidden = np.random.default_rng(5).random((rows, columns)) < 0.4
    hidden[[0, rows // 2]], hidden[1] = True, False
    shape = tensor(attention.scores_shape)
    masked = attention.emit(f"nn.add {attention.scores}, {attention.mask(hidden)} : ({shape}, {tensor(hidden.shape)})", attention.scores_shape)
    check(tool, driver, tmp_path, attention.finish(masked, result=result, zeroed=True), attention.input_shape)
    assert count_steps(tool, tmp_path) == 1
    step = (tmp_path / "layout.mlir").read_text().partition("tensor.empty()")[2].partition("octet.yield")[0]
    assert "nn.select" in step


@pytest.mark.parametrize("matrices, rows, depth, columns, width", [((2,), 7, 9, 15, 20), ((), 3, 8, 16, 16), ((), 6, 8, 16, 15), ((), 4, 4, 4000, 16)])
def test_left_alone(tool, driver, tmp_path, matrices, rows, depth, columns, width):  # noqa: F811
    """Few rows or columns, and rows of which the stack holds too few, stay steps of their own."""
    attention = Attention(matrices, rows, depth, columns, width)
    check(tool, driver, tmp_path, attention.finish(attention.scores), attention.input_shape)
    assert count_steps(tool, tmp_path) == 0
