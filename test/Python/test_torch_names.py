# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tables of docs/torch-names.md: every public name of PyTorch is in them, and those that are taken exist."""
import importlib
import re

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (pip install torch)")
pytest.importorskip("torch.ao.quantization", reason="this PyTorch has no torch.ao.quantization")


@pytest.fixture(scope="module")
def tables(source):
    """{(our module, PyTorch's module): {name: what is here}}"""
    result = {}
    for section in (source / "docs" / "torch-names.md").read_text().split("\n### ")[1:]:
        modules = re.match(r"`(\S+)`: `(\S+)`", section).groups()
        rows = re.findall(r"^\| (`.+?) \| (.+?) \|$", section, re.M)
        result[modules] = {name: here for names, here in rows for name in re.findall(r"`(\w+)`", names)}
        assert sum(len(re.findall(r"`\w+`", names)) for names, _ in rows) == len(result[modules])
    return result


def test_every_name_is_listed(tables):
    listed = {name for table in tables.values() for name in table}
    for _, theirs in tables:
        module = importlib.import_module(theirs)
        names = getattr(module, "__all__", None) or [name for name, value in vars(module).items()
                                                     if getattr(value, "__module__", "") == theirs and not name.startswith("_")]
        assert names and set(names) - listed == set(), theirs


def test_taken_names_exist_and_others_have_a_reason(tables):
    for (ours, _), table in tables.items():
        module = importlib.import_module(ours)
        for name, here in table.items():
            assert hasattr(module, name) == here.startswith("taken"), name
            assert here.startswith("taken") or (here.startswith("– ") and len(here.split()) > 5), name
