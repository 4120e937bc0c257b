# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A few of the architectures; `python test/Python/torch_architectures.py` compares all."""
import importlib.util
import warnings

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed (pip install torch)")

import torch_architectures as architectures

#: The networks of the check, with the package that each needs besides PyTorch.
PACKAGES = {"unet": None, "lstm_tagger": None, "gru_denoiser": None, "resnet18": "torchvision", "mobilenet_v3_small": "torchvision", "bert_tiny": "transformers"}


@pytest.mark.parametrize("way", ("fx", "export"))
@pytest.mark.parametrize("name", PACKAGES)
def test_architectures(name, way, tmp_path):
    if PACKAGES[name] and not importlib.util.find_spec(PACKAGES[name]):
        pytest.skip(f"{PACKAGES[name]} is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module, inputs = architectures.build(name)
        if (name, way) in architectures.NOT_TRACED:
            pytest.skip("FX does not trace it")
        network = architectures.make_network(module, inputs, way)
    assert architectures.measure(module, inputs, network, tmp_path) <= 1e-4  # the bar: the float program is PyTorch's
