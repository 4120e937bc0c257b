//===- Terminal.cpp - what octet-compile says while it works --------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Terminal.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace llvm;
using namespace octet;

Progress Terminal::getProgress() {
  Progress progress;
  progress.onStage = [this](StringRef stage, StringRef text) { say(stage, text); };
  progress.onWork = [this](const WorkDone &work) { show(work); };
  return progress;
}

void Terminal::say(StringRef stage, StringRef text) {
  endLine();
  outs() << formatv("{0,-12}{1}\n", stage, text);
  outs().flush();
}

void Terminal::endLine() {
  if (isBarOpen)
    errs() << '\n';
  isBarOpen = false;
}

void Terminal::show(const WorkDone &work) {
  constexpr int64_t kWidth = 24;
  double rate = work.done / std::max(work.seconds, 1e-6);
  std::string figures = formatv("{0:F0}/s", rate);
  bool isLast = work.done == work.total;
  if (!sys::Process::StandardErrIsDisplayed()) {
    if (isLast)
      say(work.stage, formatv("{0} {1} · {2}", work.total, work.unit, figures).str());
    return;
  }
  if (!isLast && work.seconds < lastShown + 0.1)
    return;
  lastShown = isLast ? 0 : work.seconds;
  if (!isLast)
    figures += formatv(" · {0} s left", (int64_t)std::ceil((work.total - work.done) / rate));
  std::string bar;
  for (int64_t i = 0; i < kWidth; ++i)
    bar += i < kWidth * work.done / work.total ? "━" : "─";
  errs() << formatv("\r{0,-12}{1} {2} {3} {4,3} %  {5}\x1b[K", work.stage, work.total, work.unit,
                    bar, 100 * work.done / work.total, figures);
  isBarOpen = true;
  if (isLast)
    endLine();
}

void Terminal::sayWritten(StringRef path, int64_t bytes, const CompileRequest &request) {
  std::string text = formatv("{0}  {1} KB", path, (bytes + 1023) / 1024);
  if (request.output.artifact == Artifact::Library && !request.output.stopAfter &&
      request.target.triple.empty())
    text += formatv("    next: octet-run {0} --benchmark", path);
  say("wrote", text);
}
