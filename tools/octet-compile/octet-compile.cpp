//===- octet-compile.cpp - a network to a library -------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "octet/Pipelines/Library.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/WithColor.h"

using namespace octet;

static llvm::cl::opt<std::string> inputPath(llvm::cl::Positional, llvm::cl::Required, llvm::cl::desc("<network.mlir>"));
static llvm::cl::opt<std::string> outputPath("o", llvm::cl::Required, llvm::cl::desc("Output file"));
static llvm::cl::list<std::string> levels("cpu-level", llvm::cl::CommaSeparated, llvm::cl::desc("CPU levels, best first"));

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::cl::ParseCommandLineOptions(argc, argv, "Octet: compiles a network to a library\n");
  mlir::DialectRegistry registry;
  registerOctetDialects(registry);
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(inputPath.getValue(), &context);
  if (!module)
    return 1;
  // The linker resets every command-line option of the process.
  std::string output = outputPath;
  LibraryOptions options;
  options.levels.assign(levels.begin(), levels.end());
  auto library = compileLibrary(*module, options);
  llvm::Error error = library ? writeFileAtomically(output, library->bytes) : library.takeError();
  if (!error)
    return 0;
  llvm::WithColor::error() << llvm::toString(std::move(error)) << '\n';
  return 1;
}
