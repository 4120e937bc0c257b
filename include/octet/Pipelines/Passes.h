//===- Passes.h - passes that run the network -------------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_PIPELINES_PASSES_H
#define OCTET_PIPELINES_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/Octet/Octet.h"
#include "octet/Pipelines/Options.h"

namespace octet {

class Backend;

/// The two places where a backend's recipe runs passes.
enum class RecipePlace { BeforePrepare, AfterCalibrate };

#define GEN_PASS_DECL
#include "octet/Pipelines/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "octet/Pipelines/Passes.h.inc"

/// octet-use-samples with the samples and threads of a calibration (without samples where these
/// calibrate another bucket), and with callbacks for the progress of the passes behind it.
std::unique_ptr<mlir::Pass> createUseSamplesPass(const CalibrationOptions &calibration,
                                                 const Progress &progress,
                                                 bool isCalibratedElsewhere = false);

/// Parses both pipelines of the backend's recipe; emits errors at the recipe.
mlir::LogicalResult checkRecipe(const Backend &backend);

} // namespace octet

#endif // OCTET_PIPELINES_PASSES_H
