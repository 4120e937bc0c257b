# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every row of the table of operators, compiled and compared with PyTorch."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (pip install torch)")

import torch_compare as compare
import torch_cases
import torch_cases_of_layers
import torch_cases_of_networks
from octet.torch.front import table, trace, translate

GROUPS = {**torch_cases.GROUPS, **torch_cases_of_networks.GROUPS, **torch_cases_of_layers.GROUPS}
SIZE = 30  # cases in one compilation
PARTS = {f"{name}{start // SIZE}": cases[start:start + SIZE] for name, cases in GROUPS.items() for start in range(0, len(cases), SIZE)}


def find_wrong(cases, folder):
    """{case: what is wrong} of cases that are compiled together."""
    cases = [(f"{name}_{i}".replace(".", "_"), function, inputs) for i, (name, function, inputs) in enumerate(cases)]
    module = compare.Cases(cases).make()
    with torch.no_grad():
        expected = module(*compare.copy_of(module.inputs))
    names = [name for (name, _, _), result in zip(cases, expected) for _ in compare.leaves(result)]
    network = translate(trace.trace(module, trace.Tracer()), compare.copy_of(module.inputs))
    found = compare.run_compiled(network, module.inputs, folder)
    assert len(found) == len(names)
    differences = [(name, compare.find_difference(result, wanted)) for name, result, wanted in zip(names, found, compare.leaves(expected))]
    return {name: difference for name, difference in differences if difference}


@pytest.mark.parametrize("part", PARTS)
def test_rows(part, tmp_path):
    assert find_wrong(PARTS[part], tmp_path) == {}


def record(row, reached):
    """The row, which notes that it was called."""
    def recorded(*args, **kwargs):
        reached.add(row)
        return row(*args, **kwargs)
    return recorded


def test_every_row_is_tested(monkeypatch):
    reached, classes, names = set(), set(), {}
    for rows in (table.FUNCTIONS, table.METHODS, table.ATEN):
        for key, row in rows.items():
            names.setdefault(row, key if isinstance(key, str) else key.__name__)
            recorded = record(row, reached)
            monkeypatch.setitem(rows, key, recorded)
            if row in table.COMPLEX:
                monkeypatch.setitem(table.COMPLEX, recorded, record(table.COMPLEX[row], reached))
    for key, row in table.MODULES.items():
        monkeypatch.setitem(table.MODULES, key, lambda *args, key=key, row=row, **kwargs: classes.add(key) or row(*args, **kwargs))
    for cases in PARTS.values():
        module = compare.Cases([(f"case{i}", function, inputs) for i, (_, function, inputs) in enumerate(cases)]).make()
        translate(trace.trace(module, trace.Tracer()), compare.copy_of(module.inputs))
    assert [cls.__name__ for cls in table.MODULES if cls not in classes and cls.__module__.startswith("torch.nn.")] == []
    untested = ", ".join(sorted(name for row, name in names.items() if row not in reached))
    assert untested == ""
