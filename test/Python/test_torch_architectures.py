# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A few of the architectures; `python test/Python/torch_architectures.py` compares all, `torch_lowered.py` what is int8."""
import importlib.util
import warnings

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed (pip install torch)")

import torch_architectures as architectures
import torch_lowered as lowered
from octet.report import Verdict

#: The networks of the check, with the package that each needs besides PyTorch.
PACKAGES = {"unet": None, "lstm_tagger": None, "gru_denoiser": None, "resnet18": "torchvision", "mobilenet_v3_small": "torchvision", "bert_tiny": "transformers"}


def skip_without(*packages):
    for package in packages:
        if package and not importlib.util.find_spec(package):
            pytest.skip(f"{package} is not installed")


@pytest.mark.parametrize("way", ("fx", "export"))
@pytest.mark.parametrize("name", PACKAGES)
def test_architectures(name, way, tmp_path):
    skip_without(PACKAGES[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module, inputs = architectures.build(name)
        if (name, way) in architectures.NOT_TRACED:
            pytest.skip("FX does not trace it")
        network = architectures.make_network(module, inputs, way)
    assert architectures.measure(module, inputs, network, tmp_path) <= 1e-4  # the bar: the float program is PyTorch's


@pytest.mark.parametrize("way", ("fx", "export"))
@pytest.mark.parametrize("name", PACKAGES)
def test_layers_that_pytorch_lowers_are_lowered(name, way):
    if (name, way) in architectures.NOT_TRACED:
        pytest.skip("FX does not trace it")
    skip_without(PACKAGES[name], "torchao" if way == "export" else None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, _, rows = lowered.compare_layers(name, way)
    assert theirs and not lowered.find_missing(theirs, rows)


def test_layers_that_octet_leaves_float_are_found():
    """A layer that is float, one that is so in part, one that is not there; functions, in a module where products without weights are float."""
    rows = [Verdict("a", "nn.conv", "int8"), Verdict("b", "nn.linear", "int8"), Verdict("b", "nn.linear", "float"), Verdict("c", "nn.conv", "float"),
            Verdict("e.linear", "nn.linear", "int8"), Verdict("e.matmul", "nn.matmul", "float"), Verdict("f.linear", "nn.linear", "float")]
    assert lowered.find_missing(["a", "b", "c", "d", "e", "f"], rows) == ["b", "c", "d", "f"]
