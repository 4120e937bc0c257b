// A recovery pass outside Octet's tree: the mean error of the network's output, as quantization
// causes it, is added back to that output.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "octet/Dialect/NN/Constants.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Pipelines/Measure.h"

using namespace mlir;
using namespace octet;

namespace {
struct CorrectOutput : PassWrapper<CorrectOutput, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CorrectOutput)
  CorrectOutput() = default;
  CorrectOutput(const CorrectOutput &other) : PassWrapper(other) {}
  StringRef getArgument() const override { return "toy-correct-output"; }
  StringRef getDescription() const override { return "adds the mean error of the output"; }
  Option<double> factor{*this, "factor", llvm::cl::init(1.0), llvm::cl::desc("of the error")};

  void runOnOperation() override {
    auto function = getOperation().lookupSymbol<func::FuncOp>("main");
    OpOperand &output = function.getBody().front().getTerminator()->getOpOperand(0);
    auto type = cast<RankedTensorType>(output.get().getType());
    Operation *last = output.get().getDefiningOp();
    // The result of a group is measured in its body.
    if (auto group = dyn_cast<GroupOp>(last))
      last = group.getTerminator()->getOperand(0).getDefiningOp();
    SmallVector<float, 0> errors;
    Tap tap{last, ChannelSumObserverAttr::get(&getContext(), 1, /*clamp=*/{}), std::nullopt};
    auto use = [&](const Measured &measured) {
      for (float error : getMeanErrors(tap, measured))
        errors.push_back(factor * error);
    };
    if (llvm::Error error = measureBoth(getOperation(), tap, getAnalysis<MeasureContext>(), use)) {
      getOperation().emitError() << llvm::toString(std::move(error));
      return signalPassFailure();
    }
    OpBuilder builder(function.getBody().front().getTerminator());
    SmallVector<int64_t> shape(type.getRank(), 1);
    shape[1] = type.getDimSize(1);
    Value constant = nn::createConstant<float>(builder, function.getLoc(), "toy.error",
                                               type.clone(shape), errors);
    output.set(nn::AddOp::create(builder, function.getLoc(), type, output.get(), constant));
  }
};
} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "Toy", "1", [] { PassRegistration<CorrectOutput>(); }};
}
