# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small ONNX networks for tests, written as the operators' text form."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def make_network(nodes, *, opset=13, inputs={"x": [1, 3, 8, 8]}, constants={}, outputs=("y",), seed=0):
    """A network of `nodes` (lines such as `y = Relu(x)`). A constant is an array, or a shape to fill at random."""
    random = np.random.default_rng(seed)
    tensors = []
    for name, value in constants.items():
        is_shape = isinstance(value, tuple)
        array = random.standard_normal(value).astype(np.float32) if is_shape else np.asarray(value)
        tensors.append(numpy_helper.from_array(array, name))
    graph = helper.make_graph(
        [onnx.parser.parse_node(line.strip()) for line in nodes.strip().splitlines()],
        "test",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        tensors,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=min(10, 3 + opset // 2))
