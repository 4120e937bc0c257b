//===- ElementTypes.cpp - ONNX's types of elements and ours ------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementTypes.h"
#include "onnx/onnx_pb.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace octet::onnx_import;
using onnx::TensorProto;

namespace {
/// An integer type; its number of bits, and whether it has a sign.
struct IntegerRow {
  int32_t type;
  unsigned bits;
  bool isSigned;
};
constexpr IntegerRow kIntegers[] = {
    {TensorProto::BOOL, 1, true},     {TensorProto::INT8, 8, true},
    {TensorProto::INT16, 16, true},   {TensorProto::INT32, 32, true},
    {TensorProto::INT64, 64, true},   {TensorProto::UINT8, 8, false},
    {TensorProto::UINT16, 16, false}, {TensorProto::UINT32, 32, false},
};
} // namespace

Type octet::onnx_import::getCallersType(MLIRContext *context, int32_t type) {
  switch (type) {
  case TensorProto::FLOAT:
    return Float32Type::get(context);
  case TensorProto::FLOAT16:
    return Float16Type::get(context);
  case TensorProto::BFLOAT16:
    return BFloat16Type::get(context);
  case TensorProto::DOUBLE:
    return Float64Type::get(context);
  }
  for (const IntegerRow &row : kIntegers)
    if (row.type == type)
      return IntegerType::get(context, row.bits,
                              row.isSigned ? IntegerType::Signless : IntegerType::Unsigned);
  return {};
}

Type octet::onnx_import::getProgramType(MLIRContext *context, int32_t type) {
  Type callers = getCallersType(context, type);
  return isa_and_nonnull<FloatType>(callers) ? Float32Type::get(context) : callers;
}

int32_t octet::onnx_import::getOnnxType(Type element) {
  for (const IntegerRow &row : kIntegers)
    if (element.isInteger(row.bits) && element.isUnsignedInteger() != row.isSigned)
      return row.type;
  return TensorProto::FLOAT;
}

int64_t octet::onnx_import::wrapInteger(int64_t value, int32_t type) {
  for (const IntegerRow &row : kIntegers)
    if (row.type == type && row.bits > 1 && row.bits < 64)
      return row.isSigned
                 ? llvm::SignExtend64(value, row.bits)
                 : value & static_cast<int64_t>(llvm::maskTrailingOnes<uint64_t>(row.bits));
  return value;
}
