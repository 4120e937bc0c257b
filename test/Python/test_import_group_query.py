# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GroupQueryAttention, as onnxruntime's builder of decoders writes it, beside onnxruntime."""
import numpy as np
import onnx
import pytest

octet = pytest.importorskip("octet")
from test_integers import TYPES, run_onnxruntime  # noqa: E402

BATCH, HEADS, GROUPS, SIZE, PAST = 2, 4, 2, 32, 5
RANDOM = np.random.default_rng(0)


def randomly(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def i32(*numbers):
    return np.array(numbers, np.int32)


ANGLES = {"c": randomly(16, SIZE // 2), "s": randomly(16, SIZE // 2)}


def make(nodes, feeds, constants, outputs, kinds=(1, 1, 1)):
    inputs = [onnx.helper.make_tensor_value_info(name, TYPES.get(array.dtype.name), array.shape) for name, array in feeds.items()]
    graph = onnx.helper.make_graph([onnx.parser.parse_node(line) for line in nodes.splitlines()], "test", inputs,
                                   [onnx.helper.make_tensor_value_info(name, kind, None) for name, kind in zip(outputs, kinds)],
                                   [onnx.numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18), onnx.helper.make_opsetid("com.microsoft", 1)],
                                  ir_version=10).SerializeToString()


def case(attributes="", arguments="", queries=3, past=PAST, packed=False, last=None, total=None, batch=BATCH, prefix="", feeds=None, **constants):
    """`last`: the position of the last key, of each batch; the feeds beside queries, keys and values are `feeds`."""
    total = total or past + queries
    rows = {"q": randomly(batch, queries, (HEADS + 2 * GROUPS * packed) * SIZE)}
    if not packed:
        rows.update({name: randomly(batch, queries, GROUPS * SIZE) for name in "kv"})
    if past:
        rows.update({name: randomly(batch, GROUPS, past, SIZE) for name in ("pk", "pv")})
    rows.update(feeds or {})
    constants = {**ANGLES, "n": i32(*[total - 1] * batch) if last is None else last, "t": i32(total), **constants}
    constants = {name: array for name, array in constants.items() if name not in rows}
    nodes = (f"{prefix}y, ok, ov = com.microsoft.GroupQueryAttention<num_heads={HEADS}, kv_num_heads={GROUPS}{attributes}>"
             f"(q, {', ' if packed else 'k, v'}, {'pk, pv' if past else ', '}, n, t{arguments})")
    return nodes, rows, constants


ROTARY = ", do_rotary=1"
CASES = {
    "step": lambda: case(ROTARY, ", c, s", queries=1, packed=True),
    "prompt": lambda: case(ROTARY, ", c, s", past=0),
    "chunk_of_one_batch": lambda: case(ROTARY, ", c, s", batch=1),
    "without_rotation": lambda: case(", scale=0.3", queries=1),
    "interleaved": lambda: case(ROTARY + ", rotary_interleaved=1", ", c, s", queries=1),
    "first_elements_rotated": lambda: case(ROTARY, ", u, w", queries=1, u=randomly(16, 8), w=randomly(16, 8)),
    "window": lambda: case(", local_window_size=4", queries=1),
    "window_of_a_chunk": lambda: case(", local_window_size=4", batch=1, queries=4),
    "cap": lambda: case(", softcap=2.0", queries=1),
    "sinks": lambda: case("", ", , , , , h", queries=1, h=randomly(HEADS)),
    "smooth": lambda: case(", smooth_softmax=1", queries=1),
    "addend": lambda: case("", ", , , , b", queries=1, feeds={"b": randomly(1, 1, 1, PAST + 1)}),
    "positions": lambda: case(ROTARY, ", c, s, p", batch=1, p=np.array([[3, 9, 1]])),
    "lengths_from_a_mask": lambda: case(ROTARY, ", c, s", queries=1, prefix="r = ReduceSum<keepdims=0>(m, one)\nl = Sub(r, one)\nn = Cast<to=6>(l)\n",
                                        feeds={"m": np.array([[1] * (PAST + 1)] * BATCH)}, one=np.array([1])),
}


@pytest.mark.parametrize("name", CASES)
def test_operator_is_that_of_onnxruntime(name):
    nodes, feeds, constants = CASES[name]()
    if "n = " in nodes:
        constants.pop("n")
    data = make(nodes, feeds, constants, ("y", "ok", "ov"))
    network = octet.compile(data)
    for got, expected in zip(network.run(feeds).values(), run_onnxruntime(data, feeds), strict=True):
        assert got.shape == expected.shape
        assert np.abs(got - expected).max() <= 2e-6 * np.abs(expected).max()


@pytest.mark.parametrize("is_known", [True, False])
def test_a_buffer_longer_than_what_counts(is_known):
    """One batch has four keys of the past, the other two; what is behind the new ones stays as it was."""
    last = i32(4, 2)
    nodes, feeds, constants = case(ROTARY, ", c, s", queries=1, past=9, total=5, last=last, feeds={} if is_known else {"n": last})
    data = make(nodes, feeds, constants, ("y", "ok", "ov"))
    got, expected = octet.compile(data).run(feeds), run_onnxruntime(data, feeds)
    assert np.abs(got["y"] - expected[0]).max() <= 2e-6 * np.abs(expected[0]).max()
    for name, past, want in zip(("ok", "ov"), ("pk", "pv"), expected[1:]):
        for batch, position in enumerate(last):
            np.testing.assert_allclose(got[name][batch, :, :position + 1], want[batch, :, :position + 1], rtol=1e-5, atol=1e-5)
            np.testing.assert_array_equal(got[name][batch, :, position + 1:], feeds[past][batch, :, position + 1:])
    if not is_known:
        with pytest.raises(octet.Error, match="index"):
            octet.compile(data).run({**feeds, "n": i32(40, 2)})


def stored(kind, attributes="", arguments=", , , , , ", past=PAST, **more):
    """Keys and values are kept as bytes: with one scale, or one for each element of a head."""
    count = 1 if kind == "PER_TENSOR" else GROUPS * SIZE
    scales = {name: RANDOM.uniform(0.01, 0.03, count).astype(np.float32) for name in ("ks", "vs")}
    batch = more.get("batch", BATCH)
    rows = {name: RANDOM.integers(-128, 128, (batch, GROUPS, past, SIZE)).astype(np.int8) for name in ("pk", "pv")} if past else {}
    return case(f', k_quant_type="{kind}", v_quant_type="{kind}", kv_cache_bit_width=8{attributes}', f"{arguments}, ks, vs", past=past, feeds={**rows, **more.pop("feeds", {})},
                **{**scales, **more})


STORED = {
    **{kind: lambda kind=kind: stored(kind, queries=1) for kind in ("PER_TENSOR", "PER_CHANNEL")},
    "rotated": lambda: stored("PER_CHANNEL", ROTARY, ", c, s, , , ", queries=1, packed=True),
    "prompt_in_a_buffer": lambda: stored("PER_TENSOR", total=3),
    "chunk": lambda: stored("PER_TENSOR", batch=1),
    "window_and_sinks": lambda: stored("PER_CHANNEL", ", local_window_size=4", ", , , , , h", queries=1, h=randomly(HEADS)),
    "buffer": lambda: stored("PER_TENSOR", queries=1, past=9, total=5, last=i32(4, 2), feeds={"n": i32(4, 2)}),
}


@pytest.mark.parametrize("name", STORED)
def test_stored_past(name):
    """The kept integers are the same. Attention reads what they stand for, also of the newest."""
    nodes, feeds, constants = STORED[name]()
    data = make(nodes, feeds, constants, ("y", "ok", "ov"), (1, 3, 3))
    got, expected = octet.compile(data).run(feeds), run_onnxruntime(data, feeds)
    assert np.abs(got["y"] - expected[0]).max() <= 2e-6 * np.abs(expected[0]).max()
    for name, want in zip(("ok", "ov"), expected[1:]):
        assert got[name].dtype == np.int8 and got[name].shape == want.shape
        for batch, position in enumerate(feeds.get("n", constants.get("n"))):
            assert np.abs(got[name][batch, :, :position + 1].astype(int) - want[batch, :, :position + 1]).max() == 0


def middles(row, scales):
    """Numbers in the middle between two integers by division, but not by multiplication with the inverse scale."""
    found = row.copy()
    for i in np.ndindex(row.shape):
        scale = np.resize(scales, row.shape[-1])[i[-1]]
        numbers = (RANDOM.integers(-100, 100, 3000) + np.float32(0.5)).astype(np.float32) * scale
        numbers = numbers[np.rint(numbers / scale) != np.rint(numbers * (np.float32(1) / scale))]
        found[i] = RANDOM.choice(numbers) if len(numbers) else found[i]
    assert (found != row).mean() > 0.5
    return found


@pytest.mark.parametrize("kind", ["PER_TENSOR", "PER_CHANNEL"])
def test_bytes_in_the_middle(kind):
    nodes, feeds, constants = stored(kind, queries=1)
    feeds.update(k=middles(feeds["k"], constants["ks"]), v=middles(feeds["v"], constants["vs"]))
    data = make(nodes, feeds, constants, ("y", "ok", "ov"), (1, 3, 3))
    got, expected = octet.compile(data).run(feeds), run_onnxruntime(data, feeds)
    for name, want in zip(("ok", "ov"), expected[1:]):
        np.testing.assert_array_equal(got[name], want)


@pytest.mark.parametrize("change, message", [
    (dict(attributes=", causal=0"), "attribute causal=0"),
    (dict(arguments=", , , , , h", h=randomly(3)), "has inputs of shape .* for 4 and 2 heads"), (dict(attributes=ROTARY), "has inputs of shape"),
    (dict(feeds={"t": i32(8)}), "a total_sequence_length computed at run time"), (dict(last=i32(1, 2, 3)), "has inputs of shape"),
    (dict(feeds={"pk": randomly(BATCH, GROUPS, PAST, 4)}), "has inputs of shape"),
    (dict(attributes=', k_quant_type="PER_TENSOR"', arguments=", , , , , , h, h", h=randomly(1)), "a past of 0 bits with k_quant_type=PER_TENSOR"),
    (dict(attributes=', v_quant_type="PER_TENSOR", kv_cache_bit_width=8', arguments=", , , , , , h, h", h=randomly(1)), "a past of 8 bits with k_quant_type=NONE"),
    (dict(attributes=', k_quant_type="PER_TENSOR", v_quant_type="PER_TENSOR", kv_cache_bit_width=8', arguments=", , , , , , h, h", h=randomly(1)), "a past of other integers than int8"),
    (dict(attributes=', k_quant_type="PER_TENSOR", v_quant_type="PER_TENSOR", kv_cache_bit_width=8', arguments=", , , , , , h, h", h=randomly(2), past=0), "no scales of 1 elements")])
def test_refusals(change, message):
    nodes, feeds, constants = case(**change)
    with pytest.raises(octet.CompileError, match=message):
        octet.compile(make(nodes, feeds, constants, ("y", "ok", "ov")))
