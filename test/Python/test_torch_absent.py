# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""octet.torch without torch.ao, and without PyTorch; octet alone does not import PyTorch."""
import os
import subprocess
import sys

import pytest

pytest.importorskip("octet")

WITHOUT = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name == {gone!r} or name.startswith({gone!r} + "."):
            raise ModuleNotFoundError(f"No module named {{name!r}}")

sys.meta_path.insert(0, Refuse())
"""

USE = """
import torch
assert not any(name.startswith("torch.ao") for name in sys.modules)
import octet.torch
from octet.torch import backend_config, custom_configs, qconfig, qconfig_mapping
from octet.torch._policy import write_backend, write_mapping
for engine in qconfig.ENGINES:
    for get in (qconfig_mapping.get_default_qconfig_mapping, qconfig_mapping.get_default_qat_qconfig_mapping):
        write_mapping(get(engine), custom_configs.PrepareCustomConfig().set_input_quantized_indexes([0]))
for name in backend_config.__all__:
    if name.startswith("get_"):
        config = getattr(backend_config, name)()
        assert "torch.ao.nn.intrinsic.LinearReLU" in write_backend(config) or name == "get_executorch_backend_config", name
from octet.torch import ns, quantize_dynamic, quantize_fx
network, x = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)).eval(), torch.ones(1, 8)
prepared = quantize_fx.prepare_fx(network, qconfig_mapping.get_default_qconfig_mapping(), (x,), backend_config=backend_config.get_x86_backend_config())
prepared(x)
quantize_fx.convert_fx(prepared)(x), ns.compare_layers(prepared), quantize_dynamic(network)(x)
assert not any(name.startswith("torch.ao") for name in sys.modules)
print("used")
"""


def run(code):
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)


@pytest.fixture
def preloaded():
    """Whether this PyTorch loads torch.ao by itself, so that it cannot be taken away from under it."""
    pytest.importorskip("torch", reason="PyTorch is not installed (pip install torch)")
    done = run("import sys, torch; print(any(name.startswith('torch.ao') for name in sys.modules))")
    return done.stdout.strip() == "True"


def test_all_works_without_torch_ao(preloaded):
    code = USE
    if preloaded:  # take it away behind PyTorch's import
        take = "for name in [name for name in sys.modules if name.startswith('torch.ao')]:\n    del sys.modules[name]\n"
        code = USE.replace("import torch\n", "").replace("assert", take + "assert", 1)
        code = "import torch\n" + "del torch.ao\n" + WITHOUT.format(gone="torch.ao") + code
    else:
        code = WITHOUT.format(gone="torch.ao") + code
    done = run(code)
    assert done.returncode == 0 and done.stdout.endswith("used\n"), done.stderr


def test_octet_does_not_import_torch():
    done = run("import sys, octet; assert not any(name.split('.')[0] == 'torch' for name in sys.modules)")
    assert done.returncode == 0, done.stderr


def test_without_torch_the_remedy_is_named():
    done = run(WITHOUT.format(gone="torch") + "import octet.torch")
    assert done.returncode == 1
    assert "ImportError: octet.torch needs PyTorch, which Octet does not install: pip install torch" in done.stderr


def test_without_the_builder_the_remedy_is_named():
    pytest.importorskip("torch", reason="PyTorch is not installed (pip install torch)")
    done = run("import torch\n" + WITHOUT.format(gone="octet._ir") + "import octet.torch")
    assert done.returncode == 1
    assert "ImportError: octet.torch needs octet._ir, which Octet's own build makes" in done.stderr
