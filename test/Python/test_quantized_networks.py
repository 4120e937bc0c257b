# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks of some dozens of layers that are quantized in their file, from end to end, integer for integer beside onnxruntime."""

import numpy as np
import pytest

octet = pytest.importorskip("octet")
onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
from deep_networks import make_inverted, make_mixer, make_residual, make_u_net, write_trained  # noqa: E402
from onnx import helper  # noqa: E402
from quantized_networks import I8, U8, compare, make, make_feed, open_onnxruntime  # noqa: E402
from test_quantized_files import FORMS, compare_layers, list_integers, quantize_by_onnxruntime  # noqa: E402

pytestmark = [pytest.mark.usefixtures("compiler"), pytest.mark.filterwarnings("ignore::octet.CompileWarning")]


def by_onnxruntime(network, form):
    return lambda folder: quantize_by_onnxruntime(network(), folder, **FORMS[form])


# Static files of onnxruntime in both forms, and those of quantization-aware training: PyTorch's pairs on float weights, Brevitas'
# Q, Clip and DQ of 4 bits.
MAKERS = {
    "residual, QDQ": by_onnxruntime(make_residual, "qdq"),
    "residual, operators": by_onnxruntime(make_residual, "operators"),
    "residual, trained": lambda _: write_trained(make_residual()),
    "inverted, QDQ per channel": by_onnxruntime(make_inverted, "qdq_i8_per_channel"),
    "inverted, operators": by_onnxruntime(make_inverted, "operators"),
    "inverted, trained, 4 bits": lambda _: write_trained(make_inverted(), bits=4, clips=True),
    "u_net, QDQ": by_onnxruntime(make_u_net, "qdq"),
    "u_net, QDQ per channel": by_onnxruntime(make_u_net, "qdq_i8_per_channel"),
    "u_net, trained": lambda _: write_trained(make_u_net()),
    "u_net, trained, 4 bits": lambda _: write_trained(make_u_net(), bits=4, clips=True),
    "mixer, QDQ per channel": by_onnxruntime(make_mixer, "qdq_i8_per_channel"),
}


def quantize_in_each_run(model, folder, weights, per_channel=False):
    from onnxruntime.quantization import QuantType, quantize_dynamic

    onnx.save(model, folder / "float.onnx")
    quantize_dynamic(folder / "float.onnx", folder / "dynamic.onnx", weight_type=QuantType[weights], per_channel=per_channel)
    return onnx.load(folder / "dynamic.onnx")


def expose_integers(model):
    """The network with every tensor of 8-bit integers as an output."""
    whole = onnx.ModelProto()
    whole.CopyFrom(model)
    whole.graph.output.extend(onnx.ValueInfoProto(name=name) for name in list_integers(model))
    session = open_onnxruntime(whole)
    results = session.run(None, make_feed(session, 0))
    del whole.graph.output[len(model.graph.output):]
    for value, array in list(zip(session.get_outputs(), results))[len(model.graph.output):]:
        if array.dtype in (np.uint8, np.int8):
            whole.graph.output.append(helper.make_tensor_value_info(value.name, U8 if array.dtype == np.uint8 else I8, array.shape))
    return whole


def compare_integers(model, runs=3):
    """How many integers of all layers differ from end to end, of how many, and the largest difference."""
    whole = expose_integers(model)
    session, compiled = open_onnxruntime(whole), octet.compile(whole.SerializeToString())
    different = total = largest = 0
    for seed in range(runs):
        feed = make_feed(session, seed)
        for wanted, got in zip(session.run(None, feed), compiled.run(feed).values()):
            if wanted.dtype != np.float32:
                steps = np.abs(np.asarray(got).astype(int) - wanted.astype(int))
                different, total, largest = different + np.count_nonzero(steps), total + steps.size, max(largest, steps.max())
    return different, total, largest


@pytest.mark.parametrize("name", MAKERS)
def test_from_end_to_end(name, tmp_path):
    """Without a tie in any layer, no integer differs from end to end; behind a tie, layers compute with another integer. Every
    multiply-add is one of integers."""
    model = MAKERS[name](tmp_path)
    ties, total, step = compare_layers(model)
    different, _, largest = compare_integers(model)
    print(f"{name}: {ties} ties of {total} integers; from end to end {different} differ, by {largest} at most")
    assert ties * 10000 <= total and step <= 1
    assert different * 50 <= total and largest <= 8 if ties else different == 0
    report = octet.compile(model.SerializeToString()).report
    assert {row.verdict for row in report if row.macs} <= {"int8", "int8 to float"}


@pytest.mark.parametrize("make_float", [make_mixer, make_residual, make_inverted, make_u_net])
@pytest.mark.parametrize("weights, per_channel", [("QInt8", False), ("QInt8", True), ("QUInt8", False)])
def test_quantized_in_each_run(make_float, weights, per_channel, tmp_path):
    """No result differs from onnxruntime's but by the mean of a pool, which has another order. Multiply-adds are those of integers, but of what the
    file has in float, and of depthwise convolutions whose weights are no signed bytes above their zero point."""
    model = quantize_in_each_run(make_float(), tmp_path, weights, per_channel)
    different, _, largest = compare(model)
    assert largest < 1e-5 if any(node.op_type == "GlobalAveragePool" for node in model.graph.node) else different == 0
    is_depthwise = lambda node: any(attribute.name == "group" and attribute.i > 1 for attribute in node.attribute)  # noqa: E731
    left_float = {node.name for node in model.graph.node if node.op_type == "ConvTranspose" or (weights == "QUInt8" and is_depthwise(node))}
    report = octet.compile(model.SerializeToString()).report
    assert {row.verdict for row in report if row.macs and row.name not in left_float} == {"int8 to float"}


def test_convolutions_over_sequences_are_quantized_in_each_run(tmp_path):
    model = make("a = Conv<kernel_shape=[3], pads=[1, 1], strides=[2]>(x, w, b)\nr = Relu(a)\ny = Conv<kernel_shape=[1]>(r, v, c)", inputs={"x": [2, 8, 30]},
                 constants={"w": (24, 8, 3), "b": (24,), "v": (5, 24, 1), "c": (5,)})
    model = quantize_in_each_run(model, tmp_path, "QInt8")
    different, _, largest = compare(model)
    assert different == 0, largest
    assert {row.verdict for row in octet.compile(model.SerializeToString()).report if row.macs} == {"int8 to float"}


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("weights, per_channel", [("QInt8", False), ("QInt8", True)])
def test_recurrent_layers_are_quantized_in_each_run(direction, weights, per_channel, tmp_path):
    """DynamicQuantizeLSTM, whose gates onnxruntime computes by other polynomials."""
    count = 2 if direction == "bidirectional" else 1
    model = make(f'y, h, c = LSTM<direction="{direction}", hidden_size=16>(x, w, r, b)', inputs={"x": [7, 2, 24]}, outputs=("y", "h", "c"),
                 constants={"w": (count, 64, 24), "r": (count, 64, 16), "b": (count, 128)})
    model = quantize_in_each_run(model, tmp_path, weights, per_channel)
    assert [node.op_type for node in model.graph.node] == ["DynamicQuantizeLSTM"]
    _, _, largest = compare(model)
    assert largest <= 2e-6
    assert {row.verdict for row in octet.compile(model.SerializeToString()).report if row.macs} == {"int8 to float"}


@pytest.mark.parametrize("direction, weights", [(None, "QInt8"), (None, "QUInt8"), ("forward", "QInt8"), ("bidirectional", "QInt8")])
def test_with_samples_they_are_quantized_once(direction, weights, tmp_path):
    """What such a file quantizes in each run has no range in it: it is what the float file is with the same samples, but for the weights, which keep their integers if these are
    signed bytes."""
    count = 2 if direction == "bidirectional" else 1
    lstm = f'y = LSTM<direction="{direction}", hidden_size=16>(x, w, r, b)'
    layers = "a = MatMul(x, u)\nc = Add(a, s)\nd = Relu(c)\ny = MatMul(d, v)"
    constants = {"w": (count, 64, 24), "r": (count, 64, 16), "b": (count, 128)} if direction else {"u": (24, 64), "s": (64,), "v": (64, 16)}
    model = make(lstm if direction else layers, inputs={"x": [40, 2, 24]}, constants=constants)
    session, dynamic = open_onnxruntime(model), quantize_in_each_run(model, tmp_path, weights)
    samples = {"x": np.stack([make_feed(session, seed)["x"] for seed in range(4)])}
    of_file, of_float = (octet.compile(network.SerializeToString(), calibration_data=samples) for network in (dynamic, model))
    assert {row.verdict for row in of_file.report if row.macs} == {row.verdict for row in of_float.report if row.macs}
    feed = make_feed(session, 9)
    wanted, once, plain = (np.asarray(list(run(feed).values())[0], np.float64) for run in (lambda feed: {"y": session.run(None, feed)[0]}, of_file.run, of_float.run))
    assert np.square(once - wanted).mean() < 2 * np.square(plain - wanted).mean()


@pytest.mark.parametrize("name", ["u_net, QDQ per channel", "mixer, in each run", "u_net, in each run"])
def test_levels_agree(name, tmp_path):
    model = MAKERS[name](tmp_path) if name in MAKERS else quantize_in_each_run(make_mixer() if name.startswith("mixer") else make_u_net(), tmp_path, "QUInt8")
    feed = make_feed(open_onnxruntime(model), 7)
    scalar = octet.compile(model.SerializeToString(), cpu_level="reference").run(feed)
    np.testing.assert_array_equal(octet.compile(model.SerializeToString()).run(feed)["y"], scalar["y"])
