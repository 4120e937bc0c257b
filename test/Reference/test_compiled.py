# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random networks: what the compiler makes of them gives the law's bytes at every level of this machine."""

import ctypes
import pathlib
import platform
import re
import shutil
import subprocess
import sys

import numpy as np
import octet_reference as reference
import pytest
import random_networks
from random_networks import number

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tools" / "dev"))
import levels  # noqa: E402

LEVELS = levels.get_names(platform.machine())


@pytest.fixture(scope="module")
def driver(tmp_path_factory, unbuilt):
    compiler = shutil.which("cc") or shutil.which("clang-22") or unbuilt("no C compiler")
    path = tmp_path_factory.mktemp("driver") / "run_samples"
    source = SOURCE / "test" / "Integration" / "run_samples.c"
    subprocess.run([compiler, "-O1", "-I", SOURCE / "include", source, "-o", path, "-ldl"], check=True)
    return path


def compile_network(tool, folder, text, *options):
    """(shared library, ONNX file) of a reference model, or with --float of a float network."""
    model, library, onnx_file = folder / "model.mlir", folder / "model.so", folder / "model.onnx"
    model.write_text(text)
    tool("octet-translate", "--export-onnx", model, "-o", onnx_file)
    tool("octet-compile", model, "--name=model", "--cpu-level=" + ",".join(LEVELS), *options, "-o", library)
    return library, onnx_file


def supports(library, level):
    """Whether this CPU can run a level; the library knows."""
    class Interface(ctypes.Structure):
        _fields_ = [("abi", ctypes.c_int32), ("descriptor", ctypes.c_void_p)] + [
            (name, ctypes.c_void_p) for name in ("create", "run", "run_steps", "destroy", "program", "threads", "frame", "set_step_hook", "supports", "reset")]

    entry = ctypes.CDLL(str(library)).model_octet_model_v1
    entry.restype = ctypes.POINTER(Interface)
    function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)(entry().contents.supports)
    return function(level.encode()) == 1


def run_library(driver, library, level, threads, folder, image):
    (folder / "in.bin").write_bytes(image.tobytes())
    command = [driver, library, "model_octet_model_v1", level, str(threads), folder / "in.bin", folder / "out.bin"]
    subprocess.run(command, check=True)
    return np.frombuffer((folder / "out.bin").read_bytes(), np.uint32)


def check(tool, driver, folder, text, shape, seed=0, spread=1, options=()):
    """What compiled code computes is what the reference does."""
    library, onnx_file = compile_network(tool, folder, text, *options)
    image = np.random.default_rng(seed).normal(scale=spread, size=shape).astype(np.float32)
    results = reference.Network(str(onnx_file)).run({"x": image})
    wanted = np.concatenate([result.ravel() for result in results.values()]).view(np.uint32)
    assert len(np.unique(wanted)) > 10
    for level in filter(lambda level: supports(library, level), LEVELS):
        for threads in (1, 2):
            got = run_library(driver, library, level, threads, folder, image)
            assert got.size == wanted.size, (level, threads)
            assert np.array_equal(got, wanted), f"{level}, {threads} threads: {np.count_nonzero(got != wanted)} of {wanted.size} differ"


# Seed 4 saturates: almost all its values are the same.
@pytest.mark.parametrize("seed", [0, 1, 2, 3, 5, 6, 7, 8])
def test_random_network(tool, driver, tmp_path, seed):
    check(tool, driver, tmp_path, *random_networks.random_network(seed), seed)


def with_signed_activations(text):
    """The same network with activations in i8: zero points are less by 128."""
    def change(match):
        parameters = re.sub(r":(-?\d+)", lambda zero: f":{int(zero[1]) - 128}", match[2])
        return f"<i8:f32{match[1]}, {parameters}>"
    return re.sub(r"<u8:f32((?::\d+)?), ([^>]*)>", change, text)


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_signed_activations(tool, driver, tmp_path, seed):
    """They give the law's bytes, which are those of the network with unsigned ones."""
    text, shape = random_networks.random_network(seed)
    signed = with_signed_activations(text)
    assert "u8" in text and "u8" not in signed
    check(tool, driver, tmp_path, signed, shape, seed)
    results = []
    for number, source in enumerate((text, signed)):
        (folder := tmp_path / str(number)).mkdir()
        _, onnx_file = compile_network(tool, folder, source)
        image = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
        results.append(reference.Network(str(onnx_file)).run({"x": image}))
    for name, values in results[0].items():
        np.testing.assert_array_equal(values.view(np.uint32), results[1][name].view(np.uint32))


def test_mean_of_nothing(tool, driver, tmp_path):
    """Dilated windows whose taps all miss the input: 0 times infinity is NaN, which is stored as the zero point."""
    writer = random_networks.Writer(0, (1, 20, 2, 9))
    writer.apply("nn.avg_pool {0} kernel [2, 2] pads [2, 1, 2, 0] dilations [3, 1]", (1, 20, 3, 9), same=False,
                 scale=np.float32(0.013), zero=131)
    writer.results["y"] = writer.value
    check(tool, driver, tmp_path, writer.text(), writer.input_shape)


@pytest.mark.parametrize("scale, zero", [(0.02, 121), (0.013, 300), (0.013, -300), (1e-30, 7), (1e37, 3)])
def test_input_is_clamped(tool, driver, tmp_path, scale, zero):
    """Ends, halves and what is next to them; zero points beyond the storage type; scales whose reciprocals are not used."""
    params = reference.QParams(np.float32(scale), zero)
    with np.errstate(over="ignore"):
        halves = ((np.arange(-2, 260) - 0.5 - zero) * np.float64(params.scale)).astype(np.float32)
    x = np.concatenate([halves, np.nextafter(halves, np.float32(0)), np.nextafter(halves, np.copysign(np.float32(np.inf), halves)),
                        np.array([np.nan, np.inf, -np.inf, 3e38, -3e38, 1e-45, -0.0], np.float32)])
    writer = random_networks.Writer(0, x.shape)
    writer.lines.clear()
    writer.results["y"] = writer.quantize("%x", x.shape, scale, zero)
    (tmp_path / "model.mlir").write_text(writer.text())
    library = tmp_path / "model.so"
    tool("octet-compile", tmp_path / "model.mlir", "--name=model", "--cpu-level=" + ",".join(LEVELS), "-o", library)
    wanted = reference.dequantize(reference.quantize(x, params), params)
    assert len(np.unique(wanted)) > 3
    for level in filter(lambda level: supports(library, level), LEVELS):
        got = run_library(driver, library, level, 1, tmp_path, x).view(np.float32)
        np.testing.assert_array_equal(got, wanted, level)


@pytest.mark.parametrize("operator", ["sigmoid {0}", "silu {0}", "tanh {0}", "elu {0} alpha 0.3", "exp {0}", "hard_swish {0}", "erf {0}",
                                      "softplus {0}", "gelu {0} none", "gelu {0} tanh", "abs {0}", "round {0}", "floor {0}",
                                      "ceil {0}", "log {0}", "sin {0}", "cos {0}", "atan {0}", "thresholded_relu {0} alpha 0.3"])
def test_float_activation(tool, driver, tmp_path, operator):
    """From numbers near zero to where exponentials overflow and vanish."""
    writer = random_networks.Writer(0, (7, 300))
    writer.lines, writer.value = [], random_networks.Value("%x", (7, 300), None, None)
    writer.apply("nn." + operator, (7, 300), quantize=False)
    writer.results["y"] = writer.value
    check(tool, driver, tmp_path, writer.text(), writer.input_shape, spread=50, options=["--float"])


def test_float_sign(tool, driver, tmp_path):
    """Times other numbers, so that there are more than two results."""
    writer, shape = random_networks.Writer(0, (7, 30)), (7, 30)
    writer.lines, kind = [], random_networks.tensor(shape)
    sign = writer.emit(f"nn.sign %x : ({kind})", shape)
    name = writer.emit(f"nn.mul {sign}, {writer.constant(np.arange(30, dtype=np.float32), 'f32')} : ({kind}, tensor<30xf32>)", shape)
    writer.results["y"] = random_networks.Value(name, shape, None, None)
    check(tool, driver, tmp_path, writer.text(), writer.input_shape, options=["--float"])


@pytest.mark.parametrize("operator", ["max", "min", "pow", "prelu"])
def test_float_operator_of_two(tool, driver, tmp_path, operator):
    """With a value for each of the last dimension: whole and broken exponents, of negative numbers, too."""
    writer, shape = random_networks.Writer(0, (7, 12)), (7, 12)
    writer.lines = []
    others = writer.constant(np.array([-3, -2, -1, -0.5, 0, 0.25, 0.5, 1, 2, 2.5, 3, 4], np.float32), "f32")
    name = writer.emit(f"nn.{operator} %x, {others} : ({random_networks.tensor(shape)}, tensor<12xf32>)", shape)
    writer.results["y"] = random_networks.Value(name, shape, None, None)
    check(tool, driver, tmp_path, writer.text(), writer.input_shape, spread=3, options=["--float"])


@pytest.mark.parametrize("activation, positive", [("erf {0}", False), ("softplus {0}", True), ("gelu {0} none", False), ("gelu {0} tanh", False),
                                                  ("abs {0}", True), ("thresholded_relu {0} alpha 0.3", True)])
def test_fused_activation(tool, driver, tmp_path, activation, positive):
    """In int8 behind convolutions and a linear layer, and alone, as a table."""
    writer = random_networks.Writer(3, (1, 16, 9, 11))
    writer.ACTIVATIONS = [("nn." + activation, positive)]
    writer.convolution(24, (3, 3), pads=(1, 1, 1, 1))
    writer.convolution(24, (3, 3), groups=24)
    writer.convolution(7, (1, 1))
    writer.apply("nn." + activation, writer.value.shape, same=False, scale=np.float32(0.0131), zero=100)
    writer.linear(20)
    writer.results["y"] = writer.value
    text = writer.text()
    assert text.count("nn." + activation.split()[0]) >= 3
    check(tool, driver, tmp_path, text, writer.input_shape)


@pytest.mark.parametrize("activation", [None, "relu {0}", "silu {0}"])
@pytest.mark.parametrize("is_float", [False, True])
@pytest.mark.parametrize("shape", [(1, 5, 4, 3), (1, 40, 6, 5), (3, 24), (2, 17, 9), (1, 1, 6, 7)])
def test_batch_norm(tool, driver, tmp_path, shape, is_float, activation):
    """Where no operator takes it into its weights; quantized, with what is behind it, and in a float network."""
    writer = random_networks.Writer(0, shape)
    if is_float:
        writer.lines, writer.value = [], random_networks.Value("%x", shape, None, None)
    source = writer.value
    parameters = [writer.constant(writer.rng.uniform(0.5, 2, shape[1]).astype(np.float32), "f32") for _ in range(4)]
    name = writer.emit(f"nn.batch_norm {source.name}, {', '.join(parameters)} epsilon 0.01 : "
                       f"({', '.join([source.type] + [f'tensor<{shape[1]}xf32>'] * 4)})", shape)
    writer.value = random_networks.Value(name, shape, None, None)
    if activation:
        writer.apply("nn." + activation, shape, quantize=False)
    writer.results["y"] = writer.value if is_float else writer.quantize(writer.value.name, shape, 0.03, 100)
    check(tool, driver, tmp_path, writer.text(), shape, spread=2, options=["--float"] if is_float else [])


@pytest.mark.parametrize("is_float", [False, True])
@pytest.mark.parametrize("rows, columns", [(16, 16), (37, 21), (15, 40), (40, 15), (100, 4)])
def test_transposition(tool, driver, tmp_path, rows, columns, is_float):
    """In blocks, the last ones overlapping; too small ones element by element."""
    writer = random_networks.Writer(0, (rows, columns))
    if is_float:
        writer.lines, writer.value = [], random_networks.Value("%x", (rows, columns), None, None)
    writer.apply("nn.transpose {0} permutation [1, 0]", (columns, rows), quantize=not is_float)
    writer.results["y"] = writer.value
    check(tool, driver, tmp_path, writer.text(), writer.input_shape, options=["--float"] if is_float else [])


@pytest.mark.parametrize("is_float", [False, True])
@pytest.mark.parametrize("shape, permutation", [((3, 37, 21), [0, 2, 1]), ((2, 3, 20, 16), [1, 0, 3, 2]), ((2, 19, 3, 18), [0, 2, 3, 1])])
def test_transposition_of_matrices(tool, driver, tmp_path, shape, permutation, is_float):
    """Several, also where a further dimension lies between rows and columns."""
    writer = random_networks.Writer(0, shape)
    if is_float:
        writer.lines, writer.value = [], random_networks.Value("%x", shape, None, None)
    writer.apply(f"nn.transpose {{0}} permutation {permutation}", tuple(shape[axis] for axis in permutation), quantize=not is_float)
    writer.results["y"] = writer.value
    check(tool, driver, tmp_path, writer.text(), writer.input_shape, options=["--float"] if is_float else [])


@pytest.mark.parametrize("left, right", [
    ((5, 9), (9, 16)), ((1, 9), (9, 37)), ((30, 3), (3, 20)), ((7, 4), (4, 15)), ((2, 50, 8), (8, 130)),
    ((1, 4, 13, 7), (1, 4, 7, 40)), ((2, 1, 6, 5), (3, 5, 21)), ((3, 25, 5), (2, 3, 5, 17)), ((2, 131, 6), (2, 6, 33)), ((310, 5), (5, 50)), ((30, 9), (9, 12)), ((30, 9), (9, 3)), ((2, 30, 9), (2, 9, 1)),
    ((4, 7, 11), (4, 11, 1)), ((3, 2, 19, 4), (3, 1, 4, 2)), ((6, 3), (3, 2)), ((5, 3, 6), (5, 6, 1)), ((2, 33, 18), (18, 4))])
def test_product(tool, driver, tmp_path, left, right):
    """Two values: tiles whose last rows and columns overlap, several of them side by side, columns that fill no vector, matrices that are
    broadcast."""
    writer = random_networks.Writer(0, left)
    writer.lines = []
    shape = (*np.broadcast_shapes(left[:-2], right[:-2]), left[-2], right[-1])
    # The other one is no constant: linear layers multiply with these.
    other = writer.emit(f"nn.tanh {writer.constant(writer.rng.normal(size=right).astype(np.float32), 'f32')} : "
                        f"({random_networks.tensor(right)})", right)
    types = f"({random_networks.tensor(left)}, {random_networks.tensor(right)})"
    name = writer.emit(f"nn.matmul %x, {other} : {types}", shape)
    writer.results["y"] = random_networks.Value(name, shape, None, None)
    check(tool, driver, tmp_path, writer.text(), left, options=["--float"])


@pytest.mark.parametrize("zeros", [(3, 130), (128, 0), (255, 128)])
@pytest.mark.parametrize("left, right", [
    ((5, 9), (9, 16)), ((1, 9), (9, 37)), ((30, 3), (3, 20)), ((7, 4), (4, 15)), ((2, 50, 8), (8, 130)), ((1, 4, 13, 7), (1, 4, 7, 40)),
    ((2, 1, 6, 5), (3, 5, 21)), ((3, 25, 5), (2, 3, 5, 17)), ((3, 25, 70), (3, 70, 33)), ((300, 64), (64, 48)), ((2, 9, 1030), (1030, 16)),
    ((2, 5000), (5000, 16)), ((4, 4), (4, 96)), ((3, 25, 70), (3, 70, 8)), ((50, 64), (64, 3)), ((2, 30, 9), (2, 9, 1))])
def test_product_of_bytes(tool, driver, tmp_path, left, right, zeros):
    """Two quantized values: sums of rows and columns that fill no vector or quad, parts of the rows, sums too long to be packed."""
    shape = (*np.broadcast_shapes(left[:-2], right[:-2]), left[-2], right[-1])
    name = lambda shape, kind: f"tensor<{'x'.join(map(str, shape))}x{kind}>"  # noqa: E731
    a, b = f"!quant.uniform<u8:f32, 0.02:{zeros[0]}>", f"!quant.uniform<u8:f32, 0.01:{zeros[1]}>"
    y = f"!quant.uniform<u8:f32, {0.05 * left[-1] ** 0.5}:{120}>"
    rows = int(np.prod(left[:-1]))
    values = np.random.default_rng(0).normal(size=(right[-1] * int(np.prod(right[:-1])))).astype(np.float32)
    # The right operand depends on the input, too: a constant would make the product a linear layer.
    body = f"""
      %w = nn.constant dense<{values.tolist()}> : {name(values.shape, "f32")}
      %c = nn.reshape %w : ({name(values.shape, "f32")}) -> {name(right, "f32")}
      %first = nn.reshape %x : ({name(left, "f32")}) -> {name((rows, left[-1]), "f32")}
      %one = nn.slice %first starts [0, 0] sizes [1, 1] steps [1, 1] : ({name((rows, left[-1]), "f32")}) -> {name((1, 1), "f32")}
      %shifted = nn.add %c, %one : ({name(right, "f32")}, {name((1, 1), "f32")}) -> {name(right, "f32")}
      %aq = octet.quantize %x : ({name(left, "f32")}) -> {name(left, a)}
      %bq = octet.quantize %shifted : ({name(right, "f32")}) -> {name(right, b)}
      %ad = octet.dequantize %aq : ({name(left, a)}) -> {name(left, "f32")}
      %bd = octet.dequantize %bq : ({name(right, b)}) -> {name(right, "f32")}
      %real = nn.matmul %ad, %bd : ({name(left, "f32")}, {name(right, "f32")}) -> {name(shape, "f32")}
      %other = nn.matmul %ad, %bd : ({name(left, "f32")}, {name(right, "f32")}) -> {name(shape, "f32")}
      %q = octet.quantize %other : ({name(shape, "f32")}) -> {name(shape, y)}
      %d = octet.dequantize %q : ({name(shape, y)}) -> {name(shape, "f32")}
      return %real, %d : {name(shape, "f32")}, {name(shape, "f32")}"""
    results = " ".join(f'{name(shape, "f32")} {{nn.name = "{output}"}}{end}' for output, end in (("y", ","), ("z", "")))
    text = f'func.func @main(%x: {name(left, "f32")} {{nn.name = "x"}}) -> ({results}) {{{body}\n}}\n'
    check(tool, driver, tmp_path, text, left, spread=0.5)


@pytest.mark.parametrize("quantize", [False, True])
def test_pixel_shuffle(tool, driver, tmp_path, quantize):
    """A transposition that reads the convolution's NHWC result through a reshape."""
    writer = random_networks.Writer(0, (1, 3, 7, 10))
    writer.convolution(12, (3, 3), pads=(1, 1, 1, 1))
    writer.apply("nn.reshape {0}", (1, 3, 2, 2, 7, 10), quantize=quantize)
    writer.apply("nn.transpose {0} permutation [0, 1, 4, 2, 5, 3]", (1, 3, 7, 2, 10, 2), quantize=quantize)
    writer.results["y"] = writer.value
    check(tool, driver, tmp_path, writer.text(), writer.input_shape)


@pytest.mark.parametrize("factors", [(2, 2), (1, 2), (2, 1), (4, 1), (3, 1)])
@pytest.mark.parametrize("channels", [3, 16, 24])
def test_channels_become_pixels(tool, driver, tmp_path, channels, factors):
    """Between two convolutions, the second of which reads a border: one step, of every second or fourth byte, or of others."""
    writer = random_networks.Writer(channels, (1, 3, 5, 7))
    (high, wide), rows, columns = factors, 5, 7
    writer.convolution(channels * high * wide, (1, 1))
    writer.apply("nn.reshape {0}", (1, channels, high, wide, rows, columns))
    writer.apply("nn.transpose {0} permutation [0, 1, 4, 2, 5, 3]", (1, channels, rows, high, columns, wide))
    writer.apply("nn.reshape {0}", (1, channels, rows * high, columns * wide))
    writer.results["shuffled"] = writer.value
    writer.convolution(8, (3, 3), pads=(1, 1, 1, 1))
    writer.results["y"] = writer.value
    check(tool, driver, tmp_path, writer.text(), writer.input_shape)


def test_four_channels_become_one(tool, driver, tmp_path):
    """An image of one channel is dense and channels last: a pool reads what was moved."""
    writer = random_networks.Writer(0, (1, 3, 5, 7))
    writer.convolution(4, (1, 1))
    writer.apply("nn.reshape {0}", (1, 1, 2, 2, 5, 7))
    writer.apply("nn.transpose {0} permutation [0, 1, 4, 2, 5, 3]", (1, 1, 5, 2, 7, 2))
    writer.apply("nn.reshape {0}", (1, 1, 10, 14))
    writer.apply("nn.max_pool {0} kernel [2, 2] strides [2, 2] pads [1, 1, 1, 1]", (1, 1, 6, 8))
    writer.results["y"] = writer.value
    check(tool, driver, tmp_path, writer.text(), writer.input_shape)


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("channels, rows, columns", [(2, 5, 7), (4, 3, 5), (8, 24, 48), (8, 3, 3), (12, 4, 9), (24, 4, 9), (40, 3, 2)])
def test_gate(tool, driver, tmp_path, channels, rows, columns, per_channel):
    """An image times a number per channel: few channels fill vectors with several pixels, many are loaded once for several."""
    writer = random_networks.Writer(channels, (1, 3, rows, columns))
    random_networks.gate(writer, channels, per_channel)
    writer.results["y"] = writer.value
    check(tool, driver, tmp_path, writer.text(), writer.input_shape)


@pytest.mark.parametrize("is_float", [False, True])
@pytest.mark.parametrize("channels", [3, 20])
@pytest.mark.parametrize("coordinates", ["half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"])
def test_resize(tool, driver, tmp_path, coordinates, channels, is_float):
    """Larger, smaller, to one row; as the convolution in front wrote it, and (dense) as the network's own input and result."""
    writer = random_networks.Writer(channels, (1, channels, 6, 9))
    if is_float:
        writer.lines, writer.value = [], random_networks.Value("%x", writer.input_shape, None, None)
    else:
        writer.convolution(channels, (1, 1))
    sizes = {"floor": (9, 20), "ceil": (6, 5), "round_prefer_floor": (1, 23), "round_prefer_ceil": (13, 9)}
    for rounding, (rows, columns) in sizes.items():
        scales = [number(np.float32(new / old)) for new, old in zip((rows, columns), writer.value.shape[2:])]
        mode = "nearest" if rounding not in ("ceil", "round_prefer_ceil") else "linear"
        before = writer.value
        writer.apply(f"nn.resize {{0}} size [{rows}, {columns}] scales [{', '.join(scales)}] {mode} {coordinates} {rounding}",
                     (1, channels, rows, columns), quantize=not is_float)
        writer.results[rounding] = writer.value
        if rounding == "round_prefer_floor":
            writer.value = before  # one row is enough for one result
    check(tool, driver, tmp_path, writer.text(), writer.input_shape, options=["--float"] if is_float else [])


def test_factor_and_size_differ(tool, driver, tmp_path):
    """4 columns become 8 with a factor that is not 2: not every pixel is repeated alike."""
    writer = random_networks.Writer(0, (1, 16, 5, 4))
    for columns, factor in (9, 2.4), (8, 2.2):
        before = writer.value
        writer.apply(f"nn.resize {{0}} size [5, {columns}] scales [1.0, {factor}] nearest asymmetric floor", (1, 16, 5, columns))
        writer.results[f"y{columns}"] = writer.value
        writer.value = before
    check(tool, driver, tmp_path, writer.text(), writer.input_shape)


def test_reshape_between_images(tool, driver, tmp_path):
    """From one convolution's NHWC to the other's: neither side is in the reshape's order."""
    writer = random_networks.Writer(0, (1, 5, 6, 8))
    writer.convolution(12, (3, 3), pads=(1, 1, 1, 1))
    writer.apply("nn.reshape {0}", (1, 16, 4, 9))
    writer.convolution(7, (3, 3), pads=(1, 1, 1, 1))
    writer.results["y"] = writer.value
    check(tool, driver, tmp_path, writer.text(), writer.input_shape)
