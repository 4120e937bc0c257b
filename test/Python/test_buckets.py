# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Several input shapes in one library: every bucket computes what the network for its shapes alone does, with the same statistics;
weights are there once; which bucket runs, states, errors."""
import ctypes
import json
import pickle
import subprocess

import numpy as np
import pytest

octet = pytest.importorskip("octet")
onnx = pytest.importorskip("onnx")
pytestmark = pytest.mark.usefixtures("compiler")

from bucket_networks import (LENGTHS, assert_equal, encoder_shapes, first, make_encoder, make_images, make_network,  # noqa: E402
                             make_sentences)

@pytest.fixture(scope="module")
def compile_files(tmp_path_factory):
    """compile_files(network, *options, **samples) runs octet-compile on them; gives its process and the library's path."""
    from octet._compiler import find_compiler

    def run(network, *options, samples=None):
        folder = tmp_path_factory.mktemp("buckets")
        (folder / "net.onnx").write_bytes(network)
        if samples is not None:
            np.savez(folder / "samples.npz", **samples)
            options = (*options, "--calibration-data=samples.npz")
        command = [find_compiler(), "net.onnx", "-o", "net.so", *options]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True), folder / "net.so"

    return run


@pytest.fixture(scope="module")
def refuse(compile_files):
    """refuse(network, *options) gives the compiler's message."""
    def run(*arguments, **samples):
        process, library = compile_files(*arguments, **samples)
        assert process.returncode == 1 and not library.exists()
        assert process.stderr.startswith(("octet-compile: error: ", "net.onnx: error: ", "samples.npz: error: ")), process.stderr
        return process.stderr

    return run


# ---- what a bucket computes ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("level", [None, "reference"])
def test_float_buckets_are_the_networks_alone(level):
    network = octet.compile(make_encoder(), input_shapes=encoder_shapes(*LENGTHS), cpu_level=level)
    assert [bucket.inputs[0].shape for bucket in network.buckets] == [(1, 64), (1, 32), (1, 16)]
    assert network.inputs == network.buckets[0].inputs and network.outputs == network.buckets[0].outputs
    assert "3 buckets" in repr(network)
    for length in (*LENGTHS, *reversed(LENGTHS)):
        alone = octet.compile(make_encoder(), input_shapes={name: (1, length) for name in ("ids", "mask")}, cpu_level=level)
        sample = first(make_sentences(length, seed=length))
        assert_equal(network.run(sample), alone.run(sample))


@pytest.fixture(scope="module")
def plain_backend(tmp_path_factory):
    """A backend file without a recipe: bias correction would need the samples in every bucket's shape."""
    from pathlib import Path
    text = (Path(__file__).resolve().parents[2] / "lib/Backend/backends/cpu.mlir").read_text()
    path = tmp_path_factory.mktemp("backend") / "plain.mlir"
    path.write_text(text.replace('octet.recipe after_calibrate "octet-correct-bias"', ""))
    assert path.read_text() != text
    return path


@pytest.mark.parametrize("calibrated", LENGTHS)
def test_int8_buckets_share_one_calibration(compile_files, plain_backend, calibrated):
    samples = make_sentences(calibrated, 8)
    shapes = ",".join(f"{name}=1x{{16,32,64}}" for name in ("ids", "mask"))
    process, library = compile_files(make_encoder(), "--input-shape=" + shapes, f"--backend={plain_backend}",
                                     "--save-statistics=statistics.mlir", samples=samples)
    assert process.returncode == 0, process.stderr
    network = octet.load(library)
    for length in LENGTHS:
        process, alone = compile_files(make_encoder(), f"--input-shape=ids=1x{length},mask=1x{length}", f"--backend={plain_backend}",
                                       f"--load-statistics={library.parent / 'statistics.mlir'}")
        assert process.returncode == 0, process.stderr
        sample = first(make_sentences(length, seed=length))
        assert_equal(network.run(sample), octet.load(alone).run(sample))


def test_corrected_biases_are_those_of_the_calibrated_bucket():
    samples = make_sentences(32, 8)
    network = octet.compile(make_encoder(), input_shapes=encoder_shapes(*LENGTHS), calibration_data=samples)
    alone = octet.compile(make_encoder(), input_shapes={name: (1, 32) for name in samples}, calibration_data=samples)
    floating = octet.compile(make_encoder(), input_shapes=encoder_shapes(*LENGTHS))
    assert_equal(network.run(first(samples)), alone.run(first(samples)))
    for length in LENGTHS:
        sample = first(make_sentences(length, seed=length))
        error = np.abs(network.run(sample)["y"] - floating.run(sample)["y"]).max()
        assert 0 < error < 0.2
    # Weights and corrected biases once: the largest has more rows of positions, which begin with those of the others.
    rows = (64 - 32) * 32 * 4
    assert network.report.data["weights_bytes"] < alone.report.data["weights_bytes"] + rows + 256


def test_batches_are_buckets():
    images = np.random.default_rng(0).standard_normal((8, 3, 8, 8)).astype(np.float32)
    shapes = {"x": [(1, 3, 8, 8), (4, 3, 8, 8), (8, 3, 8, 8)]}
    for samples in (None, {"x": images}):
        network = octet.compile(make_images(), input_shapes=shapes, calibration_data=samples)
        whole = network.run({"x": images})["y"]
        for size in (1, 4):
            parts = [network.run({"x": images[i:i + size]})["y"] for i in range(0, 8, size)]
            assert np.concatenate(parts).tobytes() == whole.tobytes()


def test_the_report_says_what_a_bucket_costs(compile_files):
    # Weights as in a small encoder of practice; kernels do not grow with them.
    network = make_encoder(hidden=128, longest=128)
    process, library = compile_files(network, "--float", "--input-shape=ids=1x{16,32,64},mask=1x{16,32,64}", "--report=report.json")
    assert process.returncode == 0
    line = next(line for line in process.stdout.splitlines() if line.startswith("compile"))
    assert " · 3 buckets · +" in line and " % per bucket · " in line
    report = json.loads((library.parent / "report.json").read_text())
    assert report["buckets"] == [{"ids": [1, n], "mask": [1, n]} for n in (64, 32, 16)]
    alone = compile_files(network, "--float", "--input-shape=ids=1x64,mask=1x64")[1].stat().st_size
    added = library.stat().st_size - alone
    assert added / 2 < 0.05 * alone
    assert abs(report["bucket_bytes"] - added) < 0.3 * added + 4096


# ---- which bucket runs -----------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def encoder():
    return octet.compile(make_encoder(), input_shapes=encoder_shapes(*LENGTHS))


def test_threads_copies_and_bound_arrays_choose(encoder):
    copy = pickle.loads(pickle.dumps(encoder))
    for length in LENGTHS:
        sample = first(make_sentences(length, seed=length))
        expected = encoder.run(sample)
        bound, steps = encoder.bind(sample), encoder.profile(sample)
        encoder.run(first(make_sentences(64)))  # another bucket in between
        assert_equal(bound(), expected)
        assert_equal(copy.run(sample), expected)
        assert len(steps) > 10


def test_sizes_without_a_bucket_are_refused(encoder):
    with pytest.raises(octet.InputError, match=r"no bucket has the shapes of the inputs, 'ids': int64\[1, 20\], 'mask': float32\[1, 20\]; "
                       r"fill them up to ids \[1, 32\], mask \[1, 32\], or see pad of octet.compile"):
        encoder.run(first(make_sentences(20)))
    with pytest.raises(octet.InputError, match=r"no bucket holds the inputs, 'ids': int64\[1, 65\].*; the largest is ids \[1, 64\]"):
        encoder.run(first(make_sentences(65)))
    mixed = {"ids": make_sentences(16)["ids"][0], "mask": make_sentences(32)["mask"][0]}
    with pytest.raises(octet.InputError, match=r"fill them up to ids \[1, 32\]"):
        encoder.run(mixed)
    with pytest.raises(octet.InputError, match="input 'ids': expected int64"):
        encoder.run({**first(make_sentences(16)), "ids": np.zeros((1, 16), np.float32)})
    with pytest.raises(octet.InputError, match="expected a NumPy array, but got list"):
        encoder.run({**first(make_sentences(16)), "ids": [[0] * 16]})
    with pytest.raises(octet.InputError, match="output 'y': expected float32"):
        encoder.bind(first(make_sentences(16)), {"y": np.empty((1, 32, 32), np.float32), "logits": np.empty((1, 4), np.float32)})


class _Descriptor(ctypes.Structure):
    _fields_ = [("abi", ctypes.c_int32), ("name", ctypes.c_char_p), ("sizes", ctypes.c_int64 * 3), ("weights", ctypes.c_void_p),
                ("counts", ctypes.c_int32 * 3), ("tensors", ctypes.c_void_p * 3), ("report", ctypes.c_char_p), ("buckets", ctypes.c_void_p)]


class _Program(ctypes.Structure):
    _fields_ = [("level", ctypes.c_char_p), ("steps", ctypes.c_void_p), ("count", ctypes.c_int64)]


def test_c_programs_select_by_shapes(encoder, tmp_path):
    encoder.save(tmp_path / "net.so")
    library = ctypes.CDLL(str(tmp_path / "net.so"))
    create, select, run, program = (getattr(library, f"{encoder.name}_{name}") for name in ("create", "select", "run", "program"))
    create.restype, program.restype = ctypes.c_void_p, ctypes.POINTER(_Program)
    model = ctypes.c_void_p(create(1, None, None, 0))

    def choose(*shapes):
        arrays = [(ctypes.c_int64 * len(shape))(*shape) for shape in shapes]
        return select(model, (ctypes.c_void_p * len(arrays))(*map(ctypes.addressof, arrays)))

    assert [choose((1, n), (1, n)) for n in (1, 16, 17, 32, 33, 64)] == [2, 2, 1, 1, 0, 0]
    assert choose((1, 5), (1, 33)) == 0
    assert choose((1, 16), (1, 16)) == 2
    # Beyond the largest, and null pointers: -1, and the bucket stays.
    assert choose((1, 65), (1, 64)) == choose((2, 16), (1, 16)) == select(model, None) == select(None, None) == -1
    assert select(model, (ctypes.c_void_p * 2)()) == -1
    sample = first(make_sentences(16))
    outputs = [np.full(64 * 32, np.nan, np.float32), np.full(8, np.nan, np.float32)]
    pointers = [(ctypes.c_void_p * 2)(*(array.ctypes.data for array in arrays)) for arrays in (list(sample.values()), outputs)]
    assert run(model, *pointers) == 0
    expected = encoder.run(sample)
    assert outputs[0][:16 * 32].tobytes() == expected["y"].tobytes()
    assert np.isnan(outputs[0][16 * 32:]).all() and np.isnan(outputs[1][4:]).all()
    assert program(model).contents.count > 0
    getattr(library, f"{encoder.name}_destroy")(model)


def test_a_library_without_buckets_has_no_select(tmp_path):
    network = octet.compile(make_images(), input_shapes={"x": (1, 3, 8, 8)})
    network.save(tmp_path / "net.so")
    library = ctypes.CDLL(str(tmp_path / "net.so"))
    assert not hasattr(library, f"{network.name}_select") and len(network.buckets) == 1 and network.pad == {}


# ---- states ----------------------------------------------------------------------------------------------------------------
STEPS = "float[1,T,8] x, float[1,8] h", "float[1,T,8] y, float[1,8] hn", """
    rows = Unsqueeze (h, axis)
    sum = Add (x, rows)
    y = Tanh (sum)
    mean = ReduceMean <axes = [1], keepdims = 0> (y)
    hn = Mul (mean, half)"""
STEP_CONSTANTS = {"axis": np.array([1]), "half": np.float32(0.5)}


def test_states_pass_from_bucket_to_bucket():
    text = make_network(*STEPS, STEP_CONSTANTS)
    network = octet.compile(text, input_shapes={"x": [(1, 2, 8), (1, 4, 8)]}, states={"h": "hn"})
    outside = octet.compile(text, input_shapes={"x": [(1, 2, 8), (1, 4, 8)]})
    random, state = np.random.default_rng(0), np.zeros((1, 8), np.float32)
    for length in (4, 2, 2, 4):
        x = random.standard_normal((1, length, 8)).astype(np.float32)
        expected = outside.run({"x": x, "h": state})
        assert network.run({"x": x})["y"].tobytes() == expected["y"].tobytes()
        state = expected["hn"]


def test_a_state_has_one_shape(refuse):
    text = make_network("float[1,T,8] x, float[1,T,8] h", "float[1,T,8] y, float[1,T,8] hn", "y = Add (x, h)\n hn = Relu (y)", {})
    message = refuse(text, "--float", "--state=h=hn", "--input-shape=x=1x{2,4}x8,h=1x{2,4}x8")
    assert 'the state "h" is a tensor<1x4x8xf32> for h=1x4x8, x=1x4x8, but a tensor<1x2x8xf32> for h=1x2x8, x=1x2x8; ' in message
    assert "give it the same shape in every bucket" in message


# ---- errors ----------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("options, message", [
    (["--input-shape=ids=1x{16,32},mask=1x{16,32,64}"],
     '--input-shape gives "ids" 2 shapes, but "mask" 3; give each of them one shape for each bucket'),
    (["--input-shape=ids={1,2}x{16,32,64}"],
     "--input-shape=ids={1,2}x{16,32,64}: lists of 2 and 3 sizes; give every list one size for each bucket"),
    (["--input-shape=ids=1x{16,16},mask=1x16"], "--input-shape gives the bucket ids=1x16, mask=1x16 twice; omit one of them"),
    (["--input-shape=ids=1x{16,0}"], "--input-shape=ids=1x{16,0}: expected a name and positive sizes"),
    (["--input-shape=ids=1x{16"], "--input-shape=ids=1x{16: expected a name and positive sizes"),
    (["--input-shape=ids=1x{}"], "--input-shape=ids=1x{}: expected a name and positive sizes"),
    (["--input-shape=ids=1x16,ids=1x32"], '--input-shape gives the shape of "ids" twice'),
    (["--input-shape=ids=1x{16,32},mask=1x{16,32}", "--pad=q=0"], '--pad names "q", but the inputs are "ids" "mask"'),
    (["--input-shape=ids=1x{16,32},mask=1x{16,32}", "--pad=ids=0.5"],
     '--pad gives "ids" a number that an element of type i64 cannot be'),
    (["--pad=ids"], "--pad=ids: expected a name and a number"),
    (["--pad=ids=1", "--pad=ids=1"], '--pad gives the value of "ids" twice'),
    (["--input-shape=ids=1x{16,32},mask=1x{16,32}", "--stop-after=fuse"],
     "--input-shape gives 2 buckets, but --stop-after writes the network for one; give each input one shape"),
    (["--input-shape=ids=1x{16,32},mask=1x{16,32}", "--emit=mlir"], "2 buckets, but --emit=mlir writes the network for one"),
    (["--input-shape=ids=1x16,mask=1x16", "--pad=ids=0", "--stop-after=fuse"], "--pad has no effect with --stop-after; omit it"),
    (["--input-shape=ids=1x{16,32},mask=1x16"], "note: for ids=1x32, mask=1x16"),
    (["--input-shape=ids=1x{16,24},mask=1x24"], "note: for ids=1x16, mask=1x24"),
])
def test_options_are_checked(refuse, options, message):
    assert message in refuse(make_encoder(), "--float", *options)


def test_onnx_is_written_for_one_bucket(refuse):
    message = refuse(make_encoder(), "--input-shape=ids=1x{16,32},mask=1x{16,32}", "--emit=onnx", samples=make_sentences(16, 2))
    assert "2 buckets, but --emit=onnx writes the network for one" in message


def test_samples_fit_a_bucket(refuse):
    message = refuse(make_encoder(), "--input-shape=ids=1x{16,32},mask=1x{16,32}", samples=make_sentences(20, 2))
    assert "expected shape [1, 32], with or without a leading axis of samples, but got [2, 1, 20]" in message


def test_arguments_are_checked():
    for shapes in ({"ids": [(1, 16), (16,)]}, {"ids": [(1, 16), 4]}, {"ids": [(1, 0)]}, {"ids": []}):
        with pytest.raises(octet.InputError, match="input_shapes: 'ids': expected"):
            octet.compile(make_encoder(), input_shapes=shapes)
    with pytest.raises(octet.InputError, match="pad: 'ids': expected a number"):
        octet.compile(make_encoder(), input_shapes=encoder_shapes(16, 32), pad={"ids": "x"})
    with pytest.raises(octet.CompileError, match="gives the bucket ids=1x16, mask=1x16 twice"):
        octet.compile(make_encoder(), input_shapes=encoder_shapes(16, 16))


# Networks that are not the same in every bucket: a constant that follows from a size, and a branch.
WEIGHTS = {"w": np.ones((8, 8), np.float32) * 0.1, "two": np.array([2]), "three": np.array([3])}
BIASED = """
    shape = Shape (x)
    size = Gather (shape, one)
    real = Cast <to = 1> (size)
    bias = Mul (real, b)
    y = Gemm (x, w, bias)"""


def test_buckets_that_differ_in_more_than_sizes(refuse):
    two = np.random.default_rng(0).standard_normal((4, 2, 8)).astype(np.float32)
    biased = make_network("float[N,8] x", "float[N,8] y", BIASED.replace("one", "zero"),
                          {**WEIGHTS, "zero": np.array([0]), "b": np.arange(8, dtype=np.float32)})
    message = refuse(biased, "--input-shape=x={2,4}x8", samples={"x": two})
    assert 'the constants of the operator "y" are not those of the bucket that is calibrated' in message and "for x=4x8" in message
    branches = make_network("float[N,8] x", "float[N,8] y", """
        shape = Shape (x)
        size = Gather (shape, zero)
        few = Less (size, three)
        scalar = Squeeze (few)
        h = Gemm (x, w)
        y = If (scalar) <then_branch = then () => (float[N,8] a) { r = Relu (h) a = Gemm (r, w) },
                         else_branch = other () => (float[N,8] c) { s = Sigmoid (h) c = Gemm (s, w) }>""",
                            {**WEIGHTS, "zero": np.array([0])})
    message = refuse(branches, "--input-shape=x={2,4}x8", samples={"x": two})
    assert "is not observed in the bucket that is calibrated; compile a library for each of them" in message
