//===- Classes.h - results of classifiers -----------------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_IMPORT_ONNX_CLASSES_H
#define OCTET_LIB_IMPORT_ONNX_CLASSES_H

#include "Compose.h"

namespace octet::onnx_import {

/// The input of a model of ai.onnx.ml, numbers of any type, as f32 rows; a vector is one row.
MaybeValue getFeatures(Node &node);
/// The labels of the classes; an obstacle if they are texts.
llvm::FailureOr<Shape> getClassLabels(Node &node, llvm::StringRef integers);
/// `post_transform` of scores [rows, classes].
MaybeValue transformScores(Node &node, MaybeValue scores);
/// Sets the results to the label of the largest of the scores, the first of equal ones, and to the
/// transformed scores.
llvm::LogicalResult setClasses(Node &node, ShapeRef labels, MaybeValue scores);
/// Sets the results to the second label where `isSecond` holds, [rows, 1], and to the scores.
llvm::LogicalResult setOneOfTwo(Node &node, ShapeRef labels, MaybeValue isSecond,
                                MaybeValue scores);

} // namespace octet::onnx_import

#endif // OCTET_LIB_IMPORT_ONNX_CLASSES_H
