# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""octet.torch's QConfig mappings against PyTorch's and against Octet's own files."""
import operator

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (pip install torch)")
ao = pytest.importorskip("torch.ao.quantization", reason="this PyTorch has no torch.ao.quantization")

import json

import octet
from octet.torch import QConfig, QConfigMapping, qconfig_mapping
from octet.torch import FixedQParamsObserver, MinMaxObserver, default_dynamic_qconfig, default_qconfig, default_weight_observer
from octet.torch._names import find_type, name_type
from octet.torch._policy import write_mapping
from octet.torch.custom_configs import PrepareCustomConfig
from torch_policy import ENGINES, resolve  # noqa: F401

DEFAULTS = [(f"get_default_{kind}qconfig_mapping", (engine,), f"{engine}_default_{kind}mapping") for kind in ("", "qat_") for engine in ENGINES]
DEFAULTS += [("get_default_qconfig_mapping", (), "native_default_mapping"), ("get_default_qat_qconfig_mapping", ("x86", 0), "x86_default_qat_mapping"),
             ("_get_symmetric_qnnpack_qconfig_mapping", (), "qnnpack_symmetric_mapping"),
             ("_get_symmetric_qnnpack_qat_qconfig_mapping", (), "qnnpack_symmetric_qat_mapping")]


@pytest.mark.filterwarnings("ignore:Default qconfig of oneDNN")
@pytest.mark.parametrize("function, arguments, name", DEFAULTS)
def test_default_mapping_is_pytorchs_and_octets(resolve, function, arguments, name):  # noqa: F811
    own = write_mapping(getattr(qconfig_mapping, function)(*arguments))
    assert own == write_mapping(getattr(ao.qconfig_mapping, function)(*arguments))
    assert resolve(own) == resolve(name)


@pytest.mark.parametrize("function", ("get_default_qconfig_mapping", "get_default_qat_qconfig_mapping"))
def test_entries_for_other_operators_are_no_warnings(tool, tmp_path, function):
    """Default mappings are for all networks."""
    (tmp_path / "mapping.json").write_text(write_mapping(getattr(qconfig_mapping, function)()))
    (tmp_path / "network.mlir").write_text("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
                                           "  %y = nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>\n  return %y : tensor<4xf32>\n}\n")
    attach = f"--octet-attach-policy=backend=x86 qconfig-mapping={tmp_path / 'mapping.json'}"
    assert tool("octet-opt", tmp_path / "network.mlir", attach, "--octet-prepare").stderr == ""


def fill(mapping, qconfig):
    """A mapping with an entry of each level."""
    return (mapping.set_global(qconfig).set_object_type(torch.nn.Linear, None).set_object_type(torch.nn.functional.conv2d, qconfig)
            .set_object_type("reshape", qconfig).set_module_name_regex("b.*", None).set_module_name_regex("a", qconfig)
            .set_module_name("body.0", qconfig).set_module_name_object_type_order("body", operator.add, 1, None))


def test_all_levels_are_written():
    own, theirs = fill(QConfigMapping(), default_qconfig), fill(ao.QConfigMapping(), ao.default_qconfig)
    qconfig = {"activation": "#octet.min_max<dtype = ui8, range = [0, 127]>", "weight": "#octet.min_max<dtype = si8, scheme = symmetric>"}
    assert json.loads(write_mapping(own)) == {
        "name": "torch", "": qconfig,
        "object_type": [["torch.nn.Linear", None], ["torch.nn.functional.conv2d", qconfig], ["torch.Tensor.reshape", qconfig]],
        "module_name_regex": [["b.*", None], ["a", qconfig]], "module_name": [["body.0", qconfig]],
        "module_name_object_type_order": [["body", "operator.add", 1, None]]}
    assert write_mapping(own) == write_mapping(theirs) == write_mapping(own.to_dict()) == write_mapping(theirs.to_dict())
    assert QConfigMapping.from_dict(own.to_dict()).to_dict() == own.to_dict()
    assert own.to_dict().keys() == theirs.to_dict().keys()
    assert repr(own).splitlines()[0] == repr(theirs).splitlines()[0] and len(repr(own).splitlines()) == len(repr(theirs).splitlines())


def test_a_name_of_two_operators_has_one_entry():
    mapping = QConfigMapping().set_module_name_regex("body.*", None).set_module_name_regex(".*", None)
    places = [("body.relu", "body.relu"), ("body.relu", "body"), ("fc", "fc")]
    assert json.loads(write_mapping(mapping, places=places))["module_name_regex"] == [[r"body\.relu$", None], ["fc$", None]]


def test_known_range_of_a_class_is_its_results():
    """As in the built-in mappings; a module by name has it for its inputs, too, and so has a mapping without another range."""
    fixed = QConfig(FixedQParamsObserver.with_args(scale=0.5, zero_point=0), default_weight_observer)
    text = "#octet.fixed_qparams<ui8, scale = 0.5 : f32, zero_point = 0>"
    mapping = QConfigMapping().set_global(default_qconfig).set_object_type(torch.nn.Tanh, fixed).set_module_name("a", fixed)
    written = json.loads(write_mapping(mapping))
    (_, of_class), (_, of_module) = *written["object_type"], *written["module_name"]
    assert of_class["result"] == text and of_class["activation"] == written[""]["activation"]
    assert of_module["activation"] == text and "result" not in of_module
    for everything in (None, fixed):
        (_, of_class), = json.loads(write_mapping(mapping.set_global(everything)))["object_type"]
        assert of_class["activation"] == text and "result" not in of_class


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("function", ("get_default_qconfig_dict", "get_default_qat_qconfig_dict"))
def test_dictionaries_of_defaults(function):
    assert write_mapping(getattr(qconfig_mapping, function)("qnnpack")) == write_mapping(getattr(ao, function)("qnnpack"))


def test_engine_is_pytorchs():
    mapping = QConfigMapping().set_global(default_dynamic_qconfig)
    before = torch.backends.quantized.engine
    assert write_mapping(mapping) == write_mapping(mapping, engine=before)
    assert ("reduce_range" in write_mapping(mapping, engine="x86")) and "reduce_range" not in write_mapping(mapping, engine="qnnpack")


def test_custom_config_goes_into_the_mapping(resolve):  # noqa: F811
    custom = PrepareCustomConfig().set_input_quantized_indexes([0]).set_output_quantized_indexes([0]).set_non_traceable_module_names(["l"])
    custom.set_non_traceable_module_classes([torch.nn.Tanh])
    mapping = QConfigMapping().set_global(default_qconfig).set_module_name("l", default_qconfig).set_object_type(torch.nn.Tanh, default_qconfig)
    text = write_mapping(mapping, custom)
    assert json.loads(text)["quantized_inputs"] == json.loads(text)["quantized_outputs"] == [0]
    found = resolve(text)
    assert found["torch.nn.Linear"] is found["torch.nn.Tanh"] is None and found["torch.tanh"]
    assert text == write_mapping(mapping, custom.to_dict())


@pytest.mark.parametrize("key, value, remedy", [
    ("float_to_observed_custom_module_class", {"static": {torch.nn.Tanh: torch.nn.ReLU}}, "write a pattern on the operators"),
])
def test_what_has_no_counterpart_is_refused(key, value, remedy):
    with pytest.raises(octet.InputError, match=f"PrepareCustomConfig: {key} has no counterpart; {remedy}"):
        write_mapping(QConfigMapping(), PrepareCustomConfig.from_dict({key: value}))


@pytest.mark.parametrize("mapping, message", [
    (QConfigMapping().set_object_type(torch.nn.Linear, default_qconfig._replace(activation=None)),
     "QConfig of object_type 'torch.nn.Linear': expected a QConfig with an activation"),
    (QConfigMapping().set_global(MinMaxObserver), "QConfig of all operators: expected a QConfig with an activation"),
    (QConfigMapping().set_module_name("a", QConfig(MinMaxObserver.with_args(quant_max=3), None)),
     "QConfig of module_name 'a': activation: quant_min and quant_max: expected both or none"),
    (QConfigMapping().set_module_name_object_type_order("a", torch.relu, 1, QConfig(MinMaxObserver, int)),
     "QConfig of module_name_object_type_order 'a', 'torch.relu', 1: weight: builtins.int is no observer"),
    (3, "expected a QConfigMapping or its dictionary, but got int"),
])
def test_wrong_entries_are_named(mapping, message):
    with pytest.raises(octet.InputError) as error:
        write_mapping(mapping)
    assert message in str(error.value)


def test_unknown_level_is_refused():
    with pytest.raises(octet.InputError, match="'module' is no key of a mapping; the keys are '', 'object_type'"):
        QConfigMapping.from_dict({"module": []})


class Own(torch.nn.Module):
    pass


@pytest.mark.parametrize("thing, name", [
    (torch.nn.Linear, "torch.nn.Linear"), (torch.nn.functional.linear, "torch.nn.functional.linear"),
    (torch.conv2d, "torch.nn.functional.conv2d"), (torch.relu, "torch.relu"), (torch.nn.functional.relu, "torch.nn.functional.relu"),
    (torch.add, "torch.add"), (torch.Tensor.add, "torch.Tensor.add"), (operator.add, "operator.add"), (torch.cat, "torch.cat"),
    ("view", "torch.Tensor.view"), ("nn.sigmoid", "nn.sigmoid"), (Own, f"{__name__}.Own"),
    (ao.QConfigMapping, "torch.ao.quantization.QConfigMapping"), (torch.nn.functional.max_pool2d, "torch.nn.functional.max_pool2d"),
])
def test_names(thing, name):
    assert name_type(thing) == name
    if name not in ("torch.Tensor.add", "nn.sigmoid"):
        assert find_type(name) is thing or find_type(name) == thing
