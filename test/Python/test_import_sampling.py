# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that sample, transform and unfold mean what ONNX says: as test_import_numerics.py, and what is refused."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from importing import expect_error  # noqa: E402
from onnx_networks import make_network  # noqa: E402
from test_import_numerics import f32, i64, run, translate  # noqa: E402

VOLUME, SIGNAL = {"x": [2, 3, 5, 6, 4]}, {"x": [2, 40, 1]}
CROP = 'coordinate_transformation_mode="tf_crop_and_resize"'
BOXES = [0, 0, 7, 3], [2.4, 1.2, 3.1, 6.9], [6, 5, 9, 11]
PLACES = {"x": [2, 3, 5, 7], "g": [2, 4, 6, 2]}


def make_resize(attributes, scales=None, sizes=None, roi=None, **arguments):
    constants = {"s": f32(*(scales or ())), "n": i64(*(sizes or ())), "r": f32(*(roi or ()))}
    inputs = ["x", "r" if roi else "", "s" if scales else "", "n" if sizes else ""]
    while not inputs[-1]:
        inputs.pop()
    return f"y = Resize<{attributes}>({', '.join(inputs)})", dict(opset=19, constants=constants, **arguments)


# name: (nodes, arguments of make_network)
CASES = {
    "cubic": make_resize('mode="cubic", cubic_coeff_a=-0.5', scales=(1, 1, 1.7, 0.6)),
    "cubic_excluding_outside": make_resize('mode="cubic", exclude_outside=1', sizes=(1, 3, 13, 5)),
    "cubic_symmetric": make_resize('mode="cubic", coordinate_transformation_mode="half_pixel_symmetric"', scales=(1, 1, 2.3, 0.7)),
    "linear_of_two_dimensions": make_resize('mode="linear", coordinate_transformation_mode="align_corners"', sizes=(5, 11), inputs={"x": [3, 4]}),
    "linear_of_three_dimensions": make_resize('mode="linear"', scales=(1, 1, 2, 0.5, 1.5), inputs=VOLUME),
    "nearest_of_three_dimensions": make_resize('nearest_mode="ceil"', scales=(1, 1, 2, 0.5, 1.5), inputs=VOLUME),
    "nearest_of_any_dimensions": make_resize('coordinate_transformation_mode="asymmetric", nearest_mode="floor"', sizes=(4, 6, 3, 9)),
    "nearest_as_tensorflow": (
        'y = Resize<coordinate_transformation_mode="tf_half_pixel_for_nn", nearest_mode="floor">(x, r, s)', dict(opset=11, constants={"r": f32(), "s": f32(1, 1, 1.5, 0.5)})),
    "crop": make_resize(f'mode="linear", {CROP}, extrapolation_value=-3.0', sizes=(1, 3, 5, 1), roi=(0, 0, -0.2, 0.2, 1, 1, 0.9, 0.6)),
    "crop_by_factors": make_resize(f'mode="cubic", {CROP}', scales=(1, 1, 2.0, 1.0), roi=(0, 0, 0.25, 0.0, 1, 1, 0.75, 1.0)),
    **{f"crop_computed_{rows}_{columns}": (
        f'r = Concat<axis=0>(z, p, o, q)\na = Resize<mode="linear", {CROP}, extrapolation_value=-3.0>(x, r, , n)\nb = Resize<mode="linear", {CROP}>(x, r, s)\ny = Neg(a)',
        dict(opset=18, inputs={"x": [2, 3, 8, 9], "p": [2], "q": [2]}, outputs=("y", "b"),
             constants={"n": i64(2, 3, rows, columns), "s": f32(1, 1, 0.5, 2), "z": f32(0, 0), "o": f32(1, 1)})) for rows, columns in ((5, 12), (1, 10))},
    "crop_of_columns_computed": (f'y = Resize<mode="linear", {CROP}>(x, r, , n)', dict(opset=18, inputs={"x": [7, 9], "r": [4]}, constants={"n": i64(6, 5)})),
    "not_larger": make_resize('mode="linear", keep_aspect_ratio_policy="not_larger", axes=[3, 2]', sizes=(13, 10), inputs={"x": [1, 2, 7, 5]}),
    "not_smaller": make_resize('mode="nearest", keep_aspect_ratio_policy="not_smaller", axes=[2, 3]', sizes=(13, 10), inputs={"x": [1, 2, 7, 5]}),
    "upsampled_volume": ('y = Upsample<mode="linear">(x, s)', dict(opset=9, inputs={"x": [1, 2, 3, 4, 5]}, constants={"s": f32(1, 1, 2, 2, 2)})),
    **{f"grid_{mode}_{padding}_{corners}": (f'y = GridSample<mode="{mode}", padding_mode="{padding}", align_corners={corners}>(x, g)', dict(opset=20, inputs=PLACES))
       for mode in ("linear", "nearest", "cubic") for padding in ("zeros", "border", "reflection") for corners in (0, 1)},
    "grid_of_opset_16": ('y = GridSample<mode="bicubic">(x, g)', dict(opset=16, inputs=PLACES)),
    "grid_constant": ("y = GridSample(x, g)", dict(opset=16, constants={"g": (1, 3, 2, 2)})),
    "grid_of_three_dimensions": ('y = GridSample<padding_mode="reflection">(x, g)', dict(opset=20, inputs={**VOLUME, "g": [2, 3, 2, 4, 3]})),
    "affine_grid": ("g = AffineGrid<align_corners=1>(t, n)\ny = GridSample(x, g)",
                    dict(opset=20, inputs={"x": [2, 3, 5, 7], "t": [2, 2, 3]}, constants={"n": i64(2, 3, 4, 2)})),
    "split_of_a_constant": ("a, b = Split<axis=1>(c, n)\nd = Mul(x, a)\ny = Add(d, b)", dict(inputs={"x": [4, 1]}, constants={"c": (4, 2), "n": i64(1, 1)})),
    "computed_filter": ("y = Conv<pads=[1,0,2,1], strides=[2,1], dilations=[1,2], group=2>(x, w, b)",
                        dict(inputs={"x": [2, 6, 13, 12], "w": [8, 3, 3, 2], "b": [8]}, opset=17)),
    "computed_filter_of_one_dimension": ('y = Conv<auto_pad="SAME_UPPER">(x, w, b)', dict(inputs={"x": [2, 3, 11], "w": [5, 3, 4]}, opset=17, constants={"b": (5,)})),
    "computed_filter_per_channel": ("y = Conv<group=4>(x, w)", dict(inputs={"x": [1, 4, 7, 6], "w": [4, 1, 1, 1]}, opset=17)),
    "computed_bias": ("v = Conv<pads=[1,1,1,1]>(x, w, b)\nu = Flatten(v)\nz = Conv(t, k, b)\ns = Flatten(z)\ny = Concat<axis=1>(u, s)",
                      dict(inputs={"x": [1, 3, 7, 6], "t": [1, 3, 9], "b": [5]}, opset=17, constants={"w": (5, 3, 3, 3), "k": (5, 3, 2)})),
    "dft": ("y = DFT<axis=2>(x, l)", dict(opset=17, inputs={"x": [2, 3, 10, 2]}, constants={"l": np.int64(13)})),
    "dft_cut": ("y = DFT<onesided=1>(x, l, a)", dict(opset=20, inputs={"x": [2, 10, 3, 1]}, constants={"l": np.int64(7), "a": np.int64(-3)})),
    "dft_inverse": ("y = DFT<inverse=1>(x)", dict(opset=20, inputs={"x": [3, 12, 2]})),
    "stft": ("y = STFT(x, s, w)", dict(opset=17, inputs=SIGNAL, constants={"s": np.int64(7), "w": (12,)})),
    "stft_of_a_given_window": ("y = STFT<onesided=0>(x, s, w, l)", dict(
        opset=17, inputs={**SIGNAL, "w": [16]}, constants={"s": np.int64(5), "l": np.int64(16)})),
    "stft_without_window": ("y = STFT(x, s, , l)", dict(opset=17, inputs=SIGNAL, constants={"s": np.int64(8), "l": np.int64(16)})),
    "stft_of_two_dimensions": ("y = STFT(x, s, w)", dict(opset=17, inputs={"x": [2, 40]}, constants={"s": np.int64(7), "w": (12,)})),
    "hann_window": ("w = HannWindow<periodic=0>(n)\ny = Mul(x, w)", dict(opset=17, constants={"n": np.int64(8)})),
    "mel_weights": ("w = MelWeightMatrix(n, l, r, a, b)\ny = MatMul(x, w)", dict(
        opset=17, inputs={"x": [4, 33]}, constants={"n": np.int64(8), "l": np.int64(64), "r": np.int64(8000), "a": np.float32(30), "b": np.float32(3500)})),
    **{f"roi_align_{mode}_{corners}": (
        f'y = RoiAlign<mode="{mode}", coordinate_transformation_mode="{corners}", output_height=3, output_width=2, sampling_ratio=2, spatial_scale=0.5>(x, r, i)',
        dict(opset=16, inputs={"x": [2, 3, 6, 7], "r": [4, 4]}, constants={"i": i64(1, 0, 0, 1)})) for mode in ("avg", "max") for corners in ("half_pixel", "output_half_pixel")},
    **{f"roi_align_adaptive_{mode}": (f'y = RoiAlign<mode="{mode}", output_height=2, output_width=2>(x, r, i)',
       dict(opset=10, constants={"r": f32(*BOXES), "i": i64(0, 0, 0)})) for mode in ("avg", "max")},
    "max_roi_pool": ("y = MaxRoiPool<pooled_shape=[3,2], spatial_scale=0.9>(x, r)", dict(
        inputs={"x": [2, 3, 8, 8]}, constants={"r": np.hstack([f32(*BOXES), f32([1], [0], [1])])[:, [4, 0, 1, 2, 3]]})),
    "center_crop_pad": ("y = CenterCropPad<axes=[-1,1]>(x, n)", dict(opset=18, constants={"n": i64(5, 6)})),
    "col2im": ("y = Col2Im<strides=[2,1], pads=[1,0,0,2], dilations=[1,2]>(x, n, k)", dict(
        opset=18, inputs={"x": [2, 12, 18]}, constants={"n": i64(6, 6), "k": i64(2, 2)})),
    "det": ("a = Det(x)\nb = Det(z)\nc = Add(a, b)\nd = Det(u)\ny = Add(c, d)", dict(
        opset=11, inputs={"x": [2, 3, 4, 4], "z": [3, 3, 3], "u": [2, 1, 1, 1]}, constants={})),
}


@pytest.mark.parametrize("name", CASES)
def test_operator_means_what_onnx_says(name):
    nodes, arguments = CASES[name]
    model = make_network(nodes, **arguments)
    random = np.random.default_rng(1)
    feeds = {i.name: np.array(random.standard_normal([d.dim_value for d in i.type.tensor_type.shape.dim]), np.float32) for i in model.graph.input}
    expected = run(model.SerializeToString(), feeds)
    actual = run(translate("--export-onnx", translate("--import-onnx", model.SerializeToString())), feeds)
    for want, have in zip(expected, actual, strict=True):
        assert have.shape == want.shape
        np.testing.assert_allclose(have, want, rtol=1e-5, atol=1e-5)


# As ONNX's reference: onnxruntime refuses one dimension, leaves a crop as it is if its size is that of the input, and has other antialiasing filters, and has
# places in float32.
REFERENCE_CASES = {
    "linear_of_one_dimension": make_resize('mode="linear"', scales=(2.5,), inputs={"x": [9]}),
    "crop_of_the_same_size": make_resize(f'mode="nearest", {CROP}', sizes=(1, 3, 8, 8), roi=(0, 0, 0.2, 0.1, 1, 1, 0.8, 0.9)),
    "cubic_of_a_long_dimension": make_resize('mode="cubic"', scales=(0.75, 1), inputs={"x": [600, 5]}),
    "crop_of_a_long_dimension": make_resize(f'mode="linear", {CROP}, extrapolation_value=2.0', sizes=(1, 1, 2, 500), roi=(0, 0, 0, 1.125, 1, 1, 1, -0.25),
                                            inputs={"x": [1, 1, 2, 700]}),
    "linear_antialias": make_resize('mode="linear", antialias=1', scales=(1, 1, 0.4, 1.6)),
    "cubic_antialias": make_resize('mode="cubic", antialias=1, exclude_outside=1', sizes=(1, 3, 3, 5)),
}


@pytest.mark.parametrize("name", REFERENCE_CASES)
def test_operator_means_what_the_reference_says(name):
    from onnx.reference import ReferenceEvaluator

    nodes, arguments = REFERENCE_CASES[name]
    model = make_network(nodes, **arguments)
    x = np.random.default_rng(1).standard_normal(arguments.get("inputs", {"x": [1, 3, 8, 8]})["x"]).astype(np.float32)
    expected = ReferenceEvaluator(model).run(None, {"x": x})
    actual = run(translate("--export-onnx", translate("--import-onnx", model.SerializeToString())), {"x": x})
    np.testing.assert_allclose(actual[0], expected[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("padding, mode, expected", [("zeros", "linear", [0, 0, 0]), ("zeros", "cubic", [0, 0, 0]), ("border", "cubic", [4, 12, 0]),
                                                     ("border", "nearest", [4, 12, 0])])
def test_places_far_outside(padding, mode, expected):
    model = make_network(f'y = GridSample<mode="{mode}", padding_mode="{padding}">(x, g)', opset=20, inputs={"x": [1, 1, 3, 5], "g": [1, 1, 3, 2]})
    feeds = {"x": np.arange(15, dtype=np.float32).reshape(1, 1, 3, 5), "g": f32([[[np.inf, -1e30], [0, 3e9], [-np.inf, -np.inf]]])}
    actual = run(translate("--export-onnx", translate("--import-onnx", model.SerializeToString())), feeds)
    np.testing.assert_allclose(actual[0].ravel(), expected, atol=1e-5)


def test_inverse_of_half_a_spectrum():
    x = np.random.default_rng(1).standard_normal((3, 7, 2)).astype(np.float32)
    for length in (12, 13, 9, 20):
        model = make_network("y = DFT<inverse=1, onesided=1>(x, l)", opset=20, inputs={"x": [3, 7, 2]}, constants={"l": np.int64(length)})
        actual = run(translate("--export-onnx", translate("--import-onnx", model.SerializeToString())), {"x": x})
        np.testing.assert_allclose(actual[0][..., 0], np.fft.irfft(x[..., 0] + 1j * x[..., 1], length), rtol=1e-5, atol=1e-6)


CONSTANTS = {"s": f32(1, 1, 2, 2), "n": i64(1, 3, 4, 4), "t": (1, 2, 3), "zero": np.int64(0), "two": i64(2, 2), "one": np.int64(1), "long": np.int64(8192),
             "w": (3,), "low": np.float32(10), "high": np.float32(9000), "g": (1, 4, 4, 3), "r": f32(0, 0, 1, 1), "f": f32(1, 1, 0.01, 1),
             "longer": i64(1, 1 << 20, 1), "huge": i64(1, 3, 8192, 8192), "column": i64(1, -1, 1), "two0": np.int64(2), "huge_count": np.int64(1 << 30),
             "t2": (2, 2), "images": i64(0), "five": f32([1, 0, 0, 3, 3]), "wide": (1, 1, 32, 33), "whole": f32([0, 0, 0, 32, 31]), "large": i64(65536, 65536),
             "pair": i64(1, 2), "tall": i64(8192), "single": i64(1)}


@pytest.mark.parametrize("line, opset, message", [
    (f'y = Resize<mode="linear", {CROP}>(x, , s)', 13, "lacks a roi"),
    (f'y = Resize<mode="linear", {CROP}>(x, r, s)', 13, "has a roi of 4 numbers; expected 8"),
    (f'y = Resize<mode="cubic", {CROP}>(x, v, s)', 13, "a roi computed at run time, and not linear"),
    (f'y = Resize<mode="linear", {CROP}>(l, v, , longer)', 13, "has a roi of 8 numbers; expected 6"),
    (f'y = Resize<mode="linear", {CROP}>(l, u, , longer)', 13, "an axis of 16384 elements that becomes one of 1048576"),
    ("y = Resize(x, , f)", 13, "makes a result of shape 1x3x0x8"),
    ('y = Resize<mode="cubic">(l, , , longer)', 13, "an axis of 16384 elements that becomes one of 1048576"),
    ("y = GridSample(x, g)", 16, "has an input of shape 1x3x8x8 and a grid of shape 1x4x4x3"),
    ("y = AffineGrid(t, two)", 20, "has a theta of shape 1x2x3 for the size 2x2"),
    ("y = AffineGrid(t, huge)", 20, "a grid of 8192x8192 places"),
    ("y = DFT<axis=3>(x)", 17, "transforms dimension 3 of an input of shape 1x3x8x8"),
    ("y = DFT(x, zero)", 17, "transforms dimension 1 of an input of shape 1x3x8x8"),
    ("a = ReduceMax<axes=[3]>(x)\ny = DFT(a, zero)", 17, "has [0] as a dft_length; expected a positive number"),
    ("a = ReduceMax<axes=[3]>(x)\ny = DFT(a, , two)", 20, "has 2 axes; expected one"),
    ("a = ReduceMax(x)\nd = Concat<axis=3>(a, a)\ny = DFT<inverse=1, onesided=1>(d)", 17, "makes one element of a spectrum; give a dft_length"),
    ("y = DFT(l)", 17, "a transform of 16384 elements"),
    ("y = STFT(x, one)", 17, "has frames of 3 elements of a signal of shape 1x3x8x8"),
    ("a = Reshape(x, column)\ny = STFT(a, one, w, two0)", 17, "has frames of 2 elements"),
    ("y = STFT(l, one, , long)", 17, "8193 frames of 8192 elements"),
    ("w2 = HannWindow(huge_count)\ny = Mul(x, w2)", 17, "a window of 1073741824 elements"),
    ("w2 = HannWindow<output_datatype=8>(one)\ny = Mul(x, w2)", 17, "an output_datatype of 8"),
    ("a = MelWeightMatrix(one, long, one, low, high)\ny = MatMul(x, a)", 17, "has mel bins from 10.000000 to 9000.000000 Hz at a rate of 1"),
    ("y = RoiAlign<sampling_ratio=1>(x, t2, n)", 16, "has an image of shape 1x3x8x8, boxes of shape 2x2 and 1 x 1 bins"),
    ("y = RoiAlign(x, b, images)", 16, "a sampling_ratio of 0 with boxes computed at run time"),
    ("y = RoiAlign<sampling_ratio=17>(x, b, images)", 16, "289 samples in a bin (at most 256)"),
    ("y = MaxRoiPool<pooled_shape=[2]>(x, five)", 16, "has an image of shape 1x3x8x8, boxes of shape 1x5 and bins of shape 2"),
    ("y = MaxRoiPool<pooled_shape=[2,2]>(x, c)", 16, "boxes computed at run time"),
    ("y = MaxRoiPool<pooled_shape=[2,2]>(x, five)", 16, "has a box of the image 1.000000 of 1"),
    ("y = MaxRoiPool<pooled_shape=[1,1]>(wide, whole)", 16, "1056 elements in a bin (at most 1024)"),
    ("y = CenterCropPad(x, two)", 18, "has the sizes 2x2; expected 4 positive ones"),
    ("y = CenterCropPad<axes=[0,1]>(x, large)", 18, "a result of shape 65536x65536x8x8"),
    ("y = Col2Im(l, two, two0)", 18, "has blocks of shape 2 of an image of shape 2x2"),
    ("y = Col2Im(l, two, pair)", 18, "has an input of shape 1x16384x1; expected 2 blocks of 2 elements"),
    ("y = Col2Im<strides=[8192]>(l, tall, single)", 18, "an image of shape 8192"),
    ("y = Det(t)", 11, "has an input of shape 1x2x3; expected square matrices"),
    ("y = Det(x)", 11, "matrices of more than 4 rows"),
    ("a = MelWeightMatrix(huge_count, long, one, low, high)\ny = MatMul(x, a)", 17, "a matrix of shape 4097x1073741824"),
])
def test_nonsense(tmp_path, line, opset, message):
    expect_error(tmp_path, make_network(line, opset=opset, inputs={"x": [1, 3, 8, 8], "l": [1, 16384, 1], "b": [1, 4], "c": [1, 5], "v": [8], "u": [6]}, constants=CONSTANTS), message)
