# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch.compile(module, backend="octet"): float, int8 after some calls, other shapes, changed weights."""
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (pip install torch)")
octet = pytest.importorskip("octet")
import octet.torch.compile_backend
from torch import nn
from torch.nn import functional as F


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.head = nn.Conv2d(3, 8, 3, padding=1), nn.Linear(8, 5)
        self.register_buffer("shift", torch.ones(8))

    def forward(self, x, scale=1.0):
        return self.head(F.relu(self.conv(x) * scale).mean((2, 3)) + self.shift)


@pytest.fixture
def network():
    torch.manual_seed(0)
    torch._dynamo.reset()
    return Network().eval()


@pytest.fixture
def samples():
    torch.manual_seed(1)
    return [torch.randn(2, 3, 8, 8) for _ in range(6)]


def is_near(a, b, part=1e-5):
    return (a - b).abs().max() <= part * b.abs().max()


@torch.no_grad()
def test_float(network, samples):
    compiled = torch.compile(network, backend="octet")
    assert is_near(compiled(samples[0]), network(samples[0]))
    assert is_near(compiled(samples[0][:1]), network(samples[0][:1]))


@torch.no_grad()
def test_weights_that_change_are_seen(network, samples):
    compiled = torch.compile(network, backend="octet")
    compiled(samples[0])
    network.head.weight.mul_(3)
    network.shift.add_(1)
    assert is_near(compiled(samples[0]), network(samples[0]))


@torch.no_grad()
def test_int8_after_some_calls(network, samples):
    compiled = torch.compile(network, backend="octet", options={"calibration_calls": 4, "backend_config": "cpu"})
    for x in samples[:4]:
        assert torch.equal(compiled(x), network(x))
    for x in samples[4:]:
        assert not is_near(compiled(x), network(x)) and is_near(compiled(x), network(x), 0.05)


def test_gradients_are_refused(network, samples):
    with pytest.raises(octet.InputError, match=r"no gradients: call the module under torch.no_grad\(\)"):
        torch.compile(network, backend="octet")(samples[0])


@torch.no_grad()
def test_unknown_options_are_refused(network, samples):
    compiled = torch.compile(network, backend="octet", options={"precision": "int8"})
    with pytest.raises(Exception, match=r"expected some of \['backend_config', .*but got \['precision'\]"):
        compiled(samples[0])


@torch.no_grad()
@pytest.mark.parametrize("masked", (False, True))
def test_layers_with_a_fast_path(masked):
    torch.manual_seed(0)
    torch._dynamo.reset()
    layer, x = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval(), torch.randn(2, 6, 8)
    masks = {"src_key_padding_mask": torch.tensor([[False] * 6, [False] * 4 + [True] * 2])} if masked else {}
    assert is_near(torch.compile(layer, backend="octet")(x, **masks), layer(x, **masks))
