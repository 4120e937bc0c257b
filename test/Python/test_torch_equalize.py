# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Equalization by PyTorch's names, against PyTorch's own."""
import copy
import re

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (pip install torch)")
octet = pytest.importorskip("octet")
import octet.torch as names  # noqa: E402
from octet.torch import _equalize as consecutive  # noqa: E402
from octet.torch.fx import _equalize as inputs  # noqa: E402
from octet.torch.quantize_fx import convert_fx, convert_to_reference_fx, prepare_fx  # noqa: E402
from torch import nn  # noqa: E402

ao = pytest.importorskip("torch.ao.quantization", reason="this PyTorch has no torch.ao.quantization")
import torch.ao.quantization._equalize as their_consecutive  # noqa: E402
import torch.ao.quantization.fx._equalize as their_inputs  # noqa: E402
import torch.ao.quantization.quantize_fx as their_fx  # noqa: E402

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("compiler")]
OURS, THEIRS = inputs.default_equalization_qconfig, their_inputs.default_equalization_qconfig


class Linears(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.relu, self.second = nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 8)
        self.register_buffer("weight", torch.randn(5, 8))
        self.register_buffer("bias", torch.randn(5))

    def forward(self, x):
        return nn.functional.linear(self.second(self.relu(self.first(x))), self.weight, self.bias)


class Convs(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.first, self.relu, self.second, self.third = nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 6, 3), nn.Conv2d(6, 4, 1)

    def forward(self, x):
        return self.third(self.second(self.relu(self.first(x))))


def make(kind):
    """A module, and samples whose channels have ranges from 1 to 50."""
    model = kind().eval()
    shape = (2, 6) if kind is Linears else (1, 3, 8, 8)
    spread = torch.logspace(0, 1.7, shape[1]).reshape(1, -1, *[1] * (len(shape) - 2))
    return model, [torch.randn(shape) * spread for _ in range(6)]


@pytest.fixture
def qnnpack():
    before, torch.backends.quantized.engine = torch.backends.quantized.engine, "qnnpack"
    yield
    torch.backends.quantized.engine = before


def prepare(prepare_fx, module, model, samples, config, engine):
    prepared = prepare_fx(copy.deepcopy(model), module.get_default_qconfig_mapping(engine), (samples[0],), _equalization_config=config)
    for x in samples:
        prepared(x)
    return prepared


@pytest.mark.parametrize("kind, config, layers", [
    (Linears, {"": THEIRS}, ("first", "second", "linear")),
    (Linears, {"": OURS}, ("first", "second", "linear")),
    (Linears, {"module_name": [("second", THEIRS)]}, ("second",)),
    (Linears, {"object_type": [(nn.functional.linear, THEIRS)]}, ("linear",)),
    (Linears, {"": THEIRS, "module_name": [("second", None)]}, ("first", "linear")),
    (Convs, {"module_name_regex": [("(first|relu)", THEIRS)]}, ("first",)),
    (Convs, ao.QConfigMapping().set_module_name("third", THEIRS), ("third",)),
    (Convs, {"": None}, ()),
])
def test_layers_are_chosen_as_by_mappings(kind, config, layers):
    model, samples = make(kind)
    assert prepare(prepare_fx, names, model, samples, config, "x86")._source.policy.equalized == layers


def test_a_layer_that_is_called_twice_is_named_once():
    class Twice(Linears):
        def forward(self, x):
            return self.second(self.relu(self.second(self.first(x))))

    model, samples = Twice().eval(), [torch.randn(2, 6) for _ in range(3)]
    prepared = prepare(prepare_fx, names, model, samples, {"": OURS}, "qnnpack")
    assert prepared._source.policy.equalized == ("first", "second")
    for x in samples:
        assert (convert_fx(prepared)(x) - model(x)).abs().max() < 0.05 * model(x).abs().max()


def test_float_layers_are_left_alone():
    model, samples = make(Linears)
    mapping = names.get_default_qconfig_mapping("x86").set_module_name("second", None)
    assert prepare_fx(model, mapping, (samples[0],), _equalization_config={"": OURS})._source.policy.equalized == ("first", "linear")


def read_types(converted, kind):
    """[(scale, zero point)] of the values (u8) or weights (i8) with one scale, in the order of the network."""
    lines = [line for line in converted.code.split("octet.backend")[0].splitlines() if ("octet.quantize" if kind == "u8" else "nn.constant") in line]
    found = [re.findall(rf"!quant\.uniform<{kind}:f32, ([\d.eE+-]+)(?::(\d+))?>", line)[-1:] for line in lines]
    return [(float(scale), int(zero or 0)) for types in found for scale, zero in types]


def list_values(theirs):
    """The same of PyTorch's values."""
    nodes = [node for node in theirs.graph.nodes if node.target is torch.quantize_per_tensor and node.args[3] is torch.quint8]
    return [tuple(float(getattr(theirs, argument.target)) for argument in node.args[1:3]) for node in nodes]


@pytest.mark.parametrize("kind, config", [(Linears, {"": THEIRS}), (Convs, {"": THEIRS}), (Convs, {"module_name_regex": [("(first|relu)", THEIRS)]})])
def test_equalized_models_are_pytorchs(kind, config, qnnpack):
    """The multiplication, the range of what it computes, and the weights of all layers; ranges between them are as in docs/deviations.md."""
    model, samples = make(kind)
    reference = convert_to_reference_fx(prepare(prepare_fx, names, model, samples, config, "qnnpack"))
    theirs = their_fx.convert_to_reference_fx(prepare(their_fx.prepare_fx, ao, model, samples, config, "qnnpack"))
    assert reference.code.split("octet.backend")[0].count(" nn.mul") == theirs.code.count("torch.mul(") == 1
    own_values, their_values = read_types(reference, "u8"), list_values(theirs)
    assert len(own_values) == len(their_values)
    for own, other in ((own_values[0], their_values[0]), (own_values[-1], their_values[-1])):
        assert own == (pytest.approx(other[0], rel=1e-6), other[1])
    weights = [buffer.item() for name, buffer in theirs.named_buffers() if name.endswith("weight_scale")]
    found = [scale for scale, _ in read_types(reference, "i8")]
    assert found[:len(weights)] == pytest.approx(weights, rel=1e-5) and len(found) == 3


@pytest.mark.parametrize("config, least", [({"": THEIRS}, 1), ({"module_name": [("third", THEIRS)]}, 100)])
def test_ranges_between_layers_are_those_of_scaled_values(config, least, qnnpack):
    """PyTorch keeps the old ranges, and where the layer in front is not equalized leaves the factors out (docs/deviations.md)."""
    model, samples = make(Convs)
    own = convert_fx(prepare(prepare_fx, names, model, samples, config, "qnnpack"))
    theirs = their_fx.convert_to_reference_fx(prepare(their_fx.prepare_fx, ao, model, samples, config, "qnnpack"))
    errors = [sum((network(x) - model(x)).square().mean() for x in samples) for network in (own, theirs)]
    assert errors[1] > least * errors[0]


def test_the_worst_layers_are_chosen():
    model, samples = make(Linears)
    prepared = prepare(prepare_fx, names, model, samples, None, "qnnpack")
    ratios = inputs.get_layer_sqnr_dict(model, convert_fx(prepared), samples[0])
    assert set(ratios) == {"first", "second", "linear"} and all(ratio > 5 for ratio in ratios.values())
    assert ratios == {layer.name: layer.output.sqnr for layer in names.ns.compare_layers(prepared)}
    chosen, expected = (module.get_equalization_qconfig_dict(ratios, 2)["module_name"] for module in (inputs, their_inputs))
    assert [name for name, _ in chosen] == [name for name, _ in expected] and all(qconfig is OURS for _, qconfig in chosen)
    assert prepare(prepare_fx, names, model, samples, {"module_name": chosen}, "qnnpack")._source.policy.equalized


def test_equalization_helps():
    """Columns of the input with ranges from 1 to 50, which matter the same, share one scale without it."""
    model, samples = make(Linears)
    with torch.no_grad():
        model.first.weight /= torch.logspace(0, 1.7, 6)
    errors = [sum((convert_fx(prepare(prepare_fx, names, model, samples, config, "qnnpack"))(x) - model(x)).square().mean() for x in samples)
              for config in (None, {"": OURS})]
    assert errors[1] < errors[0] / 2


def test_other_shapes_are_refused():
    model, samples = make(Linears)
    prepared = prepare(prepare_fx, names, model, samples, {"": OURS}, "qnnpack")
    converted = convert_fx(prepared)
    with pytest.raises(octet.InputError, match=r"inputs of shapes \(3, 6\): a module whose inputs are equalized .* omit _equalization_config"):
        converted(torch.zeros(3, 6))
    prepared(torch.zeros(3, 6))
    with pytest.raises(octet.InputError, match="is calibrated by calls with these shapes alone"):
        convert_fx(prepared)


@pytest.mark.parametrize("config, backend, message", [
    ({"": names.default_qconfig}, None, "expected entries with an EqualizationQConfig or None, but got QConfig"),
    ({"": OURS}, "cpu", 'the backend "cpu" equalizes channels where that gains; omit it'),
    (3, None, "expected a QConfigMapping or its dictionary, but got int"),
])
def test_wrong_configs_are_refused(config, backend, message):
    model, samples = make(Linears)
    with pytest.raises(octet.InputError, match=message):
        prepare_fx(model, names.get_default_qconfig_mapping("x86"), (samples[0],), _equalization_config=config, backend_config=backend)


# ---- consecutive layers --------------------------------------------------------------------------------------------------
def test_equalized_weights_are_pytorchs():
    for kind, groups in ((Linears, [["first", "second"]]), (Convs, [["first", "second", "third"]]), (Convs, [["second", "third"], ["first", "second"]]),
                         (Linears, [])):
        model, samples = make(kind)
        own = consecutive.equalize(copy.deepcopy(model), copy.deepcopy(groups))
        theirs = their_consecutive.equalize(copy.deepcopy(model), copy.deepcopy(groups))
        for p, q in zip(own.parameters(), theirs.parameters(), strict=True):
            torch.testing.assert_close(p, q, rtol=1e-6, atol=1e-7)
        for x in samples:
            torch.testing.assert_close(own(x), model(x), rtol=1e-4, atol=1e-4)


def test_modules_and_copies():
    model = make(Convs)[0]
    weight = model.first.weight.clone()
    other = consecutive.equalize(model, [[model.first, model.second]], inplace=False)
    assert torch.equal(model.first.weight, weight) and not torch.equal(other.first.weight, weight)
    assert consecutive.equalize(model, [[model.first, model.second]]) is model and torch.equal(model.first.weight, other.first.weight)
    fused = [ao.fuse_modules(make(Convs)[0], ["first", "relu"]) for _ in range(2)]
    consecutive.cross_layer_equalization(fused[0].first, fused[0].second)
    their_consecutive.cross_layer_equalization(fused[1].first, fused[1].second)
    assert all(torch.equal(p, q) for p, q in zip(fused[0].parameters(), fused[1].parameters()))


def test_channels_of_equal_weights_keep_them():
    """PyTorch's become infinite and NaN (docs/deviations.md)."""
    models = [make(Convs)[0] for _ in range(3)]
    with torch.no_grad():
        for model in models:
            model.first.weight[2] = 0
    own, theirs, before = models
    consecutive.equalize(own, [["first", "second"]])
    their_consecutive.cross_layer_equalization(theirs.first, theirs.second)
    assert not theirs.first.weight.isfinite().all()
    assert torch.equal(own.first.weight[2], before.first.weight[2]) and torch.equal(own.second.weight[:, 2], before.second.weight[:, 2])
    x = torch.randn(1, 3, 8, 8)
    torch.testing.assert_close(own(x), before(x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("pairs, message", [
    ([["first"]], "expected groups of at least two modules"),
    ([["first", "fourth"]], "'fourth' is not a module of the model"),
    ([["first", "relu"]], "expected Conv1d, Conv2d, Linear, but got ReLU"),
    ([["first", "third"]], "module2: has 6 inputs, but module1 8 outputs; name modules that follow one another"),
])
def test_wrong_pairs_are_refused(pairs, message):
    with pytest.raises(octet.InputError, match=message):
        consecutive.equalize(make(Convs)[0], pairs)
