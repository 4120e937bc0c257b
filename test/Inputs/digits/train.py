#!/usr/bin/env python3
# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains the network that Octet ships, and writes it with its data.

The data are scikit-learn's digits: 1797 images of 8 x 8 pixels, 0 to 16. A fixed permutation gives 1297 of them to
training and 500 to the test; the calibration samples are the first 128 of the training set. Training runs in float64
with fixed seeds, so that two runs differ by the summation order of the matrix products only.

  train.py [--output DIR]     writes digits.onnx, calibration.npz and test.npz (default: beside this file)
"""

import argparse
import pathlib

import autograd.numpy as np
import numpy
import onnx
from autograd import grad
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits

CHANNELS, HEAD, CLASSES = 32, 64, 10
EPOCHS, BATCH, RATE, MOMENTUM, DECAY = 12, 64, 0.08, 0.9, 5e-4
TRAINING, CALIBRATION = 1297, 128
EPSILON = 1e-5

# Convolutions: name -> (input channels, output channels, kernel size, groups). Each has its batch norm.
CONVOLUTIONS = {
    "stem": (1, CHANNELS, 3, 1),
    "block_a": (CHANNELS, CHANNELS, 3, 1),
    "block_b": (CHANNELS, CHANNELS, 3, 1),
    "depthwise": (CHANNELS, CHANNELS, 3, CHANNELS),
    "pointwise": (CHANNELS, HEAD, 1, 1),
}


def load_data():
    """(training inputs, labels), (test inputs, labels); inputs [N, 1, 8, 8] in 0 .. 1."""
    digits = load_digits()
    order = numpy.random.RandomState(0).permutation(len(digits.target))
    inputs = (digits.images[order, None] / 16.0).astype(numpy.float32)
    labels = digits.target[order].astype(numpy.int64)
    return (inputs[:TRAINING], labels[:TRAINING]), (inputs[TRAINING:], labels[TRAINING:])


def make_parameters():
    """Weights [taps, inputs per group, outputs], He-initialized; batch norm starts as the identity."""
    random = numpy.random.RandomState(1)
    parameters = {}
    for name, (inputs, outputs, size, groups) in CONVOLUTIONS.items():
        fan_in = size * size * inputs // groups
        parameters[name + ".weight"] = random.randn(size * size, inputs // groups, outputs) * numpy.sqrt(2.0 / fan_in)
        parameters[name + ".gamma"] = numpy.ones(outputs)
        parameters[name + ".beta"] = numpy.zeros(outputs)
    parameters["head.weight"] = random.randn(HEAD, CLASSES) * numpy.sqrt(1.0 / HEAD)
    parameters["head.bias"] = numpy.zeros(CLASSES)
    return parameters


def convolve(x, weight, size, groups):
    """Same-padded convolution of x [N, H, W, C] as a sum over taps."""
    margin = size // 2
    height, width = x.shape[1:3]
    padded = np.pad(x, ((0, 0), (margin, margin), (margin, margin), (0, 0)), "constant")
    taps = [padded[:, i : i + height, j : j + width] for i in range(size) for j in range(size)]
    if groups > 1:
        return sum(tap * weight[k, 0] for k, tap in enumerate(taps))
    return np.dot(np.concatenate(taps, axis=3), np.reshape(weight, (-1, weight.shape[2])))


def forward(parameters, images, statistics):
    """Logits. A batch norm takes its mean and variance from `statistics`; what is missing there it measures and records."""

    def layer(x, name):
        _, _, size, groups = CONVOLUTIONS[name]
        y = convolve(x, parameters[name + ".weight"], size, groups)
        if name not in statistics:
            mean = np.mean(y, axis=(0, 1, 2))
            statistics[name] = mean, np.mean((y - mean) ** 2, axis=(0, 1, 2))
        mean, variance = statistics[name]
        return (y - mean) / np.sqrt(variance + EPSILON) * parameters[name + ".gamma"] + parameters[name + ".beta"]

    x = np.transpose(images, (0, 2, 3, 1))
    stem = np.maximum(layer(x, "stem"), 0)
    inner = np.maximum(layer(stem, "block_a"), 0)
    x = np.maximum(layer(inner, "block_b") + stem, 0)
    n, height, width, channels = x.shape
    x = np.max(np.reshape(x, (n, height // 2, 2, width // 2, 2, channels)), axis=(2, 4))
    x = np.clip(layer(x, "depthwise"), 0, 6)
    x = np.maximum(layer(x, "pointwise"), 0)
    return np.dot(np.mean(x, axis=(1, 2)), parameters["head.weight"]) + parameters["head.bias"]


def loss(parameters, images, labels):
    """Cross entropy plus weight decay."""
    logits = forward(parameters, images, {})
    logits = logits - np.max(logits, axis=1, keepdims=True)
    chosen = np.sum(logits * numpy.eye(CLASSES)[labels], axis=1)
    decay = sum(np.sum(value**2) for name, value in parameters.items() if name.endswith("weight"))
    return np.mean(np.log(np.sum(np.exp(logits), axis=1)) - chosen) + DECAY * decay


def shift(images, random):
    """Moves every image by up to one pixel: the augmentation that small digits need."""
    padded = numpy.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    moves = random.randint(0, 3, (len(images), 2))
    return numpy.stack([image[:, dy : dy + 8, dx : dx + 8] for image, (dy, dx) in zip(padded, moves)])


def train(images, labels, report=print):
    """Stochastic gradient descent with momentum and a cosine schedule: (parameters, statistics of the training set)."""
    random = numpy.random.RandomState(2)
    images = images.astype(numpy.float64)
    parameters = make_parameters()
    velocity = {name: numpy.zeros_like(value) for name, value in parameters.items()}
    gradient = grad(loss)
    steps = len(images) // BATCH
    for epoch in range(EPOCHS):
        order = random.permutation(len(images))
        for step in range(steps):
            chosen = order[step * BATCH : (step + 1) * BATCH]
            slope = gradient(parameters, shift(images[chosen], random), labels[chosen])
            rate = RATE * 0.5 * (1 + numpy.cos(numpy.pi * (epoch * steps + step) / (EPOCHS * steps)))
            for name in parameters:
                velocity[name] = MOMENTUM * velocity[name] - rate * slope[name]
                parameters[name] = parameters[name] + velocity[name]
        report(f"epoch {epoch + 1} of {EPOCHS}")
    statistics = {}
    forward(parameters, images, statistics)
    return parameters, statistics


def make_onnx(parameters, statistics):
    """The network as a float ONNX file: batch norm unfolded, batch 1, static shapes."""
    initializers, nodes = [], []

    def constant(name, value):
        initializers.append(numpy_helper.from_array(numpy.ascontiguousarray(value, numpy.float32), name))
        return name

    def node(kind, name, *inputs, **attributes):
        nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def layer(x, name):
        _, outputs, size, groups = CONVOLUTIONS[name]
        weight = parameters[name + ".weight"].transpose(2, 1, 0).reshape(outputs, -1, size, size)
        margins = [size // 2] * 4
        y = node("Conv", name, x, constant(name + ".weight", weight), kernel_shape=[size, size], pads=margins, group=groups)
        mean, variance = statistics[name]
        values = {"gamma": parameters[name + ".gamma"], "beta": parameters[name + ".beta"], "mean": mean, "variance": variance}
        rest = [constant(f"{name}.{key}", value) for key, value in values.items()]
        return node("BatchNormalization", name + "_norm", y, *rest, epsilon=EPSILON)

    stem = node("Relu", "stem_relu", layer("input", "stem"))
    inner = node("Relu", "block_a_relu", layer(stem, "block_a"))
    total = node("Add", "block_add", layer(inner, "block_b"), stem)
    x = node("MaxPool", "pool", node("Relu", "block_relu", total), kernel_shape=[2, 2], strides=[2, 2])
    x = node("Clip", "depthwise_relu6", layer(x, "depthwise"), constant("zero", numpy.float32(0)), constant("six", numpy.float32(6)))
    x = node("Relu", "pointwise_relu", layer(x, "pointwise"))
    x = node("Flatten", "flatten", node("GlobalAveragePool", "average", x))
    weight, bias = constant("head.weight", parameters["head.weight"].T), constant("head.bias", parameters["head.bias"])
    x = node("Gemm", "head", x, weight, bias, transB=1)
    node("Softmax", "probabilities", x, axis=1)

    graph = helper.make_graph(
        nodes,
        "digits",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, 1, 8, 8])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, [1, CLASSES])],
        initializers,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8, producer_name="octet")
    onnx.checker.check_model(model, full_check=True)
    return model


def main():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, default=here, help="folder to write to")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)

    (images, labels), (test_images, test_labels) = load_data()
    parameters, statistics = train(images, labels)
    logits = forward(parameters, test_images.astype(numpy.float64), statistics)
    print(f"accuracy on the test set: {numpy.mean(logits.argmax(1) == test_labels):.4f}")
    onnx.save(make_onnx(parameters, statistics), folder / "digits.onnx")
    numpy.savez_compressed(folder / "calibration.npz", input=images[:CALIBRATION])
    numpy.savez_compressed(folder / "test.npz", input=test_images, labels=test_labels)


if __name__ == "__main__":
    main()
