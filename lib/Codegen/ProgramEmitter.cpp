//===- ProgramEmitter.cpp - network to steps and kernels ------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramEmitter.h"
#include "octet/Dialect/NN/Constants.h"
#include "octet/Runtime/panels.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

int64_t WeightsPool::add(StringRef key, function_ref<std::vector<char>()> make, uint64_t alignment) {
  auto [it, isNew] = entries.try_emplace(key);
  if (!isNew)
    return it->second.first;
  std::vector<char> data = make();
  uint64_t size = std::max<uint64_t>(llvm::PowerOf2Ceil(data.size()), OCTET_WEIGHTS_UNIT);
  blob.resize(llvm::alignTo(blob.size(), std::min<uint64_t>(alignment, size)));
  it->second = {(int64_t)blob.size(), (int64_t)data.size()};
  blob.insert(blob.end(), data.begin(), data.end());
  return it->second.first;
}

template <typename T>
int64_t WeightsPool::addRecord(std::vector<T> &records, T record, int64_t bytes) {
  record.target = 0;
  StringRef key(reinterpret_cast<const char *>(&record), sizeof(record));
  auto [it, isNew] = panels.try_emplace(key, panelsBytes);
  if (isNew) {
    record.target = panelsBytes;
    records.push_back(record);
    panelsBytes += llvm::alignTo(bytes, 64);
  }
  return it->second;
}

int64_t WeightsPool::addPanels(const octet_dense_filter &filter) {
  return addRecord(filters, filter, octet_panels_bytes(&filter, 1));
}

int64_t WeightsPool::addParameters(const octet_parameters &array) {
  return addRecord(parameters, array, octet_count_positions(array.channels, array.block) * 4);
}

KernelArgument ProgramEmitter::makeWeights(StringRef key, Type element, function_ref<std::vector<char>()> make) {
  int64_t offset = weights.add(key, make), bytes = weights.sizeOf(key);
  return {kernel::ArgAttr::get(module.getContext(), kernel::Space::weights, offset),
          MemRefType::get({bytes * 8 / (int64_t)element.getIntOrFloatBitWidth()}, element)};
}

int64_t ProgramEmitter::addRowMajor(nn::ConstantOp constant, uint64_t alignment) {
  return weights.add("row-major/" + getConstantKey(constant), [&] { return nn::getConstantBytes(constant); }, alignment);
}

KernelArgument ProgramEmitter::getBuffer(Value value) {
  auto type = getTensorType(value);
  Value root = getAliasRoot(value);
  if (auto constant = root.getDefiningOp<nn::ConstantOp>())
    return {kernel::ArgAttr::get(module.getContext(), kernel::Space::weights, addRowMajor(constant)),
            MemRefType::get({type.getNumElements()}, getStorageType(type))};
  kernel::ArgAttr address = plan.addresses.lookup(root);
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
  int64_t bytes = int64_t(filter.blocks) * filter.parts * filter.strip * filter.kernel_columns * llvm::divideCeil(inputRows, 4) * filter.vectors * 64;
  OpBuilder builder(module.getContext());
  builder.setInsertionPointToEnd(&program.getBody().front());
  kernel::DepthwiseFilterOp::create(builder, program.getLoc(), source.address.getOffset(), preparedBytes, filter.channels,
                                    filter.blocks, filter.parts, filter.vectors, filter.strip, filter.row_stride, filter.kernel_rows, filter.kernel_columns);
  it->second = addPrepared(bytes);
  return it->second;
}

KernelArgument ProgramEmitter::addPrepared(int64_t bytes) {
  KernelArgument argument{kernel::ArgAttr::get(module.getContext(), kernel::Space::prepared, preparedBytes),
                          MemRefType::get({bytes}, IntegerType::get(module.getContext(), 8))};
  preparedBytes += llvm::alignTo(bytes, 64);
  return argument;
}

KernelArgument ProgramEmitter::getWidened(KernelArgument bytes) {
  auto [it, isNew] = widened.try_emplace(bytes.address);
  if (!isNew)
    return it->second;
  int64_t size = bytes.type.getNumElements();
  it->second = addPrepared(size * 2);
  OpBuilder builder(module.getContext());
  builder.setInsertionPointToEnd(&program.getBody().front());
  kernel::WidenOp::create(builder, program.getLoc(), bytes.address, it->second.address.getOffset(), size / 64);
  return it->second;
}

/// Panels a 32nd larger than the weights are made when a model is made: networks with many weights have outputs and
/// channels that fill panels, and those stay pages of the library that processes share.
static constexpr int64_t kMostPadding = 32;

/// Weights of `groups` groups of outputs as those of one, with zeros for the channels of the other groups.
static std::vector<char> insertZeros(ArrayRef<char> weights, int64_t groups, int64_t outputs) {
  int64_t bytesPerOutput = weights.size() / outputs;
  std::vector<char> merged(weights.size() * groups);
  for (int64_t o = 0; o < outputs; ++o)
    llvm::copy(weights.slice(o * bytesPerOutput, bytesPerOutput), merged.begin() + (o * groups + o * groups / outputs) * bytesPerOutput);
  return merged;
}

KernelArgument ProgramEmitter::getPanels(nn::ConstantOp constant, octet_dense_filter filter) {
  Type element = getStorageType(constant.getType());
  ArrayRef<int64_t> shape = constant.getType().getShape();
  int64_t groups = shape[0] / filter.outputs, filterGroups = filter.channels / shape[1];
  int64_t size = element.getIntOrFloatBitWidth() / 8, bytes = groups * octet_panels_bytes(&filter, size);
  int64_t elements = constant.getType().getNumElements();
  if (size == 1 && groups * filterGroups == 1 && (bytes - elements) * kMostPadding > elements) {
    filter.source = addRowMajor(constant, OCTET_WEIGHTS_UNIT); // the reference level reads it there
    return {kernel::ArgAttr::get(module.getContext(), kernel::Space::panels, weights.addPanels(filter)),
            MemRefType::get({bytes}, element)};
  }
  std::string key = "dense/" + getConstantKey(constant) + "/" + std::to_string(filter.pitch) + "/" + std::to_string(filter.runs) +
                    "/" + std::to_string(groups) + "/" + std::to_string(filterGroups);
  return makeWeights(key, element, [&] {
    std::vector<char> panels(bytes), weights = nn::getConstantBytes(constant);
    for (int64_t g = 0; g < groups; ++g) {
      ArrayRef<char> group = ArrayRef(weights).slice(g * weights.size() / groups, weights.size() / groups);
      std::vector<char> merged; // Not of weights that are as they should be: some have hundreds of megabytes.
      if (filterGroups > 1)
        group = merged = insertZeros(group, filterGroups, filter.outputs);
      octet_write_panels(&filter, size, group.data(), panels.data() + g * (bytes / groups));
    }
    return panels;
  });
}

/// How few bytes hold all of the integers.
static octet_parameter_kind getKind(ArrayRef<int32_t> values) {
  if (llvm::all_of(values, [](int32_t value) { return llvm::isUInt<8>(value); }))
    return OCTET_BYTES;
  if (llvm::all_of(values, [](int32_t value) { return llvm::isInt<16>(value); }))
    return OCTET_HALVES;
  return llvm::all_of(values, [](int32_t value) { return llvm::isInt<24>(value); }) ? OCTET_TRIPLES : OCTET_WORDS;
}

KernelArgument ProgramEmitter::getParameters(ArrayRef<int32_t> perChannel, int64_t block) {
  octet_parameter_kind kind = getKind(perChannel);
  std::vector<char> bytes;
  for (int32_t value : perChannel)
    for (int byte = 0; byte < kind; ++byte)
      bytes.push_back(char(value >> 8 * byte));
  return makeParameters(bytes, IntegerType::get(module.getContext(), 32), kind, perChannel.size(), block);
}

KernelArgument ProgramEmitter::getParameters(ArrayRef<float> perChannel, octet_parameter_kind kind, int64_t block) {
  ArrayRef<char> bytes(reinterpret_cast<const char *>(perChannel.data()), perChannel.size() * sizeof(float));
  return makeParameters(bytes, Float32Type::get(module.getContext()), kind, perChannel.size(), block);
}

KernelArgument ProgramEmitter::makeParameters(ArrayRef<char> bytes, Type element, octet_parameter_kind kind, int64_t channels,
                                              int64_t block) {
  std::string key = "parameters/" + std::string(bytes.begin(), bytes.end());
  int64_t source = weights.add(key, [&] { return std::vector<char>(bytes.begin(), bytes.end()); }, /*alignment=*/1);
  int64_t target = weights.addParameters({(int32_t)source, 0, (int32_t)channels, (int32_t)block, kind});
  return {kernel::ArgAttr::get(module.getContext(), kernel::Space::panels, target),
          MemRefType::get({octet_count_positions(channels, block)}, element)};
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
