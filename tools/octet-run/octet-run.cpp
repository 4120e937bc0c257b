//===- octet-run.cpp - runs a compiled network ------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Runner.h"
#include "octet/Support/Files.h"
#include "octet/Support/Quote.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/WithColor.h"

using namespace llvm;
using namespace octet;

namespace {
/// A member of this type in front of the options unregisters an option of LLVM's libraries.
struct FreeNames {
  FreeNames() {
    for (StringRef name : {"threads"})
      if (cl::Option *option = cl::getRegisteredOptions().lookup(name))
        option->removeArgument();
  }
};

struct Options {
  FreeNames freeNames;
  cl::OptionCategory category{"octet-run options"};
  cl::opt<std::string> library{cl::Positional, cl::Required, cl::desc("<library>"),
                               cl::cat(category)};
  cl::opt<std::string> input{
      "input",
      cl::desc("Inputs by name (.npz), or the only input (.npy): one "
               "sample each, or samples along a leading axis, which\n"
               "run in order: the network's states go from one to the next;\n"
               "of several buckets the smallest that has their shapes runs"),
      cl::value_desc("file"), cl::cat(category)};
  cl::opt<std::string> expect{"expect",
                              cl::desc("Outputs to compare with; exit code 1 if they differ"),
                              cl::value_desc("file"), cl::cat(category)};
  cl::opt<double> maxError{
      "max-error", cl::init(0), cl::value_desc("part"), cl::cat(category),
      cl::desc("Tolerance of --expect, relative to an output's largest magnitude (default: 0)")};
  cl::opt<std::string> output{"output", cl::desc("File to write the outputs to (.npz)"),
                              cl::value_desc("file"), cl::cat(category)};
  cl::opt<bool> reset{"reset", cl::desc("Reset the network's states in front of every sample"),
                      cl::cat(category)};
  cl::opt<bool> benchmark{"benchmark",
                          cl::desc("Print median, minimum and spread of the time of a run"),
                          cl::cat(category)};
  cl::opt<bool> profile{"profile", cl::desc("Print the time of every step"), cl::cat(category)};
  cl::opt<int> threads{"threads", cl::init(1), cl::desc("Number of threads (default: 1)"),
                       cl::cat(category)};
  cl::opt<std::string> level{
      "cpu-level", cl::desc("CPU level (default: OCTET_CPU_LEVEL, or the best that runs here)"),
      cl::cat(category)};
};
} // namespace

static const char overview[] =
    "Octet: runs a compiled network; loading a library runs its code\n\n"
    "Examples:\n"
    "  octet-run net.so                                  print the library's contents\n"
    "  octet-run net.so --input x.npz --output y.npz     run samples\n"
    "  octet-run net.so --input x.npz --expect y.npz     compare outputs bit for bit\n"
    "  octet-run net.so --benchmark --threads 2          measure a run\n";

/// Runs the samples, or a network without inputs; false if the outputs differ from the expected.
static Expected<bool> runSamples(Runner &runner, const Options &options) {
  auto outputs = runner.runFile(options.input, options.reset);
  if (!outputs)
    return outputs.takeError();
  if (!options.output.empty()) {
    Expected<std::string> bytes = writeNpz(*outputs);
    if (!bytes)
      return createStringError("cannot write '" + options.output +
                               "': " + toString(bytes.takeError()));
    if (Error error =
            writeFileAtomically(options.output, ArrayRef<char>(bytes->data(), bytes->size())))
      return error;
  }
  if (options.output.empty() && options.expect.empty())
    for (const NpyArray &output : *outputs)
      outs() << escapeText(output.name) << ": " << describeType(output.dtype, output.shape) << "\n";
  return options.expect.empty()
             ? Expected<bool>(true)
             : compareOutputs(*outputs, options.expect, options.maxError, outs());
}

static Expected<bool> runLibrary(const Options &options) {
  if (!(options.maxError >= 0))
    return createStringError("--max-error: expected a number that is not negative");
  auto library = ModelLibrary::load(options.library);
  if (!library)
    return library.takeError();
  auto model = createModel(**library, options.threads, options.level);
  if (!model)
    return model.takeError();
  Runner runner(**library, std::move(*model));
  bool usesOutputs = !options.expect.empty() || !options.output.empty();
  if (options.input.empty() && usesOutputs && runner.descriptor().num_inputs > 0)
    return createStringError("--expect and --output need --input");
  Expected<bool> isEqual =
      options.input.empty() && !usesOutputs ? Expected<bool>(true) : runSamples(runner, options);
  if (!isEqual)
    return isEqual;
  if (options.benchmark)
    if (Error error = printBenchmark(runner, outs()))
      return std::move(error);
  if (options.profile)
    if (Error error = printProfile(runner, outs()))
      return std::move(error);
  if (!options.benchmark && !options.profile && options.input.empty())
    printDescription(runner, outs());
  return isEqual;
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  Options options;
  cl::HideUnrelatedOptions(options.category);
  cl::ParseCommandLineOptions(argc, argv, overview);
  Expected<bool> isEqual = runLibrary(options);
  if (isEqual)
    return *isEqual ? 0 : 1;
  WithColor::error(errs(), "octet-run") << toString(isEqual.takeError()) << "\n";
  return 1;
}
