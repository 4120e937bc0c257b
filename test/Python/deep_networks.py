# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Float networks of some dozens of layers, made by script, and what tools of quantization-aware training write of such."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from quantized_networks import make_feed, open_onnxruntime

f32 = np.float32


class Builder:
    """A network that reads `x` and grows node by node; weights are random, and of such a size that values neither grow nor vanish."""

    def __init__(self, shape, seed):
        self.random, self.nodes, self.constants, self.shape = np.random.default_rng(seed), [], [], shape

    def constant(self, array):
        self.constants.append(numpy_helper.from_array(np.asarray(array), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def add(self, operator, *inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], name=f"{operator}_{len(self.nodes)}", **attributes))
        return name

    def weight(self, *shape, inputs):
        return self.constant((self.random.standard_normal(shape) * np.sqrt(1.6 / inputs)).astype(f32))

    def bias(self, count):
        return self.constant((self.random.standard_normal(count) * 0.1).astype(f32))

    def conv(self, x, inputs, outputs, kernel=3, stride=1, group=1):
        weight = self.weight(outputs, inputs // group, kernel, kernel, inputs=inputs // group * kernel * kernel)
        return self.add("Conv", x, weight, self.bias(outputs), kernel_shape=[kernel] * 2, pads=[kernel // 2] * 4, strides=[stride] * 2, group=group)

    def relu(self, *arguments, **attributes):
        return self.add("Relu", self.conv(*arguments, **attributes))

    def linear(self, x, inputs, outputs):
        return self.add("Add", self.add("MatMul", x, self.weight(inputs, outputs, inputs=inputs)), self.bias(outputs))

    def model(self, output):
        self.nodes[-1].output[0] = output
        graph = helper.make_graph(self.nodes, "deep", [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)],
                                  [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)], self.constants)
        return onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))


def make_residual():
    """Three stages of two residual blocks, as ResNet has them for small images."""
    net, channels = Builder([1, 3, 32, 32], 1), 16
    x = net.relu("x", 3, channels)
    for outputs in (16, 32, 64):
        for block in range(2):
            stride = 2 if outputs > channels else 1
            y = net.conv(net.relu(x, channels, outputs, stride=stride), outputs, outputs)
            shortcut = net.conv(x, channels, outputs, 1, stride) if outputs > channels else x
            x, channels = net.add("Relu", net.add("Add", y, shortcut)), outputs
    x = net.add("Flatten", net.add("GlobalAveragePool", x))
    net.add("Gemm", x, net.weight(10, channels, inputs=channels), net.bias(10), transB=1)
    return net.model("y")


def make_inverted():
    """Inverted residuals with depthwise convolutions, hard swish and gates, as MobileNetV3 has them."""
    net = Builder([1, 3, 32, 32], 2)
    x, channels = net.add("HardSwish", net.conv("x", 3, 16, stride=2)), 16
    for outputs, stride in ((24, 2), (24, 1), (40, 2), (40, 1)):
        wide = 4 * channels
        y = net.relu(net.relu(x, channels, wide, 1), wide, wide, 5, stride, wide)
        gate = net.conv(net.relu(net.add("GlobalAveragePool", y), wide, 8, 1), 8, wide, 1)
        y = net.conv(net.add("Mul", y, net.add("HardSigmoid", gate, alpha=1 / 6)), wide, outputs, 1)
        x, channels = net.add("Add", x, y) if outputs == channels else y, outputs
    net.relu(x, channels, 64, 1)
    return net.model("y")


def make_u_net():
    """Down and up again, with transposed convolutions and resizes."""
    net = Builder([1, 3, 32, 32], 3)
    first = net.relu(net.relu("x", 3, 16), 16, 16)
    second = net.relu(net.relu(net.add("MaxPool", first, kernel_shape=[2, 2], strides=[2, 2]), 16, 32), 32, 32)
    third = net.relu(net.relu(net.add("MaxPool", second, kernel_shape=[2, 2], strides=[2, 2]), 32, 48), 48, 48)
    up = net.add("ConvTranspose", third, net.weight(48, 32, 2, 2, inputs=48), net.bias(32), kernel_shape=[2, 2], strides=[2, 2])
    y = net.relu(net.add("Concat", up, second, axis=1), 64, 32)
    wide = net.add("Resize", y, "", net.constant(f32([1, 1, 2, 2])), mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    net.conv(net.relu(net.add("Concat", wide, first, axis=1), 48, 16), 16, 4, 1)
    return net.model("y")


def make_mixer(tokens=16, size=48):
    """Products over tokens and over channels by turns."""
    net, x = Builder([2, tokens, size], 4), "x"
    for _ in range(4):
        swapped = net.linear(net.add("Transpose", x, perm=[0, 2, 1]), tokens, 2 * tokens)
        y = net.linear(net.add("Relu", swapped), 2 * tokens, tokens)
        x = net.add("Add", x, net.add("Transpose", y, perm=[0, 2, 1]))
        x = net.add("Add", x, net.linear(net.add("Relu", net.linear(x, size, 2 * size)), 2 * size, size))
    net.linear(x, size, 10)
    return net.model("y")


# ---- what training tools write ---------------------------------------------------------------------------------------------
def find_ranges(model, names):
    """Least and largest value of each tensor on a few samples."""
    whole = onnx.ModelProto()
    whole.CopyFrom(model)
    del whole.graph.output[:]
    whole.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name != "x")
    session = open_onnxruntime(whole)
    feeds = [make_feed(session, 100 + seed) for seed in range(4)]
    results = [dict(zip([value.name for value in session.get_outputs()], session.run(None, feed))) | feed for feed in feeds]
    return {name: (min(0, *(result[name].min() for result in results)), max(0, *(result[name].max() for result in results))) for name in names}


def write_trained(model, bits=8, clips=False):
    """The network with QuantizeLinear and DequantizeLinear in front of every product and behind every activation, float weights with a
    scale for each output channel, and a float bias; `clips`: with Clip in between, as files with fewer bits have it."""
    products = {"Conv": 0, "Gemm": 0, "ConvTranspose": 1}  # the axis of the weights' output channels
    weights = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    read = [node.input[0] for node in model.graph.node if node.op_type in products]
    joined = [name for node in model.graph.node if node.op_type in ("Add", "Mul", "GlobalAveragePool") for name in node.input]
    ranges = find_ranges(model, sorted({*read, *joined} - set(weights)))
    nodes, constants, real = [], list(model.graph.initializer), {}

    def constant(array):
        constants.append(numpy_helper.from_array(np.asarray(array), f"q{len(constants)}"))
        return constants[-1].name

    def pair(name, scale, zero, low, high, **attributes):
        scale, zero_point, quantized = constant(f32(scale)), constant(zero), f"{name}_q"
        nodes.append(helper.make_node("QuantizeLinear", [name, scale, zero_point], [quantized], **attributes))
        if clips:
            nodes.append(helper.make_node("Clip", [quantized, constant(low), constant(high)], [quantized + "c"]))
            quantized += "c"
        nodes.append(helper.make_node("DequantizeLinear", [quantized, scale, zero_point], [f"{name}_d"], **attributes))
        return f"{name}_d"

    def quantize(name):
        low, high = ranges[name]
        most = 2**bits - 1
        scale = f32((high - low) / most)
        real[name] = pair(name, scale, np.uint8(np.clip(np.round(-low / scale), 0, most)), np.uint8(0), np.uint8(most))

    def quantize_weight(name, axis):
        most = 2 ** (bits - 1) - 1
        scales = np.abs(weights[name]).max(axis=tuple(i for i in range(weights[name].ndim) if i != axis)) / most
        return pair(name, scales, np.zeros(len(scales), np.int8), np.int8(-most), np.int8(most), axis=axis)

    if "x" in ranges:
        quantize("x")
    for node in model.graph.node:
        inputs = [real.get(name, name) for name in node.input]
        if node.op_type in products:
            inputs[1] = quantize_weight(inputs[1], products[node.op_type])
        changed = onnx.NodeProto()
        changed.CopyFrom(node)
        changed.input[:] = inputs
        nodes.append(changed)
        if node.output[0] in ranges:
            quantize(node.output[0])
    graph = helper.make_graph(nodes, "trained", model.graph.input, model.graph.output, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
