//===- ProgramEmitter.cpp - network to steps and kernels ------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramEmitter.h"
#include "Outline.h"
#include "octet/Dialect/NN/Constants.h"
#include "octet/Dialect/Octet/Origin.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

static uint64_t hashBeginning(ArrayRef<char> data) {
  return llvm::xxh3_64bits(StringRef(data.data(), std::min<size_t>(data.size(), 64)));
}

int64_t WeightsPool::find(ArrayRef<char> data, uint64_t alignment) {
  auto [begin, end] = beginnings.equal_range(hashBeginning(data));
  for (auto it = begin; it != end; ++it) {
    auto [offset, size] = it->second;
    if (size >= (int64_t)data.size() && offset % alignment == 0 &&
        ArrayRef<char>(blob).slice(offset, data.size()) == data)
      return offset;
  }
  return -1;
}

int64_t WeightsPool::add(StringRef key, function_ref<std::vector<char>()> make,
                         uint64_t alignment) {
  auto [it, isNew] = entries.try_emplace(key);
  if (!isNew)
    return it->second.first;
  std::vector<char> data = make();
  uint64_t size = std::max<uint64_t>(llvm::PowerOf2Ceil(data.size()), OCTET_WEIGHTS_UNIT);
  alignment = std::min<uint64_t>(alignment, size);
  if (int64_t known = find(data, alignment); known >= 0) {
    it->second = {known, (int64_t)data.size()};
    return known;
  }
  blob.resize(llvm::alignTo(blob.size(), alignment));
  it->second = {(int64_t)blob.size(), (int64_t)data.size()};
  beginnings.emplace(hashBeginning(data), it->second);
  blob.insert(blob.end(), data.begin(), data.end());
  return it->second.first;
}

KernelArgument ProgramEmitter::makeWeights(StringRef key, Type element,
                                           function_ref<std::vector<char>()> make,
                                           uint64_t alignment) {
  int64_t offset = weights.add(key, make, alignment), bytes = weights.sizeOf(key);
  return {kernel::ArgAttr::get(module.getContext(), kernel::Space::weights, offset),
          MemRefType::get({bytes * 8 / (int64_t)element.getIntOrFloatBitWidth()}, element)};
}

KernelArgument ProgramEmitter::getRowMajor(nn::ConstantOp constant, uint64_t alignment) {
  int64_t offset = weights.add(
      "row-major/" + getConstantKey(constant), [&] { return nn::getConstantBytes(constant); },
      alignment);
  return {
      kernel::ArgAttr::get(module.getContext(), kernel::Space::weights, offset),
      MemRefType::get({constant.getType().getNumElements()}, getStorageType(constant.getType()))};
}

KernelArgument ProgramEmitter::getBuffer(Value value) {
  auto type = getTensorType(value);
  Value root = getAliasRoot(value);
  if (auto constant = root.getDefiningOp<nn::ConstantOp>())
    return {getRowMajor(constant).address,
            MemRefType::get({type.getNumElements()}, getStorageType(type))};
  kernel::ArgAttr address = plan->addresses.lookup(root);
  return {address, MemRefType::get({getStrides(type).extent}, getStorageType(type))};
}

bool ProgramEmitter::hasSlack(Value value) {
  return getBuffer(value).address.getSpace() == kernel::Space::arena;
}

KernelArgument ProgramEmitter::getStatus() {
  return {kernel::ArgAttr::get(module.getContext(), kernel::Space::status, 0),
          MemRefType::get({1}, IntegerType::get(module.getContext(), 64))};
}

KernelArgument ProgramEmitter::getState(FlatSymbolRefAttr observer) {
  int64_t offset = plan->observerStates.lookup(observer.getAttr());
  int64_t end = plan->stateBytes;
  for (auto &[symbol, start] : plan->observerStates)
    if (start > offset)
      end = std::min(end, start);
  Type i8 = IntegerType::get(module.getContext(), 8);
  return {kernel::ArgAttr::get(module.getContext(), kernel::Space::state, offset),
          MemRefType::get({end - offset}, i8)};
}

/// A function of a prologue: shapes are bounds, and all levels have the same code.
static func::FuncOp createPrepareFunction(ModuleOp module, const CpuLevel &level,
                                          const Preparation &preparation,
                                          ProgramEmitter::PrepareOrderedFn body) {
  OpBuilder builder(module.getContext());
  builder.setInsertionPointToEnd(module.getBody());
  SmallVector<Type> types{preparation.source.type};
  if (preparation.order)
    types.push_back(preparation.order->type);
  types.push_back(preparation.target);
  const unsigned memories = types.size();
  types.append(preparation.bounds.size() + 2, builder.getIndexType());
  Location loc = builder.getUnknownLoc();
  auto func =
      func::FuncOp::create(builder, loc, preparation.function, builder.getFunctionType(types, {}));
  func.setPrivate();
  func->setAttr("passthrough", builder.getStrArrayAttr({"optsize", "minsize"}));
  for (unsigned memory : llvm::seq(memories))
    func.setArgAttr(memory, LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr());
  Block *block = func.addEntryBlock();
  builder.setInsertionPointToStart(block);
  KernelBuilder b(loc, builder, level);
  EmittedCode code(b);
  auto indices = llvm::map_to_vector(block->getArguments().drop_front(memories),
                                     [&](Value value) { return Index(b, value); });
  body(code, block->getArgument(0), preparation.order ? block->getArgument(1) : Value(),
       block->getArgument(memories - 1), ArrayRef(indices).drop_back(2),
       indices[indices.size() - 2], indices.back());
  func::ReturnOp::create(b);
  return func;
}

/// The function takes the largest memory that any step gives it.
static void widenMemory(func::FuncOp func, unsigned number, MemRefType given) {
  BlockArgument argument = func.getArgument(number);
  if (cast<MemRefType>(argument.getType()).getDimSize(0) >= given.getDimSize(0))
    return;
  argument.setType(given);
  func.setFunctionType(FunctionType::get(func.getContext(), func.getBody().getArgumentTypes(), {}));
}

KernelArgument ProgramEmitter::prepare(const Preparation &preparation, PrepareFn body) {
  return prepareOrdered(preparation, [&](EmittedCode &code, Value from, Value /*order*/, Value to,
                                         ArrayRef<Index> bounds, Index begin,
                                         Index end) { body(code, from, to, bounds, begin, end); });
}

KernelArgument ProgramEmitter::prepareOrdered(const Preparation &preparation,
                                              PrepareOrderedFn body) {
  auto func = module.lookupSymbol<func::FuncOp>(preparation.function);
  if (!func)
    func = createPrepareFunction(module, level, preparation, body);
  widenMemory(func, 0, preparation.source.type);
  if (preparation.order)
    widenMemory(func, 1, preparation.order->type);
  widenMemory(func, preparation.order ? 2 : 1, preparation.target);
  return {prologue.add(preparation), preparation.target};
}

/// Kernels whose bounds are arguments may become one with others (octet-merge-kernels).
bool ProgramEmitter::isMergeable(const kernel::KernelRow &row) const {
  if (level.isScalar())
    return false;
  return level.mergesKernels || merging == Merging::all ||
         row.bounds == kernel::Bounds::arguments ||
         (row.bounds == kernel::Bounds::by_weights && merging == Merging::dense);
}

/// The level that is there so that the library runs everywhere is compiled for size.
static ArrayRef<StringRef> getSizeAttributes(const kernel::KernelRow &row, const CpuLevel &level) {
  static constexpr StringRef all[] = {"optsize", "minsize"};
  if (row.code == kernel::Code::smallest || (!level.hasFma && !level.isScalar()))
    return all;
  return row.code == kernel::Code::compact ? ArrayRef(all).take_front() : ArrayRef<StringRef>();
}

func::FuncOp ProgramEmitter::createKernel(const kernel::KernelRow &row,
                                          ArrayRef<KernelArgument> arguments, BodyFn body) {
  OpBuilder builder(module.getContext());
  builder.setInsertionPointToEnd(module.getBody());
  SmallVector<Type> types =
      llvm::map_to_vector(arguments, [](const KernelArgument &a) { return Type(a.type); });
  types.append(2, builder.getIndexType());
  Location loc = builder.getUnknownLoc();
  auto func = func::FuncOp::create(builder, loc, row.name, builder.getFunctionType(types, {}));
  func.setPrivate();
  if (ArrayRef<StringRef> attributes = getSizeAttributes(row, level); !attributes.empty())
    func->setAttr("passthrough", builder.getStrArrayAttr(attributes));
  if (isMergeable(row))
    func->setAttr(kMergeableAttr, builder.getUnitAttr());
  for (size_t i = 0; i < arguments.size(); ++i)
    func.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr());
  Block *block = func.addEntryBlock();
  builder.setInsertionPointToStart(block);
  KernelBuilder kernelBuilder(loc, builder, level, isMergeable(row));
  auto blockArguments = block->getArguments();
  body(kernelBuilder, ValueRange(blockArguments).drop_back(2), blockArguments[types.size() - 2],
       blockArguments.back());
  func::ReturnOp::create(kernelBuilder);
  return func;
}

/// Erases memory arguments that the body does not use; the addresses of the others.
static SmallVector<Attribute> eraseUnusedArguments(func::FuncOp func,
                                                   ArrayRef<KernelArgument> arguments) {
  llvm::BitVector isUnused(func.getNumArguments());
  SmallVector<Attribute> addresses;
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    isUnused[i] = func.getArgument(i).use_empty();
    if (!isUnused[i])
      addresses.push_back(argument.address);
  }
  (void)func.eraseArguments(isUnused); // A function type can always lose some.
  return addresses;
}

void ProgramEmitter::addStep(Operation *op, const kernel::KernelRow &row,
                             ArrayRef<KernelArgument> arguments, int64_t range, BodyFn body) {
  func::FuncOp func = createKernel(row, arguments, body);
  SmallVector<Attribute> addresses = eraseUnusedArguments(func, arguments);
  auto [it, isNew] = kernels.try_emplace({&row, getCodeKey(func)}, func);
  if (isNew)
    func.setSymName((row.name + "_" + llvm::Twine(numKernels++)).str());
  else
    func.erase();
  OpBuilder builder(module.getContext());
  builder.setInsertionPointToEnd(&program.getBody().front());
  auto step = kernel::StepOp::create(
      builder, op->getLoc(), FlatSymbolRefAttr::get(it->second), builder.getArrayAttr(addresses),
      /*bounds=*/builder.getDenseI64ArrayAttr({}), builder.getI64IntegerAttr(range),
      /*shared_level=*/StringAttr());
  setOrigin(step, getOrigin(op));
  ++numSteps;
}
