//===- Movement.cpp - pools and data movement on quantized types ----------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "mlir/IR/IRMapping.h"
#include "octet/Numerics/Requantize.h"

using namespace mlir;
using namespace octet;
using namespace octet::lower;
using quant::QuantizedType;

/// [N.concat] The type of the values that `op` moves: that of its operand or, if it is a slice of
/// channels with equal parameters, theirs.
static QuantizedType getMovedType(Operation *op, QuantizedType type) {
  auto slice = dyn_cast<nn::SliceOp>(op);
  numerics::QuantParams params = numerics::getParams(type);
  if (!slice || params.axis < 0 || slice.getSizes()[params.axis] == 0)
    return type;
  int64_t first = slice.getStarts()[params.axis];
  for (int64_t i = 1; i < slice.getSizes()[params.axis]; ++i) {
    int64_t channel = first + i * slice.getSteps()[params.axis];
    if (params.scales[channel] != params.scales[first] ||
        params.zeroPoints[channel] != params.zeroPoints[first])
      return type;
  }
  params.scales = {params.scales[first]};
  params.zeroPoints = {params.zeroPoints[first]};
  params.axis = -1;
  return numerics::withParams(type, params);
}

/// Groups that come here hold data movement alone.
static const kernel::OperatorRow &getRow(Operation *op) {
  return isa<GroupOp>(op) ? kernel::Operators::movement : kernel::getOperatorRow(op);
}

/// The quantized tensors behind all operands, or why there are none that the kernels take.
static Outcome getSources(Operation *op, SmallVectorImpl<Value> &sources) {
  for (Value operand : op->getOperands())
    sources.push_back(getQuantizedSource(operand));
  if (llvm::none_of(sources, [](Value source) { return bool(source); }))
    return Outcome::NotConcerned;
  for (Value source : sources) {
    if (!source)
      return Outcome::RealOperand;
    if (Outcome outcome =
            checkActivation(getRow(op).input, getMovedType(op, getQuantizedType(source)), op);
        outcome != Outcome::Lowered)
      return outcome;
  }
  return Outcome::Lowered;
}

/// Calls `makeResult` for the type of every quantize behind `op` and replaces the quantize.
static Outcome replaceQuantizes(Operation *op,
                                llvm::function_ref<Value(QuantizedType)> makeResult) {
  Outcome outcome = Outcome::RealResult;
  for (Operation *user : op->getUsers()) {
    auto quantize = dyn_cast<QuantizeOp>(user);
    if (!quantize)
      continue;
    QuantizedType type = getQuantizedType(quantize.getResult());
    if (Outcome unfit = checkActivation(getRow(op).result, type, op); unfit != Outcome::Lowered)
      return unfit;
    quantize.replaceAllUsesWith(makeResult(type));
    outcome = Outcome::Lowered;
  }
  return outcome;
}

/// Whether values of `from` are values of `to` as they are stored: parameters agree, and no value
/// is outside the bounds of `to`.
static bool isCopied(QuantizedType from, QuantizedType to) {
  return numerics::haveSameParams(from, to) && to.getStorageTypeMin() <= from.getStorageTypeMin() &&
         from.getStorageTypeMax() <= to.getStorageTypeMax();
}

Value Lowering::convertTo(Value source, QuantizedType type, Location loc) {
  QuantizedType from = getQuantizedType(source);
  if (isCopied(from, type))
    return source;
  Value &converted = conversions[{source, type}];
  if (converted)
    return converted;
  if (numerics::isWide(from) || numerics::isWide(type)) {
    Value real =
        DequantizeOp::create(builder, loc, withElementType(source, builder.getF32Type()), source);
    return converted = QuantizeOp::create(builder, loc, withElementType(source, type), real);
  }
  SmallVector<int8_t> table;
  for (int64_t q = 0; q < 256; ++q) {
    float real = numerics::dequantize(q, numerics::getParams(from));
    table.push_back(static_cast<int8_t>(numerics::quantize(real, numerics::getParams(type))));
  }
  ++numTables;
  converted = nn::TableOp::create(builder, loc, withElementType(source, type), source, table);
  return converted;
}

Outcome Lowering::lowerMovement(Operation *op) {
  SmallVector<Value> sources;
  if (Outcome outcome = getSources(op, sources); outcome != Outcome::Lowered)
    return outcome;
  Value result = op->getResult(0);
  auto numElements = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getNumElements();
  };
  // Where values are only dropped or moved, the scale changes behind; new values (padding) and
  // copies come last.
  bool convertBehind = sources.size() == 1 && !isa<nn::PadOp>(op) &&
                       numElements(result) <= numElements(sources.front());
  return replaceQuantizes(op, [&](QuantizedType type) {
    ++numLowered;
    if (convertBehind) {
      QuantizedType from = getMovedType(op, getQuantizedType(sources.front()));
      Type moved = isCopied(from, type) ? type : from;
      return convertTo(cloneOnto(builder, op, sources, withElementType(result, moved)), type,
                       op->getLoc());
    }
    SmallVector<Value> operands;
    for (Value source : sources)
      operands.push_back(convertTo(source, type, op->getLoc()));
    return cloneOnto(builder, op, operands, withElementType(result, type));
  });
}

Outcome Lowering::lowerMovementGroup(GroupOp group) {
  Block &body = group.getBody().front();
  auto isMovement = [](Operation &op) {
    return &kernel::getOperatorRow(&op) == &kernel::Operators::movement;
  };
  if (!llvm::all_of(body.without_terminator(), isMovement))
    return awaitQuantize(group);
  SmallVector<Value> sources;
  if (Outcome outcome = getSources(group, sources); outcome != Outcome::Lowered)
    return outcome;
  return replaceQuantizes(group, [&](QuantizedType type) {
    ++numLowered;
    IRMapping moved;
    for (auto [argument, source] : llvm::zip_equal(body.getArguments(), sources))
      moved.map(argument, convertTo(source, type, group.getLoc()));
    for (Operation &op : body.without_terminator()) {
      auto operands =
          llvm::map_to_vector(op.getOperands(), [&](Value v) { return moved.lookup(v); });
      Value result = op.getResult(0);
      moved.map(result, cloneOnto(builder, &op, operands, withElementType(result, type)));
    }
    return moved.lookup(group.getYielded());
  });
}

/// Whether the sum of `count` differences from the zero point is proven to be exact in 32 bits.
static bool fitsAccumulator(QuantizedType type, int64_t count) {
  int64_t zeroPoint = numerics::getParams(type).getZeroPoint(0);
  int64_t largest =
      std::max(type.getStorageTypeMax() - zeroPoint, zeroPoint - type.getStorageTypeMin());
  return count <= numerics::kMaxAccumulator / std::max<int64_t>(largest, 1);
}

/// A mean over H and W is a pool over all of them [N.avg_pool].
static Value makeGlobalPool(OpBuilder &builder, nn::ReduceMeanOp mean, Value source,
                            QuantizedType type) {
  static constexpr int64_t ones[] = {1, 1}, noPads[] = {0, 0, 0, 0};
  ArrayRef<int64_t> shape = mean.getInput().getType().getShape();
  auto pooled = RankedTensorType::get({shape[0], shape[1], 1, 1}, type);
  Value pool = nn::AvgPoolOp::create(builder, mean.getLoc(), pooled, source, shape.take_back(2),
                                     ones, noPads, ones,
                                     /*count_include_pad=*/false);
  auto result = withElementType(mean.getResult(), type);
  return result == pooled ? pool
                          : nn::ReshapeOp::create(builder, mean.getLoc(), result, pool).getResult();
}

Outcome Lowering::lowerMean(Operation *op) {
  auto reduce = dyn_cast<nn::ReduceMeanOp>(op);
  if (reduce &&
      (reduce.getInput().getType().getRank() != 4 || reduce.getAxes() != ArrayRef<int64_t>{2, 3}))
    return Outcome::NotConcerned;
  SmallVector<Value> sources;
  if (Outcome outcome = getSources(op, sources); outcome != Outcome::Lowered)
    return outcome;
  auto pool = dyn_cast<nn::AvgPoolOp>(op);
  auto window = pool ? pool.getKernel() : reduce.getInput().getType().getShape().take_back(2);
  if (!fitsAccumulator(getQuantizedType(sources[0]), window[0] * window[1]))
    return Outcome::Overflow;
  return replaceQuantizes(op, [&](QuantizedType type) -> Value {
    ++numLowered;
    if (pool)
      return cloneOnto(builder, op, sources, withElementType(op->getResult(0), type));
    return makeGlobalPool(builder, reduce, sources[0], type);
  });
}

Outcome Lowering::lowerToReal(Operation *op) {
  SmallVector<Value> sources;
  if (Outcome outcome = getSources(op, sources); outcome != Outcome::Lowered)
    return outcome;
  ++numLowered;
  Value result = op->getResult(0);
  result.replaceAllUsesWith(cloneOnto(builder, op, sources, result.getType()));
  return Outcome::Lowered;
}

Outcome Lowering::lowerResampling(Operation *op) {
  // Fewer channels than lanes are interpolated one by one, whole vectors quantized.
  constexpr int64_t kLanes = 16;
  if (cast<RankedTensorType>(op->getResult(0).getType()).getDimSize(1) < kLanes)
    return Outcome::Separate;
  SmallVector<Value> sources;
  if (Outcome outcome = getSources(op, sources); outcome != Outcome::Lowered)
    return outcome;
  return replaceQuantizes(op, [&](QuantizedType type) {
    ++numLowered;
    return cloneOnto(builder, op, sources, withElementType(op->getResult(0), type));
  });
}
