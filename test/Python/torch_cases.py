# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators as people write them, element by element, reductions and activations: (name, callable or module, inputs)."""

import operator

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1)
X, Y = torch.randn(2, 6, 5), torch.randn(2, 6, 5)
ROW, SMALL, POSITIVE = torch.randn(5), torch.rand(2, 6, 5) * 1.8 - 0.9, torch.rand(2, 6, 5) + 0.1
TALL = POSITIVE + 1
I, J = torch.randint(-9, 9, (3, 4)), torch.randint(1, 7, (3, 4))
N = torch.randint(-9, 9, (3, 4), dtype=torch.int32)
A, B = X > 0, Y > 0
SPECIAL = torch.tensor([1.0, float("nan"), float("inf"), -float("inf"), 0.0, -2.5])
IMAGE = torch.randn(2, 8, 9, 7)


def _named(names, inputs, place=torch, **kwargs):
    return [(name, lambda *x, of=getattr(place, name): of(*x, **kwargs), inputs) for name in names.split()]


def _in_place(names, inputs, *args):
    """x.relu_() and the like, of a value that the network computes."""
    return [(name, lambda *x, name=name: getattr(x[0] * 1, name)(*x[1:], *args), inputs) for name in names.split()]


UNARY = (
    _named(
        "neg negative abs absolute exp sign floor ceil round trunc fix frac sin cos atan arctan erf erfc sinh cosh asinh arcsinh sigmoid tanh relu square exp2 "
        "expm1 isnan isinf isfinite sgn isposinf isneginf positive deg2rad rad2deg sinc signbit logical_not",
        (X,),
    )
    + _named("log sqrt rsqrt log1p reciprocal log2 log10", (POSITIVE,))
    + _named("tan asin acos arcsin arccos atanh arctanh logit", (SMALL,))
    + _named("acosh arccosh", (TALL,))
    + _named("isnan isinf isfinite isposinf isneginf nan_to_num", (SPECIAL,))
    + _named("expit ndtr", (X,), torch.special)
    + _named("neg abs sign bitwise_not square logical_not", (I,))
    + _named("logical_not bitwise_not", (A,))
    + _named("neg", (N,))
    + _in_place("neg_ abs_ exp_ sin_ cos_ sigmoid_ tanh_ relu_ square_ floor_ round_ erf_ trunc_ zero_ sign_ ceil_", (X,))
    + _in_place("sqrt_ rsqrt_ log_ reciprocal_", (POSITIVE,))
    + [
        ("round_decimals", lambda x: torch.round(x, decimals=2), (X,)),
        ("operator_neg", operator.neg, (X,)),
        ("operator_invert", operator.invert, (A,)),
        ("operator_abs", operator.abs, (X,)),
        ("nan_to_num_values", lambda x: x.nan_to_num(nan=1.0, posinf=5.0, neginf=-5.0), (SPECIAL,)),
        ("alpha_dropout", lambda x: F.alpha_dropout(x) + F.feature_alpha_dropout(x, 0.3), (X,)),
        ("copy", lambda x: (x * 1).copy_(x[0, 0]), (X,)),
        ("fill", lambda x: (x * 1).fill_(3), (X,)),
    ]
)
BINARY = (
    _named(
        "add sub subtract mul multiply div divide true_divide maximum minimum eq ne lt le gt ge rsub fmax fmin atan2 arctan2 hypot logaddexp logaddexp2 "
        "not_equal less less_equal greater greater_equal",
        (X, ROW),
    )
    + _named("fmod remainder floor_divide", (X, TALL))
    + _named("pow", (POSITIVE, X))
    + _named("xlogy", (X, POSITIVE))
    + _named("add sub mul maximum minimum eq ne lt ge bitwise_and bitwise_or bitwise_xor remainder floor_divide fmod div", (I, J))
    + _named("logical_and logical_or logical_xor", (A, B))
    + _named("logical_and logical_xor", (X, I.new_ones(5)))
    + _named("bitwise_left_shift bitwise_right_shift", (J, J % 4))
    + _named("isin", (I, J[0]))
    + _named("add mul eq", (I, N))
    + _named("copysign", (X, Y))
    + _named("heaviside", (X, ROW))
    + [
        (f.__name__, f, (X, ROW))
        for f in (
            operator.add,
            operator.sub,
            operator.mul,
            operator.truediv,
            operator.lt,
            operator.le,
            operator.gt,
            operator.ge,
            operator.eq,
            operator.ne,
        )
    ]
    + [(f.__name__ + "_of_integers", f, (I, J)) for f in (operator.floordiv, operator.mod, operator.and_, operator.or_, operator.xor)]
    + [(f.__name__, f, (X * 1, ROW)) for f in (operator.iadd, operator.isub, operator.imul, operator.itruediv)]
    + _in_place("add_ sub_ mul_ div_", (X, ROW))
    + _in_place("add_ sub_ mul_ div_ pow_ clamp_min_ clamp_max_ fmod_ remainder_", (X,), 2)
    + [
        ("number_first", lambda x: 1 - x, (X,)),
        ("number_over", lambda x: 2 / x, (POSITIVE,)),
        ("power", lambda x: x**2, (X,)),
        ("cube", lambda x: x**3, (X,)),
        ("power_of_number", lambda x: 2**x, (X,)),
        ("root", lambda x: x**0.5, (POSITIVE,)),
        ("inverse_root", lambda x: x.pow(-0.5), (POSITIVE,)),
        ("alpha", lambda x, y: torch.add(x, y, alpha=0.5), (X, Y)),
        ("alpha_sub", lambda x, y: torch.sub(x, y, alpha=2), (X, Y)),
        ("integer_and_float", lambda i: i * 0.5 + 1, (I,)),
        ("integer_and_tensor", lambda i, x: i[:, :1] + x, (I, torch.randn(3, 2))),
        ("true_quotient", lambda i, j: i / j, (I, J)),
        ("floor", lambda x, y: torch.div(x, y, rounding_mode="floor"), (X, TALL)),
        ("trunc", lambda x, y: torch.div(x, y, rounding_mode="trunc"), (X, TALL)),
        ("integer_trunc", lambda i, j: torch.div(i, j, rounding_mode="trunc"), (I, J)),
        ("compare_number", lambda x: x > 0.5, (X,)),
        ("compare_integer", lambda i: i > 2.5, (I,)),
        ("compare_equal", lambda i: i == 3, (I,)),
        ("where", lambda c, x, y: torch.where(c, x, y), (A, X, Y)),
        ("where_number", lambda x: torch.where(x > 0, x, 0.5), (X,)),
        ("where_method", lambda x, y: x.where(y > 0, y), (X, Y)),
        ("masked_fill", lambda x, m: x.masked_fill(m, -1e9), (X, A)),
        ("masked_fill_", lambda x, m: (x * 1).masked_fill_(m == 0, float("-inf")), (X, A)),
        ("and_of_truth", lambda a, b: a & b | ~a, (A, B)),
        ("clamp", lambda x: x.clamp(-0.5, 0.5), (X,)),
        ("clip", lambda x: x.clip(max=0.5), (X,)),
        ("clamp_", lambda x: (x * 1).clamp_(min=0.1), (X,)),
        ("clamp_integers", lambda i: i.clamp(-2, 3), (I,)),
        ("clamp_tensors", lambda x, y: torch.clamp(x, min=y), (X, Y)),
        ("clamp_min", lambda x: x.clamp_min(0.2), (X,)),
        ("clamp_max", lambda x: x.clamp_max(0.2), (X,)),
        ("lerp", lambda x, y: torch.lerp(x, y, 0.3), (X, Y)),
        ("addcmul", lambda x, y, z: torch.addcmul(x, y, z, value=0.5), (X, Y, POSITIVE)),
        ("addcdiv", lambda x, y, z: torch.addcdiv(x, y, z, value=0.5), (X, Y, POSITIVE)),
    ]
)
TYPES = [
    ("float", lambda i: i.float(), (I,)),
    ("long", lambda x: x.long(), (X * 5,)),
    ("int", lambda x: x.int(), (X * 5,)),
    ("bool", lambda x: x.bool(), (X.round(),)),
    ("to", lambda i: i.to(torch.float32), (N,)),
    ("type_as", lambda i, x: i.type_as(x), (I, X)),
    ("half", lambda x: x.to(dtype=torch.bfloat16).float() * 0 + x, (X,)),
    ("type", lambda i: i.type(torch.float32), (I,)),
    ("double", lambda x: x.double().float(), (X,)),
    ("truth_to_float", lambda a: a.float() * 2, (A,)),
    ("clone", lambda x: x.clone() + x.detach() + x.contiguous(), (X,)),
    ("cpu", lambda x: x.cpu() + x.to("cpu"), (X,)),
    ("dropout", lambda x: F.dropout(x, 0.5, False), (X,)),
    (
        "like",
        lambda x: torch.zeros_like(x) + torch.ones_like(x) + torch.full_like(x, 3) + x.new_ones(5) + x.new_full((5,), 2.0) + x.new_zeros(5) + x,
        (X,),
    ),
    ("identity", nn.Identity(), (X,)),
    ("sizes", lambda x: x * x.shape[1] + x.size(0) + x.dim() + x.numel(), (X,)),
    ("arange", lambda x: x + torch.arange(x.shape[-1]), (X,)),
    ("promotion", lambda i, n: i * 2 + n, (I, N)),
    ("truth_arithmetic", lambda a, b: a + b + 1, (A.long(), B)),
    *(
        (cls.__name__, cls(0.5), (inputs,))
        for cls, inputs in (
            (nn.Dropout, X),
            (nn.Dropout1d, X),
            (nn.Dropout2d, IMAGE),
            (nn.Dropout3d, IMAGE[None]),
            (nn.AlphaDropout, X),
            (nn.FeatureAlphaDropout, IMAGE),
        )
    ),
]
ACTIVATIONS = (
    _named(
        "relu relu6 silu hardswish hardsigmoid hardtanh gelu leaky_relu elu selu celu mish softplus softsign logsigmoid tanhshrink hardshrink softshrink sigmoid "
        "tanh rrelu",
        (X,),
        F,
    )
    + [(name, lambda x, of=getattr(F, name): of(x, dim=1), (X,)) for name in ("softmax", "log_softmax", "softmin", "glu")]
    + [
        (cls.__name__, cls(), (X * 3,))
        for cls in (
            nn.ReLU,
            nn.ReLU6,
            nn.Sigmoid,
            nn.Tanh,
            nn.SiLU,
            nn.Hardswish,
            nn.Hardsigmoid,
            nn.Hardtanh,
            nn.GELU,
            nn.LeakyReLU,
            nn.ELU,
            nn.SELU,
            nn.CELU,
            nn.Mish,
            nn.Softplus,
            nn.Softsign,
            nn.LogSigmoid,
            nn.Tanhshrink,
            nn.Hardshrink,
            nn.Softshrink,
            nn.RReLU,
            nn.PReLU,
        )
    ]
    + [
        ("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"), (X,)),
        ("module_gelu_tanh", nn.GELU("tanh"), (X,)),
        ("softplus_beta", nn.Softplus(2.0), (X,)),
        ("softplus_threshold", nn.Softplus(1.0, 0.5), (X,)),
        ("leaky_slope", nn.LeakyReLU(0.3), (X,)),
        ("elu_alpha", lambda x: F.elu(x, 0.5), (X,)),
        ("celu_alpha", lambda x: F.celu(x, 0.5), (X,)),
        ("prelu_channels", nn.PReLU(6), (X,)),
        ("prelu", lambda x, w: F.prelu(x, w), (X, torch.rand(6))),
        ("threshold", lambda x: F.threshold(x, 0.1, 0.0), (X,)),
        ("threshold_value", lambda x: F.threshold(x, 0.1, 20.0), (X,)),
        ("module_threshold", nn.Threshold(0.1, 2.0), (X,)),
        ("softmax", nn.Softmax(-1), (X,)),
        ("log_softmax", nn.LogSoftmax(1), (X,)),
        ("softmin", nn.Softmin(1), (X,)),
        ("softmax2d", nn.Softmax2d(), (IMAGE,)),
        ("glu", nn.GLU(-2), (X,)),
        ("in_place", nn.ReLU(inplace=True), (X * 1,)),
        ("function_in_place", lambda x: F.relu(x * 1, inplace=True), (X,)),
        ("relu_", lambda x: F.relu_(x * 1), (X,)),
        ("in_place_chain", nn.Sequential(nn.Hardtanh(inplace=True), nn.LeakyReLU(inplace=True)), (X * 1,)),
        ("softmax_method", lambda x: x.softmax(dim=-1).log_softmax(1), (X,)),
        ("softmax_type", lambda x: F.softmax(x, dim=-1, dtype=torch.float32), (X,)),
    ]
)
REDUCTIONS = [
    *((name, lambda x, of=getattr(torch, name): of(x), (X,)) for name in "mean sum amax amin prod max min argmax argmin var std norm".split()),
    *(
        (f"{name}_dim", lambda x, of=getattr(torch, name): of(x, 1), (X,))
        for name in "mean sum amax amin prod max min argmax argmin var std logsumexp cumsum cumprod".split()
    ),
    *(
        (f"{name}_kept", lambda x, of=getattr(torch, name): of(x, dim=-1, keepdim=True), (X,))
        for name in "mean sum max min argmax argmin var std".split()
    ),
    *((f"{name}_integers", lambda i, of=getattr(torch, name): of(i), (I,)) for name in "sum amax amin prod max min argmax any all".split()),
    *(
        (f"{name}_integers_dim", lambda i, of=getattr(torch, name): of(i, 1), (I,))
        for name in "sum amax max argmin any all cumsum count_nonzero".split()
    ),
    ("any", lambda a: a.any(), (A,)),
    ("all", lambda a: a.all(-1), (A,)),
    ("any_kept", lambda a: a.any(1, keepdim=True), (A,)),
    ("mean_of_truth", lambda a: a.float().mean(), (A,)),
    ("sum_of_truth", lambda a: a.sum(1), (A,)),
    ("mean_two", lambda x: x.mean((2, 3), keepdim=True), (IMAGE,)),
    ("mean_typed", lambda i: i.sum(0, dtype=torch.float32), (I,)),
    ("var_biased", lambda x: x.var(dim=1, unbiased=False), (X,)),
    ("var_correction", lambda x: torch.var(x, (1, 2), correction=0, keepdim=True), (X,)),
    ("std_all", lambda x: x.std(), (X,)),
    ("var_mean", lambda x: torch.var_mean(x, dim=1), (X,)),
    ("std_mean", lambda x: torch.std_mean(x, dim=-1, keepdim=True), (X,)),
    ("norm_2", lambda x: x.norm(2, -1, True), (X,)),
    ("norm_1", lambda x: x.norm(p=1, dim=1), (X,)),
    ("vector_norm", lambda x: torch.linalg.vector_norm(x, dim=-1), (X,)),
    ("vector_norm_inf", lambda x: torch.linalg.vector_norm(x, float("inf"), dim=-1), (X,)),
    ("linalg_norm", lambda x: torch.linalg.norm(x, dim=1), (X,)),
    ("norm_3", lambda x: x.norm(p=3, dim=1), (X,)),
    ("topk", lambda x: torch.topk(x, 3), (X,)),
    ("topk_least", lambda x: x.topk(2, dim=1, largest=False), (X,)),
    ("sort", lambda x: torch.sort(x), (X,)),
    ("sort_down", lambda x: x.sort(dim=1, descending=True), (X,)),
    ("argsort", lambda x: x.argsort(1), (X,)),
    ("aminmax", lambda x: torch.aminmax(x, dim=1), (X,)),
    ("median_all", lambda x: x.median(), (X[0, 0],)),
    ("kthvalue", lambda x: x.kthvalue(2, dim=1, keepdim=True), (X,)),
    ("median", lambda x: x.median(1), (X,)),
    ("max_of_two", lambda x, y: torch.max(x, y), (X, Y)),
    ("min_of_two", lambda x, y: x.min(y), (X, Y)),
    ("diff", lambda x: torch.diff(x, dim=1), (X,)),
    ("logcumsumexp", lambda x: x.exp().cumsum(1).log(), (X,)),
]
GROUPS = {"unary": UNARY, "binary": BINARY, "types": TYPES, "activations": ACTIVATIONS, "reductions": REDUCTIONS}
