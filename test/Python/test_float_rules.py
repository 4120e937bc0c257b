# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What stays float by its place in the network, and what it saves: the same network with the backend's entry and without."""
import numpy as np
import octet
import onnx_networks
import pytest
from decibels import get_decibels

f32 = np.float32

# Blocks that select nothing, of which the factor is 1000; a mean of rows, in which the errors of these cancel out; points times frequencies, many turns.
NORM = "p = MatMul(x, w)\na = MatMul(z, p)\ns = Mul(a, a)\nm = ReduceMean<axes=[1]>(s)\ne = Add(m, eps)\nr = Sqrt(e)\nk = Reciprocal(r)\nn = Mul(a, k)\ny = MatMul(n, v)"
HEAD = "h = MatMul(x, w)\na = Relu(h)\ng = MatMul(a, u)\nb = Relu(g)\nm = ReduceMean<axes=[0]>(b)\ny = MatMul(m, v)"
ANGLES = "d = Mul(x, two)\ne = Sub(d, one)\na = MatMul(e, f)\ns = Sin(a)\nc = Cos(a)\nb = Concat<axis=1>(s, c)\ny = MatMul(b, v)"


def make_norm(rng):
    weights = {name: rng.normal(size=(32, 32)).astype(f32) for name in "wv"}
    x, z = rng.normal(size=(8, 16, 32)).astype(f32), np.eye(16, dtype=f32) * (np.arange(16) % 2 == 0)
    return NORM, {**weights, "eps": f32(1e-6)}, {"x": x, "z": np.tile(z, (8, 1, 1))}


def make_angles(rng):
    constants = {"two": f32(2), "one": f32(1), "f": rng.normal(size=(2, 32), scale=50).astype(f32), "v": rng.normal(size=(64, 32)).astype(f32)}
    return ANGLES, constants, {"x": rng.uniform(size=(8, 16, 2)).astype(f32)}


def make_head(rng):
    weights = {name: rng.normal(size=size).astype(f32) for name, size in (("w", (32, 512)), ("u", (512, 128)), ("v", (128, 4)))}
    return HEAD, weights, {"x": rng.normal(size=(8, 256, 32)).astype(f32)}


RULES = [("float_norms", "OCT109", make_norm, 15), ("float_angles", "OCT123", make_angles, 15), ("float_ends", "OCT113", make_head, 5)]


@pytest.mark.parametrize("entry,code,make,saved", RULES, ids=["norms", "angles", "ends"])
def test_what_a_rule_saves(entry, code, make, saved, source, tmp_path):
    lines, constants, samples = make(np.random.default_rng(0))
    network = onnx_networks.make_network(lines, inputs={name: list(array.shape[1:]) for name, array in samples.items()}, constants=constants).SerializeToString()
    text = (source / "lib" / "Backend" / "backends" / "cpu.mlir").read_text()
    assert text.count(f"  octet.{entry} ") == 1
    (tmp_path / "off.mlir").write_text(text.replace(f"  octet.{entry} ", "  // "))
    calibration = {"calibration_data": {name: array[:4] for name, array in samples.items()}}
    exact, on = octet.compile(network), octet.compile(network, **calibration)
    off = octet.compile(network, **calibration, backend=str(tmp_path / "off.mlir"), qconfig_mapping="cpu_default_mapping")
    codes_on, codes_off = ({row.get("code") for row in model.report.data["operators"]} for model in (on, off))
    assert code in codes_on - codes_off

    def run(model):
        return np.stack([model.run({name: array[i] for name, array in samples.items()})["y"].copy() for i in range(4, 8)])
    decibels_on, decibels_off = (get_decibels(run(exact), run(model)) for model in (on, off))
    assert decibels_on > 25 and decibels_on > decibels_off + saved, (decibels_on, decibels_off)
