//===- ProgramEmitter.h - network to steps and kernels ----------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_PROGRAMEMITTER_H
#define OCTET_LIB_CODEGEN_PROGRAMEMITTER_H

#include "KernelBuilder.h"
#include "MemoryPlan.h"
#include "octet/Dialect/Octet/Octet.h"
#include "octet/Runtime/octet.h"
#include "llvm/ADT/BitVector.h"

namespace octet::codegen {

/// Packed constant data, shared by all levels: an entry is made once per key.
class WeightsPool {
public:
  /// Byte offset of the data that `make` returns, or of what an equal key gave before.
  int64_t add(llvm::StringRef key, llvm::function_ref<std::vector<char>()> make, uint64_t alignment = 64);
  /// Bytes of the entry of this key.
  int64_t sizeOf(llvm::StringRef key) const { return entries.lookup(key).second; }
  llvm::ArrayRef<char> bytes() const { return blob; }

  /// Byte offset of the panels that are made of a filter's weights when a model is made; `filter` says how, but for the target.
  int64_t addPanels(const octet_dense_filter &filter);
  /// The same for an array of parameters; `array` says how, but for the target.
  int64_t addParameters(const octet_parameters &array);
  llvm::ArrayRef<octet_dense_filter> getFilters() const { return filters; }
  llvm::ArrayRef<octet_parameters> getParameters() const { return parameters; }
  int64_t getPanelsBytes() const { return panelsBytes; }

private:
  template <typename T>
  int64_t addRecord(std::vector<T> &records, T record, int64_t bytes);

  std::vector<char> blob;
  llvm::StringMap<std::pair<int64_t, int64_t>> entries; ///< offset and size
  std::vector<octet_dense_filter> filters;
  std::vector<octet_parameters> parameters;
  llvm::StringMap<int64_t> panels; ///< offset for each filter and array of parameters
  int64_t panelsBytes = 0;
};

/// An argument of a step: its address and the type that the kernel sees.
struct KernelArgument {
  kernel::ArgAttr address;
  mlir::MemRefType type;
};

/// Emits the program of one CPU level into one nested module.
class ProgramEmitter {
public:
  ProgramEmitter(mlir::ModuleOp module, kernel::ProgramOp program, const MemoryPlan &plan, WeightsPool &weights,
                 const CpuLevel &level, bool mergesDense)
      : module(module), program(program), plan(plan), weights(weights), level(level), mergesDense(mergesDense) {}

  const CpuLevel &getLevel() const { return level; }

  /// The memory of a tensor value: arena, input, output, or (row-major copy of a constant) weights.
  KernelArgument getBuffer(mlir::Value value);
  /// An argument for constant data of T, made once per key.
  template <typename T>
  KernelArgument getWeights(llvm::StringRef key, llvm::function_ref<std::vector<T>()> make);
  /// An argument for a constant's depthwise weights, put into the kernel's order when a model is made; `filter` says how,
  /// but for its source and target. The same weights in the same order are there once.
  KernelArgument getDepthwiseFilter(mlir::Value weights, const octet_depthwise_filter &filter);
  /// An argument for a constant's dense weights in panels, which `filter` describes but for its source and target. Where
  /// integers take notably less room without the panels' padding, the library holds them so. Of weights with more outputs than
  /// the filter has, every so many are panels of their own; of those with fewer channels, each so many outputs have the
  /// channels behind the ones before, and zeros elsewhere.
  KernelArgument getPanels(nn::ConstantOp weights, octet_dense_filter filter);
  /// The same weights as words, which a model makes of them; see kernel.widen.
  KernelArgument getWidened(KernelArgument bytes);
  /// An argument for parameters of channels, one a channel, in lanes of blocks of `block` channels (octet_lane_channel).
  KernelArgument getParameters(llvm::ArrayRef<int32_t> perChannel, int64_t block);
  /// The same for floats (OCTET_WORDS), their reciprocals or the rests of these.
  KernelArgument getParameters(llvm::ArrayRef<float> perChannel, octet_parameter_kind kind, int64_t block);
  int64_t getPreparedBytes() const { return preparedBytes; }
  /// State bytes of an observer symbol.
  KernelArgument getState(mlir::FlatSymbolRefAttr observer);

  using BodyFn = llvm::function_ref<void(KernelBuilder &, mlir::ValueRange args, mlir::Value begin, mlir::Value end)>;
  /// Adds a step that calls the kernel of this key (built by `body` on first use) over [0, range). `op` gives the location.
  void addStep(mlir::Operation *op, llvm::StringRef kind, llvm::StringRef key, llvm::ArrayRef<KernelArgument> arguments,
               int64_t range, BodyFn body);

  int64_t numKernels = 0, numSteps = 0;

private:
  /// A kernel function, and which of the arguments that it was made for it takes.
  struct Kernel {
    mlir::func::FuncOp func;
    llvm::BitVector isUnused;
  };
  const Kernel &getOrCreateKernel(llvm::StringRef kind, llvm::StringRef key, llvm::ArrayRef<KernelArgument> arguments,
                                  BodyFn body);
  KernelArgument makeWeights(llvm::StringRef key, mlir::Type element, llvm::function_ref<std::vector<char>()> make);
  KernelArgument makeParameters(llvm::ArrayRef<char> bytes, mlir::Type element, octet_parameter_kind kind, int64_t channels, int64_t block);
  int64_t addRowMajor(nn::ConstantOp constant, uint64_t alignment = 64);
  KernelArgument addPrepared(int64_t bytes);

  mlir::ModuleOp module;
  kernel::ProgramOp program;
  const MemoryPlan &plan;
  WeightsPool &weights;
  const CpuLevel &level;
  const bool mergesDense; ///< dense kernels become one where they differ in bounds only
  llvm::StringMap<Kernel> kernels;
  llvm::StringMap<KernelArgument> filters;
  llvm::DenseMap<kernel::ArgAttr, KernelArgument> widened; ///< by the address of the bytes
  int64_t preparedBytes = 0;
};

template <typename T>
KernelArgument ProgramEmitter::getWeights(llvm::StringRef key, llvm::function_ref<std::vector<T>()> make) {
  mlir::MLIRContext *context = module.getContext();
  mlir::Type element = std::is_floating_point_v<T> ? (mlir::Type)mlir::Float32Type::get(context)
                                                   : (mlir::Type)mlir::IntegerType::get(context, sizeof(T) * 8);
  return makeWeights(key, element, [&] {
    std::vector<T> values = make();
    const char *data = reinterpret_cast<const char *>(values.data());
    return std::vector<char>(data, data + values.size() * sizeof(T));
  });
}

/// Emits one operator; the rows of Emitters.def. Fails after an error on the op.
llvm::LogicalResult emitOperator(ProgramEmitter &emitter, mlir::Operation *op);

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_PROGRAMEMITTER_H
