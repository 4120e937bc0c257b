# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Several input shapes in one library: every bucket computes what the network for its shapes alone does, with the same statistics;
weights are there once; which bucket runs, states."""
import ctypes
import json
import pickle
import re
import shutil
import subprocess

import numpy as np
import pytest

octet = pytest.importorskip("octet")
pytest.importorskip("onnx")
pytestmark = pytest.mark.usefixtures("compiler")

from bucket_networks import (LENGTHS, assert_equal, encoder_shapes, first, make_encoder, make_images, make_network, make_unet,  # noqa: E402
                             make_sentences)


# ---- what a bucket computes ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("level", [None, "avx2", "sse2", "reference"])
def test_float_buckets_are_the_networks_alone(level):
    network = octet.compile(make_encoder(), input_shapes=encoder_shapes(*LENGTHS), cpu_level=level)
    assert [bucket.inputs[0].shape for bucket in network.buckets] == [(1, 64), (1, 32), (1, 16)]
    assert network.inputs == network.buckets[0].inputs and network.outputs == network.buckets[0].outputs
    assert "3 buckets" in repr(network)
    for length in (*LENGTHS, *reversed(LENGTHS)):
        alone = octet.compile(make_encoder(), input_shapes={name: (1, length) for name in ("ids", "mask")}, cpu_level=level)
        sample = first(make_sentences(length, seed=length))
        assert_equal(network.run(sample), alone.run(sample))


def test_sizes_of_dimensions_by_name():
    model = make_network("float[N,T] x, float[1,T] z", "float[N,T] y", "y = Add(x, z)", {})
    network = octet.compile(model, input_shapes={"N": (2,), "T": [(3,), (7,)]}, cpu_level="reference")
    assert [[value.shape for value in bucket.inputs] for bucket in network.buckets] == [[(2, 7), (1, 7)], [(2, 3), (1, 3)]]


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


def test_buckets_of_other_aspects(compile_files, plain_backend):
    """Some of these shapes hold others, some do not: of those that fit the one with the fewest elements runs."""
    random = np.random.default_rng(0)
    shapes = "--input-shape=x=1x3x{16,32,8,24}x{24,8,32,40}"
    process, library = compile_files(make_unet(), shapes, f"--backend={plain_backend}", "--save-statistics=s.mlir",
                                     samples={"x": random.standard_normal((4, 1, 3, 16, 24)).astype(np.float32)})
    assert process.returncode == 0, process.stderr
    network = octet.load(library)
    for height, width in ((24, 40), (16, 24), (32, 8), (8, 32)):
        x = random.standard_normal((1, 3, height, width)).astype(np.float32)
        process, alone = compile_files(make_unet(), f"--input-shape=x=1x3x{height}x{width}", f"--backend={plain_backend}",
                                       f"--load-statistics={library.parent / 's.mlir'}")
        assert process.returncode == 0, process.stderr
        assert_equal(network.run({"x": x}), octet.load(alone).run({"x": x}))


def test_loaded_statistics_are_every_buckets(compile_files, plain_backend):
    samples, shapes = make_sentences(32, 8), "--input-shape=ids=1x{16,32},mask=1x{16,32}"
    process, library = compile_files(make_encoder(), shapes, f"--backend={plain_backend}", "--save-statistics=s.mlir", samples=samples)
    assert process.returncode == 0
    statistics = f"--load-statistics={library.parent / 's.mlir'}"
    process, again = compile_files(make_encoder(), shapes, f"--backend={plain_backend}", statistics)
    assert process.returncode == 0 and again.read_bytes() == library.read_bytes()


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


def test_a_recipe_runs_in_every_bucket(compile_files, plain_backend, tmp_path):
    backend = tmp_path / "backend.mlir"
    recipe = 'octet.recipe before_prepare "func.func(octet-expand-batch-norm)" after_calibrate "octet-correct-bias"'
    backend.write_text(re.sub("octet.recipe .*", recipe, (plain_backend.parent / "cpu.mlir").read_text()))
    shapes = {"w": (4, 3, 3, 3), "v": (4, 8, 1, 1), "s": (8,), "b": (8,), "m": (8,)}
    constants = {name: np.random.default_rng(0).standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    model = make_network("float[N,3,6,6] x", "float[N,4,6,6] y", """
        c = Conv <pads = [1,1,1,1]> (x, w)
        r = Relu (c)
        both = Concat <axis = 1> (c, r)
        n = BatchNormalization (both, s, b, m, var)
        y = Conv (n, v)""", {**constants, "var": np.ones(8, np.float32)})
    x = np.random.default_rng(0).standard_normal((4, 2, 3, 6, 6)).astype(np.float32)
    process, library = compile_files(model, "--input-shape=x={1,2}x3x6x6", f"--backend={backend}", samples={"x": x})
    assert process.returncode == 0, process.stderr
    network = octet.load(library)
    whole = network.run({"x": x[0]})["y"]
    assert np.concatenate([network.run({"x": x[0, i:i + 1]})["y"] for i in range(2)]).tobytes() == whole.tobytes()


def test_outliers_are_split_alike(plain_backend):
    """Two columns reach beyond the others. A bucket of one row has their further columns, too, and the corrected biases."""
    random = np.random.default_rng(0)
    wide = np.ones(128, np.float32)
    wide[[3, 20]] = 3
    x = (random.standard_normal((8, 16, 128)) * wide).astype(np.float32)
    constants = {"w": random.standard_normal((128, 24)).astype(np.float32), "b": np.ones(24, np.float32),
                 "v": random.standard_normal((24, 24)).astype(np.float32)}
    model = make_network("float[N,128] x", "float[N,24] y", "h = Gemm (x, w, b)\n r = Relu (h)\n y = Gemm (r, v)", constants)
    buckets, alone = {"x": [(16, 128), (4, 128), (1, 128)]}, {"x": (16, 128)}
    network = octet.compile(model, input_shapes=buckets, calibration_data={"x": x})
    whole = network.run({"x": x[0]})["y"]
    for rows in (4, 1):
        parts = [network.run({"x": x[0, i:i + rows]})["y"] for i in range(0, 16, rows)]
        assert np.concatenate(parts).tobytes() == whole.tobytes()
    assert whole.tobytes() == octet.compile(model, input_shapes=alone, calibration_data={"x": x}).run({"x": x[0]})["y"].tobytes()
    unsplit = octet.compile(model, input_shapes=buckets, calibration_data={"x": x}, backend=plain_backend).run({"x": x[0]})["y"]
    floating = octet.compile(model, input_shapes=alone).run({"x": x[0]})["y"]
    assert np.square(whole - floating).mean() < 0.7 * np.square(unsplit - floating).mean()


def test_products_of_activations_are_decided_alike(compile_files, tmp_path, plain_backend):
    """Of 4 words they are one part in a hundred, of 64 one in six."""
    text = plain_backend.read_text()
    backends = {share: tmp_path / f"{share}.mlir" for share in ("0.02", "0.0", "1.0")}
    for share, path in backends.items():
        path.write_text(text.replace("octet.float_products share = 1.0", f"octet.float_products share = {share}"))
    encoder, samples = make_encoder(hidden=64), make_sentences(64, 8)

    def try_for(lengths, share, *options, **given):
        shapes = (f"--input-shape={name}=1x{lengths}" for name in ("ids", "mask"))
        return compile_files(encoder, *shapes, f"--backend={backends[share]}", *options, **given)

    def compile_for(*arguments, **given):
        process, library = try_for(*arguments, **given)
        assert process.returncode == 0, process.stderr
        return octet.load(library), library.parent

    network, folder = compile_for("{4,64}", "0.02", "--save-statistics=s.mlir", samples=samples)
    sample = first(make_sentences(4, seed=4))
    got = network.run(sample)
    statistics = f"--load-statistics={folder / 's.mlir'}"
    assert_equal(got, compile_for(4, "0.0", statistics)[0].run(sample))
    assert "the network has no observer 'k'" in try_for(4, "0.02", statistics)[0].stderr  # alone its products are float
    assert got["y"].tobytes() != compile_for("{4,64}", "1.0", samples=samples)[0].run(sample)["y"].tobytes()


@pytest.mark.parametrize("level", [None, "avx2", "sse2", "reference"])
def test_batches_are_buckets(level):
    images = np.random.default_rng(0).standard_normal((8, 3, 8, 8)).astype(np.float32)
    shapes = {"x": [(1, 3, 8, 8), (4, 3, 8, 8), (8, 3, 8, 8)]}
    for samples in (None, {"x": images}):
        network = octet.compile(make_images(), input_shapes=shapes, calibration_data=samples, cpu_level=level)
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


MAIN = """
#include "net.h"
#include <stdio.h>
int main(void) {
  static const int64_t shape[] = {3, 3, 8, 8}, beyond[] = {5, 3, 8, 8};
  static float x[net_input_0_elements], y[net_output_0_elements];
  octet_model *model = net_create(1, NULL, NULL, 0);
  int32_t large = net_select(model, (const int64_t *const[]){beyond}), number = net_select(model, (const int64_t *const[]){shape});
  const octet_bucket *bucket = &net_octet_model_v1()->descriptor->buckets->list[number];
  int32_t code = net_run(model, (const void *const[]){x}, (void *const[]){y});
  printf("%d %d %d %d", large, number, (int)bucket->outputs[0].bytes, code);
  net_destroy(model);
}
"""


def test_headers_describe_the_buckets(compile_files):
    network = make_images()
    process, library = compile_files(network, "--float", "--emit=obj", "--name=net", "--input-shape=x={1,4}x3x8x8")
    assert process.returncode == 0
    folder = library.parent
    assert "   bucket 1:\n   inputs[0]: float x[1][3][8][8]\n   outputs[0]: float y[1][10]\n" in (folder / "net.h").read_text()
    (folder / "main.c").write_text(MAIN)
    library.rename(folder / "net.o")
    clang = shutil.which("clang-22") or shutil.which("cc")
    subprocess.run([clang, "-Wall", "-Werror", "main.c", "net.o", "-lpthread", "-o", "main"], cwd=folder, check=True)
    assert subprocess.run([folder / "main"], capture_output=True, text=True).stdout == "-1 0 160 0"
    process, library = compile_files(network, "--float", "--emit=obj", "--name=net", "--input-shape=x=1x3x8x8")
    assert "net_select(octet_model *model" not in (library.parent / "net.h").read_text().split("OCTET_MODEL_NET_H")[-1]


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


# ---- quantized files ----------------------------------------------------------------------------------------------------------
def test_files_that_are_quantized(compile_files):
    constants = {"w": np.random.default_rng(0).integers(-127, 127, (8, 8)).astype(np.int8), "ws": np.float32(0.02), "wz": np.int8(0),
                 "xs": np.float32(0.05), "xz": np.uint8(128), "ys": np.float32(0.1)}
    text = make_network("float[N,8] x", "float[N,8] y", """
        q = QuantizeLinear (x, xs, xz)
        d = DequantizeLinear (q, xs, xz)
        e = DequantizeLinear (w, ws, wz)
        a = MatMul (d, e)
        r = QuantizeLinear (a, ys, xz)
        y = DequantizeLinear (r, ys, xz)""", constants)
    process, library = compile_files(text, "--as-in-file", "--input-shape=x={1,4}x8")
    assert process.returncode == 0 and "1 linear → int8" in process.stdout, process.stdout
    network = octet.load(library)
    x = np.random.default_rng(1).standard_normal((4, 8)).astype(np.float32)
    whole = network.run({"x": x})["y"]
    assert len(np.unique(whole)) > 4
    assert b"".join(network.run({"x": x[i:i + 1]})["y"].tobytes() for i in range(4)) == whole.tobytes()
