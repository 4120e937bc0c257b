//===- Compile.h - from a network's file to machine code --------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The entry point of octet-compile and of language bindings: runs the stages, streams the
// calibration samples, and returns the result with a report. It writes no files.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_PIPELINES_COMPILE_H
#define OCTET_PIPELINES_COMPILE_H

#include "octet/Pipelines/Options.h"
#include "octet/Support/Message.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include <string>

namespace octet {

struct CompileResult {
  llvm::SmallVector<char, 0> bytes;
  /// Text to be written beside `bytes`: the C header of an object, the readable form of bytecode.
  std::string companion;
  /// The decision about every operator, sizes and times.
  std::string reportJson;
  /// The text of CalibrationOptions::saveStatistics.
  std::string statistics;
  std::vector<Message> warnings;
};

/// The extension of the companion's file; empty if there is none.
llvm::StringRef getCompanionExtension(const OutputOptions &options);

/// Compiles a network. The error is a MessageError with every diagnostic and its place.
llvm::Expected<CompileResult> compile(const CompileRequest &request);

} // namespace octet

#endif // OCTET_PIPELINES_COMPILE_H
