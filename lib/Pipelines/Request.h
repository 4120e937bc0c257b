//===- Request.h - what a compilation is asked for --------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_PIPELINES_REQUEST_H
#define OCTET_LIB_PIPELINES_REQUEST_H

#include "octet/Pipelines/Library.h"
#include "octet/Pipelines/Options.h"
#include "llvm/Support/Error.h"

namespace octet {

/// The requested target, or this machine.
std::string getTriple(const TargetOptions &target);

/// The CPU levels to compile for, without repetition, best first, which is the order of the choice
/// at loading.
std::vector<std::string> getLevels(const TargetOptions &target);

/// The last stage that a compilation runs; compileLibrary does the rest.
Stage getLastStage(const CompileRequest &request);

/// What a request says of the library, whose report is not known yet.
LibraryOptions getLibraryOptions(const CompileRequest &request);

/// Refuses targets and CPU levels that do not exist, and options that contradict or would have no
/// effect.
llvm::Error checkRequest(const CompileRequest &request);

/// Whether samples, statistics or a mapping are given.
bool beginsToQuantize(const CompileRequest &request);
/// Refuses options about the quantization, which the network's file gives.
llvm::Error checkRequestForQuantized(const CompileRequest &request);

/// Refuses options of stages up to `passed`, which the IR has already passed.
llvm::Error checkRequestForIR(const CompileRequest &request, Stage passed);

/// Whether a policy is given whose QConfig mapping asks for no samples, as one that is dynamic.
bool quantizesWithoutSamples(mlir::MLIRContext *context, const PolicyOptions &policy);

} // namespace octet

#endif // OCTET_LIB_PIPELINES_REQUEST_H
