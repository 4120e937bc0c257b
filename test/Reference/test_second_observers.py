# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random networks whose layers want different integers: values with several observers, from the plan to the bytes."""

import re

import numpy as np
import pytest
from test_compiled import check, driver  # noqa: F401  (a fixture)

f32 = np.float32
SHAPE = (6, 16)

BACKEND = """
octet.backend @b {
  octet.dtypes @u input = <ui8> output = <ui8> weight = <si8>
  octet.dtypes @s input = <si8> output = <si8> weight = <si8>
  octet.dtypes @us input = <ui8> output = <si8> weight = <si8>
  octet.dtypes @su input = <si8> output = <ui8> weight = <si8>
  octet.pattern @linear dtypes = [@u, @s, @us, @su] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %y = octet.match ["nn.linear"](%x, %w)
    octet.yield %y : none
  }
  octet.pattern @add dtypes = [@u, @s, @us, @su] {
    %x = octet.activation
    %y = octet.activation
    %z = octet.match ["nn.add"](%x, %y)
    octet.yield %z : none
  }
  octet.pattern @join dtypes = [@u, @s] observation = shared {
    %x = octet.activation variadic
    %y = octet.match ["nn.concat"](%x)
    octet.yield %y : none
  }
  octet.pattern @relu dtypes = [@u, @s] observation = shared {
    %x = octet.activation
    %y = octet.match ["nn.relu"](%x)
    octet.yield %y : none
  }
}
"""
OBSERVERS = ["#octet.min_max<dtype = ui8>", "#octet.min_max<dtype = si8>", "#octet.min_max<dtype = si8, range = [-127, 127]>",
             "#octet.min_max<dtype = ui8, range = [0, 127]>", "#octet.histogram<dtype = ui8>",
             "#octet.min_max<dtype = si8, scheme = symmetric>"]
WEIGHT = "#octet.per_channel_min_max<dtype = si8, scheme = symmetric, range = [-127, 127], axis = 0>"


def make(seed):
    """(network, mapping) of a dozen operators, each with observers of its own choice."""
    rng = np.random.default_rng(seed)
    lines, entries, values = [], [], ["%x"]
    kind = "tensor<6x16xf32>"

    def emit(i, op, operands, attributes="", result=kind, types=None):
        given = ", ".join(types or [kind] * len(operands))
        lines.append(f'  %v{i} = {op} {", ".join(operands)} {attributes} {{octet.origin = #octet.origin<"l{i}">}} : ({given}) -> {result}')
        return f"%v{i}"

    for i in range(12):
        a, b = rng.choice(values[-4:], 2)
        choice = rng.choice(["linear", "add", "relu", "concat"], p=[0.5, 0.2, 0.15, 0.15])
        width = 32 if choice == "concat" else 16
        if choice == "concat":
            lines.append(f"  %c{i} = nn.concat {a}, {b} axis 1 {{octet.origin = #octet.origin<\"l{i}\">}} : ({kind}, {kind}) -> tensor<6x32xf32>")
        if choice in ("linear", "concat"):
            weights = rng.normal(size=(16, width)).astype(f32) * f32(0.3)
            lines.append(f'  %w{i} = nn.constant dense<"0x{weights.tobytes().hex().upper()}"> : tensor<16x{width}xf32>')
            source = f"%c{i}" if choice == "concat" else a
            values.append(emit(i, "nn.linear", [source, f"%w{i}"], types=[f"tensor<6x{width}xf32>", f"tensor<16x{width}xf32>"]))
        else:
            values.append(emit(i, f"nn.{choice}", [a, b] if choice == "add" else [a]))
        activation, result = rng.choice(OBSERVERS, 2)
        other = f", result = {result}" if choice in ("linear", "add") and rng.random() < 0.3 else ""
        entries.append(f'  octet.module_name "l{i}" #octet.qconfig<activation = {activation}, weight = {WEIGHT}{other}>')
    outputs = values[-3:]
    network = [f'func.func @main(%x: {kind} {{nn.name = "x"}}) -> ({", ".join(f"{kind} {{nn.name = {chr(34)}y{i}{chr(34)}}}" for i in range(3))}) {{',
               *lines, f'  return {", ".join(outputs)} : {", ".join([kind] * 3)}', "}"]
    return "\n".join(network) + "\n", "octet.qconfig_mapping @m {\n" + "\n".join(entries) + "\n}\n"


def convert(tool, folder, seed):
    """The reference model."""
    network, mapping = make(seed)
    for name, text in ("network", network), ("mapping", mapping), ("backend", BACKEND):
        (folder / f"{name}.mlir").write_text(text)
    np.savez(folder / "samples.npz", x=np.random.default_rng(seed + 1000).normal(size=(4, *SHAPE)).astype(f32))
    return tool("octet-opt", folder / "network.mlir", f"--octet-use-samples=files={folder / 'samples.npz'}",
                f"--octet-attach-policy=backend={folder / 'backend.mlir'} qconfig-mapping={folder / 'mapping.mlir'}",
                "--octet-fuse", "--octet-prepare=strict=true", "--octet-calibrate", "--octet-convert").stdout


def count_seconds(text):
    """(values that are quantized twice in a row, float values that are quantized several times)"""
    quantizes = re.findall(r"(%\w+) = octet.quantize (%\w+)", text)
    dequantizes = dict(re.findall(r"(%\w+) = octet.dequantize (%\w+)", text))
    sources = [source for _, source in quantizes]
    return sum(source in dequantizes for source in sources), sum(sources.count(source) > 1 for source in set(sources) - set(dequantizes))


@pytest.mark.parametrize("seed", range(12))
def test_bytes_are_the_laws(driver, tool, tmp_path, seed):  # noqa: F811
    check(tool, driver, tmp_path, convert(tool, tmp_path, seed), SHAPE, seed)


def test_networks_have_second_observers(tool, tmp_path):
    counts = np.array([count_seconds(convert(tool, tmp_path, seed)) for seed in range(12)])
    assert counts[:, 0].sum() > 20 and counts[:, 1].sum() > 3
