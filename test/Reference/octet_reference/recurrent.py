# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recurrent operators (docs/numerics.md, section 4) in ONNX's order of gates, from a state of zeros on.

`product(x, w, bias)` is the linear layer that they are made of: float, or quantized in each run.
"""

import numpy as np

from .elementwise import add, mul, sigmoid, sub, tanh

f32 = np.float32


def _sum(projected, product, h, w):
    """The input's share of a gate and, from the second step on, the state's."""
    return projected if h is None else add(projected, product(h, w, None))


def _run(x, w, r, b, product, step, apart=0):
    """The states [steps, batch, size] of x [steps, batch, K]; the recurrent biases of the last `apart` rows are the step's."""
    rows = len(w)
    joined = b[:rows].copy()
    joined[: rows - apart] += b[rows : 2 * rows - apart]
    state, outputs = (None, None), []
    for projected in product(x, w, joined):
        state = step(projected, *state)
        outputs.append(state[0])
    return np.stack(outputs)


def rnn(x, w, r, b, product):
    """[N.recurrent]: RNN"""
    return _run(x, w, r, b, product, lambda projected, h, _: (tanh(_sum(projected, product, h, r)), None))


def lstm(x, w, r, b, product, peepholes=None):
    """[N.recurrent]: LSTM"""
    size = r.shape[1]

    def look(gate, part, c):
        return gate if peepholes is None or c is None else add(gate, mul(c, peepholes[part * size : (part + 1) * size]))

    def step(projected, h, c):
        i, o, f, candidate = np.split(_sum(projected, product, h, r), 4, axis=-1)
        i, f = sigmoid(look(i, 0, c)), sigmoid(look(f, 2, c))
        fresh = mul(i, tanh(candidate))
        c = fresh if c is None else add(mul(f, c), fresh)
        return mul(sigmoid(look(o, 1, c)), tanh(c)), c

    return _run(x, w, r, b, product, step)


def gru(x, w, r, b, product, linear_before_reset=False):
    """[N.recurrent]: GRU"""
    size = r.shape[1]
    bias = b[-size:] if linear_before_reset else None

    def step(projected, h, _):
        gates = sigmoid(_sum(projected[..., : 2 * size], product, h, r[: 2 * size]))
        z, reset = gates[..., :size], gates[..., size:]
        candidate = projected[..., 2 * size :]
        if linear_before_reset:
            candidate = add(candidate, mul(reset, bias if h is None else product(h, r[2 * size :], bias)))
        elif h is not None:
            candidate = add(candidate, product(mul(reset, h), r[2 * size :], None))
        fresh = mul(sub(f32(1), z), tanh(candidate))
        return fresh if h is None else add(fresh, mul(z, h)), None

    return _run(x, w, r, b, product, step, apart=size if linear_before_reset else 0)
