//===- Terminal.h - what octet-compile says while it works ------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_TOOLS_OCTET_COMPILE_TERMINAL_H
#define OCTET_TOOLS_OCTET_COMPILE_TERMINAL_H

#include "octet/Pipelines/Compile.h"

namespace octet {

/// Lines about stages on the standard output; a moving bar on the standard error if that is a
/// terminal.
class Terminal {
public:
  Progress getProgress();
  /// Ends the line of an open progress bar.
  void endLine();
  void sayWritten(llvm::StringRef path, int64_t bytes, const CompileRequest &request);
  void say(llvm::StringRef stage, llvm::StringRef text);

private:
  void show(const WorkDone &work);

  double lastShown = 0;
  bool isBarOpen = false;
};

} // namespace octet

#endif // OCTET_TOOLS_OCTET_COMPILE_TERMINAL_H
