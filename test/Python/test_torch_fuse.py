# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fuse_fx and preserved_attributes: the same program as with PyTorch's own."""
import pickle

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (pip install torch)")
octet = pytest.importorskip("octet")
from octet.torch import ConvertCustomConfig, FuseCustomConfig, PrepareCustomConfig, get_default_qat_qconfig_mapping, get_default_qconfig_mapping
from octet.torch.quantize_fx import convert_fx, fuse_fx, prepare_fx, prepare_qat_fx
from torch import nn
from torch.nn import functional as F


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bn, self.head = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Linear(8, 5)
        self.bn.running_var.uniform_(0.5, 2)
        self.labels, self.rate = ["cat", "dog"], 16000

    def forward(self, x):
        return self.head(F.relu(self.bn(self.conv(x))).mean((2, 3)))


@pytest.fixture
def network():
    torch.manual_seed(0)
    return Network().eval()


X = torch.randn(2, 3, 8, 8)


@torch.no_grad()
def test_computes_as_pytorchs_fused_module(network):
    quantize_fx = pytest.importorskip("torch.ao.quantization.quantize_fx", reason="this PyTorch has no torch.ao.quantization")
    expected = quantize_fx.fuse_fx(network)(X)
    fused = fuse_fx(network)
    assert (fused(X) - expected).abs().max() <= 1e-5 * expected.abs().max()
    assert fused(x=X[:1]).shape == (1, 5)


@torch.no_grad()
def test_prints_groups_without_batch_norm(network):
    fused = fuse_fx(network, backend_config="x86")
    assert "not called yet" in repr(fused)
    with pytest.raises(octet.InputError, match="never called"):
        fused.code
    fused(X)
    assert "octet.group @x86::@conv2d_relu" in fused.code
    assert repr(fused).count("octet.group") == 1 and "nn.batch_norm" not in repr(fused) and "loc(" not in repr(fused)


@torch.no_grad()
def test_is_prepared_as_the_module_that_it_was_made_of(network):
    codes = []
    for model in (network, fuse_fx(network)):
        prepared = prepare_fx(model, get_default_qconfig_mapping("x86"), (X,))
        prepared(X)
        codes.append([line.partition(" loc(")[0] for line in convert_fx(prepared).code.splitlines() if "octet.quantize" in line])
    assert codes[0] == codes[1] != []


def test_refusals(network):
    fused = fuse_fx(network)
    with pytest.raises(octet.InputError, match=r"no gradients: call it under torch.no_grad\(\)"):
        fused(X.clone().requires_grad_())
    with pytest.raises(octet.InputError, match="save the float module"):
        pickle.dumps(fused)
    with pytest.warns(UserWarning, match=r"call eval\(\) first"):
        fuse_fx(Network().train())


@torch.no_grad()
def test_preserved_attributes(network):
    names = ["labels", "rate", "absent"]
    assert fuse_fx(network, FuseCustomConfig().set_preserved_attributes(names)).labels == ["cat", "dog"]
    prepared = prepare_fx(network, get_default_qconfig_mapping("x86"), (X,), PrepareCustomConfig().set_preserved_attributes(names))
    assert (prepared.labels, prepared.rate) == (["cat", "dog"], 16000) and not hasattr(prepared, "absent")
    prepared(X)
    converted = convert_fx(prepared, ConvertCustomConfig().set_preserved_attributes(["rate"]))
    assert converted.rate == 16000 and not hasattr(converted, "labels")
    training = prepare_qat_fx(Network().train(), get_default_qat_qconfig_mapping("x86"), (X,), {"preserved_attributes": ["rate"]})
    assert training.rate == 16000


def test_attributes_that_octet_has(network):
    network.code = "mine"
    with pytest.raises(octet.InputError, match="preserved_attributes: 'code' is an attribute that a PreparedModule has itself; rename it"):
        prepare_fx(network, get_default_qconfig_mapping("x86"), (X,), PrepareCustomConfig().set_preserved_attributes(["code"]))
