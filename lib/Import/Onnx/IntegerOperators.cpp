//===- IntegerOperators.cpp - quantized at run time ----------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// DynamicQuantizeLinear finds scale and zero point in each run, so that its integers have no
// quantized type. They are held as f32, which is exact up to 2^24; sums of products that may become
// larger are computed in two parts. Integers of known parameters run in integers.
//
//===----------------------------------------------------------------------===//

#include "Compose.h"
#include "Operators.h"
#include "Quantization.h"
#include "octet/Dialect/NN/Constants.h"
#include "octet/Dialect/Octet/Octet.h"
#include "octet/Numerics/Quantize.h"
#include "octet/Numerics/Requantize.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;
using onnx::TensorProto;
using quant::QuantizedType;

/// [N.dynamic_conv] The largest |q - zero point| of 8-bit integers.
static constexpr int64_t kMostDistance = 255;

/// A constant of no dimensions.
template <typename T> static Value makeNumber(Node &node, StringRef role, Type element, T value) {
  return nn::createConstant<T>(node.builder(), node.loc(), node.nameConstant(role),
                               RankedTensorType::get({}, element), ArrayRef<T>(value));
}

static Value makeOne(Node &node) { return makeNumber<float>(node, "one", node.f32(), 1); }
static Value makeZeroPoint(Node &node, int32_t value) {
  return makeNumber<int32_t>(node, "zero_point", node.builder().getI32Type(), value);
}

/// Integers that are quantized at run time, or what they are above a zero point, as f32.
static Value holdAsFloats(Node &node, Value integers, Value zeroPoint) {
  return DequantizeDynamicOp::create(node.builder(), node.loc(),
                                     RankedTensorType::get(shapeOf(integers), node.f32()), integers,
                                     makeOne(node), zeroPoint);
}

namespace {
/// [N.dynamic]
struct Dynamic {
  Value integers, scale, zeroPoint;
};
} // namespace

static Dynamic chooseAndQuantize(Node &node, Value x) {
  OpBuilder &builder = node.builder();
  auto getScalarType = [](Type element) { return RankedTensorType::get({}, element); };
  auto params = ChooseQParamsOp::create(
      builder, node.loc(), getScalarType(node.f32()), getScalarType(builder.getI32Type()), x,
      builder.getDenseI64ArrayAttr({0, 255}), /*per_row=*/false, /*onnx=*/true);
  auto type = RankedTensorType::get(shapeOf(x), makeUnitType(builder, TensorProto::UINT8));
  Value integers = QuantizeDynamicOp::create(builder, node.loc(), type, x, params.getScale(),
                                             params.getZeroPoint());
  return {integers, params.getScale(), params.getZeroPoint()};
}

Value octet::onnx_import::roundInEachRun(Node &node, Value x) {
  auto [integers, scale, zeroPoint] = chooseAndQuantize(node, x);
  return DequantizeDynamicOp::create(node.builder(), node.loc(), x.getType(), integers, scale,
                                     zeroPoint);
}

/// The results of DynamicQuantizeLinear on input 0.
static FailureOr<std::array<Entry, 3>> quantizeInEachRun(Node &node) {
  auto x = node.value(0);
  if (failed(x))
    return failure();
  Dynamic dynamic = chooseAndQuantize(node, *x);
  auto zeroPoint = node.cast(dynamic.zeroPoint, node.f32());
  if (failed(zeroPoint))
    return failure();
  Value held = holdAsFloats(node, dynamic.integers, makeZeroPoint(node, 0));
  return std::array<Entry, 3>{Entry{nullptr, held, TensorProto::UINT8},
                              Entry{nullptr, dynamic.scale},
                              Entry{nullptr, *zeroPoint, TensorProto::UINT8}};
}

LogicalResult octet::onnx_import::importDynamicQuantizeLinear(Node &node) {
  auto results = quantizeInEachRun(node);
  return failed(results) ? failure() : node.setResults(*results);
}

//===----------------------------------------------------------------------===//
// Operands of integer products
//===----------------------------------------------------------------------===//

/// The type with a scale of 1 and the zero points in input `i`, or 0.
static FailureOr<QuantizedType> readUnitType(Node &node, unsigned i, int32_t elementType,
                                             ShapeRef shape, int64_t axis) {
  numerics::QuantParams params;
  Shape zeroPoints{0};
  if (node.has(i)) {
    auto values = node.integers(i, "a zero point");
    if (failed(values))
      return failure();
    if (node.constant(i)->type != elementType)
      return node.invalid("has a zero point of another type than its integers");
    zeroPoints = *values;
  }
  if (zeroPoints.size() > 1 &&
      (axis >= (int64_t)shape.size() || shape[axis] != (int64_t)zeroPoints.size()))
    return node.invalid("has " + Twine(zeroPoints.size()) + " zero points for a tensor of shape " +
                        printShape(shape));
  params.axis = zeroPoints.size() > 1 ? axis : -1;
  params.scales.assign(zeroPoints.size(), 1.0f);
  params.zeroPoints.assign(zeroPoints.begin(), zeroPoints.end());
  return makeQuantizedType(node, elementType, params);
}

/// Whether these are integers of a tensor of bytes, such as rows of a table.
static bool arePlainBytes(const Entry &entry) {
  return entry.value && getElementTypeOrSelf(entry.value.getType()).isInteger(8);
}

/// Integers that are held as f32, less the zero point in input `zeroPoint`.
static FailureOr<Entry> subtractZeroPoint(Node &node, Value integers, unsigned zeroPoint) {
  if (!node.has(zeroPoint))
    return Entry{nullptr, integers};
  Value point = node.entry(zeroPoint).value;
  if (const HostTensor *constant = node.constant(zeroPoint)) {
    if (constant->size() != 1)
      return node.unsupported("several zero points of a tensor quantized at run time");
    auto number = node.number("zero_point", constant->integers()->front());
    if (failed(number))
      return failure();
    point = *number;
  }
  auto distance = node.create<nn::SubOp>(integers, point);
  return failed(distance) ? FailureOr<Entry>() : Entry{nullptr, *distance};
}

/// Input `i` less its zero point, as real numbers: weights and quantized values dequantized with a
/// scale of 1, integers held as f32 by a subtraction.
static FailureOr<Entry> getDistances(Node &node, unsigned i, unsigned zeroPoint, int64_t axis) {
  const Entry &entry = node.entry(i);
  if (arePlainBytes(entry)) {
    auto held = node.cast(entry.value, node.f32());
    return failed(held) ? FailureOr<Entry>() : subtractZeroPoint(node, *held, zeroPoint);
  }
  QuantizedType own = getQuantizedType(entry);
  int32_t elementType = own            ? getElementType(own)
                        : entry.tensor ? entry.tensor->type
                                       : entry.integers;
  if (elementType != TensorProto::UINT8 && elementType != TensorProto::INT8)
    return node.invalid("multiplies a tensor that does not hold 8-bit integers");
  if (!own && !entry.tensor)
    return subtractZeroPoint(node, entry.value, zeroPoint);
  auto type = readUnitType(node, zeroPoint, elementType, node.shape(i), axis);
  if (failed(type))
    return failure();
  if (entry.tensor)
    return dequantize(node, *entry.tensor, *type);
  auto same = reinterpret(node, entry.value, *type);
  return failed(same) ? FailureOr<Entry>() : Entry{nullptr, *same};
}

template <typename OpTy> static OpTy getProducer(const Entry &entry) {
  return entry.value ? entry.value.getDefiningOp<OpTy>() : OpTy();
}

/// [N.dynamic_product] The integers of input 0 above the zero point in input 2, as products of
/// integers read them, if they were quantized at run time; else null.
static Value getDynamicInput(Node &node) {
  auto held = getProducer<DequantizeDynamicOp>(node.entry(0));
  if (!held)
    return {};
  if (!node.has(2))
    return holdAsFloats(node, held.getInput(), makeZeroPoint(node, 0));
  auto cast = getProducer<nn::CastOp>(node.entry(2));
  bool isChosen = cast && cast.getInput().getDefiningOp<ChooseQParamsOp>();
  return isChosen ? holdAsFloats(node, held.getInput(), cast.getInput()) : Value();
}

/// The largest sum of |w| over the weights of an output, which are `count` neighbours.
static int64_t getLargestSum(ArrayRef<float> weights, int64_t outputs, bool areColumns) {
  int64_t count = weights.size() / std::max<int64_t>(outputs, 1), largest = 0;
  for (int64_t output = 0; output < outputs; ++output) {
    int64_t sum = 0;
    for (int64_t i = 0; i < count; ++i)
      sum += (int64_t)std::abs(weights[areColumns ? i * outputs + output : output * count + i]);
    largest = std::max(largest, sum);
  }
  return largest;
}

/// `weights` as 16 times what is returned plus what is left in them; both are integers of `type`.
static HostTensor splitOff(HostTensor &weights, QuantizedType type) {
  HostTensor high = weights;
  high.quantized = weights.quantized = type;
  auto &values = *std::get_if<std::vector<float>>(&weights.data);
  auto &parts = *std::get_if<std::vector<float>>(&high.data);
  for (auto [value, part] : llvm::zip(values, parts)) {
    part = std::nearbyint(value / 16);
    value -= part * 16;
  }
  return high;
}

/// The product of `lhs` by 16 times `high` and by `low`, rounded once.
static FailureOr<Entry> multiplyParts(Node &node, LogicalResult (*import)(Node &), const Entry &lhs,
                                      const Entry &high, const Entry &low) {
  auto highSum = node.compose(import, {lhs, high}), lowSum = node.compose(import, {lhs, low});
  if (failed(highSum) || failed(lowSum))
    return failure();
  auto scaled = node.compute<nn::MulOp>(MaybeValue(highSum->value), node.number("sixteen", 16));
  auto sum = node.compute<nn::AddOp>(scaled, MaybeValue(lowSum->value));
  return failed(sum) ? FailureOr<Entry>() : Entry{nullptr, *sum};
}

/// Refuses products of which f32 does not hold the sums of either part.
static LogicalResult checkParts(Node &node, int64_t largestSum) {
  if (largestSum / 16 * kMostDistance * 2 <= numerics::kMaxExactInFloat)
    return success();
  return node.unsupported("sums of products beyond 2^28, of integers that are computed");
}

/// The product of `lhs` by constant weights, correctly rounded to f32: in two parts where f32 does
/// not hold every sum.
static FailureOr<Entry> multiply(Node &node, LogicalResult (*import)(Node &), const Entry &lhs,
                                 const Entry &weights, int64_t largestSum) {
  bool isStored = isa_and_nonnull<DequantizeOp>(lhs.value ? lhs.value.getDefiningOp() : nullptr);
  if (isStored || largestSum * kMostDistance <= numerics::kMaxExactInFloat)
    return node.compose(import, {lhs, weights});
  if (failed(checkParts(node, largestSum)))
    return failure();
  HostTensor low = *weights.tensor,
             high = splitOff(low, makeUnitType(node.builder(), TensorProto::INT8));
  auto share = [](HostTensor &&part) {
    return Entry{std::make_shared<HostTensor>(std::move(part)), {}};
  };
  return multiplyParts(node, import, lhs, share(std::move(high)), share(std::move(low)));
}

/// The same of two computed matrices.
static FailureOr<Entry> multiplyValues(Node &node, const Entry &lhs, Value rhs) {
  int64_t largestSum = ShapeRef(shapeOf(rhs)).end()[-2] * kMostDistance;
  if (largestSum * kMostDistance <= numerics::kMaxExactInFloat)
    return node.compose(importMatMul, {lhs, Entry{nullptr, rhs}});
  auto sixteen = node.number("sixteen", 16);
  auto high = node.compute<nn::FloorOp>(node.compute<nn::DivOp>(MaybeValue(rhs), sixteen));
  auto low = node.compute<nn::SubOp>(MaybeValue(rhs), node.compute<nn::MulOp>(high, sixteen));
  if (failed(low) || failed(checkParts(node, largestSum)))
    return failure();
  return multiplyParts(node, importMatMul, lhs, Entry{nullptr, *high}, Entry{nullptr, *low});
}

/// MatMulInteger by what is no matrix of constants.
static FailureOr<Entry> multiplyComputed(Node &node) {
  int64_t rank = node.rank(1);
  auto lhs = getDistances(node, 0, 2, std::max<int64_t>(0, node.rank(0) - 2));
  auto rhs = getDistances(node, 1, 3, rank - 1);
  auto left = failed(lhs) ? MaybeValue() : node.toValue(*lhs),
       right = failed(rhs) ? MaybeValue() : node.toValue(*rhs);
  return failed(left) || failed(right) ? FailureOr<Entry>()
                                       : multiplyValues(node, Entry{nullptr, *left}, *right);
}

static LogicalResult setAccumulator(Node &node, FailureOr<Entry> product) {
  if (failed(product))
    return failure();
  product->integers = TensorProto::INT32;
  return node.setResult(*product);
}

/// ConvInteger, MatMulInteger: `axis` holds the outputs of the second operand.
static LogicalResult importIntegerProduct(Node &node, LogicalResult (*import)(Node &),
                                          int64_t axis) {
  if (!node.constant(1))
    return node.unsupported("a product of two tensors of integers that are computed at run time");
  auto lhs = getDistances(node, 0, 2, std::max<int64_t>(0, node.rank(0) - 2));
  auto rhs = getDistances(node, 1, 3, axis);
  auto held = failed(lhs) ? MaybeValue() : node.toValue(*lhs); // constants, too, as their integers
  if (failed(held) || failed(rhs))
    return failure();
  int64_t outputs = node.shape(1)[axis];
  int64_t largest = getLargestSum(*rhs->tensor->floats(), outputs, /*areColumns=*/axis > 0);
  if (largest * kMostDistance <= numerics::kMaxAccumulator)
    if (Value dynamic = getDynamicInput(node))
      return setAccumulator(node, node.compose(import, {Entry{nullptr, dynamic}, *rhs}));
  return setAccumulator(node, multiply(node, import, Entry{nullptr, *held}, *rhs, largest));
}

LogicalResult octet::onnx_import::importConvInteger(Node &node) {
  if (node.rank(1) < 3)
    return node.invalid("has a filter of shape " + printShape(node.shape(1)));
  return importIntegerProduct(node, importConv, 0);
}

LogicalResult octet::onnx_import::importMatMulInteger(Node &node) {
  if (node.rank(1) < 2)
    return node.unsupported("a second operand of shape " + printShape(node.shape(1)));
  if (node.rank(1) > 2 || !node.constant(1))
    return setAccumulator(node, multiplyComputed(node));
  return importIntegerProduct(node, importMatMul, 1);
}

/// The product's sums times both scales, and the bias, if there is one.
static LogicalResult scaleSums(Node &node, FailureOr<Entry> sums, const Entry &scale,
                               unsigned otherScale, unsigned bias) {
  auto factor = node.compute<nn::MulOp>(node.toValue(scale), node.value(otherScale));
  if (failed(sums))
    return failure();
  auto result = node.compute<nn::MulOp>(MaybeValue(sums->value), factor);
  if (node.has(bias))
    result = node.compute<nn::AddOp>(result, node.value(bias));
  return node.setResult(result);
}

static Entry getEntry(Node &node, unsigned i) { return node.has(i) ? node.entry(i) : Entry(); }

LogicalResult octet::onnx_import::importDynamicQuantizeMatMul(Node &node) {
  auto x = quantizeInEachRun(node);
  if (failed(x))
    return failure();
  auto &[integers, scale, zeroPoint] = *x;
  return scaleSums(
      node,
      node.compose(importMatMulInteger, {integers, node.entry(1), zeroPoint, getEntry(node, 3)}),
      scale, 2, 4);
}

LogicalResult octet::onnx_import::importMatMulIntegerToFloat(Node &node) {
  return scaleSums(node,
                   node.compose(importMatMulInteger, {node.entry(0), node.entry(1),
                                                      getEntry(node, 4), getEntry(node, 5)}),
                   node.entry(2), 3, 6);
}
