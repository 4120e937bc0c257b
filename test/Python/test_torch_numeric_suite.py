# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's numeric suite by its names, against PyTorch's own figures; statistics of observers that are kept and loaded."""
import copy

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (pip install torch)")
octet = pytest.importorskip("octet")
import octet.torch as names  # noqa: E402
from octet.torch import ns  # noqa: E402
from octet.torch.quantize_fx import convert_fx, prepare_fx  # noqa: E402
from torch import nn  # noqa: E402

MAPPING = names.get_default_qconfig_mapping("qnnpack")


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.Flatten(), nn.Linear(8 * 16, 10)).eval()


@pytest.fixture(scope="module")
def samples():
    torch.manual_seed(1)
    return [torch.randn(1, 3, 8, 8) for _ in range(4)]


def prepare(network, samples, mapping=MAPPING):
    prepared = prepare_fx(network, mapping, (samples[0],))
    for x in samples:
        prepared(x)
    return prepared


@pytest.fixture(scope="module")
def prepared(network, samples):
    return prepare(network, samples)


@pytest.fixture(scope="module")
def converted(prepared):
    return convert_fx(prepared)


@pytest.fixture(scope="module")
def theirs(network, samples):
    """PyTorch's numeric suite, and its models of the same network with one sample."""
    suite = pytest.importorskip("torch.ao.ns._numeric_suite_fx", reason="this PyTorch has no torch.ao.ns")
    quantize_fx = pytest.importorskip("torch.ao.quantization.quantize_fx")
    before, torch.backends.quantized.engine = torch.backends.quantized.engine, "qnnpack"
    mapping = pytest.importorskip("torch.ao.quantization").get_default_qconfig_mapping("qnnpack")
    model = quantize_fx.prepare_fx(copy.deepcopy(network), mapping, (samples[0],))
    model(samples[0])
    yield suite, model, quantize_fx.convert_fx(copy.deepcopy(model))
    torch.backends.quantized.engine = before


def read(results, kind, name="b"):
    """{layer: signal-to-noise ratio}; nodes of PyTorch are named as modules with underscores."""
    return {layer.strip("_").replace(".", "_"): float(kinds[kind][name][0]["sqnr"][0]) for layer, kinds in results.items()}


@pytest.mark.filterwarnings("ignore")
def test_figures_are_pytorchs(network, samples, theirs):
    suite, float_model, int_model = theirs
    prepared = prepare(network, samples[:1])
    converted = convert_fx(prepared)
    utils = pytest.importorskip("torch.ao.ns.fx.utils")
    for mine, kind, run in ((lambda s, a, b: s.extract_weights("a", a, "b", b), "weight", None),
                            (lambda s, a, b: s.add_loggers("a", a, "b", b, s.OutputLogger), "node_output", "extract_logger_info"),
                            (lambda s, a, b: s.add_shadow_loggers("a", a, "b", b, s.OutputLogger), "node_output", "extract_shadow_logger_info")):
        figures = []
        for module, sqnr, a, b in ((ns, ns.compute_sqnr, prepared, converted), (suite, utils.compute_sqnr, copy.deepcopy(float_model), copy.deepcopy(int_model))):
            results = mine(module, a, b)
            if run:
                models = results if isinstance(results, tuple) else (results,)
                for model in models:
                    model(samples[0])
                results = getattr(module, run)(*models, module.OutputLogger, "b")
            module.extend_logger_results_with_comparison(results, "a", "b", sqnr, "sqnr")
            figures.append(read(results, kind))
        own, recorded = figures
        common = set(own) & set(recorded)
        assert len(common) >= 3, (own, recorded)
        for layer in common:
            # PyTorch's histograms have other bins, so that activations differ by some per cent in their scales.
            assert abs(own[layer] - recorded[layer]) < (1e-3 if kind == "weight" else 1.0), (layer, own, recorded)


def test_other_figures(prepared, converted):
    layers = ns.compare_layers(prepared)
    results = ns.extract_weights("float", prepared, "int8", converted)
    for function, name in ((ns.compute_normalized_l2_error, "l2"), (ns.compute_cosine_similarity, "cosine")):
        ns.extend_logger_results_with_comparison(results, "float", "int8", function, name)
    for layer in layers:
        if layer.weights:
            entry = results[layer.name]["weight"]["int8"][0]
            assert (entry["l2"], entry["cosine"]) == ([layer.weights.normalized_l2], [layer.weights.cosine])
            assert entry["fqn"] == layer.name and entry["values"] == []
    assert set(results) == {"0", "2", "4"}


def test_logged_models_run_and_take_no_more_samples(prepared, converted, samples):
    before = repr(prepared)
    first, second = ns.add_loggers("a", prepared, "b", converted)
    assert torch.equal(first(samples[0]), prepared.float_module(samples[0])) and torch.equal(second(samples[0]), converted(samples[0]))
    assert repr(prepared) == before


def test_samples_of_several_shapes_calibrate_together(network, samples):
    prepared = prepare(network, [*samples[:3], torch.cat(samples)])
    layers = ns.compare_layers(prepared)
    assert len(layers) == 3 and all(layer.local.sqnr > 20 for layer in layers)


def test_several_qconfigs(network, samples, capsys):
    coarse = names.QConfig(names.MinMaxObserver.with_args(quant_min=0, quant_max=15), names.default_weight_observer)
    multiple = ns.QConfigMultiMapping().set_global([names.default_qconfig, coarse, None, names.default_qconfig])
    assert len(multiple.qconfig_mappings_list) == 2
    shadows = ns.prepare_n_shadows_model(network, (samples[0],), multiple)
    assert torch.equal(shadows(samples[0]), network(samples[0]))
    ns.loggers_set_enabled(shadows, False)
    shadows(samples[1])
    assert "calibrated with 1 inputs" in repr(shadows)
    results = ns.extract_results_n_shadows_model(ns.convert_n_shadows_model(shadows))
    fine, rough = results.values()
    assert all(a.local.sqnr > b.local.sqnr + 6 for a, b in zip(fine, rough))
    ns.print_comparisons_n_shadows_model(results)
    assert capsys.readouterr().out.startswith("layer  qconfigs 0  qconfigs 1  best")


def test_multiple_mappings_are_pytorchs():
    theirs = pytest.importorskip("torch.ao.ns.fx.qconfig_multi_mapping", reason="this PyTorch has no torch.ao.ns")
    ao = pytest.importorskip("torch.ao.quantization")
    from octet.torch._policy import write_mapping

    def build(mapping, module):
        first, second = module.default_qconfig, module.default_dynamic_qconfig
        mapping.set_object_type(nn.Linear, [first]).set_global([first, second]).set_module_name("a", [None])
        mapping.set_module_name_regex("b.*", [second, first, second]).set_module_name_object_type_order("c", nn.ReLU, 1, [first])
        return [write_mapping(each) for each in mapping.qconfig_mappings_list]

    assert build(ns.QConfigMultiMapping(), names) == build(theirs.QConfigMultiMapping(), ao)
    same = ns.QConfigMultiMapping.from_list_qconfig_mapping([MAPPING])
    assert same.qconfig_mappings_list == [MAPPING]


@pytest.mark.parametrize("make, message", [
    (lambda p, c: ns.compare_layers(c), "expected a module that prepare_fx returned, but got CompiledModule"),
    (lambda p, c: ns.extract_weights("a", c, "b", p), "but got CompiledModule and PreparedModule"),
    (lambda p, c: ns.compute_sqnr(1, 2), "values are not kept; give the function itself"),
    (lambda p, c: ns.extend_logger_results_with_comparison({}, "a", "b", max, "max"), "comparison_fn: expected compute_sqnr"),
    (lambda p, c: ns.extend_logger_results_with_comparison(ns.extract_weights("a", p, "b", c), "a", "c", ns.compute_sqnr, "sqnr"),
     "'c' is no model of these results, which have 'a', 'b'"),
])
def test_wrong_models_are_refused(prepared, converted, make, message):
    with pytest.raises(octet.InputError) as error:
        make(prepared, converted)
    assert message in str(error.value)


def test_a_module_that_was_never_called(network, samples):
    with pytest.raises(octet.InputError, match="was never called: call it with representative inputs before its layers"):
        ns.compare_layers(prepare_fx(network, MAPPING, (samples[0],)))


# ---- statistics -----------------------------------------------------------------------------------------------------------
def test_statistics_are_kept_and_loaded(network, samples, prepared, converted, tmp_path):
    torch.save(names.get_observer_state_dict(prepared), tmp_path / "observers.pt")
    again = prepare_fx(network, MAPPING, (samples[0],))
    names.load_observer_state_dict(again, torch.load(tmp_path / "observers.pt"))
    assert torch.equal(convert_fx(again)(samples[0]), converted(samples[0]))
    assert names.get_observer_state_dict(again) == names.get_observer_state_dict(prepared)


def test_loaded_statistics_and_calls_add_up(network, samples, converted):
    first, second = prepare(network, samples[:2]), prepare_fx(network, MAPPING, (samples[0],))
    names.load_observer_state_dict(second, names.get_observer_state_dict(first))
    for x in samples[2:]:
        second(x)
    assert torch.equal(convert_fx(second)(samples[0]), converted(samples[0]))


def test_statistics_of_several_shapes(network, samples):
    prepared = prepare(network, [samples[0], torch.cat(samples[1:])])
    state = names.get_observer_state_dict(prepared)
    assert {len(texts) for texts in state.values()} == {2}
    again = prepare_fx(network, MAPPING, (samples[0],))
    names.load_observer_state_dict(again, state)
    assert torch.equal(convert_fx(again)(samples[0]), convert_fx(prepared)(samples[0]))


def test_dictionary_of_observers(prepared):
    target = {"other": 1}
    names.get_observer_dict(prepared, target, "net")
    assert set(target) == {"other", *(f"net.{name}" for name in names.get_observer_state_dict(prepared))}


def test_statistics_of_other_networks_are_refused(prepared, converted):
    with pytest.raises(octet.InputError, match="'fc' is no observer of this module, which has '"):
        names.load_observer_state_dict(prepared, {"fc": ["octet.observer @fc #octet.min_max<dtype = ui8>"]})
    with pytest.raises(octet.InputError, match="expected a module that prepare_fx returned, but got CompiledModule"):
        names.get_observer_state_dict(converted)
