//===- Stages.h - the stages of compiling a network -------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_PIPELINES_STAGES_H
#define OCTET_PIPELINES_STAGES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace octet {

enum class Stage {
#define OCTET_STAGE(enumerator, name, summary) enumerator,
#include "octet/Dialect/Octet/Stages.def"
};

struct StageInfo {
  Stage stage;
  llvm::StringLiteral name, summary;
};
/// All stages, in order.
llvm::ArrayRef<StageInfo> getStages();
llvm::StringRef getName(Stage stage);

} // namespace octet

#endif // OCTET_PIPELINES_STAGES_H
