# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks of open sizes, for libraries with several buckets."""
import numpy as np
import onnx
from onnx import helper, numpy_helper


LENGTHS = (16, 32, 64)


def make_network(inputs, outputs, nodes, constants):
    """The bytes of an ONNX file: inputs, outputs and nodes as text, constants as arrays."""
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> net ({inputs}) => ({outputs}) {{ {nodes} }}')
    for node in model.graph.node:
        node.name = node.output[0]
    model.graph.initializer.extend(numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items())
    onnx.checker.check_model(model)
    return model.SerializeToString()


def _weights(shapes, seed=0):
    random = np.random.default_rng(seed)
    return {name: (random.standard_normal(shape) * (shape[0] ** -0.5 if len(shape) > 1 else 0.1)).astype(np.float32)
            for name, shape in shapes.items()}


def make_encoder(hidden=32, longest=64):
    """ids and a mask of [B, T] to `y` [B, T, hidden] and `logits` [B, 4]: attention with a mask and learned positions."""
    h = hidden
    shapes = {"words": (50, h), "positions": (longest, h), "wq": (h, h), "wk": (h, h), "wv": (h, h), "w1": (h, 4 * h), "b1": (4 * h,),
              "w2": (4 * h, h), "b2": (h,), "wo": (h, 4), "bo": (4,)}
    integers = {"zero": [0], "one": [1], "axis": [1]}
    constants = {**_weights(shapes), **{name: np.array(value) for name, value in integers.items()},
                 "unit": np.float32(1), "hide": np.float32(-10000), "scale": np.float32(h**-0.5)}
    nodes = """
        shape = Shape (ids)
        length = Gather (shape, one)
        known = Slice (positions, zero, length, zero)
        embedded = Gather (words, ids)
        x = Add (embedded, known)
        q = MatMul (x, wq)
        k = MatMul (x, wk)
        v = MatMul (x, wv)
        turned = Transpose <perm = [0, 2, 1]> (k)
        products = MatMul (q, turned)
        scores = Mul (products, scale)
        hidden = Sub (unit, mask)
        gone = Mul (hidden, hide)
        rows = Unsqueeze (gone, axis)
        masked = Add (scores, rows)
        weights = Softmax <axis = -1> (masked)
        seen = MatMul (weights, v)
        a = Add (seen, x)
        up = MatMul (a, w1)
        upb = Add (up, b1)
        act = Relu (upb)
        down = MatMul (act, w2)
        downb = Add (down, b2)
        y = Add (downb, a)
        first = Gather <axis = 1> (y, zero)
        flat = Squeeze (first, axis)
        logits = Gemm (flat, wo, bo)"""
    return make_network("int64[B,T] ids, float[B,T] mask", f"float[B,T,{h}] y, float[B,4] logits", nodes, constants)


def make_images():
    """x [N, 3, H, W] to `y` [N, 10]: convolutions and a global average."""
    shapes = {"w1": (16, 3, 3, 3), "b1": (16,), "w2": (32, 16, 3, 3), "b2": (32,), "w3": (10, 32), "b3": (10,)}
    nodes = """
        c1 = Conv <pads = [1,1,1,1]> (x, w1, b1)
        r1 = Relu (c1)
        c2 = Conv <pads = [1,1,1,1], strides = [2,2]> (r1, w2, b2)
        r2 = Relu (c2)
        mean = GlobalAveragePool (r2)
        flat = Flatten (mean)
        y = Gemm <transB = 1> (flat, w3, b3)"""
    return make_network("float[N,3,H,W] x", "float[N,10] y", nodes, _weights(shapes))


def make_unet():
    """x [1, 3, H, W] to `y` [1, 4, H, W]: a coarse and a fine path."""
    shapes = {"w1": (8, 3, 3, 3), "b1": (8,), "w2": (8, 8, 3, 3), "b2": (8,), "w3": (4, 16, 1, 1), "b3": (4,)}
    nodes = """
        c = Conv <pads = [1,1,1,1]> (x, w1, b1)
        r = Relu (c)
        p = MaxPool <kernel_shape = [2,2], strides = [2,2]> (r)
        d = Conv <pads = [1,1,1,1]> (p, w2, b2)
        e = Relu (d)
        u = Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (e, , scales)
        q = Concat <axis = 1> (u, r)
        y = Conv (q, w3, b3)"""
    scales = {"scales": np.array([1, 1, 2, 2], np.float32)}
    return make_network("float[1,3,H,W] x", "float[1,4,H,W] y", nodes, {**_weights(shapes), **scales})


def encoder_shapes(*lengths):
    return {name: [(1, length) for length in lengths] for name in ("ids", "mask")}


def make_sentences(length, count=1, seed=0):
    """Samples of full length: ids and a mask without holes."""
    random = np.random.default_rng(seed)
    return {"ids": random.integers(0, 50, (count, 1, length)), "mask": np.ones((count, 1, length), np.float32)}


def first(samples):
    return {name: array[0] for name, array in samples.items()}


def assert_equal(got, expected):
    assert got.keys() == expected.keys()
    for name, array in expected.items():
        assert got[name].dtype == array.dtype and got[name].shape == array.shape, name
        assert got[name].tobytes() == array.tobytes(), name
