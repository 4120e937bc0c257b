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
  progress.onSamples = [this](int64_t done, int64_t total, double seconds) {
    showSamples(done, total, seconds);
  };
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

void Terminal::showSamples(int64_t done, int64_t total, double seconds) {
  constexpr int64_t kWidth = 24;
  double rate = done / std::max(seconds, 1e-6);
  std::string figures = formatv("{0:F0}/s", rate);
  bool isLast = done == total;
  if (!sys::Process::StandardErrIsDisplayed()) {
    if (isLast)
      say("calibrate", formatv("{0} samples · {1}", total, figures).str());
    return;
  }
  if (!isLast && seconds < lastShown + 0.1)
    return;
  lastShown = seconds;
  if (!isLast)
    figures += formatv(" · {0} s left", (int64_t)std::ceil((total - done) / rate));
  std::string bar;
  for (int64_t i = 0; i < kWidth; ++i)
    bar += i < kWidth * done / total ? "━" : "─";
  errs() << formatv("\r{0,-12}{1} samples {2} {3,3} %  {4}\x1b[K", "calibrate", total, bar,
                    100 * done / total, figures);
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
