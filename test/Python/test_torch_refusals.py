# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What has no translation is refused, all at once, each with the user's line and the remedy."""
import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (pip install torch)")

import torch_compare as compare
import torch.nn.functional as F
from octet.errors import CompileError
from octet.torch.front import trace, translate
from torch import nn

X, P = torch.randn(2, 6, 5), torch.tensor([0, 3, 1])


def _view_changed(x):
    y = x * 1
    part = y[:, 1]
    part.add_(2)
    return y + 1


REFUSED = {
    "dropout": (lambda x: F.dropout(x), (X,), r"random elements; call eval\(\) first"),
    "dropout_module": (nn.Dropout(0.5).train(), (X,), r"random elements; call eval\(\) first"),
    "batch_norm": (nn.BatchNorm1d(6).train(), (X,), r"the statistics of the batch; call eval\(\) first"),
    "mask": (lambda x: x[x > 0], (X,), "the size of the result depends on data; multiply by the mask or use torch.where"),
    "repeats": (lambda x, p: x.repeat_interleave(p, dim=1), (X[:, :3], P), "repeats that are computed; the size of the result depends on them"),
    "one_hot": (lambda p: F.one_hot(p), (P,), "num_classes that is not given"),
    "item": (lambda x: x * x.sum().item(), (X,), "a number that the network computes steers the program; keep it a tensor"),
    "view": (_view_changed, (X,), "whose memory add_ has changed in place through another view; use the operator that returns a new tensor"),
    "filter": (lambda x, w: F.conv_transpose1d(x, w), (X, torch.randn(6, 2, 3)), "a filter that is no constant"),
    "complex": (lambda x: torch.view_as_complex(x), (torch.randn(3, 2),), "the graph returns complex numbers; return torch.view_as_real of them"),
    "complex_part": (lambda x: torch.view_as_complex(x).exp()[0].abs() + 1, (torch.randn(3, 2),), "complex numbers"),
    "complex_function": (lambda x: torch.view_as_real(torch.exp(torch.view_as_complex(x))), (torch.randn(3, 2),), "complex numbers"),
    "projected": (nn.LSTM(5, 6, proj_size=3), (X,), "proj_size"),
    "random": (lambda x: x + torch.randn_like(x), (X,), "is not supported"),
    "adaptive": (lambda x: F.adaptive_max_pool1d(x, 2, return_indices=True), (X,), "a result is read that is not computed"),
    "bags": (lambda p, w, o: F.embedding_bag(p, w, o), (P, torch.randn(4, 2), torch.tensor([0, 1])), "offsets that are computed; give a matrix of positions"),
    "interpolation": (lambda x: F.lp_pool1d(x, 3, 2), (X,), "norm_type=3"),
    "lstm_training": (nn.LSTM(5, 3, 2, dropout=0.5).train(), (X,), r"dropout in training; call eval\(\) first"),
}


def refuse(module, inputs):
    with pytest.raises(CompileError) as error:
        translate(trace.trace(module, trace.Tracer()), compare.copy_of(inputs))
    return str(error.value)


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    function, inputs, expected = REFUSED[name]
    training = isinstance(function, nn.Module) and function.training
    module = compare.Cases([(name, function, inputs)]).make()
    if training:
        function.train()
    assert re.search(expected, refuse(module, inputs))


class Faults(nn.Module):
    def forward(self, x):
        y = torch.special.gammaln(x.abs())  # the first line of the message
        return y + F.dropout(x)


def test_all_obstacles_at_once():
    message = refuse(Faults().eval(), (X,))
    line = next(i for i, text in enumerate(Path(__file__).read_text().split("\n"), 1) if "the first line of" in text)
    assert message.startswith("2 operators are not supported")
    assert f"{__file__}:{line}: " in message
    assert "y = torch.special.gammaln(x.abs())" in message
    assert "random elements" in message
