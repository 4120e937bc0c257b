//===- Emit.cpp - compiles the levels of a network and puts them together ---===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Internal.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/ThreadPool.h"
#include <optional>

using namespace llvm;
using namespace octet;

OwnedModule::OwnedModule() = default;
OwnedModule::OwnedModule(std::unique_ptr<LLVMContext> context, std::unique_ptr<Module> module)
    : context(std::move(context)), module(std::move(module)) {}
OwnedModule::OwnedModule(OwnedModule &&) = default;
OwnedModule &OwnedModule::operator=(OwnedModule &&other) {
  module = std::move(other.module); // Before its context goes.
  context = std::move(other.context);
  return *this;
}
OwnedModule::~OwnedModule() { module.reset(); }

static bool isLinked(OutputKind kind) { return kind == OutputKind::SharedLibrary || kind == OutputKind::Object; }

static Bytes writeBitcode(const Module &module) {
  Bytes bitcode;
  raw_svector_ostream stream(bitcode);
  WriteBitcodeToFile(module, stream);
  return bitcode;
}

/// Optimizes a part of the network; the result is an object file if it is to be linked, else bitcode.
static Expected<Bytes> compilePart(Module &module, TargetMachine &machine, OutputKind kind) {
  optimize(module, machine);
  if (isLinked(kind))
    return generateCode(module, machine, CodeGenFileType::ObjectFile);
  return writeBitcode(module);
}

static Expected<Bytes> compileLevel(StringRef prefix, LevelCode &level, const EmitOptions &options) {
  auto machine = createBaselineMachine(options.triple);
  if (!machine)
    return machine.takeError();
  if (Error error = prepareLevel(prefix, level, **machine))
    return error;
  Expected<Bytes> code = compilePart(*level.code.module, **machine, options.kind);
  if (code && isLinked(options.kind))
    if (Error error = checkUndefinedSymbols(level.level, *code, {"memcpy", "memmove", "memset"}))
      return error;
  level.code = OwnedModule(); // The memory is needed for the next one.
  return code;
}

static Expected<Bytes> compileRuntime(const ProgramInfo &program, ArrayRef<LevelCode> levels,
                                      const EmitOptions &options) {
  auto machine = createBaselineMachine(options.triple);
  if (!machine)
    return machine.takeError();
  Expected<OwnedModule> runtime = buildRuntimeModule(program, levels, **machine);
  if (!runtime)
    return runtime.takeError();
  return compilePart(*runtime->module, **machine, options.kind);
}

/// Links bitcode to one module and prints it as LLVM IR or assembly.
static Expected<Bytes> printParts(ArrayRef<Bytes> parts, const EmitOptions &options) {
  LLVMContext context;
  std::unique_ptr<Module> whole;
  for (const Bytes &part : parts) {
    auto module = parseBitcodeFile(MemoryBufferRef(StringRef(part.data(), part.size()), "part"), context);
    if (!module)
      return module.takeError();
    if (!whole)
      whole = std::move(*module);
    else if (Linker::linkModules(*whole, std::move(*module)))
      return createStringError("the levels cannot be linked");
  }
  if (options.kind == OutputKind::Assembly) {
    auto machine = createBaselineMachine(options.triple);
    if (!machine)
      return machine.takeError();
    return generateCode(*whole, **machine, CodeGenFileType::AssemblyFile);
  }
  Bytes text;
  raw_svector_ostream(text) << *whole;
  return text;
}

static Error checkLevels(const ProgramInfo &program, ArrayRef<LevelCode> levels) {
  if (levels.empty())
    return createStringError("a network needs the code of at least one CPU level");
  StringSet<> seen;
  for (const LevelCode &level : levels) {
    if (!seen.insert(level.level).second)
      return createStringError("CPU level '" + level.level + "' is there twice");
    if (Error error = checkSteps(program, level))
      return error;
  }
  return Error::success();
}

Expected<SmallVector<char, 0>> octet::emitProgram(const ProgramInfo &program, std::vector<LevelCode> levels,
                                                  const EmitOptions &options) {
  if (Error error = checkLevels(program, levels))
    return error;
  std::string prefix = getSymbolPrefix(program.name);
  // The runtime first: it reads the list of steps that compiling a level leaves alone, but not its code.
  Expected<Bytes> runtime = compileRuntime(program, levels, options);
  if (!runtime)
    return runtime.takeError();
  std::vector<std::optional<Expected<Bytes>>> results(levels.size());
  {
    DefaultThreadPool pool(hardware_concurrency(options.parallelism));
    // Backwards: the lower a level, the more code it has, and the longest part should not begin last.
    for (size_t i = levels.size(); i-- > 0;)
      pool.async([&, i] { results[i].emplace(compileLevel(prefix, levels[i], options)); });
  }
  std::vector<Bytes> parts = {std::move(*runtime)};
  Error errors = Error::success();
  for (std::optional<Expected<Bytes>> &result : results) {
    if (*result)
      parts.push_back(std::move(**result));
    else
      errors = joinErrors(std::move(errors), result->takeError());
  }
  if (errors)
    return std::move(errors);
  return isLinked(options.kind) ? linkObjects(parts, options.kind) : printParts(parts, options);
}
