# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One network under one policy in its forms: octet.torch's objects, PyTorch's, their dictionaries, the names of built-in files."""
import importlib

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (pip install torch)")
pytest.importorskip("torch.ao.quantization.quantize_fx", reason="this PyTorch has no torch.ao.quantization")
octet = pytest.importorskip("octet")
from torch import nn  # noqa: E402
from torch.ao import quantization as ao  # noqa: E402

import octet.torch as names  # noqa: E402
from octet.torch import backend_config as backends  # noqa: E402
from octet.torch.quantize_fx import convert_fx, prepare_fx  # noqa: E402
from torch_policy import ENGINES  # noqa: E402


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.up, self.fc = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Conv2d(8, 8, 1), nn.Linear(8 * 16, 10)

    def forward(self, x):
        x = torch.relu(self.norm(self.conv(x)))
        x = torch.sigmoid(self.up(x)) * x + x
        return self.fc(x.reshape(x.shape[0], 128)).tanh()


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(0)
    return Network().eval()


def run(network, mapping, backend):
    torch.manual_seed(1)
    samples = [torch.randn(1, 3, 6, 6) for _ in range(3)]
    prepared = prepare_fx(network, mapping, (samples[0],), backend_config=backend)
    for x in samples:
        prepared(x)
    converted = convert_fx(prepared)
    return torch.cat([converted(x) for x in samples]), [(row["name"], row["verdict"]) for row in converted.report.data["operators"]]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Default qconfig of oneDNN")
@pytest.mark.parametrize("engine", ENGINES)
def test_all_forms_are_one_policy(network, engine):
    theirs = importlib.import_module(f"torch.ao.quantization.backend_config.{engine}")
    get = f"get_{engine}_backend_config"
    forms = [(names.get_default_qconfig_mapping(engine), getattr(backends, get)()),
             (ao.get_default_qconfig_mapping(engine), getattr(theirs, get)()),
             (names.get_default_qconfig_mapping(engine).to_dict(), getattr(theirs, get)().to_dict()),
             (f"{engine}_default_mapping", engine)]
    results = [run(network, *form) for form in forms]
    for result, verdicts in results[1:]:
        assert verdicts == results[0][1] and torch.equal(result, results[0][0])
    assert ("conv", "int8") in results[0][1] and ("fc", "int8") in results[0][1]


@pytest.mark.parametrize("setting", ("torch.nn.Linear", "name", "regex", "order"))
def test_entries_of_all_levels_reach_their_operators(network, setting):
    mapping = names.QConfigMapping().set_global(names.default_qconfig)
    {"torch.nn.Linear": lambda: mapping.set_object_type(nn.Linear, None), "name": lambda: mapping.set_module_name("fc", None),
     "regex": lambda: mapping.set_module_name_regex("f.", None),
     "order": lambda: mapping.set_module_name_object_type_order("", nn.Linear, 0, None)}[setting]()
    verdicts = dict(run(network, mapping, "native")[1])
    assert (verdicts["fc"], verdicts["conv"]) == ("float", "int8")
