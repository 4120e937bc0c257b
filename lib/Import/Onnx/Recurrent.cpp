//===- Recurrent.cpp - RNN, GRU, LSTM ----------------------------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One linear layer takes the whole sequence; what depends on the step before is unrolled.
//
//===----------------------------------------------------------------------===//

#include "Operators.h"
#include "Recurrence.h"
#include "TensorReader.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

//===----------------------------------------------------------------------===//
// Sizes and parameters
//===----------------------------------------------------------------------===//

LogicalResult Recurrence::checkConstant(unsigned i, ShapeRef expected, StringRef role,
                                        bool isStored) {
  if (!node.has(i))
    return success();
  const HostTensor *tensor = node.constant(i);
  if (!tensor)
    return node.unsupported(role + " that are no constants");
  if (ShapeRef(tensor->shape) != expected)
    return node.invalid("has " + role + " of shape " + printShape(tensor->shape) + "; expected " +
                        printShape(expected));
  if (tensor->isInteger() != isStored)
    return node.invalid("has " + role + " of " + printElementType(tensor->elementType()) +
                        "; expected " + (isStored ? "8-bit integers" : "floats"));
  return success();
}

LogicalResult Recurrence::readSizes() {
  direction = node.getString("direction", "forward");
  directions = direction == "bidirectional" ? 2 : 1;
  isBatchFirst = node.getInt("layout", 0);
  Shape shape = node.shape(kInput);
  if (shape.size() != 3 || node.rank(kWeights) != 3)
    return node.invalid("has an input of shape " + printShape(shape) + " and weights of shape " +
                        printShape(node.shape(kWeights)) + "; expected three dimensions each");
  steps = shape[isBatchFirst ? 1 : 0], batch = shape[isBatchFirst ? 0 : 1], width = shape[2];
  size = node.getInt("hidden_size", node.shape(kWeights)[isDynamic ? 2 : 1] / numGates());
  if (size < 1 || size > kMaxElements / 8)
    return node.invalid("has hidden_size=" + Twine(size));
  if (steps > kMaxSteps)
    return node.unsupported("a sequence of " + Twine(steps) + " steps (at most " +
                            Twine(kMaxSteps) + ")");
  int64_t rows = numGates() * size;
  auto checkWeights = [&](unsigned i, int64_t inputs, StringRef role) {
    Shape shape = isDynamic ? Shape{directions, inputs, rows} : Shape{directions, rows, inputs};
    return checkConstant(i, shape, role, /*isStored=*/isDynamic);
  };
  if (failed(checkWeights(kWeights, width, "weights")) ||
      failed(checkWeights(kRecurrent, size, "recurrent weights")) ||
      failed(checkConstant(kBias, {directions, 2 * rows}, "biases")) ||
      failed(checkConstant(kPeepholes, {directions, 3 * size}, "peephole weights")))
    return failure();
  Shape state = isBatchFirst ? Shape{batch, directions, size} : Shape{directions, batch, size};
  for (unsigned i : {kHidden, kCellState})
    if (node.has(i) && node.shape(i) != state)
      return node.invalid("has an initial state of shape " + printShape(node.shape(i)) +
                          "; expected " + printShape(state));
  return success();
}

LogicalResult Recurrence::readLengths() {
  lengths.assign(batch, steps);
  if (!node.has(kLengths))
    return success();
  auto given = node.integers(kLengths, "lengths of sequences");
  if (failed(given))
    return failure();
  bool fits = llvm::all_of(*given, [&](int64_t n) { return n >= 0 && n <= steps; });
  if ((int64_t)given->size() != batch || !fits)
    return node.invalid("has the lengths [" + printShape(*given) + "] of " + Twine(batch) +
                        " sequences of at most " + Twine(steps) + " steps");
  lengths.assign(given->begin(), given->end());
  return success();
}

LogicalResult Recurrence::readActivations() {
  SmallVector<StringRef> usual{"Tanh"};
  if (cell != Cell::rnn)
    usual.insert(usual.begin(), "Sigmoid");
  if (cell == Cell::lstm)
    usual.push_back("Tanh");
  auto read = onnx_import::readActivations(node, usual, directions);
  if (failed(read))
    return failure();
  activations = *read;
  return success();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

MaybeValue Recurrence::take(MaybeValue x, int64_t axis, int64_t start, int64_t count) {
  if (failed(x))
    return failure();
  Shape sizes(shapeOf(*x)), starts(sizes.size(), 0), ones(sizes.size(), 1);
  if (sizes[axis] == count)
    return x;
  starts[axis] = start, sizes[axis] = count;
  return node.create<nn::SliceOp>(*x, starts, sizes, ones);
}

MaybeValue Recurrence::getPart(unsigned i, int64_t d, StringRef role, int64_t begin,
                               int64_t count) {
  std::string key = (role + Twine(d)).str();
  if (auto found = parts.find(key); found != parts.end())
    return found->second;
  if (isDynamic && (i == kWeights || i == kRecurrent))
    return getStoredPart(i, d, key, begin, count);
  const HostTensor &tensor = *node.constant(i);
  Shape shape(ShapeRef(tensor.shape).drop_front());
  int64_t row = *countElements(ShapeRef(shape).drop_front());
  shape[0] = count;
  std::vector<float> all = *tensor.floats();
  auto first = all.begin() + (d * tensor.shape[1] + begin) * row;
  auto value = node.materialize(
      {node.nameConstant(key), shape, std::vector<float>(first, first + count * row)});
  if (succeeded(value))
    parts[key] = *value;
  return value;
}

MaybeValue Recurrence::getStoredPart(unsigned i, int64_t d, StringRef key, int64_t begin,
                                     int64_t count) {
  const HostTensor &tensor = *node.constant(i);
  int64_t inputs = tensor.shape[1], rows = tensor.shape[2];
  unsigned scale = i == kWeights ? kWeightScale : kRecurrentScale;
  if (!node.has(scale) || !node.has(scale + 1))
    return node.invalid("has weights without a scale or a zero point");
  auto scales = node.floats(scale, "scales of weights");
  auto zeroPoints = node.integers(scale + 1, "zero points of weights");
  if (failed(scales) || failed(zeroPoints))
    return failure();
  bool isPerRow = (int64_t)scales->size() == directions * rows;
  if (scales->size() != zeroPoints->size() || (!isPerRow && (int64_t)scales->size() != directions))
    return node.invalid("has " + Twine(scales->size()) + " scales and " +
                        Twine(zeroPoints->size()) + " zero points of weights of shape " +
                        printShape(tensor.shape));
  if (node.constant(scale + 1)->type != tensor.type)
    return node.invalid("has a zero point of another type than its integers");
  numerics::QuantParams params;
  params.axis = isPerRow ? 0 : -1;
  for (int64_t row = 0; row < (isPerRow ? count : 1); ++row) {
    int64_t at = isPerRow ? d * rows + begin + row : d;
    params.scales.push_back((*scales)[at]);
    params.zeroPoints.push_back((*zeroPoints)[at]);
  }
  std::vector<int64_t> part(count * inputs);
  for (int64_t row = 0; row < count; ++row)
    for (int64_t k = 0; k < inputs; ++k)
      part[row * inputs + k] = (*tensor.integers())[(d * inputs + k) * rows + begin + row];
  auto type = makeQuantizedType(node, tensor.type, params);
  if (failed(type))
    return failure();
  HostTensor stored{node.nameConstant(key), {count, inputs}, std::move(part), tensor.type};
  auto value = node.toValue(dequantize(node, stored, *type));
  if (succeeded(value))
    parts[key] = *value;
  return value;
}

MaybeValue Recurrence::getOne() {
  if (auto found = parts.find("one"); found != parts.end())
    return found->second;
  auto one = node.number("one", 1);
  if (succeeded(one))
    parts["one"] = *one;
  return one;
}

MaybeValue Recurrence::getBias(int64_t d) {
  if (!node.has(kBias))
    return Value();
  int64_t rows = numGates() * size;
  std::vector<float> all = *node.constant(kBias)->floats(), sum(rows);
  bool isApart = cell == Cell::gru && node.getInt("linear_before_reset", 0);
  for (int64_t i = 0; i < rows; ++i)
    sum[i] = all[d * 2 * rows + i] + (isApart && i >= 2 * size ? 0 : all[d * 2 * rows + rows + i]);
  return node.materialize({node.nameConstant("bias" + Twine(d)), {rows}, std::move(sum)});
}

MaybeValue Recurrence::apply(int64_t d, unsigned i, MaybeValue x) {
  return failed(x) ? x : activations[d * (activations.size() / directions) + i].apply(node, *x);
}

MaybeValue Recurrence::activate(int64_t d, unsigned i, MaybeValue x) {
  if (float clip = node.getFloat("clip", 0); clip > 0 && succeeded(x))
    x = node.create<nn::ClipOp>(*x, llvm::APFloat(-clip), llvm::APFloat(clip));
  return apply(d, i, x);
}

State Recurrence::getInitialState(int64_t d) {
  State state;
  state.isZero = !node.has(kHidden) && !(cell == Cell::lstm && node.has(kCellState));
  auto get = [&](unsigned i) -> MaybeValue {
    if (!node.has(i))
      return node.materialize(
          {node.nameConstant("zero"), {batch, size}, std::vector<float>(batch * size, 0)});
    auto part = take(node.value(i), isBatchFirst ? 1 : 0, d, 1);
    return failed(part) ? part : node.reshape(*part, {batch, size});
  };
  if (state.isZero && !llvm::any_of(lengths, [&](int64_t n) { return n < steps; }))
    return state;
  state.isZero = false;
  state.hidden = get(kHidden);
  state.cell = cell == Cell::lstm ? get(kCellState) : MaybeValue(Value());
  return state;
}

MaybeValue Recurrence::keepEnded(MaybeValue now, MaybeValue before, int64_t t) {
  if (!hasEnded(t))
    return now;
  std::vector<float> runs, ended;
  for (int64_t length : lengths) {
    runs.push_back(t < length);
    ended.push_back(t >= length);
  }
  auto mask = [&](StringRef role, std::vector<float> values) {
    return node.materialize({node.nameConstant(role + Twine(t)), {batch, 1}, std::move(values)});
  };
  auto kept = node.compute<nn::MulOp>(now, mask("runs", runs));
  return succeeded(before) && !*before
             ? kept
             : node.compute<nn::AddOp>(kept, node.compute<nn::MulOp>(before, mask("ended", ended)));
}

//===----------------------------------------------------------------------===//
// The sequence
//===----------------------------------------------------------------------===//

/// The hidden states of all steps, [steps, batch, size].
MaybeValue Recurrence::runDirection(int64_t d, Value input, State &state) {
  auto filter = getPart(kWeights, d, "weights", 0, numGates() * size);
  auto projected = linear(input, filter, getBias(d));
  if (failed(projected))
    return failure();
  SmallVector<Value> hidden(steps);
  state = getInitialState(d);
  for (int64_t i = 0; i < steps; ++i) {
    int64_t t = isReverse(d) ? steps - 1 - i : i;
    auto row = take(projected, 0, t, 1);
    if (failed(row))
      return failure();
    State next = step(d, node.reshape(*row, {batch, numGates() * size}), state);
    auto shown = keepEnded(next.hidden, Value(), t);
    next.hidden = keepEnded(next.hidden, state.hidden, t);
    if (cell == Cell::lstm)
      next.cell = keepEnded(next.cell, state.cell, t);
    if (failed(shown) || failed(next.hidden) || failed(next.cell))
      return failure();
    hidden[t] = node.reshape(*shown, {1, batch, size});
    state = next;
  }
  return steps == 1 ? MaybeValue(hidden[0]) : node.create<nn::ConcatOp>(hidden, /*axis=*/0);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// [steps, directions, batch, size], or batch first.
LogicalResult Recurrence::setSequence(ArrayRef<Value> values) {
  SmallVector<Value> parts;
  for (Value value : values)
    parts.push_back(node.reshape(value, {steps, 1, batch, size}));
  auto all =
      parts.size() == 1 ? MaybeValue(parts[0]) : node.create<nn::ConcatOp>(parts, /*axis=*/1);
  if (succeeded(all) && isBatchFirst)
    all = node.create<nn::TransposeOp>(*all, ArrayRef<int64_t>{2, 0, 1, 3});
  return node.setResult(all);
}

LogicalResult Recurrence::setStates(ArrayRef<State> states, bool isCell, unsigned output) {
  int64_t axis = isBatchFirst ? 1 : 0;
  SmallVector<Value> parts;
  for (const State &state : states)
    parts.push_back(node.reshape(isCell ? *state.cell : *state.hidden,
                                 isBatchFirst ? Shape{batch, 1, size} : Shape{1, batch, size}));
  return node.setResult(
      parts.size() == 1 ? MaybeValue(parts[0]) : node.create<nn::ConcatOp>(parts, axis), output);
}

LogicalResult Recurrence::run() {
  if (failed(readSizes()) || failed(readLengths()) || failed(readActivations()))
    return failure();
  auto input = node.value(kInput);
  if (succeeded(input) && isBatchFirst)
    input = node.create<nn::TransposeOp>(*input, ArrayRef<int64_t>{1, 0, 2});
  if (failed(input))
    return failure();
  SmallVector<State> states(directions);
  SmallVector<Value> sequences;
  for (int64_t d = 0; d < directions; ++d) {
    auto sequence = runDirection(d, *input, states[d]);
    if (failed(sequence))
      return failure();
    sequences.push_back(*sequence);
  }
  if (node.wants(0) && failed(setSequence(sequences)))
    return failure();
  if (node.wants(1) && failed(setStates(states, /*isCell=*/false, 1)))
    return failure();
  return node.wants(2) ? setStates(states, /*isCell=*/true, 2) : success();
}

LogicalResult octet::onnx_import::importRNN(Node &node) {
  return Recurrence(node, Cell::rnn).run();
}
LogicalResult octet::onnx_import::importGRU(Node &node) {
  return Recurrence(node, Cell::gru).run();
}
LogicalResult octet::onnx_import::importLSTM(Node &node) {
  return Recurrence(node, Cell::lstm).run();
}
LogicalResult octet::onnx_import::importDynamicQuantizeLSTM(Node &node) {
  return Recurrence(node, Cell::lstm, /*isDynamic=*/true).run();
}
