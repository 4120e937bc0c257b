# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""--strict: every operator that stays float without having been told to is an error, named."""

import json

import numpy as np
import pytest

pytest.importorskip("onnx")
from onnx_networks import make_network  # noqa: E402

NONE_FOR_THEM = """
octet.qconfig_mapping @own {
  octet.global #octet.qconfig<activation = #octet.min_max<dtype = ui8>,
    weight = #octet.per_channel_min_max<dtype = si8, scheme = symmetric, range = [-127, 127], axis = 0>>
  octet.object_type "nn.sqrt" none
  octet.module_name "minus" none
}
"""


@pytest.fixture
def unusual(tmp_path):
    """A network with two operators that the backend knows no pattern for, and a softmax, which it keeps float on purpose."""
    random = np.random.default_rng(11)
    model = make_network("c = Conv(x, w)\ns = Sqrt(c)\nn = Neg(s)\ny = Softmax(n)", constants={"w": (4, 3, 1, 1)})
    for node, name in zip(model.graph.node, ("conv", "root", "minus", "softmax")):
        node.name = name
    (tmp_path / "unusual.onnx").write_bytes(model.SerializeToString())
    (tmp_path / "none.mlir").write_text(NONE_FOR_THEM)
    np.savez(tmp_path / "samples.npz", x=random.normal(size=(24, 1, 3, 8, 8)).astype(np.float32))
    return ("octet-compile", "unusual.onnx", "--calibration-data=samples.npz", "--cpu-level=sse2", "-o", "unusual.so")


def test_strict_names_all_operators_without_a_pattern(tool, unusual, tmp_path):
    done = tool(*unusual, "--strict", check=False, cwd=tmp_path)
    assert done.returncode == 1 and not (tmp_path / "unusual.so").exists()
    assert done.stderr.splitlines() == [
        f'unusual.onnx: error: node "{name}": stays float [OCT101]: no pattern of backend @cpu matches this {operator}; '
        f"add an octet.pattern that matches {operator}, or say none for it in the QConfig mapping"
        for name, operator in (("root", "nn.sqrt"), ("minus", "nn.neg"))]


def test_strict_follows_the_mapping(tool, unusual, tmp_path):
    tool(*unusual, "--strict", "--qconfig-mapping=none.mlir", "--report=unusual.json", cwd=tmp_path)
    report = json.loads((tmp_path / "unusual.json").read_text())
    assert [row.get("code") for row in report["operators"]] == ["OCT102", "OCT205", "OCT205", "OCT104"]
    assert not any(row["refused"] for row in report["operators"])


def test_report_says_what_strict_would_refuse(tool, unusual, tmp_path):
    tool(*unusual, "--report=unusual.json", cwd=tmp_path)
    report = json.loads((tmp_path / "unusual.json").read_text())
    assert [row["name"] for row in report["operators"] if row["refused"]] == ["root", "minus"]
