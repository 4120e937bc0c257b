//===- Convert.cpp - observed ranges to quantize and dequantize -----------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InnerValues.h"
#include "QuantizeConstants.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "octet/Backend/Backend.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/Octet/Origin.h"
#include "octet/Numerics/Quantize.h"
#include "octet/Quantize/Passes.h"
#include "octet/Support/Constants.h"
#include "octet/Support/Diagnostics.h"

using namespace mlir;
using namespace octet;

namespace octet {
#define GEN_PASS_DEF_CONVERTPASS
#include "octet/Quantize/Passes.h.inc"
} // namespace octet

/// The observer's state: its statistics or, for a constant without, those of its elements.
static FailureOr<SmallVector<char>> getState(ObserverOp observer, ObserveOp op) {
  ObserverAttrInterface attr = observer.getObserver();
  RankedTensorType type = op.getObservedType();
  SmallVector<char> state(attr.getStateBytes(type));
  if (observer.getStatisticsAttr()) {
    SmallVector<char> seen = observer.getState();
    if (seen.size() != state.size())
      return observer.emitOpError("expected ")
             << state.size() << " bytes of statistics, but got " << seen.size();
    return seen;
  }
  attr.initState(type, state);
  if (state.empty())
    return state;
  auto values = getConstantValues<float>(op.getInput());
  if (failed(values))
    return observer.emitOpError("has seen nothing") << Remedy("calibrate before octet-convert");
  attr.updateState(type, *values, state);
  return state;
}

/// Whether every scale is the least one that the observer gives.
static bool hasLeastScales(quant::QuantizedType type, double eps) {
  if (auto perTensor = dyn_cast<quant::UniformQuantizedType>(type))
    return perTensor.getScale() == eps;
  return llvm::all_of(cast<quant::UniformQuantizedPerAxisType>(type).getScales(),
                      [&](double scale) { return scale == eps; });
}

static ObserverOp getObserver(ObserveOp op) {
  return SymbolTable::lookupNearestSymbolFrom<ObserverOp>(op, op.getObserverAttr());
}

/// [N.choose_qparams] The observed value quantized, and dequantized, by the scale and zero point of
/// each run.
static Value quantizeInEachRun(OpBuilder &builder, ObserveOp op, const ObserverSpec &spec) {
  auto tensor = cast<RankedTensorType>(op.getInput().getType());
  SmallVector<int64_t> shape;
  bool isPerRow = spec.isPerRow && tensor.getRank() > 0;
  if (isPerRow) {
    shape.assign(tensor.getShape().begin(), tensor.getShape().end());
    shape.back() = 1;
  }
  auto [low, high] = getStorageRange(spec.dtype);
  auto integers = quant::UniformQuantizedType::get(
      spec.dtype.isUnsigned() ? 0 : quant::QuantizationFlags::Signed,
      builder.getIntegerType(spec.dtype.getWidth()), builder.getF32Type(), 1.0, 0, low, high);
  auto params = ChooseQParamsOp::create(
      builder, op.getLoc(), RankedTensorType::get(shape, builder.getF32Type()),
      RankedTensorType::get(shape, builder.getI32Type()), op.getInput(),
      builder.getDenseI64ArrayAttr({*spec.quantMin, *spec.quantMax}), isPerRow);
  auto quantized =
      QuantizeDynamicOp::create(builder, op.getLoc(), tensor.clone(integers), op.getInput(),
                                params.getScale(), params.getZeroPoint());
  return DequantizeDynamicOp::create(builder, op.getLoc(), tensor, quantized, params.getScale(),
                                     params.getZeroPoint());
}

/// Whether each run has a scale of its own; floats of 16 bits have none.
static bool isChosenInEachRun(const ObserverSpec &spec) {
  return spec.isDynamic && !spec.floatType;
}

namespace {
struct Convert : octet::impl::ConvertPassBase<Convert> {
  using ConvertPassBase::ConvertPassBase;

  /// The observed operand and the quantized type it will have.
  DenseMap<Operation *, quant::QuantizedType> types;
  /// Of observers whose statistics do not depend on the value: a search each would cost.
  DenseMap<Operation *, quant::UniformQuantizedType> known;
  /// What is kept with real zero points, and what as floats of 16 bits.
  DenseMap<Operation *, std::pair<IntegerType, FloatQParams>> stored;
  DenseMap<Operation *, FloatType> halves;

  void runOnOperation() override {
    const Backend *backend = getAnalysis<PolicyAnalysis>().getBackend();
    forEachObserve(observeInnerValues);
    if (!backend || failed(readObservers()))
      return signalPassFailure();
    markAnalysesPreserved<PolicyAnalysis>();
    bool isFinal = form == ConvertForm::Quantized;
    getOperation().walk([&](FakeQuantizeOp op) {
      if (isFinal && op->getParentOfType<ModuleOp>() == getOperation())
        convertTrained(op);
    });
    SmallVector<Unit, 0> units;
    for (auto function : getOperation().getOps<FunctionOpInterface>())
      for (Block *block : getNetworkBlocks(function))
        for (Operation &op : *block)
          if (auto unit = backend->matchUnit(&op))
            units.push_back(std::move(*unit));
    DenseMap<Attribute, SmallVector<ObserveOp>> byObserver;
    forEachObserve([&](ObserveOp op) { byObserver[op.getObserverAttr()].push_back(op); });
    for (const Unit &unit : llvm::reverse(units))
      joinScales(unit, types,
                 [&](ObserveOp op) { return ArrayRef(byObserver[op.getObserverAttr()]); });
    llvm::erase_if(units, [&](const Unit &unit) { return !getType(unit.getOperand<WeightOp>()); });
    forEachObserve([&](ObserveOp op) {
      if (types.contains(op))
        takeScalesOfParts(op, types);
    });
    for (const Unit &unit : units)
      raiseScales(unit);
    for (const Unit &unit : units)
      if (isFinal)
        convertBias(unit);
    if (!isFinal && failed(checkForms()))
      return signalPassFailure();
    forEachObserve([&](ObserveOp op) { isFinal ? convertObserve(op) : startTraining(op); });
    for (auto observer : llvm::make_early_inc_range(getOperation().getOps<ObserverOp>()))
      observer.erase();
    getOperation().walk([](Operation *op) {
      if (op->hasTrait<OpTrait::ConstantLike>() && op->use_empty())
        op->erase();
    });
  }

  /// Those of this module; a module inside has a policy and passes of its own.
  void forEachObserve(llvm::function_ref<void(ObserveOp)> visit) {
    getOperation().walk([&](ObserveOp op) {
      if (op->getParentOfType<ModuleOp>() == getOperation())
        visit(op);
    });
  }

  /// The type that an observed value has, in one of the maps.
  LogicalResult readObserver(ObserverOp observer, ObserveOp op) {
    ObserverSpec spec = observer.getObserver().getSpec();
    if (spec.floatType) {
      halves[op] = spec.floatType;
      return success();
    }
    if (auto type = known.lookup(observer)) {
      types[op] = type;
      return success();
    }
    auto state = getState(observer, op);
    if (failed(state))
      return failure();
    RankedTensorType tensor = op.getObservedType();
    auto emitError = [&] { return observer.emitOpError(); };
    if (spec.hasFloatZeroPoints && succeeded(getConstantValues<float>(op.getInput()))) {
      auto params = observer.getObserver().getFloatQParams(emitError, tensor, *state);
      if (succeeded(params))
        stored[op] = {spec.dtype, *params};
      return success(succeeded(params));
    }
    auto type = observer.getObserver().getQuantizedType(emitError, tensor, *state);
    if (failed(type))
      return failure();
    types[op] = *type;
    auto uniform = dyn_cast<quant::UniformQuantizedType>(*type);
    if (uniform && observer.getStatisticsAttr())
      known[observer] = uniform;
    return success();
  }

  LogicalResult readObservers() {
    SmallVector<ObserveOp> vanishing;
    bool isWrong = false;
    forEachObserve([&](ObserveOp op) {
      ObserverOp observer = getObserver(op);
      if (isWrong || isChosenInEachRun(observer.getObserver().getSpec())) // one error is enough
        return;
      isWrong |= failed(readObserver(observer, op));
      if (isWrong)
        return;
      std::optional<double> eps = observer.getObserver().getSpec().eps;
      quant::QuantizedType type = types.lookup(op);
      if (type && eps && hasLeastScales(type, *eps) && !isConstant(op.getInput()))
        vanishing.push_back(op);
    });
    if (!vanishing.empty())
      vanishing.front()->emitWarning("calibration saw only zeros, or numbers that the observer's "
                                     "least scale (its eps) is too large for")
          << " (values like this: " << vanishing.size() << "); int8 may lose them"
          << Remedy("check the samples, or give observers a smaller eps in the QConfig mapping");
    return failure(isWrong);
  }

  /// The observer in front of an operand, or null.
  static ObserveOp getObserve(OpOperand *operand) {
    return operand ? operand->get().getDefiningOp<ObserveOp>() : nullptr;
  }

  /// The quantized type of an operand: that of its observer, or its own, as that of weights that a
  /// recovery pass has rounded. Null if it is float.
  quant::QuantizedType getType(OpOperand *operand) {
    if (ObserveOp observe = getObserve(operand))
      return types.lookup(observe);
    auto dequantize = operand ? operand->get().getDefiningOp<DequantizeOp>() : nullptr;
    Type type = dequantize ? getElementTypeOrSelf(dequantize.getInput().getType()) : Type();
    // A bias has no scale of its own for each block of weights.
    return isa_and_nonnull<quant::UniformQuantizedType, quant::UniformQuantizedPerAxisType>(type)
               ? cast<quant::QuantizedType>(type)
               : nullptr;
  }

  /// Whether the weights have one scale, or one for each channel of the result.
  static bool hasScalesOfChannels(const Unit &unit, quant::QuantizedType weight) {
    auto perAxis = dyn_cast<quant::UniformQuantizedPerAxisType>(weight);
    auto leaves = PatternOp(unit.pattern).getBody().getOps<WeightOp>();
    return !perAxis || perAxis.getQuantizedDimension() == (int64_t)(*leaves.begin()).getAxis();
  }

  /// [N.float_bias] What the pattern's first static data types of such an input say.
  static bool addsBiasInFloats(PatternOp pattern, quant::QuantizedType input) {
    for (auto symbol : pattern.getDtypes().getAsRange<FlatSymbolRefAttr>()) {
      auto dtypes =
          cast<DTypesOp>(SymbolTable::lookupSymbolIn(pattern->getParentOp(), symbol.getAttr()));
      DTypeAttr given = dtypes.getInputAttr();
      auto integers = given ? dyn_cast<IntegerType>(given.getType()) : IntegerType();
      if (!dtypes.getDynamic() &&
          (!given || (integers && integers.isSigned() == input.isSigned() &&
                      integers.getWidth() == input.getStorageTypeIntegralWidth())))
        return dtypes.getBias() && dtypes.getBias()->isF32();
    }
    return false;
  }

  /// A bias that becomes int32: the activation and the weights of its unit are quantized, and it
  /// has known values, one for each scale of the weights.
  struct ProductBias {
    OpOperand *operand;
    quant::QuantizedType input, weight;
    SmallVector<float, 0> values;
  };

  std::optional<ProductBias> getBias(const Unit &unit) {
    OpOperand *operand = unit.getOperand<BiasOp>();
    quant::QuantizedType input = getType(unit.getWeightedActivation()),
                         weight = getType(unit.getOperand<WeightOp>());
    if (!input || !weight || !operand || !hasScalesOfChannels(unit, weight) ||
        addsBiasInFloats(unit.pattern, input))
      return std::nullopt;
    auto values = getConstantValues<float>(operand->get());
    if (failed(values))
      return std::nullopt;
    int64_t numScales = numerics::getNumChannels(weight);
    bool isOfChannels = cast<ShapedType>(operand->get().getType()).getRank() == 1 &&
                        (int64_t)values->size() == numScales;
    if (numScales > 1 && !isOfChannels)
      return std::nullopt;
    return ProductBias{operand, input, weight, std::move(*values)};
  }

  /// Raises tiny scales of channels whose weights are close to zero, so that the bias fits into
  /// int32.
  void raiseScales(const Unit &unit) {
    std::optional<ProductBias> bias = getBias(unit);
    ObserveOp observe = getObserve(unit.getOperand<WeightOp>());
    if (!bias || !observe)
      return;
    int64_t raised = 0;
    types[observe] = raiseWeightScales(bias->weight, bias->input, bias->values, raised);
    numRaisedScales += raised;
    if (raised)
      remark::analysis(unit.op->getLoc(),
                       remark::RemarkOpts::name("OCT110").category("octet-convert"))
          << "weight scales raised so that the bias fits into int32"
          << remark::metric("channels", raised);
  }

  /// [N.bias] The bias as int32 at f32(s_x * s_w), with a dequantize.
  void convertBias(const Unit &unit) {
    std::optional<ProductBias> bias = getBias(unit);
    if (!bias)
      return;
    int64_t raised = 0;
    if (!getObserve(unit.getOperand<WeightOp>())) // those of integers cannot be raised
      (void)raiseWeightScales(bias->weight, bias->input, bias->values, raised);
    if (raised) {
      unit.op->emitWarning("stays float: its bias does not fit into int32 at input scale times "
                           "weight scale, and its weights are integers already")
          << " (channels like this: " << raised << ")"
          << Remedy("give these weights larger scales");
      return;
    }
    auto type = getBiasType(bias->weight, bias->input, bias->values.size());
    OriginPropagation origins(getOrigin(bias->operand->get()));
    OpBuilder builder(unit.op, &origins);
    if (Value quantized = quantizeBias(builder, bias->operand->get(), bias->values, type)) {
      bias->operand->set(quantized);
      ++numBiases;
    }
  }

  /// Constants as integers with real zero points or as floats of 16 bits; null for others.
  Value convertWeights(OpBuilder &builder, ObserveOp op) {
    auto values = getConstantValues<float>(op.getInput());
    if (failed(values))
      return {};
    if (auto it = stored.find(op); it != stored.end())
      return storeWeights(builder, op.getInput(), *values, it->second.first, it->second.second);
    if (FloatType half = halves.lookup(op))
      return storeWeights(builder, op.getInput(), *values, half);
    return {};
  }

  /// [N.half] A value rounded to floats of 16 bits.
  static Value roundToHalf(OpBuilder &builder, ObserveOp op, FloatType half) {
    auto tensor = cast<RankedTensorType>(op.getInput().getType());
    Value rounded = nn::CastOp::create(builder, op.getLoc(), tensor.clone(half), op.getInput());
    return nn::CastOp::create(builder, op.getLoc(), tensor, rounded);
  }

  void convertObserve(ObserveOp op) {
    OriginPropagation origins(op);
    OpBuilder builder(op, &origins);
    if (ObserverSpec spec = getObserver(op).getObserver().getSpec(); isChosenInEachRun(spec)) {
      op.replaceAllUsesWith(quantizeInEachRun(builder, op, spec));
      ++numDynamic;
    } else if (Value weights = convertWeights(builder, op)) {
      op.replaceAllUsesWith(weights);
      ++numWeights;
    } else if (FloatType half = halves.lookup(op)) {
      op.replaceAllUsesWith(roundToHalf(builder, op, half));
      ++numActivations;
    } else {
      return quantize(op, op.getInput(), types[op]);
    }
    op.erase();
  }

  /// Ranges that are trained are those of weights or of whole activations.
  LogicalResult checkForms() {
    for (auto [op, type] : types)
      if (numerics::getChannelAxis(type) >= 0 && !isConstant(op->getOperand(0)))
        return op->emitError("an activation with a scale per channel cannot be trained further")
               << Remedy("give its QConfig no channel_activation");
    return success();
  }

  /// What is rounded to a quantized type is so in training; everything else is a real number.
  void startTraining(ObserveOp op) {
    OriginPropagation origins(op);
    OpBuilder builder(op, &origins);
    Value value = op.getInput();
    if (quant::QuantizedType type = types.lookup(op)) {
      ++(isConstant(value) ? numWeights : numActivations);
      value =
          FakeQuantizeOp::create(builder, op.getLoc(), value.getType(), value, TypeAttr::get(type));
    }
    op.replaceAllUsesWith(value);
    op.erase();
  }

  /// A value whose range was trained, by the same laws as one that was observed.
  void convertTrained(FakeQuantizeOp op) {
    quantize(op, op.getInput(), cast<quant::QuantizedType>(op.getQuantizedType()));
  }

  /// Puts integers of `type` with a dequantize in the place of `op`.
  void quantize(Operation *op, Value input, quant::QuantizedType type) {
    OriginPropagation origins(op);
    OpBuilder builder(op, &origins);
    auto values = getConstantValues<float>(input);
    auto makeWeights = hasIntegerForm(op, type) ? quantizeWeights : roundWeights;
    Value weights = succeeded(values) ? makeWeights(builder, input, *values, type) : Value();
    ++(weights ? numWeights : numActivations);
    if (!weights) {
      auto tensor = cast<RankedTensorType>(input.getType());
      auto quantized = QuantizeOp::create(builder, op->getLoc(), tensor.clone(type), input);
      weights = DequantizeOp::create(builder, op->getLoc(), tensor, quantized);
    }
    op->getResult(0).replaceAllUsesWith(weights);
    op->erase();
  }
};
} // namespace
