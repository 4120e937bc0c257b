# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The eager mode's functions by their names, against PyTorch's own."""
import copy
import pickle

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (pip install torch)")
octet = pytest.importorskip("octet")
import octet.torch as names  # noqa: E402
from octet.torch._observers import write_observer  # noqa: E402
from torch import nn  # noqa: E402

ao = pytest.importorskip("torch.ao.quantization", reason="this PyTorch has no torch.ao.quantization")


class Marked(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.quant, self.conv, self.relu = module.QuantStub(), nn.Conv2d(3, 8, 3), nn.ReLU()
        self.fc, self.dequant = nn.Linear(8 * 16, 10), module.DeQuantStub()

    def forward(self, x):
        return self.dequant(self.fc(torch.flatten(self.relu(self.conv(self.quant(x))), 1)))


def make(module, qconfig="qnnpack"):
    torch.manual_seed(0)
    model = Marked(module).eval()
    model.qconfig = module.get_default_qconfig(qconfig)
    return model


@pytest.fixture(scope="module")
def samples():
    torch.manual_seed(1)
    return [torch.randn(2, 3, 6, 6) for _ in range(4)]


def calibrate(model, samples):
    for x in samples:
        model(x)


@pytest.fixture
def qnnpack():
    before, torch.backends.quantized.engine = torch.backends.quantized.engine, "qnnpack"
    yield
    torch.backends.quantized.engine = before


@pytest.mark.filterwarnings("ignore")
def test_static_model_is_pytorchs(samples, qnnpack):
    results = []
    for module in (names, ao):
        model = module.fuse_modules(make(module), [["conv", "relu"]])
        results.append(module.quantize(model, calibrate, (samples,)))
    own, theirs = results
    for x in samples:
        # A step, where the last bits of a scale differ.
        assert (own(x) - theirs(x)).abs().max() <= theirs.fc.scale * 1.001


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype, tolerance", [(torch.qint8, 1e-5), (torch.float16, 3e-3)])  # PyTorch's kernel does not round inputs to float16
@pytest.mark.parametrize("spec", (None, {nn.Linear}, "name"))
def test_dynamic_model_is_pytorchs(dtype, tolerance, spec):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8)).eval()
    results = []
    for module in (names, ao):
        qconfig = module.default_dynamic_qconfig if dtype == torch.qint8 else module.qconfig.float16_dynamic_qconfig
        results.append(module.quantize_dynamic(model, {"0": qconfig} if spec == "name" else spec, dtype=dtype))
    own, theirs = results
    for shape in ((1, 16), (5, 16)):
        x = torch.randn(shape)
        expected = theirs(x)
        assert (own(x) - expected).abs().max() <= tolerance * expected.abs().max()
        assert not torch.equal(expected, model(x)) and not torch.equal(own(x), model(x))


def test_programs_that_ignore_results(samples):
    """With `inplace`, the module that was given is the prepared and then the converted one."""
    expected = names.quantize(make(names), calibrate, (samples,))
    model = make(names)
    assert names.prepare(model, inplace=True) is model
    calibrate(model, samples)
    assert names.convert(model, inplace=True) is model
    assert torch.equal(model(samples[0]), expected(samples[0]))
    linear = nn.Sequential(nn.Linear(4, 4)).eval()
    assert names.quantize_dynamic(linear, inplace=True) is linear
    assert torch.equal(linear(torch.ones(1, 4)), names.quantize_dynamic(nn.Sequential(*linear).eval())(torch.ones(1, 4)))


def test_given_module_stays_as_it_is(samples):
    model = make(names)
    before = model(samples[0])
    names.quantize(model, calibrate, (samples,))
    assert torch.equal(model(samples[0]), before)


def test_converted_module_is_pickled(samples):
    converted = names.quantize(make(names), calibrate, (samples,))
    assert torch.equal(pickle.loads(pickle.dumps(converted))(samples[0]), converted(samples[0]))
    dynamic = names.quantize_dynamic(nn.Sequential(nn.Linear(4, 4)).eval())
    with pytest.raises(octet.InputError, match="call it once before it is saved"):
        pickle.dumps(dynamic)
    dynamic(torch.ones(1, 4))
    assert torch.equal(pickle.loads(pickle.dumps(dynamic))(torch.ones(1, 4)), dynamic(torch.ones(1, 4)))


def test_qconfigs_of_modules_count(samples):
    model = make(names)
    model.fc.qconfig = None
    converted = names.quantize(model, calibrate, (samples,))
    found = {row["name"]: row["verdict"] for row in converted.report.data["operators"]}
    assert (found["conv"], found["fc"]) == ("int8", "float")


def test_propagated_qconfigs_are_pytorchs():
    qconfigs = []
    for module in (names, ao):
        model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Sequential(nn.Linear(8, 8), nn.ReLU()))
        model[1][1].qconfig = module.float_qparams_weight_only_qconfig
        module.propagate_qconfig_(model, {nn.Linear: module.default_dynamic_qconfig, "1": module.default_qconfig, "": module.default_per_channel_qconfig})
        parts = [part for part in model.modules() if isinstance(part, (nn.Sequential, nn.Conv2d, nn.Linear, nn.ReLU))]
        qconfigs.append([[write_observer(member, "qnnpack") for member in part.qconfig] for part in parts])
    assert qconfigs[0] == qconfigs[1] and len(set(map(str, qconfigs[0]))) == 4


def test_marks_compute_nothing(samples):
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU()).eval()
    x, expected = samples[0], model(samples[0])
    model[0].qconfig = names.default_qconfig
    wrapped = names.add_quant_dequant(copy.deepcopy(model))
    assert isinstance(wrapped[0], names.QuantWrapper) and isinstance(wrapped[1], nn.ReLU) and not wrapped[0].quant.training
    assert torch.equal(wrapped(x), expected) and wrapped[0].quant.qconfig is wrapped[0].module.qconfig
    converted = names.quantize(wrapped, calibrate, (samples,))
    assert [row["verdict"] for row in converted.report.data["operators"]][0] == "int8"


def test_pytorchs_marks_and_qconfigs_are_read(samples):
    expected = names.quantize(make(names), calibrate, (samples,))
    assert torch.equal(names.quantize(make(ao), calibrate, (samples,))(samples[0]), expected(samples[0]))


def train(model, samples):
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for x in samples:
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()


@pytest.mark.parametrize("inplace", (False, True))
def test_training_is_that_of_prepare_qat_fx(samples, inplace):
    from octet.torch.quantize_fx import convert_fx, prepare_qat_fx

    model, expected = make(names).train(), make(names).train()
    model.qconfig = names.get_default_qat_qconfig("qnnpack")
    prepared = prepare_qat_fx(expected, names.QConfigMapping().set_global(model.qconfig), (samples[0],))
    train(prepared, samples)
    before = model.fc.weight.clone()
    converted = names.quantize_qat(model, train, (samples,), inplace)
    with torch.no_grad():
        assert torch.equal(converted.eval()(samples[0]), convert_fx(prepared)(samples[0]))
    assert (converted is model) == inplace == (not torch.equal(before, model.fc.weight))


def test_prepared_training_module(samples):
    model = make(names).train()
    model.qconfig = names.get_default_qat_qconfig("qnnpack")
    prepared = names.prepare_qat(model)
    train(prepared, samples)
    assert not torch.equal(dict(prepared.named_parameters())["graph.fc.weight"], model.fc.weight)
    with torch.no_grad():
        values = prepared.eval()(samples[0])
        step = (names.convert(prepared)(samples[0]) - values).abs().max() / values.abs().max()
    assert step < 0.02  # rounded in training as in integers, but for ties and biases


class Doubled(nn.Linear):
    """A program's own module in place of `nn.Linear`."""

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        made = cls(mod.in_features, mod.out_features)
        made.weight, made.bias, made.precomputed = nn.Parameter(2 * mod.weight), mod.bias, use_precomputed_fake_quant
        return made


class Observed(Doubled):
    @classmethod
    def from_observed(cls, mod):
        return cls.from_float(mod)


class Plain(nn.ReLU):
    @classmethod
    def from_float(cls, mod):
        return cls()


@pytest.mark.filterwarnings("ignore")
def test_modules_are_swapped_as_pytorchs_are():
    calls = []

    def swap(module, mod, *arguments, qconfig=True):
        mod = copy.deepcopy(mod)
        if qconfig:
            mod.qconfig = module.get_default_qconfig("qnnpack")
        mod.register_forward_pre_hook(lambda _, x: calls.append("before"))
        mod.register_forward_hook(lambda _, x, y: calls.append("behind"))
        swapped = module.swap_module(mod, *arguments)
        return swapped is mod, type(swapped), getattr(swapped, "precomputed", None), swapped(torch.ones(2, 4)).sum().item()

    torch.manual_seed(2)
    linear = nn.Linear(4, 4)
    parametrized = nn.utils.parametrize.register_parametrization(copy.deepcopy(linear), "weight", nn.Identity())
    mapping = {nn.Linear: Doubled, nn.ReLU: Plain}
    for mod, arguments, qconfig in ((linear, (mapping, {}), True), (linear, (mapping, {}, True), True), (linear, (mapping, {}), False),
                                    (linear, (mapping, {nn.Linear: Observed}), True), (parametrized, (mapping, {}), True),
                                    (nn.ReLU(), (mapping, {}), True), (nn.Tanh(), (mapping, {}), True)):
        own, theirs = (swap(module, mod, *arguments, qconfig=qconfig) for module in (names, ao))
        assert own == theirs
    assert calls == 14 * ["before", "behind"]


def test_default_eval_fn(samples):
    seen = []
    names.default_eval_fn(seen.append, [(1, "a"), (2, "b")])
    assert seen == [1, 2]


@pytest.mark.parametrize("use, message", [
    (lambda model: names.convert(model), "expected a module that prepare returned, but got Marked"),
    (lambda model: names.prepare(model, allow_list={nn.Linear}), "use prepare_fx with a backend_config and a PrepareCustomConfig"),
    (lambda model: names.convert(names.prepare(model), mapping={nn.Linear: nn.Linear}), "there are no quantized modules to swap in"),
    (lambda model: names.convert(names.prepare(model))(torch.zeros(1, 3, 6, 6)), "was never called: call it with representative inputs"),
    (lambda model: names.quantize_dynamic(model, dtype=torch.qint32), "dtype: expected torch.qint8, torch.float16, torch.quint8"),
    (lambda model: names.quantize_dynamic(model, mapping={nn.Linear: nn.Linear}), "there are no quantized modules to swap in; omit it"),
    (lambda model: names.prepare_qat(model), "model: is in evaluation mode; call train() first, or use prepare"),
    (lambda model: names.prepare_qat(model.train(), mapping={nn.Linear: nn.Linear}), "there are no modules to swap in; omit it"),
    (lambda model: names.convert(names.prepare_qat(model.train())), "was never trained: call it with training data"),
    (lambda model: names.fuse_modules(model, ["conv", "bn"]), "Marked has no module 'bn'; it has 'quant', 'conv'"),
    (lambda model: names.fuse_modules_qat(model, [["conv", "bn"]]), "Marked has no module 'bn'"),
])
def test_wrong_use_is_refused(use, message):
    with pytest.raises(octet.InputError) as error:
        use(make(names))
    assert message in str(error.value)


def test_nothing_to_quantize_is_said():
    with pytest.warns(UserWarning, match="no module has a QConfig, so that nothing is quantized: set model.qconfig"):
        names.prepare(nn.Sequential(nn.Linear(4, 4)).eval())
