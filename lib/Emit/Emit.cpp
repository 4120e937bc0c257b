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
#include "llvm/Transforms/Utils/SplitModule.h"
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

static bool isLinked(OutputKind kind) {
  return kind == OutputKind::SharedLibrary || kind == OutputKind::Object;
}

static Bytes writeBitcode(const Module &module) {
  Bytes bitcode;
  raw_svector_ostream stream(bitcode);
  WriteBitcodeToFile(module, stream);
  return bitcode;
}

/// Optimizes a part of the network; the result is an object file if it is to be linked, else
/// bitcode.
static Expected<Bytes> compilePart(Module &module, TargetMachine &machine,
                                   const EmitOptions &options) {
  for (Function &function : module)
    function.setUWTableKind(options.hasUnwindTables && !function.isDeclaration()
                                ? UWTableKind::Async
                                : UWTableKind::None);
  optimize(module, machine);
  if (isLinked(options.kind))
    return generateCode(module, machine, CodeGenFileType::ObjectFile);
  return writeBitcode(module);
}

namespace {
/// Functions of a level that are compiled separately.
struct LevelPart {
  std::string level;
  Bytes bitcode;
  std::vector<std::string> symbols; ///< that all parts of the level define
};
} // namespace

/// The number of instructions in a part. Levels with a kernel for each shape take long to compile
/// and are divided among the cores.
static constexpr unsigned kInstructionsPerPart = 2048;

static Error divideLevel(StringRef prefix, LevelCode &level, ArrayRef<StepInfo> shared,
                         StringSet<> &defined, const EmitOptions &options,
                         std::vector<LevelPart> &parts) {
  auto machine = createBaselineMachine(options.triple);
  if (!machine)
    return machine.takeError();
  if (Error error = prepareLevel(prefix, level, shared, defined, **machine))
    return error;
  Module &module = *level.code.module;
  unsigned count =
      std::max<unsigned>(1, divideCeil(module.getInstructionCount(), kInstructionsPerPart));
  size_t first = parts.size();
  if (count == 1)
    parts.push_back({level.level, writeBitcode(module), {}});
  else
    SplitModule(
        module, count,
        [&](std::unique_ptr<Module> part) {
          parts.push_back({level.level, writeBitcode(*part), {}});
        },
        /*PreserveLocals=*/false, /*RoundRobin=*/true);
  std::vector<std::string> symbols{"memcpy", "memmove", "memset"};
  for (const GlobalValue &value : module.global_values())
    if (!value.isDeclaration())
      symbols.push_back(value.getName().str());
  for (LevelPart &part : MutableArrayRef(parts).drop_front(first))
    part.symbols = symbols;
  level.code = OwnedModule(); // The memory is needed for compiling.
  return Error::success();
}

static Expected<Bytes> compileLevelPart(const LevelPart &part, const EmitOptions &options) {
  auto machine = createBaselineMachine(options.triple);
  if (!machine)
    return machine.takeError();
  LLVMContext context;
  auto module = parseBitcodeFile(
      MemoryBufferRef(StringRef(part.bitcode.data(), part.bitcode.size()), part.level), context);
  if (!module)
    return module.takeError();
  Expected<Bytes> code = compilePart(**module, **machine, options);
  if (code && isLinked(options.kind))
    if (Error error = checkUndefinedSymbols(part.level, *code, part.symbols))
      return error;
  return code;
}

namespace {
/// The parts of a network that all its levels share.
struct Runtime {
  Bytes code;
  std::optional<MemoryFile> weights; ///< where the code has them not
};
} // namespace

static Expected<Runtime> compileRuntime(const ProgramInfo &program, ArrayRef<LevelCode> levels,
                                        const EmitOptions &options) {
  auto machine = createBaselineMachine(options.triple);
  if (!machine)
    return machine.takeError();
  Runtime runtime;
  if (isLinked(options.kind)) {
    Expected<MemoryFile> weights =
        storeWeights(getSymbolPrefix(program.name), program.weights,
                     (*machine)->getTargetTriple().getArch(), options.leavesWeightsOut);
    if (!weights)
      return weights.takeError();
    runtime.weights.emplace(std::move(*weights));
  }
  Expected<OwnedModule> module =
      buildRuntimeModule(program, levels, /*hasWeights=*/!runtime.weights, **machine);
  if (!module)
    return module.takeError();
  if (Error error = compilePart(*module->module, **machine, options).moveInto(runtime.code))
    return std::move(error);
  return std::move(runtime);
}

/// Links bitcode to one module and prints it as LLVM IR or assembly.
static Expected<Bytes> printParts(ArrayRef<Bytes> parts, const EmitOptions &options) {
  LLVMContext context;
  std::unique_ptr<Module> whole;
  for (const Bytes &part : parts) {
    auto module =
        parseBitcodeFile(MemoryBufferRef(StringRef(part.data(), part.size()), "part"), context);
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

/// The steps of all prologues, and those of runs whose functions several levels have.
static std::vector<StepInfo> getSharedSteps(ArrayRef<LevelCode> levels) {
  std::vector<StepInfo> shared;
  for (const LevelCode &level : levels) {
    for (const StepInfo &step : level.prologue) {
      shared.push_back(step);
      shared.back().sharedLevel = kPrologue;
    }
    copy_if(level.steps, std::back_inserter(shared),
            [](const StepInfo &step) { return !step.sharedLevel.empty(); });
  }
  return shared;
}

Expected<SmallVector<char, 0>> octet::emitProgram(const ProgramInfo &program,
                                                  std::vector<LevelCode> levels,
                                                  const EmitOptions &options, int64_t *bucketBytes,
                                                  function_ref<void()> onWeightsStored) {
  if (Error error = checkLevels(program, levels))
    return error;
  std::string prefix = getSymbolPrefix(program.name);
  // The runtime first: it reads the list of steps that compiling a level leaves alone, but not its
  // code.
  Expected<Runtime> runtime = compileRuntime(program, levels, options);
  if (!runtime)
    return runtime.takeError();
  if (onWeightsStored)
    onWeightsStored();
  std::vector<StepInfo> shared = getSharedSteps(levels);
  StringSet<> defined;
  std::vector<LevelPart> divided;
  for (LevelCode &level : levels)
    if (Error error = divideLevel(prefix, level, shared, defined, options, divided))
      return error;
  std::vector<std::optional<Expected<Bytes>>> results(divided.size());
  {
    DefaultThreadPool pool(hardware_concurrency(options.parallelism));
    for (size_t i = 0; i < divided.size(); ++i)
      pool.async([&, i] { results[i].emplace(compileLevelPart(divided[i], options)); });
  }
  std::vector<Bytes> parts;
  parts.reserve(results.size() + 1); // a vector that grows would copy them
  parts.push_back(std::move(runtime->code));
  Error errors = Error::success();
  for (std::optional<Expected<Bytes>> &result : results) {
    if (*result)
      parts.push_back(std::move(**result));
    else
      errors = joinErrors(std::move(errors), result->takeError());
  }
  if (errors)
    return std::move(errors);
  if (bucketBytes)
    *bucketBytes = isLinked(options.kind) ? countBucketBytes(program, levels, parts) : 0;
  return runtime->weights ? linkObjects(parts, *runtime->weights, options)
                          : printParts(parts, options);
}
