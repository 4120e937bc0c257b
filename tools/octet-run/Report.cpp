//===- Report.cpp - contents and timings of a library ------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Runner.h"
#include "octet/Support/Quote.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include <algorithm>
#include <chrono>

using namespace llvm;
using namespace octet;

using Clock = std::chrono::steady_clock;

static void printTensors(StringRef role, ArrayRef<octet_tensor> tensors, raw_ostream &os) {
  for (const octet_tensor &tensor : tensors) {
    os << role << " " << escapeText(tensor.name) << ": " << describeType(tensor);
    if (tensor.scale != 0)
      os << format(", scale %.9g, zero point %d", tensor.scale, tensor.zero_point);
    os << "\n";
  }
}

void octet::printDescription(const Runner &runner, raw_ostream &os) {
  const octet_descriptor &descriptor = runner.descriptor();
  os << "network " << escapeText(descriptor.name) << "\n";
  printTensors("input", ArrayRef(descriptor.inputs, descriptor.num_inputs), os);
  printTensors("output", ArrayRef(descriptor.outputs, descriptor.num_outputs), os);
  for (int32_t bucket = 1; bucket < runner.numBuckets(); ++bucket) {
    os << "bucket " << bucket << "\n";
    printTensors("  input", runner.getInputs(bucket), os);
    printTensors("  output", runner.getOutputs(bucket), os);
  }
  os << "memory: " << descriptor.weights_bytes << " bytes of weights, " << descriptor.arena_bytes
     << " of arena, " << descriptor.state_bytes << " of state\n";
  for (const octet_level &level : ArrayRef(descriptor.levels, descriptor.num_levels)) {
    bool inUse = level.name == StringRef(runner.program().level);
    os << "level " << level.name << ": " << level.num_steps << " steps"
       << (inUse                               ? ", in use"
           : runner.api().supports(level.name) ? ""
                                               : ", not for this CPU")
       << "\n";
  }
}

static double getMicroseconds(Clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

/// A quantile of the sorted values.
static double getQuantile(ArrayRef<double> sorted, double part) {
  return sorted[std::min<size_t>(sorted.size() - 1, sorted.size() * part)];
}

/// The times of runs in half a second, at least three, after one warm-up run.
template <typename Function> static Error repeat(Runner &runner, Function afterRun) {
  if (Error error = runner.run())
    return error;
  Clock::time_point start = Clock::now(), end = start;
  for (int count = 0; count < 3 || end - start < std::chrono::milliseconds(500); ++count) {
    Clock::time_point before = Clock::now();
    if (Error error = runner.run())
      return error;
    end = Clock::now();
    afterRun(getMicroseconds(end - before));
  }
  return Error::success();
}

Error octet::printBenchmark(Runner &runner, raw_ostream &os) {
  std::vector<double> times;
  if (Error error = repeat(runner, [&](double time) { times.push_back(time); }))
    return error;
  sort(times);
  os << format("median %.2f us, min %.2f us, 10%% to 90%% %.2f to %.2f us, ",
               getQuantile(times, 0.5), times.front(), getQuantile(times, 0.1),
               getQuantile(times, 0.9))
     << times.size() << " runs, level " << runner.program().level << ", "
     << runner.api().threads(runner.get())
     << (runner.api().threads(runner.get()) == 1 ? " thread\n" : " threads\n");
  return Error::success();
}

Error octet::printProfile(Runner &runner, raw_ostream &os) {
  std::vector<std::vector<double>> times(runner.program().count);
  auto hook = [](void *user, int64_t step, uint64_t nanoseconds) {
    (*static_cast<std::vector<std::vector<double>> *>(user))[step].push_back(nanoseconds / 1000.0);
  };
  runner.api().set_step_hook(runner.get(), hook, &times);
  Error error = repeat(runner, [](double) {});
  runner.api().set_step_hook(runner.get(), nullptr, nullptr);
  if (error)
    return error;
  double total = 0;
  std::vector<double> medians;
  for (std::vector<double> &step : times) {
    sort(step);
    medians.push_back(getQuantile(step, 0.5));
    total += medians.back();
  }
  os << "  step      median us      %    range  operator\n";
  for (auto [index, median] : enumerate(medians)) {
    const octet_step &step = runner.program().steps[index];
    os << format("%6zu %14.2f %6.1f %8lld  ", index, median, total ? 100 * median / total : 0,
                 (long long)step.range)
       << escapeText(step.name) << "\n";
  }
  os << format(" total %14.2f\n", total);
  return Error::success();
}
