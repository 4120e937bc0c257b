# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The parameters of the networks of spec/golden/fx_graphs.json, by their seeds."""
from test_golden_operators import generate

# The tensors of PyTorch's modules: parameters, then buffers.
TENSORS = {
    "linear": lambda i=4, o=4: ([("weight", (o, i)), ("bias", (o,))], []),
    "conv": lambda i=2, o=2, k=3: ([("weight", (o, i, k, k)), ("bias", (o,))], []),
    "conv1d": lambda i=2, o=3, k=3: ([("weight", (o, i, 1, k)), ("bias", (o,))], []),
    "conv_transpose": lambda i=2, o=2, k=3: ([("weight", (i, o, k, k)), ("bias", (o,))], []),
    "batch_norm": lambda c=2: ([("weight", (c,)), ("bias", (c,))], [("running_mean", (c,)), ("running_var", (c,))]),
    "prelu": lambda c=2: ([("weight", (c,))], []),
    "embedding": lambda n=4, d=3: ([("weight", (n, d))], []),
    "norm": lambda c=2: ([("weight", (c,)), ("bias", (c,))], []),
    # weight_ih, weight_hh, bias_ih, bias_hh of as many gates.
    "recurrent": lambda gates, i=4, h=3: ([("ih", (gates * h, i)), ("hh", (gates * h, h)), ("bias_ih", (gates * h,)),
                                           ("bias_hh", (gates * h,))], []),
}


def make_parameters(modules, seed):
    """Values of all modules' tensors, each from the next seed."""
    listed = []
    for which in (0, 1):
        for module, (what, *sizes) in modules.items():
            listed += [(f"{module}.{name}", shape) for name, shape in TENSORS[what](*sizes)[which]]
    values = {}
    for i, (name, shape) in enumerate(listed):
        is_positive = "running_var" in name or ("bn" in name and name.endswith("weight"))
        low, high = (0.5, 1.5) if is_positive else (-0.5, 0.5)
        values[name] = generate({"seed": seed + i, "shape": shape, "kind": "uniform", "lo": low, "hi": high})
    return values
