//===- ControlFlow.cpp - If, Loop, Scan --------------------------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where conditions and trip counts are known at import, one branch is taken and loops are unrolled.
// Where a condition is computed at run time, both branches are, and a choice between their results;
// so are the states of a loop whose condition is, if the number of its trips is bounded.
//
//===----------------------------------------------------------------------===//

#include "Bounds.h"
#include "Compose.h"
#include "Operators.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

static Entry makeInteger(int64_t value) {
  return {std::make_shared<HostTensor>(HostTensor{"trip", {}, std::vector<int64_t>{value}}), {}};
}

/// The one element of a constant of integers or booleans.
static std::optional<int64_t> getInteger(const Entry &entry) {
  const auto *values = entry.tensor ? entry.tensor->integers() : nullptr;
  return values && values->size() == 1 ? std::optional((*values)[0]) : std::nullopt;
}

static FailureOr<const onnx::GraphProto *> getBody(Node &node, StringRef name) {
  const onnx::AttributeProto *attribute = node.attribute(name);
  if (!attribute)
    return node.invalid("lacks the attribute " + name);
  return &attribute->g();
}

static std::string print(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

static bool isSameConstant(const Entry &a, const Entry &b) {
  return a.tensor && b.tensor && a.tensor->shape == b.tensor->shape &&
         a.tensor->data == b.tensor->data;
}

static bool isTensor(const Entry &entry) { return entry.tensor || entry.value; }

/// One of two values by a condition with one element.
static FailureOr<Entry> choose(Node &node, const Entry &condition, const Entry &yes,
                               const Entry &no) {
  if (isSameConstant(yes, no))
    return yes;
  if (!isTensor(yes) || !isTensor(no))
    return node.unsupported("a condition that is computed at run time and chooses between "
                            "sequences, or nothing (--input-value makes an input a constant)");
  auto bit = node.toValue(condition), first = node.toValue(yes), second = node.toValue(no);
  if (failed(bit) || failed(first) || failed(second))
    return failure();
  if (first->getType() != second->getType())
    return node.unsupported("a condition that is computed at run time and chooses between " +
                            print(first->getType()) + " and " + print(second->getType()) +
                            " (--input-value makes an input a constant)");
  auto chosen = node.createAs<nn::SelectOp>(getElementTypeOrSelf(*first), node.reshape(*bit, {}),
                                            *first, *second);
  return failed(chosen) ? FailureOr<Entry>() : Entry{nullptr, *chosen};
}

static FailureOr<SmallVector<Entry>> chooseAll(Node &node, const Entry &condition,
                                               ArrayRef<Entry> yes, ArrayRef<Entry> no) {
  SmallVector<Entry> chosen;
  for (auto [first, second] : llvm::zip_equal(yes, no)) {
    auto entry = choose(node, condition, first, second);
    if (failed(entry))
      return failure();
    chosen.push_back(*entry);
  }
  return chosen;
}

static FailureOr<SmallVector<Entry>> callBranch(Node &node, StringRef name) {
  auto body = getBody(node, name);
  return failed(body) ? FailureOr<SmallVector<Entry>>() : node.call(**body, {});
}

LogicalResult octet::onnx_import::importIf(Node &node) {
  if (auto condition = getInteger(node.entry(0))) {
    auto results = callBranch(node, *condition ? "then_branch" : "else_branch");
    return failed(results) ? failure() : node.setResults(*results);
  }
  auto yes = callBranch(node, "then_branch"), no = callBranch(node, "else_branch");
  if (failed(yes) || failed(no))
    return failure();
  if (yes->size() != no->size())
    return node.invalid("has branches of " + Twine(yes->size()) + " and " + Twine(no->size()) +
                        " outputs");
  auto results = chooseAll(node, node.entry(0), *yes, *no);
  return failed(results) ? failure() : node.setResults(*results);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// The tensors behind one another along a new dimension `axis`.
static FailureOr<Entry> stack(Node &node, ArrayRef<Entry> parts, int64_t axis) {
  if (!llvm::all_of(parts, isTensor))
    return node.invalid("has sequences or nothing as results of its trips");
  bool isConstant = llvm::all_of(parts, [](const Entry &part) { return !!part.tensor; });
  if (isConstant) {
    HostTensor whole{node.nameConstant("trips"), {}, {}};
    std::vector<int64_t> integers;
    std::vector<float> floats;
    for (const Entry &part : parts) {
      if (part.tensor->shape != parts[0].tensor->shape ||
          part.tensor->elementType() != parts[0].tensor->elementType() || axis != 0)
        return node.unsupported("constants of several shapes or types as one result");
      if (const auto *values = part.tensor->integers())
        integers.insert(integers.end(), values->begin(), values->end());
      else
        llvm::append_range(floats, *part.tensor->floats());
    }
    whole.shape = parts[0].tensor->shape;
    whole.shape.insert(whole.shape.begin(), parts.size());
    if (parts[0].tensor->isInteger()) {
      whole.data = std::move(integers);
      whole.type = parts[0].tensor->type;
    } else {
      whole.data = std::move(floats);
    }
    return Entry{std::make_shared<HostTensor>(std::move(whole)), {}};
  }
  SmallVector<Value> values;
  for (const Entry &part : parts) {
    auto value = node.toValue(part);
    if (failed(value))
      return failure();
    Shape shape(shapeOf(*value));
    if (!values.empty() && shape.size() + 1 != shapeOf(values[0]).size())
      return node.unsupported("results of several shapes as one");
    shape.insert(shape.begin() + std::min<int64_t>(axis, shape.size()), 1);
    values.push_back(node.reshape(*value, shape));
  }
  auto joined =
      values.size() == 1 ? MaybeValue(values[0]) : node.create<nn::ConcatOp>(values, axis);
  return failed(joined) ? FailureOr<Entry>() : Entry{nullptr, *joined};
}

namespace {
/// The states of a loop: as they are behind its last trip, and as its next trip reads them. These
/// differ in constants: a counter counts on where a condition has ended the loop, so that what is
/// known of it stays known.
struct LoopStates {
  SmallVector<Entry> last, next;
  Entry goesOn;
};
} // namespace

/// Whether a loop goes on behind a trip; a constant as soon as that does not depend on the run.
static FailureOr<Entry> chooseCondition(Node &node, const Entry &goesOn, const Entry &result) {
  if (getInteger(goesOn) || getInteger(result) == 0)
    return result;
  if (getInteger(result))
    return goesOn;
  if (auto only = findOnlyValue(result.value))
    return chooseCondition(node, goesOn, {std::make_shared<HostTensor>(std::move(*only)), {}});
  auto both =
      node.create<nn::AndOp>(node.reshape(goesOn.value, {}), node.reshape(result.value, {}));
  return failed(both) ? FailureOr<Entry>() : FailureOr<Entry>(Entry{nullptr, *both});
}

/// The states behind a trip are its `results`, or those before it if the loop has ended.
static LogicalResult endTrip(Node &node, LoopStates &states, ArrayRef<Entry> results) {
  SmallVector<Entry> last(results.drop_front());
  if (!getInteger(states.goesOn)) {
    auto chosen = chooseAll(node, states.goesOn, last, states.last);
    if (failed(chosen))
      return failure();
    last = *chosen;
  }
  for (auto [i, result] : llvm::enumerate(results.drop_front()))
    states.next[i] = states.next[i].tensor && result.tensor ? result : last[i];
  states.last = std::move(last);
  auto goesOn = chooseCondition(node, states.goesOn, results[0]);
  if (succeeded(goesOn))
    states.goesOn = *goesOn;
  return success(succeeded(goesOn));
}

/// How many trips are tried where only the body says when the loop ends.
static constexpr int64_t kMaxOpenTrips = 1024;

LogicalResult octet::onnx_import::importLoop(Node &node) {
  auto body = getBody(node, "body");
  if (failed(body))
    return failure();
  unsigned numStates = node.numInputs() < 2 ? 0 : node.numInputs() - 2;
  if ((*body)->input_size() != int(numStates + 2) || (*body)->output_size() < int(numStates + 1))
    return node.invalid("has a body of " + Twine((*body)->input_size()) + " inputs and " +
                        Twine((*body)->output_size()) + " outputs for " + Twine(numStates) +
                        " states");
  auto trips = node.has(0) ? getInteger(node.entry(0)) : std::optional(INT64_MAX);
  if (!trips)
    return node.unsupported("a number of trips that is computed at run time");
  LoopStates states;
  for (unsigned i = 0; i < numStates; ++i)
    states.last.push_back(node.entry(i + 2));
  states.next = states.last;
  SmallVector<SmallVector<Entry>> scanned((*body)->output_size() - numStates - 1);
  states.goesOn = node.has(1) ? node.entry(1) : makeInteger(1);
  for (int64_t trip = 0; trip < *trips && getInteger(states.goesOn) != 0; ++trip) {
    bool isOpen = *trips > kMaxSteps && trip == kMaxOpenTrips;
    if (!getInteger(states.goesOn) && (isOpen || !scanned.empty()))
      return node.unsupported("a condition that is computed at run time, without a number of "
                              "trips or with results that are stacked");
    if (trip == kMaxSteps)
      return node.unsupported("more than " + Twine(kMaxSteps) + " trips");
    SmallVector<Entry> arguments{makeInteger(trip), makeInteger(1)};
    llvm::append_range(arguments, states.next);
    auto results = node.call(**body, arguments);
    if (failed(results) ||
        failed(endTrip(node, states, ArrayRef(*results).take_front(numStates + 1))))
      return failure();
    for (auto [list, result] : llvm::zip(scanned, ArrayRef(*results).drop_front(numStates + 1)))
      list.push_back(result);
  }
  for (ArrayRef<Entry> list : scanned) {
    auto whole = list.empty() ? FailureOr<Entry>(node.unsupported("a loop without a trip"))
                              : stack(node, list, 0);
    if (failed(whole))
      return failure();
    states.last.push_back(*whole);
  }
  return node.setResults(states.last);
}

/// Element `i` of an input along `axis`, without that dimension.
static FailureOr<Entry> takeElement(Node &node, unsigned input, int64_t axis, int64_t i) {
  Shape shape = node.shape(input), sizes(shape), starts(shape.size(), 0), ones(shape.size(), 1);
  auto value = node.value(input);
  if (failed(value))
    return failure();
  starts[axis] = i, sizes[axis] = 1;
  auto slice = node.create<nn::SliceOp>(*value, starts, sizes, ones);
  if (failed(slice))
    return failure();
  shape.erase(shape.begin() + axis);
  return Entry{nullptr, node.reshape(*slice, shape)};
}

static SmallVector<int64_t> getList(Node &node, StringRef name, int64_t count) {
  Shape values = node.getInts(name).value_or(Shape());
  values.resize(count, 0);
  return values;
}

namespace {

/// A Scan: its first inputs are states, the others are taken apart.
class Scan {
public:
  explicit Scan(Node &node) : node(node) {}
  LogicalResult run();

private:
  LogicalResult readSizes();
  LogicalResult runTrip(int64_t trip);
  LogicalResult setResults();

  Node &node;
  const onnx::GraphProto *body = nullptr;
  int64_t numScanned = 0, numStates = 0, trips = 0;
  Shape axes, backwards;
  SmallVector<Entry> states;
  SmallVector<SmallVector<Entry>> results; ///< of every trip, by output
};

} // namespace

LogicalResult Scan::readSizes() {
  auto graph = getBody(node, "body");
  if (failed(graph))
    return failure();
  if (node.opset() < 9)
    return node.unsupported("the form of opset 8, with batches");
  body = *graph;
  numScanned = node.getInt("num_scan_inputs", 0);
  numStates = (int64_t)node.numInputs() - numScanned;
  int64_t numResults = body->output_size() - numStates;
  if (numScanned < 1 || numStates < 0 || numResults < 0 ||
      body->input_size() != int(node.numInputs()))
    return node.invalid("has " + Twine(node.numInputs()) + " inputs, " + Twine(numScanned) +
                        " of them scanned, and a body of " + Twine(body->input_size()) +
                        " inputs and " + Twine(body->output_size()) + " outputs");
  results.resize(numResults);
  axes = getList(node, "scan_input_axes", numScanned);
  backwards = getList(node, "scan_input_directions", numScanned);
  for (int64_t i = 0; i < numScanned; ++i) {
    Shape shape = node.shape(numStates + i);
    auto axis = node.normalizeAxis(axes[i], shape.size());
    if (failed(axis))
      return failure();
    axes[i] = *axis;
    if (i && shape[*axis] != trips)
      return node.invalid("scans inputs of " + Twine(trips) + " and " + Twine(shape[*axis]) +
                          " elements");
    trips = shape[*axis];
  }
  return trips > kMaxSteps ? node.unsupported("more than " + Twine(kMaxSteps) + " trips")
                           : success();
}

LogicalResult Scan::runTrip(int64_t trip) {
  SmallVector<Entry> arguments(states);
  for (int64_t i = 0; i < numScanned; ++i) {
    auto element =
        takeElement(node, numStates + i, axes[i], backwards[i] ? trips - 1 - trip : trip);
    if (failed(element))
      return failure();
    arguments.push_back(*element);
  }
  auto made = node.call(*body, arguments);
  if (failed(made))
    return failure();
  std::copy_n(made->begin(), numStates, states.begin());
  for (auto [list, result] : llvm::zip(results, ArrayRef(*made).drop_front(numStates)))
    list.push_back(result);
  return success();
}

LogicalResult Scan::setResults() {
  Shape resultAxes = getList(node, "scan_output_axes", results.size()),
        areBackwards = getList(node, "scan_output_directions", results.size());
  for (auto [i, list] : llvm::enumerate(results)) {
    if (areBackwards[i])
      std::reverse(list.begin(), list.end());
    auto axis = node.normalizeAxis(resultAxes[i], shapeOf(list[0]).size() + 1);
    auto whole = failed(axis) ? FailureOr<Entry>() : stack(node, list, *axis);
    if (failed(whole))
      return failure();
    states.push_back(*whole);
  }
  return node.setResults(states);
}

LogicalResult Scan::run() {
  if (failed(readSizes()))
    return failure();
  for (int64_t i = 0; i < numStates; ++i)
    states.push_back(node.entry(i));
  for (int64_t trip = 0; trip < trips; ++trip)
    if (failed(runTrip(trip)))
      return failure();
  return setResults();
}

LogicalResult octet::onnx_import::importScan(Node &node) { return Scan(node).run(); }
