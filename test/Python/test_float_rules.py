# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What stays float by its place in the network, and what it saves: the same network with the backend's entry and without."""
import numpy as np
import octet
import onnx_networks
import pytest
from decibels import get_decibels

f32 = np.float32

# Twenty sums, to each of which a layer adds little.
SUMS = "\n".join(f"c{i} = Conv(x{i}, w{i})\ns{i + 1} = Add(x{i}, c{i})\nx{i + 1} = Relu(s{i + 1})" for i in range(20)).replace("x0", "x") + "\ny = Conv(x20, v)"

# Blocks that select nothing, of which the factor is 1000; a mean of rows, in which the errors of these cancel out; one row of many that is
# far larger, as the class token of XCiT; points times frequencies, many turns; the logarithm of a spectrum, filtered.
NORM = "p = MatMul(x, w)\na = MatMul(z, p)\ns = Mul(a, a)\nm = ReduceMean<axes=[1]>(s)\ne = Add(m, eps)\nr = Sqrt(e)\nk = Reciprocal(r)\nn = Mul(a, k)\ny = MatMul(n, v)"
HEAD = "h = MatMul(x, w)\na = Relu(h)\ng = MatMul(a, u)\nb = Relu(g)\nm = ReduceMean<axes=[0]>(b)\ny = MatMul(m, v)"
TOKENS = ("n = LayerNormalization(x, g)\nk = Mul(n, r)\nt = Slice(k, zero, one, zero)\nh = MatMul(t, w)\n"
          "m = ReduceMax<keepdims=0>(k)\ny = Add(h, m)")
ANGLES = "d = Mul(x, two)\ne = Sub(d, one)\na = MatMul(e, f)\ns = Sin(a)\nc = Cos(a)\nb = Concat<axis=1>(s, c)\ny = MatMul(b, v)"

SPECTRUM = ("c = MatMul(x, cosines)\ns = MatMul(x, sines)\np = Mul(c, c)\nq = Mul(s, s)\nt = Add(p, q)\nm = MatMul(t, f)\nb = Max(m, eps)\nl = Log(b)\n"
            "d = MatMul(l, v)\ny = MatMul(d, v)")


def make_norm(rng):
    weights = {name: rng.normal(size=(32, 32)).astype(f32) for name in "wv"}
    x, z = rng.normal(size=(8, 16, 32)).astype(f32), np.eye(16, dtype=f32) * (np.arange(16) % 2 == 0)
    return NORM, {**weights, "eps": f32(1e-6)}, {"x": x, "z": np.tile(z, (8, 1, 1))}


def make_angles(rng):
    constants = {"two": f32(2), "one": f32(1), "f": rng.normal(size=(2, 32), scale=50).astype(f32), "v": rng.normal(size=(64, 32)).astype(f32)}
    return ANGLES, constants, {"x": rng.uniform(size=(8, 16, 2)).astype(f32)}


def make_spectrum(rng):
    time, loudness = np.arange(128) / 128, 10.0 ** rng.uniform(-3, 0, (8, 64, 1))
    waves = sum(loudness * np.sin(2 * np.pi * rng.uniform(1, 60, (8, 64, 1)) * time) * 10.0 ** rng.uniform(-2, 0, (8, 64, 1)) for _ in range(3))
    angles = 2 * np.pi * np.outer(time, np.arange(64))
    constants = {"cosines": np.cos(angles), "sines": np.sin(angles), "f": np.kron(np.eye(32), np.ones((2, 1))), "v": rng.normal(size=(32, 32))}
    return SPECTRUM, {**{name: array.astype(f32) for name, array in constants.items()}, "eps": f32(1e-6)}, {"x": waves.astype(f32)}


def make_head(rng):
    weights = {name: rng.normal(size=size).astype(f32) for name, size in (("w", (32, 512)), ("u", (512, 128)), ("v", (128, 4)))}
    return HEAD, weights, {"x": rng.normal(size=(8, 256, 32)).astype(f32)}


def make_sums(rng):
    weights = {f"w{i}": rng.normal(size=(32, 32, 1, 1), scale=0.01).astype(f32) for i in range(20)}
    return SUMS, {**weights, "v": rng.normal(size=(32, 32, 1, 1)).astype(f32)}, {"x": rng.normal(size=(8, 1, 32, 16, 16)).astype(f32)}


def make_tokens(rng):
    rows, columns = 512, 128
    constants = {"g": np.ones(columns, f32), "r": np.where(np.arange(rows) == 0, 20, 1).astype(f32)[:, None],
                 "w": rng.normal(size=(columns, 32)).astype(f32), "zero": np.array([0]), "one": np.array([1])}
    return TOKENS, constants, {"x": rng.normal(size=(8, rows, columns)).astype(f32)}


FOLLOWS = "  octet.pattern @slice dtypes = [@a8] observation = shared float_uses = stays_float float_operands = follows"
RULES = [("  octet.float_norms ", "  // ", "OCT109", make_norm, 15), ("  octet.float_angles ", "  // ", "OCT123", make_angles, 15),
         ("  octet.float_ratios ", "  // ", "OCT124", make_spectrum, 15),
         ("  octet.float_sums ", "  // ", "OCT127", make_sums, 3),
         ("  octet.float_ends ", "  // ", "OCT113", make_head, 5), (FOLLOWS, FOLLOWS[:-len(" float_operands = follows")], "OCT108", make_tokens, 4)]


@pytest.mark.parametrize("entry,instead,code,make,saved", RULES, ids=["norms", "angles", "spectra", "sums", "ends", "slices"])
def test_what_a_rule_saves(entry, instead, code, make, saved, source, tmp_path):
    lines, constants, samples = make(np.random.default_rng(0))
    network = onnx_networks.make_network(lines, inputs={name: list(array.shape[1:]) for name, array in samples.items()}, constants=constants).SerializeToString()
    text = (source / "lib" / "Backend" / "backends" / "cpu.mlir").read_text()
    assert text.count(entry) == 1
    # Scales of each row would save what the rule no longer does.
    (tmp_path / "off.mlir").write_text(text.replace(entry, instead).replace("octet-scale-each-run,", ""))
    calibration = {"calibration_data": {name: array[:4] for name, array in samples.items()}}
    exact, on = octet.compile(network), octet.compile(network, **calibration)
    off = octet.compile(network, **calibration, backend=str(tmp_path / "off.mlir"), qconfig_mapping="cpu_default_mapping")
    rows_on, rows_off = ({(row["operator"], row.get("code")) for row in model.report.data["operators"]} for model in (on, off))
    assert code in {of_row for _, of_row in rows_on - rows_off}

    def run(model):
        return np.stack([model.run({name: array[i] for name, array in samples.items()})["y"].copy() for i in range(4, 8)])
    decibels_on, decibels_off = (get_decibels(run(exact), run(model)) for model in (on, off))
    assert decibels_on > 25 and decibels_on > decibels_off + saved, (decibels_on, decibels_off)
