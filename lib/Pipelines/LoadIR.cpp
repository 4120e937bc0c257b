//===- LoadIR.cpp - networks that a compilation stopped at ----------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoadIR.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "octet/Codegen/Passes.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/Octet/Octet.h"
#include "octet/Dialect/Octet/QuantizedSource.h"
#include "octet/Export/OnnxExport.h"
#include "octet/Import/Passes.h"

using namespace mlir;
using namespace octet;

static bool isQuantized(Type type) { return isa<quant::QuantizedType>(getElementTypeOrSelf(type)); }

/// The last stage that IR passed; Stage::Program if it is too late to continue. Ops show the stage
/// of IR from any source; a network without quantized operators has no such ops.
static Stage findStage(ModuleOp module) {
  Stage stage = Stage::Import;
  if (auto name = module->getAttrOfType<StringAttr>(kStageAttr))
    for (const StageInfo &info : getStages())
      if (info.name == name.getValue())
        stage = std::min(info.stage, Stage::Program);
  // A network may have been quantized in its file.
  bool isBegun = module->hasAttr(kQuantizedSourceAttr) ||
                 (module->hasAttr(kStageAttr) && stage < Stage::Prepare);
  auto atLeast = [&](Stage other) { stage = std::max(stage, other); };
  module.walk([&](Operation *op) {
    if (isa<ModuleOp>(op) && op != module)
      atLeast(Stage::Program);
    if (isa<GroupOp>(op))
      atLeast(Stage::Fuse);
    if (auto observe = dyn_cast<ObserveOp>(op)) {
      auto observer =
          SymbolTable::lookupNearestSymbolFrom<ObserverOp>(observe, observe.getObserverAttr());
      bool isConstant = observe.getInput().getDefiningOp<nn::ConstantOp>();
      atLeast(!isConstant && observer.getStatisticsAttr() ? Stage::Calibrate : Stage::Prepare);
    }
    if (isa<QuantizeOp, DequantizeOp, QuantizeDynamicOp, DequantizeDynamicOp>(op))
      atLeast(isBegun ? stage : Stage::Convert);
    else if (llvm::any_of(op->getOperandTypes(), isQuantized) &&
             !op->hasTrait<OpTrait::IsTerminator>())
      atLeast(Stage::Lower);
  });
  return stage;
}

LogicalResult octet::keepStates(ModuleOp module, ArrayRef<std::string> states) {
  if (states.empty())
    return success();
  PassManager pm(module.getContext());
  pm.addPass(createKeepStatesPass({llvm::to_vector<0>(states)}));
  return pm.run(module);
}

bool octet::isTidied(ModuleOp module) { return module->hasAttr(kStageAttr); }

llvm::Error octet::takeUp(ModuleOp module, Stage &passed, Report &report) {
  passed = findStage(module);
  if (passed == Stage::Program)
    return llvm::createStringError(
        "expected the IR of a network up to the integer program, but got code generation's");
  auto network = module.lookupSymbol<func::FuncOp>("main");
  if (!network)
    return llvm::createStringError("expected the IR of a network with a function 'main'");
  if (failed(verifyNetwork(network)))
    return llvm::createStringError("the file holds no network");
  auto noted = cast_or_null<StringAttr>(module->removeAttr(kReportAttr));
  llvm::Expected<Report> begun = noted ? Report::parse(noted) : Report();
  if (!begun)
    return begun.takeError();
  report = std::move(*begun);
  module->removeAttr(kQuantizedSourceAttr);
  return llvm::Error::success();
}

llvm::Error octet::writeIR(ModuleOp module, Stage passed, const Report &report,
                           llvm::SmallVectorImpl<char> &bytecode, std::string &text) {
  auto mark = [&](StringRef name, StringRef value) {
    module->setAttr(name, StringAttr::get(module.getContext(), value));
  };
  mark(kStageAttr, getName(passed));
  llvm::raw_string_ostream readable(text);
  module->print(
      readable,
      OpPrintingFlags().elideLargeElementsAttrs(16).elideLargeResourceString(64).enableDebugInfo());
  mark(kReportAttr, report.print());
  llvm::raw_svector_ostream os(bytecode);
  if (failed(writeBytecodeToFile(module, os)))
    return llvm::createStringError("the IR cannot be written as bytecode");
  return llvm::Error::success();
}

llvm::Error octet::writeOnnx(ModuleOp module, llvm::SmallVectorImpl<char> &bytes) {
  llvm::raw_svector_ostream os(bytes);
  if (failed(exportOnnx(module, os)))
    return llvm::createStringError("the network cannot be written as ONNX");
  return llvm::Error::success();
}
