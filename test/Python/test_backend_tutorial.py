# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The three outcomes of PyTorch's BackendConfig tutorial, and what is said about those that quantize less."""
import json
import re

import fx_networks
import pytest


@pytest.fixture
def explain(tool, source, shared_spec, tmp_path):
    """explain(case, backend=text) gives the rows of octet-explain, by layer."""
    records = json.loads((shared_spec / "golden" / "fx_graphs.json").read_text())["cases"]

    def explain(name, backend=None):
        case = fx_networks.CASES[name]
        (tmp_path / "network.mlir").write_text(fx_networks.make(case, records[name]))
        (tmp_path / "backend.mlir").write_text(backend or (source / "test" / "Python" / "Inputs" / case.backend).read_text())
        mapping = case.mapping
        if "{" in mapping:
            mapping = tmp_path / "mapping.mlir"
            mapping.write_text(case.mapping)
        done = tool("octet-opt", tmp_path / "network.mlir", f"--octet-attach-policy=backend={tmp_path / 'backend.mlir'} qconfig-mapping={mapping}",
                    "--octet-fuse", "--octet-explain=json=true", "-o", "/dev/null")
        return {row["name"]: row for row in json.loads(done.stdout)}

    return explain


def test_first_outcome_quantizes_both(explain):
    rows = explain("tutorial_conv_relu")
    assert [row["verdict"] for row in rows.values()] == ["int8", "int8", "float"]
    # Nothing of the mapping is about the sigmoid, so that the remedy is not to say more about it.
    assert (rows["sigmoid"]["code"], rows["sigmoid"]["refused"]) == ("OCT101", False)
    assert "mapping" not in rows["sigmoid"]["remedy"]


def test_second_outcome_is_solved_by_its_message(explain, source):
    """The remedy is the text of a fold; with it in the backend everything is quantized."""
    rows = explain("tutorial_conv_bn_relu_not_in_backend")
    assert [row["verdict"] for row in rows.values()] == ["int8", "float", "float", "float", "float"]
    reasons = {row["reason"] for row in list(rows.values())[1:4]}
    assert len(reasons) == 3 and {row["code"] for row in list(rows.values())[1:4]} == {"OCT119"}
    assert any(re.fullmatch(r'nn.batch_norm "\w+" stands between it and nn.relu "\w+" of the pattern @conv_relu', reason) for reason in reasons)
    [fold] = {re.search(r"octet\.fold .*\}", row["remedy"])[0] for row in list(rows.values())[1:4]}
    backend = (source / "test" / "Python" / "Inputs" / "fx_tutorial.mlir").read_text()
    assert backend.rstrip().endswith("}")
    rows = explain("tutorial_conv_bn_relu_not_in_backend", backend.rstrip()[:-1] + fold + "\n}\n")
    assert [row["verdict"] for row in rows.values()] == ["int8", "int8", "float"]


def test_third_outcome_names_the_bound(explain):
    rows = explain("tutorial_default_mapping_violates_constraints")
    refused = [row for row in rows.values() if row.get("code") == "OCT201"]
    assert len(refused) == 2
    for row in refused:
        assert row["reason"] == "eps 1.19209e-07 of the activation observer is below the backend's scale_min 0.000244141"
        assert row["remedy"] == "set eps of the activation observer to at least 0.000244141"
