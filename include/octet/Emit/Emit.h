//===- Emit.h - from LLVM dialect to machine code ---------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns one module per CPU level into one library, object file, LLVM IR or assembly. The target
// machine is always the baseline of the architecture; the instructions of a level are target
// features of its functions.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_EMIT_EMIT_H
#define OCTET_EMIT_EMIT_H

#include "octet/Runtime/records.h"
#include "octet/Support/Files.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace mlir {
class DialectRegistry;
class ModuleOp;
class Type;
} // namespace mlir

namespace octet {

/// An input or output as octet_tensor describes it; `bytes` follows from `shape` and `dtype`. Scale
/// 0 = not quantized.
struct TensorInfo {
  std::string name;
  octet_dtype dtype = OCTET_F32;
  std::vector<int64_t> shape;
  float scale = 0;
  int32_t zeroPoint = 0;
};

/// Byte offset into a memory, or the number of an input or output.
struct StepAddress {
  octet_space space;
  int64_t offset;

  bool operator==(const StepAddress &other) const {
    return space == other.space && offset == other.offset;
  }
};

/// A step: calls `void symbol(ptr addresses..., i64 bounds..., i64 begin, i64 end)` of the level's
/// module for parts of its range; `name` is the operator's.
struct StepInfo {
  std::string symbol;
  int64_t range = 1;
  std::string name;
  std::vector<StepAddress> addresses = {};
  std::vector<int64_t> bounds = {};
  /// Of a function that several levels have, with the same symbol: the last of them, or empty.
  std::string sharedLevel = {};

  bool operator==(const StepInfo &other) const;
};

/// The network for smaller inputs than its first ones.
struct BucketInfo {
  std::vector<TensorInfo> inputs, outputs;
};

/// The parts of a network that all its levels share.
struct ProgramInfo {
  /// Any text; symbols begin with `getSymbolPrefix(name)`.
  std::string name;
  int64_t arenaBytes = 0;
  int64_t stateBytes = 0;
  llvm::ArrayRef<char> weights;
  std::vector<TensorInfo> inputs, outputs;
  std::vector<BucketInfo> smallerBuckets = {}; ///< the largest first
  /// A value for each input with which callers may fill it up to a bucket's shape, NaN for none;
  /// empty: no input has one.
  std::vector<double> paddings = {};
  std::string reportJson = "";
};

/// LLVM IR with the context it lives in, so that levels can be compiled in parallel.
struct OwnedModule {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;

  OwnedModule();
  OwnedModule(std::unique_ptr<llvm::LLVMContext> context, std::unique_ptr<llvm::Module> module);
  OwnedModule(OwnedModule &&);
  OwnedModule &operator=(OwnedModule &&);
  ~OwnedModule();
};

/// The code of one CPU level. Levels are ordered, best first.
struct LevelCode {
  std::string level;
  std::vector<StepInfo> steps; ///< of all buckets, one behind the other
  OwnedModule code;
  /// Steps that run once, when a model is created, and write its prepared memory. Their functions
  /// run on every CPU; functions of the same name are equal in all levels.
  std::vector<StepInfo> prologue = {};
  int64_t preparedBytes = 0;
  /// The number of steps of every bucket but the last, which has the others.
  std::vector<size_t> stepsOfBuckets = {};

  size_t countSteps(size_t bucket) const;
};

enum class OutputKind { SharedLibrary, Object, LLVMIR, Assembly };

struct EmitOptions {
  /// x86_64-linux-gnu or aarch64-linux-gnu.
  std::string triple = "x86_64-linux-gnu";
  OutputKind kind = OutputKind::SharedLibrary;
  /// The number of levels, or parts of long ones, that are compiled at the same time; 0: the number
  /// of cores. Never changes the result.
  unsigned parallelism = 0;
  /// Whether the output has unwind tables (.eh_frame) for debuggers, profilers and exceptions.
  bool hasUnwindTables = false;
  /// Whether a library has memory for the weights in place of them, which is filled when it is
  /// loaded (ModelLibrary::loadBytes): a library that runs once would only copy them.
  bool leavesWeightsOut = false;
};

/// Registers the translations of LLVM dialect to LLVM IR that `translateLevel` needs.
void registerEmitTranslations(mlir::DialectRegistry &registry);

/// Translates a module in LLVM dialect to LLVM IR in a new context. Diagnostics go to the module's
/// context.
llvm::Expected<OwnedModule> translateLevel(mlir::ModuleOp module);

/// A network ready for `emitProgram`. `program.weights` points into the module it was collected
/// from or, for a splat, into `weights`.
struct CollectedNetwork {
  ProgramInfo program;
  std::vector<LevelCode> levels;
  std::vector<char> weights;
};

/// The octet_dtype of elements at the interface, of quantized ones that of their storage.
std::optional<octet_dtype> getDType(mlir::Type elementType);

/// Collects the result of the passes of Codegen: one nested module per CPU level, best first, each
/// with a kernel.program whose steps name kernels in LLVM dialect. Erases the programs (their
/// weights stay alive with the context).
llvm::Expected<CollectedNetwork> collectNetwork(mlir::ModuleOp module, llvm::StringRef name);

/// A C identifier made of a network's name: '_' replaces other characters and precedes a leading
/// digit.
std::string getSymbolPrefix(llvm::StringRef name);

/// The triple of the machine that this process runs on; empty if it is not a supported target.
std::string getHostTriple();

/// Compiles a network and returns the bytes of the output file. Consumes `levels`. The result
/// depends on the arguments only. liblld resets every llvm::cl option of the process to its
/// default; tools copy their options before the call. `bucketBytes`, if it is given, becomes the
/// number of bytes that smaller buckets add to a library or object. `onWeightsStored` is called
/// when the bytes of the weights are not read any more.
llvm::Expected<llvm::SmallVector<char, 0>>
emitProgram(const ProgramInfo &program, std::vector<LevelCode> levels, const EmitOptions &options,
            int64_t *bucketBytes = nullptr, llvm::function_ref<void()> onWeightsStored = {});

/// The C header of a library or object: octet.h and the network's own declarations.
std::string emitHeader(const ProgramInfo &program);

} // namespace octet

#endif // OCTET_EMIT_EMIT_H
