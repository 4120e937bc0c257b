//===- Range.h - from a range of real values to a quantized type -*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_DIALECT_OCTET_OBSERVERS_RANGE_H
#define OCTET_LIB_DIALECT_OCTET_OBSERVERS_RANGE_H

#include "octet/Dialect/Octet/Octet.h"
#include <cmath>
#include <limits>

namespace octet {

/// The range of the observed values: empty while min > max; NaN after a NaN.
struct ValueRange32 {
  float min = std::numeric_limits<float>::infinity();
  float max = -std::numeric_limits<float>::infinity();

  /// [N.stat.min_max] A NaN stays for ever; negative zero becomes zero, so that order leaves no
  /// trace.
  void include(float x) {
    x += 0.0f;
    // Written so that a NaN on either side wins.
    min = std::isnan(x) || x < min ? x : min;
    max = std::isnan(x) || x > max ? x : max;
  }
  bool isEmpty() const { return min > max; }
};

struct ScaleAndZeroPoint {
  float scale;
  int64_t zeroPoint;
};

/// The parameters that range observers share.
struct QuantTarget {
  mlir::IntegerType dtype;
  Scheme scheme;
  int64_t quantMin, quantMax;
  bool isRangeGiven;
  float eps;

  QuantTarget(mlir::IntegerType dtype, Scheme scheme, mlir::DenseI64ArrayAttr range,
              mlir::FloatAttr eps, bool reduceRange);
  ObserverSpec getSpec() const;
  /// [N.qparams] `range` must hold finite numbers.
  ScaleAndZeroPoint compute(ValueRange32 range) const;
  /// The same of the scheme affine_float_qparams: scale and zero point.
  std::pair<float, float> computeFloat(ValueRange32 range) const;
};

/// The parameters of a range observer's attribute.
template <typename ObserverAttr> QuantTarget getTarget(ObserverAttr observer) {
  return {observer.getDtype(), observer.getScheme(), observer.getRange(), observer.getEps(),
          observer.getReduceRange()};
}

using EmitError = llvm::function_ref<mlir::InFlightDiagnostic()>;

/// The type with the whole range of `dtype`.
mlir::quant::QuantizedType getPerTensorType(mlir::IntegerType dtype, ScaleAndZeroPoint params);

/// The type of one range, or of one range per index of `axis`.
mlir::FailureOr<mlir::quant::QuantizedType>
getQuantizedTypeOfRange(EmitError emitError, const QuantTarget &target, ValueRange32 range);
mlir::FailureOr<mlir::quant::QuantizedType>
getQuantizedTypeOfRanges(EmitError emitError, const QuantTarget &target,
                         llvm::ArrayRef<ValueRange32> ranges, int64_t axis);

/// The same where zero points are real numbers; axis -1: one range.
mlir::FailureOr<FloatQParams> getFloatQParamsOfRanges(EmitError emitError,
                                                      const QuantTarget &target,
                                                      llvm::ArrayRef<ValueRange32> ranges,
                                                      int64_t axis);

mlir::LogicalResult verifyDType(EmitError emitError, mlir::IntegerType dtype);
/// The checks that the verifiers of all range observers share. `mayBeFloat`: zero points may be
/// real numbers.
mlir::LogicalResult verifyTarget(EmitError emitError, mlir::IntegerType dtype, Scheme scheme,
                                 mlir::DenseI64ArrayAttr range, mlir::FloatAttr eps,
                                 bool reduceRange, bool mayBeFloat = false);

/// State blocks are plain structures or arrays.
template <typename T> T *stateAs(llvm::MutableArrayRef<char> state) {
  return reinterpret_cast<T *>(state.data());
}
template <typename T> const T *stateAs(llvm::ArrayRef<char> state) {
  return reinterpret_cast<const T *>(state.data());
}

} // namespace octet

#endif // OCTET_LIB_DIALECT_OCTET_OBSERVERS_RANGE_H
