//===- Translate.cpp - octet-translate --import-onnx -------------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Import/Import.h"
#include "octet/Support/Diagnostics.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace octet;

namespace cl = llvm::cl;

namespace {
/// Flags of `--import-onnx`; made when the translation is registered.
struct Flags {
  cl::list<std::string> inputShapes{"input-shape", cl::desc("Shape of an input whose dimensions the ONNX file leaves open"),
                                    cl::value_desc("name=1x3x224x224")};
  cl::opt<UnknownBatch> unknownBatch{
      "unknown-batch", cl::desc("What to do about an input whose first dimension alone is open"),
      cl::init(UnknownBatch::Error),
      cl::values(clEnumValN(UnknownBatch::Error, "error", "an error (default)"),
                 clEnumValN(UnknownBatch::One, "one", "it is 1"))};
  cl::opt<bool> text{"mlir", cl::desc("Write text without weights (for people) instead of bytecode")};
  cl::opt<bool> summary{"summary", cl::desc("Print the number of operators and multiply-adds and the size of the weights")};
};
} // namespace

LogicalResult octet::parseInputShape(StringRef text, ImportOptions &options, std::string &error) {
  auto [name, dims] = text.rsplit('=');
  SmallVector<StringRef> parts;
  dims.split(parts, 'x');
  SmallVector<int64_t> shape;
  for (StringRef part : parts) {
    int64_t size;
    if (name.empty() || part.getAsInteger(10, size) || size < 1) {
      error = ("--input-shape=" + text + ": expected name=1x3x224x224 with positive dimensions").str();
      return failure();
    }
    shape.push_back(size);
  }
  if (options.inputShapes.try_emplace(name, shape).second)
    return success();
  error = ("--input-shape gives the shape of \"" + name + "\" twice").str();
  return failure();
}

void octet::printElided(ModuleOp module, llvm::raw_ostream &os) {
  module->print(os, OpPrintingFlags().enableDebugInfo().elideLargeResourceString(0).elideLargeElementsAttrs(16));
  os << "\n";
}

static FailureOr<ImportOptions> makeOptions(const Flags &flags, MLIRContext *context, StringRef path) {
  ImportOptions options;
  options.unknownBatch = flags.unknownBatch;
  for (const std::string &text : flags.inputShapes) {
    std::string error;
    if (failed(parseInputShape(text, options, error)))
      return emitError(FileLineColLoc::get(context, path, 0, 0)) << error;
  }
  return options;
}

static void printSummary(ModuleOp module, StringRef path) {
  ImportSummary summary = summarize(module);
  llvm::errs() << "import      " << llvm::sys::path::filename(path) << " · " << summary.operators << " operators · "
               << llvm::format("%.2f", summary.multiplyAdds / 1e6) << " MMAC · float weights "
               << (summary.constantBytes + 1023) / 1024 << " KB\n";
}

void octet::registerOnnxImport() {
  static Flags flags;
  static TranslateRegistration registration(
      "import-onnx", "read an ONNX file; writes bytecode",
      [](const std::shared_ptr<llvm::SourceMgr> &sources, llvm::raw_ostream &os, MLIRContext *context) -> LogicalResult {
        const llvm::MemoryBuffer &buffer = *sources->getMemoryBuffer(sources->getMainFileID());
        StringRef path = buffer.getBufferIdentifier(), folder = llvm::sys::path::parent_path(path);
        FileDiagnosticHandler handler(context, path);
        auto options = makeOptions(flags, context, path);
        if (failed(options))
          return failure();
        auto module = importOnnxBuffer(context, buffer.getBuffer(), path, folder.empty() ? "." : folder, *options);
        if (!module)
          return failure();
        if (flags.summary)
          printSummary(*module, path);
        if (!flags.text)
          return writeBytecodeToFile(*module, os);
        printElided(*module, os);
        return success();
      });
}
