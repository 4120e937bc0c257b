# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random networks that were trained with ranges at some values and weights, completed by calibration: ranges are kept, bytes are the laws'."""

import re

import numpy as np
import pytest
import test_second_observers as plain
from test_compiled import check, driver  # noqa: F401  (a fixture)

KIND = "tensor<6x16xf32>"


def make(seed):
    """(network, mapping, types of the trained values in either sign): the networks of test_second_observers, rounded here and there."""
    network, _ = plain.make(seed)
    rng = np.random.default_rng(seed + 500)
    observer = "#octet.min_max<dtype = %s>" % ("ui8" if seed % 2 else "si8")
    mapping = f"octet.qconfig_mapping @m {{ octet.global #octet.qconfig<activation = {observer}, weight = {plain.WEIGHT}> }}\n"
    lines, rounded, types = [], {}, {}
    for line in network.splitlines():
        # Each use reads the rounded value or, as a use without a pair, the value itself.
        if " = nn." in line and "constant" not in line:
            name, rest = line.split(" = ", 1)
            line = name + " = " + re.sub(r"%\w+", lambda use: rounded.get(use[0], use[0]) if rng.random() < 0.8 else use[0], rest)
        lines.append(line)
        defined = re.match(r"  (%[vw]\d+) = nn\.(\w+)", line)
        if not defined or rng.random() < 0.5:
            continue
        name, op = defined.groups()
        if op == "constant":
            kind, type = re.search(r"tensor<16x\d+xf32>", line)[0], f"!quant.uniform<i8:f32, {rng.uniform(0.004, 0.01):.6f}>"
        else:
            scale, zero = f"{rng.uniform(0.02, 0.1):.6f}", int(rng.integers(60, 190))
            types[name + "f"] = (float(scale), zero)
            kind, type = KIND, f"!quant.uniform<u8:f32, {scale}:{zero}>" if rng.random() < 0.5 else f"!quant.uniform<i8:f32, {scale}:{zero - 128}>"
        lines.append(f"  {name}f = octet.fake_quantize {name} as {type} : {kind}")
        rounded[name] = name + "f"
    text = "\n".join(lines) + "\n"
    return text, mapping, [type for name, type in types.items() if len(re.findall(name + r"\b", text)) > 1]  # those that are read


def convert(tool, folder, seed):
    """The reference model, and the scales that it must have."""
    network, mapping, types = make(seed)
    for name, text in ("network", network), ("mapping", mapping), ("backend", plain.BACKEND):
        (folder / f"{name}.mlir").write_text(text)
    np.savez(folder / "samples.npz", x=np.random.default_rng(seed + 1000).normal(size=(4, *plain.SHAPE)).astype(np.float32))
    converted = tool("octet-opt", folder / "network.mlir", f"--octet-use-samples=files={folder / 'samples.npz'}",
                     f"--octet-attach-policy=backend={folder / 'backend.mlir'} qconfig-mapping={folder / 'mapping.mlir'}",
                     "--octet-fuse", "--octet-prepare=strict=true", "--octet-calibrate", "--octet-convert").stdout
    return converted, types


@pytest.mark.parametrize("seed", range(12))
def test_bytes_are_the_laws(driver, tool, tmp_path, seed):  # noqa: F811
    converted, types = convert(tool, tmp_path, seed)
    assert "octet.fake_quantize" not in converted
    found = {(np.float32(float(scale)), int(zero or 0) + (128 if sign == "i" else 0))
             for sign, scale, zero in re.findall(r"octet\.quantize .*!quant\.uniform<([iu])8(?:<[^>]*>)?:f32, ([^:>]+)(?::(-?\d+))?>", converted)}
    assert {(np.float32(scale), zero) for scale, zero in types} <= found
    check(tool, driver, tmp_path, converted, plain.SHAPE, seed)
