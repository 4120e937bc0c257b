# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of half, bfloat16 and double: computed in f32, taken and returned in their own type."""
import pickle

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (pip install torch)")

from octet.torch._compilation import Policy
from octet.torch._modules import Source, make_run
from octet.torch.front import trace
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 6)

    def forward(self, x, ids):
        y = torch.relu(self.linear(x))
        return y, ids + 1, y.float().sum(-1), y.argmax(-1)


@pytest.mark.parametrize("dtype", (torch.float16, torch.bfloat16, torch.float64))
def test_types(dtype):
    torch.manual_seed(4)
    module = Model().eval().to(dtype)
    inputs = [torch.randn(3, 8).to(dtype), torch.arange(3)]
    source = Source(trace.trace(module, trace.Tracer()), Policy(precision="float"))
    run = make_run(*source.convert(inputs))
    result = run(inputs)
    wanted = module.float()(inputs[0].float(), inputs[1])  # the weights are those that the type holds
    assert [x.dtype for x in result] == [dtype, torch.int64, torch.float32, torch.int64]
    # Rounded once to the type; double to f32's accuracy.
    assert torch.allclose(result[0].float(), wanted[0].to(dtype).float(), rtol=2 * torch.finfo(dtype).eps, atol=1e-6)
    assert torch.equal(result[1], wanted[1]) and torch.equal(result[3], wanted[3])
    source.record(inputs)
    assert [array.dtype.name for sample in next(iter(source.samples.values())) for array in sample.values()] == ["float32", "int64"]
    again = pickle.loads(pickle.dumps(run))(inputs)
    assert all(torch.equal(a, b) for a, b in zip(again, result))
