# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled networks read and write nothing beyond the caller's buffers: these lie between pages that nobody may touch."""
import ctypes
import faulthandler
import multiprocessing
import signal
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
octet = pytest.importorskip("octet")
pytest.importorskip("onnxruntime")
import exactness  # noqa: E402
import fuzz  # noqa: E402
import random_onnx  # noqa: E402

PAGE = 4096
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
READ_WRITE, PRIVATE_ANONYMOUS = 3, 0x22


def guard(array, at_end):
    """A copy of the array that begins right behind a protected page, or ends right in front of one."""
    size = (array.nbytes + PAGE - 1) // PAGE * PAGE
    first = LIBC.mmap(None, size + 2 * PAGE, READ_WRITE, PRIVATE_ANONYMOUS, -1, 0)
    for page in (first, first + PAGE + size):
        assert LIBC.mprotect(page, PAGE, 0) == 0
    place = first + PAGE + (size - array.nbytes if at_end else 0)
    copy = np.frombuffer((ctypes.c_uint8 * array.nbytes).from_address(place), array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def run_guarded(path, inputs, expected):
    for level in exactness.X86_LEVELS:
        try:
            model = octet.load(path, cpu_level=level)
        except octet.LoadError:
            continue  # this CPU lacks it
        for at_end in (False, True):
            outputs = [guard(np.zeros_like(array), at_end) for array in expected]
            model.bind([guard(array, at_end) for array in inputs], outputs)()
            assert exactness.as_bytes(outputs) == exactness.as_bytes(expected), (level, at_end)


def run_in_child(function, *arguments):
    """The exit code: a fault ends the child, not the tests."""
    child = multiprocessing.get_context("fork").Process(target=function, args=arguments)
    child.start()
    child.join()
    return child.exitcode


def touch_beyond():
    faulthandler.disable()
    ctypes.memmove(guard(np.zeros(8, np.uint8), at_end=True).ctypes.data, bytes(9), 9)


@pytest.mark.parametrize("quantized_io", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_nothing_beyond_the_buffers(seed, quantized_io, tmp_path):
    model = random_onnx.make_random_model(seed)
    samples, _ = fuzz.make_feeds(model, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", octet.CompileWarning)  # operators that stay float
        compiled = octet.compile(model.SerializeToString(), calibration_data=samples, cpu_level=exactness.X86_LEVELS,
                                 quantized_io=quantized_io)
    compiled.save(tmp_path / "net.so")
    random = np.random.default_rng(seed)
    inputs = [samples[0][t.name] if t.dtype == np.float32 else random.integers(0, 256, t.shape).astype(t.dtype) for t in compiled.inputs]
    reference = octet.load(tmp_path / "net.so", cpu_level="reference")
    expected = [np.array(array) for array in reference(*inputs).values()]
    assert run_in_child(run_guarded, tmp_path / "net.so", inputs, expected) == 0


def test_a_touch_beyond_is_noticed():
    assert run_in_child(touch_beyond) == -signal.SIGSEGV
