//===- Library.h - a network to machine code --------------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_PIPELINES_LIBRARY_H
#define OCTET_PIPELINES_LIBRARY_H

#include "mlir/IR/BuiltinOps.h"
#include "octet/Emit/Emit.h"
#include "llvm/ADT/StringMap.h"

namespace octet {

/// Registers the dialects and translations that compiling needs.
void registerOctetDialects(mlir::DialectRegistry &registry);

struct LibraryOptions {
  std::string name = "model"; ///< symbols begin with it
  std::vector<std::string>
      levels; ///< CPU levels, best first; empty: the default ones of the target's architecture
  EmitOptions emit;
  std::string reportJson = "{}";
  llvm::StringMap<double> paddings; ///< ProgramInfo::paddings by the inputs' names
};

/// The CPU levels of a target triple, best first.
std::vector<std::string> getLevelsOfTarget(llvm::StringRef triple);
/// The CPU levels that a library has by default; empty if no code can be generated for the target.
std::vector<std::string> getDefaultLevels(llvm::StringRef triple);

/// The place of an observer's statistics in a compiled network.
struct CompiledObserver {
  int64_t offset = 0; ///< in the state, in bytes
  int64_t step = -1;  ///< the step that updates the statistics, at the best level
};

/// A compiled network.
struct CompiledLibrary {
  llvm::SmallVector<char, 0> bytes;
  std::optional<MemoryFile> weights; ///< if the library leaves them out
  std::string header;                ///< C declarations
  int64_t arenaBytes = 0, stateBytes = 0, weightsBytes = 0;
  int64_t bucketBytes = 0; ///< that smaller buckets add to a library or object
  int64_t keptBytes = 0; ///< of the state: the network's states, in front of observers' statistics
  llvm::StringMap<CompiledObserver> observers;
};

/// Compiles the function main of `module`, which holds an integer program, a float program or a
/// reference model, and is consumed. Other functions are smaller buckets. Errors are diagnostics on
/// the module's context, or returned.
llvm::Expected<CompiledLibrary> compileLibrary(mlir::ModuleOp module,
                                               const LibraryOptions &options);

/// The two halves of compileLibrary. The first one turns `module` into the code of its levels,
/// which has its weights in other bytes than the constants that it read; the second one frees
/// these.
llvm::Error generateLevels(mlir::ModuleOp module, const LibraryOptions &options);
llvm::Expected<CompiledLibrary> emitLevels(mlir::ModuleOp module, const LibraryOptions &options);

} // namespace octet

#endif // OCTET_PIPELINES_LIBRARY_H
