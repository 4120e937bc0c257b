# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NonMaxSuppression chooses the boxes that onnxruntime chooses, in its order; rows behind the last one are -1."""

import numpy as np
import pytest

octet = pytest.importorskip("octet")
onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
import quantized_networks  # noqa: E402
from importing import expect_error  # noqa: E402
from test_import_numerics import f32, i64  # noqa: E402

pytestmark = [pytest.mark.usefixtures("compiler"), pytest.mark.filterwarnings("ignore::octet.CompileWarning")]
CONSTANTS = {"most": i64(7), "all": i64(100), "iou": f32(0.4), "least": f32(0.3), "nothing": f32(2), "zero": i64(0), "two": i64(1, 2), "pair": f32(0, 1)}


def make(line, images=2, classes=3, boxes=40, opset=11):
    return make_network(line, opset=opset, inputs={"b": [images, boxes, 4], "s": [images, classes, boxes]}, constants=CONSTANTS)


def make_network(line, **arguments):
    """The chosen boxes `y` are integers."""
    return quantized_networks.make(line, types={"y": onnx.TensorProto.INT64}, **arguments)


def draw(model, seed, are_centres=False):
    """Boxes that overlap; of some the corners are exchanged, some are twice there, scores are equal now and then."""
    random = np.random.default_rng(seed)
    shapes = {value.name: [size.dim_value for size in value.type.tensor_type.shape.dim] for value in model.graph.input}
    places, sizes = random.uniform(0, 4, (*shapes["b"][:2], 2)), random.uniform(0.5, 2, (*shapes["b"][:2], 2))
    boxes = np.concatenate([places, sizes] if are_centres else [places, places + sizes], 2)
    if not are_centres:
        boxes[:, ::5] = boxes[:, ::5, [2, 3, 0, 1]]
    boxes[:, 3::7] = boxes[:, 2:-1:7][:, : boxes[:, 3::7].shape[1]]
    return {"b": boxes.astype(np.float32), "s": np.round(random.uniform(0, 1, shapes["s"]), 1).astype(np.float32)}


# name: node, arguments of `make`
CASES = {
    "limited": ("y = NonMaxSuppression(b, s, most, iou, least)", {}),
    "as_many_as_there_are": ("y = NonMaxSuppression(b, s, all, iou)", {}),
    "one_class": ("y = NonMaxSuppression(b, s, most, iou, least)", dict(images=1, classes=1)),
    "any_overlap": ("y = NonMaxSuppression(b, s, most)", {}),
    "centres": ("y = NonMaxSuppression<center_point_box=1>(b, s, most, iou, least)", {}),
    "no_box": ("y = NonMaxSuppression(b, s, most, iou, nothing)", {}),
    "one_box": ("y = NonMaxSuppression(b, s, most, iou)", dict(boxes=1)),
    "opset_10": ("y = NonMaxSuppression(b, s, most, iou)", dict(opset=10)),
}


@pytest.mark.parametrize("name", CASES)
def test_boxes_of_onnxruntime(name):
    line, arguments = CASES[name]
    model = make(line, **arguments)
    session, compiled = quantized_networks.open_onnxruntime(model), octet.compile(model.SerializeToString())
    for seed in range(3):
        feed = draw(model, seed, "center" in line)
        wanted, got = session.run(None, feed)[0], np.asarray(compiled.run(feed)["y"])
        np.testing.assert_array_equal(got[: len(wanted)], wanted)
        assert got.dtype == np.int64 and (got[len(wanted):] == -1).all()
        assert len(got) == np.prod(feed["s"].shape[:2]) * min(100 if "all" in line else 7, feed["s"].shape[2])


def test_number_of_rows_is_said():
    with pytest.warns(octet.CompileWarning, match="NonMaxSuppression gives 42 rows whatever the data; those behind the last box are -1"):
        octet.compile(make(CASES["limited"][0]).SerializeToString())


HEAD = """c = Conv(x, w, v)
r = Reshape(c, rows)
p, q = Split<axis=1>(r, parts)
boxes = Transpose<perm=[0,2,1]>(p)
scores = Sigmoid(q)
y = NonMaxSuppression(boxes, scores, most, iou)"""


def test_boxes_of_a_quantized_head():
    """Coordinates are compared as floats: the boxes are those that onnxruntime chooses of the same coordinates and scores."""
    constants = {**CONSTANTS, "w": (6, 3, 3, 3), "v": (6,), "rows": i64(1, 6, 36), "parts": i64(4, 2)}
    model = make_network(HEAD, opset=13, inputs={"x": [1, 3, 8, 8]}, constants=constants, outputs=("boxes", "scores", "y"))
    samples = {"x": np.random.default_rng(0).standard_normal((8, 1, 3, 8, 8)).astype(np.float32)}
    compiled = octet.compile(model.SerializeToString(), calibration_data=samples)
    assert [row.verdict for row in compiled.report if row.macs] == ["int8 to float"]
    session = quantized_networks.open_onnxruntime(make(CASES["limited"][0].replace(", least", ""), images=1, classes=2, boxes=36))
    for x in samples["x"]:
        got = compiled.run({"x": x})
        wanted = session.run(None, {"b": got["boxes"], "s": got["scores"]})[0]
        np.testing.assert_array_equal(np.asarray(got["y"])[: len(wanted)], wanted)


@pytest.mark.parametrize("line, message", [
    ("y = NonMaxSuppression(s, b, most)", "has boxes of shape 2x3x40 and scores of shape 2x40x4"),
    ("y = NonMaxSuppression(b, s)", "a result without elements (max_output_boxes_per_class is not positive)"),
    ("y = NonMaxSuppression(b, s, zero)", "a result without elements (max_output_boxes_per_class is not positive)"),
    ("y = NonMaxSuppression(b, s, two)", "has 2 numbers of boxes; expected one"),
    ("y = NonMaxSuppression(b, s, most, pair)", "has thresholds of shape 2"),
    ("y = NonMaxSuppression(b, s, most, iou, pair)", "has thresholds of shape 2"),
])
def test_nonsense(tmp_path, line, message):
    expect_error(tmp_path, make(line), message)


def test_too_many_choices(tmp_path):
    expect_error(tmp_path, make_network("y = NonMaxSuppression(b, s, n)", opset=11, inputs={"b": [1, 1025, 4], "s": [1, 1, 1025]},
                                        constants={"n": i64(1025)}), "1025 boxes of a class (at most 1024)")


def test_number_of_boxes_of_an_input(tmp_path):
    model = make_network("y = NonMaxSuppression(b, s, n)", opset=11, inputs={"b": [1, 9, 4], "s": [1, 1, 9], "n": [1]})
    model.graph.input[2].type.tensor_type.elem_type = onnx.TensorProto.INT64
    expect_error(tmp_path, model, "a number of boxes computed at run time")
