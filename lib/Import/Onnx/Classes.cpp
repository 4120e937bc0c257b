//===- Classes.cpp - linear classifiers ------------------------------------ ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Classifiers of the domain ai.onnx.ml give the label of a class, and a score for each class.
//
//===----------------------------------------------------------------------===//

#include "Classes.h"
#include "Operators.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

MaybeValue onnx_import::getFeatures(Node &node) {
  Shape shape = node.shape(0);
  if (shape.size() == 1)
    shape.insert(shape.begin(), 1);
  if (shape.size() != 2)
    return node.invalid("has an input of shape " + printShape(node.shape(0)));
  auto x = node.cast(node.any(0), node.f32());
  return failed(x) ? x : node.reshape(*x, shape);
}

FailureOr<Shape> onnx_import::getClassLabels(Node &node, StringRef integers) {
  if (node.attribute("classlabels_strings"))
    return node.unsupported("classes whose labels are texts; train it with numbers as labels");
  Shape labels = node.getInts(integers).value_or(Shape());
  if (labels.size() < 2)
    return node.unsupported(Twine(labels.size()) + " classes");
  return labels;
}

MaybeValue onnx_import::transformScores(Node &node, MaybeValue scores) {
  StringRef transform = node.getString("post_transform", "NONE");
  if (failed(scores) || transform == "NONE")
    return scores;
  return transform == "SOFTMAX" ? node.create<nn::SoftmaxOp>(*scores, /*axis=*/1)
                                : node.create<nn::SigmoidOp>(*scores);
}

/// A label for each row, by positions among the labels.
static LogicalResult setLabels(Node &node, ShapeRef labels, MaybeValue places) {
  auto table =
      integerConstant(node, "labels", {(int64_t)labels.size()}, {labels.begin(), labels.end()});
  if (failed(table) || failed(places))
    return failure();
  Value rows = node.reshape(*places, {*countElements(shapeOf(*places))});
  return node.setResult(node.create<nn::GatherOp>(*table, rows, /*axis=*/0));
}

LogicalResult onnx_import::setClasses(Node &node, ShapeRef labels, MaybeValue scores) {
  if (failed(scores))
    return failure();
  if (node.wants(0)) {
    auto best = node.composeAs(importArgMax, {{"axis", 1}}, {Entry{nullptr, *scores}});
    if (failed(best) || failed(setLabels(node, labels, MaybeValue(best->value))))
      return failure();
  }
  return node.wants(1) ? node.setResult(transformScores(node, scores), 1) : success();
}

LogicalResult onnx_import::setOneOfTwo(Node &node, ShapeRef labels, MaybeValue isSecond,
                                       MaybeValue scores) {
  auto places = failed(isSecond) ? isSecond : node.cast(*isSecond, node.builder().getI64Type());
  if (failed(places) || failed(scores) ||
      (node.wants(0) && failed(setLabels(node, labels, places))))
    return failure();
  return node.wants(1) ? node.setResult(scores, 1) : success();
}

/// x times the coefficients of each class, and its intercept.
LogicalResult onnx_import::importLinearClassifier(Node &node) {
  auto labels = getClassLabels(node, "classlabels_ints");
  auto x = failed(labels) ? MaybeValue() : getFeatures(node);
  if (failed(x))
    return failure();
  int64_t classes = labels->size(), columns = shapeOf(*x)[1];
  auto read = [&](StringRef name, Shape shape) -> MaybeValue {
    std::vector<float> values = node.getFloatList(name);
    if ((int64_t)values.size() != countElements(shape))
      return node.unsupported(Twine(values.size()) + " " + name + " of " + Twine(classes) +
                              " classes for an input of shape " + printShape(node.shape(0)));
    return node.materialize(HostTensor{node.nameConstant(name), shape, std::move(values)});
  };
  auto filter = read("coefficients", {classes, columns});
  auto bias = failed(filter) ? filter : read("intercepts", {classes});
  if (failed(bias))
    return failure();
  return setClasses(node, *labels, node.create<nn::LinearOp>(*x, *filter, *bias));
}
