# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of torch.export: the same rows in ATen's form, origins, structure of results, and what is refused."""
import re
import warnings
from pathlib import Path
from typing import List, NamedTuple

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (pip install torch)")

import torch_compare as compare
import torch_cases
import torch_cases_of_layers
import torch_cases_of_networks
import torch.nn.functional as F
from octet.errors import CompileError
from octet.torch.front.export import make_graph, translate_exported
from torch import nn

GROUPS = {**torch_cases.GROUPS, **torch_cases_of_networks.GROUPS, **torch_cases_of_layers.GROUPS}


def export(module, inputs):
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        return torch.export.export(module.eval(), tuple(compare.copy_of(inputs)))


def on_copies(function):
    """Programs that write their inputs are refused."""
    return function if isinstance(function, nn.Module) else lambda *inputs: function(*(x.clone() if isinstance(x, torch.Tensor) else x for x in inputs))


@pytest.mark.parametrize("group", GROUPS)
def test_rows(group, tmp_path):
    """Every third case, to keep the test short; what PyTorch itself cannot export is not among them."""
    cases = [(f"{name}_{i}".replace(".", "_"), on_copies(function), inputs) for i, (name, function, inputs) in enumerate(GROUPS[group])][::3]
    module = compare.Cases(cases).make()
    with torch.no_grad():
        expected = module(*compare.copy_of(module.inputs))
    names = [name for (name, _, _), result in zip(cases, expected) for _ in compare.leaves(result)]
    found = compare.run_compiled(translate_exported(export(module, module.inputs)), module.inputs, tmp_path)
    differences = [(name, compare.find_difference(result, wanted)) for name, result, wanted in zip(names, found, compare.leaves(expected))]
    assert len(found) == len(names)
    assert {name: difference for name, difference in differences if difference} == {}


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.norm, self.active = nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU(inplace=True)

    def forward(self, x):
        return self.active(self.norm(self.linear(x)))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.block, self.tied = Block(), nn.Linear(8, 8, bias=False)
        self.tied.weight = self.block.linear.weight
        self.register_buffer("shift", torch.randn(8))

    def forward(self, x, scale=None):
        y = self.block(self.block(x))
        y[:, 1] = y[:, 1] + 1
        with torch.no_grad():
            y = self.tied(y) + self.shift
        y = F.gelu(F.linear(y, self.tied.weight)) * torch.arange(8)
        return {"y": y, "pair": (y * 2 if scale is None else y * scale, x.shape[0])}


def find_origins(network):
    """[(op, name, class, index)] of the operators."""
    return re.findall(r'nn\.(\w+).*?origin<"([^"]+)", "([^"]+)", (\d+)', network.text)


def test_names_and_structure(tmp_path):
    module, x = Model(), torch.randn(3, 8)
    network = translate_exported(export(module, [x]))
    assert network.inputs == ["x"]
    assert network.result == {"y": 0, "pair": (1, 3)}
    origins = find_origins(network)
    assert ("linear", "block.linear", "torch.nn.Linear", "0") in origins
    assert any(origin[0] == "linear" and origin[2:] == ("torch.nn.Linear", "1") for origin in origins), "the second call"
    assert ("linear", "tied", "torch.nn.Linear", "0") in origins
    assert any(origin[:1] + origin[2:3] == ("linear", "torch.nn.functional.linear") for origin in origins)
    assert any(origin[:1] + origin[2:3] == ("relu", "torch.nn.ReLU") for origin in origins)
    assert any(origin[2] == "torch.nn.functional.gelu" for origin in origins)
    assert {origin[2] for origin in origins if origin[0] in ("add", "mul")} == {"operator.add", "operator.mul"}
    file, line, text = network.lines["tied"]
    assert (file, text) == (__file__, "y = self.tied(y) + self.shift")
    assert Path(__file__).read_text().split("\n")[line - 1].strip() == text
    with torch.no_grad():
        expected = module(x)
    found = compare.run_compiled(network, [x], tmp_path)
    assert [compare.find_difference(a, b) for a, b in zip(found, compare.leaves(expected))] == [None, None]


class Named(nn.Module):
    """Returns a class of its own, as the models of some packages do."""

    def forward(self, x):
        return Pair(x + 1, [x * 2])


class Pair(NamedTuple):
    first: torch.Tensor
    rest: List[torch.Tensor]


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.active, self.pool, self.linear = nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1), nn.Linear(3, 2)

    def forward(self, x):
        return self.linear(torch.flatten(self.pool(self.active(x * 1)), 1))


def test_decomposed_calls_keep_their_function():
    """Programs with operators in place are decomposed, and flatten is a view there."""
    origins = find_origins(translate_exported(export(Head(), [torch.randn(1, 3, 6, 6)])))
    assert "torch.flatten" in [origin[2] for origin in origins if origin[0] == "reshape"]


def test_results_of_other_classes():
    assert translate_exported(export(Named(), [torch.randn(3)])).result == Pair(0, [1])


def test_the_graph_is_a_module():
    module, x = Model().eval(), torch.randn(3, 8)
    graph = make_graph(export(module, [x]))
    with torch.no_grad():
        found, expected = graph(x), module(x)
    assert torch.equal(found["y"], expected["y"]) and torch.equal(found["pair"][0], expected["pair"][0])


def test_other_inputs(tmp_path):
    module, x, scale = Model(), torch.randn(3, 8), torch.rand(8)
    program = torch.export.export(module.eval(), (torch.randn(3, 8),), {"scale": torch.rand(8)})
    network = translate_exported(program, [x, scale])
    assert network.inputs == ["x", "scale"]
    with torch.no_grad():
        expected = module(x, scale)
    assert [compare.find_difference(a, b) for a, b in zip(compare.run_compiled(network, [x, scale], tmp_path), compare.leaves(expected))] == [None, None]


def test_dynamic_shapes_take_the_examples_size(tmp_path):
    module, x = Model(), torch.randn(3, 8)
    program = torch.export.export(module.eval(), (torch.randn(5, 8),), dynamic_shapes={"x": {0: torch.export.Dim("n", min=2, max=9)}})
    with torch.no_grad():
        expected = module(x)
    found = compare.run_compiled(translate_exported(program, [x]), [x], tmp_path)
    assert [compare.find_difference(a, b) for a, b in zip(found, compare.leaves(expected))] == [None, None]


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x):
        self.count.add_(1)
        return x * self.count


class Writing(nn.Module):
    def forward(self, x):
        return x.add_(1) * 2  # the caller's tensor


class Branching(nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))


class Faulty(nn.Module):
    def forward(self, x):
        y = torch.special.gammaln(x)
        return y + torch.randn(8)


@pytest.mark.parametrize("module, text", [
    (Counting(), "the program changes count of the module; call eval() first, or return the new value instead"),
    (Writing(), "the program changes its input x; change a copy (x.clone()), or use the operator that returns a new tensor\n    return x.add_(1) * 2"),
    (Branching(), "cond: control flow that depends on tensors is not supported"),
    (Faulty(), "y = torch.special.gammaln(x)"),
])
def test_refusals(module, text):
    with pytest.raises(CompileError) as error:
        translate_exported(export(module, [torch.randn(3, 8)]))
    assert text in str(error.value)
    assert isinstance(module, Counting) or f"{__file__}:" in str(error.value)
