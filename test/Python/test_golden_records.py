# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every record of spec/golden/ops.json, all engines: compiled operators give PyTorch's integers, or the difference has a row here."""
import json
import re

import golden_operators
import numpy as np
import pytest

ENGINES = ("qnnpack", "onednn", "x86", "fbgemm")
BEFORE = "PyTorch adds the zero point before it rounds, so that a tie goes the other way where it is odd"
SCALAR = "PyTorch rounds the number to a multiple of the operand's scale before it adds"
#: Records that differ: the operator, the engines, elements of all, the largest difference in steps, and why.
DIFFERENCES = [
    ("add_scalar 3.0", ENGINES, 6, 1, SCALAR),
    ("add_relu_scalar 3.0", ENGINES, 6, 1, SCALAR),
    ("cat(quantized.cat)", ENGINES, 2, 1, BEFORE),
    ("avg_pool2d k3 s2 p1 count_include_pad=False", ("qnnpack",), 35, 57, "qnnpack ignores count_include_pad"),
    ("avg_pool2d k3 s2 p1 count_include_pad=False", ENGINES[1:], 7, 1, BEFORE),
    ("avg_pool2d k2 s2", ENGINES[1:], 6, 1, BEFORE),
    ("avg_pool2d k2 s2 ceil", ENGINES, 12, 1, BEFORE),
]
#: Records without integers to compare.
LEFT_OUT = {"linear_dynamic": "its result is float, and its scale is known at run time only",
            "conv_transpose2d onednn": "onednn refuses it"}
#: Operators that are computed in float between dequantize and quantize, with PyTorch's integers.
FLOAT = {"mean all", "interpolate bilinear 5x5", "softmax dim1", "layer_norm over [7,7]", "instance_norm", "group_norm 3 groups"}


def name(record):
    return record["op"].split(" ->")[0] + (f" {record['scalar']}" if "scalar" in record else "")


@pytest.fixture(params=["golden", "golden-2.13"])
def version(request):
    return request.param


@pytest.fixture
def recorded(shared_spec, version):
    return json.loads((shared_spec / version / "ops.json").read_text())


@pytest.fixture
def records(recorded):
    return recorded["records"]


def test_operators_equal_pytorchs(tool, recorded, records, version, tmp_path):
    octet = pytest.importorskip("octet")
    model = golden_operators.write(records)
    (tmp_path / "model.mlir").write_text(model.text())
    tool("octet-compile", tmp_path / "model.mlir", "-o", tmp_path / "model.so")
    results = octet.load(tmp_path / "model.so").run({argument: golden_operators.integers(*spec) for argument, _, _, *spec in model.arguments})
    rows = set()
    for i, record in enumerate(records):
        for engine in recorded["engines"]:
            if name(record) in LEFT_OUT or f"{name(record)} {engine}" in LEFT_OUT:
                continue
            difference = np.abs(results[f"r{i}"].reshape(-1).astype(int) - np.reshape(record["out"].get("all") or record["out"][engine], -1))
            row = next((row for row in DIFFERENCES if row[0] == name(record) and engine in row[1]), None)
            if row is None or not difference.any():  # 1.13 rounds before it adds in one of them
                assert not difference.any(), (i, name(record), engine)
            else:
                rows.add(row)
                assert (np.count_nonzero(difference), difference.max()) == row[2:4], (i, name(record), engine)
    assert version == "golden" or rows == set(DIFFERENCES)  # no row without a record


def test_operators_run_in_integers(tool, records, tmp_path):
    model = golden_operators.write(records)
    (tmp_path / "model.mlir").write_text(model.text())
    tool("octet-compile", tmp_path / "model.mlir", "--stop-after=lower", "-o", tmp_path / "lowered.mlirbc")
    # Operators outside of groups with a result of floats.
    pattern = r'^    %\S+ = nn\.\w+ .*octet\.origin = #octet\.origin<"r(\d+)">.*-> tensor<[^!]*f32>'
    real = re.findall(pattern, (tmp_path / "lowered.mlir").read_text(), re.MULTILINE)
    assert {name(records[int(i)]) for i in real} == FLOAT
