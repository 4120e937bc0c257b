//===- Range.cpp - from a range of real values to a quantized type --------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Range.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace octet;

std::pair<int64_t, int64_t> octet::getStorageRange(IntegerType type) {
  bool isSigned = !type.isUnsigned();
  return {quant::QuantizedType::getDefaultMinimumForInteger(isSigned, type.getWidth()),
          quant::QuantizedType::getDefaultMaximumForInteger(isSigned, type.getWidth())};
}

QuantTarget::QuantTarget(IntegerType dtype, Scheme scheme, DenseI64ArrayAttr range, FloatAttr eps,
                         bool reduceRange)
    : dtype(dtype), scheme(scheme), quantMin(range ? range[0] : getStorageRange(dtype).first),
      quantMax(range ? range[1] : getStorageRange(dtype).second), isRangeGiven(!!range),
      eps(eps ? (float)eps.getValueAsDouble() : 0x1p-23f) {
  if (!reduceRange || (!range && dtype.getWidth() != 8))
    return;
  quantMin >>= 1;
  quantMax >>= 1;
}

ObserverSpec QuantTarget::getSpec() const {
  ObserverSpec spec;
  spec.dtype = dtype;
  spec.quantMin = quantMin;
  spec.quantMax = quantMax;
  spec.eps = eps;
  spec.hasFloatZeroPoints = scheme == Scheme::affine_float_qparams;
  return spec;
}

ScaleAndZeroPoint QuantTarget::compute(ValueRange32 range) const {
  float low = std::min(range.min, 0.0f), high = std::max(range.max, 0.0f);
  float steps = (float)(quantMax - quantMin);
  if (scheme == Scheme::symmetric) {
    float scale = std::max(std::max(-low, high) / (steps / 2), eps);
    bool isByte = dtype.isUnsigned() && dtype.getWidth() == 8;
    // 0 <= (quantMin + quantMax) wherever isByte holds, so that plain division rounds down.
    return {scale, !isByte ? 0 : isRangeGiven ? (quantMin + quantMax) / 2 : 128};
  }
  float scale = std::max((high - low) / steps, eps);
  int64_t zeroPoint = quantMin - (int64_t)std::nearbyint(low / scale);
  return {scale, std::clamp(zeroPoint, quantMin, quantMax)};
}

std::pair<float, float> QuantTarget::computeFloat(ValueRange32 range) const {
  float scale = (range.max - range.min) / (float)(quantMax - quantMin);
  scale = scale > eps ? scale : 1.0f;
  return {scale, -range.min / scale};
}

/// Refuses statistics that give no scale.
static LogicalResult checkRange(EmitError emitError, const QuantTarget &target,
                                ValueRange32 range) {
  if (std::isnan(range.min) || std::isnan(range.max))
    return emitError() << "expected numbers, but the observer has seen NaN";
  if (range.isEmpty())
    return emitError() << "expected statistics, but the observer has seen no values";
  bool isFloat = target.scheme == Scheme::affine_float_qparams;
  if (!std::isfinite(isFloat ? target.computeFloat(range).first : target.compute(range).scale))
    return emitError() << "expected finite values, but the observer has seen "
                       << std::to_string(range.min) << " to " << std::to_string(range.max);
  return success();
}

quant::QuantizedType octet::getPerTensorType(IntegerType dtype, ScaleAndZeroPoint params) {
  MLIRContext *context = dtype.getContext();
  auto [low, high] = getStorageRange(dtype);
  return quant::UniformQuantizedType::get(dtype.isUnsigned() ? 0 : quant::QuantizationFlags::Signed,
                                          IntegerType::get(context, dtype.getWidth()),
                                          Float32Type::get(context), params.scale, params.zeroPoint,
                                          low, high);
}

/// A quantized type has integer zero points.
static LogicalResult checkScheme(EmitError emitError, const QuantTarget &target) {
  if (target.scheme != Scheme::affine_float_qparams)
    return success();
  return emitError() << "has real zero points, which weights of weight-only units alone may have";
}

FailureOr<quant::QuantizedType>
octet::getQuantizedTypeOfRange(EmitError emitError, const QuantTarget &target, ValueRange32 range) {
  if (failed(checkScheme(emitError, target)) || failed(checkRange(emitError, target, range)))
    return failure();
  return getPerTensorType(target.dtype, target.compute(range));
}

FailureOr<quant::QuantizedType> octet::getQuantizedTypeOfRanges(EmitError emitError,
                                                                const QuantTarget &target,
                                                                ArrayRef<ValueRange32> ranges,
                                                                int64_t axis) {
  if (failed(checkScheme(emitError, target)))
    return failure();
  SmallVector<double> scales;
  SmallVector<int64_t> zeroPoints;
  for (ValueRange32 range : ranges) {
    if (failed(checkRange(emitError, target, range)))
      return failure();
    ScaleAndZeroPoint params = target.compute(range);
    scales.push_back(params.scale);
    zeroPoints.push_back(params.zeroPoint);
  }
  MLIRContext *context = target.dtype.getContext();
  auto [low, high] = getStorageRange(target.dtype);
  unsigned width = target.dtype.getWidth();
  return quant::QuantizedType(quant::UniformQuantizedPerAxisType::get(
      target.dtype.isUnsigned() ? 0 : quant::QuantizationFlags::Signed,
      IntegerType::get(context, width), Float32Type::get(context), scales, zeroPoints, axis, low,
      high));
}

FailureOr<FloatQParams> octet::getFloatQParamsOfRanges(EmitError emitError,
                                                       const QuantTarget &target,
                                                       ArrayRef<ValueRange32> ranges,
                                                       int64_t axis) {
  FloatQParams params;
  params.axis = axis;
  for (ValueRange32 range : ranges) {
    if (failed(checkRange(emitError, target, range)))
      return failure();
    auto [scale, zeroPoint] = target.computeFloat(range);
    params.scales.push_back(scale);
    params.zeroPoints.push_back(zeroPoint);
  }
  return params;
}

LogicalResult octet::verifyDType(EmitError emitError, IntegerType dtype) {
  if (dtype.isSignless() || dtype.getWidth() < 2 || dtype.getWidth() > 32)
    return emitError()
           << "expected an integer dtype with a sign and 2 to 32 bits (ui8, si8), but got "
           << dtype;
  return success();
}

LogicalResult octet::verifyTarget(EmitError emitError, IntegerType dtype, Scheme scheme,
                                  DenseI64ArrayAttr range, FloatAttr eps, bool reduceRange,
                                  bool mayBeFloat) {
  if (failed(verifyDType(emitError, dtype)))
    return failure();
  if (scheme == Scheme::affine_float_qparams && !mayBeFloat)
    return emitError() << "expected the scheme affine or symmetric, but got affine_float_qparams";
  if (reduceRange && scheme == Scheme::symmetric && dtype.isUnsigned() && dtype.getWidth() == 8)
    return emitError() << "expected no reduce_range with a symmetric ui8";
  if (eps && !((float)eps.getValueAsDouble() > 0 && std::isfinite((float)eps.getValueAsDouble())))
    return emitError() << "expected a positive eps within f32, but got " << eps;
  if (!range)
    return success();
  if (range.size() != 2 || !(range[0] <= 0 && 0 <= range[1] && range[0] < range[1]))
    return emitError() << "expected a range [qmin, qmax] with qmin <= 0 <= qmax and qmin < qmax";
  if (range[0] < getStorageRange(dtype).first || range[1] > getStorageRange(dtype).second)
    return emitError() << "expected a range within that of " << dtype << ", but got [" << range[0]
                       << ", " << range[1] << "]";
  if (reduceRange && range[0] >> 1 == range[1] >> 1)
    return emitError() << "expected a range of which reduce_range leaves more than one number";
  return success();
}
