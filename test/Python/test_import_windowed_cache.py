# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GroupQueryAttention that keeps the keys of a window only, step by step beside onnxruntime."""
import numpy as np
import pytest

octet = pytest.importorskip("octet")
from test_import_group_query import GROUPS, HEADS, ROTARY, SIZE, case, i32, make, randomly  # noqa: E402
from test_integers import run_onnxruntime  # noqa: E402

WINDOW = 4
OUTPUTS = ("y", "ok", "ov")


def count_rows(positions, capacity):
    """How many of so many positions stay, as the operator's description gives it."""
    step = capacity - WINDOW + 1
    return positions - step * -(-max(positions - capacity, 0) // step)


def windowed(queries, total, capacity, batch=1, attributes="", is_known=False, **more):
    """A step of random queries, keys and values behind a random buffer."""
    last = i32(*[total - 1] * batch)
    constants = {"c": randomly(64, SIZE // 2), "s": randomly(64, SIZE // 2)}
    feeds = {} if is_known else {"n": last}
    return case(f"{ROTARY}, sliding_window_cache=1, local_window_size={WINDOW}{attributes}", ", c, s", queries=queries, past=capacity, total=total,
                batch=batch, last=last, feeds=feeds, **constants, **more)


@pytest.mark.parametrize("capacity", [WINDOW, 6])
@pytest.mark.parametrize("queries, total", [(1, 2), (1, 4), (1, 5), (1, 7), (1, 20), (3, 5), (3, 7), (3, 11), (7, 11), (3, 3), (9, 9)])
def test_a_step_is_that_of_onnxruntime(queries, total, capacity):
    nodes, feeds, constants = windowed(queries, total, capacity)
    data = make(nodes, feeds, constants, OUTPUTS)
    got, expected = octet.compile(data).run(feeds), run_onnxruntime(data, feeds)
    assert np.abs(got["y"] - expected[0]).max() <= 2e-6 * np.abs(expected[0]).max()
    rows = count_rows(total, capacity)
    for name, want in zip(OUTPUTS[1:], expected[1:]):
        assert got[name].shape == want.shape
        np.testing.assert_allclose(got[name][:, :, :rows], want[:, :, :rows], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("attributes", [", softcap=2.0", ", smooth_softmax=1", ", scale=0.2"])
@pytest.mark.parametrize("is_known", [True, False])
def test_two_batches(attributes, is_known):
    nodes, feeds, constants = windowed(1, 9, 5, batch=2, attributes=attributes, is_known=is_known)
    data = make(nodes, feeds, constants, OUTPUTS)
    got, expected = octet.compile(data).run(feeds), run_onnxruntime(data, feeds)
    assert np.abs(got["y"] - expected[0]).max() <= 2e-6 * np.abs(expected[0]).max()
    rows = count_rows(9, 5)
    np.testing.assert_allclose(got["ok"][:, :, :rows], expected[1][:, :, :rows], rtol=1e-5, atol=1e-5)


def test_steps_see_the_window_as_without_a_cache():
    """The results of one prompt with a window are those of steps through the cache."""
    steps, capacity = 12, 6
    rows = {"q": randomly(1, steps, HEADS * SIZE), "k": randomly(1, steps, GROUPS * SIZE), "v": randomly(1, steps, GROUPS * SIZE)}
    angles = {"c": randomly(64, SIZE // 2), "s": randomly(64, SIZE // 2)}
    nodes, _, constants = case(f"{ROTARY}, local_window_size={WINDOW}", ", c, s", batch=1, queries=steps, past=0, **angles)
    whole = octet.compile(make(nodes, rows, constants, ("y",))).run(rows)["y"]
    cache = {name: np.zeros((1, GROUPS, capacity, SIZE), np.float32) for name in ("pk", "pv")}
    nodes, feeds, constants = windowed(1, 2, capacity)
    step = octet.compile(make(nodes, feeds, {**constants, **angles}, OUTPUTS))
    for t in range(steps):
        result = step.run({**{name: array[:, t:t + 1] for name, array in rows.items()}, **cache, "n": i32(t)})
        np.testing.assert_allclose(result["y"], whole[:, t:t + 1], rtol=1e-4, atol=1e-5)
        cache = {"pk": result["ok"], "pv": result["ov"]}


@pytest.mark.parametrize("capacity, more, message", [
    (3, {}, "has a buffer of 3 keys for the window of its last 4.*give the past at least as many"),
    (6, {"feeds": {"b": randomly(1, 1, 1, 6)}}, "attention_bias beside sliding_window_cache")])
def test_refusals(capacity, more, message):
    attributes = f"{ROTARY}, sliding_window_cache=1, local_window_size={WINDOW}"
    nodes, feeds, constants = case(attributes, ", c, s" + (", , b" if more else ""), queries=1, past=capacity, total=6, batch=1, **more)
    with pytest.raises(octet.CompileError, match="(?s)" + message):
        octet.compile(make(nodes, feeds, constants, OUTPUTS))
