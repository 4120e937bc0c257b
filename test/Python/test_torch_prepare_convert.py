# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""prepare_fx and convert_fx: the same program as with PyTorch's own, and what its users may do with the result."""
import copy
import pickle
import re
import threading

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (pip install torch)")
octet = pytest.importorskip("octet")
import octet.torch as quantization
from octet.torch.quantize_fx import convert_fx, prepare_fx
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)) + x)


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.block, self.pool = nn.Conv2d(3, 8, 3, stride=2, padding=1), Block(), nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(8, 10)

    def forward(self, x):
        return self.head(torch.flatten(self.pool(self.block(self.stem(x))), 1))


@pytest.fixture(scope="module")
def samples():
    torch.manual_seed(1)
    return [torch.randn(1, 3, 16, 16) for _ in range(8)]


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(0)
    return Network().eval()


def quantize(network, samples, mapping=None, **options):
    prepared = prepare_fx(network, mapping or quantization.get_default_qconfig_mapping("x86"), (samples[0],), **options)
    with torch.no_grad():
        for x in samples:
            prepared(x)
    return convert_fx(prepared)


@pytest.fixture(scope="module")
def converted(network, samples):
    return quantize(network, samples)


def test_prepared_module_computes_as_the_float_module(network, samples):
    prepared = prepare_fx(network, quantization.get_default_qconfig_mapping("x86"), (samples[0],))
    assert torch.equal(prepared(samples[0]), network(samples[0]))
    assert "octet.observer @block.conv #octet.histogram<dtype = ui8, reduce_range = true>" in prepared.code
    assert "calibrated with 1 inputs" in repr(prepared)


@pytest.mark.filterwarnings("ignore")
def test_same_results_as_pytorch(network, samples, converted):
    quantize_fx = pytest.importorskip("torch.ao.quantization.quantize_fx", reason="this PyTorch has no torch.ao.quantization")
    from torch.ao.quantization import get_default_qconfig_mapping
    prepared = quantize_fx.prepare_fx(network, get_default_qconfig_mapping("x86"), (samples[0],))
    for x in samples:
        prepared(x)
    theirs = quantize_fx.convert_fx(prepared)
    scale = theirs.head.scale
    for x in samples:
        assert (theirs(x) - converted(x)).abs().max() <= scale * 1.001  # a step, where sums of int32 biases differ


def test_other_shapes_use_the_same_statistics(converted, samples):
    batch = torch.cat(samples)
    assert torch.equal(converted(batch), torch.cat([converted(x) for x in samples]))


def test_samples_of_several_shapes(network, samples):
    one = quantize(network, samples, quantization.get_default_qconfig_mapping("qnnpack"))
    several = quantize(network, [torch.cat(samples[:4]), *samples[4:]], quantization.get_default_qconfig_mapping("qnnpack"))
    # Histograms that grow in another order have other bins.
    assert (one(samples[0]) - several(samples[0])).abs().max() < 0.05 * one(samples[0]).abs().max()


def test_pickled_module_keeps_its_shapes(converted, samples):
    again = pickle.loads(pickle.dumps(converted))
    assert torch.equal(again(samples[1]), converted(samples[1]))
    with pytest.raises(octet.InputError, match="loaded without its source"):
        again(torch.zeros(1, 3, 20, 20))


def test_saved_by_torch(converted, samples, tmp_path):
    torch.save(converted, tmp_path / "m.pt")
    assert torch.equal(torch.load(tmp_path / "m.pt", weights_only=False)(samples[1]), converted(samples[1]))


def test_saved_files(converted, samples, tmp_path):
    for suffix in ("so", "onnx", "mlir", "mlirbc"):
        converted.save(tmp_path / f"m.{suffix}")
    library = octet.load(tmp_path / "m.so")
    np.testing.assert_array_equal(library.run({"x": samples[0].numpy()})["output"], converted(samples[0]).numpy())
    assert "octet.quantize" in (tmp_path / "m.mlir").read_text()
    again = octet.compile(tmp_path / "m.onnx")
    np.testing.assert_allclose(again.run({"x": samples[0].numpy()})["output"], converted(samples[0]).numpy(), atol=1e-6)
    assert (tmp_path / "m.mlirbc").read_bytes()[:3] == b"ML\xef"
    with pytest.raises(octet.InputError, match="expected a name that ends in"):
        converted.save(tmp_path / "m.bin")


def test_runs_in_several_threads(converted, samples):
    expected, results = [converted(x) for x in samples], {}

    def run(i):
        results[i] = [converted(samples[i]) for _ in range(50)]

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(samples))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(torch.equal(y, expected[i]) for i in results for y in results[i])


def test_inputs_that_are_not_contiguous_or_have_gradients(converted, samples):
    x = samples[0].permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)
    assert not x.is_contiguous() and torch.equal(converted(x), converted(samples[0]))
    wanting = samples[0].clone().requires_grad_()
    with torch.no_grad():
        assert torch.equal(converted(wanting), converted(samples[0]))
    with pytest.raises(octet.InputError, match=r"no gradients: call it under torch.no_grad\(\)"):
        converted(wanting)


def test_text_and_report(converted):
    assert "octet.dequantize" in converted.code and "nn.conv" in repr(converted)
    assert "block.conv" in str(converted.report)


def test_calibration_never_ran(network, samples):
    prepared = prepare_fx(network, quantization.get_default_qconfig_mapping("x86"), (samples[0],))
    with pytest.raises(octet.InputError, match="was never called: call it with representative inputs"):
        convert_fx(prepared)


def test_training_mode_is_left(network, samples):
    training = copy.deepcopy(network).train()
    with pytest.warns(UserWarning, match=r"training mode, and a copy in evaluation mode is taken; call eval\(\) first"):
        prepared = prepare_fx(training, quantization.get_default_qconfig_mapping("x86"), (samples[0],))
    assert torch.equal(prepared(samples[0]), network(samples[0]))
    assert training.training and training.block.bn.num_batches_tracked == 0


class Steered(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x
        return -x


class Counted(nn.Module):
    def forward(self, x):
        return x * len(x)


class Mistaken(nn.Module):
    def forward(self, x):
        return x + self.missing


@pytest.mark.parametrize("module, line, reason", [(Steered, "if x.sum() > 0:", "control flow"), (Counted, "return x * len(x)", "'len' is not supported"),
                                                  (Mistaken, "return x + self.missing", "no attribute 'missing'")])
def test_what_fx_does_not_trace_is_refused(samples, module, line, reason):
    expected = rf'{module.__name__} cannot be traced at .*test_torch_prepare_convert.py:\d+ \("{re.escape(line)}"\): .*{reason}.*torch.export'
    with pytest.raises(octet.InputError, match=expected):
        prepare_fx(module().eval(), quantization.get_default_qconfig_mapping("x86"), (samples[0],))


class Unknown(nn.Module):
    def forward(self, x):
        y = torch.fft.fft(x).abs()
        z = torch.nonzero(x)
        return y, z


def test_operators_that_are_not_supported_are_listed_with_their_lines(samples):
    with pytest.raises(octet.CompileError) as caught:
        prepare_fx(Unknown().eval(), quantization.get_default_qconfig_mapping("x86"), (samples[0],))
    text = str(caught.value)
    assert "2 operators are not supported" in text and __file__ in text and "y = torch.fft.fft(x).abs()" in text
    assert "z = torch.nonzero(x)" in text


def test_later_samples_count_in_later_conversions(network, samples):
    prepared = prepare_fx(network, quantization.get_default_qconfig_mapping("qnnpack"), (samples[0],))
    prepared(samples[0])
    first = convert_fx(prepared)
    expected, batch = first(samples[0]), torch.cat(samples[:2])
    prepared(samples[1] * 5)
    second = convert_fx(prepared)
    assert torch.equal(first(samples[0]), expected) and not torch.equal(second(samples[0]), expected)
    assert torch.equal(first(batch)[:1], expected)


def test_exported_programs(network, samples):
    program = torch.export.export(network, (samples[0],))
    exported, traced = (quantize(model, samples, backend_config="x86") for model in (program, network))
    assert str(exported.report).count(" int8 ") == str(traced.report).count(" int8 ")
    assert torch.equal(exported(samples[0]), traced(samples[0]))


def test_neither_module_nor_program(samples):
    with pytest.raises(octet.InputError, match="expected a torch.nn.Module or a torch.export.ExportedProgram, but got function"):
        prepare_fx(quantize, quantization.get_default_qconfig_mapping("x86"), (samples[0],))


def test_wrong_inputs(converted):
    with pytest.raises(octet.InputError, match="input 0: expected a tensor, but got ndarray"):
        converted(np.zeros((1, 3, 16, 16), np.float32))
    with pytest.raises(octet.InputError, match="input 0: is on meta"):
        converted(torch.zeros(1, 3, 16, 16, device="meta"))


class Named(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x, other=None, scale=2.0):
        return {"sum": self.layer(x) + other, "pair": (self.layer(other) * scale, x)}


@pytest.fixture(scope="module")
def named():
    torch.manual_seed(0)
    module, inputs = Named().eval(), (torch.randn(3, 4), torch.randn(3, 4))
    prepared = prepare_fx(module, quantization.get_default_qconfig_mapping("x86"), inputs)
    first = prepared(inputs[0], other=inputs[1])
    assert torch.equal(first["sum"], module(*inputs)["sum"])
    return prepared, convert_fx(prepared), inputs


def test_inputs_by_name_and_results_in_dictionaries(named):
    _, converted, (x, other) = named
    expected, by_name = converted(x, other), converted(other=other, x=x)
    assert list(expected) == ["sum", "pair"] and type(expected["pair"]) is tuple
    assert torch.equal(by_name["sum"], expected["sum"]) and torch.equal(by_name["pair"][0], expected["pair"][0])


@pytest.mark.parametrize("inputs, given, message", [
    (1, ("z",), "input 'z': there is none; the inputs are x, other"),
    (1, ("x",), "input 'x': is given twice"),
    (0, ("other",), "input 'x': is missing; give it in front of those behind it"),
])
def test_wrong_names_are_refused(named, inputs, given, message):
    _, converted, tensors = named
    with pytest.raises(octet.InputError, match=message):
        converted(*tensors[:inputs], **dict.fromkeys(given, tensors[0]))


def test_copies(named):
    prepared, converted, inputs = named
    again = convert_fx(copy.deepcopy(prepared))
    assert torch.equal(again(*inputs)["sum"], converted(*inputs)["sum"])
    assert torch.equal(copy.deepcopy(converted)(*inputs)["sum"], converted(*inputs)["sum"])
