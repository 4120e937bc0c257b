# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps of random networks that sample, transform, pool boxes and unfold."""
from __future__ import annotations

import numpy as np
from growing_network import Input
from onnx import TensorProto

f32 = np.float32


def sampling(net, x):
    """At constant places, or at those that two channels are; bounded, since places far outside depend on the last bit."""
    n, channels, *size = net.values[x]
    mode = net.one_of("bilinear", "nearest", "bicubic")
    if net.opset < 16 or len(size) != 2:
        return
    grid = net.rng.uniform(-1.6, 1.6, (n, *net.numbers(2, 1, 12), 2)).astype(f32)
    if channels > 1 and mode != "nearest" and net.often(0.5):
        y = net.add("Slice", [x, np.array([0]), np.array([2]), np.array([1])])
        y = y and net.add("Transpose", [y], perm=[0, 2, 3, 1])
        grid = y and net.add("Tanh", [y])
    if net.opset >= 20 and net.often(0.3):
        theta = net.rng.normal(size=(n, 2, 3)).astype(f32)
        # Of one place, whose corners are the same, onnxruntime makes 1, PyTorch and Octet 0, and ONNX's reference -1.
        grid = net.inner("AffineGrid", [theta, np.array([n, channels, *net.numbers(2, 2, 12)])], align_corners=int(net.often(0.5)))
    if grid is not None:
        net.add("GridSample", [x, grid], mode={"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode) if net.opset >= 20 else mode,
                padding_mode=net.one_of("zeros", "border", "reflection"), align_corners=int(net.often(0.5)))


def deformation(net, x):
    """At offsets that are constants, or computed and bounded."""
    n, channels, *size = net.values[x]
    kernel, stride, pad = net.numbers(2, 1, 4), net.one_of(1, 2), net.one_of(0, 1)
    divisors = [d for d in range(1, channels + 1) if channels % d == 0]
    groups, parts = net.one_of(1, *divisors[:2]), net.one_of(1, *divisors[:2])
    out = [(s + 2 * pad - k) // stride + 1 for s, k in zip(size, kernel)]
    if net.opset < 19 or min(out) < 1:
        return
    taps, window = kernel[0] * kernel[1], dict(strides=[stride] * 2, pads=[pad] * 4)
    offset = net.rng.uniform(-2, 2, (n, 2 * parts * taps, *out)).astype(f32)
    if net.often(0.4):
        y = net.add("Conv", [x, net.weight(2 * parts * taps, channels, *kernel)], **window)
        offset = y and net.add("Tanh", [y])
    outputs = groups * net.one_of(1, 4, 8)
    if offset is not None:
        net.add("DeformConv", [x, net.weight(outputs, channels // groups, *kernel), offset, net.weight(outputs, spread=0.3),
                               net.positive(n, parts * taps, *out) if net.often(0.5) else ""], group=groups, offset_group=parts, **window)


def transform(net, x):
    """Fourier transforms of one dimension, there and maybe back; of frames, where there is one dimension only."""
    if net.opset < 17:
        return
    shape = net.values[x]
    y = net.add("Unsqueeze", [x, np.array([len(shape)])])
    if y and len(shape) == 2 and shape[1] > 8 and net.often(0.6):
        length = net.one_of(5, 8)
        window = net.positive(length) if net.often(0.7) else ""
        net.add("STFT", [y, np.array(net.one_of(1, 2, 3)), window, np.array(length)], onesided=int(net.often(0.5)))
        return
    axis = int(net.rng.integers(1, len(shape)))
    if shape[axis] > 128:  # onnxruntime's own errors reach 4e-4 of the largest magnitude
        return
    length = np.array(shape[axis] + net.one_of(-1, 0, 3)) if net.often(0.4) else ""
    spectrum = y and net.add("DFT", [y, length], axis=Input(np.array(axis), 20) if net.opset >= 20 else axis, onesided=int(net.often(0.4)))
    if spectrum and net.often(0.3):
        net.add("DFT", [spectrum], inverse=1, **({} if net.opset >= 20 else {"axis": axis}))


def boxes(net, x):
    n, _, *size = net.values[x]
    count = net.one_of(1, 3)
    corners = net.rng.uniform(-0.2, 1.2, (count, 4)).astype(f32) * f32([size[1], size[0]] * 2)
    attributes = {"spatial_scale": net.one_of(1.0, 0.7)}
    if net.often(0.3):
        images = net.rng.integers(0, n, (count, 1)).astype(f32)
        net.add("MaxRoiPool", [x, np.hstack([images, corners])], pooled_shape=net.numbers(2, 1, 4), **attributes)
    elif net.opset >= 10:
        if net.opset >= 16:
            attributes["coordinate_transformation_mode"] = net.one_of("half_pixel", "output_half_pixel")
        net.add("RoiAlign", [x, corners, net.rng.integers(0, n, count)], **net.one_of({"mode": "avg", "sampling_ratio": net.one_of(0, 1, 2)}, {"mode": "max", "sampling_ratio": 1}),
                output_height=net.one_of(1, 3), output_width=net.one_of(2, 4), **attributes)


def suppression(net, x):
    """Boxes in heaps far apart, of each of which one is left: as many in every run."""
    n, classes, *size = net.values[x]
    per_heap, count = net.one_of(1, 2, 4), size[0] * size[1]
    if net.opset < 11 or count % per_heap or count > 96 or n * classes > 64:
        return
    places = np.repeat(np.arange(count // per_heap), per_heap)
    corners = net.rng.permutation(np.stack([places * 3, places, places * 3 + 1, places + 2], 1) + net.rng.uniform(0, 0.1, (count, 4)))
    boxes = np.broadcast_to(corners.astype(f32), (n, count, 4)).copy()
    apart = (net.rng.permutation(count) * 0.05).astype(f32)  # where all are zero but for their last bits, as imaginary parts are
    scores = net.inner("Add", [net.inner("Reshape", [x, np.array([n, classes, count])]), apart])
    kept = net.inner("NonMaxSuppression", [boxes, scores, np.array(count // per_heap), f32(0.5)])
    net.add("Cast", [kept], to=TensorProto.FLOAT)


def unfolding(net, x):
    shape = net.values[x]
    if net.opset < 18 or net.often(0.3):
        size = net.one_of(2, 3, 4)
        if net.opset >= 11 and min(shape[-2:]) >= size:
            y = net.add("Slice", [x, np.array([0, 0]), np.array([size, size]), np.array([-2, -1])])
            y and net.add("Det", [y])
    elif len(shape) == 3 and shape[1] % 2 == 0:
        rows = net.one_of(*(d for d in range(1, shape[2] + 1) if shape[2] % d == 0))
        stride, pad = net.one_of(1, 2), net.one_of(0, 1)
        image = [(rows - 1) * stride + 1, shape[2] // rows + 1 - pad]
        net.add("Col2Im", [x, np.array(image), np.array([1, 2])], strides=[stride, 1], pads=[0, pad, 0, 0])
    else:
        net.add("CenterCropPad", [x, np.array([max(1, size + net.one_of(-3, -1, 0, 1, 2)) for size in shape])])
