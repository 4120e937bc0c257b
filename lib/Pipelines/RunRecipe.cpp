//===- RunRecipe.cpp - recovery passes that a backend names ---------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "octet/Backend/Backend.h"
#include "octet/Codegen/Passes.h"
#include "octet/Pipelines/Measure.h"
#include "octet/Pipelines/Passes.h"
#include "octet/Support/Quote.h"
#include "llvm/ADT/StringExtras.h"

namespace octet {
#define GEN_PASS_DEF_RUNRECIPEPASS
#include "octet/Pipelines/Passes.h.inc"
} // namespace octet

using namespace mlir;
using namespace octet;

/// The pipeline of one place; empty if the recipe has none.
static StringRef getText(RecipeOp recipe, RecipePlace place) {
  return (place == RecipePlace::BeforePrepare ? recipe.getBeforePrepare()
                                              : recipe.getAfterCalibrate())
      .value_or("");
}

/// The reason in MLIR's message about a text that is not a pipeline, without its marks of the
/// place.
static std::string getReason(StringRef said) {
  SmallVector<StringRef> lines;
  said.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines)
    if (size_t error = line.find("error: "); error != StringRef::npos)
      return line.substr(error + strlen("error: ")).str();
  for (StringRef &line : lines)
    line.consume_front("<Pass-Options-Parser>: ");
  return llvm::join(lines, "; ");
}

/// Parses the pipeline of one place; an error at the recipe if that is not possible.
static FailureOr<OpPassManager> parsePipeline(RecipeOp recipe, RecipePlace place) {
  // Passes of functions nest by themselves.
  OpPassManager pipeline(ModuleOp::getOperationName(), OpPassManager::Nesting::Implicit);
  std::string said;
  llvm::raw_string_ostream os(said);
  if (succeeded(parsePassPipeline(getText(recipe, place), pipeline, os)))
    return pipeline;
  StringRef name = place == RecipePlace::BeforePrepare ? recipe.getBeforePrepareAttrName()
                                                       : recipe.getAfterCalibrateAttrName();
  return recipe.emitOpError("expected passes that are built in or loaded as a plugin in '")
         << name << "', but " << escapeText(getReason(said));
}

LogicalResult octet::checkRecipe(const Backend &backend) {
  RecipeOp recipe = backend.getRecipe();
  return success(!recipe || (succeeded(parsePipeline(recipe, RecipePlace::BeforePrepare)) &&
                             succeeded(parsePipeline(recipe, RecipePlace::AfterCalibrate))));
}

namespace {
/// See Passes.td.
struct RunRecipe : octet::impl::RunRecipePassBase<RunRecipe> {
  using RunRecipePassBase::RunRecipePassBase;

  void runOnOperation() override {
    const Backend *backend = getAnalysis<PolicyAnalysis>().getBackend();
    if (!backend || failed(checkRecipe(*backend)))
      return signalPassFailure();
    RecipeOp recipe = backend->getRecipe();
    if (!recipe)
      return;
    // The end of a pipeline within a pass drops all analyses of the module.
    MeasureContext context = getAnalysis<MeasureContext>();
    FailureOr<OpPassManager> pipeline = parsePipeline(recipe, place);
    if (failed(pipeline) || failed(runPipeline(*pipeline, getOperation())))
      signalPassFailure();
    getAnalysis<MeasureContext>() = context;
  }
};
} // namespace
