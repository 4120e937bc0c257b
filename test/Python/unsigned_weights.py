# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""onnxruntime adds products of u8 by i8 in i16, which saturates, on CPUs with AVX2 and without VNNI; of u8 by u8 it does not."""
import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

# Inputs of operators that hold weights, their zero points, and those of what they are multiplied by, if the file has them.
WEIGHTS = {"MatMulInteger": [(1, 3, 2)], "ConvInteger": [(1, 3, 2)], "QLinearConv": [(3, 5, 2)], "QLinearMatMul": [(3, 5, 2)], "QGemm": [(3, 5, 2)],
           "DynamicQuantizeMatMul": [(1, 3, None)], "MatMulIntegerToFloat": [(1, 5, 4)], "DynamicQuantizeLSTM": [(1, 9, None), (2, 11, None)]}


def _get(node, i):
    return node.input[i] if i is not None and i < len(node.input) else ""


def _store_unsigned(graph, signed):
    """Weights of i8 as u8, their zero points 128 higher."""
    for node in graph.node:
        for attribute in node.attribute:
            _store_unsigned(attribute.g, signed)
        for weights, zero_point, other in WEIGHTS.get(node.op_type, []):
            if _get(node, weights) not in signed or _get(node, other) in signed:
                continue  # onnxruntime has no products of i8 by u8
            node.input.extend([""] * (zero_point + 1 - len(node.input)))
            for i in (weights, zero_point):
                array = (signed.get(node.input[i], np.int16(0)).astype(np.int16) + 128).astype(np.uint8)
                node.input[i] += ".unsigned"
                if all(tensor.name != node.input[i] for tensor in graph.initializer):
                    graph.initializer.append(numpy_helper.from_array(array, node.input[i]))


def with_unsigned_weights(model):
    """The network, with weights of i8 that are multiplied by u8 stored as u8: the same numbers."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    signed = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer if tensor.data_type == TensorProto.INT8}
    _store_unsigned(changed.graph, signed)
    used = {name for node in changed.graph.node for name in node.input} | {value.name for value in changed.graph.output}
    for tensor in [tensor for tensor in changed.graph.initializer if tensor.name in signed and tensor.name not in used]:
        if not any(value.name == tensor.name for value in changed.graph.input):
            changed.graph.initializer.remove(tensor)
    return changed
