//===- Internal.h - the steps of emitting -----------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_EMIT_INTERNAL_H
#define OCTET_LIB_EMIT_INTERNAL_H

#include "octet/Emit/Emit.h"
#include "octet/Support/Files.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include <map>

namespace octet {

using Bytes = llvm::SmallVector<char, 0>;

/// The baseline machine of a triple, or an error that lists the triples there are.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>> createBaselineMachine(llvm::StringRef triple);

/// The symbol of a function of one level in the finished network.
std::string getLevelSymbol(llvm::StringRef prefix, llvm::StringRef level, llvm::StringRef symbol);

/// That of the function that a step calls, at this level or as one that others have, too.
std::string getStepSymbol(llvm::StringRef prefix, llvm::StringRef level, const StepInfo &step);

/// In the place of a level's name: the prefix of functions of prologues, which the finished network
/// has once for all levels.
inline constexpr llvm::StringLiteral kPrologue = "prologue";

/// Whether a library has a table of buckets.
inline bool hasBuckets(const ProgramInfo &program) {
  return !program.smallerBuckets.empty() || !program.paddings.empty();
}

/// The encoding of an address in a library: octet_address.
int32_t encodeAddress(StepAddress address);

/// An error if a step of the level does not fit its kernel or octet_step_record.
llvm::Error checkSteps(const ProgramInfo &program, const LevelCode &level);

/// The number of equal steps at the beginning of both.
size_t countCommonSteps(llvm::ArrayRef<StepInfo> first, llvm::ArrayRef<StepInfo> second);

/// The steps of prologues that the library stores once: most prologues begin with some of them.
llvm::ArrayRef<StepInfo> getSharedPrologue(llvm::ArrayRef<LevelCode> levels);

/// The type of the kernel that a step calls.
llvm::FunctionType *getKernelType(llvm::LLVMContext &context, const StepInfo &step);

/// A function that calls a kernel with the given number of arguments from memory; see
/// octet_network.
llvm::Function *createCall(llvm::Module &module, llvm::StringRef prefix, size_t numArguments);

/// The arguments of all steps: octet_network's lists. Addresses and bounds are separate lists:
/// levels have the same addresses, but merge different kernels, and steps on different memory have
/// the same bounds.
class ArgumentLists {
public:
  /// The place of the list; equal lists are stored once.
  int32_t add(llvm::ArrayRef<StepAddress> addresses);
  int32_t add(llvm::ArrayRef<int64_t> bounds);
  llvm::ArrayRef<int32_t> getValues() const { return values; }

private:
  int32_t addList(llvm::ArrayRef<int32_t> list);

  std::vector<int32_t> values;
  std::map<std::vector<int32_t>, int32_t> places;
};

/// Gives every definition of a level's module the network's and level's prefix, hides the kernels
/// that steps call and makes the rest internal. `shared` has all steps whose functions several
/// levels may have: they stay in the first level that has them, and are then among `defined`.
llvm::Error prepareLevel(llvm::StringRef prefix, LevelCode &level, llvm::ArrayRef<StepInfo> shared,
                         llvm::StringSet<> &defined, llvm::TargetMachine &machine);

/// Kernels load whole cache lines of weights.
inline constexpr uint64_t kWeightsAlignment = 64;

/// The symbol of the weights, where they are in an object of their own.
std::string getWeightsSymbol(llvm::StringRef prefix);

/// An object file in memory that defines the weights, or whole pages of zeros in their place.
llvm::Expected<MemoryFile> storeWeights(llvm::StringRef prefix, llvm::ArrayRef<char> weights,
                                        llvm::Triple::ArchType arch, bool leavesOut);

/// The descriptor and the runtime, with the weights or a declaration of their symbol, in a new
/// context.
llvm::Expected<OwnedModule> buildRuntimeModule(const ProgramInfo &program,
                                               llvm::ArrayRef<LevelCode> levels, bool hasWeights,
                                               llvm::TargetMachine &machine);

/// Addresses of the kinds that the core which a function is scheduled for prefers.
void chooseAddresses(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);

/// The same value, of which LLVM does not know where it comes from.
llvm::Value *hideOrigin(llvm::IRBuilder<> &b, llvm::Value *value);

/// In loops, loads constants that an instruction overwrites each time, where LLVM would copy them.
void reloadAddends(llvm::Function &function);

/// Runs LLVM's optimizations.
void optimize(llvm::Module &module, llvm::TargetMachine &machine);

/// Object file or assembly.
llvm::Expected<Bytes> generateCode(llvm::Module &module, llvm::TargetMachine &machine,
                                   llvm::CodeGenFileType type);

/// An error if the object of a level needs a symbol that a compiled network may not need (a
/// function of libm, say).
llvm::Error checkUndefinedSymbols(llvm::StringRef level, llvm::ArrayRef<char> object,
                                  llvm::ArrayRef<std::string> allowed);

/// The bytes of tables, weights and code that only smaller buckets need; the objects are those of
/// the levels.
int64_t countBucketBytes(const ProgramInfo &program, llvm::ArrayRef<LevelCode> levels,
                         llvm::ArrayRef<Bytes> objects);

/// Links objects in memory, and the one of the weights, to a shared library or to one object.
llvm::Expected<Bytes> linkObjects(llvm::ArrayRef<Bytes> objects, const MemoryFile &weights,
                                  const EmitOptions &options);

/// Bitcode of the runtime for an architecture, and the text of octet.h.
llvm::StringRef getRuntimeBitcode(llvm::Triple::ArchType arch);
llvm::StringRef getRuntimeHeader();

} // namespace octet

#endif // OCTET_LIB_EMIT_INTERNAL_H
