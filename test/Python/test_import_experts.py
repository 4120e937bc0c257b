# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mixtures of experts, as onnxruntime's MoE computes them."""
import itertools

import numpy as np
import pytest

pytest.importorskip("onnx")
octet = pytest.importorskip("octet")
from importing import expect_error  # noqa: E402
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
