//===- Descriptor.cpp - descriptor, weights and runtime as LLVM IR ----===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Internal.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/Linker/Linker.h"
#include <set>

using namespace llvm;
using namespace octet;

static int64_t getElementBytes(octet_dtype dtype) {
  switch (dtype) {
#define OCTET_DTYPE(suffix, c_type, ...)                                                           \
  case OCTET_##suffix:                                                                             \
    return sizeof(c_type);
#include "octet/Runtime/DTypes.def"
  }
  llvm_unreachable("all cases handled");
}

namespace {
/// Builds octet_network and the objects that it points to, with the layout of the structs in
/// octet.h and records.h.
class DescriptorBuilder {
public:
  DescriptorBuilder(Module &module, StringRef prefix, bool hasWeights)
      : module(module), context(module.getContext()), prefix(prefix), hasWeights(hasWeights),
        i32(Type::getInt32Ty(context)), i64(Type::getInt64Ty(context)),
        pointer(PointerType::getUnqual(context)) {}

  Constant *build(const ProgramInfo &program, ArrayRef<LevelCode> levels);

private:
  /// A step and the kernel that it calls.
  using Step = std::pair<const StepInfo *, Function *>;

  Constant *int32(int64_t value) { return ConstantInt::getSigned(i32, value); }
  Constant *int64(int64_t value) { return ConstantInt::getSigned(i64, value); }
  Constant *record(ArrayRef<Constant *> fields) { return ConstantStruct::getAnon(context, fields); }

  GlobalVariable *data(Constant *value) {
    auto *global = new GlobalVariable(module, value->getType(), /*isConstant=*/true,
                                      GlobalValue::PrivateLinkage, value);
    global->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
    return global;
  }

  Constant *text(StringRef value) { return data(ConstantDataArray::getString(context, value)); }

  /// `to - from`, in 32 bits.
  Constant *distance(Constant *from, Constant *to) {
    auto *bytes = ConstantExpr::getSub(ConstantExpr::getPtrToInt(to, i64),
                                       ConstantExpr::getPtrToInt(from, i64));
    return ConstantExpr::getTrunc(bytes, i32);
  }

  /// An array of records, or null if there is none.
  Constant *array(ArrayRef<Constant *> values) {
    if (values.empty())
      return ConstantPointerNull::get(pointer);
    return data(ConstantArray::get(ArrayType::get(values[0]->getType(), values.size()), values));
  }

  Constant *tensors(ArrayRef<TensorInfo> infos);
  Function *kernel(StringRef level, const StepInfo &step);
  Constant *levelTable(ArrayRef<LevelCode> levels, size_t bucket);
  Constant *buckets(const ProgramInfo &program, ArrayRef<LevelCode> levels);
  Constant *descriptor(const ProgramInfo &program, ArrayRef<LevelCode> levels);
  void addSteps(StringRef level, ArrayRef<StepInfo> steps, SmallVectorImpl<Step> &to);
  Constant *stepTable(ArrayRef<Step> steps);
  Constant *program(const LevelCode &level, ArrayRef<StepInfo> shared);
  Constant *calls(ArrayRef<LevelCode> levels);
  Constant *weights(ArrayRef<char> bytes);

  Module &module;
  LLVMContext &context;
  StringRef prefix;
  bool hasWeights;
  IntegerType *i32, *i64;
  PointerType *pointer;
  ArgumentLists lists;
};
} // namespace

Constant *DescriptorBuilder::tensors(ArrayRef<TensorInfo> infos) {
  SmallVector<Constant *> records;
  for (const TensorInfo &info : infos) {
    int64_t bytes = getElementBytes(info.dtype);
    SmallVector<Constant *> shape;
    for (int64_t size : info.shape) {
      shape.push_back(int64(size));
      bytes *= size;
    }
    records.push_back(record(
        {text(info.name), int32(info.dtype), int32(info.shape.size()), array(shape), int64(bytes),
         ConstantFP::get(context, APFloat(info.scale)), int32(info.zeroPoint)}));
  }
  return array(records);
}

Function *DescriptorBuilder::kernel(StringRef level, const StepInfo &step) {
  std::string symbol = getStepSymbol(prefix, level, step);
  auto *function =
      cast<Function>(module.getOrInsertFunction(symbol, getKernelType(context, step)).getCallee());
  function->setVisibility(GlobalValue::HiddenVisibility);
  function->setDSOLocal(true);
  return function;
}

void DescriptorBuilder::addSteps(StringRef level, ArrayRef<StepInfo> steps,
                                 SmallVectorImpl<Step> &to) {
  for (const StepInfo &step : steps)
    to.push_back({&step, kernel(level, step)});
}

Constant *DescriptorBuilder::stepTable(ArrayRef<Step> steps) {
  if (steps.empty())
    return ConstantPointerNull::get(pointer);
  auto *tableType = ArrayType::get(StructType::get(i32, i32, i32, i32, i32), steps.size());
  GlobalVariable *table = data(ConstantAggregateZero::get(tableType));
  SmallVector<Constant *> records;
  for (auto [step, kernel] : steps) {
    Constant *place = ConstantExpr::getInBoundsGetElementPtr(
        tableType, table, ArrayRef<Constant *>{int32(0), int32(records.size())});
    records.push_back(
        record({distance(place, kernel), distance(place, text(step->name)), int32(step->range),
                int32(lists.add(step->addresses)), int32(lists.add(step->bounds))}));
  }
  table->setInitializer(ConstantArray::get(tableType, records));
  return table;
}

Constant *DescriptorBuilder::program(const LevelCode &level, ArrayRef<StepInfo> shared) {
  size_t numShared = countCommonSteps(shared, level.prologue);
  ArrayRef<StepInfo> own = ArrayRef(level.prologue).drop_front(numShared);
  SmallVector<Step> steps;
  addSteps(kPrologue, own, steps);
  addSteps(level.level, level.steps, steps);
  return record(
      {stepTable(steps), int64(level.preparedBytes), int32(numShared), int32(own.size())});
}

Constant *DescriptorBuilder::levelTable(ArrayRef<LevelCode> levels, size_t bucket) {
  SmallVector<Constant *> records;
  for (const LevelCode &level : levels)
    records.push_back(record({text(level.level), int64(level.countSteps(bucket))}));
  return array(records);
}

/// Null where there is one bucket and no padding.
Constant *DescriptorBuilder::buckets(const ProgramInfo &program, ArrayRef<LevelCode> levels) {
  if (!hasBuckets(program))
    return ConstantPointerNull::get(pointer);
  SmallVector<Constant *> records{
      record({tensors(program.inputs), tensors(program.outputs), levelTable(levels, 0)})};
  for (auto [number, bucket] : enumerate(program.smallerBuckets))
    records.push_back(
        record({tensors(bucket.inputs), tensors(bucket.outputs), levelTable(levels, number + 1)}));
  SmallVector<Constant *> paddings;
  for (double padding : program.paddings)
    paddings.push_back(ConstantFP::get(context, APFloat(padding)));
  return data(record({int32(records.size()), array(records), array(paddings)}));
}

/// By number of arguments; zero for numbers that no step has.
Constant *DescriptorBuilder::calls(ArrayRef<LevelCode> levels) {
  std::set<size_t> numbers;
  for (const LevelCode &level : levels)
    for (const StepInfo &step : concat<const StepInfo>(level.prologue, level.steps))
      numbers.insert(step.addresses.size() + step.bounds.size());
  auto *tableType = ArrayType::get(i32, numbers.empty() ? 0 : *numbers.rbegin() + 1);
  GlobalVariable *table = data(ConstantAggregateZero::get(tableType));
  SmallVector<Constant *> distances(tableType->getNumElements(), int32(0));
  for (size_t number : numbers)
    distances[number] = distance(table, createCall(module, prefix, number));
  table->setInitializer(ConstantArray::get(tableType, distances));
  return table;
}

Constant *DescriptorBuilder::weights(ArrayRef<char> bytes) {
  StringRef view(bytes.data(), bytes.size());
  GlobalVariable *global;
  if (hasWeights) {
    global = data(ConstantDataArray::getRaw(view, bytes.size(), Type::getInt8Ty(context)));
  } else {
    auto *type = ArrayType::get(Type::getInt8Ty(context), bytes.size());
    global = new GlobalVariable(module, type, /*isConstant=*/true, GlobalValue::ExternalLinkage,
                                nullptr, getWeightsSymbol(prefix));
    global->setVisibility(GlobalValue::HiddenVisibility);
    global->setDSOLocal(true);
  }
  global->setAlignment(Align(kWeightsAlignment));
  return global;
}

Constant *DescriptorBuilder::descriptor(const ProgramInfo &program, ArrayRef<LevelCode> levels) {
  return record({int32(OCTET_ABI), text(program.name), int64(program.arenaBytes),
                 int64(program.stateBytes), int64(program.weights.size()), weights(program.weights),
                 int32(program.inputs.size()), int32(program.outputs.size()), int32(levels.size()),
                 tensors(program.inputs), tensors(program.outputs), levelTable(levels, 0),
                 text(program.reportJson), buckets(program, levels)});
}

Constant *DescriptorBuilder::build(const ProgramInfo &info, ArrayRef<LevelCode> levels) {
  ArrayRef<StepInfo> prologue = getSharedPrologue(levels);
  SmallVector<Step> shared;
  addSteps(kPrologue, prologue, shared);
  SmallVector<Constant *> programs;
  for (const LevelCode &level : levels)
    programs.push_back(program(level, prologue));
  return record({descriptor(info, levels), array(programs), stepTable(shared),
                 data(ConstantDataArray::get(context, lists.getValues())), calls(levels)});
}

/// Only libraries with buckets have the function that chooses one.
static void dropSelect(Module &module) {
  Function *select = module.getFunction("octet_model_select");
  select->replaceAllUsesWith(ConstantPointerNull::get(select->getType()));
  select->eraseFromParent();
}

/// The runtime's public functions get the network's prefix; all else is internal, so that networks
/// link together.
static void renameRuntime(Module &module, StringRef prefix) {
  for (Function &function : module) {
    if (function.isDeclaration() || function.hasLocalLinkage())
      continue;
    StringRef name = function.getName();
    if (name.consume_front("octet_model_"))
      function.setName(prefix + "_" + name);
    else
      function.setLinkage(GlobalValue::InternalLinkage);
  }
  for (NamedMDNode &node : make_early_inc_range(module.named_metadata()))
    if (node.getName() == "llvm.ident")
      node.eraseFromParent();
}

Expected<OwnedModule> octet::buildRuntimeModule(const ProgramInfo &program,
                                                ArrayRef<LevelCode> levels, bool hasWeights,
                                                TargetMachine &machine) {
  auto context = std::make_unique<LLVMContext>();
  StringRef bitcode = getRuntimeBitcode(machine.getTargetTriple().getArch());
  Expected<std::unique_ptr<Module>> runtime =
      parseBitcodeFile(MemoryBufferRef(bitcode, "runtime"), *context);
  if (!runtime)
    return runtime.takeError();
  std::string prefix = getSymbolPrefix(program.name);
  Module &module = **runtime;
  module.setModuleIdentifier(prefix);
  module.setSourceFileName(prefix);
  module.setTargetTriple(machine.getTargetTriple());
  if (!hasBuckets(program))
    dropSelect(module);
  renameRuntime(module, prefix);

  Constant *network = DescriptorBuilder(module, prefix, hasWeights).build(program, levels);
  GlobalVariable *declared = module.getNamedGlobal("octet_model_network");
  auto *defined = new GlobalVariable(module, network->getType(), /*isConstant=*/true,
                                     GlobalValue::InternalLinkage, network, prefix + "_network");
  declared->replaceAllUsesWith(defined);
  declared->eraseFromParent();
  return OwnedModule(std::move(context), std::move(*runtime));
}
