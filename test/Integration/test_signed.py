# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A backend with signed activations: what it quantizes, computes and weighs is what the CPU backend with unsigned ones does."""
import re
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools" / "bench"), str(ROOT / "test" / "Integration"), str(ROOT / "test" / "Python")]
import networks  # noqa: E402
from exactness import X86_LEVELS, get_levels_here, run_model  # noqa: E402
from onnx_networks import make_network  # noqa: E402

octet = pytest.importorskip("octet")
POLICIES = ROOT / "lib" / "Backend" / "backends"


def make_signed(text):
    """A backend or mapping with si8 for ui8: ranges and zero points are less by 128."""
    text = re.sub(r"zero_point = (\d+)", lambda match: f"zero_point = {int(match[1]) - 128}", text)
    return text.replace("ui8", "si8").replace("range [0, 255]", "range [-128, 127]")


@pytest.fixture(scope="module")
def signed(tmp_path_factory):
    """The options that choose the signed copy of the CPU backend and its mapping."""
    folder, options = tmp_path_factory.mktemp("signed"), {}
    for option, name in ("backend", "cpu"), ("qconfig_mapping", "cpu_default_mapping"):
        text = make_signed((POLICIES / f"{name}.mlir").read_text(encoding="utf-8"))
        assert "si8" in text and "ui8" not in text
        (folder / f"{name}.mlir").write_text(text, encoding="utf-8")
        options[option] = str(folder / f"{name}.mlir")
    return options


def read_digits():
    """(ONNX file, samples, options, inputs to compare on)"""
    folder = ROOT / "test" / "Inputs" / "digits"
    samples = dict(np.load(folder / "calibration.npz"))
    return folder / "digits.onnx", samples, {}, [{name: samples[name][i : i + 1] for name in samples} for i in range(8)]


def read_image():
    """The same of rows of sixteen pixels, which are quantized four channels at a time, also where biases are corrected."""
    network = make_network("a = Conv<pads=[1,1,1,1]>(x, w, b)\ny = Relu(a)", inputs={"x": [1, 3, 16, 16]}, outputs="y",
                           constants={"w": (16, 3, 3, 3), "b": (16,)}).SerializeToString()
    samples = np.random.default_rng(2).normal(size=(8, 1, 3, 16, 16)).astype(np.float32)
    return network, {"x": samples}, {}, [{"x": sample} for sample in samples]


def read_task(name):
    """The same of a shared network, with evaluation samples: equal outputs are equally accurate."""
    if networks.load_evaluate() is None:
        pytest.skip(f"the networks are not here ({networks.SHARED}/models; set OCTET_SHARED)")
    for module in ("onnxruntime", "cv2"):
        pytest.importorskip(module, reason="evaluate.py needs it")
    task = networks.get_tasks([name])[0]
    shapes = {"input_shapes": networks.get_input_shapes(task)}
    return task.onnx, networks.as_arrays(task.calib()), shapes, [task.feed(i) for i in task._evals[:50]]


SHARED = ["mlperf_resnet8_cifar10", "mlperf_kws_dscnn", "mobilenet_v1_025_224_imagenet"]


@pytest.mark.parametrize("name", ["digits", "image", *(pytest.param(name, marks=pytest.mark.slow) for name in SHARED)])
def test_same_library(name, signed, tmp_path):
    """Byte for byte, code, weights and report: so it is as accurate and as fast."""
    own = {"digits": read_digits, "image": read_image}
    onnx, samples, options, feeds = own[name]() if name in own else read_task(name)
    unsigned, other = (octet.compile(onnx, calibration_data=samples, **options, **policy) for policy in ({}, signed))
    assert other.report.int8_share >= 0.99 and not other.report.refused
    path, other_path = tmp_path / "unsigned.so", tmp_path / "signed.so"
    unsigned.save(path)
    other.save(other_path)
    assert other_path.read_bytes() == path.read_bytes()
    assert len(set(run_model(other, feeds))) > 1


@pytest.mark.parametrize("channels, size", [(3, 3), (8, 16)])
def test_bytes_of_the_caller_keep_their_sign(signed, tmp_path, channels, size):
    """Tables behind the inputs and in front of the outputs flip it, at every level: in vectors where there are enough bytes."""
    constants = {"w": (channels, channels, 3, 3), "b": (channels,)}
    network = make_network("a = Conv<pads=[1,1,1,1]>(x, w, b)\ny = Sigmoid(a)", inputs={"x": [1, channels, size, size]}, outputs="y",
                           constants=constants).SerializeToString()
    samples = np.random.default_rng(1).normal(size=(4, 1, channels, size, size)).astype(np.float32)
    models = []
    for policy in {}, signed:
        path = tmp_path / f"{len(models)}.so"
        octet.compile(network, calibration_data={"x": samples}, quantized_io=True, cpu_level=X86_LEVELS, **policy).save(path)
        models.append({level: octet.load(path, cpu_level=level) for level in get_levels_here(octet.load(path))})
    for level, unsigned in models[0].items():
        other = models[1][level]
        for here, there in zip([*unsigned.inputs, *unsigned.outputs], [*other.inputs, *other.outputs]):
            assert (here.dtype, there.dtype) == (np.uint8, np.int8)
            assert (there.scale, there.zero_point) == (here.scale, here.zero_point - 128)
        [x] = unsigned.inputs
        given = [np.clip(np.rint(sample / np.float32(x.scale)) + x.zero_point, 0, 255).astype(np.uint8) for sample in samples]
        expected = run_model(unsigned, [{x.name: q} for q in given])
        got = run_model(other, [{x.name: (q ^ 0x80).view(np.int8)} for q in given])
        assert [bytes(byte ^ 0x80 for byte in output) for output in got] == expected, level
        assert len(set(expected)) > 1
