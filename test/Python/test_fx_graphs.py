# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's reference models and Octet's: which values are quantized, who reads them, scales and zero points.

The records are spec/golden*/fx_graphs*.json; docs/fx.md has the table of what does not hold.
"""
import dataclasses
import json
import re

import fx_networks
import fx_networks_of_2_13
import numpy as np
import pytest
from fx_graph import HALF, Graph, read_ir, ulps

ENGINES = ("qnnpack", "onednn", "x86", "fbgemm")
#: Networks whose mapping is the engine's, and those that only 2.13 has.
OF_ENGINES = {**{name: case for name, case in fx_networks.CASES.items() if case.mapping in ("qnnpack_default_mapping", fx_networks.DYNAMIC)},
              **fx_networks_of_2_13.CASES}

#: Every network but those with a backend of their own.
ALL = {name: case for name, case in {**fx_networks.CASES, **fx_networks_of_2_13.CASES}.items() if case.backend == "native"}
#: PyTorch's own products differ in the last bit from version to version; the scales of 1.13 are met.
LAST_BITS = {"functional_linear_kwargs", "cat", "fork_two_consumers", "same_module_twice"}


def read_record(lines, aliases):
    graph, numbers, constants, sizes = Graph(), {}, set(), set()
    for line in lines:
        name, op, target, arguments = re.match(r"(\w+) = (\w+) ([\w.]+)\((.*?)\)(?: : \w+| = \[.*\])?$", line).groups()
        known = [word for word in re.findall(r"[\w.]+", re.sub(r"\w+=", "", arguments)) if word in graph.sources]
        if op == "get_attr":
            values = re.search(r" = \[(.*)\]$", line)
            numbers[name] = float(values[1].split(",")[0]) if values else None
            constants.add(name)
        elif target == "torch.quantize_per_tensor_dynamic" and "torch.float16" in arguments:
            graph.sources[name], graph.pairs[name] = known, HALF
        elif target == "torch.quantize_per_tensor_dynamic":
            graph.sources[name] = [arguments.split(",")[0]]
            graph.pairs[name] = (0, 127 if "True" in arguments else 255)
        elif target.startswith("torch.quantize_per_"):
            source, scale, zero = [word.strip() for word in arguments.split(",")][:3]
            if source in constants:
                constants.add(name)
                continue
            graph.sources[name] = [source]
            graph.pairs[name] = (numbers[scale], int(numbers[zero]))
        elif op == "call_method" and target == "dequantize":
            if arguments in constants:
                constants.add(name)
                continue
            graph.sources[name], graph.passed[name] = [arguments], arguments
        elif target in ("size", "builtins.getattr") or arguments.split(",")[0] in sizes:
            sizes.add(name)
        else:
            graph.sources[name] = known
            graph.names[name] = aliases.get(name, name)
    return graph


def write(source, folder, case, record):
    """The files of a recorded network: itself, samples, backend, mapping."""
    (folder / "network.mlir").write_text(fx_networks.make(case, record))
    np.savez(folder / "samples.npz", **fx_networks.make_samples(case, record))
    mapping = case.mapping
    if "{" in mapping:
        (folder / "mapping.mlir").write_text(mapping)
        mapping = folder / "mapping.mlir"
    backend = source / "test" / "Python" / "Inputs" / case.backend if case.backend.endswith(".mlir") else case.backend
    return folder / "network.mlir", folder / "samples.npz", backend, mapping


def convert(tool, *arguments):
    """The reference model of a recorded network."""
    network, samples, backend, mapping = write(*arguments)
    return tool("octet-opt", network, f"--octet-use-samples=files={samples}",
                f"--octet-attach-policy=backend={backend} qconfig-mapping={mapping}", "--octet-fuse", "--octet-prepare",
                "--octet-calibrate", "--octet-convert", "--octet-quantize-signature=marked-only=true", "--octet-inline-groups").stdout


def differ(ours, recorded, case):
    """What is not as recorded, or nothing."""
    if ours.edges() != recorded.edges():
        return f"readers: {sorted(ours.edges() ^ recorded.edges())}"
    pairs = list(zip(ours.quantized(), recorded.quantized()))
    if [value[:2] for value in ours.quantized()] != [value[:2] for value in recorded.quantized()]:
        return f"quantized values: {ours.quantized()}, recorded {recorded.quantized()}"
    for (*name, zero, scale), (*_, their_zero, their_scale) in pairs:
        if case.is_histogram and abs(zero - their_zero) <= 1 and abs(scale / their_scale - 1) <= 0.01:
            continue
        if zero != their_zero or ulps(scale, their_scale) > case.ulps:
            return f"{name}: scale {scale!r}, zero point {zero}, recorded {their_scale!r}, {their_zero}"
    return None


@pytest.fixture(scope="module")
def records(shared_spec):
    files = {"1.13": "golden/fx_graphs", "2.13": "golden-2.13/fx_graphs_qnnpack_native",
             **{engine: f"golden-2.13/fx_graphs_{engine}_native" for engine in ENGINES},
             **{f"{engine} itself": f"golden-2.13/fx_graphs_{engine}_{engine}" for engine in ENGINES}}
    return {version: json.loads((shared_spec / f"{name}.json").read_text())["cases"] for version, name in files.items()}


def test_every_record_has_a_network(records, source):
    assert set(records["1.13"]) == set(fx_networks.CASES)
    page = (source / "docs" / "fx.md").read_text()
    assert f"**{len(fx_networks.CASES)} of {len(records['1.13'])} hold**" in page
    new = {name for name, case in fx_networks.CASES.items() if case.only_new}
    section = page.split("## Where the version of PyTorch matters")[1].split("## ")[0]
    assert new == set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", section, re.M))))


@pytest.mark.parametrize("name", fx_networks.CASES)
def test_reference_model_is_pytorchs(tool, records, source, tmp_path, name):
    case = fx_networks.CASES[name]
    ours = read_ir(convert(tool, source, tmp_path, case, records["1.13"][name]))
    versions = ["2.13"] if case.only_new else ["1.13", "2.13"]
    # PyTorch's own products differ in the last bit from version to version; one of them is met.
    found = [differ(ours, read_record(records[version][name]["reference"], case.aliases), case)
             for version in versions]
    assert None in found, "\n".join(found)


@pytest.mark.parametrize("name", fx_networks.CASES)
def test_library_computes_pytorchs_reference_model(tool, records, source, tmp_path, name):
    """PyTorch's lowered models, which docs/fx.md compares, are not all so true to their reference models."""
    case = fx_networks.CASES[name]
    record = records["2.13" if case.only_new else "1.13"][name]
    network, samples, backend, mapping = write(source, tmp_path, case, record)
    calibration = [f"--calibration-data={samples}"] if case.is_calibrated else []
    tool("octet-compile", network, f"--backend={backend}", f"--qconfig-mapping={mapping}", *calibration, "-o", tmp_path / "model.so")
    inputs = fx_networks.make_samples(case, record)
    if case.input_type:
        scale, zero = case.input_type
        inputs = {key: (np.rint(x / np.float32(scale)) + zero).astype(np.uint8) for key, x in inputs.items()}
    np.savez(tmp_path / "inputs.npz", **inputs)
    tool("octet-run", tmp_path / "model.so", "--input", tmp_path / "inputs.npz", "--output", tmp_path / "outputs.npz")
    got, wanted = np.load(tmp_path / "outputs.npz")["output"], np.array(record["lowered_out" if case.is_lowered else "reference_out"])
    if case.output:
        wanted = case.output(fx_networks.make_parameters(case.modules, record["first_param_seed"]), inputs)
    graph = read_record(record["reference"], case.aliases)
    scale, zero = list(graph.pairs.values())[-1] if graph.pairs else (1e-6, 0)
    if got.dtype == np.uint8:
        got = (got.astype(np.float64) - zero) * scale
    # Where the output is quantized, a thousandth of a step is the same integer; float outputs agree to their last bits.
    is_quantized = any(reader == "output" and depth for reader, _, depth, _ in graph.edges())
    np.testing.assert_allclose(got.reshape(-1)[: wanted.size], wanted.reshape(-1), rtol=2e-6, atol=scale / 1000 if is_quantized else 1e-6)


def test_every_record_of_2_13_has_a_network_or_is_left_out(records):
    others = set(records["2.13"]) - set(records["1.13"])
    assert others == set(fx_networks_of_2_13.CASES) | fx_networks_of_2_13.DEVIATIONS


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", OF_ENGINES)
def test_default_mappings_give_pytorchs_reference_model(tool, records, source, tmp_path, engine, name):
    case = OF_ENGINES[name]
    mapping = case.mapping.replace("qnnpack_default", f"{engine}_default")
    if engine in ("x86", "fbgemm"):  # PyTorch reduces the range of dynamic quantization by the engine
        mapping = mapping.replace("dynamic = true", "dynamic = true, reduce_range = true")
    case = dataclasses.replace(case, mapping=mapping)
    record = records[engine][name]
    if "reference" not in record:  # PyTorch's own limit
        assert record["error"].startswith("AssertionError: Per channel weight observer is not supported yet for ConvTranspose")
        return
    ours = read_ir(convert(tool, source, tmp_path, case, record))
    difference = differ(ours, read_record(record["reference"], case.aliases), case)
    assert difference is None, difference


@pytest.mark.parametrize("engine", [engine for engine in ENGINES if engine != "onednn"])
@pytest.mark.parametrize("name", ALL)
def test_own_backends_give_pytorchs_reference_model(tool, records, source, tmp_path, engine, name):
    """With the BackendConfig of the engine instead of the native one."""
    mapping = ALL[name].mapping.replace("qnnpack_default", f"{engine}_default")
    if engine in ("x86", "fbgemm"):  # PyTorch reduces the range of dynamic quantization by the engine
        mapping = mapping.replace("ui8, dynamic = true", "ui8, dynamic = true, reduce_range = true")
    case = dataclasses.replace(ALL[name], backend=engine, mapping=mapping)
    case = dataclasses.replace(case, ulps=2) if name in LAST_BITS else case
    record = records[f"{engine} itself"][name]
    ours = read_ir(convert(tool, source, tmp_path, case, record))
    difference = differ(ours, read_record(record["reference"], case.aliases), case)
    assert difference is None, difference
