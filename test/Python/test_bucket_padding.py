# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs that are smaller than a bucket: filled up and cut by Python and octet-run."""
import subprocess
from pathlib import Path

import numpy as np
import pytest

octet = pytest.importorskip("octet")
pytest.importorskip("onnx")
pytestmark = pytest.mark.usefixtures("compiler")

from bucket_networks import (LENGTHS, assert_equal, encoder_shapes, first, make_encoder, make_images, make_network,  # noqa: E402
                             make_sentences)


@pytest.fixture(scope="module")
def encoder():
    return octet.compile(make_encoder(), input_shapes=encoder_shapes(*LENGTHS))


# ---- padding ---------------------------------------------------------------------------------------------------------------
def test_padding_is_masked_and_cut():
    network = octet.compile(make_encoder(), input_shapes=encoder_shapes(*LENGTHS), pad={"ids": 3, "mask": 0})
    assert network.pad == {"ids": 3, "mask": 0}
    for length in (1, 15, 16, 20, 40, 64):
        sample = first(make_sentences(length, seed=length))
        room = next(size for size in LENGTHS if size >= length)
        filled = {"ids": np.full((1, room), 3), "mask": np.zeros((1, room), np.float32)}
        for name, array in sample.items():
            filled[name][:, :length] = array
        whole, got = network.run(filled), network.run(sample)
        assert got["y"].shape == (1, length, 32)
        assert_equal(got, {"y": whole["y"][:, :length], "logits": whole["logits"]})
        # The mask hides what was added.
        alone = octet.compile(make_encoder(), input_shapes={name: (1, length) for name in sample}).run(sample)
        np.testing.assert_allclose(got["y"], alone["y"], atol=1e-5)
    with pytest.raises(octet.InputError, match="no bucket holds the inputs"):
        network.run(first(make_sentences(65)))


def test_padding_of_some_inputs():
    network = octet.compile(make_encoder(), input_shapes=encoder_shapes(16, 32), pad={"ids": 0})
    sample = {"ids": np.ones((1, 20), np.int64), "mask": np.ones((1, 32), np.float32)}
    # The output's axis is that of both inputs, whose sizes differ: it is not cut.
    assert network.run(sample)["y"].shape == (1, 32, 32)
    with pytest.raises(octet.InputError, match="no bucket has the shapes"):
        network.run({**sample, "mask": np.ones((1, 20), np.float32)})


def test_padding_of_one_shape_and_of_batches():
    one = octet.compile(make_images(), input_shapes={"x": (4, 3, 8, 8)}, pad={"x": 0})
    images = np.random.default_rng(0).standard_normal((3, 3, 8, 8)).astype(np.float32)
    assert one.run({"x": images})["y"].shape == (4, 10)  # nothing says which axis grows
    two = octet.compile(make_images(), input_shapes={"x": [(2, 3, 8, 8), (4, 3, 8, 8)]}, pad={"x": 0})
    assert two.run({"x": images})["y"].tobytes() == one.run({"x": images})["y"][:3].tobytes()


def test_padding_of_quantized_inputs():
    images = np.random.default_rng(0).standard_normal((8, 3, 8, 8)).astype(np.float32)
    network = octet.compile(make_images(), input_shapes={"x": [(2, 3, 8, 8), (4, 3, 8, 8)]}, pad={"x": 0}, calibration_data={"x": images},
                            quantized_io=True)
    tensor = network.inputs[0]
    stored = np.clip(np.rint(images / tensor.scale) + tensor.zero_point, 0, 255).astype(tensor.dtype)
    filled = np.full((4, 3, 8, 8), tensor.zero_point, tensor.dtype)
    filled[:3] = stored[:3]
    assert network.run({"x": stored[:3]})["y"].tobytes() == network.run({"x": filled})["y"][:3].tobytes()


# ---- octet-run -------------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def run_tool(tmp_path_factory):
    """run_tool(library, *options, **arrays) runs octet-run on arrays; gives its process and the outputs."""
    from octet._compiler import find_compiler

    def run(network, *options, **arrays):
        folder = tmp_path_factory.mktemp("run")
        network.save(folder / "net.so")
        if arrays:
            np.savez(folder / "in.npz", **arrays)
            options = ("--input=in.npz", "--output=out.npz", *options)
        command = [Path(find_compiler()).with_name("octet-run"), "net.so", *options]
        process = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        return process, dict(np.load(folder / "out.npz")) if arrays and process.returncode == 0 else None

    return run


def test_octet_run_chooses_pads_and_cuts(run_tool, encoder):
    padded = octet.compile(make_encoder(), input_shapes=encoder_shapes(*LENGTHS), pad={"ids": 3, "mask": 0})
    for length in (16, 20, 64):
        sample = first(make_sentences(length, seed=length))
        assert_equal(run_tool(padded, **sample)[1], padded.run(sample))
    samples = make_sentences(20, 3)
    process, outputs = run_tool(padded, **samples)
    assert process.returncode == 0 and outputs["y"].shape == (3, 20, 32)
    for i in range(3):
        assert outputs["y"][i:i + 1].tobytes() == padded.run({name: array[i] for name, array in samples.items()})["y"].tobytes()
    sample = first(make_sentences(32))
    assert_equal(run_tool(encoder, **sample)[1], encoder.run(sample))


@pytest.mark.parametrize("kind, value", [("float16", 1.5), ("double", -0.25), ("int32", -7), ("uint8", 200), ("bool", 1), ("bfloat16", 0.5)])
def test_padding_of_every_type(run_tool, kind, value):
    text = make_network(f"{kind}[N,3] x", f"{kind}[N,3] y", "y = Identity (x)", {})
    network = octet.compile(text, input_shapes={"x": [(1, 3), (4, 3)]}, pad={"x": value})
    dtype = network.inputs[0].dtype
    x = np.ones((2, 3), dtype)
    # An output that is not cut shows the padding: of one shape, nothing says which axis grows.
    one = octet.compile(text, input_shapes={"x": (4, 3)}, pad={"x": value})
    filled = one.run({"x": x})["y"]
    expected = np.array([np.float32(value)]).view(np.uint32) >> 16 if kind == "bfloat16" else [value]
    assert filled[:2].tobytes() == x.tobytes() and (filled[2:] == np.array(expected).astype(dtype)).all()
    assert_equal(run_tool(one, x=x)[1], {"y": filled})
    assert_equal(run_tool(network, x=x)[1], {"y": x})


def test_octet_run_says_which_shapes_there_are(run_tool, encoder):
    process, _ = run_tool(encoder)
    assert process.returncode == 0
    assert "bucket 2\n  input ids: int64[1,16]\n" in process.stdout and "  output y: float32[1,16,32]\n" in process.stdout
    process, _ = run_tool(encoder, **first(make_sentences(65)))
    assert process.returncode == 1
    assert ("octet-run: error: 'in.npz': the arrays have the shapes of no bucket; 'ids': expected one of int64[1,64], int64[1,32], "
            "int64[1,16], but got int64[1,65]; 'mask': expected one of float32[1,64]") in process.stderr
