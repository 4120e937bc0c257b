//===- Tidy.cpp - the order of the passes that tidy a network ------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "octet/Import/Passes.h"

using namespace mlir;

void octet::buildTidyPipeline(OpPassManager &pm, bool keepsOperators) {
  if (!keepsOperators) {
    pm.addNestedPass<func::FuncOp>(createDropNeutralPass());
    pm.addNestedPass<func::FuncOp>(createRaiseIdiomsPass());
    pm.addNestedPass<func::FuncOp>(createSinkTransposesPass());
  }
  pm.addNestedPass<func::FuncOp>(createSinkReshapesPass({/*partsOnly=*/keepsOperators}));
  pm.addNestedPass<func::FuncOp>(createSinkShufflesPass({/*partsOnly=*/keepsOperators}));
  if (keepsOperators)
    return;
  pm.addNestedPass<func::FuncOp>(createFoldIntoWeightsPass());
  pm.addNestedPass<func::FuncOp>(createJoinStepsPass());
  pm.addNestedPass<func::FuncOp>(createFlushWeightsPass());
}

void octet::registerTidyPipeline() {
  PassPipelineRegistration<>("octet-tidy",
                             "what every imported network goes through, whatever its source",
                             [](OpPassManager &pm) { buildTidyPipeline(pm); });
}
