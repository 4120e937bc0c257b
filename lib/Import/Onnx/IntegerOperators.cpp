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

/// [N.dynamic] The largest |q - zero point| of 8-bit integers.
static constexpr int64_t kMostDistance = 255;

LogicalResult octet::onnx_import::importDynamicQuantizeLinear(Node &node) {
  auto x = node.value(0), zero = node.number("zero", 0);
  if (failed(x) || failed(zero))
    return failure();
  Shape axes = allAxes(node.rank(0));
  auto high = node.compute<nn::MaxOp>(reduce(node, *x, Reduction::max, axes), zero);
  auto low = node.compute<nn::MinOp>(reduce(node, *x, Reduction::min, axes), zero);
  auto scale =
      node.compute<nn::DivOp>(node.compute<nn::SubOp>(high, low), node.number("range", 255));
  // Of zeros only: any scale gives the zero point.
  scale = node.compute<nn::MaxOp>(scale, node.number("least", std::numeric_limits<float>::min()));
  auto clip = [&](MaybeValue value) -> MaybeValue {
    if (failed(value))
      return failure();
    return node.create<nn::ClipOp>(*value, llvm::APFloat(0.0f), llvm::APFloat(255.0f));
  };
  auto zeroPoint = node.compute<nn::RoundOp>(
      clip(node.compute<nn::SubOp>(zero, node.compute<nn::DivOp>(low, scale))));
  auto rounded = node.compute<nn::RoundOp>(node.compute<nn::DivOp>(x, scale));
  auto integers = clip(node.compute<nn::AddOp>(rounded, zeroPoint));
  if (failed(integers))
    return failure();
  if (failed(node.setResult(Entry{nullptr, *integers, TensorProto::UINT8})))
    return failure();
  if (node.wants(1) && failed(node.setResult(node.reshape(*scale, {}), 1)))
    return failure();
  return node.wants(2)
             ? node.setResult(Entry{nullptr, node.reshape(*zeroPoint, {}), TensorProto::UINT8}, 2)
             : success();
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

/// Input `i` less its zero point, as real numbers: weights and quantized values dequantized with a
/// scale of 1, integers held as f32 by a subtraction.
static FailureOr<Entry> getDistances(Node &node, unsigned i, unsigned zeroPoint, int64_t axis) {
  const Entry &entry = node.entry(i);
  QuantizedType own = getQuantizedType(entry);
  int32_t elementType = own            ? getElementType(own)
                        : entry.tensor ? entry.tensor->type
                                       : entry.integers;
  if (elementType != TensorProto::UINT8 && elementType != TensorProto::INT8)
    return node.invalid("multiplies a tensor that does not hold 8-bit integers");
  if (!own && !entry.tensor) {
    if (!node.has(zeroPoint))
      return Entry{nullptr, entry.value};
    Value point = node.entry(zeroPoint).value;
    if (const HostTensor *constant = node.constant(zeroPoint)) {
      if (constant->size() != 1)
        return node.unsupported("several zero points of a tensor quantized at run time");
      auto number = node.number("zero_point", constant->integers()->front());
      if (failed(number))
        return failure();
      point = *number;
    }
    auto distance = node.create<nn::SubOp>(entry.value, point);
    return failed(distance) ? FailureOr<Entry>() : Entry{nullptr, *distance};
  }
  auto type = readUnitType(node, zeroPoint, elementType, node.shape(i), axis);
  if (failed(type))
    return failure();
  if (entry.tensor)
    return dequantize(node, *entry.tensor, *type);
  auto same = reinterpret(node, entry.value, *type);
  return failed(same) ? FailureOr<Entry>() : Entry{nullptr, *same};
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

/// The product of `lhs` by constant weights, correctly rounded to f32: in two parts where f32 does
/// not hold every sum.
static FailureOr<Entry> multiply(Node &node, LogicalResult (*import)(Node &), const Entry &lhs,
                                 const Entry &weights, int64_t largestSum) {
  bool isStored = isa_and_nonnull<DequantizeOp>(lhs.value ? lhs.value.getDefiningOp() : nullptr);
  if (isStored || largestSum * kMostDistance <= numerics::kMaxExactInFloat)
    return node.compose(import, {lhs, weights});
  HostTensor low = *weights.tensor,
             high = splitOff(low, makeUnitType(node.builder(), TensorProto::INT8));
  auto share = [](HostTensor &&part) {
    return Entry{std::make_shared<HostTensor>(std::move(part)), {}};
  };
  if (largestSum / 16 * kMostDistance * 2 > numerics::kMaxExactInFloat)
    return node.unsupported("sums of products beyond 2^28, of integers quantized at run time");
  auto highSum = node.compose(import, {lhs, share(std::move(high))});
  auto lowSum = node.compose(import, {lhs, share(std::move(low))});
  if (failed(highSum) || failed(lowSum))
    return failure();
  auto scaled = node.compute<nn::MulOp>(MaybeValue(highSum->value), node.number("sixteen", 16));
  auto sum = node.compute<nn::AddOp>(scaled, MaybeValue(lowSum->value));
  return failed(sum) ? FailureOr<Entry>() : Entry{nullptr, *sum};
}

/// ConvInteger, MatMulInteger: `axis` holds the outputs of the second operand.
static LogicalResult importIntegerProduct(Node &node, LogicalResult (*import)(Node &),
                                          int64_t axis) {
  if (!node.constant(1))
    return node.unsupported("a product of two tensors of integers that are computed at run time");
  auto lhs = getDistances(node, 0, 2, std::max<int64_t>(0, node.rank(0) - 2));
  auto rhs = getDistances(node, 1, 3, axis);
  if (failed(lhs) || failed(rhs))
    return failure();
  int64_t outputs = node.shape(1)[axis];
  int64_t largest = getLargestSum(*rhs->tensor->floats(), outputs, /*areColumns=*/axis > 0);
  auto product = multiply(node, import, *lhs, *rhs, largest);
  if (failed(product))
    return failure();
  product->integers = TensorProto::INT32;
  return node.setResult(*product);
}

LogicalResult octet::onnx_import::importConvInteger(Node &node) {
  if (node.rank(1) < 3)
    return node.invalid("has a filter of shape " + printShape(node.shape(1)));
  return importIntegerProduct(node, importConv, 0);
}

LogicalResult octet::onnx_import::importMatMulInteger(Node &node) {
  if (node.rank(1) != 2)
    return node.unsupported("a second operand of shape " + printShape(node.shape(1)));
  return importIntegerProduct(node, importMatMul, 1);
}

//===----------------------------------------------------------------------===//
// Integers as floats
//===----------------------------------------------------------------------===//

/// Integers are held as the floats that they become.
LogicalResult octet::onnx_import::importCastOfIntegers(Node &node) {
  int64_t to = node.getInt("to", 0);
  if (to != TensorProto::FLOAT)
    return node.unsupported("attribute to=" + Twine(to));
  const Entry &entry = node.entry(0);
  if (entry.integers)
    return node.setResult(Entry{nullptr, entry.value});
  QuantizedType type = makeUnitType(node.builder(), getElementType(getQuantizedType(entry)));
  return node.setResult(reinterpret(node, entry.value, type));
}
