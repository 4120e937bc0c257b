//===- Kernels.cpp - the rows of Kernels.def ------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Dialect/Kernel/Kernels.h"
#include "octet/Numerics/Quantize.h"

using namespace mlir;
using namespace octet;
using namespace octet::kernel;
using quant::QuantizedType;

const OperatorRow &kernel::getOperatorRow(Operation *op) {
  if (auto product = dyn_cast<nn::ProductOpInterface>(op))
    return product.getWeightOperand() ? Operators::product : Operators::matrix_product;
  if (isa<nn::MaxPoolOp>(op))
    return Operators::max_pool;
  if (isa<nn::AvgPoolOp>(op))
    return Operators::average_pool;
  if (isa<nn::ReduceMeanOp>(op))
    return Operators::mean;
  if (isa<nn::ReduceSumOp>(op))
    return Operators::sum;
  if (isa<nn::SoftmaxOp>(op))
    return Operators::softmax;
  if (auto resize = dyn_cast<nn::ResizeOp>(op))
    return resize.getMode() == nn::ResizeMode::nearest ? Operators::movement
                                                       : Operators::resampling;
  if (op->hasTrait<nn::DataMovement>())
    return Operators::movement;
  return op->hasTrait<nn::Elementwise>() ? Operators::elementwise : Operators::other;
}

/// Whether a form of this storage has integers of so many bits.
static bool hasBits(Storage storage, unsigned bits) {
  if (storage == Storage::small)
    return bits <= 16;
  return storage != Storage::none && (bits == 8 || (bits == 16 && storage == Storage::ui8_or_16));
}

static bool hasSign(Storage storage, QuantizedType type) {
  bool isAny = storage == Storage::small || type.getStorageTypeIntegralWidth() == 16;
  return isAny || type.isSigned() == (storage == Storage::si8);
}

static bool matchScales(Scales scales, QuantizedType type, Operation *op) {
  if (scales == Scales::several || isa<quant::UniformQuantizedType>(type))
    return true;
  int64_t axis = numerics::getChannelAxis(type);
  auto product = dyn_cast_if_present<nn::ProductOpInterface>(op);
  switch (scales) {
  case Scales::output:
    return axis == 0;
  case Scales::depthwise:
    return product && product.isDepthwise() && axis == product.getInputChannelAxis();
  case Scales::image:
    return product && isa<nn::ConvOp>(op) && axis == product.getResultChannelAxis();
  default:
    return false;
  }
}

Fit kernel::matchForm(const FormRow &form, QuantizedType type, Operation *op) {
  auto isZero = [](int32_t zeroPoint) { return zeroPoint == 0; };
  if (!hasBits(form.storage, type.getStorageTypeIntegralWidth()) || !hasSign(form.storage, type) ||
      (form.zeroPoints == ZeroPoints::zero &&
       !llvm::all_of(numerics::getParams(type).zeroPoints, isZero)))
    return Fit::other_storage;
  return matchScales(form.scales, type, op) ? Fit::yes : Fit::other_granularity;
}

bool kernel::isActivationWidth(unsigned bits) {
  static constexpr OperatorRow rows[] = {
#define OCTET_OPERATOR(name, operators, input, weights, result, layout) Operators::name,
#include "octet/Dialect/Kernel/Kernels.def"
  };
  return llvm::any_of(rows,
                      [&](const OperatorRow &row) { return hasBits(row.input.storage, bits); });
}

bool kernel::readsStored(OpOperand &use, Type element) {
  enum class Floats { none, halves };
  auto fits = [&](unsigned bits, Floats floats) {
    return isa<FloatType>(element) ? floats == Floats::halves
                                   : element.getIntOrFloatBitWidth() <= bits;
  };
#define OCTET_STORED_WEIGHTS(op_class, operand, integer_bits, floats)                              \
  if (isa<op_class>(use.getOwner()) && use.getOperandNumber() == operand)                          \
    return fits(integer_bits, Floats::floats);
#include "octet/Dialect/Kernel/Kernels.def"
  return false;
}
