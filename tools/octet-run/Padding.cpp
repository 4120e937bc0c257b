//===- Padding.cpp - inputs that are smaller than a bucket ------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Padding.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

using namespace llvm;
using namespace octet;

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

template <typename T> static std::vector<char> getBytes(T value) {
  std::vector<char> bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

static std::vector<char> getBytesOfHalf(double number, const fltSemantics &semantics) {
  APFloat value(number);
  bool losesInfo;
  value.convert(semantics, APFloat::rmNearestTiesToEven, &losesInfo);
  return getBytes((uint16_t)value.bitcastToAPInt().getZExtValue());
}

/// A number as an element; of a quantized tensor the nearest that it has.
template <typename T>
static std::vector<char> getElement(const octet_tensor &tensor, double number) {
  if (tensor.scale != 0)
    number = std::clamp<double>(std::nearbyint(number / tensor.scale) + tensor.zero_point,
                                (double)std::numeric_limits<T>::lowest(),
                                (double)std::numeric_limits<T>::max());
  return getBytes((T)number);
}

static std::vector<char> getElement(const octet_tensor &tensor, double number) {
  if (tensor.dtype == OCTET_F16)
    return getBytesOfHalf(number, APFloat::IEEEhalf());
  if (tensor.dtype == OCTET_BF16)
    return getBytesOfHalf(number, APFloat::BFloat());
  switch (tensor.dtype) {
#define OCTET_DTYPE(suffix, c_type, ...)                                                           \
  case OCTET_##suffix:                                                                             \
    return getElement<c_type>(tensor, number);
#include "octet/Runtime/DTypes.def"
  }
  llvm_unreachable("all cases handled");
}

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

/// Calls `use` with the places of each row of `corner` in row-major arrays of two shapes that hold
/// it, and the row's length.
static void forEachRow(Shape corner, Shape first, Shape second,
                       function_ref<void(int64_t, int64_t, int64_t)> use, int64_t a = 0,
                       int64_t b = 0) {
  if (corner.size() <= 1)
    return use(a, b, corner.empty() ? 1 : corner[0]);
  auto countRest = [](Shape shape) {
    int64_t count = 1;
    for (int64_t size : shape.drop_front())
      count *= size;
    return count;
  };
  for (int64_t i = 0; i < corner[0]; ++i)
    forEachRow(corner.drop_front(), first.drop_front(), second.drop_front(), use,
               a + i * countRest(first), b + i * countRest(second));
}

void octet::fillUp(const char *array, Shape shape, const octet_tensor &input, double padding,
                   char *to) {
  std::vector<char> element = getElement(input, padding);
  int64_t bytes = element.size();
  for (int64_t at = 0; at < input.bytes; at += bytes)
    std::memcpy(to + at, element.data(), bytes);
  forEachRow(shape, shape, Shape(input.shape, input.rank), [&](int64_t a, int64_t b, int64_t size) {
    std::memcpy(to + b * bytes, array + a * bytes, size * bytes);
  });
}

void octet::appendCorner(const char *array, Shape shape, Shape corner, int64_t elementBytes,
                         std::vector<char> &to) {
  forEachRow(corner, shape, corner, [&](int64_t a, int64_t, int64_t size) {
    to.insert(to.end(), array + a * elementBytes, array + (a + size) * elementBytes);
  });
}

/// The sizes of an axis in all buckets.
static std::vector<int64_t> getSizes(const Runner &runner, bool isInput, size_t tensor,
                                     int32_t axis) {
  std::vector<int64_t> sizes;
  for (int32_t bucket = 0; bucket < runner.numBuckets(); ++bucket)
    sizes.push_back(
        (isInput ? runner.getInputs(bucket) : runner.getOutputs(bucket))[tensor].shape[axis]);
  return sizes;
}

std::vector<int64_t> octet::getOutputShape(const Runner &runner, int32_t bucket, size_t output,
                                           ArrayRef<std::vector<int64_t>> shapes) {
  const octet_tensor &tensor = runner.getOutputs(bucket)[output];
  std::vector<int64_t> result(tensor.shape, tensor.shape + tensor.rank);
  for (int32_t axis = 0; axis < tensor.rank; ++axis) {
    std::vector<int64_t> sizes = getSizes(runner, /*isInput=*/false, output, axis);
    std::set<int64_t> given;
    for (auto [number, shape] : enumerate(shapes))
      for (auto [i, size] : enumerate(shape))
        if (getSizes(runner, /*isInput=*/true, number, i) == sizes)
          given.insert(size);
    if (!all_equal(sizes) && given.size() == 1)
      result[axis] = *given.begin();
  }
  return result;
}
