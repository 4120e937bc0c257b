//===- Collect.cpp - from codegen's modules to what is emitted --------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "octet/Dialect/Kernel/Kernel.h"
#include "octet/Dialect/Octet/Origin.h"
#include "octet/Emit/Emit.h"
#include "octet/Support/Quote.h"

using namespace llvm;
using namespace octet;

/// The operator's name, or the kernel's if the operator has none.
static std::string getStepName(kernel::StepOp step) {
  StringRef name = getSourceName(step);
  return (name.empty() ? step.getKernel() : name).str();
}

static StepAddress getAddress(kernel::ArgAttr argument) {
  using kernel::Space;
  static_assert((int)Space::arena == OCTET_ARENA && (int)Space::weights == OCTET_WEIGHTS &&
                (int)Space::state == OCTET_STATE && (int)Space::prepared == OCTET_PREPARED &&
                (int)Space::input == OCTET_INPUT && (int)Space::output == OCTET_OUTPUT &&
                (int)Space::status == OCTET_STATUS);
  return {(octet_space)argument.getSpace(), argument.getOffset()};
}

static StepInfo getStepInfo(kernel::StepOp step) {
  StepInfo info{step.getKernel().str(), (int64_t)step.getRange(), getStepName(step)};
  for (auto argument : step.getArgs().getAsRange<kernel::ArgAttr>())
    info.addresses.push_back(getAddress(argument));
  info.bounds = step.getBounds().vec();
  info.sharedLevel = step.getSharedLevel().value_or("").str();
  return info;
}

static std::vector<StepInfo> getSteps(mlir::Region &region) {
  std::vector<StepInfo> steps;
  for (auto step : region.getOps<kernel::StepOp>())
    steps.push_back(getStepInfo(step));
  return steps;
}

std::optional<octet_dtype> octet::getDType(mlir::Type type) {
  if (auto quantized = dyn_cast<mlir::quant::QuantizedType>(type))
    type = mlir::IntegerType::get(type.getContext(), quantized.getStorageTypeIntegralWidth(),
                                  quantized.isSigned() ? mlir::IntegerType::Signed
                                                       : mlir::IntegerType::Unsigned);
  if (isa<mlir::FloatType>(type))
    return type.isF32()    ? OCTET_F32
           : type.isF64()  ? OCTET_F64
           : type.isF16()  ? OCTET_F16
           : type.isBF16() ? std::optional(OCTET_BF16)
                           : std::nullopt;
  bool isUnsigned = type.isUnsignedInteger();
  switch (type.isInteger() ? type.getIntOrFloatBitWidth() : 0) {
  case 1:
    return OCTET_BOOL;
  case 8:
    return isUnsigned ? OCTET_U8 : OCTET_I8;
  case 16:
    return isUnsigned ? OCTET_U16 : OCTET_I16;
  case 32:
    return isUnsigned ? OCTET_U32 : OCTET_I32;
  case 64:
    return isUnsigned ? std::nullopt : std::optional(OCTET_I64);
  default:
    return std::nullopt;
  }
}

static Expected<TensorInfo> getTensorInfo(kernel::TensorAttr tensor) {
  auto type = dyn_cast<mlir::RankedTensorType>(tensor.getType().getValue());
  std::optional<octet_dtype> dtype = type ? getDType(type.getElementType()) : std::nullopt;
  if (!dtype || !type.hasStaticShape() ||
      isa<mlir::quant::UniformQuantizedPerAxisType>(type.getElementType())) {
    std::string text;
    raw_string_ostream(text) << tensor.getType();
    return createStringError("'" + escapeText(tensor.getName().strref()) +
                             "': a network cannot take or give a " + text);
  }
  TensorInfo info;
  info.name = tensor.getName().str();
  info.dtype = *dtype;
  info.shape = type.getShape().vec();
  if (auto quantized = dyn_cast<mlir::quant::UniformQuantizedType>(type.getElementType())) {
    info.scale = quantized.getScale();
    info.zeroPoint = quantized.getZeroPoint();
  }
  return info;
}

static Error collectTensors(mlir::ArrayAttr tensors, std::vector<TensorInfo> &infos) {
  for (auto tensor : tensors.getAsRange<kernel::TensorAttr>()) {
    Expected<TensorInfo> info = getTensorInfo(tensor);
    if (!info)
      return info.takeError();
    infos.push_back(std::move(*info));
  }
  return Error::success();
}

static Error collectWeights(mlir::ElementsAttr weights, CollectedNetwork &network) {
  if (auto resource = dyn_cast_or_null<mlir::DenseResourceElementsAttr>(weights)) {
    mlir::AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob)
      return createStringError("the weights '" + escapeText(resource.getRawHandle().getKey()) +
                               "' are missing");
    network.program.weights = blob->getData();
  } else if (auto dense = dyn_cast_or_null<mlir::DenseElementsAttr>(weights)) {
    ArrayRef<char> raw = dense.getRawData();
    network.weights.assign(raw.begin(), raw.end());
    if (dense.isSplat() && !raw.empty())
      for (int64_t i = 1; i < dense.getNumElements(); ++i)
        network.weights.insert(network.weights.end(), raw.begin(), raw.end());
    network.program.weights = network.weights;
  }
  return Error::success();
}

/// What all levels share; the programs of a level are those of the buckets.
static Error collectShared(ArrayRef<kernel::ProgramOp> programs, CollectedNetwork &network) {
  for (kernel::ProgramOp program : programs) {
    BucketInfo bucket;
    if (Error error = collectTensors(program.getInputs(), bucket.inputs))
      return error;
    if (Error error = collectTensors(program.getOutputs(), bucket.outputs))
      return error;
    network.program.arenaBytes =
        std::max<int64_t>(network.program.arenaBytes, program.getArenaBytes());
    network.program.smallerBuckets.push_back(std::move(bucket));
  }
  std::vector<BucketInfo> &buckets = network.program.smallerBuckets;
  network.program.inputs = std::move(buckets[0].inputs);
  network.program.outputs = std::move(buckets[0].outputs);
  buckets.erase(buckets.begin());
  kernel::ProgramOp first = programs.front();
  network.program.stateBytes = first.getStateBytes();
  return collectWeights(first.getWeightsAttr(), network);
}

static Error collectLevel(mlir::ModuleOp module, ArrayRef<kernel::ProgramOp> programs,
                          CollectedNetwork &network) {
  LevelCode level;
  kernel::ProgramOp first = programs.front();
  level.level = first.getLevel().str();
  level.prologue = getSteps(first.getPrologue());
  level.preparedBytes = first.getPreparedBytes();
  for (kernel::ProgramOp program : programs) {
    std::vector<StepInfo> steps = getSteps(program.getBody());
    if (program != programs.back())
      level.stepsOfBuckets.push_back(steps.size());
    append_range(level.steps, std::move(steps));
  }
  if (network.levels.empty())
    if (Error error = collectShared(programs, network))
      return error;
  for (kernel::ProgramOp program : programs)
    program.erase();
  Expected<OwnedModule> code = translateLevel(module);
  if (!code)
    return code.takeError();
  level.code = std::move(*code);
  network.levels.push_back(std::move(level));
  return Error::success();
}

Expected<CollectedNetwork> octet::collectNetwork(mlir::ModuleOp module, StringRef name) {
  CollectedNetwork network;
  network.program.name = name.str();
  for (auto nested : module.getOps<mlir::ModuleOp>()) {
    auto programs = to_vector(nested.getOps<kernel::ProgramOp>());
    if (programs.empty())
      continue;
    if (Error error = collectLevel(nested, programs, network))
      return error;
  }
  if (network.levels.empty())
    return createStringError(
        "expected a nested module with a kernel.program for each CPU level, but got none");
  return network;
}
