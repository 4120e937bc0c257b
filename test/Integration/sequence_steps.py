# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps of random networks over sequences: recurrent layers, attention, control flow, lists of tensors."""
from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper

f32 = np.float32


def recurrence(net, x):
    """A layer in one direction or both, maybe with states, biases and a clip."""
    steps, batch, size = net.values[x]
    operator, gates = net.one_of(("LSTM", 4), ("GRU", 3), ("RNN", 1))
    direction, hidden = net.one_of("forward", "reverse", "bidirectional"), net.one_of(1, 5, 8, 16)
    ways = 2 if direction == "bidirectional" else 1
    if steps > 24:
        return
    inputs = [x, net.weight(ways, gates * hidden, size, spread=0.4), net.weight(ways, gates * hidden, hidden, spread=0.4)]
    inputs += [net.weight(ways, 2 * gates * hidden, spread=0.3) if net.often(0.7) else ""]
    if net.often(0.4):
        inputs += [np.sort(net.rng.integers(1, steps + 1, batch))[::-1].astype(np.int32) if net.often(0.5) else "", net.weight(ways, batch, hidden, spread=0.5)]
        inputs += [net.weight(ways, batch, hidden, spread=0.5)] if operator == "LSTM" and net.often(0.5) else []
    attributes = {"linear_before_reset": int(net.often(0.5))} if operator == "GRU" else {}
    if net.often(0.2):
        attributes["clip"] = 0.7
    outputs = net.one_of(1, 2, *[3] * (operator == "LSTM"))
    net.add(operator, inputs, outputs, hidden_size=hidden, direction=direction, **attributes)


def attention(net, x):
    """Operators of opset 22 and later."""
    shape, size = net.values[x], net.values[x][-1]
    if net.opset < 22 or len(shape) != 3:
        return
    heads = net.one_of(*(n for n in (1, 2, 4) if size % n == 0))
    if net.often(0.6):
        arguments = {"is_causal": int(net.often(0.4)), **({"softcap": 3.0} if net.often(0.3) else {})}
        net.add("Attention", [x, x, x], q_num_heads=heads, kv_num_heads=heads, **arguments)
    elif size // heads % 2 == 0:
        angles = net.rng.uniform(-3, 3, (8, shape[1], size // heads // 2))[: shape[0]]
        if len(angles) == shape[0]:
            net.add("RotaryEmbedding", [x, np.cos(angles).astype(f32), np.sin(angles).astype(f32)], num_heads=heads, interleaved=int(net.often(0.5)))


def body(net, nodes, inputs, outputs):
    """A graph inside of a node; what it reads of the network around is seen."""
    return helper.make_graph(nodes, net.fresh("g"), [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in inputs],
                             [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs])


def control_flow(net, x):
    """A branch, known or chosen by the input's mean; a loop with known trips; a scan over rows."""
    shape, real = net.values[x], TensorProto.FLOAT
    if net.opset < 11:
        return
    kind = net.one_of("If", "If", "Loop", "Scan")
    s, t, i, c, d = (net.fresh("b") for _ in range(5))
    weight = net.constant(net.weight(shape[-1], spread=0.5))
    if kind == "If":
        condition = np.array(net.often(0.5))
        if net.often(0.5):
            condition = net.inner("Greater", [net.inner("ReduceMax", ["x"], keepdims=0), f32(1.0)])
        branches = [body(net, [helper.make_node(operator, [x, weight], [name])], [], [(name, real)]) for operator, name in (("Mul", s), ("Add", t))]
        net.add("If", [condition], then_branch=branches[0], else_branch=branches[1])
    elif kind == "Loop":
        nodes = [helper.make_node("Add", [s, weight], [c]), helper.make_node("Tanh", [c], [t]), helper.make_node("Identity", [i], [d])]
        graph = body(net, nodes, [(net.fresh("b"), TensorProto.INT64, []), (i, TensorProto.BOOL, []), (s, real, shape)], [(d, TensorProto.BOOL), (t, real)])
        net.add("Loop", [np.array(int(net.rng.integers(1, 4))), np.array(True), x], body=graph)
    elif len(shape) > 1 and shape[0] < 9:
        nodes = [helper.make_node("Mul", [s, f32_constant(net, 0.5)], [i]), helper.make_node("Add", [i, t], [c]), helper.make_node("Tanh", [c], [d])]
        graph = body(net, nodes, [(s, real, shape[1:]), (t, real, shape[1:])], [(c, real), (d, real)])
        net.add("Scan", [net.weight(*shape[1:], spread=0.5), x], 2, body=graph, num_scan_inputs=1)


def f32_constant(net, value):
    return net.constant(f32(value))


def lists(net, x):
    """A list of tensors that grows and shrinks; one of it, all of it, or its length."""
    if net.opset < 11:
        return
    shape, long = net.values[x], lambda value: net.constant(np.array(value))  # noqa: E731
    other = net.like(shape)
    made = net.inner("SequenceConstruct", [x, other]) if net.often(0.7) else net.inner("SequenceInsert", [net.inner("SequenceEmpty", []), x])
    made = net.inner("SequenceInsert", [made, other, long(0)]) if net.often(0.5) else net.inner("SequenceInsert", [made, x])
    if net.often(0.3):
        made = net.inner("SequenceErase", [made, long(0)])
    if net.opset >= 17 and net.often(0.3):
        s, t = net.fresh("b"), net.fresh("b")
        graph = body(net, [helper.make_node("Tanh", [s], [t])], [(s, TensorProto.FLOAT, shape)], [(t, TensorProto.FLOAT)])
        made = net.inner("SequenceMap", [made], body=graph)
    if net.often(0.2):
        net.add("Mul", [x, net.inner("Cast", [net.inner("SequenceLength", [made])], to=TensorProto.FLOAT)])
    elif net.often(0.5):
        net.add("SequenceAt", [made, long(net.one_of(0, -1))])
    else:
        net.add("ConcatFromSequence", [made], axis=int(net.rng.integers(len(shape))))
