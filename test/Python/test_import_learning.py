# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of ai.onnx.ml around networks, compiled as float code, are what onnxruntime makes of them."""
import numpy as np
import pytest

octet = pytest.importorskip("octet")
onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from importing import expect_error  # noqa: E402
from onnx_networks import make_network  # noqa: E402

pytestmark = pytest.mark.usefixtures("compiler")

OUT_OF_RANGE = np.array([[-2.0, 0.5, 7.0], [0.0, 0.0, 0.0]], np.float32)


def make(nodes, shape=(2, 3), **arguments):
    model = make_network(nodes, opset=15, inputs={"x": list(shape)}, **arguments)
    model.opset_import.append(onnx.helper.make_opsetid("ai.onnx.ml", 3))
    return model


CASES = {
    "scaler": "y = ai.onnx.ml.Scaler<offset=[1.0, -2.0, 0.5], scale=[2.0, 0.25, -1.0]>(x)",
    "scaler_of_one_number": "y = ai.onnx.ml.Scaler<offset=[0.5], scale=[3.0]>(x)",
    "scaler_of_integers": "i = Cast<to=7>(x)\ny = ai.onnx.ml.Scaler<offset=[1.0, -2.0, 0.5], scale=[2.0, 0.25, -1.0]>(i)",
    "normalizer_max": 'a = Abs(x)\ny = ai.onnx.ml.Normalizer<norm="MAX">(a)',
    "normalizer_l1": 'y = ai.onnx.ml.Normalizer<norm="L1">(x)',
    "normalizer_l2": 'y = ai.onnx.ml.Normalizer<norm="L2">(x)',
    "binarizer": "y = ai.onnx.ml.Binarizer<threshold=0.25>(x)",
    "imputer": "y = ai.onnx.ml.Imputer<imputed_value_floats=[1.0, 2.0, 3.0]>(x)",
    "imputer_of_a_number": "y = ai.onnx.ml.Imputer<imputed_value_floats=[9.0], replaced_value_float=7.0>(x)",
    "linear_regressor": "y = ai.onnx.ml.LinearRegressor<coefficients=[1.0, 2.0, 3.0, -1.0, 0.5, 0.25], intercepts=[0.5, -0.5], targets=2>(x)",
    "linear_regressor_without_intercepts": "y = ai.onnx.ml.LinearRegressor<coefficients=[1.0, 2.0, 3.0]>(x)",
    "extractor": "y = ai.onnx.ml.ArrayFeatureExtractor(x, k)",
}


@pytest.mark.parametrize("name", CASES)
def test_as_onnxruntime(name):
    model = make(CASES[name], constants={"k": np.array([2, 0, 2, 1])} if "k)" in CASES[name] else {})
    session = onnxruntime.InferenceSession(model.SerializeToString())
    compiled = octet.compile(model.SerializeToString())
    for x in (OUT_OF_RANGE, np.random.default_rng(0).normal(size=(2, 3)).astype(np.float32)):
        np.testing.assert_allclose(compiled.run({"x": x})["y"], session.run(None, {"x": x})[0], rtol=1e-6, atol=1e-6)


def test_labels_of_classes():
    """As scikit-learn's classifiers end: the label of the largest number."""
    model = make("a = ArgMax<axis=1>(x)\ny = ai.onnx.ml.ArrayFeatureExtractor(c, a)", constants={"c": np.array([[10, 20, 30]])})
    model.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.INT64
    got = octet.compile(model.SerializeToString()).run({"x": OUT_OF_RANGE})["y"]
    np.testing.assert_array_equal(got, [[30, 10]])


@pytest.mark.parametrize("node,message", [
    ("y = ai.onnx.ml.Scaler<offset=[1.0, 2.0]>(x)", "Scaler has 2 numbers in the attribute offset for an input of shape 2x3"),
    ("y = ai.onnx.ml.LinearRegressor<coefficients=[1.0]>(x)", "LinearRegressor has 1 coefficients of 1 targets for an input of shape 2x3"),
    ("y = ai.onnx.ml.LinearRegressor<coefficients=[1.0, 2.0, 3.0], intercepts=[1.0, 2.0]>(x)", "LinearRegressor has 2 intercepts of 1 targets"),
    ("y = ai.onnx.ml.ArrayFeatureExtractor(x, k)", "ArrayFeatureExtractor has the index 3 into 3 columns"),
    ("s = ReduceSum<keepdims=0>(x)\ny = ai.onnx.ml.Normalizer(s)", "Normalizer normalizes a scalar"),
    ('y = ai.onnx.ml.LinearRegressor<coefficients=[1.0, 2.0, 3.0], post_transform="LOGISTIC">(x)', 'attribute post_transform="LOGISTIC"'),
    ("y = ai.onnx.ml.SVMClassifier(x)", "(SVMClassifier, domain ai.onnx.ml, opset 3): no such operator here"),
], ids=["numbers", "coefficients", "intercepts", "index", "scalar", "transform", "vectors"])
def test_refused(node, message, tmp_path):
    expect_error(tmp_path, make(node, constants={"k": np.array([3])}), message)
