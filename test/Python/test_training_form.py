# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recorded FX networks, calibrated and made ready for training (octet-convert in the form fake-quantize): without any training the
same reference model comes out of them."""
import json
import re

import fx_networks
import pytest
from test_fx_graphs import read_ir, write


@pytest.fixture(scope="module")
def records(shared_spec):
    return [json.loads((shared_spec / f"{name}.json").read_text())["cases"] for name in ("golden/fx_graphs", "golden-2.13/fx_graphs_qnnpack_native")]


def describe(text):
    """Readers, quantized values, types of all operators, and the bytes of all constants."""
    graph = read_ir(text)
    main = text[text.index("func.func @main"):].split("\n  }\n")[0]
    types = sorted(re.findall(r"= ([\w.]+) .* : (.*)$", main, re.M))
    return graph.edges(), graph.quantized(), types, sorted(re.findall(r': "(0x[0-9A-F]+)"', text))


@pytest.mark.parametrize("name", fx_networks.CASES)
def test_untrained_ranges_give_the_same_reference_model(tool, records, source, tmp_path, name):
    case = fx_networks.CASES[name]
    record = records[1 if case.only_new else 0][name]
    network, samples, backend, mapping = write(source, tmp_path, case, record)
    policy = f"--octet-attach-policy=backend={backend} qconfig-mapping={mapping}"
    calibrate = ["--octet-fuse", "--octet-prepare", f"--octet-use-samples=files={samples}", "--octet-calibrate"]
    finish = ["--octet-convert", "--octet-inline-groups"]
    at_once = tool("octet-opt", network, policy, *calibrate, *finish).stdout
    training = tool("octet-opt", network, policy, *calibrate, "--octet-convert=form=fake-quantize", "--octet-inline-groups").stdout
    assert not re.search(r"octet\.(observe|quantize|dequantize|group)\b", training)
    rounded = [line for line in at_once.splitlines() if "= octet.dequantize " in line and "quant.uniform<i32" not in line]  # all but biases
    assert training.count("= octet.fake_quantize ") == len(rounded)
    (tmp_path / "training.mlir").write_text(training)
    assert describe(tool("octet-opt", tmp_path / "training.mlir", *calibrate, *finish).stdout) == describe(at_once)
