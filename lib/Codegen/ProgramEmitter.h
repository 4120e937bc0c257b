//===- ProgramEmitter.h - network to steps and kernels ----------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_PROGRAMEMITTER_H
#define OCTET_LIB_CODEGEN_PROGRAMEMITTER_H

#include "Code.h"
#include "MemoryPlan.h"
#include "Prologue.h"
#include "octet/Dialect/Kernel/Kernels.h"
#include "octet/Dialect/Octet/Octet.h"
#include "octet/Runtime/records.h"
#include <map>
#include <unordered_map>

namespace octet::codegen {

/// Packed constant data, shared by all levels: an entry is made once per key. Entries that begin
/// one that was there before, as tables for shorter inputs and parameters of other levels do, are
/// part of it.
class WeightsPool {
public:
  /// Byte offset of the data that `make` returns, or of what an equal key gave before.
  int64_t add(llvm::StringRef key, llvm::function_ref<std::vector<char>()> make,
              uint64_t alignment = 64);
  /// Bytes of the entry of this key.
  int64_t sizeOf(llvm::StringRef key) const { return entries.lookup(key).second; }
  llvm::ArrayRef<char> bytes() const { return blob; }
  /// All bytes, which the pool has no longer.
  std::vector<char> take() { return std::move(blob); }
  /// Room for so many bytes in all.
  void reserve(int64_t numBytes) { blob.reserve(numBytes); }

private:
  /// Where the data lie already, or -1.
  int64_t find(llvm::ArrayRef<char> data, uint64_t alignment);

  std::vector<char> blob;
  llvm::StringMap<std::pair<int64_t, int64_t>> entries; ///< offset and size
  /// Offset and size by a hash of the first bytes.
  std::unordered_multimap<uint64_t, std::pair<int64_t, int64_t>> beginnings;
};

/// The kernels that become one where they differ in bounds only, beside those whose row says so:
/// dense ones, or all of them.
enum class Merging { byRow, dense, all };

/// Emits the programs of one CPU level, one for each bucket, into one nested module.
class ProgramEmitter {
public:
  ProgramEmitter(mlir::ModuleOp module, WeightsPool &weights, const CpuLevel &level,
                 Merging merging)
      : module(module), weights(weights), level(level), merging(merging) {}

  /// The steps that follow belong to this program of the module and use the memory of this plan.
  void beginProgram(kernel::ProgramOp next, const MemoryPlan &itsPlan) {
    program = next;
    plan = &itsPlan;
    prologue.addProgram(next);
  }

  const CpuLevel &getLevel() const { return level; }
  mlir::Builder getBuilder() { return mlir::Builder(module.getContext()); }
  const Prologue &getPrologue() const { return prologue; }

  /// The memory of a tensor value: arena, input, output, or (row-major copy of a constant) weights.
  KernelArgument getBuffer(mlir::Value value);
  /// Whether kArenaSlack bytes behind it may be read, whatever they are.
  bool hasSlack(mlir::Value value);
  /// Whether the value is a part of another one's memory.
  bool isView(mlir::Value value) const { return plan->views.contains(value); }
  /// An argument for constant data of T, made once per key.
  template <typename T>
  KernelArgument getWeights(llvm::StringRef key, llvm::function_ref<std::vector<T>()> make,
                            uint64_t alignment = 64);
  /// An argument for a constant as it is.
  KernelArgument getRowMajor(nn::ConstantOp constant, uint64_t alignment = 64);

  using PrepareFn = llvm::function_ref<void(EmittedCode &, mlir::Value from, mlir::Value to,
                                            llvm::ArrayRef<Index> bounds, Index begin, Index end)>;
  using PrepareOrderedFn =
      llvm::function_ref<void(EmittedCode &, mlir::Value from, mlir::Value order, mlir::Value to,
                              llvm::ArrayRef<Index> bounds, Index begin, Index end)>;
  /// An argument for what a step of the prologue writes, whose function `body` emits.
  KernelArgument prepare(const Preparation &preparation, PrepareFn body);
  /// The same of a step that reads `order`, too.
  KernelArgument prepareOrdered(const Preparation &preparation, PrepareOrderedFn body);
  /// The 64 bits in which a kernel tells that the network cannot run.
  KernelArgument getStatus();
  /// State bytes of an observer symbol.
  KernelArgument getState(mlir::FlatSymbolRefAttr observer);

  using BodyFn = llvm::function_ref<void(KernelBuilder &, mlir::ValueRange args, mlir::Value begin,
                                         mlir::Value end)>;
  /// Adds a step that calls a kernel of this row, whose code `body` emits, over [0, range). Steps
  /// with the same code share a function. `op` gives the location.
  void addStep(mlir::Operation *op, const kernel::KernelRow &row,
               llvm::ArrayRef<KernelArgument> arguments, int64_t range, BodyFn body);

  /// Whether the level has kernels of this row.
  bool has(const kernel::KernelRow &row) const {
    return row.levels == kernel::Levels::all || !level.isScalar();
  }

  int64_t numKernels = 0, numSteps = 0;

private:
  bool isMergeable(const kernel::KernelRow &row) const;
  mlir::func::FuncOp createKernel(const kernel::KernelRow &row,
                                  llvm::ArrayRef<KernelArgument> arguments, BodyFn body);
  KernelArgument makeWeights(llvm::StringRef key, mlir::Type element,
                             llvm::function_ref<std::vector<char>()> make, uint64_t alignment);

  mlir::ModuleOp module;
  kernel::ProgramOp program;
  const MemoryPlan *plan = nullptr;
  WeightsPool &weights;
  const CpuLevel &level;
  const Merging merging;
  /// By row and code (getCodeKey).
  std::map<std::pair<const kernel::KernelRow *, std::vector<const void *>>, mlir::func::FuncOp>
      kernels;
  Prologue prologue;
};

template <typename T>
KernelArgument ProgramEmitter::getWeights(llvm::StringRef key,
                                          llvm::function_ref<std::vector<T>()> make,
                                          uint64_t alignment) {
  mlir::MLIRContext *context = module.getContext();
  mlir::Type element = std::is_floating_point_v<T>
                           ? (mlir::Type)mlir::Float32Type::get(context)
                           : (mlir::Type)mlir::IntegerType::get(context, sizeof(T) * 8);
  return makeWeights(
      key, element,
      [&] {
        std::vector<T> values = make();
        const char *data = reinterpret_cast<const char *>(values.data());
        return std::vector<char>(data, data + values.size() * sizeof(T));
      },
      alignment);
}

/// Emits one operator; the rows of Emitters.def. Fails after an error on the op.
llvm::LogicalResult emitOperator(ProgramEmitter &emitter, mlir::Operation *op);

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_PROGRAMEMITTER_H
