//===- QuantizedTypes.cpp - scales and zero points as types --------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Quantization.h"
#include "TensorReader.h"
#include <cmath>

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;
using numerics::QuantParams;
using onnx::TensorProto;
using quant::QuantizedType;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

namespace {
/// Integers that stand for real numbers; 32 bits are those of biases.
struct IntegerRow {
  int32_t elementType;
  unsigned bits;
  bool isSigned;

  int64_t min() const { return isSigned ? -(int64_t(1) << (bits - 1)) : 0; }
  int64_t max() const { return (int64_t(1) << (isSigned ? bits - 1 : bits)) - 1; }
};
} // namespace

static constexpr IntegerRow kIntegers[] = {{TensorProto::UINT8, 8, false},
                                           {TensorProto::INT8, 8, true},
                                           {TensorProto::UINT16, 16, false},
                                           {TensorProto::INT16, 16, true},
                                           {TensorProto::INT32, 32, true}};

static const IntegerRow *findIntegers(int32_t elementType) {
  auto *row = llvm::find_if(kIntegers, [&](auto &row) { return row.elementType == elementType; });
  return row == std::end(kIntegers) ? nullptr : row;
}

bool octet::onnx_import::isWide(int32_t elementType) {
  const IntegerRow *row = findIntegers(elementType);
  return row && row->bits == 16;
}

bool octet::onnx_import::holdsActivations(int32_t elementType) {
  const IntegerRow *row = findIntegers(elementType);
  return row && row->bits < 32;
}

QuantizedType octet::onnx_import::getQuantizedType(const Entry &entry) {
  auto tensor = entry.value ? dyn_cast<RankedTensorType>(entry.value.getType()) : nullptr;
  return tensor ? dyn_cast<QuantizedType>(tensor.getElementType()) : QuantizedType();
}

int32_t octet::onnx_import::getElementType(QuantizedType type) {
  for (const IntegerRow &row : kIntegers)
    if (row.bits == type.getStorageTypeIntegralWidth() && row.isSigned == type.isSigned())
      return row.elementType;
  return 0;
}

/// Refuses scales that no number can be divided by.
static LogicalResult checkScales(Node &node, ArrayRef<float> scales) {
  for (auto [channel, scale] : llvm::enumerate(scales))
    if (!(scale > 0) || !std::isnormal(scale))
      return node.invalid("has the scale " + std::to_string(scale) +
                              (scales.size() > 1 ? " for channel " + std::to_string(channel) : "") +
                              "; expected a positive, normal number",
                          "quantize the network again");
  return success();
}

static QuantizedType makeType(Builder &builder, const IntegerRow &integers,
                              const QuantParams &params) {
  auto storage = builder.getIntegerType(integers.bits);
  unsigned flags = integers.isSigned ? quant::QuantizationFlags::Signed : 0;
  SmallVector<double> scales(params.scales.begin(), params.scales.end());
  SmallVector<int64_t> zeroPoints(params.zeroPoints.begin(), params.zeroPoints.end());
  if (params.axis >= 0)
    return quant::UniformQuantizedPerAxisType::get(flags, storage, builder.getF32Type(), scales,
                                                   zeroPoints, params.axis, integers.min(),
                                                   integers.max());
  return quant::UniformQuantizedType::get(flags, storage, builder.getF32Type(), scales[0],
                                          zeroPoints[0], integers.min(), integers.max());
}

QuantizedType octet::onnx_import::makeUnitType(Builder &builder, int32_t elementType) {
  QuantParams params;
  params.scales = {1.0f};
  params.zeroPoints = {0};
  return makeType(builder, *findIntegers(elementType), params);
}

FailureOr<QuantizedType> octet::onnx_import::makeQuantizedType(Node &node, int32_t elementType,
                                                               QuantParams params) {
  if (failed(checkScales(node, params.scales)))
    return failure();
  return makeType(node.builder(), *findIntegers(elementType), params);
}

//===----------------------------------------------------------------------===//
// Scales and zero points
//===----------------------------------------------------------------------===//

/// Refuses scales that are not one, or one for each index of the axis.
static LogicalResult checkCount(Node &node, const HostTensor &scale, ShapeRef shape,
                                int64_t &axis) {
  if (node.getInt("block_size", 0) != 0 || scale.shape.size() > 1)
    return node.unsupported(
        "blocked quantization (scales of shape " + printShape(scale.shape) +
        "); quantize the network with one scale per tensor or per channel of an axis");
  if (scale.size() == 1) {
    axis = -1;
    return success();
  }
  auto normal = node.normalizeAxis(axis, shape.size());
  if (failed(normal))
    return failure();
  axis = *normal;
  if (shape[axis] != scale.size())
    return node.invalid("has " + Twine(scale.size()) + " scales for axis " + Twine(axis) +
                            " of a tensor of shape " + printShape(shape),
                        "give one scale, or one for each index of the axis");
  return success();
}

/// The zero points: as many as scales, of the type of the integers and inside its range.
static FailureOr<SmallVector<int32_t>> readZeroPoints(Node &node, unsigned input,
                                                      const IntegerRow &integers, size_t count) {
  if (!node.has(input))
    return SmallVector<int32_t>(count, 0);
  auto values = node.integers(input, "a zero point");
  if (failed(values))
    return failure();
  if (values->size() != count)
    return node.invalid("has " + Twine(count) + " scales, but " + Twine(values->size()) +
                        " zero points");
  bool isBias = integers.bits == 32;
  for (int64_t value : *values)
    if (isBias ? value != 0 : value < integers.min() || value > integers.max())
      return node.invalid("has the zero point " + Twine(value) + " for integers of " +
                              printElementType(integers.elementType) +
                              (isBias ? "; expected 0"
                                      : "; expected one from " + Twine(integers.min()) + " to " +
                                            Twine(integers.max())),
                          "quantize the network again");
  return SmallVector<int32_t>(values->begin(), values->end());
}

LogicalResult octet::onnx_import::refuseIntegers(Node &node, int32_t elementType) {
  return node.unsupported("quantized values of " + printElementType(elementType) +
                          "; quantize the network to 8 bits (UINT8, INT8)");
}

FailureOr<QuantizedType> octet::onnx_import::readQuantizedType(Node &node, ParameterInputs inputs,
                                                               int32_t elementType,
                                                               ShapeRef shape) {
  auto scales = node.floats(inputs.scale, "a scale");
  if (failed(scales))
    return failure();
  QuantParams params;
  params.axis = inputs.axis;
  if (failed(checkCount(node, *node.constant(inputs.scale), shape, params.axis)))
    return failure();
  if (const HostTensor *zeroPoint = node.constant(inputs.zeroPoint)) {
    if (elementType && zeroPoint->type != elementType)
      return node.invalid("has a zero point of " + printElementType(zeroPoint->type) +
                              " for integers of " + printElementType(elementType),
                          "store both in the same type");
    elementType = zeroPoint->type;
  } else if (!elementType) {
    elementType = TensorProto::UINT8;
  }
  const IntegerRow *integers = findIntegers(elementType);
  if (!integers)
    return refuseIntegers(node, elementType);
  auto zeroPoints = readZeroPoints(node, inputs.zeroPoint, *integers, scales->size());
  if (failed(zeroPoints))
    return failure();
  params.scales.assign(scales->begin(), scales->end());
  params.zeroPoints.assign(zeroPoints->begin(), zeroPoints->end());
  return makeQuantizedType(node, elementType, std::move(params));
}
