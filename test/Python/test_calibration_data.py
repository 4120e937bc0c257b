# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calibration data from Python: what is accepted, how it reaches the compiler, what is refused and how."""
import numpy as np
import pytest

octet = pytest.importorskip("octet")
from octet import calibration  # noqa: E402

X = np.arange(24, dtype=np.float32).reshape(4, 2, 3)


def write(data, tmp_path):
    return calibration.write_calibration_data(data, tmp_path / "samples")


def read(path):
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    parts = [dict(np.load(file)) for file in files]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}, len(files)


def test_dict_of_arrays(tmp_path):
    arrays, files = read(write({"x": X, "n": np.arange(4)}, tmp_path))
    np.testing.assert_array_equal(arrays["x"], X)
    np.testing.assert_array_equal(arrays["n"], np.arange(4))
    assert files == 1


def test_inputs_may_have_any_name(tmp_path):
    arrays, _ = read(write({"file": X, "self": X + 1, "a/b:0": X + 2}, tmp_path))
    assert list(arrays) == ["file", "self", "a/b:0"]
    np.testing.assert_array_equal(arrays["a/b:0"], X + 2)


@pytest.mark.parametrize("convert", [np.asfortranarray, lambda array: array.astype(">f4"), lambda array: array[:, ::-1]])
@pytest.mark.parametrize("wrap", [lambda array: {"x": array}, lambda array: [{"x": array}]])
def test_arrays_may_have_any_order_in_memory(convert, wrap, tmp_path):
    path = write(wrap(convert(X)), tmp_path)
    array = np.load(path / "samples-000000.npz" if path.is_dir() else path)["x"]
    assert array.dtype.str == "<f4" and array.flags.c_contiguous
    np.testing.assert_array_equal(array.reshape(X.shape), convert(X))


def test_samples_may_differ_in_byte_order(tmp_path):
    arrays, _ = read(write([{"x": X}, {"x": X.astype(">f4")}], tmp_path))
    np.testing.assert_array_equal(arrays["x"], [X, X])


def test_iterable_of_samples(tmp_path):
    arrays, _ = read(write([{"x": x} for x in X], tmp_path))
    np.testing.assert_array_equal(arrays["x"], X)


def test_samples_are_streamed_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr(calibration, "SHARD_BYTES", 48)  # two samples
    arrays, files = read(write(({"x": X[i % 4] + i} for i in range(25)), tmp_path))
    np.testing.assert_array_equal(arrays["x"], [X[i % 4] + i for i in range(25)])
    assert files == 13


def test_generator_may_reuse_its_array(tmp_path):
    def samples():
        buffer = np.zeros(3, np.float32)
        for i in range(3):
            buffer[:] = i
            yield {"x": buffer}

    arrays, _ = read(write(samples(), tmp_path))
    np.testing.assert_array_equal(arrays["x"][:, 0], [0, 1, 2])


def broken(index, value):
    array = X.copy()
    array[index] = value
    return array


@pytest.mark.parametrize("data, message", [
    ({}, "the dict holds no arrays"),
    ({3: X}, "expected the name of an input as key, but got 3"),
    ([{None: X, "x": X}], "sample 0: expected the name of an input as key, but got None"),
    ({"x": X.tolist()}, "'x': expected a NumPy array, but got list"),
    ({"x": np.array(["a"])}, "'x': expected numbers, but got an array of <U1"),
    ({"x": X[:0]}, r"'x': the array is empty \(shape \[0, 2, 3\]\)"),
    ({"x": np.array(1, np.float32)}, "'x': expected a leading axis of samples, but got a single number"),
    ({"x": X, "y": X[:3]}, "the arrays have different numbers of samples: 'x' 4, 'y' 3"),
    ({"x": broken((1, 0, 2), np.nan)}, r"'x': nan at \[1, 0, 2\]; remove or repair that sample"),
    ({"x": broken((3, 1, 0), np.inf)}, r"'x': inf at \[3, 1, 0\]"),
    ([], "there is no sample"),
    (iter([]), "there is no sample"),
    ([X], "sample 0: expected a dict of arrays, but got ndarray"),
    ([{}], r"sample 0: expected the arrays \[\], but got \[\]"),
    ([{"x": X}, {"y": X}], r"sample 1: expected the arrays \['x'\], but got \['y'\]"),
    ([{"x": X}, {"x": X[1:]}], r"sample 1, 'x': expected float32 \[4, 2, 3\] as in sample 0, but got float32 \[3, 2, 3\]"),
    ([{"x": X}, {"x": X.astype(np.float64)}], "sample 1, 'x': expected float32 .* but got float64"),
    ([{"x": X}, {"x": broken((0, 0, 0), np.nan)}], r"sample 1, 'x': nan at \[0, 0, 0\]"),
    ({"x\0y": X}, "the name of an input: expected text without null characters"),
    ({"\udcff": X}, "the arrays' names .* cannot be written"),
    ([{"x": np.zeros((1,) * 64, np.float32)}], "sample 0, 'x': 64 axes are too many: with one for samples, NumPy can have 64"),
    (X, "expected a dict of arrays or an iterable of dicts, but got ndarray"),
    ("samples.npz", "expected a dict of arrays or an iterable of dicts, but got str"),
    (7, "expected a dict of arrays or an iterable of dicts, but got int"),
])
def test_what_is_refused(data, message, tmp_path):
    with pytest.raises(octet.InputError, match=f"calibration data: {message}"):
        write(data, tmp_path)


def test_values_that_share_an_observer_are_all_named():
    """NaN of the square root is not blamed on the first operand of the concatenation."""
    pytest.importorskip("onnx")
    from onnx_networks import make_network
    model = make_network("r = Relu(a)\ns = Sqrt(b)\nc = Concat<axis=1>(r, s)\ny = MatMul(c, w)", inputs={"a": [4, 8], "b": [4, 8]}, constants={"w": (16, 4)})
    with pytest.raises(octet.InputError, match="the values of one of 'r', 's', 'c', which share an observer: expected numbers, but the observer has seen NaN"):
        octet.compile(model.SerializeToString(), calibration_data={"a": np.ones((2, 4, 8), np.float32), "b": -np.ones((2, 4, 8), np.float32)})
