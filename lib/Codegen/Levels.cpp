//===- Levels.cpp - CPU levels --------------------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Codegen/Codegen.h"
#include "llvm/ADT/STLExtras.h"

using namespace octet;

static const CpuLevel levels[] = {
#define OCTET_LEVEL(name, arch, features, accumulators, isScalar, hasFma, mergesKernels, multipliesWords)              \
  {#name, #arch, features, accumulators, isScalar, hasFma, mergesKernels, multipliesWords},
#include "octet/Runtime/Levels.def"
};

llvm::ArrayRef<CpuLevel> octet::getCpuLevels() { return levels; }

const CpuLevel *octet::lookupCpuLevel(llvm::StringRef name) {
  const auto *it = llvm::find_if(levels, [&](const CpuLevel &level) { return level.name == name; });
  return it == std::end(levels) ? nullptr : it;
}
