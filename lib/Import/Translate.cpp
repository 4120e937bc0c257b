//===- Translate.cpp - octet-translate --import-... --------------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Import/Import.h"
#include "octet/Import/Passes.h"
#include "octet/Support/Diagnostics.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace octet;

namespace cl = llvm::cl;

namespace {
/// Options of the imports, created when the imports are registered.
struct Flags {
  cl::list<std::string> inputShapes{
      "input-shape", cl::desc("Shape of an input that the file does not fix; may be repeated"),
      cl::value_desc("name=1x3x224x224")};
  cl::list<std::string> inputValues{
      "input-value", cl::desc("Make an input a constant of this number; may be repeated"),
      cl::value_desc("name=16000")};
  cl::opt<UnknownBatch> unknownBatch{
      "unknown-batch", cl::desc("Treatment of an input whose only unknown dimension is the first:"),
      cl::init(UnknownBatch::Error),
      cl::values(clEnumValN(UnknownBatch::Error, "error", "error (default)"),
                 clEnumValN(UnknownBatch::One, "one", "the dimension is 1, with a remark"))};
  cl::opt<bool> text{"mlir", cl::desc("Write readable text without weights instead of bytecode")};
  cl::opt<bool> summary{
      "summary",
      cl::desc("Print the number of operators and multiply-adds and the size of the weights")};
};
} // namespace

static FailureOr<ImportOptions> makeOptions(const Flags &flags, MLIRContext *context,
                                            StringRef path) {
  ImportOptions options;
  options.unknownBatch = flags.unknownBatch;
  auto fail = [&](llvm::Error error) -> InFlightDiagnostic {
    return emitError(FileLineColLoc::get(context, path, 0, 0)) << Cause(std::move(error));
  };
  InputShapeLists lists;
  for (const std::string &text : flags.inputShapes)
    if (llvm::Error error = parseInputShapes(text, lists))
      return fail(std::move(error));
  auto buckets = listBuckets(lists);
  if (!buckets)
    return fail(buckets.takeError());
  if (buckets->size() > 1)
    return emitError(FileLineColLoc::get(context, path, 0, 0))
           << "--input-shape gives " << buckets->size() << " buckets, but one network is imported"
           << Remedy("give each input one shape");
  options.inputShapes = std::move(buckets->front());
  for (const std::string &text : flags.inputValues)
    if (llvm::Error error = parseInputNumber("--input-value", text, options.inputValues))
      return fail(std::move(error));
  return options;
}

static void printSummary(ModuleOp module, StringRef path) {
  ImportSummary summary = summarize(module);
  llvm::errs() << "import      " << llvm::sys::path::filename(path) << " · " << summary.operators
               << " operators · " << llvm::format("%.2f", summary.multiplyAdds / 1e6)
               << " MMAC · float weights " << (summary.constantBytes + 1023) / 1024 << " KB\n";
}

/// Reads, tidies and writes one network.
static LogicalResult translate(const Flags &flags, const Source &source,
                               const llvm::MemoryBuffer &file, llvm::raw_ostream &os,
                               MLIRContext *context) {
  StringRef path = file.getBufferIdentifier();
  FileDiagnosticHandler handler(context, path);
  auto options = makeOptions(flags, context, path);
  if (failed(options))
    return failure();
  OwningOpRef<ModuleOp> module = source.read(context, file, *options);
  if (!module)
    return failure();
  PassManager passes(context);
  buildTidyPipeline(passes);
  if (failed(passes.run(*module)))
    return failure();
  if (flags.summary)
    printSummary(*module, path);
  if (!flags.text)
    return writeBytecodeToFile(*module, os);
  printElided(*module, os);
  return success();
}

void octet::registerImports() {
  static Flags flags;
  static std::vector<std::unique_ptr<TranslateRegistration>> registrations;
  for (const Source &source : getSources())
    if (!source.translation.empty())
      registrations.push_back(std::make_unique<TranslateRegistration>(
          source.translation, source.summary,
          [&source](const std::shared_ptr<llvm::SourceMgr> &sources, llvm::raw_ostream &os,
                    MLIRContext *context) -> LogicalResult {
            return translate(flags, source, *sources->getMemoryBuffer(sources->getMainFileID()), os,
                             context);
          }));
}
