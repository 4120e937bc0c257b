# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Standalone modules of a PrepareCustomConfig: the parameters that PyTorch's have, and what is refused."""
import re

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (pip install torch)")
octet = pytest.importorskip("octet")
import octet.torch as own
from octet.torch.quantize_fx import convert_fx, prepare_fx, prepare_qat_fx
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)))


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.block, self.head = nn.Conv2d(3, 4, 3), Block(), nn.Linear(4, 5)

    def forward(self, x):
        return self.head(self.block(self.first(x)).mean((2, 3)))


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(0)
    return Network().eval()


@pytest.fixture(scope="module")
def samples():
    torch.manual_seed(1)
    return [torch.randn(2, 3, 8, 8) for _ in range(4)]


def configure(package, config, by_class, quantized=False):
    """The config with a mapping for the block, of which the convolution is named as it is in the block."""
    mapping = package.QConfigMapping().set_global(package.default_qconfig).set_module_name("conv", package.default_per_channel_qconfig)
    inner = type(config)().set_input_quantized_indexes([0]).set_output_quantized_indexes([0]) if quantized else None
    set_entry = config.set_standalone_module_class if by_class else config.set_standalone_module_name
    return set_entry(Block if by_class else "block", mapping, (torch.zeros(2, 4, 6, 6),), inner, None)


def list_parameters(module):
    """{(scale, zero point)} of PyTorch's reference model, with its standalone modules."""
    found = set()
    for part in module.modules():
        for node in part.graph.nodes if isinstance(part, torch.fx.GraphModule) else ():
            if node.target is torch.quantize_per_tensor:
                scale, zero = (getattr(part, arg.target) if isinstance(arg, torch.fx.Node) else arg for arg in node.args[1:3])
                found.add((float(np.float32(scale)), int(zero)))
    return found


def read_parameters(code):
    matches = re.findall(r"octet\.quantize .*?-> tensor<[\dx]+!quant\.uniform<u8[^,:]*:f32, ([\d.E+-]+)(?::(\d+))?>", code)
    return {(float(np.float32(float(scale))), int(zero or 0)) for scale, zero in matches}


def quantize(prepare, convert, network, samples, mapping, custom):
    with torch.no_grad():
        prepared = prepare(network, mapping, (samples[0],), custom)
        for x in samples:
            prepared(x)
        return convert(prepared)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("by_class", (False, True), ids=("name", "class"))
def test_parameters_are_pytorchs(network, samples, by_class):
    quantize_fx = pytest.importorskip("torch.ao.quantization.quantize_fx", reason="this PyTorch has no torch.ao.quantization")
    from torch.ao import quantization
    from torch.ao.quantization.fx.custom_config import PrepareCustomConfig
    given = [(package.QConfigMapping().set_global(package.default_qconfig), configure(package, config(), by_class))
             for package, config in ((own, own.PrepareCustomConfig), (quantization, PrepareCustomConfig))]
    mine = quantize(prepare_fx, convert_fx, network, samples, *given[0])
    theirs = quantize(quantize_fx.prepare_fx, quantize_fx.convert_to_reference_fx, network, samples, *given[1])
    ours, expected = (sorted(found) for found in (read_parameters(mine.code), list_parameters(theirs)))
    assert len(ours) == len(expected) == 4
    for (scale, zero), (other, other_zero) in zip(ours, expected):
        assert zero == other_zero and abs(scale - other) <= 2e-7 * other
    with torch.no_grad():
        assert (mine(samples[0]) - network(samples[0])).abs().max() < 0.1
    assert {row.name: row.code for row in mine.report if row.operator == "func.call"} == {"block": "OCT121"}
    accepted = quantize(prepare_fx, convert_fx, network, samples, *given[1])  # PyTorch's own objects
    assert read_parameters(accepted.code) == read_parameters(mine.code)


def export(module, *inputs, **options):
    return torch.export.export(module, inputs, **options)


@pytest.mark.parametrize("by_class", (False, True), ids=("name", "class"))
def test_parts_of_exported_programs_are_those_of_modules(network, samples, by_class):
    """The same integers: what a program has of a module is the module."""
    found = []
    for source in (network, export(network, samples[0])):
        mapping = own.QConfigMapping().set_global(own.default_qconfig)
        converted = quantize(prepare_fx, convert_fx, source, samples, mapping, configure(own, own.PrepareCustomConfig(), by_class))
        found.append((converted(samples[0]), read_parameters(converted.code)))
        verdicts = {(row.name, row.operator): (row.verdict, row.code) for row in converted.report}
        assert verdicts["block", "func.call"][1] == "OCT121" and verdicts["block.conv", "nn.conv+nn.relu"][0] == "int8"
    assert torch.equal(found[0][0], found[1][0]) and found[0][1] == found[1][1] and len(found[0][1]) == 4


class Pair(nn.Module):
    """A part with a part inside, two results, a number, and a weight that is read outside, too."""

    def __init__(self):
        super().__init__()
        self.block = Block()

    def forward(self, x, y):
        z = self.block(x) + y
        return z, z.shape[-1] * torch.sigmoid(z)


class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.pair, self.head = Pair(), nn.Conv2d(4, 2, 1)

    def forward(self, x):
        first, second = self.pair(x, x * 2)
        return self.head(first * second) + self.pair.block.conv.weight.mean()


@pytest.mark.parametrize("is_open", (False, True), ids=("fixed", "open"))
def test_parts_inside_of_parts_of_a_program(is_open):
    torch.manual_seed(2)
    network, x = Nested().eval(), torch.randn(2, 4, 6, 6)
    inner = own.PrepareCustomConfig().set_standalone_module_class(Block, own.QConfigMapping().set_module_name("conv", own.default_qconfig), (), None, None)
    custom = own.PrepareCustomConfig().set_standalone_module_name("pair", own.QConfigMapping(), (), inner, None)
    program = export(network, x, dynamic_shapes={"x": {0: torch.export.Dim("batch", min=2, max=8)}} if is_open else None)
    converted = quantize(prepare_fx, convert_fx, program, [x], own.QConfigMapping().set_global(own.default_qconfig), custom)
    assert "func.func private @standalone.pair(" in converted.code and "func.func private @standalone.pair.block(" in converted.code
    verdicts = {row.name: row.verdict for row in converted.report}
    assert verdicts["pair.block.conv"].startswith("int8") and verdicts["head"].startswith("int8") and verdicts["pair.add"] == "float"
    with torch.no_grad():
        assert (converted(x) - network(x)).abs().max() < 0.05 * network(x).abs().max()
        if is_open:
            y = torch.randn(3, 4, 6, 6)
            assert (converted(y) - network(y)).abs().max() < 0.1 * network(y).abs().max()


def test_integers_cross_the_border(network, samples):
    custom = configure(own, own.PrepareCustomConfig(), False, quantized=True)
    converted = quantize(prepare_fx, convert_fx, network, samples, own.QConfigMapping().set_global(own.default_qconfig), custom)
    assert re.search(r"func private @standalone.block\(%arg0: tensor<[^{]*> \{octet.quantized\}", converted.code)
    assert (converted(samples[0]) - network(samples[0])).abs().max() < 0.1


class Scaled(Block):
    def forward(self, x, scale=1.0):
        return super().forward(x) * scale


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Scaled()

    def forward(self, x):
        return self.block(self.block(x)) + F.interpolate(self.block(x[:, :, ::2, ::2], scale=0.5), scale_factor=2.0)


def test_calls_of_one_kind_share_a_function():
    custom = configure(own, own.PrepareCustomConfig(), False)
    network, x = Twice().eval(), torch.randn(1, 4, 8, 8)
    converted = quantize(prepare_fx, convert_fx, network, [x], own.QConfigMapping().set_global(own.default_qconfig), custom)
    assert converted.code.count("func.func private @standalone.block") == 2 and converted.code.count("call @standalone.block") == 3
    with torch.no_grad():
        assert (converted(x) - network(x)).abs().max() < 0.1


class Faulty(nn.Module):
    def forward(self, x):
        return torch.special.gammaln(x)  # in the part


class Around(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Faulty()

    def forward(self, x):
        return torch.special.gammaln(self.part(x))


def test_obstacles_inside_are_listed_with_the_others():
    custom = own.PrepareCustomConfig().set_standalone_module_name("part", own.QConfigMapping(), (), None, None)
    with pytest.raises(octet.CompileError) as error:
        prepare_fx(Around().eval(), own.QConfigMapping(), (torch.randn(3),), custom)
    assert str(error.value).startswith("2 operators are not supported") and "return torch.special.gammaln(x)  # in the part" in str(error.value)
    assert "(part.special_gammaln)" in str(error.value)


@pytest.mark.parametrize("entry, message", [
    (("blocks", None, (), None, None), "the model calls no module 'blocks'; give the name that named_modules"),
    (("block", None, (), own.PrepareCustomConfig().set_input_quantized_indexes([0]), None), "but no QConfigMapping to hold it; give one"),
    (("block", own.QConfigMapping(), (), None, "x86"), "all parts of a network have one backend; omit its backend_config"),
])
def test_refusals(network, samples, entry, message):
    with pytest.raises(octet.InputError, match=message):
        prepare_fx(network, own.QConfigMapping(), (samples[0],), own.PrepareCustomConfig().set_standalone_module_name(*entry))


def test_several_calls_in_a_program_are_refused():
    custom = configure(own, own.PrepareCustomConfig(), False)
    program = export(Twice().eval(), torch.randn(1, 4, 8, 8))
    with pytest.raises(octet.InputError, match="standalone module 'block': the program calls it several times.*give prepare_fx the module instead"):
        prepare_fx(program, own.QConfigMapping(), (torch.randn(1, 4, 8, 8),), custom)
    with pytest.raises(octet.InputError, match="the model calls no module 'blocks'"):
        prepare_fx(program, own.QConfigMapping(), (), own.PrepareCustomConfig().set_standalone_module_name("blocks", None, (), None, None))


def test_training_is_refused(samples):
    with pytest.raises(octet.InputError, match="standalone modules are not trained by themselves"):
        prepare_qat_fx(Network().train(), own.QConfigMapping(), (samples[0],), configure(own, own.PrepareCustomConfig(), True))
