//===- Convert.cpp - observed ranges to quantize and dequantize -----------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QuantizeConstants.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "octet/Backend/Backend.h"
#include "octet/Dialect/NN/Constants.h"
#include "octet/Quantize/Passes.h"

using namespace mlir;
using namespace octet;

namespace octet {
#define GEN_PASS_DEF_CONVERTPASS
#include "octet/Quantize/Passes.h.inc"
} // namespace octet

/// The observer's state: its statistics; for a constant that none was kept of, what its elements give.
static FailureOr<SmallVector<char>> getState(ObserverOp observer, ObserveOp op) {
  ObserverAttrInterface attr = observer.getObserver();
  RankedTensorType type = cast<RankedTensorType>(op.getInput().getType());
  SmallVector<char> state(attr.getStateBytes(type));
  if (auto statistics = observer.getStatisticsAttr()) {
    if (statistics.getNumElements() != (int64_t)state.size())
      return observer.emitOpError("expected ") << state.size() << " bytes of statistics, but got " << statistics.getNumElements();
    // Not the raw data: equal bytes are stored once.
    return llvm::map_to_vector(statistics.getValues<int8_t>(), [](int8_t byte) { return (char)byte; });
  }
  attr.initState(type, state);
  if (state.empty())
    return state;
  auto values = nn::getConstantValues<float>(op.getInput());
  if (failed(values))
    return observer.emitOpError("has seen nothing; calibrate before octet-convert");
  attr.updateState(type, *values, state);
  return state;
}

/// Whether every scale is the least one that the observer gives.
static bool hasLeastScales(quant::QuantizedType type, double eps) {
  if (auto perTensor = dyn_cast<quant::UniformQuantizedType>(type))
    return perTensor.getScale() == eps;
  return llvm::all_of(cast<quant::UniformQuantizedPerAxisType>(type).getScales(), [&](double scale) { return scale == eps; });
}

namespace {
struct Convert : octet::impl::ConvertPassBase<Convert> {
  using ConvertPassBase::ConvertPassBase;

  /// The observed operand and the quantized type it will have.
  DenseMap<Operation *, quant::QuantizedType> types;

  void runOnOperation() override {
    FailureOr<Backend> loaded = Backend::load(getOperation().getLoc(), backend);
    if (failed(loaded) || failed(readObservers()))
      return signalPassFailure();
    SmallVector<Unit, 0> units;
    for (auto function : getOperation().getOps<FunctionOpInterface>())
      for (Operation &op : function.getFunctionBody().getOps())
        if (auto unit = loaded->matchUnit(&op); unit && getObserve(unit->getOperand<WeightOp>()))
          units.push_back(std::move(*unit));
    for (const Unit &unit : units)
      raiseScales(unit);
    for (const Unit &unit : units)
      convertBias(unit);
    getOperation().walk([&](ObserveOp op) { convertObserve(op); });
    for (auto observer : llvm::make_early_inc_range(getOperation().getOps<ObserverOp>()))
      observer.erase();
    getOperation().walk([](nn::ConstantOp constant) {
      if (constant.use_empty())
        constant.erase();
    });
  }

  LogicalResult readObservers() {
    SmallVector<ObserveOp> vanishing;
    WalkResult result = getOperation().walk([&](ObserveOp op) {
      auto observer = SymbolTable::lookupNearestSymbolFrom<ObserverOp>(op, op.getObserverAttr());
      auto state = getState(observer, op);
      if (failed(state))
        return WalkResult::interrupt();
      auto type = observer.getObserver().getQuantizedType([&] { return observer.emitOpError(); },
                                                          cast<RankedTensorType>(op.getInput().getType()), *state);
      if (failed(type))
        return WalkResult::interrupt();
      types[op] = *type;
      std::optional<double> eps = observer.getObserver().getSpec().eps;
      if (eps && hasLeastScales(*type, *eps) && !op.getInput().getDefiningOp<nn::ConstantOp>())
        vanishing.push_back(op);
      return WalkResult::advance();
    });
    if (!vanishing.empty())
      vanishing.front()->emitWarning("calibration saw only zeros, or numbers that the observer's least scale (its eps) is too large for")
          << " (values like this: " << vanishing.size() << "); int8 may lose them: check the samples, or give observers a smaller "
          << "eps in the QConfig mapping";
    return failure(result.wasInterrupted());
  }

  /// The observer in front of an operand, or null.
  static ObserveOp getObserve(OpOperand *operand) {
    return operand ? operand->get().getDefiningOp<ObserveOp>() : nullptr;
  }

  /// A bias that becomes int32: its unit's activation and weights are observed, its values known.
  struct ProductBias {
    OpOperand *operand;
    ObserveOp input, weight;
    SmallVector<float, 0> values;
  };

  static std::optional<ProductBias> getBias(const Unit &unit) {
    OpOperand *operand = unit.getOperand<BiasOp>();
    ObserveOp input = getObserve(unit.getWeightedActivation()), weight = getObserve(unit.getOperand<WeightOp>());
    if (!input || !operand)
      return std::nullopt;
    auto values = nn::getConstantValues<float>(operand->get());
    if (failed(values))
      return std::nullopt;
    return ProductBias{operand, input, weight, std::move(*values)};
  }

  /// A channel whose weights are all but zero has a tiny scale, in whose steps the bias would not fit into int32.
  void raiseScales(const Unit &unit) {
    std::optional<ProductBias> bias = getBias(unit);
    if (!bias)
      return;
    int64_t raised = 0;
    types[bias->weight] = raiseWeightScales(types[bias->weight], types[bias->input], bias->values, raised);
    numRaisedScales += raised;
    if (raised)
      remark::analysis(unit.op->getLoc(), remark::RemarkOpts::name("OCT110").category("octet-convert"))
          << "weight scales raised so that the bias fits into int32" << remark::metric("channels", raised);
  }

  /// [N.bias] The bias as int32 at f32(s_x * s_w), with a dequantize.
  void convertBias(const Unit &unit) {
    std::optional<ProductBias> bias = getBias(unit);
    if (!bias)
      return;
    auto constant = bias->operand->get().getDefiningOp<nn::ConstantOp>();
    auto type = getBiasType(types[bias->weight], types[bias->input], bias->values.size());
    OpBuilder builder(unit.op);
    bias->operand->set(createQuantizedConstant(builder, constant, bias->values, type));
    ++numBiases;
  }

  void convertObserve(ObserveOp op) {
    OpBuilder builder(op);
    quant::QuantizedType type = types[op];
    if (auto constant = op.getInput().getDefiningOp<nn::ConstantOp>()) {
      auto values = nn::getConstantValues<float>(op.getInput());
      op.replaceAllUsesWith(createQuantizedConstant(builder, constant, *values, type));
      ++numWeights;
    } else {
      auto tensor = cast<RankedTensorType>(op.getInput().getType());
      auto quantized = QuantizeOp::create(builder, op.getLoc(), tensor.clone(type), op.getInput());
      op.replaceAllUsesWith(DequantizeOp::create(builder, op.getLoc(), tensor, quantized).getResult());
      ++numActivations;
    }
    op.erase();
  }
};
} // namespace
