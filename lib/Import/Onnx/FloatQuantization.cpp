//===- FloatQuantization.cpp - quantization computed in f32 ------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Integers of 4 or 2 bits in blocks, those of 16 that are constants or have a scale per channel,
// and those whose scales are computed at run time or belong to blocks, have no quantized type:
// QuantizeLinear and DequantizeLinear are what ONNX says, element by element.
//
//===----------------------------------------------------------------------===//

#include "Compose.h"
#include "ElementTypes.h"
#include "Operators.h"
#include "Quantization.h"
#include "TensorReader.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;
using onnx::TensorProto;

enum { kInput, kScale, kZeroPoint };

/// Least and greatest integer of a type; none for types that are not quantized to.
static std::optional<std::pair<float, float>> getRange(int32_t elementType) {
  switch (elementType) {
  case TensorProto::UINT8:
    return std::pair(0.0f, 255.0f);
  case TensorProto::INT8:
    return std::pair(-128.0f, 127.0f);
  case TensorProto::UINT16:
    return std::pair(0.0f, 65535.0f);
  case TensorProto::INT16:
    return std::pair(-32768.0f, 32767.0f);
  default:
    return std::nullopt;
  }
}

static bool isNarrow(int32_t elementType) {
  return llvm::is_contained({kUInt4, kInt4, kUInt2, kInt2}, elementType);
}

/// The type in the file of input `i`.
static int32_t getFileType(const Node &node, unsigned i) {
  const Entry &entry = node.entry(i);
  quant::QuantizedType own = getQuantizedType(entry);
  return entry.integers ? entry.integers : own ? getElementType(own) : node.elementType(i);
}

/// Whether no quantized type has the node's scales and zero points.
static bool isUnlikeTypes(const Node &node) {
  return !node.constant(kScale) || (node.has(kZeroPoint) && !node.constant(kZeroPoint)) ||
         node.rank(kScale) > 1 || node.getInt("block_size", 0) != 0;
}

/// Whether constants have negative scales, as NNCF's compressed weights may.
static bool hasNegativeScales(const Node &node) {
  const HostTensor *scale = node.constant(kInput) ? node.constant(kScale) : nullptr;
  auto scales = scale ? scale->floats() : std::nullopt;
  return scales && llvm::any_of(*scales, [](float value) { return value < 0; }) &&
         llvm::all_of(*scales, [](float value) { return std::isnormal(value); });
}

/// Of the integers that QuantizeLinear gives.
static int32_t getResultType(const Node &node) {
  int32_t wanted = node.getInt("output_dtype", 0);
  return wanted                 ? wanted
         : node.has(kZeroPoint) ? getFileType(node, kZeroPoint)
                                : int32_t(TensorProto::UINT8);
}

/// Whether the input's integers are not those of another scale.
static bool isPlain(Node &node, const Entry &entry) {
  quant::QuantizedType own = getQuantizedType(entry);
  return !own || numerics::haveSameParams(own, makeUnitType(node.builder(), getElementType(own)));
}

bool octet::onnx_import::quantizesInFloat(Node &node) {
  const Entry &entry = node.entry(kInput);
  bool isReal =
      !entry.integers && !getQuantizedType(entry) &&
      !(entry.tensor ? entry.tensor->isInteger() : !nn::holdsReals(entry.value.getType()));
  if (!isReal || isUnlikeTypes(node))
    return isReal;
  return isWide(getResultType(node)) && (entry.tensor || node.constant(kScale)->size() > 1);
}

bool octet::onnx_import::dequantizesInFloat(Node &node) {
  const Entry &entry = node.entry(kInput);
  if (entry.tensor && isSmallFloat(entry.tensor->type))
    return true;
  if (entry.tensor)
    return entry.tensor->isInteger() &&
           (isUnlikeTypes(node) || hasNegativeScales(node) || isWide(entry.tensor->type) ||
            isNarrow(entry.tensor->type));
  if (entry.integers)
    return entry.integers != TensorProto::INT32;
  return getQuantizedType(entry) ? isUnlikeTypes(node) && isPlain(node, entry)
                                 : !nn::holdsReals(entry.value.getType());
}

bool octet::onnx_import::hasFewBits(Node &node) {
  const HostTensor *integers = node.constant(kInput);
  return integers && isNarrow(integers->type) && !isUnlikeTypes(node) && !hasNegativeScales(node) &&
         (!node.has(kZeroPoint) || getFileType(node, kZeroPoint) == integers->type);
}

/// An input as f32.
static FailureOr<Entry> toFloats(Node &node, unsigned i) {
  const Entry &entry = node.entry(i);
  if (entry.value && getQuantizedType(entry))
    return isPlain(node, entry)
               ? Entry{nullptr, makeReal(node, entry.value)}
               : FailureOr<Entry>(node.unsupported("a zero point that is quantized"));
  if (entry.value) {
    auto value = node.cast(entry.value, node.f32());
    return failed(value) ? FailureOr<Entry>() : Entry{nullptr, *value};
  }
  const HostTensor &tensor = *entry.tensor;
  std::vector<float> values;
  if (const std::vector<int64_t> *integers = tensor.integers())
    values.assign(integers->begin(), integers->end());
  else
    values = *tensor.floats();
  return Entry{
      std::make_shared<HostTensor>(HostTensor{tensor.name, tensor.shape, std::move(values)}), {}};
}

/// `parameter`, one for each block of elements along `axis`, for each of `size` elements.
static FailureOr<Entry> repeatBlocks(Node &node, const Entry &parameter, int64_t axis, int64_t size,
                                     int64_t block) {
  Shape shape = shapeOf(parameter), strides = getStrides(shape);
  int64_t count = shape[axis], inner = strides[axis];
  shape[axis] = size;
  auto all = countElements(parameter.tensor ? shape : Shape{size}, kMaxConstantElements);
  if (!all)
    return node.unsupported("a tensor of shape " + printShape(shape) + " in blocks");
  std::vector<int64_t> source;
  if (parameter.tensor) {
    for (int64_t i = 0; i < *all; ++i)
      source.push_back((i / inner / size * count + i / inner % size / block) * inner + i % inner);
    HostTensor whole = gatherElements(*parameter.tensor, shape, source);
    return Entry{std::make_shared<HostTensor>(std::move(whole)), {}};
  }
  for (int64_t i = 0; i < size; ++i)
    source.push_back(i / block);
  auto indices = integerConstant(node, "blocks", {size}, std::move(source));
  auto whole =
      failed(indices) ? indices : node.create<nn::GatherOp>(parameter.value, *indices, axis);
  return failed(whole) ? FailureOr<Entry>() : Entry{nullptr, *whole};
}

/// Scale or zero point as it broadcasts to the input. Constants stay constants.
static FailureOr<Entry> spread(Node &node, unsigned i) {
  Shape shape = node.shape(kInput), given = node.shape(i), along(shape.size(), 1);
  int64_t block = node.getInt("block_size", 0);
  auto parameter = toFloats(node, i);
  if (failed(parameter))
    return failure();
  bool isOne = block == 0 && given.size() < 2 && *countElements(given) == 1;
  auto axis =
      isOne ? FailureOr<int64_t>(0) : node.normalizeAxis(node.getInt("axis", 1), shape.size());
  if (failed(axis))
    return failure();
  if (block > 0 && given.size() == shape.size()) {
    Shape blocks(shape);
    blocks[*axis] = llvm::divideCeil(shape[*axis], block);
    if (given == blocks)
      return repeatBlocks(node, *parameter, *axis, shape[*axis], block);
  } else if (isOne || given == Shape{shape[*axis]}) {
    if (isOne)
      along.clear();
    else
      along[*axis] = given[0];
    if (!parameter->tensor)
      return Entry{nullptr, node.reshape(parameter->value, along)};
    return Entry{std::make_shared<HostTensor>(reshape(*parameter->tensor, along)), {}};
  }
  return node.invalid("has a scale or zero point of shape " + printShape(given) +
                      " for a tensor of shape " + printShape(shape) + " in blocks of " +
                      Twine(block) + " along axis " + Twine(*axis));
}

static MaybeValue spreadValue(Node &node, unsigned i) {
  auto parameter = spread(node, i);
  return failed(parameter) ? MaybeValue() : node.toValue(*parameter);
}

/// The zero point is of the integers' type.
static LogicalResult checkZeroPoint(Node &node, int32_t integers) {
  if (!node.has(kZeroPoint) || getFileType(node, kZeroPoint) == integers)
    return success();
  return node.invalid("has a zero point of " + printElementType(getFileType(node, kZeroPoint)) +
                          " for integers of " + printElementType(integers),
                      "store both in the same type");
}

/// clip(round(x / scale) + zero point). Bytes that are computed at run time are held as f32.
LogicalResult octet::onnx_import::quantizeInFloat(Node &node) {
  int32_t type = getResultType(node);
  auto range = getRange(type);
  if (!range)
    return refuseIntegers(node, type);
  if (failed(checkZeroPoint(node, type)))
    return failure();
  auto isDivisor = [](float scale) { return scale > 0 && std::isnormal(scale); };
  if (auto scales = node.constant(kScale) ? node.constant(kScale)->floats() : std::nullopt;
      scales && !llvm::all_of(*scales, isDivisor))
    return node.invalid("has a scale that is no positive, normal number");
  auto rounded = node.compute<nn::RoundOp>(
      node.compute<nn::DivOp>(node.value(kInput), spreadValue(node, kScale)));
  if (node.has(kZeroPoint))
    rounded = node.compute<nn::AddOp>(rounded, spreadValue(node, kZeroPoint));
  if (failed(rounded))
    return failure();
  auto clipped =
      node.create<nn::ClipOp>(*rounded, llvm::APFloat(range->first), llvm::APFloat(range->second));
  if (failed(clipped))
    return failure();
  if (!isWide(type) && !node.allConstant())
    return node.setResult(Entry{nullptr, *clipped, type});
  return node.setComputed(node.cast(clipped, getProgramType(node.builder().getContext(), type)));
}

/// What a matrix of at most 8 bits is made of, for those who read it so.
static std::shared_ptr<const Blocks> recordBlocks(Node &node) {
  int32_t type = node.constant(kInput)->type;
  bool isByte = type == TensorProto::INT8 || type == TensorProto::UINT8;
  int64_t size = node.getInt("block_size", 0);
  if (size == 0 || node.rank(kInput) != 2 || (!isByte && !isNarrow(type)))
    return nullptr;
  auto scales = toFloats(node, kScale);
  auto zeroPoints = node.has(kZeroPoint) ? toFloats(node, kZeroPoint) : FailureOr<Entry>(Entry());
  bool isSigned = llvm::is_contained({int32_t(TensorProto::INT8), kInt4, kInt2}, type);
  int64_t bits = isByte ? 8 : type == kUInt2 || type == kInt2 ? 2 : 4;
  return std::make_shared<Blocks>(Blocks{bits, *node.normalizeAxis(node.getInt("axis", 1), 2), size,
                                         isSigned, *scales->tensor,
                                         *zeroPoints ? *zeroPoints->tensor : HostTensor()});
}

/// The same of constants, which may be all the weights of a network.
static LogicalResult dequantizeConstant(Node &node) {
  auto integers = toFloats(node, kInput);
  auto zeroPoint = node.has(kZeroPoint) ? spread(node, kZeroPoint) : FailureOr<Entry>(Entry());
  auto scale = spread(node, kScale);
  if (failed(integers) || failed(zeroPoint) || failed(scale))
    return failure();
  HostTensor reals = *integers->tensor;
  auto &values = std::get<std::vector<float>>(reals.data);
  auto apply = [&](const Entry &parameter, auto operation) {
    HostTensor whole = broadcastTo(*parameter.tensor, reals.shape);
    const auto &numbers = std::get<std::vector<float>>(whole.data);
    llvm::transform(llvm::zip(values, numbers), values.begin(),
                    [&](auto pair) { return operation(std::get<0>(pair), std::get<1>(pair)); });
  };
  if (*zeroPoint)
    apply(*zeroPoint, std::minus<float>());
  apply(*scale, std::multiplies<float>());
  reals.blocks = recordBlocks(node);
  return node.setResult(std::move(reals), /*keepName=*/true);
}

/// (x - zero point) * scale
LogicalResult octet::onnx_import::dequantizeInFloat(Node &node) {
  if (failed(checkZeroPoint(node, getFileType(node, kInput))))
    return failure();
  if (node.allConstant())
    return dequantizeConstant(node);
  auto integers = toFloats(node, kInput);
  auto distance = failed(integers) ? MaybeValue() : node.toValue(*integers);
  if (node.has(kZeroPoint))
    distance = node.compute<nn::SubOp>(distance, spreadValue(node, kZeroPoint));
  return node.setResult(node.compute<nn::MulOp>(distance, spreadValue(node, kScale)));
}
