# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks bound to buffers of the caller."""
import gc
import time
import weakref

import numpy as np
import pytest

octet = pytest.importorskip("octet")
from toy_network import A, B, SUM, check  # noqa: E402


def test_bound_network_reads_and_writes_in_place(model):
    a, total = A.copy(), np.zeros((2, 3), np.float32)
    run = model.bind({"a": a, "b": B}, {"sum": total, "twice": np.zeros(4, np.uint8)})
    outputs = run()
    assert outputs["sum"] is total
    check(outputs)
    a += 10
    assert run() is outputs
    np.testing.assert_array_equal(total, SUM + 10)


def test_bind_allocates_outputs_once(model):
    run = model.bind([A, B])
    assert run()["sum"] is run()["sum"] is run.outputs["sum"]
    check(run.outputs)


def test_bound_network_keeps_everything_alive(toy):
    run = octet.load(toy).bind([A.copy(), B.copy()])
    check(run())


def test_bound_network_that_its_outputs_hold_is_collected(model):
    run = model.bind([A, B])
    outputs = run()
    outputs["self"] = run
    outputs["alive"] = type("Witness", (), {})()
    alive = weakref.ref(outputs["alive"])
    del run, outputs
    gc.collect()
    assert alive() is None


def test_bound_arrays_must_be_usable_in_place(model):
    with pytest.raises(octet.InputError, match="input 'a': a bound array must be contiguous; use numpy.ascontiguousarray"):
        model.bind([np.asfortranarray(A), B])
    with pytest.raises(octet.InputError, match="input 'a': a bound array must have this machine's byte order; use .astype"):
        model.bind([A.astype(">f4"), B])
    frozen = np.zeros((2, 3), np.float32)
    frozen.flags.writeable = False
    with pytest.raises(octet.InputError, match="output 'sum': a bound output must be writable"):
        model.bind([A, B], [frozen, np.zeros(4, np.uint8)])
    with pytest.raises(octet.InputError, match=r"uint8\[4\], but got uint8\[5\]; make it with numpy.empty\(\(4,\), numpy.uint8\)"):
        model.bind([A, B], [np.zeros((2, 3), np.float32), np.zeros(5, np.uint8)])


def test_cost_of_a_bound_call_is_printed(model, capsys):
    """Prints the figure; a loaded machine must not fail it."""
    run = model.bind([A, B])
    times = []
    for _ in range(200):
        start = time.perf_counter_ns()
        for _ in range(100):
            run()
        times.append((time.perf_counter_ns() - start) / 100)
    with capsys.disabled():
        print(f"\n[bound call of an empty network: {np.median(times):.0f} ns]", end=" ")
    check(run.outputs)


def test_bound_buffers_do_not_overlap(model):
    inputs = [np.zeros(tensor.shape, tensor.dtype) for tensor in model.inputs]
    outputs = [np.zeros(tensor.shape, tensor.dtype) for tensor in model.outputs]
    assert model.bind(inputs, outputs)
    memory = np.zeros(max(array.nbytes for array in [*inputs, *outputs]) + 8, np.uint8)
    inputs[0], outputs[0] = (
        np.ndarray(array.shape, array.dtype, memory, offset) for array, offset in ((inputs[0], 0), (outputs[0], 8)))
    with pytest.raises(octet.InputError, match="an output overlaps an input or another output"):
        model.bind(inputs, outputs)
