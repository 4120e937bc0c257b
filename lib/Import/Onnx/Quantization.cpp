//===- Quantization.cpp - QuantizeLinear, DequantizeLinear ---------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Quantization.h"
#include "Compose.h"
#include "Operators.h"
#include "TensorReader.h"
#include "mlir/IR/TypeUtilities.h"
#include "octet/Dialect/Kernel/Kernels.h"
#include "octet/Dialect/NN/Constants.h"
#include "octet/Dialect/Octet/Octet.h"
#include "octet/Numerics/Quantize.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;
using numerics::QuantParams;
using onnx::TensorProto;
using quant::QuantizedType;

//===----------------------------------------------------------------------===//
// Dequantize
//===----------------------------------------------------------------------===//

Entry octet::onnx_import::dequantize(Node &node, const HostTensor &integers, QuantizedType type) {
  const std::vector<int64_t> &stored = *integers.integers();
  std::vector<float> values(stored.size());
  QuantParams params = numerics::getParams(type);
  numerics::forEachElement(integers.shape, params, [&](int64_t i, int64_t channel) {
    values[i] = numerics::dequantize(stored[i], params, channel);
  });
  auto reals = std::make_shared<HostTensor>();
  reals->name = integers.name;
  reals->shape = integers.shape;
  reals->data = std::move(values);
  reals->quantized = type;
  return Entry{reals, {}};
}

Value octet::onnx_import::makeReal(Node &node, Value quantized) {
  return DequantizeOp::create(node.builder(), node.loc(),
                              RankedTensorType::get(shapeOf(quantized), node.f32()), quantized);
}

/// [N.reinterpret] The integers are the quotients by the scale, rounded; octet-lower makes one
/// table of it all.
FailureOr<Value> octet::onnx_import::reinterpret(Node &node, Value integers, QuantizedType type) {
  auto own = cast<QuantizedType>(cast<RankedTensorType>(integers.getType()).getElementType());
  Value real = makeReal(node, integers);
  if (numerics::haveSameParams(own, type))
    return real;
  if (!isa<quant::UniformQuantizedType>(own) || !isa<quant::UniformQuantizedType>(type))
    return node.unsupported("other scales or zero points than those with which the tensor was "
                            "quantized; dequantize and quantize it in between");
  QuantParams from = numerics::getParams(own), to = numerics::getParams(type);
  auto quotient =
      node.compute<nn::DivOp>(FailureOr<Value>(real), node.number("scale", from.getScale(0)));
  auto distance =
      node.compute<nn::AddOp>(node.compute<nn::RoundOp>(quotient),
                              node.number("zero_point", from.getZeroPoint(0) - to.getZeroPoint(0)));
  auto other = node.compute<nn::MulOp>(distance, node.number("other_scale", to.getScale(0)));
  if (failed(other))
    return failure();
  auto requantized = quantize(node, {nullptr, *other}, type);
  return failed(requantized) ? FailureOr<Value>() : makeReal(node, requantized->value);
}

/// Integers held as f32, which are those of a sum of products, as real numbers.
static FailureOr<Entry> scaleIntegers(Node &node, const Entry &integers, ParameterInputs inputs) {
  auto type = readQuantizedType(node, inputs, integers.integers, shapeOf(integers.value));
  if (failed(type))
    return failure();
  if (integers.integers != TensorProto::INT32 || !isa<quant::UniformQuantizedType>(*type))
    return node.unsupported("integers of a tensor that is quantized at run time");
  auto reals =
      node.compute<nn::MulOp>(FailureOr<Value>(integers.value),
                              node.number("scale", numerics::getParams(*type).getScale(0)));
  return failed(reals) ? FailureOr<Entry>() : Entry{nullptr, *reals};
}

/// Integers without parameters, such as rows of a table, as DequantizeLinear has them.
static FailureOr<Entry> dequantizePlain(Node &node, const Entry &integers, ParameterInputs inputs) {
  if (!node.constant(inputs.scale) || node.constant(inputs.scale)->size() != 1)
    return node.unsupported("integers that are computed, with several scales");
  Entry zeroPoint = node.has(inputs.zeroPoint) ? node.entry(inputs.zeroPoint) : Entry();
  return node.compose(importDequantizeLinear, {integers, node.entry(inputs.scale), zeroPoint});
}

FailureOr<Entry> octet::onnx_import::dequantize(Node &node, const Entry &integers,
                                                ParameterInputs inputs) {
  if (integers.integers)
    return scaleIntegers(node, integers, inputs);
  if (integers.tensor) {
    if (!integers.tensor->isInteger())
      return node.invalid("dequantizes a constant of floats; expected integers");
    if (!integers.tensor->type)
      return node.unsupported("integers computed during the import");
    auto type = readQuantizedType(node, inputs, integers.tensor->type, integers.tensor->shape);
    return failed(type) ? FailureOr<Entry>() : dequantize(node, *integers.tensor, *type);
  }
  QuantizedType own = getQuantizedType(integers);
  if (!own && !nn::holdsReals(integers.value.getType()))
    return dequantizePlain(node, integers, inputs);
  if (!own)
    return node.invalid("dequantizes a tensor of floats; expected integers");
  auto type = readQuantizedType(node, inputs, getElementType(own), shapeOf(integers.value));
  if (failed(type))
    return failure();
  auto reals = reinterpret(node, integers.value, *type);
  return failed(reals) ? FailureOr<Entry>() : Entry{nullptr, *reals};
}

/// Constants of fewer bits as those of bytes; others as they are.
static Entry holdInBytes(Node &node, unsigned i) {
  if (!node.has(i) || !node.constant(i))
    return node.has(i) ? node.entry(i) : Entry();
  HostTensor bytes = *node.constant(i);
  bool isSigned = bytes.type == kInt4 || bytes.type == kInt2;
  bytes.type = isSigned ? TensorProto::INT8 : TensorProto::UINT8;
  return Entry{std::make_shared<HostTensor>(std::move(bytes)), {}};
}

LogicalResult octet::onnx_import::importDequantizeLinear(Node &node) {
  if (hasFewBits(node)) {
    auto reals = node.compose(importDequantizeLinear,
                              {holdInBytes(node, 0), node.entry(1), holdInBytes(node, 2)});
    return failed(reals) ? failure() : node.setResult(*reals);
  }
  if (dequantizesInFloat(node))
    return dequantizeInFloat(node);
  auto reals = dequantize(node, node.entry(0), {1, 2, node.getInt("axis", 1)});
  return failed(reals) ? failure() : node.setResult(*reals);
}

//===----------------------------------------------------------------------===//
// Quantize
//===----------------------------------------------------------------------===//

FailureOr<Entry> octet::onnx_import::quantize(Node &node, const Entry &reals, QuantizedType type) {
  if (reals.integers || getQuantizedType(reals) || (reals.tensor && reals.tensor->isInteger()))
    return node.unsupported("integers to be quantized; convert them to floats");
  if (reals.value)
    return Entry{nullptr, QuantizeOp::create(node.builder(), node.loc(),
                                             RankedTensorType::get(shapeOf(reals.value), type),
                                             reals.value)};
  std::vector<float> values = *reals.tensor->floats();
  std::vector<int64_t> stored(values.size());
  QuantParams params = numerics::getParams(type);
  numerics::forEachElement(reals.tensor->shape, params, [&](int64_t i, int64_t channel) {
    stored[i] = numerics::quantize(values[i], params, channel);
  });
  auto integers = std::make_shared<HostTensor>();
  integers->name = reals.tensor->name;
  integers->shape = reals.tensor->shape;
  integers->data = std::move(stored);
  integers->type = getElementType(type);
  return Entry{integers, {}};
}

LogicalResult octet::onnx_import::importQuantizeLinear(Node &node) {
  if (quantizesInFloat(node))
    return quantizeInFloat(node);
  auto type = readQuantizedType(node, {1, 2, node.getInt("axis", 1)},
                                (int32_t)node.getInt("output_dtype", 0), node.shape(0));
  if (failed(type))
    return failure();
  if (type->getStorageTypeIntegralWidth() == 32)
    return node.invalid("has a zero point of INT32; expected one of 8 or 16 bits");
  auto integers = quantize(node, node.entry(0), *type);
  return failed(integers) ? failure() : node.setResult(*integers);
}

//===----------------------------------------------------------------------===//
// Results of the network
//===----------------------------------------------------------------------===//

bool octet::onnx_import::storeIntegers(OpBuilder &builder, Entry &integers) {
  QuantizedType unit = makeUnitType(builder, integers.integers);
  if (unit.getStorageTypeIntegralWidth() != 8)
    return false;
  auto type = RankedTensorType::get(shapeOf(integers.value), unit);
  integers = {nullptr, QuantizeOp::create(builder, integers.value.getLoc(), type, integers.value)};
  return true;
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

template <typename T>
static Value makeConstant(OpBuilder &builder, Location loc, const HostTensor &tensor,
                          ArrayRef<int64_t> integers) {
  SmallVector<T, 0> stored(integers.begin(), integers.end());
  auto type = RankedTensorType::get(tensor.shape, tensor.quantized);
  return nn::createConstant<T>(builder, loc, tensor.name, type, stored);
}

/// The integer with the real number `value`, if there is one.
static int64_t getInteger(float value, const QuantParams &params, int64_t channel) {
  if (params.high <= 255)
    return numerics::quantize(value, params, channel);
  double q = std::nearbyint((double)value / (double)params.getScale(channel));
  return q >= params.low && q <= params.high ? (int64_t)q : 0;
}

Value octet::onnx_import::makeDequantized(OpBuilder &builder, Location loc,
                                          const HostTensor &tensor) {
  auto *values = std::get_if<std::vector<float>>(&tensor.data);
  QuantParams params = numerics::getParams(tensor.quantized);
  if (!values || params.axis >= (int64_t)tensor.shape.size() ||
      (params.axis >= 0 && tensor.shape[params.axis] != (int64_t)params.scales.size()))
    return {};
  std::vector<int64_t> integers(values->size());
  bool isExact = true;
  numerics::forEachElement(tensor.shape, params, [&](int64_t i, int64_t channel) {
    integers[i] = getInteger((*values)[i], params, channel);
    isExact &= numerics::dequantize(integers[i], params, channel) == (*values)[i];
  });
  if (!isExact)
    return {};
  Value constant = params.high <= 255 ? makeConstant<int8_t>(builder, loc, tensor, integers)
                                      : makeConstant<int32_t>(builder, loc, tensor, integers);
  return DequantizeOp::create(builder, loc,
                              RankedTensorType::get(tensor.shape, builder.getF32Type()), constant);
}
