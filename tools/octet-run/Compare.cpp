//===- Compare.cpp - actual and expected outputs ----------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Runner.h"
#include "octet/Support/Quote.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include <cmath>
#include <cstring>
#include <limits>

using namespace llvm;
using namespace octet;

namespace {
struct Difference {
  int64_t elements = 0, differing = 0;
  double largest = 0, magnitude = 0;
};

/// A float16.
struct Half {
  uint16_t bits;
  operator double() const {
    APFloat value(APFloat::IEEEhalf(), APInt(16, bits));
    bool losesInfo;
    value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
    return value.convertToDouble();
  }
};
} // namespace

template <typename T>
static Difference compareElements(const NpyArray &got, const NpyArray &expected) {
  Difference difference;
  difference.elements = got.numElements();
  for (int64_t i = 0; i < difference.elements; ++i) {
    T a, b;
    std::memcpy(&a, &got.data[i * sizeof(T)], sizeof(T));
    std::memcpy(&b, &expected.data[i * sizeof(T)], sizeof(T));
    double error = std::fabs(double(a) - double(b));
    bool bothNaN = double(a) != double(a) && double(b) != double(b);
    if (std::isfinite(double(b)))
      difference.magnitude = std::max(difference.magnitude, std::fabs(double(b)));
    if (bothNaN || std::memcmp(&a, &b, sizeof(T)) == 0)
      continue;
    ++difference.differing;
    difference.largest = std::max(
        difference.largest, std::isnan(error) ? std::numeric_limits<double>::infinity() : error);
  }
  return difference;
}

static Difference compareArrays(const NpyArray &got, const NpyArray &expected) {
  switch (got.dtype) {
  case NpyDType::F32:
    return compareElements<float>(got, expected);
  case NpyDType::U8:
    return compareElements<uint8_t>(got, expected);
  case NpyDType::Bool:
    return compareElements<uint8_t>(got, expected);
  case NpyDType::I8:
    return compareElements<int8_t>(got, expected);
  case NpyDType::U16:
    return compareElements<uint16_t>(got, expected);
  case NpyDType::I16:
    return compareElements<int16_t>(got, expected);
  case NpyDType::U32:
    return compareElements<uint32_t>(got, expected);
  case NpyDType::F16:
    return compareElements<Half>(got, expected);
  case NpyDType::F64:
    return compareElements<double>(got, expected);
  case NpyDType::I32:
    return compareElements<int32_t>(got, expected);
  case NpyDType::I64:
    return compareElements<int64_t>(got, expected);
  default:
    llvm_unreachable("no such output");
  }
}

/// The array with the output's name (or the only one, of a .npy), if it has the output's type.
static Expected<NpyArray> readExpected(NpzReader &reader, StringRef path, const NpyArray &output,
                                       bool isOnly) {
  ArrayRef<NpyArray> headers = reader.headers();
  const auto *header = find_if(headers, [&](const NpyArray &array) {
    return array.name == output.name || (isOnly && array.name.empty());
  });
  if (header == headers.end())
    return createStringError("'" + path + "': expected an array '" + escapeText(output.name) +
                             "', but got " + listNames(headers));
  if (header->dtype != output.dtype || header->shape != output.shape)
    return createStringError("'" + path + "': array '" + escapeText(output.name) + "': expected " +
                             describeType(output.dtype, output.shape) + ", but got " +
                             describeType(header->dtype, header->shape));
  NpyArray array = *header;
  array.data.resize(output.data.size());
  int64_t rows = array.shape.empty() ? 1 : array.shape[0];
  if (Error error = reader.read(header - headers.begin(), 0, rows, array.data.data()))
    return std::move(error);
  return array;
}

Expected<bool> octet::compareOutputs(const std::vector<NpyArray> &outputs, StringRef expectedPath,
                                     double maxError, raw_ostream &os) {
  auto reader = NpzReader::open(expectedPath);
  if (!reader)
    return reader.takeError();
  bool isEqual = true;
  for (const NpyArray &output : outputs) {
    auto expected = readExpected(**reader, expectedPath, output, outputs.size() == 1);
    if (!expected)
      return expected.takeError();
    Difference difference = compareArrays(output, *expected);
    os << escapeText(output.name) << ": " << difference.differing << " of " << difference.elements
       << " elements differ, max abs difference " << format("%.9g", difference.largest)
       << ", largest magnitude " << format("%.9g", difference.magnitude) << "\n";
    isEqual &= difference.differing == 0 ||
               (maxError > 0 && difference.largest <= maxError * difference.magnitude);
  }
  return isEqual;
}
