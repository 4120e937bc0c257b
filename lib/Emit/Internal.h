//===- Internal.h - the steps of emitting -----------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_EMIT_INTERNAL_H
#define OCTET_LIB_EMIT_INTERNAL_H

#include "octet/Emit/Emit.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace octet {

using Bytes = llvm::SmallVector<char, 0>;

/// The baseline machine of a triple, or an error that lists the triples there are.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>> createBaselineMachine(llvm::StringRef triple);

/// The symbol of a function of one level in the finished network.
std::string getLevelSymbol(llvm::StringRef prefix, llvm::StringRef level, llvm::StringRef symbol);

/// Checks a level's module against its steps, gives every definition the network's and level's prefix, hides the steps
/// and makes the rest internal.
llvm::Error prepareLevel(llvm::StringRef prefix, LevelCode &level, llvm::TargetMachine &machine);

/// The descriptor, the weights and the runtime, in a new context.
llvm::Expected<OwnedModule> buildRuntimeModule(const ProgramInfo &program, llvm::ArrayRef<LevelCode> levels,
                                               llvm::TargetMachine &machine);

/// Runs LLVM's optimizations.
void optimize(llvm::Module &module, llvm::TargetMachine &machine);

/// Object file or assembly.
llvm::Expected<Bytes> generateCode(llvm::Module &module, llvm::TargetMachine &machine, llvm::CodeGenFileType type);

/// An error if the object of a level needs a symbol that a compiled network may not need (a function of libm, say).
llvm::Error checkUndefinedSymbols(llvm::StringRef level, llvm::ArrayRef<char> object, llvm::ArrayRef<std::string> allowed);

/// Links objects in memory to a shared library or to one object.
llvm::Expected<Bytes> linkObjects(llvm::ArrayRef<Bytes> objects, OutputKind kind);

/// Bitcode of the runtime for an architecture, and the text of octet.h.
llvm::StringRef getRuntimeBitcode(llvm::Triple::ArchType arch);
llvm::StringRef getRuntimeHeader();

} // namespace octet

#endif // OCTET_LIB_EMIT_INTERNAL_H
