# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What octet-compile and octet.compile say to buckets that cannot be."""
import re

import numpy as np
import pytest

octet = pytest.importorskip("octet")
pytest.importorskip("onnx")
pytestmark = pytest.mark.usefixtures("compiler")

from bucket_networks import encoder_shapes, make_encoder, make_network, make_sentences  # noqa: E402


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
    h = Gemm (x, w, bias)
    r = Relu (h)
    y = Gemm (r, w)"""


def test_buckets_that_differ_in_more_than_sizes(refuse):
    two = np.random.default_rng(0).standard_normal((4, 2, 8)).astype(np.float32)
    biased = make_network("float[N,8] x", "float[N,8] y", BIASED.replace("one", "zero"),
                          {**WEIGHTS, "zero": np.array([0]), "b": np.arange(8, dtype=np.float32)})
    message = refuse(biased, "--input-shape=x={2,4}x8", samples={"x": two})
    assert 'the constants of the operator "h" are not those of the bucket that is calibrated' in message and "for x=4x8" in message
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
    assert "is not observed, or in another way, in the bucket that is calibrated; compile a library for each of them" in message


def test_steps_are_not_confused(refuse):
    """The parts of a recurrent network have one name, and their number follows from the length."""
    weights = {name: np.random.default_rng(0).standard_normal(shape).astype(np.float32) * 0.2
               for name, shape in (("w", (2, 64, 8)), ("r", (2, 64, 16)), ("b", (2, 128)))}
    text = make_network("float[T,1,8] x", "float[T,2,1,16] y", 'y = LSTM <hidden_size = 16, direction = "bidirectional"> (x, w, r, b)',
                        weights)
    samples = {"x": np.random.default_rng(0).standard_normal((4, 6, 1, 8)).astype(np.float32)}
    message = refuse(text, "--input-shape=x={4,6}x1x8", samples=samples)
    assert ('the operator "y" has other parts than in the bucket that is calibrated, such as another number of steps; compile a library'
            " for each of them") in message
    shapes = {"x": [(4, 1, 8), (6, 1, 8)]}
    network, alone = octet.compile(text, input_shapes=shapes), octet.compile(text, input_shapes={"x": (4, 1, 8)})
    x = samples["x"][0, :4]
    assert network.run({"x": x})["y"].tobytes() == alone.run({"x": x})["y"].tobytes()


def test_an_output_keeps_its_rank(refuse):
    text = make_network("float[N,8] x", "float[M,N,8] y", """
        shape = Shape (x)
        size = Gather (shape, zero)
        few = Less (size, three)
        scalar = Squeeze (few)
        y = If (scalar) <then_branch = then () => (float[N,8] a) { a = Relu (x) },
                         else_branch = other () => (float[M,N,8] c) { c = Unsqueeze (x, zero) }>""",
                        {"three": np.array([3]), "zero": np.array([0])})
    assert ('the output "y" is a tensor<1x4x8xf32> for x=4x8, but a tensor<2x8xf32> for x=2x8; give shapes that differ in sizes only'
            in refuse(text, "--float", "--input-shape=x={2,4}x8"))


def test_samples_change_constants_only(refuse, plain_backend, tmp_path):
    """A recipe runs in every bucket, with samples in one: a factor in front of the first layer is there alone."""
    backend = tmp_path / "backend.mlir"
    recipe = 'octet.recipe before_prepare "octet-equalize-inputs"'
    backend.write_text(re.sub("octet.recipe .*", recipe, (plain_backend.parent / "cpu.mlir").read_text()))
    text = make_network("float[N,8] x", "float[N,8] y", "h = Gemm (x, w)\n r = Relu (h)\n y = Gemm (r, w)", {"w": WEIGHTS["w"]})
    x = np.random.default_rng(0).standard_normal((4, 2, 8)).astype(np.float32)
    message = refuse(text, "--input-shape=x={1,2}x8", f"--backend={backend}", samples={"x": x})
    assert "the backend's recipe adds other operators than in the bucket that is calibrated; compile a library for each of them" in message


def test_a_state_has_one_shape(refuse):
    text = make_network("float[1,T,8] x, float[1,T,8] h", "float[1,T,8] y, float[1,T,8] hn", "y = Add (x, h)\n hn = Relu (y)", {})
    message = refuse(text, "--float", "--state=h=hn", "--input-shape=x=1x{2,4}x8,h=1x{2,4}x8")
    assert 'the state "h" is a tensor<1x4x8xf32> for h=1x4x8, x=1x4x8, but a tensor<1x2x8xf32> for h=1x2x8, x=1x2x8; ' in message
    assert "give it the same shape in every bucket" in message
