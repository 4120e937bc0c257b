# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mixtures of experts, as onnxruntime's MoE and QMoE compute them."""
import itertools
import subprocess

import numpy as np
import pytest

pytest.importorskip("onnx")
octet = pytest.importorskip("octet")
from importing import BIN, expect_error  # noqa: E402
from onnx import helper, numpy_helper  # noqa: E402
from quantized_networks import make, open_onnxruntime  # noqa: E402

EXPERTS, HIDDEN, COLUMNS = 4, 24, 16
GATED = ', activation_type="swiglu", swiglu_fusion=1'


def mixture(attributes, rows=(5,), count=2, biases=True, **more):
    hidden = HIDDEN * (2 if GATED in attributes else 1)
    constants = {"w": (EXPERTS, hidden, COLUMNS), "u": (EXPERTS, COLUMNS, HIDDEN), **({"b": (EXPERTS, hidden), "c": (EXPERTS, COLUMNS)} if biases else {}), **more}
    inputs = {"x": [*rows, COLUMNS], "r": [int(np.prod(rows)), EXPERTS]}
    names = ", ".join(["x, r, w", "b" if biases else "", "u", "c" if biases else "", *(["", "t"] if "t" in more else [])][:8 if "t" in more else 6])
    return f"y = com.microsoft.MoE<k={count}{attributes}>({names})", dict(inputs=inputs, constants=constants)


CASES = {
    **{f"{activation}_{normalizes}": mixture(f', activation_type="{activation}", normalize_routing_weights={normalizes}')
       for activation, normalizes in itertools.product(["relu", "gelu", "silu", "identity"], [0, 1])},
    "gated": mixture(GATED),
    "gated_with_limits": mixture(GATED + ", normalize_routing_weights=1, activation_alpha=1.7, activation_beta=1.0, swiglu_limit=0.3"),
    "one_expert": mixture("", count=1, biases=False),
    "all_experts_of_batches": mixture("", rows=(2, 3), count=4),
}


@pytest.mark.parametrize("name", CASES)
def test_operator_is_that_of_onnxruntime(compiler, name):
    nodes, arguments = CASES[name]
    model = make(nodes, **arguments)
    random = np.random.default_rng(0)
    feeds = {value: random.standard_normal(shape).astype(np.float32) for value, shape in arguments["inputs"].items()}
    feeds["r"][0] = 1  # the last of equal scores are chosen
    expected = open_onnxruntime(model).run(None, feeds)[0]
    got = octet.compile(model.SerializeToString()).run(feeds)["y"]
    assert got.shape == expected.shape and np.abs(got - expected).max() <= 2e-6 * np.abs(expected).max()


def test_experts_become_integers(compiler):
    nodes, arguments = mixture(GATED)
    model = make(nodes, **arguments)
    random = np.random.default_rng(0)
    samples = {value: random.standard_normal((32, *shape)).astype(np.float32) for value, shape in arguments["inputs"].items()}
    compiled = octet.compile(model.SerializeToString(), calibration_data=samples)
    products = [row for row in compiled.report if row.operator.startswith("nn.linear")]
    assert len(products) == 4 and all(row.verdict.startswith("int8") for row in products)  # both halves, the second matrices, their biases


REFUSED = {
    "gate_apart": (*mixture(', activation_type="swiglu"'), "activation_type=swiglu with swiglu_fusion=0"),
    "third_matrix": ("y = com.microsoft.MoE<k=2>(x, r, w, , u, , w)", mixture("")[1], "activation_type=relu with swiglu_fusion=0 and a third matrix"),
    "too_many": (*mixture("", count=5), "for 5 experts of each row"),
    "second_matrix": (*mixture("", u=(EXPERTS, HIDDEN, COLUMNS)), "4x24x16"),
    "no_second_matrix": ("y = com.microsoft.MoE<k=2>(x, r, w)", mixture("")[1], "lacks its input 4"),
    "at_run_time": ("y = com.microsoft.MoE<k=2>(x, r, z, , u)", dict(mixture("")[1], inputs={**mixture("")[1]["inputs"], "z": [EXPERTS, HIDDEN, COLUMNS]}),
                    "experts that are computed at run time"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusal(tmp_path, name):
    nodes, arguments, reason = REFUSED[name]
    expect_error(tmp_path, make(nodes, **arguments), reason)


def stored(rows, columns, bits, block, has_zero_points):
    """Integers of a few bits with their scales and zero points as QMoE reads them, and the numbers that they are."""
    random = np.random.default_rng(rows + columns)
    integers = random.integers(0, 1 << bits, (EXPERTS, rows, columns))
    scales = (random.random((EXPERTS, rows, columns // block) if block else (EXPERTS, rows)) + 0.5) / (4 << bits)
    zero_points = random.integers(0, 1 << bits, scales.shape) if has_zero_points else np.full(scales.shape, 1 << (bits - 1))
    wide = [np.repeat(array, block, -1) if block else array[..., None] for array in (scales.astype(np.float32), zero_points)]

    def pack(array):
        array = np.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, -array.shape[-1] % (8 // bits))]).reshape(*array.shape[:-1], -1, 8 // bits)
        return (array << np.arange(0, 8, bits)).sum(-1).astype(np.uint8)

    return pack(integers), scales.astype(np.float32), pack(zero_points) if has_zero_points else None, ((integers - wide[1]) * wide[0]).astype(np.float32)


def stored_mixture(bits=4, block=0, zero_points=False, activation="relu", biases=True, weights=False, count=2, normalizes=1, hidden=HIDDEN, columns=COLUMNS):
    """A QMoE, and the MoE of the same numbers."""
    gated = GATED if activation == "swiglu" else f', activation_type="{activation}"'
    first = stored(hidden * (2 if gated is GATED else 1), columns, bits, block, zero_points)
    second = stored(columns, hidden, bits, block, zero_points)
    random = np.random.default_rng(1)
    constants = dict(w=first[0], ws=first[1], wz=first[2], u=second[0], us=second[1], uz=second[2], b=random.standard_normal(first[3].shape[:2]),
                     c=random.standard_normal((EXPERTS, columns)))
    kept = {name: array if array.dtype == np.uint8 else array.astype(np.float32) for name, array in constants.items()
            if array is not None and (biases or name not in "bc")}
    names = [name if name in kept or name in "xrt" else "" for name in "x r w ws b u us c - - - wz uz -".split()] + (["t"] if weights else [])
    inputs = {"x": [5, columns], "r": [5, EXPERTS], **({"t": [5, EXPERTS]} if weights else {})}
    attributes = f"k={count}{gated}, expert_weight_bits={bits}, normalize_routing_weights={normalizes}" + (f", block_size={block}" if block else "")
    nodes = f"y = com.microsoft.QMoE<{attributes}>({', '.join(names).rstrip(', ')})"
    reals = dict({name: kept[name] for name in "bc" if name in kept}, w=first[3], u=second[3])
    floats = f"y = com.microsoft.MoE<k={count}{gated}, normalize_routing_weights=1>(x, r, w, {'b' if biases else ''}, u{', c' if biases else ''})"
    return make(nodes, inputs=inputs, constants=kept), make(floats, inputs={name: inputs[name] for name in "xr"}, constants=reals)


STORED = {
    **{f"{bits}_bits_{block}_{points}": dict(bits=bits, block=block, zero_points=points, hidden=32, columns=32)
       for bits, block, points in itertools.product([2, 4, 8], [0, 16], [False, True])},
    **{activation: dict(activation=activation) for activation in ("gelu", "silu", "identity", "swiglu")},
    "scores_are_normalized_always": dict(normalizes=0),
    "no_biases": dict(biases=False, activation="swiglu"),
    "weights_apart": dict(weights=True, normalizes=0),
    "weights_apart_are_normalized": dict(weights=True, count=3),
}


@pytest.mark.parametrize("name", STORED)
def test_stored_experts(compiler, name):
    model, floats = stored_mixture(**STORED[name])
    random = np.random.default_rng(0)
    feeds = {value.name: random.random([size.dim_value for size in value.type.tensor_type.shape.dim], np.float32) - 0.5 for value in model.graph.input}
    feeds["r"][0] = 1  # the last of equal scores are chosen
    if "t" in feeds:
        feeds["t"] += 1
    if STORED[name].get("bits") == 8 and STORED[name]["block"]:  # onnxruntime quantizes what these matrices read
        expected = open_onnxruntime(floats).run(None, {name: feeds[name] for name in "xr"})[0]
    else:
        expected = open_onnxruntime(model).run(None, feeds)[0]
    got = octet.compile(model.SerializeToString()).run(feeds)["y"]
    assert got.shape == expected.shape and np.abs(got - expected).max() <= 2e-6 * np.abs(expected).max()


def test_stored_experts_stay_in_their_bits():
    model = stored_mixture(activation="swiglu")[0].SerializeToString()
    text = subprocess.run([BIN / "octet-translate", "--import-onnx", "--mlir", "-"], input=model, capture_output=True, check=True).stdout.decode()
    assert text.count("octet.dequantize_weights") == 3 and text.count("si4>") == 6  # each constant and its reader


def replace(name, array):
    """A change of a model: another constant."""
    def apply(model):
        stored, = [tensor for tensor in model.graph.initializer if tensor.name == name]
        stored.CopyFrom(numpy_helper.from_array(array, name))
    return apply


def assign(name, value):
    """A change of a model: another value of an attribute."""
    def apply(model):
        attribute, = [attribute for attribute in model.graph.node[0].attribute if attribute.name == name]
        attribute.CopyFrom(helper.make_attribute(name, value))
    return apply


def connect(number, name):
    """A change of a model: another input of the node."""
    def apply(model):
        model.graph.node[0].input[number] = name
    return apply


REFUSED_STORED = {
    "blocks_across_rows": (dict(block=16, hidden=32), assign("block_size", 32), "blocks of 32 in rows of 16 and 32 columns"),
    "block_size": (dict(block=16, hidden=32), assign("block_size", 12), "blocks of 12"),
    "scales": ({}, replace("us", np.ones((EXPERTS, 3), np.float32)), "scales of shape 4x3"),
    "zero_points": (dict(zero_points=True), replace("uz", np.ones((EXPERTS, 3), np.uint8)), "zero points of shape 4x3"),
    "no_scales": ({}, connect(6, ""), "lacks its input 6"),
    "computed_scales": ({}, connect(6, "x"), "scales or zero points computed at run time"),
    "weights": (dict(weights=True), connect(14, "x"), "weights of shape 5x16 for 4 experts of 5 rows"),
    "bits": (dict(bits=8), assign("expert_weight_bits", 4), "for 2 experts of each row"),
}


@pytest.mark.parametrize("name", REFUSED_STORED)
def test_refusal_of_stored_experts(tmp_path, name):
    arguments, apply, reason = REFUSED_STORED[name]
    model, _ = stored_mixture(**arguments)
    apply(model)
    expect_error(tmp_path, model, reason)
