# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The same bytes at every CPU level, with 1 and 2 threads, under QEMU and by the NumPy reference, on a few inputs per network.

`test/Integration/exactness.py` does it on all inputs that the bar asks for and prints a table.
"""
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "Python"))
import exactness  # noqa: E402
import networks  # noqa: E402
from onnx_networks import make_network  # noqa: E402


def test_comparison_sees_one_bit():
    same = [b"ab", b"cd"]
    assert exactness.compare(same, list(same)) == ("=2", True)
    assert exactness.compare(same, [b"ab", b"cc"]) == ("1/2", False)
    assert exactness.compare(same, same[:1]) == ("1/2", False)
    assert exactness.compare([], []) == ("=0", False)


def test_comparison_leaves_open_what_the_law_leaves_open():
    def differ(first, second):
        return exactness.as_bytes([first]) != exactness.as_bytes([second])

    nans, zeros = np.uint32([0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFC12345]), np.float32([0, 0, 0, 0])
    assert len(set(nans.tolist())) == 4 and np.isnan(nans.view(np.float32)).all()
    assert not differ(nans.view(np.float32), nans[::-1].view(np.float32))
    assert differ(nans, nans[::-1]) and differ(nans.view(np.int32), nans[::-1].view(np.int32))  # integers of the same bits
    assert not differ(np.uint16([0x7E00]).view(np.float16), np.uint16([0xFE01]).view(np.float16))
    assert differ(zeros, -zeros) and differ(nans.view(np.float32), zeros) and differ(np.float32([np.inf]), np.float32([-np.inf]))
    data = b"".join(array.tobytes() for array in (nans, zeros, nans[::-1], -zeros))  # as a file of two feeds
    first, second = exactness.split_outputs(data, [nans.view(np.float32), zeros])
    assert first[:16] == second[:16] and first[16:] != second[16:] and len(first) == len(second) == 32
    assert np.isnan(nans.view(np.float32)).all() and nans[3] == 0xFFC12345  # the outputs themselves stay


def test_random_inputs_are_seeded_and_go_beyond_the_range():
    feeds = [{"x": np.float32([[0, 1, 2]])}, {"x": np.float32([[3, 4, 5]])}]
    first, second = (exactness.make_random_feeds(feeds, 40) for _ in range(2))
    assert all(np.array_equal(a["x"], b["x"]) for a, b in zip(first, second))
    inside, outside = (np.concatenate([f["x"] for f in first[i::2]]) for i in (0, 1))
    assert inside.min() >= 0 and inside.max() <= 5 and inside.dtype == np.float32
    assert outside.min() < -1 and outside.max() > 6


def test_few_inputs_are_of_both_kinds():
    assert exactness.choose(range(10), 4, 4) == [0, 1, 6, 7]
    assert exactness.choose(range(3), 2, 10) == [0, 1, 2]
    assert exactness.choose(range(6), 0, 4) == [0, 1]


@pytest.fixture(scope="session")
def machines(tmp_path_factory):
    return exactness.Machines(tmp_path_factory.mktemp("machines"))


# Backends of engines whose activations are signed: bounds within a byte, sums behind products.
ENGINES = [("qnnpack", "qnnpack_symmetric_mapping"), ("tensorrt", "tensorrt_default_mapping")]
CASES = [*((name, "cpu", None) for name in networks.BARS), ("mlperf_resnet8_cifar10", *ENGINES[0]), ("mlperf_resnet8_cifar10", *ENGINES[1]),
         ("mlperf_kws_dscnn", *ENGINES[1]), ("mobilenet_v1_025_224_imagenet", *ENGINES[0])]


@pytest.mark.slow
@pytest.mark.parametrize("name, backend, mapping", CASES)
def test_same_bytes_everywhere(name, backend, mapping, machines):
    octet = pytest.importorskip("octet")
    if networks.load_evaluate() is None:
        pytest.skip(f"the networks are not here ({networks.SHARED}/models; set OCTET_SHARED)")
    for module in ("onnxruntime", "cv2"):
        pytest.importorskip(module, reason="evaluate.py needs it")
    # QEMU and emulated instructions need minutes for what takes these two 10 ms and more.
    is_large = name in ("super_resolution_10", "yolox_nano")
    options = SimpleNamespace(backend=backend, qconfig_mapping=mapping, samples=3, random=2, few=2, arm=1 if is_large else 2,
                              emulated=1 if is_large else 2)
    cells, good, levels = exactness.check_network(octet, networks.get_tasks([name])[0], options, machines)
    assert good, cells
    assert {"sse2", "reference"} <= set(levels)
    expected = {f"{level}/{threads}" for level in levels for threads in (1, 2)} | {"numpy"}
    if machines.arm_driver:
        expected |= {level for level, _ in exactness.ARM_RUNS}
    expected |= {f"{level}/1" for level in machines.emulated}
    assert set(cells) == expected


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    octet = pytest.importorskip("octet")
    folder = exactness.ROOT / "test" / "Inputs" / "digits"
    samples = np.load(folder / "calibration.npz")
    model = octet.compile(folder / "digits.onnx", calibration_data=dict(samples), cpu_level=exactness.X86_LEVELS)
    model.save(path := tmp_path_factory.mktemp("digits") / "digits.so")
    feeds = [{name: samples[name][i : i + 1] for name in samples} for i in range(4)]
    expected = exactness.run_model(octet.load(path, cpu_level="reference"), feeds)
    assert len(set(expected)) == 4
    return model, path, feeds, expected


def test_the_compiler_lists_as_running_here_what_the_runtime_finds(digits):
    model, *_ = digits
    here = [level.name for level in exactness.levels.read_levels() if level.runs_here]
    assert exactness.get_levels_here(model) == [level for level in exactness.X86_LEVELS if level in here]


@pytest.mark.parametrize("level", [level for level in exactness.X86_LEVELS if level != "reference"])
def test_level_gives_the_bytes_of_the_reference(level, digits):
    octet = pytest.importorskip("octet")
    model, path, feeds, expected = digits
    if level not in exactness.get_levels_here(model):
        pytest.skip(f"this CPU cannot run {level}")
    assert exactness.run_model(octet.load(path, cpu_level=level), feeds) == expected


@pytest.mark.parametrize("level", exactness.EMULATED)
def test_emulated_vnni_gives_the_bytes_of_the_reference(level, tmp_path, digits):
    octet = pytest.importorskip("octet")
    if reason := exactness.why_no_emulation(level):
        pytest.skip(f"VNNI is not emulated: {reason}")
    _, path, feeds, expected = digits
    assert exactness.run_emulated(octet, exactness.build_emulator(tmp_path), path, level, feeds) == expected


DEPTHWISE = """
a = Conv(x, w, b)
p = Conv<group=N, pads=[1,1,1,1], strides=[2,2]>(a, w3, b)
q = Conv<group=N, pads=[2,0,2,1], strides=[1,2], dilations=[2,1]>(a, w3)
r = Conv<group=N, strides=[2,1]>(a, w3, b)
s = Conv<group=N, pads=[2,2,2,2], strides=[2,2]>(a, w5, b)
t = Sigmoid(s)
u = Mul(s, t)
d = Conv<group=N, strides=[2,2], dilations=[1,3]>(a, w3)
"""
DEPTHWISE_ROWS = """
a = Conv(x, w, b)
c = Relu(a)
p = Conv<group=N, pads=[1,1,1,1]>(c, w3, b)
q = Conv<group=N, pads=[0,1,1,1]>(p, w3)
e = Conv<group=N, pads=[0,1,0,1]>(q, w13)
r = Conv<group=N, pads=[1,1,1,0]>(e, w32, b)
u = Conv<group=N, pads=[1,1,1,0], strides=[1,2]>(r, w31)
d = Conv<group=N, pads=[1,1,1,1], strides=[1,2]>(p, w3, b)
"""
DENSE = """
a = Conv(x, w, b)
p = Conv<pads=[1,1,1,1], strides=[2,2]>(a, w3, b)
q = Conv<pads=[1,1,1,1]>(p, w3, b)
v = Conv<pads=[1,1,1,1]>(p, w3)
r = Add(q, v)
s = Conv<pads=[2,2,2,2], strides=[1,2]>(a, w5, b)
t = Sigmoid(s)
u = Mul(s, t)
d = Conv(u, w1)
"""

SQUARES = """
a = Conv(x, w, b)
c = Conv<pads=[1,1,1,1]>(a, w3, b)
e = Conv<pads=[0,1,1,0]>(c, w3)
s = Conv<pads=[1,1,1,1]>(e, w3, b)
p = Add(e, s)
q = Conv<pads=[1,1,1,1], strides=[2,2]>(p, w3, b)
r = Conv<pads=[2,1,2,1], strides=[2,1], dilations=[2,1]>(a, w3, b)
t = Conv<pads=[0,1,0,1]>(p, w13)
u = Conv<pads=[1,0,0,0]>(t, w31, b)
d = Conv<strides=[1,2]>(p, w39, b9)
"""


@pytest.mark.parametrize("nodes, channels", [(DEPTHWISE, 2), (DEPTHWISE, 4), (DEPTHWISE, 8), (DEPTHWISE, 16), (DEPTHWISE, 32),
                                             (SQUARES, 16), (SQUARES, 20), (SQUARES, 36), (SQUARES, 72), (DEPTHWISE, 48), (DEPTHWISE, 88), (DEPTHWISE, 100), (DENSE, 1), (DENSE, 2), (DENSE, 3), (DENSE, 4), (DENSE, 8), (DENSE, 12)])
def test_channels_that_do_not_fill_vectors(nodes, channels, machines, tmp_path):
    """Vectors run over pixels or overlap: all strides, dilations, two images, residuals, SiLU, integer and f32 results."""
    octet = pytest.importorskip("octet")
    rng = np.random.default_rng(channels)
    depth = 1 if nodes is DEPTHWISE else channels
    shapes = {"w": (channels, 3, 1, 1), "w1": (channels, depth, 1, 1), "w3": (channels, depth, 3, 3), "w5": (channels, depth, 5, 5),
              "w13": (channels, depth, 1, 3), "w31": (channels, depth, 3, 1), "w39": (9, depth, 3, 3), "b": (channels,), "b9": (9,)}
    network = make_network(nodes.replace("N", str(channels)), inputs={"x": [2, 3, 11, 43]}, outputs="pqrud", constants=shapes)
    samples = rng.normal(size=(4, 2, 3, 11, 43)).astype(np.float32)
    model = octet.compile(network.SerializeToString(), calibration_data={"x": samples}, cpu_level=exactness.X86_LEVELS)
    model.save(path := tmp_path / "few.so")
    feeds = [{"x": sample} for sample in samples[:2]]
    expected = exactness.run_model(octet.load(path, cpu_level="reference"), feeds)
    assert len(set(expected)) == 2
    for level in exactness.get_levels_here(model):
        for threads in (1, 3):
            assert exactness.run_model(octet.load(path, cpu_level=level, threads=threads), feeds) == expected, (level, threads)
    if channels <= 8:  # a trap for each instruction
        for level in exactness.list_emulated():
            emulator = exactness.build_emulator(tmp_path)
            assert exactness.run_emulated(octet, emulator, path, level, feeds[:1]) == expected[:1], level


BEYOND = """
a = Conv(x, w, b)
c = Relu(a)
p = Conv<pads=[12,12,12,12], dilations=[12,12]>(c, w3, b)
q = Conv<pads=[4,0,6,3], strides=[2,1], dilations=[5,2]>(c, w3)
r = Conv<pads=[20,17,1,0], dilations=[3,7]>(c, w3, b)
s = Conv<pads=[1,1,1,1]>(c, w3, b)
t = Transpose<perm=[0,1,3,2]>(c)
u = Conv<pads=[30,0,30,0], dilations=[30,1]>(t, w31, b)
d = Conv<group=2, pads=[9,9,9,9], dilations=[9,9]>(c, wg)
e = Conv<pads=[12,12,12,12], dilations=[12,12]>(a, w3, b)
f = Conv<pads=[4,0,6,3], strides=[2,1], dilations=[5,2]>(a, w3)
g = Conv<group=2, pads=[1,1,1,1], strides=[2,1]>(a, wg)
h = Conv<group=4, pads=[2,2,2,2]>(a, w5)
i = Conv<pads=[3,1,1,3]>(f, w4)
j = Conv<pads=[2,0,2,0]>(i, w6)
"""


@pytest.mark.parametrize("is_float", [False, True])
def test_taps_beyond_the_input_are_left_out(is_float, tmp_path):
    """Dilated kernels, of which few rows and columns or none have input, beside the loops of the reference."""
    octet = pytest.importorskip("octet")
    shapes = {"w": (24, 3, 1, 1), "w3": (24, 24, 3, 3), "w31": (24, 24, 3, 1), "wg": (48, 12, 3, 3), "w5": (24, 6, 5, 5), "w4": (4, 24, 3, 3), "w6": (20, 4, 3, 3), "b": (24,)}
    network = make_network(BEYOND, inputs={"x": [2, 3, 11, 43]}, outputs="pqrsudeghj", constants=shapes)
    samples = np.random.default_rng(3).normal(size=(4, 2, 3, 11, 43)).astype(np.float32)
    calibration = {} if is_float else {"calibration_data": {"x": samples}}
    octet.compile(network.SerializeToString(), cpu_level=exactness.X86_LEVELS, **calibration).save(path := tmp_path / "beyond.so")
    feeds = [{"x": sample} for sample in samples[:2]]
    expected = exactness.run_model(octet.load(path, cpu_level="reference"), feeds)
    for level in exactness.get_levels_here(octet.load(path)):
        for threads in (1, 3):
            assert exactness.run_model(octet.load(path, cpu_level=level, threads=threads), feeds) == expected, (level, threads)


def test_aarch64_can_be_checked(unbuilt):
    if reason := exactness.why_no_arm():
        unbuilt(f"AArch64 libraries are not run: {reason}")
    assert exactness.SYSROOT.is_dir()


@pytest.mark.parametrize("least", [-128, -127])
def test_extreme_bytes_on_aarch64(least, machines, tool, tmp_path):
    """Inputs of 0 and 255 by the least weights: the largest sums that a product's steps can have."""
    if reason := exactness.why_no_arm():
        pytest.skip(reason)
    value, weights = "!quant.uniform<u8:f32, 5.0e-1:0>", "!quant.uniform<i8:f32, 5.0e-1>"
    result = "!quant.uniform<u8:f32, 2.0e+3:200>"
    (tmp_path / "net.mlir").write_text(f"""
func.func @main(%x: tensor<8x48x{value}> {{nn.name = "x"}}) -> (tensor<8x20x{result}> {{nn.name = "y"}}) {{
  %w = nn.constant dense<{least}> : tensor<20x48xi8> -> tensor<20x48x{weights}>
  %0 = nn.linear %x, %w : (tensor<8x48x{value}>, tensor<20x48x{weights}>) -> tensor<8x20x{result}>
  return %0 : tensor<8x20x{result}>
}}
""")
    inputs = np.random.default_rng(-least).choice(np.uint8([0, 255]), (8, 48))
    inputs[0], inputs[1] = 0, 255
    sums = least * inputs.astype(np.int64).sum(axis=1)
    rounded = np.rint(np.float32(sums) * np.float32(0.25 / 2000)) + 200  # [N.requantize]
    expected = np.repeat(np.clip(rounded, 0, 255).astype(np.uint8)[:, None], 20, axis=1)
    assert len(np.unique(expected)) > 4
    library = tmp_path / "net.so"
    tool("octet-compile", tmp_path / "net.mlir", f"--target={exactness.ARM_TARGET}", f"--cpu-level={exactness.ARM_LEVELS}", "-o", library)
    for level, cpu in exactness.ARM_RUNS:
        got = exactness.run_arm(machines.arm_driver, library, level, cpu, 1, ["x"], [{"x": inputs}], [expected], tmp_path)
        assert np.array_equal(np.frombuffer(got[0], np.uint8).reshape(8, 20), expected), level


@pytest.mark.parametrize("scale", [16.0, 2.0e6, 1.0e-18])
def test_large_biases_on_aarch64(scale, machines, tool, tmp_path):
    """Sums that are the bits of floats, channels that are one bound whatever the input, sums that are too large for that, and products that are."""
    if reason := exactness.why_no_arm():
        pytest.skip(reason)
    value, weights = "!quant.uniform<u8:f32, 5.0e-1:3>", "!quant.uniform<i8:f32, 5.0e-1>"
    result = f"!quant.uniform<u8:f32, {scale:e}:100>"
    rng = np.random.default_rng(7)
    filters = rng.integers(-3, 4, (20, 48))
    bias = np.array([0, 2 ** 30, -2 ** 30, 5_000_000, -5_000_000, 30_000, -30_000, 4_100_000, -4_100_000, 1] * 2)
    (tmp_path / "net.mlir").write_text(f"""
func.func @main(%x: tensor<8x48x{value}> {{nn.name = "x"}}) -> (tensor<8x20x{result}> {{nn.name = "y"}}) {{
  %w = nn.constant dense<{filters.tolist()}> : tensor<20x48xi8> -> tensor<20x48x{weights}>
  %b = nn.constant dense<{bias.tolist()}> : tensor<20xi32> -> tensor<20x!quant.uniform<i32:f32, 2.5e-1>>
  %0 = nn.linear %x, %w, %b : (tensor<8x48x{value}>, tensor<20x48x{weights}>, tensor<20x!quant.uniform<i32:f32, 2.5e-1>>) -> tensor<8x20x{result}>
  return %0 : tensor<8x20x{result}>
}}
""")
    inputs = rng.integers(0, 256, (8, 48)).astype(np.uint8)
    sums = (inputs.astype(np.int64) - 3) @ filters.T + bias
    rounded = np.rint(np.float32(sums) * np.float32(np.float32(0.25) / np.float32(scale))) + 100  # [N.requantize]
    expected = np.clip(rounded, 0, 255).astype(np.uint8)
    assert len(np.unique(expected)) > (4 if scale > 1 else 1)
    library = tmp_path / "net.so"
    tool("octet-compile", tmp_path / "net.mlir", f"--target={exactness.ARM_TARGET}", f"--cpu-level={exactness.ARM_LEVELS}", "-o", library)
    for level, cpu in exactness.ARM_RUNS:
        got = exactness.run_arm(machines.arm_driver, library, level, cpu, 1, ["x"], [{"x": inputs}], [expected], tmp_path)
        assert np.array_equal(np.frombuffer(got[0], np.uint8).reshape(8, 20), expected), level


@pytest.mark.parametrize("nodes, channels", [(DEPTHWISE, 2), (DEPTHWISE, 4), (DEPTHWISE, 8), (DEPTHWISE, 16), (DEPTHWISE, 32), (DEPTHWISE, 88),
                                             (DEPTHWISE_ROWS, 8), (DEPTHWISE_ROWS, 24), (DEPTHWISE_ROWS, 48),
                                             (DENSE, 1), (DENSE, 2), (DENSE, 3), (DENSE, 4), (DENSE, 8), (DENSE, 12), (DENSE, 40)])
def test_few_channels_on_aarch64(nodes, channels, machines, tool, tmp_path):
    """The networks of test_channels_that_do_not_fill_vectors: loads that pixels share, flat rows, overlapping blocks."""
    octet = pytest.importorskip("octet")
    if reason := exactness.why_no_arm():
        pytest.skip(reason)
    rng = np.random.default_rng(channels)
    depth = channels if nodes is DENSE else 1
    shapes = {"w": (channels, 3, 1, 1), "w1": (channels, depth, 1, 1), "w3": (channels, depth, 3, 3), "w5": (channels, depth, 5, 5),
              "w13": (channels, depth, 1, 3), "w31": (channels, depth, 3, 1), "w32": (channels, depth, 3, 2), "b": (channels,)}
    network = make_network(nodes.replace("N", str(channels)), inputs={"x": [1, 3, 11, 43]}, outputs="pqrud", constants=shapes)
    samples = rng.normal(size=(4, 1, 3, 11, 43)).astype(np.float32)
    quantized = octet.quantize(network.SerializeToString(), calibration_data={"x": samples})
    program = tmp_path / "net.mlirbc"
    program.write_bytes(quantized._bytecode)
    tool("octet-compile", program, "--cpu-level=reference", "-o", tmp_path / "x86.so")
    tool("octet-compile", program, f"--target={exactness.ARM_TARGET}", f"--cpu-level={exactness.ARM_LEVELS}", "-o", tmp_path / "arm.so")
    feeds = [{"x": samples[0]}]
    expected = exactness.run_model(octet.load(tmp_path / "x86.so"), feeds)
    for level, cpu in exactness.ARM_RUNS:
        got = exactness.run_arm(machines.arm_driver, tmp_path / "arm.so", level, cpu, 1, ["x"], feeds, octet.load(tmp_path / "x86.so").outputs, tmp_path)
        assert got == expected, level


@pytest.mark.parametrize("zero", [121, 0, 255])
@pytest.mark.parametrize("reader", ["", "nn.conv"])
def test_inputs_are_clamped_on_aarch64(reader, zero, machines, tool, tmp_path):
    """Halves and what is next to them, infinities and NaN: rows of pixels, and planes that become bytes side by side for a convolution."""
    if reason := exactness.why_no_arm():
        pytest.skip(reason)
    scale, shape = np.float32(0.02), (1, 3, 17, 16)
    halves = ((np.arange(-4, 262) - 0.5 - zero) * np.float64(scale)).astype(np.float32)
    x = np.concatenate([np.float32([np.nan, -np.nan, np.inf, -np.inf, 3e38, -3e38, 1e-45, -0.0]), halves, np.nextafter(halves, np.float32(0)),
                        np.nextafter(halves, np.copysign(np.float32(np.inf), halves))])
    x.view(np.uint32)[1] = 0xFFC12345  # a NaN with other bits
    x = np.resize(x, shape)
    with np.errstate(over="ignore"):
        quotients = x / scale
    number = np.clip(np.where(np.isnan(quotients), 0, quotients), 0 - zero, 255 - zero)  # [N.quantize]
    expected = (np.rint(number) + zero).astype(np.uint8)
    value = f"tensor<1x3x17x16x!quant.uniform<u8:f32, {scale}:{zero}>>"
    weights = "tensor<3x3x1x1x!quant.uniform<i8:f32, 1.0>>"
    copy = f"""
  %w = nn.constant dense<{np.eye(3, dtype=int)[:, :, None, None].tolist()}> : tensor<3x3x1x1xi8> -> {weights}
  %1 = {reader} %0, %w : ({value}, {weights}) -> {value}""" if reader else ""
    (tmp_path / "net.mlir").write_text(f"""
func.func @main(%x: tensor<1x3x17x16xf32> {{nn.name = "x"}}) -> ({value} {{nn.name = "y"}}) {{
  %0 = octet.quantize %x : (tensor<1x3x17x16xf32>) -> {value}{copy}
  return %{1 if reader else 0} : {value}
}}
""")
    library = tmp_path / "net.so"
    tool("octet-compile", tmp_path / "net.mlir", f"--target={exactness.ARM_TARGET}", f"--cpu-level={exactness.ARM_LEVELS}", "-o", library)
    for level, cpu in exactness.ARM_RUNS:
        got = exactness.run_arm(machines.arm_driver, library, level, cpu, 1, ["x"], [{"x": x}], [expected], tmp_path)
        assert np.array_equal(np.frombuffer(got[0], np.uint8).reshape(shape), expected), level
