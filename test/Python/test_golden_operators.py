# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled products against the integers that PyTorch's quantized operators gave: golden/README.md says how inputs are made."""
import json

import numpy as np
import pytest

f32 = np.float32

BACKEND = """
octet.backend @golden {
  octet.dtypes @w8a8 input = <ui8> output = <ui8> weight = <si8> bias = f32
  octet.pattern @product_relu dtypes = [@w8a8] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias
    %p = octet.match ["nn.linear", "nn.conv"](%x, %w, %b)
    %y = octet.match ["nn.relu"](%p)
    octet.yield %y : none
  }
  octet.pattern @product dtypes = [@w8a8] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias
    %y = octet.match ["nn.linear", "nn.conv"](%x, %w, %b)
    octet.yield %y : none
  }
}
"""


def generate(spec):
    """The tensor that a record describes by its seed."""
    state, count = spec["seed"], int(np.prod(spec["shape"]))
    values = []
    for _ in range(count):
        state = (1664525 * state + 1013904223) % 2**32
        values.append(spec["lo"] + (spec["hi"] - spec["lo"]) * ((state >> 8) / 2**24))
    assert spec["kind"] == "uniform"
    return np.array(values, np.float64).astype(f32).reshape(spec["shape"])


def number(value):
    """An f32 as MLIR's hexadecimal text."""
    return f"0x{int(np.asarray(value, f32).view(np.uint32)):08X} : f32"


def constant(array):
    return f'nn.constant dense<"0x{array.astype("<f4").tobytes().hex().upper()}"> : {kind(array.shape)}'


def kind(shape):
    return f"tensor<{'x'.join(map(str, shape))}xf32>"


def fixed(scale, zero):
    return f"#octet.fixed_qparams<ui8, scale = {number(scale)}, zero_point = {zero}>"


class Network:
    """All records side by side: an input and an output each."""

    def __init__(self, records):
        self.records, self.body, self.entries = records, [], []
        for i, record in enumerate(records):
            self.add(i, record)

    def add(self, i, record):
        x, w, b = (generate(record[name]) for name in ("x", "w", "bias"))
        types = f"({kind(x.shape)}, {kind(w.shape)}, {kind(b.shape)}) -> {kind(record['shape'])}"
        attributes = ""
        if record["op"].startswith("conv2d"):
            stride, pad, dilation = record["stride"], record["padding"], record["dilation"]
            attributes = (f"strides [{stride}, {stride}] pads [{pad}, {pad}, {pad}, {pad}] "
                          f"dilations [{dilation}, {dilation}] groups {record['groups']}")
        operator = "nn.conv" if attributes else "nn.linear"
        self.body += [f"  %w{i} = {constant(w)}", f"  %b{i} = {constant(b)}",
                      f'  %y{i} = {operator} %x{i}, %w{i}, %b{i} {attributes} {{octet.origin = #octet.origin<"r{i}.product">}} : {types}']
        if record["op"].endswith("relu"):
            self.body.append(f'  %z{i} = nn.relu %y{i} {{octet.origin = #octet.origin<"r{i}.relu">}} : '
                             f"({kind(record['shape'])}) -> {kind(record['shape'])}")
        weights = "per_channel_min_max" if record["per_channel"] else "min_max"
        self.entries.append(f'  octet.module_name "r{i}" #octet.qconfig<activation = {fixed(record["x_scale"], record["x_zp"])}, '
                            f'result = {fixed(record["y_scale"], record["y_zp"])}, '
                            f"weight = #octet.{weights}<dtype = si8, scheme = symmetric>>")

    def write(self, folder):
        arguments = ", ".join(f'%x{i}: {kind(r["x"]["shape"])} {{nn.name = "x{i}"}}' for i, r in enumerate(self.records))
        results = ", ".join(f'{kind(r["shape"])} {{nn.name = "y{i}"}}' for i, r in enumerate(self.records))
        returned = ", ".join(f"%{'z' if r['op'].endswith('relu') else 'y'}{i}" for i, r in enumerate(self.records))
        types = ", ".join(kind(r["shape"]) for r in self.records)
        text = [f"func.func @main({arguments}) -> ({results}) {{", *self.body, f"  return {returned} : {types}", "}"]
        (folder / "network.mlir").write_text("\n".join(text) + "\n")
        (folder / "mapping.mlir").write_text("octet.qconfig_mapping @m {\n" + "\n".join(self.entries) + "\n}\n")
        (folder / "backend.mlir").write_text(BACKEND)
        return [folder / name for name in ("network.mlir", "backend.mlir", "mapping.mlir")]


@pytest.mark.parametrize("version", ["golden", "golden-2.13"])
def test_products_equal_pytorchs(tool, shared_spec, tmp_path, version):
    octet = pytest.importorskip("octet")
    recorded = json.loads((shared_spec / version / "ops.json").read_text())["records"]
    # 2.13's engines but qnnpack have a float bias; these records are the same on all.
    records = [r for r in recorded if r["op"] in ("linear", "linear_relu", "conv2d", "conv2d_relu") and "all" in r["out"]]
    assert len(records) == 32
    network, backend, mapping = Network(records).write(tmp_path)
    samples = tmp_path / "samples.npz"  # the observers' constants do not depend on it
    np.savez(samples, **{f"x{i}": generate(record["x"]) for i, record in enumerate(records)})
    tool("octet-compile", network, f"--backend={backend}", f"--qconfig-mapping={mapping}", f"--calibration-data={samples}",
         "--quantized-io", "--strict", "-o", tmp_path / "model.so")
    model = octet.load(tmp_path / "model.so")
    inputs = {}
    for i, record in enumerate(records):
        steps = np.rint(generate(record["x"]) * (f32(1) / f32(record["x_scale"]))) + record["x_zp"]
        inputs[f"x{i}"] = np.clip(steps, 0, 255).astype(np.uint8)
    outputs = model.run(inputs)
    for i, record in enumerate(records):
        np.testing.assert_array_equal(outputs[f"y{i}"].reshape(-1), record["out"]["all"], err_msg=f"{record['op']} {i}")
