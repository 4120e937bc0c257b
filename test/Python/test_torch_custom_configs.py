# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""octet.torch's custom configs against PyTorch's."""
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (pip install torch)")
ao = pytest.importorskip("torch.ao.quantization.fx.custom_config", reason="this PyTorch has no torch.ao.quantization")

import octet
from octet.torch import custom_configs as own


def fill(module, kind):
    """A config with all that it may hold."""
    config = getattr(module, kind)()
    if kind == "PrepareCustomConfig":
        config.set_standalone_module_name("a", None, (1,), getattr(module, kind)().set_input_quantized_indexes([1]), None)
        config.set_standalone_module_class(torch.nn.ReLU, None, (1,), None, None)
        config.set_float_to_observed_mapping(torch.nn.ReLU, torch.nn.Tanh)
        config.set_non_traceable_module_names(["b"]).set_non_traceable_module_classes([torch.nn.Tanh])
        config.set_input_quantized_indexes([0]).set_output_quantized_indexes([0, 2])
    elif kind == "ConvertCustomConfig":
        config.set_observed_to_quantized_mapping(torch.nn.ReLU, torch.nn.Tanh)
    return config.set_preserved_attributes(["c"])


@pytest.mark.parametrize("kind", ("PrepareCustomConfig", "ConvertCustomConfig", "FuseCustomConfig"))
def test_dictionary_is_pytorchs(kind):
    mine, theirs = fill(own, kind), fill(ao, kind)
    assert mine.to_dict() == theirs.to_dict()
    again = getattr(own, kind).from_dict(mine.to_dict())
    assert again.to_dict() == mine.to_dict()
    assert getattr(own, kind)().to_dict() == {} and repr(getattr(own, kind)()) == repr(getattr(ao, kind)())
    assert set(vars(mine)) == set(vars(theirs))


@pytest.mark.parametrize("make, message", [
    (lambda: own.PrepareCustomConfig.from_dict({"inputs": [0]}), "PrepareCustomConfig: 'inputs' is no key; the keys are standalone_module_name"),
    (lambda: own.ConvertCustomConfig.from_dict({"observed_to_quantized_custom_module_class": {"later": {}}}),
     "ConvertCustomConfig: 'later' is no kind of quantization; expected static, dynamic, qat or weight_only"),
    (lambda: own.FuseCustomConfig.from_dict({"a": 1}), "FuseCustomConfig: 'a' is no key; the keys are preserved_attributes"),
    (lambda: own.PrepareCustomConfig().set_float_to_observed_mapping(int, int, own.QuantType.DYNAMIC), "expected QuantType.STATIC, but got"),
])
def test_bad_keys_are_refused(make, message):
    with pytest.raises(octet.InputError) as error:
        make()
    assert message in str(error.value)
