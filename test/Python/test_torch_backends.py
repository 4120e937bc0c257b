# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""octet.torch's backends against PyTorch's, pattern by pattern, and what their parts refuse."""
import json

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (pip install torch)")
ao = pytest.importorskip("torch.ao.quantization", reason="this PyTorch has no torch.ao.quantization")
pytest.importorskip("torch.ao.quantization.quantize_fx")

import importlib

import octet
from octet.torch import backend_config as own
from octet.torch import quantize_fx
from octet.torch._policy import write_backend, write_config
from octet.torch.qconfig_mapping import get_default_qconfig_mapping
from torch_policy import BACKENDS
from test_builtin_backends import describe, get_pattern


def get_theirs(name):
    module = importlib.import_module(f"torch.ao.quantization.backend_config.{name}")
    return getattr(module, f"get_{name}_backend_config")()


def read(backend):
    """{pattern: what decides how it is quantized}"""
    configs = list(map(write_config, backend.configs))
    patterns = {get_pattern(config): describe(config) for config in configs}
    assert len(patterns) == len(configs)
    return patterns


@pytest.mark.parametrize("name", BACKENDS)
def test_backend_is_pytorchs(tool, tmp_path, name):
    mine, theirs = getattr(own, f"get_{name}_backend_config")(), get_theirs(name)
    assert read(mine) == read(theirs)
    assert mine.name == name and len(mine.configs) > 80
    (tmp_path / "empty.mlir").write_text("func.func @main() { return }\n")
    for backend in (mine, theirs):
        (tmp_path / "backend.json").write_text(write_backend(backend))
        tool("octet-opt", tmp_path / "empty.mlir", f"--octet-attach-policy=qconfig-mapping=fbgemm_default_mapping backend={tmp_path / 'backend.json'}")


@pytest.mark.parametrize("name", BACKENDS)
def test_dictionaries_go_in_and_come_out(name):
    mine = getattr(own, f"get_{name}_backend_config")()
    assert write_backend(own.BackendConfig.from_dict(mine.to_dict())) == write_backend(mine) == write_backend(mine.to_dict())
    theirs = get_theirs(name)
    assert write_backend(own.BackendConfig.from_dict(theirs.to_dict())) == write_backend(theirs)
    assert own.BackendConfig.from_dict(theirs.to_dict()).to_dict().keys() == theirs.to_dict().keys()


@pytest.mark.parametrize("name", ("native", "tensorrt"))
def test_dictionary_functions(name):
    assert write_backend(getattr(own, f"get_{name}_backend_config_dict")()) == write_backend(getattr(own, f"get_{name}_backend_config")())


@pytest.mark.parametrize("engine, bias", [("x86", "f32"), ("fbgemm", "f32"), ("onednn", "f32"), ("qnnpack", "qint32")])
def test_the_engine_decides_about_biases(monkeypatch, engine, bias):
    """Its kernels add floats, or integers; dynamic layers always add floats."""
    for name in ("native", "qnnpack"):
        types = [types for config in json.loads(write_backend(getattr(own, f"get_{name}_backend_config")(), engine))["configs"]
                 for types in config["dtype_configs"] if "bias_dtype" in types]
        assert {types["bias_dtype"] for types in types if not types.get("is_dynamic")} == {bias}
        assert {types["bias_dtype"] for types in types if types.get("is_dynamic")} == {"f32"}
    monkeypatch.setattr(torch.backends.quantized, "engine", engine)
    layer, x = torch.nn.Sequential(torch.nn.Linear(4, 4)).eval(), torch.ones(1, 4)
    prepared = quantize_fx.prepare_fx(layer, get_default_qconfig_mapping(engine), (x,))
    prepared(x)
    assert ("i32:f32" in quantize_fx.convert_to_reference_fx(prepared).code) == (engine == "qnnpack")


def build(module):
    """A backend with all members that have a setter, from the classes of a module."""
    byte, scaled = module.DTypeWithConstraints(torch.quint8, 0, 255), module.DTypeWithConstraints(torch.qint8, -127, 127, 2**-12)
    types = module.DTypeConfig(byte, output_dtype=torch.quint8, weight_dtype=scaled, bias_dtype=torch.float)
    dynamic = module.DTypeConfig.from_dict({"input_dtype": torch.float16, "output_dtype": torch.float, "is_dynamic": True})
    different, shared = module.ObservationType.OUTPUT_USE_DIFFERENT_OBSERVER_AS_INPUT, module.ObservationType.OUTPUT_SHARE_OBSERVER_WITH_INPUT
    match_all = importlib.import_module("torch.ao.quantization.utils").MatchAllNode
    linear = module.BackendPatternConfig(torch.nn.Linear).add_dtype_config(types).add_dtype_config(dynamic).set_root_module(torch.nn.Linear)
    linear.set_qat_module(torch.nn.Linear).set_reference_quantized_module(torch.nn.Linear).set_observation_type(different)
    fused = module.BackendPatternConfig().set_pattern((torch.nn.Linear, torch.nn.ReLU)).set_dtype_configs([types])
    fused.set_fused_module(torch.ao.nn.intrinsic.LinearReLU).set_fuser_method(test_setters_are_pytorchs)
    residual = module.BackendPatternConfig()._set_pattern_complex_format((torch.nn.ReLU, (torch.add, torch.nn.Conv2d, match_all)))
    residual._set_root_node_getter(len)._set_extra_inputs_getter(len)._set_input_type_to_index({"weight": 1}).set_dtype_configs([types])
    cat = module.BackendPatternConfig.from_dict({"pattern": torch.cat, "observation_type": shared, "dtype_configs": [{"input_dtype": torch.quint8}]})
    cat._set_num_tensor_args_to_observation_type({0: different, 1: shared})
    backend = module.BackendConfig("before").set_name("mine").set_backend_pattern_config(module.BackendPatternConfig(torch.nn.Linear))
    return backend.set_backend_pattern_configs([linear, fused, residual, cat, module.BackendPatternConfig("reshape")])


def test_setters_are_pytorchs(tool, tmp_path):
    mine, theirs = build(own), build(ao.backend_config)
    text = write_backend(mine)
    assert json.loads(text) == json.loads(write_backend(theirs))
    assert len(mine.configs) == 5  # the second config of a pattern replaces the first
    assert mine.to_dict()["configs"][0].keys() == theirs.to_dict()["configs"][0].keys()
    (tmp_path / "in.json").write_text(text)
    tool("octet-translate", tmp_path / "in.json", "--import-backend-config", "-o", tmp_path / "backend.mlir")
    assert json.loads(tool("octet-translate", tmp_path / "backend.mlir", "--export-backend-config").stdout) == json.loads(text)


def test_sequence_and_nested_form_are_one_pattern():
    first = own.BackendPatternConfig((torch.nn.Linear, torch.nn.ReLU))
    second = own.BackendPatternConfig()._set_pattern_complex_format((torch.nn.ReLU, torch.nn.Linear))
    assert own.BackendConfig("a").set_backend_pattern_configs([first, second]).configs == [second]


def test_either_side_of_an_operator_is_one_graph():
    any_node = importlib.import_module("octet.torch._names").MatchAllNode
    configs = [own.BackendPatternConfig()._set_pattern_complex_format((torch.add, *sides))
               for sides in ((torch.nn.Linear, any_node), (any_node, torch.nn.Linear))]
    backend = own.BackendConfig("a").set_backend_pattern_configs(configs)
    assert len(backend.configs) == 2
    assert [config["pattern_complex_format"] for config in json.loads(write_backend(backend))["configs"]] == [["torch.add", "torch.nn.Linear", "*"]]


def test_types_are_readable():
    types = own.DTypeConfig(torch.quint8, own.DTypeWithConstraints(torch.qint8, scale_exact_match=0.5, zero_point_exact_match=0), is_dynamic=False)
    assert (types.input_dtype, types.output_dtype, types.weight_dtype) == (torch.quint8, torch.qint8, None)
    assert types == own.DTypeConfig.from_dict(types.to_dict()) and "weight_dtype" not in types.to_dict()
    assert "scale_exact_match=0.5" in repr(types)
    config = own.BackendPatternConfig(torch.nn.Linear).add_dtype_config(types)
    assert "Linear" in repr(config) and "root_module" not in repr(config)
    assert repr(own.BackendConfig("b").set_backend_pattern_config(config)).startswith("BackendConfig('b', [BackendPatternConfig(")


@pytest.mark.parametrize("make, message", [
    (lambda: own.DTypeConfig("quint8"), "DTypeConfig: input_dtype: expected a torch.dtype or DTypeWithConstraints, but got 'quint8'"),
    (lambda: own.DTypeConfig.from_dict({"dtype": torch.quint8}), "DTypeConfig: 'dtype' is no key; the keys are input_dtype"),
    (lambda: own.BackendPatternConfig("a").add_dtype_config(torch.quint8), "dtype_configs: expected DTypeConfig or its dictionary, but got torch.quint8"),
    (lambda: own.BackendPatternConfig("a").set_observation_type(0), "expected an ObservationType, but got 0"),
    (lambda: own.BackendPatternConfig("a")._set_pattern_complex_format(("a", "b")), "but got both; omit one"),
    (lambda: own.BackendPatternConfig.from_dict({"class": 1}), "BackendPatternConfig: 'class' is no key; the keys are observation_type"),
    (lambda: write_backend(3), "expected a BackendConfig or its dictionary, but got int"),
])
def test_bad_parts_are_refused(make, message):
    with pytest.raises(octet.InputError) as error:
        make()
    assert message in str(error.value)


def test_the_translator_is_needed(monkeypatch, tmp_path):
    from octet.torch.backend_config import builtin

    monkeypatch.setattr(builtin, "find_compiler", lambda: str(tmp_path / "octet-compile"))
    monkeypatch.setenv("PATH", "")
    builtin._export.cache_clear()
    with pytest.raises(octet.CompileError, match="octet-translate is not installed: put it beside octet-compile, or on PATH"):
        own.get_x86_backend_config()
    (tmp_path / "octet-translate").write_text("#!/bin/sh\necho broken >&2\nexit 1\n")
    (tmp_path / "octet-translate").chmod(0o755)
    with pytest.raises(octet.CompileError, match="broken"):
        own.get_x86_backend_config()
