//===- Sequences.cpp - sequences of tensors, optional ones --------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The length of each sequence is known at import, so that it is a list of entries there and nothing
// in the program. An optional is what it holds; an empty one is no entry.
//
//===----------------------------------------------------------------------===//

#include "Compose.h"
#include "Operators.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

using Elements = std::vector<Entry>;

static LogicalResult setSequence(Node &node, Elements elements, unsigned output = 0) {
  Entry entry;
  entry.sequence = std::make_shared<const Elements>(std::move(elements));
  return node.setResult(entry, output);
}

/// The elements of input 0.
static FailureOr<Elements> getElements(Node &node) {
  if (!node.entry(0).sequence)
    return node.invalid("has an input that is no sequence");
  return *node.entry(0).sequence;
}

/// Input `i`, a position in a sequence of `size` elements or at its end, or `otherwise`.
static FailureOr<int64_t> getPosition(Node &node, unsigned i, int64_t size, int64_t end,
                                      int64_t otherwise) {
  if (!node.has(i))
    return otherwise;
  if (node.entry(i).sequence)
    return node.invalid("has a sequence as a position");
  auto given = node.integers(i, "a position");
  if (failed(given))
    return failure();
  int64_t position = given->size() == 1 ? given->front() : INT64_MAX;
  if (position < -size || position >= end)
    return node.invalid("has the position [" + printShape(*given) + "] in a sequence of " +
                        Twine(size) + " elements");
  return position < 0 ? position + size : position;
}

LogicalResult onnx_import::importSequenceConstruct(Node &node) {
  Elements elements;
  for (unsigned i = 0; i < node.numInputs(); ++i) {
    if (!node.has(i) || node.entry(i).sequence)
      return node.invalid("lacks its input " + Twine(i) + ", or has a sequence as one");
    elements.push_back(node.entry(i));
  }
  return setSequence(node, std::move(elements));
}

LogicalResult onnx_import::importSequenceAt(Node &node) {
  auto elements = getElements(node);
  if (failed(elements))
    return failure();
  int64_t size = elements->size();
  auto position = getPosition(node, 1, size, size, 0);
  return failed(position) ? failure() : node.setResult((*elements)[*position]);
}

LogicalResult onnx_import::importSequenceLength(Node &node) {
  auto elements = getElements(node);
  if (failed(elements))
    return failure();
  return node.setResult(HostTensor{"", {}, std::vector<int64_t>{(int64_t)elements->size()}});
}

LogicalResult onnx_import::importSequenceInsert(Node &node) {
  auto elements = getElements(node);
  if (failed(elements))
    return failure();
  int64_t size = elements->size();
  auto position = getPosition(node, 2, size, size + 1, size);
  if (failed(position))
    return failure();
  if (node.entry(1).sequence)
    return node.invalid("inserts a sequence");
  elements->insert(elements->begin() + *position, node.entry(1));
  return setSequence(node, std::move(*elements));
}

LogicalResult onnx_import::importSequenceErase(Node &node) {
  auto elements = getElements(node);
  if (failed(elements))
    return failure();
  int64_t size = elements->size();
  auto position = getPosition(node, 1, size, size, size - 1);
  if (failed(position))
    return failure();
  if (size == 0)
    return node.invalid("erases an element of an empty sequence");
  elements->erase(elements->begin() + *position);
  return setSequence(node, std::move(*elements));
}

/// Its graph for each element, with the elements at the same place of other sequences and whole
/// tensors.
LogicalResult onnx_import::importSequenceMap(Node &node) {
  auto elements = getElements(node);
  const onnx::AttributeProto *body = node.attribute("body");
  if (failed(elements) || !body)
    return failed(elements) ? failure() : node.invalid("lacks the attribute body");
  if (body->g().input_size() != int(node.numInputs()) ||
      body->g().output_size() != int(node.numOutputs()))
    return node.invalid("has a body of " + Twine(body->g().input_size()) + " inputs and " +
                        Twine(body->g().output_size()) + " outputs");
  std::vector<Elements> results(node.numOutputs());
  for (size_t i = 0; i < elements->size(); ++i) {
    SmallVector<Entry> arguments;
    for (unsigned input = 0; input < node.numInputs(); ++input) {
      const Entry &entry = node.entry(input);
      if (!entry || (entry.sequence && entry.sequence->size() != elements->size()))
        return node.invalid("has sequences of different lengths, or lacks an input");
      arguments.push_back(entry.sequence ? (*entry.sequence)[i] : entry);
    }
    auto made = node.call(body->g(), arguments);
    if (failed(made))
      return failure();
    for (auto [list, result] : llvm::zip(results, *made))
      list.push_back(result);
  }
  for (auto [i, list] : llvm::enumerate(results))
    if (node.wants(i) && failed(setSequence(node, std::move(list), i)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Pieces of a tensor
//===----------------------------------------------------------------------===//

/// `count` elements of input 0 along `axis`.
static FailureOr<Entry> takePiece(Node &node, int64_t axis, int64_t start, int64_t count) {
  Shape shape = node.shape(0), starts(shape.size(), 0), steps(shape.size(), 1);
  int64_t offset = start * getStrides(shape)[axis];
  starts[axis] = start;
  Shape strides = getStrides(shape);
  shape[axis] = count;
  if (const HostTensor *tensor = node.constant(0)) {
    HostTensor piece = takeStrided(*tensor, shape, strides, offset);
    piece.name = node.nameConstant("piece_" + Twine(start));
    return Entry{std::make_shared<HostTensor>(std::move(piece)), {}};
  }
  auto value = node.any(0);
  auto slice = failed(value) ? value : node.create<nn::SliceOp>(*value, starts, shape, steps);
  return failed(slice) ? FailureOr<Entry>() : Entry{nullptr, *slice};
}

static Entry view(Node &node, const Entry &entry, ShapeRef shape) {
  if (entry.tensor)
    return {std::make_shared<HostTensor>(reshape(*entry.tensor, shape)), {}};
  return {nullptr, node.reshape(entry.value, shape)};
}

/// One element each by default, pieces of one size (of which the last may be smaller), or of given
/// sizes.
static FailureOr<Shape> readPieces(Node &node, int64_t size) {
  constexpr int64_t kMostPieces = 1024;
  auto check = [&](int64_t count) {
    return count <= kMostPieces ? success()
                                : node.unsupported("a sequence of " + Twine(count) + " pieces");
  };
  if (!node.has(1))
    return failed(check(size)) ? FailureOr<Shape>() : Shape(size, 1);
  if (node.entry(1).sequence)
    return node.invalid("has a sequence as sizes of pieces");
  auto given = node.integers(1, "sizes of pieces");
  if (failed(given))
    return failure();
  Shape pieces = *given;
  bool isEqual = node.shape(1).empty() && pieces[0] > 0;
  if (failed(check(isEqual ? size / pieces[0] : pieces.size())))
    return failure();
  if (isEqual) {
    pieces.assign(size / pieces[0], pieces[0]);
    if (int64_t rest = size % given->front())
      pieces.push_back(rest);
  }
  int64_t total = 0;
  for (int64_t piece : pieces)
    total += piece > 0 && piece <= size ? piece : kMaxElements;
  if (total != size)
    return node.invalid("splits " + Twine(size) + " elements into pieces of [" +
                        printShape(*given) + "]");
  return pieces;
}

LogicalResult onnx_import::importSplitToSequence(Node &node) {
  if (node.entry(0).sequence)
    return node.invalid("splits a sequence");
  auto axis = node.normalizeAxis(node.getInt("axis", 0), node.rank(0));
  auto pieces = failed(axis) ? FailureOr<Shape>() : readPieces(node, node.shape(0)[*axis]);
  if (failed(pieces))
    return failure();
  bool dropsAxis = !node.has(1) && !node.getInt("keepdims", 1);
  Elements elements;
  int64_t start = 0;
  for (int64_t count : *pieces) {
    auto piece = takePiece(node, *axis, start, count);
    if (failed(piece))
      return failure();
    Shape shape = shapeOf(*piece);
    if (dropsAxis)
      shape.erase(shape.begin() + *axis);
    elements.push_back(dropsAxis ? view(node, *piece, shape) : *piece);
    start += count;
  }
  return setSequence(node, std::move(elements));
}

LogicalResult onnx_import::importConcatFromSequence(Node &node) {
  auto elements = getElements(node);
  if (failed(elements))
    return failure();
  if (elements->empty())
    return node.unsupported("an empty sequence");
  if (node.getInt("new_axis", 0)) {
    int64_t rank = shapeOf(elements->front()).size() + 1;
    auto axis = node.normalizeAxis(node.getInt("axis", 0), rank);
    if (failed(axis))
      return failure();
    for (Entry &element : *elements) {
      Shape shape = shapeOf(element);
      shape.insert(shape.begin() + std::min<int64_t>(*axis, shape.size()), 1);
      element = view(node, element, shape);
    }
  }
  auto result = node.compose(importConcat, *elements);
  return failed(result) ? failure() : node.setResult(*result);
}

//===----------------------------------------------------------------------===//
// Optionals
//===----------------------------------------------------------------------===//

LogicalResult onnx_import::importOptional(Node &node) {
  return node.setResult(node.has(0) ? node.entry(0) : Entry());
}

LogicalResult onnx_import::importOptionalHasElement(Node &node) {
  return node.setResult(
      HostTensor{"", {}, std::vector<int64_t>{node.has(0)}, onnx::TensorProto::BOOL});
}

LogicalResult onnx_import::importOptionalGetElement(Node &node) {
  return node.setResult(node.entry(0));
}
