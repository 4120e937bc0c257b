//===- Sources.cpp - the kinds of files that networks are read from ------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "octet/Import/Onnx.h"
#include "octet/Support/Diagnostics.h"
#include "octet/Support/Files.h"
#include "octet/Support/Quote.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/SourceMgr.h"
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace mlir;
using namespace octet;

static OwningOpRef<ModuleOp> readOnnx(MLIRContext *context, const llvm::MemoryBuffer &file,
                                      const ImportOptions &options) {
  StringRef path = file.getBufferIdentifier(), folder = llvm::sys::path::parent_path(path);
  return importOnnx(context, file.getBuffer(), path, folder.empty() ? "." : folder, options);
}

static OwningOpRef<ModuleOp> parse(MLIRContext *context, const llvm::MemoryBuffer &file) {
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(file.getMemBufferRef()),
                             llvm::SMLoc());
  return parseSourceFile<ModuleOp>(sources, ParserConfig(context));
}

/// Parses a file in a process of its own, whose end tells whether the file can be read.
[[noreturn]] static void tryToParse(MLIRContext *context, const llvm::MemoryBuffer &file) {
  llvm::sys::unregisterHandlers(); // a crash is an answer
  rlimit noCoreFile = {0, 0};
  setrlimit(RLIMIT_CORE, &noCoreFile);
  // Another context: the threads of this one are not in the copy of the process.
  MLIRContext own(context->getDialectRegistry(), MLIRContext::Threading::DISABLED);
  ScopedDiagnosticHandler silent(&own, [](Diagnostic &) { return success(); });
  parse(&own, file);
  _exit(0);
}

/// MLIR's reader of bytecode assumes that MLIR wrote it: a damaged file corrupts memory. So a copy
/// of this process reads it first, which turns damage into a message. Bytecode of unknown origin is
/// still not safe (SECURITY.md).
static llvm::Error checkBytecode(MLIRContext *context, const llvm::MemoryBuffer &file) {
  pid_t child = fork();
  if (child == 0)
    tryToParse(context, file);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) < 0)
    return llvm::createStringError(llvm::Twine("cannot start a process: ") + std::strerror(errno));
  if (!WIFSIGNALED(status))
    return llvm::Error::success();
  return makeRemedyError("the bytecode is damaged: reading it ends in signal " +
                             llvm::Twine(WTERMSIG(status)),
                         "write it again");
}

/// Text or bytecode.
static OwningOpRef<ModuleOp> readIR(MLIRContext *context, const llvm::MemoryBuffer &file,
                                    const ImportOptions &) {
  if (isBytecode(file.getMemBufferRef()))
    if (llvm::Error error = checkBytecode(context, file)) {
      emitMessages(FileLineColLoc::get(context, file.getBufferIdentifier(), 0, 0),
                   std::move(error));
      return nullptr;
    }
  return parse(context, file);
}

// An ONNX file has no magic number, but begins with its version, field 1 of the message.
static constexpr Source kSources[] = {
    {"ONNX networks", ".onnx", "\x08", "import-onnx", /*isIR=*/false, readOnnx},
    {"MLIR as text or bytecode", ".mlir .mlirbc", "ML\xefR", "", /*isIR=*/true, readIR},
};

ArrayRef<Source> octet::getSources() { return kSources; }

static SmallVector<StringRef> getExtensions(const Source &source) {
  return llvm::to_vector(llvm::split(source.extensions, ' '));
}

std::string octet::listSources() {
  return llvm::join(
      llvm::map_range(
          kSources,
          [](const Source &source) {
            return (source.summary + " (" + llvm::join(getExtensions(source), ", ") + ")").str();
          }),
      ", ");
}

static const Source *findSource(StringRef path, StringRef bytes) {
  std::string extension = llvm::sys::path::extension(path).lower();
  for (const Source &source : kSources)
    if (llvm::is_contained(getExtensions(source), extension))
      return &source;
  for (const Source &source : kSources)
    if (!source.magic.empty() && bytes.starts_with(source.magic))
      return &source;
  return nullptr;
}

FailureOr<NetworkFile> octet::openNetwork(MLIRContext *context, StringRef path) {
  auto error = [&] { return emitError(FileLineColLoc::get(context, path, 0, 0)); };
  // Bytecode needs its sections aligned in memory, which a small file (read, not mapped) is not by
  // default; text needs a zero behind it.
  auto buffer = readFile(path, kMostNetworkBytes, llvm::Align(4096));
  if (!buffer)
    return error() << "cannot be read: " << llvm::toString(buffer.takeError());
  const Source *source = findSource(path, (*buffer)->getBuffer());
  if (!source)
    return error() << "unknown kind of file '" << escapeText(llvm::sys::path::extension(path))
                   << "'; there are " << listSources();
  return NetworkFile{source, std::move(*buffer)};
}
