# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules of which PyTorch's reference model and Octet's differ on purpose: the rows of docs/deviations.md."""
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (pip install torch)")
pytest.importorskip("torch.ao.quantization.quantize_fx", reason="this PyTorch has no torch.ao.quantization")
pytest.importorskip("octet")
import torch_fuzz  # noqa: E402
import torch_fuzz_training  # noqa: E402
import torch_graphs  # noqa: E402
import torch_layers  # noqa: E402
import torch_weights  # noqa: E402
from octet.torch.front.trace import Tracer, trace  # noqa: E402
from torch import nn  # noqa: E402
from torch.ao import quantization as ao  # noqa: E402
from torch.nn import functional as F  # noqa: E402

KNOWN = ao.get_default_qconfig_mapping("x86").object_type_qconfigs[torch.sigmoid]
VALUES = ao.QConfig(activation=ao.MinMaxObserver.with_args(dtype=torch.quint8), weight=ao.default_weight_observer)
NARROW = ao.QConfig(activation=ao.MinMaxObserver.with_args(dtype=torch.quint8, reduce_range=True), weight=ao.default_weight_observer)


SYMMETRIC = ao.QConfig(activation=ao.MinMaxObserver.with_args(dtype=torch.quint8, qscheme=torch.per_tensor_symmetric), weight=ao.default_weight_observer)


def _spread(norm):
    return torch_layers.spread(None, norm)


class Layers(nn.Module):
    """Two layers, and a forward function of them."""

    def __init__(self, compute):
        super().__init__()
        self.a, self.b, self.relu, self.compute = nn.Linear(4, 4), nn.Linear(4, 4), nn.ReLU(), compute
        self.norm, self.other = (_spread(nn.BatchNorm1d(4)) for _ in range(2))
        self.wide = nn.ConvTranspose2d(1, 2, 3, stride=2, padding=1)
        self.up, self.norm_of_images, self.norm_of_rows = nn.ConvTranspose2d(1, 2, 3, padding=1), _spread(nn.BatchNorm2d(2)), nn.LayerNorm(4)

    def forward(self, x):
        return self.compute(self, x)


def _torn(m, x):
    first, second = m.a(x), m.b(x)
    return torch.cat([second, F.hardtanh(first)], 1)


def _unread(m, x):
    y = m.a(x)
    torch.cat([y, x], 1)
    return y


def _norm_with_relu(m, x):
    return m.relu(m.norm_of_images(m.up(x.reshape(1, 1, 3, 4))))


def _wide(m, x):
    return torch.sin(m.wide(x.reshape(1, 1, 3, 4)))


def _joined_known_range(m, x):
    y = torch.sigmoid(x)
    return torch.cat([y - x, y], 1)


def _static(mapping):
    return mapping.set_global(VALUES)


def _without_slices():
    full, backend = ao.backend_config.get_native_backend_config(), ao.backend_config.BackendConfig("without_slices")
    return backend.set_backend_pattern_configs([config for config in full.configs if config.pattern is not torch.narrow])


def _half_of_bytes():
    half = ao.backend_config.DTypeWithConstraints(dtype=torch.quint8, quant_min_lower_bound=0, quant_max_upper_bound=127)
    kind = ao.backend_config.DTypeConfig(input_dtype=half, output_dtype=torch.float, weight_dtype=torch.qint8, bias_dtype=torch.float, is_dynamic=True)
    layer = ao.backend_config.BackendPatternConfig(nn.Linear).set_observation_type(ao.backend_config.ObservationType.OUTPUT_USE_DIFFERENT_OBSERVER_AS_INPUT)
    layer.set_root_module(nn.Linear).set_reference_quantized_module(torch.ao.nn.quantized.reference.Linear).add_dtype_config(kind)
    return ao.backend_config.BackendConfig("half").set_backend_pattern_config(layer)


#: The module's function, its mapping, how the comparison of random modules knows it (unread results are not drawn), and another backend than the default.
CASES = {
    "split": (lambda m, x: F.relu(F.linear(x, m.a.weight)), lambda q: q.set_global(VALUES).set_object_type(F.linear, NARROW), "split"),
    "torn": (_torn, _static, "torn"),
    "unread": (_unread, _static, None),
    "confused": (lambda m, x: m.a(m.relu(m.a(x))), _static, "fused for several calls"),
    "behind_dynamic": (lambda m, x: m.b(m.a(x)), lambda q: q.set_global(VALUES).set_module_name("a", ao.default_dynamic_qconfig), "behind dynamic"),
    "lost_dynamic": (lambda m, x: torch.cat([m.b(x), m.a(x)], 1), lambda q: q.set_global(VALUES).set_module_name("a", ao.default_dynamic_qconfig), "lost dynamic"),
    "exceeds_reduced": (lambda m, x: m.a(x), lambda q: q.set_module_name("a", ao.default_dynamic_qconfig), "exceeds reduced", _half_of_bytes),
    "second_norm": (lambda m, x: m.other(m.norm(m.a(x))), _static, "second norm"),
    "norm_with_relu": (_norm_with_relu, _static, "norm with relu"),
    "ignored_entry": (lambda m, x: m.relu(m.a(x)), lambda q: q.set_global(VALUES).set_object_type(nn.Linear, None), "ignored entry"),
    "cut": (lambda m, x: torch.sigmoid(torch.sin(x)) + m.a(x), lambda q: q.set_global(VALUES).set_object_type(torch.sigmoid, KNOWN), None),
    "joined_known_range": (_joined_known_range, lambda q: q.set_global(VALUES).set_object_type(torch.sigmoid, KNOWN), None),
    "reused_floats": (lambda m, x: m.a(x.reshape(-1, 4)), lambda q: q.set_global(VALUES).set_object_type("reshape", ao.default_reuse_input_qconfig),
                      "reused floats"),
    "moves_without_patterns": (_wide, _static, "moves without patterns", _without_slices),
}


class Case(torch_fuzz.Case):
    def __init__(self, module, inputs, mapping, backend):
        self.seed, self.module, self.inputs, self.samples, self.traced = 0, module, inputs, [inputs], trace(module, Tracer())
        self.mapping, self.backend, self.is_histogram = mapping, backend, False


def _make_case(name):
    """One of CASES, and how the comparison of random modules knows it."""
    compute, make, reason, *backend = CASES[name]
    torch.manual_seed(0)
    return Case(Layers(compute).eval(), (torch.randn(3, 4),), make(ao.QConfigMapping()), backend[0]() if backend else None), reason


def _read_ours(case, reference):
    converted = torch_fuzz.quantize_fx.convert_to_reference_fx(case.prepare_ours())
    return torch_graphs.rename(torch_graphs.read_text(converted.code), torch_graphs.list_names(case.traced, torch_graphs.find_aliases(case.traced, reference)))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_differs_from_pytorch(compiler, name):
    case, reason = _make_case(name)
    if reason:
        with pytest.raises(torch_fuzz.LeftOut, match=reason):
            case.prepare_theirs()
    reference = torch_fuzz.convert_to_reference_fx(torch_graphs.prepare_with_torch(case.module, case.mapping, case.inputs, case.samples, backend_config=case.backend))
    assert torch_graphs.differ(_read_ours(case, reference), torch_graphs.read_module(reference, case.inputs))


@pytest.mark.filterwarnings("ignore")
def test_of_values_cut_to_a_known_range_the_range_alone_differs(compiler):
    case, _ = _make_case("cut")
    reference = case.prepare_theirs()
    assert case.cut == {"sin"}
    assert not torch_graphs.differ(_read_ours(case, reference), torch_graphs.read_module(reference, case.inputs), cut=case.cut)


@pytest.mark.filterwarnings("ignore")
def test_entry_of_a_fused_function_is_not_ignored(compiler):
    """PyTorch fuses it to the module, whose entry counts alone."""
    torch.manual_seed(0)
    module, inputs = Layers(lambda m, x: F.relu(m.a(x))).eval(), (torch.randn(3, 4),)
    mapping = ao.QConfigMapping().set_global(VALUES).set_object_type(F.relu, SYMMETRIC)
    torch_graphs.prepare_with_torch(module, mapping, inputs, [inputs])
    with pytest.raises(torch_fuzz.octet.CompileError, match="expected one activation observer for the fused nn.linear"):
        torch_fuzz.quantize_fx.prepare_fx(module, mapping, inputs)(*inputs)


@pytest.mark.filterwarnings("ignore")
def test_transposed_weights_have_scales_of_output_channels(compiler):
    torch.manual_seed(0)
    module, inputs = nn.Sequential(nn.ConvTranspose2d(3, 2, 1)).eval(), (torch.randn(1, 3, 4, 4),)
    # PyTorch refuses such observers in entries of other levels.
    rows = ao.QConfig(activation=VALUES.activation, weight=ao.default_per_channel_weight_observer)
    mapping = ao.QConfigMapping().set_global(VALUES).set_module_name_regex("0", rows)
    reference = torch_fuzz.convert_to_reference_fx(torch_graphs.prepare_with_torch(module, mapping, inputs, [inputs]))
    assert len(torch_weights.read_theirs(reference)["0.weight"][0].scales) == 3
    prepared = torch_fuzz.quantize_fx.prepare_fx(module, mapping, inputs)
    prepared(*inputs)
    ours = torch_weights.read_ours(torch_fuzz.quantize_fx.convert_to_reference_fx(prepared)._converted.bytecode)["0.weight"][0]
    expected = module[0].weight.detach().abs().amax((0, 2, 3)) / 127.5
    assert ours.scales == pytest.approx(expected.numpy(), rel=1e-6)


@pytest.mark.filterwarnings("ignore")
def test_trained_layer_with_norm_and_relu_is_one_unit(compiler):
    torch.manual_seed(0)
    module, inputs = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.ReLU()).train(), (torch.randn(3, 4),)
    mapping = ao.get_default_qat_qconfig_mapping("x86")
    counts = []
    for quantization in (torch_fuzz_training.theirs, torch_fuzz.quantize_fx):
        prepared = quantization.prepare_qat_fx(module, mapping, inputs)
        prepared(*inputs)
        counts.append(quantization.convert_to_reference_fx(prepared.eval()))
    assert len(torch_graphs.read_module(counts[0], inputs).pairs) == 3
    assert len(torch_graphs.read_text(counts[1].code).pairs) == 2
