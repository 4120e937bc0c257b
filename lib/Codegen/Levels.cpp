//===- Levels.cpp - CPU levels --------------------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Codegen/Levels.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/TargetParser/Host.h"
#if defined(__aarch64__) && defined(__linux__)
#include <sys/prctl.h>
#endif

using namespace octet;

/// A row of the table, made once: the rows name objects of other files.
template <typename FillIn>
static CpuLevel makeLevel(llvm::StringRef name, llvm::StringRef arch, FillIn fillIn) {
  CpuLevel level;
  level.name = name;
  level.arch = arch;
  fillIn(level);
  return level;
}

llvm::ArrayRef<CpuLevel> octet::getCpuLevels() {
  static const CpuLevel levels[] = {
#define OCTET_LEVEL(name, arch, ...)                                                               \
  makeLevel(#name, #arch, []([[maybe_unused]] CpuLevel & level) __VA_ARGS__),
#include "octet/Runtime/Levels.def"
  };
  return levels;
}

const CpuLevel *octet::lookupCpuLevel(llvm::StringRef name) {
  const auto *it =
      llvm::find_if(getCpuLevels(), [&](const CpuLevel &level) { return level.name == name; });
  return it == getCpuLevels().end() ? nullptr : it;
}

bool CpuLevel::hasFeature(llvm::StringRef feature) const {
  return llvm::is_contained(llvm::split(features, ','), ("+" + feature).str());
}

/// The length of this thread's SVE registers, or 0.
static int64_t getScalableBits() {
#if defined(__aarch64__) && defined(__linux__)
  int length = prctl(PR_SVE_GET_VL);
  return length < 0 ? 0 : 8 * (length & PR_SVE_VL_LEN_MASK);
#else
  return 0;
#endif
}

bool CpuLevel::runsHere() const {
  static const llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  return suits(llvm::sys::getProcessTriple()) &&
         (scalableBits == 0 || scalableBits == getScalableBits()) &&
         llvm::all_of(llvm::split(features, ','), [](llvm::StringRef feature) {
           return !feature.consume_front("+") || host.lookup(feature);
         });
}

std::string octet::listCpuLevels() {
  constexpr const char *kColumns = "{0,-12}{1,-14}{2,-12}{3,-11}{4}\n";
  std::string text =
      llvm::formatv(kColumns, "level", "architecture", "by-default", "runs-here", "features");
  for (const CpuLevel &level : getCpuLevels())
    text += llvm::formatv(kColumns, level.name, level.arch, level.isDefault ? "yes" : "no",
                          level.runsHere() ? "yes" : "no",
                          level.features.empty() ? "-" : level.features)
                .str();
  return text;
}
