//===- ProgramEmitter.cpp - network to steps and kernels ------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramEmitter.h"
#include "octet/Dialect/NN/Constants.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

int64_t WeightsPool::add(StringRef key, function_ref<std::vector<char>()> make) {
  auto [it, isNew] = entries.try_emplace(key);
  if (!isNew)
    return it->second.first;
  std::vector<char> data = make();
  blob.resize(llvm::alignTo(blob.size(), std::clamp<uint64_t>(llvm::PowerOf2Ceil(data.size()), OCTET_WEIGHTS_UNIT, 64)));
  it->second = {(int64_t)blob.size(), (int64_t)data.size()};
  blob.insert(blob.end(), data.begin(), data.end());
  return it->second.first;
}

KernelArgument ProgramEmitter::makeWeights(StringRef key, Type element, function_ref<std::vector<char>()> make) {
  int64_t offset = weights.add(key, make), bytes = weights.sizeOf(key);
  return {kernel::ArgAttr::get(module.getContext(), kernel::Space::weights, offset),
          MemRefType::get({bytes * 8 / (int64_t)element.getIntOrFloatBitWidth()}, element)};
}

KernelArgument ProgramEmitter::getBuffer(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  if (auto constant = value.getDefiningOp<nn::ConstantOp>()) {
    std::string key = "row-major/" + getConstantKey(constant);
    return makeWeights(key, getStorageType(type), [&] { return nn::getConstantBytes(constant); });
  }
  kernel::ArgAttr address = plan.addresses.lookup(getAliasRoot(value));
  return {address, MemRefType::get({getStrides(type).extent}, getStorageType(type))};
}

KernelArgument ProgramEmitter::getDepthwiseFilter(Value weights, const octet_depthwise_filter &filter) {
  KernelArgument source = getBuffer(weights);
  std::string targetKey;
  llvm::raw_string_ostream(targetKey) << source.address.getOffset() << ',' << filter.parts << ',' << filter.vectors << ',' << filter.strip << ','
                                      << filter.row_stride;
  auto [it, isNew] = filters.try_emplace(targetKey);
  if (!isNew)
    return it->second;
  int64_t inputRows = (filter.strip - 1) * filter.row_stride + filter.kernel_rows;
  int64_t bytes = int64_t(filter.blocks) * filter.parts * filter.strip * filter.kernel_columns * llvm::divideCeil(inputRows, 4) * filter.vectors * (filter.words ? 128 : 64);
  OpBuilder builder(module.getContext());
  builder.setInsertionPointToEnd(&program.getBody().front());
  kernel::DepthwiseFilterOp::create(builder, program.getLoc(), source.address.getOffset(), preparedBytes, filter.channels,
                                    filter.blocks, filter.parts, filter.vectors, filter.strip, filter.row_stride, filter.kernel_rows, filter.kernel_columns, filter.words);
  it->second = {kernel::ArgAttr::get(module.getContext(), kernel::Space::prepared, preparedBytes),
                MemRefType::get({bytes}, builder.getI8Type())};
  preparedBytes += llvm::alignTo(bytes, 64);
  return it->second;
}

KernelArgument ProgramEmitter::getState(FlatSymbolRefAttr observer) {
  int64_t offset = plan.observerStates.lookup(observer.getAttr());
  int64_t end = plan.stateBytes;
  for (auto &[symbol, start] : plan.observerStates)
    if (start > offset)
      end = std::min(end, start);
  Type i8 = IntegerType::get(module.getContext(), 8);
  return {kernel::ArgAttr::get(module.getContext(), kernel::Space::state, offset), MemRefType::get({end - offset}, i8)};
}

/// Kernels that are hardly slower (depthwise 1 %) for taking their bounds as arguments.
static bool takesAnyBounds(StringRef kind) {
  static constexpr StringLiteral kinds[] = {"depthwise", "depthwise_f32", "gemv", "avg_pool", "elementwise",
                                            "border", "copy", "transpose", "fill"};
  return llvm::is_contained(kinds, kind);
}

/// Erases memory arguments that the body does not use; which ones.
static llvm::BitVector eraseUnusedArguments(func::FuncOp func, size_t numMemory) {
  llvm::BitVector isUnused(func.getNumArguments());
  for (size_t i = 0; i < numMemory; ++i)
    isUnused[i] = func.getArgument(i).use_empty();
  (void)func.eraseArguments(isUnused); // A function type can always lose some.
  return isUnused;
}

const ProgramEmitter::Kernel &ProgramEmitter::getOrCreateKernel(StringRef kind, StringRef key,
                                                                ArrayRef<KernelArgument> arguments, BodyFn body) {
  std::string fullKey = (kind + "/" + key).str();
  llvm::raw_string_ostream os(fullKey);
  for (const KernelArgument &argument : arguments)
    os << '/' << argument.type;
  auto [it, isNew] = kernels.try_emplace(fullKey);
  if (!isNew)
    return it->second;
  MLIRContext *context = module.getContext();
  OpBuilder builder(context);
  builder.setInsertionPointToEnd(module.getBody());
  SmallVector<Type> types = llvm::map_to_vector(arguments, [](const KernelArgument &a) { return Type(a.type); });
  types.append(2, builder.getIndexType());
  std::string name = (kind + "_" + llvm::utohexstr(llvm::xxh3_64bits(fullKey), /*LowerCase=*/true)).str();
  Location kernelLoc = UnknownLoc::get(context);
  auto func = func::FuncOp::create(builder, kernelLoc, name, builder.getFunctionType(types, {}));
  func.setPrivate();
  // What costs no time, and the level that is there so that the library runs everywhere, are compiled for size.
  if (kind == "border" || (!level.hasFma && !level.isScalar))
    func->setAttr("passthrough", builder.getStrArrayAttr({"optsize", "minsize"}));
  else if (kind == "depthwise" || kind == "avg_pool") // unrolled, their loops over the kernel are hardly faster
    func->setAttr("passthrough", builder.getStrArrayAttr({"optsize"}));
  bool isMergeable = !level.isScalar && (level.mergesKernels || takesAnyBounds(kind) || (mergesDense && kind == "dense"));
  if (isMergeable)
    func->setAttr(kMergeableAttr, builder.getUnitAttr());
  for (size_t i = 0; i < arguments.size(); ++i)
    func.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr());
  Block *block = func.addEntryBlock();
  builder.setInsertionPointToStart(block);
  KernelBuilder kernelBuilder(kernelLoc, builder, level, isMergeable);
  auto blockArguments = block->getArguments();
  body(kernelBuilder, ValueRange(blockArguments).drop_back(2), blockArguments[types.size() - 2], blockArguments.back());
  func::ReturnOp::create(kernelBuilder);
  it->second = {func, eraseUnusedArguments(func, arguments.size())};
  ++numKernels;
  return it->second;
}

void ProgramEmitter::addStep(Operation *op, StringRef kind, StringRef key, ArrayRef<KernelArgument> arguments,
                             int64_t range, BodyFn body) {
  const Kernel &kernel = getOrCreateKernel(kind, key, arguments, body);
  OpBuilder builder(module.getContext());
  builder.setInsertionPointToEnd(&program.getBody().front());
  SmallVector<Attribute> addresses;
  for (auto [i, argument] : llvm::enumerate(arguments))
    if (!kernel.isUnused[i])
      addresses.push_back(argument.address);
  kernel::StepOp::create(builder, op->getLoc(), FlatSymbolRefAttr::get(kernel.func), builder.getArrayAttr(addresses),
                         /*bounds=*/builder.getDenseI64ArrayAttr({}), builder.getI64IntegerAttr(range));
  ++numSteps;
}
