# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PT2E: a backend as torchao's Quantizer, and converted graphs as libraries."""
import re
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (pip install torch)")
octet = pytest.importorskip("octet")
quantize_pt2e = pytest.importorskip("torchao.quantization.pt2e.quantize_pt2e", reason="torchao is not installed (pip install torchao)")
from octet.torch import compile_program, get_default_qconfig_mapping
from octet.torch.pt2e import BackendObserver, BackendQuantizer
from octet.torch.quantize_fx import convert_fx, prepare_fx
from torch import nn
from torch.nn import functional as F
from torchao.quantization.pt2e.quantizer.x86_inductor_quantizer import X86InductorQuantizer, get_default_x86_inductor_quantization_config

pytestmark = pytest.mark.filterwarnings("ignore")


class Network(nn.Module):
    """A layer that is called twice, a residual, integers that are only moved, numbers, two results."""

    def __init__(self):
        super().__init__()
        self.stem, self.bn, self.twice, self.head = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.Conv2d(8, 8, 3, padding=1), nn.Linear(16, 5)

    def forward(self, x):
        y = F.relu(self.bn(self.stem(x)))
        y = F.relu(self.twice(self.twice(y)) + y)
        z = torch.cat([F.max_pool2d(y, 2), F.avg_pool2d(y, 2) * 2], 1)
        return self.head(torch.flatten(F.adaptive_avg_pool2d(z, 1), 1)), torch.sin(y)


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(0)
    return Network().eval()


@pytest.fixture(scope="module")
def samples():
    torch.manual_seed(1)
    return [torch.randn(1, 3, 16, 16) for _ in range(4)]


def convert(network, samples, quantizer):
    with torch.no_grad():
        prepared = quantize_pt2e.prepare_pt2e(torch.export.export(network, (samples[0],)).module(), quantizer)
        for x in samples:
            prepared(x)
        return quantize_pt2e.convert_pt2e(prepared)


def read_parameters(code):
    """(scale, zero point) of each quantized value, in the order of the program."""
    matches = re.findall(r"octet\.quantize .*?-> tensor<[\dx]+!quant\.uniform<u8:f32, ([\d.E+-]+)(?::(\d+))?>", code)
    return [(float(scale), int(zero or 0)) for scale, zero in matches]


@torch.no_grad()
@pytest.mark.parametrize("backend", ("x86", "qnnpack"))
def test_a_backend_as_quantizer_is_what_prepare_fx_does(network, samples, backend):
    compiled = compile_program(convert(network, samples, BackendQuantizer(backend, get_default_qconfig_mapping(backend))))
    prepared = prepare_fx(torch.export.export(network, (samples[0],)), get_default_qconfig_mapping(backend), (samples[0],), backend_config=backend)
    for x in samples:
        prepared(x)
    converted = convert_fx(prepared)
    ours, theirs = read_parameters(compiled.code), read_parameters(converted.code)
    assert len(ours) == len(theirs) == 12
    for (scale, zero), (other, other_zero) in zip(ours, theirs):
        assert zero == other_zero and abs(scale - other) <= 2e-7 * other  # an ulp: calibrated in PyTorch, and in compiled code
    for x in (*samples, 3 * samples[0]):  # also beyond the ranges
        for found, expected in zip(compiled(x), converted(x)):
            # Biases are floats there and integers here, which decides ties, three layers deep: a step, seldom.
            assert (found - expected).abs().max() <= max(scale for scale, _ in ours)
            assert found.numel() < 10 or (found != expected).float().mean() < 0.02
    verdicts = {row.name: row.verdict for row in compiled.report}
    assert verdicts["stem"] == verdicts["twice"] == verdicts["cat"] == "int8" and verdicts["sin"] == "float"


@pytest.fixture(scope="module")
def of_torchao(network, samples):
    """What torchao's own quantizer makes."""
    return convert(network, samples, X86InductorQuantizer().set_global(get_default_x86_inductor_quantization_config()))


def is_near(compiled, converted, samples):
    """PyTorch's sums are of floats, so that a tie may go the other way, and move the results of the layers behind by some steps of 1 / 255."""
    pairs = [pair for x in samples for pair in zip(compiled(x), converted(x))]
    return all((found - expected).abs().max() <= 0.01 * expected.abs().max() for found, expected in pairs)


@torch.no_grad()
def test_graphs_of_other_quantizers(of_torchao, samples, tmp_path):
    compiled = compile_program(of_torchao)
    assert is_near(compiled, of_torchao, samples)
    verdicts = {row.name: row.verdict for row in compiled.report}
    assert verdicts["stem"] == "int8" and verdicts["head"] == "int8 to float"
    compiled.save(tmp_path / "net.so")
    result = octet.load(tmp_path / "net.so").run({"x": samples[0].numpy()})
    np.testing.assert_array_equal(result["output0"], compiled(samples[0])[0].numpy())


@torch.no_grad()
def test_a_converted_graph_that_is_exported_again(of_torchao, samples):
    program = torch.export.export(of_torchao, (samples[0],))
    assert is_near(compile_program(program), of_torchao, samples)


@torch.no_grad()
def test_open_sizes():
    class Small(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(16, 8)

        def forward(self, x):
            return F.relu(self.linear(x))
    torch.manual_seed(2)
    x = torch.randn(6, 16)
    program = torch.export.export(Small().eval(), (x,), dynamic_shapes={"x": {0: torch.export.Dim("length", max=40)}})
    prepared = quantize_pt2e.prepare_pt2e(program.module(), BackendQuantizer("x86"))
    prepared(x)
    converted = quantize_pt2e.convert_pt2e(prepared)
    compiled = compile_program(converted, buckets={"length": [6, 32]}, pad={"x": 0})
    assert len(compiled.model.buckets) == 2
    assert all((compiled(rows) - converted(rows)).abs().max() <= 0.01 for rows in (x, x[:4], torch.cat([x] * 4)))


class Gated(nn.Module):
    """Two layers that read one value."""

    def __init__(self):
        super().__init__()
        self.gate, self.value, self.head = nn.Linear(32, 24), nn.Linear(32, 24), nn.Linear(24, 5)

    def forward(self, x):
        return self.head(torch.sigmoid(self.gate(x)) * self.value(x))


@torch.no_grad()
def test_values_that_are_quantized_in_each_run():
    torch.manual_seed(3)
    samples = [torch.randn(4, 6, 32), 5 * torch.randn(4, 6, 32) + 1, -torch.rand(4, 6, 32), torch.rand(4, 6, 32)]
    quantizer = X86InductorQuantizer().set_global(get_default_x86_inductor_quantization_config(is_dynamic=True))
    converted = convert(Gated().eval(), samples[:1], quantizer)
    compiled = compile_program(converted)
    verdicts = {row.name: (row.verdict, row.code) for row in compiled.report}
    assert {verdicts[name] for name in ("gate", "value", "head")} == {("int8 to float", "OCT218")}
    assert verdicts["mul"][0] == "float" and not any("quantize" in name for name in verdicts)
    for x in samples:
        found, expected = compiled(x), converted(x)
        # The last bit of a sum may move an element of the last layer's input by a step, 1 / 255 of their range.
        assert (found - expected).abs().max() <= 0.01 * expected.abs().max()
        assert ((found - expected).abs() > 1e-5 * expected.abs().max()).float().mean() < 0.1


class SignedInEachRun(nn.Module):
    """As quantizers have it whose values are signed."""

    def __init__(self):
        super().__init__()
        self.register_buffer("weights", torch.randint(-127, 128, (8, 16), dtype=torch.int8))
        self.register_buffer("scales", torch.rand(8) / 100 + 0.01)

    def forward(self, x):
        decomposed = torch.ops.quantized_decomposed
        scale, zero = decomposed.choose_qparams.tensor(x, -128, 127, 2.0**-12, torch.int8)
        stored = decomposed.quantize_per_tensor.tensor(x, scale, zero, -128, 127, torch.int8)
        real = decomposed.dequantize_per_tensor.tensor(stored, scale, zero, -128, 127, torch.int8)
        weights = decomposed.dequantize_per_channel.default(self.weights, self.scales, torch.zeros(8, dtype=torch.long), 0, -128, 127, torch.int8)
        return F.linear(real, weights)


@torch.no_grad()
def test_signed_values_of_each_run_are_unsigned_ones_moved():
    torch.manual_seed(4)
    module, x = SignedInEachRun().eval(), 3 * torch.randn(5, 16) + 1
    compiled = compile_program(torch.export.export(module, (x,)))
    assert [row.verdict for row in compiled.report if row.macs] == ["int8 to float"]
    expected = module(x)
    assert (compiled(x) - expected).abs().max() <= 1e-5 * expected.abs().max()  # the same integers; sums of floats there


@torch.no_grad()
def test_small_values_of_each_run_keep_their_bits():
    torch.manual_seed(5)
    module, x = SignedInEachRun().eval(), 1e-3 * torch.randn(5, 16)
    exact = F.linear(x, module.weights * module.scales[:, None])
    compiled = compile_program(torch.export.export(module, (x,)))
    assert 2 * (compiled(x) - exact).abs().max() < (module(x) - exact).abs().max()


@torch.no_grad()
def test_refusals(network, samples):
    prepared = quantize_pt2e.prepare_pt2e(torch.export.export(network, (samples[0],)).module(), BackendQuantizer("x86"))
    with pytest.raises(octet.InputError, match="the prepared module was never called"):
        quantize_pt2e.convert_pt2e(prepared)
    with pytest.raises(octet.InputError, match="but got Network; see prepare_fx for modules"):
        compile_program(network)


class Wide(nn.Module):
    """Activations of 16 bits and weights of 8."""

    def __init__(self, zero_point, *integers):
        super().__init__()
        self.integers = zero_point, *integers
        self.register_buffer("w", torch.randint(-127, 128, (8, 16), dtype=torch.int8, generator=torch.Generator().manual_seed(0)))

    def round(self, x):
        pair = torch.ops.quantized_decomposed
        return pair.dequantize_per_tensor.default(pair.quantize_per_tensor.default(x, 1e-4, *self.integers), 1e-4, *self.integers)

    def forward(self, x):
        w = torch.ops.quantized_decomposed.dequantize_per_tensor.default(self.w, 0.01, 0, -127, 127, torch.int8)
        return self.round(F.relu(self.round(F.linear(self.round(x), w))))


@pytest.mark.parametrize("integers", [(5, -32768, 32767, torch.int16), (0, -32767, 32767, torch.int16), (32768, 0, 65535, torch.uint16),
                                      (30000, 0, 65535, torch.int32)])
def test_activations_of_16_bits(integers):
    """Mobile chips' quantizers store u16 as int32."""
    module, x = Wide(*integers).eval(), torch.randn(64, 16, generator=torch.Generator().manual_seed(0))
    compiled = compile_program(torch.export.export(module, (x,)))
    assert [(row.operator, row.verdict) for row in compiled.report] == [("nn.linear", "int8"), ("nn.relu", "int8")]
    difference = (compiled(x) - module(x)).abs()
    assert difference.max() < 1.01e-4 and (difference > 1e-6).sum() <= 2  # f32 next to a tie


class InWiderIntegers(nn.Module):
    def __init__(self, then):
        super().__init__()
        self.then = then

    def forward(self, x):
        return self.then(torch.ops.quantized_decomposed.quantize_per_tensor.default(x, 0.5, 0, 0, 65535, torch.int32))


class Computed(nn.Module):
    def forward(self, x, scale):
        return torch.ops.quantized_decomposed.quantize_per_tensor.tensor(x, scale, torch.tensor(0), 0, 255, torch.uint8)


class Integers(nn.Module):
    def forward(self, x):
        return torch.ops.quantized_decomposed.dequantize_per_tensor.default(x.int(), 0.5, 0, -2**31, 2**31 - 1, torch.int32)


class OfAnother(nn.Module):
    """The scale of one value for another one."""

    def forward(self, x):
        scale, zero = torch.ops.quantized_decomposed.choose_qparams.tensor(x, 0, 255, 2.0**-12, torch.uint8)
        return torch.ops.quantized_decomposed.quantize_per_tensor.tensor(x + 1, scale, zero, 0, 255, torch.uint8)


class Returned(nn.Module):
    def forward(self, x):
        return torch.ops.quantized_decomposed.choose_qparams.tensor(x, 0, 255, 2.0**-12, torch.uint8)[0]


class Read(nn.Module):
    def forward(self, x):
        return torch.ops.quantized_decomposed.choose_qparams.tensor(x, 0, 255, 2.0**-12, torch.uint8)[0] * 2


class WideInEachRun(nn.Module):
    def forward(self, x):
        return torch.ops.quantized_decomposed.choose_qparams.tensor(x, -32768, 32767, 2.0**-12, torch.int16)[0]


@pytest.mark.parametrize("module, inputs, message", [
    (OfAnother(), (torch.randn(3),), "scales that the network computes of something else than the value; quantize statically"),
    (Returned(), (torch.randn(3),), "the graph returns scales or integers of values that are quantized in each run, which only a dequantize reads"),
    (Read(), (torch.randn(3),), "scales or integers of values that are quantized in each run, which only a dequantize reads"),
    (WideInEachRun(), (torch.randn(3),), "choose_qparams.*: integers of torch.int16; give int8 or uint8"),
    (Integers(), (torch.randn(3),), "integers of torch.int32; give those of 8 or 16 bits"),
    (InWiderIntegers(nn.Identity()), (torch.randn(4),), "the graph returns integers of torch.uint16 in torch.int32, which only a dequantize reads"),
    (InWiderIntegers(nn.Flatten(0)), (torch.randn(2, 2),), "integers of torch.uint16 in torch.int32, which only a dequantize reads"),
    (Computed(), (torch.randn(3), torch.tensor(0.5)), "scales that the network computes; quantize statically"),
])
def test_operators_that_are_refused(module, inputs, message):
    with pytest.raises(octet.CompileError, match=message):
        compile_program(torch.export.export(module, inputs))


def test_observers_are_the_compilers():
    observer = BackendObserver("#octet.per_channel_min_max<dtype = si8, scheme = symmetric, axis = 0>", torch.int8)
    observer(torch.tensor([[1.0, -2.0], [0.5, 4.0]]))
    scale, zero = observer.calculate_qparams()
    assert (observer.ch_axis, observer.qscheme, zero.tolist()) == (0, torch.per_channel_affine, [0, 0])
    assert torch.equal(scale, torch.tensor([2.0, 4.0]) / 127.5)


def test_without_torchao_the_remedy_is_named():
    script = "import sys; sys.modules['torchao'] = None\nimport octet.torch.pt2e"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "octet.torch.pt2e needs torchao, which Octet does not install: pip install torchao" in done.stderr


def test_the_end_of_a_process_is_silent():
    """PyTorch holds prepared graphs until then, and with them observers of the extension."""
    script = """
import torch
from octet.torch.pt2e import BackendQuantizer
from torchao.quantization.pt2e.quantize_pt2e import prepare_pt2e
x = torch.zeros(1, 3)
prepare_pt2e(torch.export.export(torch.nn.Sequential(torch.nn.Linear(3, 3)).eval(), (x,)).module(), BackendQuantizer("x86", "x86_default_mapping"))(x)
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True)
    assert done.returncode == 0 and "leaked" not in done.stderr
