//===- Request.cpp - what a compilation is asked for ----------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Request.h"
#include "octet/Backend/Backend.h"
#include "octet/Pipelines/Compile.h"
#include "octet/Quantize/Statistics.h"
#include "octet/Support/Message.h"
#include "octet/Support/Quote.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace octet;

std::string octet::getTriple(const TargetOptions &target) {
  return target.triple.empty() ? getHostTriple() : target.triple;
}

std::vector<std::string> octet::getLevels(const TargetOptions &target) {
  std::string triple = getTriple(target);
  if (target.levels.empty())
    return getDefaultLevels(triple);
  std::vector<std::string> levels = getLevelsOfTarget(triple);
  erase_if(levels, [&](const std::string &level) { return !is_contained(target.levels, level); });
  return levels;
}

static OutputKind getOutputKind(Artifact artifact) {
  switch (artifact) {
  case Artifact::Object:
    return OutputKind::Object;
  case Artifact::LLVMIR:
    return OutputKind::LLVMIR;
  case Artifact::Assembly:
    return OutputKind::Assembly;
  default:
    return OutputKind::SharedLibrary;
  }
}

Stage octet::getLastStage(const CompileRequest &request) {
  if (request.output.artifact == Artifact::ONNX)
    return Stage::Convert;
  return request.output.stopAfter.value_or(Stage::Lower);
}

LibraryOptions octet::getLibraryOptions(const CompileRequest &request) {
  LibraryOptions options;
  options.name = request.output.name;
  if (options.name.empty())
    options.name = json::fixUTF8(sys::path::stem(request.model));
  options.levels = getLevels(request.target);
  options.emit.triple = getTriple(request.target);
  options.emit.kind = getOutputKind(request.output.artifact);
  options.emit.hasUnwindTables = request.output.hasUnwindTables;
  options.paddings = request.paddings;
  return options;
}

StringRef octet::getCompanionExtension(const OutputOptions &options) {
  if (options.stopAfter || options.artifact == Artifact::MLIR)
    return ".mlir";
  return options.artifact == Artifact::Object ? ".h" : "";
}

namespace {
struct GivenOption {
  StringLiteral name;
  bool isGiven;
  Stage last; ///< that reads it
};
} // namespace

static SmallVector<GivenOption> getOptions(const CompileRequest &request) {
  const PolicyOptions &policy = request.policy;
  const CalibrationOptions &calibration = request.calibration;
  bool isFloat = policy.precision == Precision::Float;
  return {{"--input-shape", !request.import.inputShapes.empty(), Stage::Import},
          {"--input-value", !request.import.inputValues.empty(), Stage::Import},
          {"--keep-operators", policy.keepsOperators, Stage::Fuse}, // tidies in front of it
          {"--state", !request.states.empty(), Stage::Fuse}, // marks the network in front of it
          {"--qconfig-mapping", !policy.qconfigMapping.empty(), Stage::Convert},
          {"--quantized-io", policy.isIoQuantized, Stage::Prepare},
          {"--static-scales", policy.hasStaticScales, Stage::Calibrate},
          {"--calibration-data", !calibration.calibrationData.empty(), Stage::Calibrate},
          {"--load-statistics", !calibration.loadStatistics.empty(), Stage::Calibrate},
          {"--save-statistics", !calibration.saveStatistics.empty(), Stage::Calibrate},
          {"--compare-layers", calibration.comparesLayers, Stage::Calibrate},
          {"--backend", !policy.backend.empty(), isFloat ? Stage::Fuse : Stage::Convert},
          {"--strict", policy.isStrict, Stage::Lower}};
}

static Error checkEffect(const CompileRequest &request, const Twine &with,
                         function_ref<bool(Stage)> isUnread) {
  for (const GivenOption &option : getOptions(request))
    if (option.isGiven && isUnread(option.last))
      return makeRemedyError(option.name + " has no effect with " + with, "omit it");
  return Error::success();
}

/// A file of IR or ONNX holds the network for one set of shapes.
static Error checkBuckets(const CompileRequest &request) {
  if (!request.furtherBuckets.empty() && request.buckets.size() > 1)
    return makeRemedyError("both --bucket and --input-shape give buckets", "omit one of them");
  Artifact artifact = request.output.artifact;
  StringRef option = request.output.stopAfter     ? "--stop-after"
                     : artifact == Artifact::MLIR ? "--emit=mlir"
                     : artifact == Artifact::ONNX ? "--emit=onnx"
                                                  : "";
  if (option.empty())
    return Error::success();
  if (!request.paddings.empty())
    return makeRemedyError("--pad has no effect with " + option, "omit it");
  if (!request.furtherBuckets.empty())
    return makeRemedyError(
        "--bucket gives several buckets, but " + option + " writes the network for one", "omit it");
  if (request.buckets.size() > 1)
    return makeRemedyError("--input-shape gives " + Twine(request.buckets.size()) +
                               " buckets, but " + option + " writes the network for one",
                           "give each input one shape");
  return Error::success();
}

Error octet::checkRequest(const CompileRequest &request) {
  std::string triple = getTriple(request.target);
  if (getDefaultLevels(triple).empty())
    return createStringError("no code can be generated for target '" + triple +
                             "'; there are x86_64-linux-gnu and aarch64-linux-gnu");
  std::vector<std::string> known = getLevelsOfTarget(triple);
  for (const std::string &level : request.target.levels)
    if (!is_contained(known, level))
      return createStringError("unknown CPU level '" + level + "' for target " + triple +
                               "; there are " + join(known, ", "));
  if (request.output.stopAfter && request.output.artifact != Artifact::MLIR &&
      request.output.artifact != Artifact::Library)
    return makeRemedyError("--stop-after writes MLIR", "omit --emit");
  for (const std::string &state : request.states)
    if (StringRef input = StringRef(state).split('=').first;
        request.import.inputValues.count(input))
      return makeRemedyError("the input " + quote(input) +
                                 " is both a state (--state) and a constant (--input-value)",
                             "omit one of them");
  if (Error error = checkBuckets(request))
    return error;
  if (request.policy.precision != Precision::Float)
    return Error::success();
  return checkEffect(request, "--float", [](Stage last) { return last > Stage::Fuse; });
}

bool octet::beginsToQuantize(const CompileRequest &request) {
  return request.calibration.hasSource() || !request.policy.qconfigMapping.empty();
}

Error octet::checkRequestForQuantized(const CompileRequest &request) {
  if (request.policy.precision == Precision::Float)
    return Error::success();
  const char *with = "a network that is quantized in its file";
  if (!request.policy.qconfigMapping.empty())
    return makeRemedyError("--qconfig-mapping has no effect with " + Twine(with), "omit it");
  return checkEffect(request, with, [](Stage last) { return last == Stage::Calibrate; });
}

Error octet::checkRequestForIR(const CompileRequest &request, Stage passed) {
  if (request.output.stopAfter && *request.output.stopAfter < passed)
    return createStringError("the IR has passed '" + getName(passed) + "' and cannot stop after '" +
                             getName(*request.output.stopAfter) + "'");
  return checkEffect(request, "IR that has passed '" + getName(passed) + "'",
                     [&](Stage last) { return last <= passed; });
}

bool octet::quantizesWithoutSamples(mlir::MLIRContext *context, const PolicyOptions &policy) {
  if (policy.backend.empty() && policy.qconfigMapping.empty())
    return false;
  mlir::OwningOpRef<mlir::ModuleOp> empty(mlir::ModuleOp::create(mlir::UnknownLoc::get(context)));
  // What is wrong with the policy is said where the network gets it.
  mlir::ScopedDiagnosticHandler silent(context, [](mlir::Diagnostic &) { return mlir::success(); });
  return mlir::succeeded(attachPolicy(*empty, policy.backend, policy.qconfigMapping)) &&
         !needsSamples(*empty);
}
