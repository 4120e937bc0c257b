//===- Pipeline.h - the passes of each stage --------------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The only place that orders passes. octet-compile, the compilation of observed and reference
// networks, and the pipelines of octet-opt use these functions.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_PIPELINES_PIPELINE_H
#define OCTET_PIPELINES_PIPELINE_H

#include "mlir/Pass/PassManager.h"
#include "octet/Pipelines/Options.h"

namespace octet {

struct PipelineOptions {
  PolicyOptions policy;
  CalibrationOptions calibration;
  Progress progress;
  std::vector<std::string> levels; ///< CPU levels, best first
  bool isAdopted = false;          ///< the network's own quantization is kept
  /// The statistics come from another bucket, as does what its samples gave the recipe: calibrate
  /// does not run the network, and the recipe runs without samples.
  bool isCalibratedElsewhere = false;
};

/// Whether a network of this precision goes through the stage; a float one skips the stages from
/// prepare to lower.
bool isPassed(Stage stage, Precision precision);

/// Adds the passes of every stage behind `passed`, up to and including `last`.
void buildPipeline(mlir::OpPassManager &pm, Stage passed, Stage last,
                   const PipelineOptions &options);

/// Registers all passes of Octet, once, and the pipeline `octet-codegen` from the integer program
/// to the LLVM dialect.
void registerOctetPasses();

} // namespace octet

#endif // OCTET_PIPELINES_PIPELINE_H
