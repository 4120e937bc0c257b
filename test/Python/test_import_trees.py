# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ensembles of trees, linear classifiers, support vectors and encoders of ai.onnx.ml are what onnxruntime makes of them."""
import itertools

import numpy as np
import pytest

octet = pytest.importorskip("octet")
onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from importing import expect_error  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402

pytestmark = pytest.mark.usefixtures("compiler")
ROWS, COLUMNS = 40, 3
MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]


def make(op, kind=TensorProto.FLOAT, results=None, inputs=1, **attributes):
    """One node whose results have these types."""
    results = results or {"y": TensorProto.FLOAT}
    names = [f"x{i}" for i in range(inputs)]
    node = helper.make_node(op, names, list(results), domain="ai.onnx.ml", name="node", **{name: value for name, value in attributes.items() if value is not None})
    graph = helper.make_graph([node], "test", [helper.make_tensor_value_info(name, kind, [ROWS, COLUMNS]) for name in names],
                              [helper.make_tensor_value_info(name, result, None) for name, result in results.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 2)], ir_version=8)


def check(model, x):
    feeds = {value.name: x for value in model.graph.input}
    expected = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)
    for got, want in zip(octet.compile(model.SerializeToString()).run(feeds).values(), expected, strict=True):
        assert got.shape == want.shape and got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=2e-6, atol=2e-6)


def grow(leaves, targets, depths=(3, 0, 5), modes=MODES[:1], low=-1.0, tracks=False, ids=None):
    """Random trees of these depths, with weights from `low` to 1."""
    random = np.random.default_rng(0)
    nodes = {name: [] for name in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids", "missing_value_tracks_true")}
    ends = {name: [] for name in ("treeids", "nodeids", "ids", "weights")}

    def add(tree, depth, numbers):
        number, place, isLeaf = next(numbers), len(nodes["values"]), depth == 0 or (depth < 3 and random.random() < 0.2)
        mode = "LEAF" if isLeaf else str(random.choice(modes))
        row = (tree, number, int(random.integers(COLUMNS)), random.integers(-4, 5) / 4, mode, 0, 0, int(tracks and random.random() < 0.5))
        for values, value in zip(nodes.values(), row):
            values.append(value)
        for child in () if isLeaf else ("truenodeids", "falsenodeids"):
            nodes[child][place] = add(tree, depth - 1, numbers)
        for target in ids or range(targets) if isLeaf else ():
            for values, value in zip(ends.values(), (tree, number, target, random.uniform(low, 1))):
                values.append(value)
        return number

    for tree, depth in enumerate(depths):
        add(tree, depth, itertools.count())
    return {**{f"nodes_{name}": values for name, values in nodes.items()}, **{f"{leaves}_{name}": values for name, values in ends.items()}}


def regressor(targets=1, aggregate=None, base=None, **trees):
    return make("TreeEnsembleRegressor", n_targets=targets, aggregate_function=aggregate, base_values=base, **grow("target", targets, **trees))


def classifier(labels=(4, 7, 5), post=None, base=None, **trees):
    return make("TreeEnsembleClassifier", results={"label": TensorProto.INT64, "scores": TensorProto.FLOAT}, classlabels_int64s=list(labels), post_transform=post,
                base_values=base, **grow("class", len(labels), **trees))


def samples(missing=False):
    x = np.random.default_rng(1).integers(-6, 7, (ROWS, COLUMNS)).astype(np.float32) / 4  # often as large as a threshold
    x[::3] += 0.1
    if missing:
        x[::5, 1] = np.nan
    return x


TREES = {
    **{mode: lambda mode=mode: regressor(modes=[mode]) for mode in MODES},
    "all_modes": lambda: regressor(modes=MODES),
    "missing": lambda: regressor(tracks=True),
    "targets": lambda: regressor(targets=3, base=[0.5, 1.5, -2.0]),
    **{aggregate: lambda aggregate=aggregate: regressor(aggregate=aggregate, base=[0.5]) for aggregate in ("SUM", "AVERAGE", "MIN", "MAX")},
    "classes": lambda: classifier(),
    "classes_with_base": lambda: classifier(post="SOFTMAX", base=[0.5, 1.5, -2.0]),
    "logistic_classes": lambda: classifier(post="LOGISTIC"),
    **{f"two_{post}_{low}_{base}": lambda post=post, low=low, base=base: classifier(labels=(4, 7), post=post, low=low, base=base, ids=[0])
       for post in ("NONE", "LOGISTIC") for low in (-1, 0) for base in (None, [0.25])},
    **{f"second_{post}_{low}": lambda post=post, low=low: classifier(labels=(4, 7), post=post, low=low, ids=[1]) for post in ("NONE", "LOGISTIC") for low in (-1, 0)},
}


@pytest.mark.parametrize("name", TREES)
def test_trees(name):
    check(TREES[name](), samples(missing=name == "missing"))


def linear(labels=(4, 7, 5), post=None, **changes):
    random = np.random.default_rng(0)
    attributes = dict(classlabels_ints=list(labels), post_transform=post, coefficients=random.standard_normal(len(labels) * COLUMNS), intercepts=random.standard_normal(len(labels)))
    return make("LinearClassifier", results={"label": TensorProto.INT64, "scores": TensorProto.FLOAT}, **{**attributes, **changes})


def encoder(result=TensorProto.INT64, **attributes):
    return make("LabelEncoder", kind=TensorProto.INT64, results={"y": result}, **attributes)


def categories(kind):
    return make("OneHotEncoder", kind=kind, cats_int64s=[3, -1, 0])


@pytest.mark.parametrize("post", ["NONE", "SOFTMAX", "LOGISTIC"])
@pytest.mark.parametrize("labels", [(4, 7), (4, 7, 5)])
def test_linear_classifier(labels, post):
    check(linear(labels, post), samples())


def support_vectors(kernel, count=6, **changes):
    random = np.random.default_rng(0)
    attributes = dict(n_supports=count, support_vectors=random.standard_normal(count * COLUMNS) if count else None, coefficients=random.standard_normal(count or COLUMNS),
                      rho=[0.25], kernel_type=kernel, kernel_params=[0.5, 1.5, 3.0])
    return make("SVMRegressor", **{**attributes, **changes})


@pytest.mark.parametrize("one_class", [0, 1])
@pytest.mark.parametrize("kernel", ["LINEAR", "POLY", "RBF", "SIGMOID", "no_vectors"])
def test_support_vectors(kernel, one_class):
    check(support_vectors("LINEAR", 0, one_class=one_class) if kernel == "no_vectors" else support_vectors(kernel, one_class=one_class), samples())


INTEGERS = np.random.default_rng(2).integers(-3, 5, (ROWS, COLUMNS))
ENCODERS = {
    "categories": (categories(TensorProto.INT64), INTEGERS),
    "categories_of_floats": (categories(TensorProto.FLOAT), INTEGERS.astype(np.float32)),
    "integers": (encoder(keys_int64s=[3, -1, 0], values_int64s=[10, 2**40, -5], default_int64=7), INTEGERS),
    "integers_without_default": (encoder(keys_int64s=[3, -1], values_int64s=[10, 20]), INTEGERS),
    "integers_to_floats": (encoder(result=TensorProto.FLOAT, keys_int64s=[3, -1], values_floats=[0.5, 2.5], default_float=9.0), INTEGERS),
    "vectorizer": (make("FeatureVectorizer", inputs=2, inputdimensions=[COLUMNS, COLUMNS]), samples()),
}


@pytest.mark.parametrize("name", ENCODERS)
def test_encoders(name):
    check(*ENCODERS[name])


def change(model, name, value):
    attribute, = [attribute for attribute in model.graph.node[0].attribute if attribute.name == name]
    attribute.CopyFrom(helper.make_attribute(name, value))
    return model


LABELS = {"label": TensorProto.INT64, "scores": TensorProto.FLOAT}
REFUSED = {
    "texts": (make("LinearClassifier", results=LABELS, classlabels_strings=["a", "b"], coefficients=[1.0] * 6), "labels are texts; train it with numbers as labels"),
    "text_categories": (make("OneHotEncoder", cats_strings=["a"]), "categories that are texts; encode them in front of the network"),
    "text_keys": (make("LabelEncoder", keys_strings=["a"], values_int64s=[1]), "keys that are texts; encode them outside of the network"),
    "text_values": (make("LabelEncoder", keys_int64s=[1], values_strings=["a"]), "values that are texts"),
    "keys": (encoder(keys_int64s=[1, 2], values_int64s=[1]), "has 2 keys and 1 values"),
    "one_class": (linear(classlabels_ints=[4]), "1 classes"),
    "coefficients": (linear(coefficients=[1.0]), "1 coefficients of 3 classes for an input of shape 40x3"),
    "kernel": (support_vectors("RBF", kernel_params=[1.0]), "has 1 parameters of a kernel"),
    "vectors": (support_vectors("RBF", coefficients=[1.0]), "has 1 coefficients and 18 numbers in 6 support vectors for an input of shape 40x3"),
    "columns": (make("FeatureVectorizer", inputs=2, inputdimensions=[COLUMNS, 1]), "has inputs of shape 40x3, 40x3 for 3x1 columns"),
    "two_scores": (classifier(labels=(4, 7)), "two classes whose scores are not one; export it with one score"),
    "base": (classifier(base=[1.0]), "1 base values of 3 targets"),
    "targets": (change(regressor(), "n_targets", 0), "has 0 targets"),
    "lists": (change(regressor(), "nodes_values", [1.0]), "lists of nodes of different sizes"),
    "leaf_lists": (change(regressor(), "target_weights", [1.0]), "lists of leaves of different sizes"),
    "leaves": (change(regressor(), "target_ids", [2] * len(grow("target", 1)["target_ids"])), "a leaf that is no node, or of a target that there is not"),
    "mode": (change(regressor(), "nodes_modes", ["BRANCH_MEMBER"] * len(grow("target", 1)["nodes_modes"])), "in an unknown mode"),
    "feature": (change(regressor(), "nodes_featureids", [3] * len(grow("target", 1)["nodes_modes"])), "a node that leads nowhere, or reads the feature 3 of 3"),
    "circle": (change(regressor(), "nodes_truenodeids", [0] * len(grow("target", 1)["nodes_modes"])), "has nodes that form no trees"),
    "map": (make("ZipMap", results={"y": TensorProto.FLOAT}, classlabels_int64s=[1]), 'its result is a map; export the network without it (skl2onnx: options={"zipmap": False})'),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusal(tmp_path, name):
    expect_error(tmp_path, *REFUSED[name])
