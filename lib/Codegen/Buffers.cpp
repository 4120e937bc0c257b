//===- Buffers.cpp - where tensors lie ------------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Buffers.h"
#include "octet/Dialect/NN/Constants.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

nn::LayoutAttr codegen::getLayout(RankedTensorType type) {
  return dyn_cast_or_null<nn::LayoutAttr>(type.getEncoding());
}

RankedTensorType codegen::withLayout(RankedTensorType type, nn::LayoutAttr layout) {
  return RankedTensorType::get(type.getShape(), type.getElementType(), layout);
}

Type codegen::getStorageType(RankedTensorType type) {
  return nn::getStorageElementType(type.getElementType());
}

Strides codegen::getStrides(RankedTensorType type) {
  Strides result;
  ArrayRef<int64_t> shape = type.getShape();
  if (nn::LayoutAttr layout = getLayout(type)) {
    ArrayRef<int64_t> pads = layout.getPads();
    int64_t c = layout.getChannels(), w = (shape[3] + pads[1] + pads[3]) * c,
            h = (shape[2] + pads[0] + pads[2]) * w;
    result.steps = {h, 1, w, c};
    result.offset = pads[0] * w + pads[1] * c;
    result.extent = shape[0] * h;
    return result;
  }
  result.steps.assign(shape.size(), 1);
  result.extent = 1;
  for (int64_t i = shape.size() - 1; i >= 0; --i) {
    result.steps[i] = result.extent;
    result.extent *= shape[i];
  }
  return result;
}

std::optional<Strides> codegen::getReshapedStrides(RankedTensorType from, ArrayRef<int64_t> to) {
  Strides result = getStrides(from);
  ArrayRef<int64_t> shape = from.getShape();
  SmallVector<int64_t> steps(to.size(), 0);
  size_t t = 0;
  for (size_t f = 0; f < shape.size();) {
    // The fewest dimensions on both sides that have the same elements.
    size_t first = t;
    int64_t size = shape[f], product = 1;
    for (int64_t step = result.steps[f++]; product != size;) {
      if (product < size) {
        if (t == to.size())
          return std::nullopt;
        product *= to[t++];
        continue;
      }
      bool isTight = f < shape.size() && (size == 1 || step == shape[f] * result.steps[f]);
      if (!isTight)
        return std::nullopt;
      step = result.steps[f];
      size *= shape[f++];
    }
    int64_t inner = result.steps[f - 1];
    for (size_t d = t; d-- > first; inner *= to[d])
      steps[d] = inner;
  }
  result.steps = steps;
  return result; // what is left are ones
}

int64_t codegen::getBufferBytes(RankedTensorType type) {
  return getStrides(type).extent * (getStorageType(type).getIntOrFloatBitWidth() / 8);
}

bool codegen::hasBorder(RankedTensorType type) {
  return llvm::any_of(getLayout(type).getPads(), [](int64_t pad) { return pad != 0; });
}

bool codegen::isRowMajor(RankedTensorType type) {
  nn::LayoutAttr layout = getLayout(type);
  if (!layout)
    return true;
  bool isOnePixel = type.getDimSize(2) == 1 && type.getDimSize(3) == 1;
  return !hasBorder(type) && layout.getChannels() == type.getDimSize(1) &&
         (isOnePixel || type.getDimSize(1) == 1);
}

bool codegen::isByte(RankedTensorType type) {
  auto quantized = dyn_cast<quant::QuantizedType>(type.getElementType());
  return quantized && quantized.getStorageTypeIntegralWidth() == 8;
}

bool codegen::isSigned(RankedTensorType quantized) {
  return cast<quant::QuantizedType>(quantized.getElementType()).isSigned();
}

bool codegen::isQuantized(Type type) {
  return isa<quant::QuantizedType>(cast<RankedTensorType>(type).getElementType());
}

std::string codegen::getConstantKey(nn::ConstantOp constant) {
  // Resource names are unique in a module; values held inline are told apart by themselves.
  if (isa<DenseResourceElementsAttr>(constant.getValue()))
    return nn::getConstantName(constant).str();
  std::string text;
  llvm::raw_string_ostream os(text);
  // All of it, whatever the command line says about printed IR.
  auto flags = OpPrintingFlags().elideLargeElementsAttrs(std::numeric_limits<int64_t>::max());
  AsmState state(constant.getContext(), flags);
  constant.getValue().print(os, state);
  return text;
}
