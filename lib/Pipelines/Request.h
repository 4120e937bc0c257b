//===- Request.h - what a compilation is asked for --------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_PIPELINES_REQUEST_H
#define OCTET_LIB_PIPELINES_REQUEST_H

#include "octet/Pipelines/Options.h"
#include "llvm/Support/Error.h"

namespace octet {

/// The target: the one asked for, or this machine.
std::string getTriple(const TargetOptions &target);

/// The CPU levels to compile for, each once and the best first, as they are looked for when the
/// library is loaded.
std::vector<std::string> getLevels(const TargetOptions &target);

/// Refuses targets and CPU levels that do not exist, and options that contradict or would have no
/// effect.
llvm::Error checkRequest(const CompileRequest &request);

/// Refuses options that only stages up to `passed` read, which IR has behind it.
llvm::Error checkRequestForIR(const CompileRequest &request, Stage passed);

} // namespace octet

#endif // OCTET_LIB_PIPELINES_REQUEST_H
