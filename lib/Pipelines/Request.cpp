//===- Request.cpp - what a compilation is asked for ----------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Request.h"
#include "octet/Pipelines/Library.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace octet;

std::string octet::getTriple(const CompileRequest &request) { return request.triple.empty() ? getHostTriple() : request.triple; }

static std::vector<std::string> getKnownLevels(StringRef triple) {
  std::vector<std::string> levels = getLevelsOfTarget(triple);
  levels.push_back("reference");
  return levels;
}

std::vector<std::string> octet::getLevels(const CompileRequest &request) {
  std::string triple = getTriple(request);
  if (request.levels.empty())
    return getLevelsOfTarget(triple);
  std::vector<std::string> levels = getKnownLevels(triple);
  erase_if(levels, [&](const std::string &level) { return !is_contained(request.levels, level); });
  return levels;
}

namespace {
struct GivenOption {
  StringLiteral name;
  bool isGiven;
  Stage last; ///< that reads it
};
} // namespace

static SmallVector<GivenOption> getOptions(const CompileRequest &request) {
  bool isFloat = request.precision == Precision::Float;
  return {{"--input-shape", !request.inputShapes.empty(), Stage::Import},
          {"--qconfig-mapping", !request.qconfigMapping.empty(), Stage::Prepare},
          {"--quantized-io", request.isIoQuantized, Stage::Prepare},
          {"--calibration-data", !request.calibrationData.empty(), Stage::Calibrate},
          {"--load-statistics", !request.loadStatistics.empty(), Stage::Calibrate},
          {"--save-statistics", !request.saveStatistics.empty(), Stage::Calibrate},
          {"--backend", request.backend != CompileRequest().backend, isFloat ? Stage::Fuse : Stage::Convert},
          {"--strict", request.isStrict, Stage::Lower}};
}

static Error checkEffect(const CompileRequest &request, const Twine &with, function_ref<bool(Stage)> isUnread) {
  for (const GivenOption &option : getOptions(request))
    if (option.isGiven && isUnread(option.last))
      return createStringError(option.name + " has no effect with " + with + "; leave it away");
  return Error::success();
}

Error octet::checkRequest(const CompileRequest &request) {
  std::string triple = getTriple(request);
  if (getLevelsOfTarget(triple).empty())
    return createStringError("no code can be generated for target '" + triple + "'; there are x86_64-linux-gnu and aarch64-linux-gnu");
  std::vector<std::string> known = getKnownLevels(triple);
  for (const std::string &level : request.levels)
    if (!is_contained(known, level))
      return createStringError("unknown CPU level '" + level + "' for target " + triple + "; there are " + join(known, ", "));
  if (request.stopAfter && request.artifact != Artifact::MLIR && request.artifact != Artifact::Library)
    return createStringError("--stop-after writes MLIR; leave --emit away");
  if (request.precision == Precision::Int8)
    return Error::success();
  return checkEffect(request, "--float", [](Stage last) { return last > Stage::Fuse; });
}

Error octet::checkRequestForIR(const CompileRequest &request, Stage passed) {
  if (request.stopAfter && *request.stopAfter < passed)
    return createStringError("the IR has passed '" + getName(passed) + "' and cannot stop after '" + getName(*request.stopAfter) + "'");
  return checkEffect(request, "IR that has passed '" + getName(passed) + "'", [&](Stage last) { return last <= passed; });
}
