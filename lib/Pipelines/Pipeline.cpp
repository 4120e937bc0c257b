//===- Pipeline.cpp - the passes of each stage ----------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Pipelines/Pipeline.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassOptions.h"
#include "octet/Codegen/Passes.h"
#include "octet/Import/Passes.h"
#include "octet/Lower/Passes.h"
#include "octet/Pipelines/Passes.h"
#include "octet/Quantize/Passes.h"

using namespace mlir;
using namespace octet;

ArrayRef<StageInfo> octet::getStages() {
  static const StageInfo stages[] = {
#define OCTET_STAGE(enumerator, name, summary) {Stage::enumerator, name, summary},
#include "octet/Dialect/Octet/Stages.def"
  };
  return stages;
}

StringRef octet::getName(Stage stage) { return getStages()[(size_t)stage].name; }

//===----------------------------------------------------------------------===//
// One function for each row of Stages.def
//===----------------------------------------------------------------------===//

static void buildImport(OpPassManager &pm, const PipelineOptions &) { buildTidyPipeline(pm); }

static void buildFuse(OpPassManager &pm, const PipelineOptions &options) {
  if (options.isAdopted)
    pm.addNestedPass<func::FuncOp>(createExpandFakeQuantizePass());
  else if (options.policy.precision == Precision::Int8)
    pm.addPass(createToFakeQuantizePass());
  if (!options.isAdopted) // weights in few bits are observed as real numbers
    pm.addNestedPass<func::FuncOp>(createFoldConstantsPass());
  pm.addPass(createFusePass());
  if (options.isAdopted && options.policy.precision == Precision::Float)
    pm.addNestedPass<func::FuncOp>(createFoldConstantsPass());
}

static void buildPrepare(OpPassManager &pm, const PipelineOptions &options) {
  if (options.isAdopted)
    return pm.addPass(createAdoptPass());
  pm.addPass(createRunRecipePass({RecipePlace::BeforePrepare}));
  PreparePassOptions prepare;
  prepare.strict = options.policy.isStrict;
  prepare.quantizedOutputs = options.policy.isIoQuantized;
  pm.addPass(createPreparePass(prepare));
}

static void buildCalibrate(OpPassManager &pm, const PipelineOptions &options) {
  if (options.isAdopted)
    return;
  if (options.isCalibratedElsewhere)
    return pm.addPass(createRunRecipePass({RecipePlace::AfterCalibrate}));
  const std::vector<std::string> &saved = options.calibration.loadStatistics;
  CalibratePassOptions calibrate;
  calibrate.loadStatistics.assign(saved.begin(), saved.end());
  calibrate.saveStatistics = options.calibration.saveStatistics;
  pm.addPass(createCalibratePass(calibrate));
  if (options.calibration.comparesLayers) { // with the network's own weights and biases
    CompareLayersPassOptions compare;
    compare.output = "";
    pm.addPass(createCompareLayersPass(compare));
  }
  pm.addPass(createRunRecipePass({RecipePlace::AfterCalibrate}));
}

static void buildConvert(OpPassManager &pm, const PipelineOptions &options) {
  if (!options.isAdopted)
    pm.addPass(createConvertPass());
}

static void buildLower(OpPassManager &pm, const PipelineOptions &options) {
  LowerPassOptions lower;
  lower.strict = options.policy.isStrict;
  QuantizeSignaturePassOptions signature;
  signature.markedOnly = !options.policy.isIoQuantized;
  pm.addPass(createInlineCallsPass());
  pm.addPass(createQuantizeSignaturePass(signature));
  pm.addNestedPass<func::FuncOp>(createLowerPass(lower));
  pm.addNestedPass<func::FuncOp>(createJoinElementwisePass());
}

static void buildLayout(OpPassManager &pm, const PipelineOptions &) {
  pm.addPass(createInlineCallsPass());
  pm.addPass(createInlineGroupsPass());
  pm.addNestedPass<func::FuncOp>(createExpandBatchNormPass());
  pm.addNestedPass<func::FuncOp>(createFuseAttentionPass());
  pm.addNestedPass<func::FuncOp>(createFuseSoftmaxPass());
  pm.addNestedPass<func::FuncOp>(createFuseRowsPass());
  pm.addNestedPass<func::FuncOp>(createFuseElementwisePass());
  pm.addNestedPass<func::FuncOp>(createAssignLayoutPass());
}

static void buildProgram(OpPassManager &pm, const PipelineOptions &options) {
  EmitProgramPassOptions program;
  program.levels.assign(options.levels.begin(), options.levels.end());
  pm.addPass(createEmitProgramPass(program));
}

static void buildLLVM(OpPassManager &pm, const PipelineOptions &) { buildLevelPipeline(pm); }

//===----------------------------------------------------------------------===//
// Pipelines
//===----------------------------------------------------------------------===//

bool octet::isPassed(Stage stage, Precision precision) {
  bool isQuantizing = stage > Stage::Fuse && stage <= Stage::Lower;
  return precision == Precision::Int8 || !isQuantizing;
}

void octet::buildPipeline(OpPassManager &pm, Stage passed, Stage last,
                          const PipelineOptions &options) {
  using Builder = void (*)(OpPassManager &, const PipelineOptions &);
  static constexpr Builder builders[] = {
#define OCTET_STAGE(enumerator, name, summary) build##enumerator,
#include "octet/Dialect/Octet/Stages.def"
  };
  bool isRunning = options.policy.precision == Precision::Int8 && !options.isAdopted &&
                   passed < Stage::Calibrate && last >= Stage::Prepare;
  if (isRunning)
    pm.addPass(
        createUseSamplesPass(options.calibration, options.progress, options.isCalibratedElsewhere));
  for (const StageInfo &info : getStages())
    if (info.stage > passed && info.stage <= last && isPassed(info.stage, options.policy.precision))
      builders[(size_t)info.stage](pm, options);
}

static void registerPipelines() {
  struct Options : PassPipelineOptions<Options> {
    ListOption<std::string> levels{*this, "levels", llvm::cl::desc("CPU levels, best first")};
  };
  PassPipelineRegistration<Options>(
      "octet-codegen", "integer program to one LLVM-dialect module per CPU level",
      [](OpPassManager &pm, const Options &given) {
        PipelineOptions options;
        options.levels.assign(given.levels.begin(), given.levels.end());
        buildPipeline(pm, Stage::Lower, Stage::LLVM, options);
      });
}

void octet::registerOctetPasses() {
  static const bool isRegistered = [] {
    registerImportPasses();
    registerTidyPipeline();
    registerQuantizePasses();
    registerLowerPasses();
    registerCodegenPasses();
    registerPipelinesPasses();
    registerPipelines();
    return true;
  }();
  (void)isRegistered;
}
