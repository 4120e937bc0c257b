//===- Prologue.h - what a model prepares when it is made -------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_PROLOGUE_H
#define OCTET_LIB_CODEGEN_PROLOGUE_H

#include "octet/Codegen/Passes.h"
#include "llvm/ADT/StringMap.h"

namespace octet::codegen {

/// An argument of a step: its address and the type that the kernel sees.
struct KernelArgument {
  kernel::ArgAttr address;
  mlir::MemRefType type;
};

/// A step that writes prepared memory: `function(source, target, bounds..., begin, end)` for
/// [0, range), or `function(source, order, target, ...)`. The function is the same for all shapes
/// and levels; what they differ in are bounds.
struct Preparation {
  llvm::StringRef function;
  KernelArgument source;
  mlir::MemRefType target;
  llvm::SmallVector<int64_t> bounds;
  int64_t range;
  std::optional<KernelArgument> order = std::nullopt; ///< what else it reads
};

/// The prologue of one level, which the programs of all its buckets share. The prepared memory lies
/// in the order of the steps until those of all levels are known (emitPrologues).
class Prologue {
public:
  /// The steps of this program read the prepared memory.
  void addProgram(kernel::ProgramOp program) { programs.push_back(program); }

  /// The address of what the step writes; equal steps are there once.
  kernel::ArgAttr add(const Preparation &preparation);

private:
  friend void emitPrologues(llvm::ArrayRef<Prologue> prologues);

  struct Step {
    std::string key; ///< equal for equal steps of all levels
    mlir::FlatSymbolRefAttr function;
    llvm::SmallVector<kernel::ArgAttr> sources;
    llvm::SmallVector<int64_t> bounds;
    int64_t range, offset, end;
  };
  const Step *findStep(kernel::ArgAttr address) const;
  void emit(llvm::ArrayRef<size_t> order);

  llvm::SmallVector<kernel::ProgramOp> programs;
  llvm::SmallVector<Step> steps;
  llvm::StringMap<size_t> numbers;
};

/// Adds the steps to the programs. Those that more levels have come before others, so that their
/// memory lies at the same place in these levels, and a library has records of them once.
void emitPrologues(llvm::ArrayRef<Prologue> prologues);

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_PROLOGUE_H
