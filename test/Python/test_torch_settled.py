# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""convert_fx takes the policy again, as PyTorch's programs give it, but no other one."""
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (pip install torch)")
octet = pytest.importorskip("octet")
import octet.torch as names  # noqa: E402
from octet.torch import backend_config as backends  # noqa: E402
from octet.torch.quantize_fx import convert_fx, convert_to_reference_fx, prepare_fx  # noqa: E402
from torch import nn  # noqa: E402

QCONFIG = names.get_default_qconfig("qnnpack")


def make_mapping():
    return names.QConfigMapping().set_global(QCONFIG).set_module_name("1", None).set_module_name_regex("0", QCONFIG)


@pytest.fixture(scope="module")
def prepared():
    return prepare(backends.get_qnnpack_backend_config())


def prepare(backend):
    model = prepare_fx(nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2), nn.ReLU()).eval(), make_mapping(), (torch.ones(1, 4),), backend_config=backend,
                       prepare_custom_config=names.PrepareCustomConfig().set_non_traceable_module_names(["2"]))
    model(torch.ones(1, 4))
    return model


@pytest.mark.parametrize("convert", (convert_fx, convert_to_reference_fx))
def test_same_policy_is_taken(prepared, convert):
    x = torch.ones(1, 4)
    expected = convert(prepared)(x)
    given = {"qconfig_mapping": make_mapping(), "backend_config": backends.get_qnnpack_backend_config()}
    assert torch.equal(convert(prepared, **given)(x), expected)
    assert torch.equal(convert(prepared, qconfig_mapping=names.QConfigMapping().set_global(QCONFIG))(x), expected)


def test_names_of_backends_are_their_objects():
    model = prepare("qnnpack")
    convert_to_reference_fx(model, backend_config="qnnpack")
    convert_to_reference_fx(model, backend_config=backends.get_qnnpack_backend_config())


@pytest.mark.parametrize("given, message", [
    ({"backend_config": backends.get_tensorrt_backend_config}, "backend_config: is not that of prepare_fx"),
    ({"backend_config": lambda: "x86"}, "backend_config: is not that of prepare_fx"),
    ({"qconfig_mapping": names.QConfigMapping}, "qconfig_mapping: all operators: is not as in prepare_fx"),
    ({"qconfig_mapping": lambda: make_mapping().set_module_name("0", None)}, "qconfig_mapping: module_name 0: is not as in prepare_fx"),
    ({"qconfig_mapping": lambda: "x86_default_mapping"}, "qconfig_mapping: x86_default_mapping: is not as in prepare_fx"),
    ({"convert_custom_config": lambda: names.ConvertCustomConfig().set_observed_to_quantized_mapping(nn.Linear, nn.Linear)},
     "ConvertCustomConfig: observed_to_quantized_custom_module_class has no counterpart"),
])
def test_another_policy_is_refused(prepared, given, message):
    with pytest.raises(octet.InputError) as error:
        convert_fx(prepared, **{name: make() for name, make in given.items()})
    assert message in str(error.value)
