//===- BitCast.cpp - BitCast -------------------------------------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementTypes.h"
#include "Operators.h"
#include "TensorReader.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;
using onnx::TensorProto;

/// Bits of an integer; a truth value takes a byte.
static unsigned countBits(Type element) {
  unsigned bits = element.getIntOrFloatBitWidth();
  return bits == 1 ? 8 : bits;
}

template <typename To, typename From> static std::vector<To> convertBits(ArrayRef<From> values) {
  std::vector<To> result;
  for (From value : values)
    result.push_back(llvm::bit_cast<To>(value));
  return result;
}

/// The bits of a constant as integers.
static std::vector<int64_t> getBits(const HostTensor &tensor) {
  if (auto *integers = tensor.integers())
    return *integers;
  if (auto *wide = std::get_if<std::vector<double>>(&tensor.data))
    return convertBits<int64_t, double>(*wide);
  auto narrow = convertBits<int32_t, float>(*std::get_if<std::vector<float>>(&tensor.data));
  return std::vector<int64_t>(narrow.begin(), narrow.end());
}

/// A constant of the type `to` from bits.
static HostTensor makeTensor(const HostTensor &tensor, std::vector<int64_t> bits, int32_t to) {
  HostTensor result{tensor.name, tensor.shape, {}};
  if (to == TensorProto::DOUBLE) {
    result.data = convertBits<double, int64_t>(bits);
  } else if (to == TensorProto::FLOAT) {
    std::vector<int32_t> narrow(bits.begin(), bits.end());
    result.data = convertBits<float, int32_t>(narrow);
  } else {
    for (int64_t &value : bits)
      value = to == TensorProto::BOOL ? value != 0 : wrapInteger(value, to);
    result.data = std::move(bits);
    result.type = to;
  }
  return result;
}

/// Integers of one size differ in what their highest bit means, which nn.cast keeps. The program
/// has bits of floats only as constants of float32 or double: it holds all others as f32.
LogicalResult octet::onnx_import::importBitCast(Node &node) {
  int32_t from = node.elementType(0), to = node.getInt("to", 0);
  MLIRContext *context = node.builder().getContext();
  Type source = getCallersType(context, from), element = getCallersType(context, to);
  if (!source || !element)
    return node.unsupported("a cast of bits to " + printElementType(to));
  const HostTensor *tensor = node.constant(0);
  bool hasSameSize = countBits(source) == countBits(element);
  if (isa<FloatType>(source) || isa<FloatType>(element)) {
    auto isHalf = [](Type type) { return type.isF16() || type.isBF16(); };
    if (!tensor || !hasSameSize || isHalf(source) || isHalf(element))
      return node.unsupported("bits of floats that are computed at run time, or of halves");
  } else if (!hasSameSize) {
    return node.invalid("casts bits of " + printElementType(from) + " to " + printElementType(to));
  }
  return tensor ? node.setResult(makeTensor(*tensor, getBits(*tensor), to))
                : node.setResult(node.cast(node.any(0), element));
}
