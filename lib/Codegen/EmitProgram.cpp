//===- EmitProgram.cpp - network to one program per CPU level -------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Products/Products.h"
#include "ProgramEmitter.h"
#include "SignBytes.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "octet/Dialect/NN/States.h"
#include "octet/Support/Diagnostics.h"
#include <set>

namespace octet {
#define GEN_PASS_DEF_EMITPROGRAMPASS
#include "octet/Codegen/Passes.h.inc"
} // namespace octet

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

/// Names and dense types of the network's inputs or outputs, without its states.
static ArrayAttr describeTensors(func::FuncOp func, TypeRange types,
                                 function_ref<Attribute(unsigned, StringRef)> getAttr,
                                 StringRef prefix) {
  Builder builder(func.getContext());
  SmallVector<Attribute> tensors;
  for (auto [i, type] : llvm::enumerate(types)) {
    if (getAttr(i, nn::kStateAttr))
      continue;
    auto name = dyn_cast_or_null<StringAttr>(getAttr(i, nn::kNameAttr));
    if (!name)
      name = builder.getStringAttr(prefix + llvm::Twine(i));
    tensors.push_back(kernel::TensorAttr::get(func.getContext(), name, TypeAttr::get(type)));
  }
  return builder.getArrayAttr(tensors);
}

static kernel::ProgramOp createProgram(ModuleOp nested, func::FuncOp func, const MemoryPlan &plan,
                                       const CpuLevel &level) {
  auto builder = OpBuilder::atBlockEnd(nested.getBody());
  ArrayAttr inputs = describeTensors(
      func, func.getArgumentTypes(),
      [&](unsigned i, StringRef name) { return func.getArgAttr(i, name); }, "input");
  ArrayAttr outputs = describeTensors(
      func, func.getResultTypes(),
      [&](unsigned i, StringRef name) { return func.getResultAttr(i, name); }, "output");
  SmallVector<NamedAttribute> observers;
  for (auto &[symbol, offset] : plan.observerStates)
    observers.push_back({symbol, builder.getI64IntegerAttr(offset)});
  auto program = kernel::ProgramOp::create(
      builder, func.getLoc(), func.getSymName(), level.name, plan.arenaBytes, plan.stateBytes,
      /*prepared_bytes=*/0, inputs, outputs, /*weights=*/ElementsAttr(),
      observers.empty() ? DictionaryAttr() : builder.getDictionaryAttr(observers));
  program.getBody().emplaceBlock();
  return program;
}

/// Steps reach weights below 2 GiB (octet_address), and code behind the weights; packing and the
/// code need some of that.
static constexpr int64_t kMaxWeightsBytes = (int64_t)7 << 28;

static int64_t countWeightsBytes(func::FuncOp func) {
  int64_t bytes = 0;
  for (auto constant : func.getOps<nn::ConstantOp>())
    bytes += getBufferBytes(constant.getType());
  return bytes;
}

namespace {
/// The network for one set of input shapes.
struct Bucket {
  func::FuncOp func;
  MemoryPlan plan;
};
} // namespace

/// The code of a kernel of one shape, about.
static constexpr int64_t kKernelBytes = 2048;

/// Kernels of their own make dense products of each shape a few percent faster. That is not worth
/// it where their code, about 2 KB a kernel, is large beside the weights.
static bool areDenseKernelsLarge(func::FuncOp func) {
  constexpr int64_t kPartOfWeights = 4;
  std::set<std::vector<int64_t>> shapes;
  func.walk([&](nn::ConvOp conv) {
    std::vector<int64_t> shape = conv.getInput().getType().getShape().vec();
    llvm::append_range(shape, conv.getFilter().getType().getShape());
    llvm::append_range(shape, conv.getStrides());
    if (conv.getGroups() == 1)
      shapes.insert(std::move(shape));
  });
  return (int64_t)shapes.size() * kKernelBytes * kPartOfWeights > countWeightsBytes(func);
}

/// Whether a smaller bucket with kernels of its own adds more than a 20th of the weights.
static bool areBucketsLarge(ArrayRef<Bucket> buckets, int64_t numLevels) {
  constexpr int64_t kPartOfWeights = 20;
  int64_t most = 0;
  for (const Bucket &bucket : buckets.drop_front()) {
    std::set<std::vector<const void *>> kernels;
    func::FuncOp func = bucket.func;
    func.walk([&](Operation *op) {
      if (op->getNumResults() == 0 || op->hasTrait<OpTrait::ConstantLike>())
        return;
      std::vector<const void *> key{op->getName().getAsOpaquePointer()};
      for (TypeRange types : {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
        for (Type type : types)
          key.push_back(type.getAsOpaquePointer());
      kernels.insert(std::move(key));
    });
    most = std::max<int64_t>(most, kernels.size());
  }
  func::FuncOp largest = buckets.front().func;
  return most * kKernelBytes * numLevels * kPartOfWeights > countWeightsBytes(largest);
}

static LogicalResult checkWeights(func::FuncOp func) {
  int64_t bytes = countWeightsBytes(func);
  if (bytes <= kMaxWeightsBytes)
    return success();
  return func.emitError("has ") << (bytes >> 20)
                                << " MiB of weights, but a library reaches at most "
                                << (kMaxWeightsBytes >> 20) << " MiB"
                                << Remedy("split the network");
}

/// Addresses count units of 64 bytes in what 32 bits leave behind the space.
static LogicalResult checkArena(func::FuncOp func, const MemoryPlan &plan) {
  constexpr int64_t kMost = (int64_t)OCTET_MEMORY_UNIT << (32 - OCTET_SPACE_BITS);
  if (plan.arenaBytes <= kMost)
    return success();
  return func.emitError("needs ") << (plan.arenaBytes >> 30)
                                  << " GiB for its values, but a library reaches at most "
                                  << (kMost >> 30) << " GiB" << Remedy("give smaller input shapes");
}

/// Whether a level's dot products take signed bytes; all of an architecture take the same.
static bool multipliesSigned(StringRef name) {
  const CpuLevel *level = lookupCpuLevel(name);
  return level && level->products && level->products->takesSigned();
}

namespace {
/// See Passes.td.
struct EmitProgram : octet::impl::EmitProgramPassBase<EmitProgram> {
  using EmitProgramPassBase::EmitProgramPassBase;

  void runOnOperation() override {
    auto func = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!func) {
      getOperation().emitError("expected a function named 'main'");
      return signalPassFailure();
    }
    if (levels.empty()) {
      getOperation().emitError("expected at least one CPU level")
          << Remedy("give the option 'levels'");
      return signalPassFailure();
    }
    SmallVector<Bucket, 1> buckets;
    buckets.push_back({func, MemoryPlan()});
    for (auto other : getOperation().getOps<func::FuncOp>())
      if (other != func)
        buckets.push_back({other, MemoryPlan()});
    for (Bucket &bucket : buckets) {
      if (failed(verifyNetwork(bucket.func)) || failed(checkWeights(bucket.func)))
        return signalPassFailure();
      if (llvm::any_of(levels, multipliesSigned))
        signBytes(bucket.func);
      bucket.plan = planMemory(bucket.func);
      if (failed(checkArena(bucket.func, bucket.plan)))
        return signalPassFailure();
    }
    WeightsPool pool;
    pool.reserve(countConstantBytes() * 5 / 4); // growing would copy all; kernels pad a little
    SmallVector<kernel::ProgramOp> programs;
    SmallVector<Prologue, 0> prologues;
    Merging merging = areDenseKernelsLarge(func) ? Merging::dense : Merging::byRow;
    if (areBucketsLarge(buckets, levels.size()))
      merging = Merging::all;
    for (const std::string &name : levels)
      if (failed(emitLevel(buckets, pool, name, merging, programs, prologues)))
        return signalPassFailure();
    emitPrologues(prologues);
    attachWeights(pool.take(), programs);
    eraseNetwork();
  }

private:
  LogicalResult emitLevel(MutableArrayRef<Bucket> buckets, WeightsPool &pool, StringRef name,
                          Merging merging, SmallVectorImpl<kernel::ProgramOp> &programs,
                          SmallVectorImpl<Prologue> &prologues) {
    const CpuLevel *level = lookupCpuLevel(name);
    if (!level)
      return getOperation().emitError("unknown CPU level '") << name << "'";
    if (llvm::any_of(programs,
                     [&](kernel::ProgramOp program) { return program.getLevel() == name; }))
      return getOperation().emitError("expected each CPU level once, but got '")
             << name << "' again";
    func::FuncOp main = buckets.front().func;
    OpBuilder builder(main);
    auto nested = ModuleOp::create(builder, main.getLoc(), level->name);
    ProgramEmitter emitter(nested, pool, *level, merging);
    for (Bucket &bucket : buckets) {
      programs.push_back(createProgram(nested, bucket.func, bucket.plan, *level));
      emitter.beginProgram(programs.back(), bucket.plan);
      for (Operation &op : bucket.func.getBody().front().without_terminator())
        if (failed(emitOperator(emitter, &op)))
          return failure();
    }
    prologues.push_back(emitter.getPrologue());
    numSteps += emitter.numSteps;
    numKernels += emitter.numKernels;
    return success();
  }

  void attachWeights(std::vector<char> bytes, ArrayRef<kernel::ProgramOp> programs) {
    auto type = RankedTensorType::get({(int64_t)bytes.size()}, IntegerType::get(&getContext(), 8));
    ArrayRef<char> data = bytes; // where they stay
    AsmResourceBlob blob(
        data, alignof(std::max_align_t), [kept = std::move(bytes)](void *, size_t, size_t) {},
        /*dataIsMutable=*/false);
    auto weights = DenseResourceElementsAttr::get(type, "weights", std::move(blob));
    for (kernel::ProgramOp program : programs)
      program.setWeightsAttr(weights);
  }

  /// Of the large ones.
  int64_t countConstantBytes() {
    int64_t total = 0;
    getOperation().walk([&](nn::ConstantOp constant) {
      auto elements = dyn_cast<DenseResourceElementsAttr>(constant.getValue());
      if (AsmResourceBlob *blob = elements ? elements.getRawHandle().getBlob() : nullptr)
        total += blob->getData().size();
    });
    return total;
  }

  /// The network and its observers have become programs.
  void eraseNetwork() {
    for (Operation &op : llvm::make_early_inc_range(*getOperation().getBody()))
      if (!isa<ModuleOp>(op))
        op.erase();
  }
};
} // namespace
