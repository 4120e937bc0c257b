# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recurrent networks, float and quantized in each run: compiled code gives the law's bytes at every level of this machine."""

import pathlib
import sys

import numpy as np
import octet_reference as reference
import pytest
from test_compiled import LEVELS, driver, run_library, supports  # noqa: F401  (a fixture)

onnx = pytest.importorskip("onnx")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Python"))
import onnx_networks  # noqa: E402
from test_dynamic_compiled import quantize_weights  # noqa: E402

f32 = np.float32
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
PER_TENSOR = """octet.qconfig_mapping @m {
  octet.global none
  octet.object_type "nn.linear" #octet.qconfig<
    activation = #octet.placeholder<dtype = ui8, dynamic = true>,
    weight = #octet.per_channel_min_max<dtype = si8, scheme = symmetric, range = [-127, 127]>>
}
"""


def multiply(form):
    """The linear layer of a form, as [N.recurrent] takes it."""
    if form == "float":
        return reference.linear
    return lambda x, w, bias: reference.linear_dynamic(x, *quantize_weights(w, "channels"), bias, per_row=form == "row")


def make_layer(rng, kind, width, size, directions):
    rows = GATES[kind] * size
    return {"w": rng.uniform(-0.5, 0.5, (directions, rows, width)).astype(f32), "r": rng.uniform(-0.5, 0.5, (directions, rows, size)).astype(f32),
            "b": rng.uniform(-0.5, 0.5, (directions, 2 * rows)).astype(f32)}


def compute(kind, x, layer, product, options):
    """[steps, directions, batch, size] of one layer; the second direction reads the sequence from its end."""
    run, results = getattr(reference, kind.lower()), []
    for d in range(len(layer["w"])):
        order = slice(None, None, -1 if d else 1)
        settings = {key: value[d] if isinstance(value, np.ndarray) else value for key, value in options.items()}
        results.append(run(np.ascontiguousarray(x[order]), layer["w"][d], layer["r"][d], layer["b"][d], product, **settings)[order])
    return np.stack(results, axis=1)


# Kind; steps, batch, width of the input; size of the states; layers; directions; options of the operator.
CASES = [("RNN", (5, 1, 12), 20, 1, 1, {}), ("RNN", (4, 3, 7), 9, 2, 2, {}),
         ("LSTM", (6, 1, 24), 32, 2, 1, {}), ("LSTM", (4, 3, 10), 17, 1, 2, {}), ("LSTM", (4, 2, 8), 16, 1, 1, {"peepholes": True}),
         ("GRU", (6, 1, 24), 32, 2, 1, {"linear_before_reset": True}), ("GRU", (4, 3, 10), 17, 1, 2, {"linear_before_reset": True}),
         ("GRU", (5, 2, 16), 20, 1, 2, {})]


def make_case(folder, seed, kind, shape, size, layers, directions, options):
    """(the network's file, its layers, their options)."""
    rng, width, lines, constants, made, settings = np.random.default_rng(seed), shape[2], [], {}, [], []
    attributes = f'hidden_size = {size}, direction = "{"bidirectional" if directions == 2 else "forward"}"'
    attributes += ", linear_before_reset = 1" * ("linear_before_reset" in options)
    for i in range(layers):
        layer = make_layer(rng, kind, width, size, directions)
        setting = {key: rng.uniform(-0.5, 0.5, (directions, 3 * size)).astype(f32) if key == "peepholes" else value for key, value in options.items()}
        constants |= {f"{key}{i}": value for key, value in layer.items()}
        further = ""
        if "peepholes" in setting:
            constants[f"p{i}"], further = setting["peepholes"], f", , , , p{i}"
        source = "x" if i == 0 else f"x{i}"
        lines.append(f"y{i} = {kind} <{attributes}> ({source}, w{i}, r{i}, b{i}{further})")
        width = directions * size
        made.append(layer), settings.append(setting)
        if i + 1 < layers:
            lines += [f"t{i} = Transpose <perm = [0, 2, 1, 3]> (y{i})", f"x{i + 1} = Reshape(t{i}, shape{i})"]
            constants[f"shape{i}"] = np.array([*shape[:2], width])
    network = onnx_networks.make_network("\n".join(lines), inputs={"x": list(shape)}, constants=constants, outputs=(f"y{layers - 1}",))
    (folder / "network.onnx").write_bytes(network.SerializeToString())
    return folder / "network.onnx", made, settings


@pytest.mark.parametrize("form", ["float", "row", "tensor"])
@pytest.mark.parametrize("case", range(len(CASES)), ids=lambda i: f"{CASES[i][0]}{i}")
def test_recurrent_network(tool, driver, tmp_path, case, form):  # noqa: F811
    kind, shape, size, layers, directions, options = CASES[case]
    network, made, settings = make_case(tmp_path, case, kind, shape, size, layers, directions, options)
    arguments = ["--float"] if form == "float" else ["--backend=cpu_dynamic"]
    if form == "tensor":
        (tmp_path / "mapping.mlir").write_text(PER_TENSOR)
        arguments.append(f"--qconfig-mapping={tmp_path / 'mapping.mlir'}")
    library = tmp_path / "model.so"
    tool("octet-compile", network, "--name=model", *arguments, "--cpu-level=" + ",".join(LEVELS), "-o", library)

    given = np.random.default_rng(case).normal(size=shape).astype(f32)
    x, wanted = given, None
    for layer, setting in zip(made, settings):
        wanted = compute(kind, x, layer, multiply(form), setting)
        x = wanted.transpose(0, 2, 1, 3).reshape(*shape[:2], -1)
    wanted = np.ascontiguousarray(wanted).ravel().view(np.uint32)
    assert len(np.unique(wanted)) > 10
    for level in filter(lambda level: supports(library, level), LEVELS):
        for threads in (1, 2):
            got = run_library(driver, library, level, threads, tmp_path, given)
            assert np.array_equal(got, wanted), f"{level}, {threads} threads: {np.count_nonzero(got != wanted)} of {wanted.size} differ"
