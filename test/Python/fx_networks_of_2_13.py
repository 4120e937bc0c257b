# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The networks that spec/golden-2.13/fx_graphs_*.json has beside those of 1.13, in the dialect nn."""
from fx_networks import DYNAMIC, LL, ROWS, Case, L, gru, lstm, mapping, small_conv

DEFAULT = "qnnpack_default_mapping"
CONV_BN = {"c": small_conv(), "bn": ("batch_norm",)}


def residual(n, relu="", left=True, norm=False):
    x, c = n.inputs[0], n.conv(n.inputs[0], "c")
    c = n.batch_norm(c, "c") if norm else c
    y = n.binary("nn.add", *((c, x) if left else (x, c)), "add")
    return n.relu(y, relu) if relu else y


def two_convs(n):
    return n.relu(n.binary("nn.add", n.conv(n.inputs[0], "a"), n.conv(n.inputs[0], "b"), "add"), "r")


def leaky(n, norm=False):
    y = n.linear(n.inputs[0], "l")
    return n.add("nn.leaky_relu", [n.batch_norm(y, "l") if norm else y], "r", attributes="alpha 0.1")


def prelu(n):
    return n.add("nn.prelu", [n.conv(n.inputs[0], "c"), n.parameter("p.weight", (2, 1, 1))], "p")


def pixel_shuffle(n):
    split = n.reshape(n.conv(n.inputs[0], "c"), (1, 1, 2, 2, 4, 4), "p")
    turned = n.add("nn.transpose", [split], "p", (1, 1, 4, 2, 4, 2), "permutation [0, 1, 4, 2, 5, 3]")
    return n.reshape(turned, (1, 1, 8, 8), "p")


def narrow(n):
    half = n.add("nn.slice", [n.linear(n.inputs[0], "a")], "narrow", (2, 2), "starts [0, 0] sizes [2, 2] steps [1, 1]")
    return n.linear(half, "b")


def bags_of_two(n):
    indices = n.add("nn.reshape", [n.index(n.inputs[0])], "clamp", (2, 2), element="i64")
    rows = n.embedding(indices, "e", "torch.nn.EmbeddingBag")
    return n.add("nn.reduce_sum", [rows], "e", (2, 8), "axes [1]", "torch.nn.EmbeddingBag")


def default(modules, forward, **options):
    """With the engine's default mapping, whose activations are histograms."""
    return Case(modules, forward, DEFAULT, is_histogram=True, **options)


CASES = {
    "x_residual_conv_bn_add_relu_module": default(CONV_BN, lambda n: residual(n, "r", norm=True)),
    "x_residual_conv_add_relu_functional": default({"c": small_conv()}, lambda n: residual(n, "relu")),
    "x_conv_add_left": default({"c": small_conv()}, residual),
    "x_conv_add_right": default({"c": small_conv()}, lambda n: residual(n, left=False)),
    "x_two_convs_add_relu": default({"a": small_conv(), "b": small_conv()}, two_convs),
    "x_linear_leaky_relu": default({"l": L}, leaky),
    "x_linear_bn_leaky_relu": default({"l": L, "bn": ("batch_norm", 4)}, lambda n: leaky(n, norm=True)),
    "x_linear_tanh": default({"l": L}, lambda n: n.add("nn.tanh", [n.linear(n.inputs[0], "l")], "r")),
    "x_flinear_tanh": default({"l": L}, lambda n: n.add("nn.tanh", [n.linear(n.inputs[0], "l", "linear")], "tanh")),
    "x_f_conv_transpose2d": default({"c": ("conv_transpose",)},
                                    lambda n: n.conv(n.inputs[0], "c", "conv_transpose2d", transposed=True)),
    "x_conv_transpose2d": default({"c": ("conv_transpose",)}, lambda n: n.conv(n.inputs[0], "c", transposed=True)),
    "x_prelu_default": default({"c": small_conv(), "p": ("prelu",)}, prelu),
    "x_pixel_shuffle": default({"c": small_conv(4)}, pixel_shuffle),
    "x_narrow": default({"a": L, "b": ("linear", 2, 2)}, narrow),
    "x_matmul_op": Case({}, lambda n: n.add("nn.matmul", n.inputs, "matmul", (2, 3), source="operator.matmul")),
    "x_sub": default({"l": L}, lambda n: n.binary("nn.sub", n.linear(n.inputs[0], "l"), n.inputs[1], "sub")),
    "x_default_linear": default(LL, lambda n: n.linear(n.relu(n.linear(n.inputs[0], "a"), "a"), "b")),
    "x_default_conv1d": default({"c": ("conv1d",)}, lambda n: n.conv(n.inputs[0], "c"), shapes=((1, 2, 1, 6),)),
    "x_silu_unsupported": default({"a": L}, lambda n: n.add("nn.silu", [n.linear(n.inputs[0], "a")], "silu")),
    "x_gru_dynamic": Case({"g": ("recurrent", 3)}, lambda n: n.recurrent(n.inputs[0], "g", gru), DYNAMIC, aliases={"getitem": "g"}),
    "x_lstmcell_dynamic": Case({"g": ("recurrent", 4)}, lambda n: n.recurrent(n.inputs[0], "g", lstm), DYNAMIC, aliases={"getitem": "g"}),
    "x_embeddingbag_weight_only": Case({"e": ("embedding", 4, 8)}, bags_of_two,
                                       mapping(f'octet.object_type "torch.nn.EmbeddingBag" {ROWS}', everything=None)),
    "x_symmetric_qnnpack_linear": Case({"a": L}, lambda n: n.relu(n.linear(n.inputs[0], "a"), "a"), "qnnpack_symmetric_mapping"),
}
#: Attention, three-dimensional convolutions.
DEVIATIONS = {"x_mha", "x_default_conv3d"}
