# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recurrent networks, unrolled: one linear layer takes the whole sequence, one of each step takes the state."""
from __future__ import annotations

from types import SimpleNamespace
from typing import Any, List, Optional, Sequence, Tuple

import torch
from torch import nn

from ..net import Net, Unsupported, Value
from ..table import modules, operators
from .movement import slice_along

#: Where ONNX has PyTorch's gates: (input, forget, cell, output) become (input, output, forget, cell), (reset, update, new) become (update, reset, new).
_GATES = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2), "RNN": (0,)}


def _reordered(net: Net, value: Value, op: str) -> torch.Tensor:
    if value.tensor is None:
        raise Unsupported("weights that are computed")
    parts = value.tensor.chunk(len(_GATES[op]))
    return torch.cat([parts[gate] for gate in _GATES[op]])


def _stacked(net: Net, values: Sequence[Value], op: str, name: str) -> Value:
    return net.constant(torch.stack([_reordered(net, value, op) for value in values]), name)


def _layer(net: Net, module: Any, op: str, layer: int, x: Value, states: Sequence[Optional[Value]]) -> List[Value]:
    """The sequence's hidden states [steps, batch, directions * size], and the last states [directions, batch, size]."""
    ends = [f"l{layer}", f"l{layer}_reverse"][:1 + module.bidirectional]
    take = lambda role: [getattr(module, f"{role}_{end}") for end in ends]  # noqa: E731
    name = take("weight_ih")[0].name
    weights, recurrent = _stacked(net, take("weight_ih"), op, name and f"{name}.gates"), _stacked(net, take("weight_hh"), op, name and f"{name}.recurrent")
    bias = None
    if module.bias:
        both = [torch.cat([_reordered(net, a, op), _reordered(net, b, op)]) for a, b in zip(take("bias_ih"), take("bias_hh"))]
        bias = net.constant(torch.stack(both), name and f"{name}.biases")
    options = {"hidden_size": module.hidden_size, "direction": "bidirectional" if module.bidirectional else "forward"}
    if op == "GRU":
        options["linear_before_reset"] = 1
    if op == "RNN":
        options["activations"] = [module.nonlinearity.capitalize()] * len(ends)
    results = net.compose_all(op, x, weights, recurrent, bias, None, *states, results=1 + len(states), **options)
    steps, _, batch, size = results[0].shape
    sequence = net.nn("transpose", results[0], permutation=[0, 2, 1, 3]) if len(ends) > 1 else results[0]
    return [net.reshape(sequence, (steps, batch, len(ends) * size)), *results[1:]]


def _run(net: Net, module: Any, op: str, x: Value, states: Sequence[Optional[Value]]) -> Tuple[Value, List[Value]]:
    """All layers; the last states are [layers * directions, batch, size]."""
    if not isinstance(x, Value):
        raise Unsupported("packed sequences; give a padded tensor")
    if module.training and module.dropout:
        raise Unsupported("dropout in training; call eval() first")
    is_batched, count = x.rank == 3, 1 + module.bidirectional
    if not is_batched:
        x = net.reshape(x, (x.shape[0], 1, x.shape[1]))
        states = [state and net.reshape(state, (state.shape[0], 1, state.shape[1])) for state in states]
    elif module.batch_first:
        x = net.nn("transpose", x, permutation=[1, 0, 2])
    states = [None if state is None or state.tensor is not None and not state.tensor.any() else state for state in states]
    lasts: List[List[Value]] = []
    for layer in range(module.num_layers):
        x, *last = _layer(net, module, op, layer, x, [state and slice_along(net, state, 0, layer * count, count) for state in states])
        lasts.append(last)
    joined = [net.nn("concat", *parts, axis=0) if len(parts) > 1 else parts[0] for parts in zip(*lasts)]
    if not is_batched:
        return net.reshape(x, (x.shape[0], x.shape[2])), [net.reshape(last, (last.shape[0], last.shape[2])) for last in joined]
    return net.nn("transpose", x, permutation=[1, 0, 2]) if module.batch_first else x, joined


@modules(nn.LSTM)
def lstm(net: Net, module: Any, x: Value, hx: Optional[Sequence[Value]] = None) -> tuple:
    if module.proj_size:
        raise Unsupported("proj_size")
    sequence, (hidden, cell) = _run(net, module, "LSTM", x, hx or (None, None))
    return sequence, (hidden, cell)


@modules(nn.GRU)
def gru(net: Net, module: Any, x: Value, hx: Optional[Value] = None) -> tuple:
    sequence, (hidden,) = _run(net, module, "GRU", x, [hx])
    return sequence, hidden


@modules(nn.RNN)
def rnn(net: Net, module: Any, x: Value, hx: Optional[Value] = None) -> tuple:
    sequence, (hidden,) = _run(net, module, "RNN", x, [hx])
    return sequence, hidden


def _gates(net: Net, module: Any, x: Value, h: Value, count: int) -> List[List[Value]]:
    """The parts of both linear layers of a cell."""
    whole = (net.nn("linear", x, module.weight_ih, module.bias_ih), net.nn("linear", h, module.weight_hh, module.bias_hh))
    size = module.hidden_size
    return [[slice_along(net, part, part.rank - 1, i * size, size) for part in whole] for i in range(count)]


def _state(net: Net, module: Any, x: Value, state: Optional[Value]) -> Value:
    return net.constant(torch.zeros(*x.shape[:-1], module.hidden_size)) if state is None else state


@modules(nn.LSTMCell)
def lstm_cell(net: Net, module: Any, x: Value, hx: Optional[Sequence[Value]] = None) -> tuple:
    h, c = (_state(net, module, x, state) for state in (hx or (None, None)))
    i, f, g, o = (net.nn("add", *parts) for parts in _gates(net, module, x, h, 4))
    kept, new = net.nn("mul", net.nn("sigmoid", f), c), net.nn("mul", net.nn("sigmoid", i), net.nn("tanh", g))
    cell = net.nn("add", kept, new)
    return net.nn("mul", net.nn("sigmoid", o), net.nn("tanh", cell)), cell


@modules(nn.GRUCell)
def gru_cell(net: Net, module: Any, x: Value, hx: Optional[Value] = None) -> Value:
    h = _state(net, module, x, hx)
    r, z, (n, m) = _gates(net, module, x, h, 3)
    reset, update = (net.nn("sigmoid", net.nn("add", *parts)) for parts in (r, z))
    new = net.nn("tanh", net.nn("add", n, net.nn("mul", reset, m)))
    return net.nn("add", new, net.nn("mul", update, net.nn("sub", h, new)))


@modules(nn.RNNCell)
def rnn_cell(net: Net, module: Any, x: Value, hx: Optional[Value] = None) -> Value:
    (parts,) = _gates(net, module, x, _state(net, module, x, hx), 1)
    return net.nn(module.nonlinearity, net.nn("add", *parts))


def _function(op: str, nonlinearity: str = "tanh") -> Any:
    """A row for the function, which has the weights of all layers and directions in one list."""
    def row(net: Net, x: Value, hx: Any, weights: Sequence[Value], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool,
            batch_first: bool) -> tuple:
        if not isinstance(has_biases, bool):
            raise Unsupported("packed sequences; give a padded tensor")
        roles = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")[:4 if has_biases else 2]
        ends = [f"l{layer}{end}" for layer in range(num_layers) for end in ("", "_reverse")[:1 + bidirectional]]
        module = SimpleNamespace(**dict(zip((f"{role}_{end}" for end in ends for role in roles), weights)), num_layers=num_layers, dropout=dropout, training=train,
                                 bidirectional=bidirectional, batch_first=batch_first, bias=has_biases, nonlinearity=nonlinearity,
                                 hidden_size=weights[1].shape[1])
        if weights[1].shape[0] != len(_GATES[op]) * weights[1].shape[1]:
            raise Unsupported("proj_size")
        sequence, lasts = _run(net, module, op, x, hx if isinstance(hx, (list, tuple)) else [hx])
        return (sequence, *lasts)
    return row


operators("lstm")(_function("LSTM"))
operators("gru")(_function("GRU"))
operators("rnn_tanh")(_function("RNN"))
operators("rnn_relu")(_function("RNN", "relu"))
