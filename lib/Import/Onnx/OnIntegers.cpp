//===- OnIntegers.cpp - operators between quantized values -------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Files have operators of real numbers between QuantizeLinear and DequantizeLinear. What moves
// values or chooses among them by their order does so with the real numbers that the integers stand
// for; all others compute with the integers.
//
//===----------------------------------------------------------------------===//

#include "Compose.h"
#include "ElementTypes.h"
#include "Operators.h"
#include "Quantization.h"
#include "TensorReader.h"
#include "octet/Dialect/Kernel/Kernels.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;
using onnx::TensorProto;
using quant::QuantizedType;

namespace {
/// What the integers are that an operator reads.
struct IntegerKind {
  QuantizedType quantized;
  int32_t held; ///< as f32

  explicit IntegerKind(const Entry &entry)
      : quantized(getQuantizedType(entry)), held(entry.integers) {}
  explicit operator bool() const { return quantized || held; }
  int32_t elementType() const { return quantized ? getElementType(quantized) : held; }
  bool operator!=(const IntegerKind &other) const {
    if (!quantized || !other.quantized)
      return quantized != other.quantized || held != other.held;
    return !numerics::haveSameParams(quantized, other.quantized);
  }
};
} // namespace

/// Adds or subtracts sums of products and other integers of their type, such as a bias, all held as
/// f32.
static LogicalResult importOnSums(Node &node, LogicalResult (*import)(Node &)) {
  SmallVector<Entry> held;
  for (unsigned i = 0; i < node.numInputs(); ++i) {
    const Entry &entry = node.entry(i);
    if (!entry.integers && node.elementType(i) != TensorProto::INT32)
      return node.invalid("has operands of INT32 and " + printElementType(node.elementType(i)));
    auto value = entry.integers ? MaybeValue(entry.value) : node.cast(node.any(i), node.f32());
    if (failed(value))
      return failure();
    held.push_back({nullptr, *value});
  }
  auto result = node.compose(import, held);
  if (failed(result))
    return failure();
  result->integers = TensorProto::INT32;
  return node.setResult(*result);
}

//===----------------------------------------------------------------------===//
// As real numbers
//===----------------------------------------------------------------------===//

/// Whether the result of `op` is that of the integers: values are moved, or chosen by their order.
static bool isOfOrder(Operation *op, bool zeroIsZero) {
  if (isa<nn::ReluOp>(op))
    return zeroIsZero;
  if (isa<nn::GatherOp, nn::ReduceMaxOp, nn::ReduceMinOp, nn::MaxOp, nn::MinOp, nn::SelectOp,
          nn::CompareOp, nn::TopKOp>(op) ||
      op->hasTrait<OpTrait::ConstantLike>())
    return true;
  const kernel::OperatorRow *row = &kernel::getOperatorRow(op);
  if (row == &kernel::Operators::movement || row == &kernel::Operators::max_pool)
    return true;
  auto isReal = [](Type type) { return nn::holdsReals(type); };
  return llvm::none_of(op->getOperandTypes(), isReal) &&
         llvm::none_of(op->getResultTypes(), isReal);
}

/// The inputs as real numbers, constants of their integers' type, too; none if they are not all of
/// one kind.
static std::optional<IntegerKind> getReals(Node &node, SmallVectorImpl<Entry> &reals) {
  IntegerKind kind{Entry()};
  for (unsigned i = 0; i < node.numInputs(); ++i) {
    IntegerKind own(node.entry(i));
    if (kind && own && own != kind)
      return std::nullopt;
    kind = own ? own : kind;
  }
  for (unsigned i = 0; i < node.numInputs(); ++i) {
    const Entry &entry = node.entry(i);
    if (getQuantizedType(entry)) {
      reals.push_back(Entry{nullptr, makeReal(node, entry.value)});
    } else if (entry.value && node.elementType(i) == kind.elementType()) {
      return std::nullopt; // integers without a scale
    } else if (entry.tensor && entry.tensor->type == kind.elementType()) {
      if (!isa_and_nonnull<quant::UniformQuantizedType>(kind.quantized))
        return std::nullopt;
      reals.push_back(dequantize(node, *entry.tensor, kind.quantized));
    } else {
      reals.push_back(Entry{entry.tensor, entry.value});
    }
  }
  return kind;
}

/// Padding by the integer 0 is padding by its real number.
static bool padByInteger(Operation *op, QuantizedType type) {
  auto pad = dyn_cast<nn::PadOp>(op);
  if (!pad || !type)
    return true;
  if (!isa<quant::UniformQuantizedType>(type))
    return false;
  pad.setValueAttr(
      FloatAttr::get(Float32Type::get(op->getContext()),
                     llvm::APFloat(numerics::dequantize(0, numerics::getParams(type)))));
  return true;
}

/// Sets the results as the real numbers give them; false, and nothing is set, if integers might
/// have others.
static FailureOr<bool> computeReals(Node &node, LogicalResult (*import)(Node &)) {
  SmallVector<Entry> reals;
  Operation *before = &node.builder().getBlock()->back();
  auto kind = getReals(node, reals);
  if (!kind)
    return false;
  bool givesPadding = import == importPad && node.has(2);
  bool zeroIsZero = kind->quantized && isa<quant::UniformQuantizedType>(kind->quantized) &&
                    numerics::getParams(kind->quantized).getZeroPoint(0) == 0;
  auto results = node.composeAll(import, reals);
  if (failed(results))
    return failure();
  SmallVector<Operation *> made;
  for (Operation *op = before->getNextNode(); op; op = op->getNextNode())
    if (!isa<DequantizeOp>(op))
      made.push_back(op);
  bool isSame = llvm::all_of(made, [&](Operation *op) {
    return isOfOrder(op, zeroIsZero) && (givesPadding || padByInteger(op, kind->quantized));
  });
  if (!isSame)
    return false;
  for (auto [i, result] : llvm::enumerate(*results)) {
    if (!result)
      continue;
    bool isInteger =
        result.tensor ? result.tensor->isInteger() : !nn::holdsReals(result.value.getType());
    auto integers = isInteger    ? FailureOr<Entry>(result)
                    : kind->held ? FailureOr<Entry>(Entry{nullptr, result.value, kind->held})
                                 : quantize(node, result, kind->quantized);
    if (failed(integers) || failed(node.setResult(*integers, i)))
      return failure();
  }
  return true;
}

//===----------------------------------------------------------------------===//
// As integers
//===----------------------------------------------------------------------===//

/// An input's integers, as f32.
static MaybeValue getHeld(Node &node, const Entry &entry) {
  if (entry.integers)
    return entry.value;
  return reinterpret(node, entry.value,
                     makeUnitType(node.builder(), IntegerKind(entry).elementType()));
}

/// The node as it is, of integers without scales.
static LogicalResult computeIntegers(Node &node, LogicalResult (*import)(Node &)) {
  SmallVector<Entry> plain;
  for (unsigned i = 0; i < node.numInputs(); ++i) {
    const Entry &entry = node.entry(i);
    IntegerKind kind(entry);
    if (!kind) {
      plain.push_back(entry);
      continue;
    }
    auto held = getHeld(node, entry);
    auto value =
        failed(held)
            ? held
            : node.cast(*held, getProgramType(node.builder().getContext(), kind.elementType()));
    if (failed(value))
      return failure();
    plain.push_back(Entry{nullptr, *value});
  }
  auto results = node.composeAll(import, plain);
  if (failed(results))
    return failure();
  for (auto [i, result] : llvm::enumerate(*results))
    if (result && failed(node.setResult(result, i)))
      return failure();
  return success();
}

/// Whether an operator is one of integers alone, or has another meaning for them.
static bool isArithmetic(LogicalResult (*import)(Node &)) {
  return llvm::is_contained({importAdd, importSub, importMul, importDiv, importMod, importBitShift,
                             importAnd, importOr, importXor, importNot},
                            import);
}

LogicalResult octet::onnx_import::importOnReals(Node &node, LogicalResult (*import)(Node &)) {
  auto holdsIntegers = [&](unsigned i) { return (bool)IntegerKind(node.entry(i)); };
  if (llvm::none_of(llvm::seq(node.numInputs()), holdsIntegers))
    return import(node);
  bool isSum = llvm::any_of(llvm::seq(node.numInputs()), [&](unsigned i) {
    return node.entry(i).integers == TensorProto::INT32;
  });
  if (isSum && (import == importAdd || import == importSub))
    return importOnSums(node, import);
  if (isArithmetic(import))
    return computeIntegers(node, import);
  auto isDone = computeReals(node, import);
  if (failed(isDone))
    return failure();
  return *isDone ? success() : computeIntegers(node, import);
}

LogicalResult octet::onnx_import::importClipOfIntegers(Node &node) {
  int64_t bounds[] = {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
  for (unsigned i : {0, 1}) {
    if (!node.has(i + 1))
      continue;
    auto bound = node.integers(i + 1, "a bound");
    if (failed(bound))
      return failure();
    if (bound->size() != 1)
      return node.invalid("has " + Twine(bound->size()) + " values as a bound; expected one");
    bounds[i] = bound->front();
  }
  auto clip = [&](int64_t value) { return std::min(std::max(value, bounds[0]), bounds[1]); };
  if (const HostTensor *tensor = node.constant(0)) {
    HostTensor clipped = *tensor;
    for (int64_t &value : *std::get_if<std::vector<int64_t>>(&clipped.data))
      value = clip(value);
    return node.setResult(std::move(clipped), /*keepName=*/true);
  }
  QuantizedType type = getQuantizedType(node.entry(0));
  int64_t low = clip(type.getStorageTypeMin()), high = clip(type.getStorageTypeMax());
  if (low >= high)
    return node.unsupported("bounds that leave one value");
  Value integers = node.entry(0).value;
  auto producer = integers.getDefiningOp<QuantizeOp>();
  Value real = producer ? producer.getInput() : makeReal(node, integers);
  auto clipped = quantize(node, {nullptr, real}, numerics::withBounds(type, low, high));
  return failed(clipped) ? failure() : node.setResult(*clipped);
}

/// To floats as they are held, to integers by way of these.
LogicalResult octet::onnx_import::importCastOfIntegers(Node &node) {
  auto held = getHeld(node, node.entry(0));
  int32_t to = node.getInt("to", 0);
  Type element = getProgramType(node.builder().getContext(), to);
  if (!element)
    return node.unsupported("a cast to " + printElementType(to));
  if (failed(held) || isa<FloatType>(element))
    return node.setResult(held);
  return node.setResult(node.cast(*held, element));
}
