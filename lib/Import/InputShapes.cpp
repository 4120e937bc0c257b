//===- InputShapes.cpp - shapes and values of inputs as text --------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Import/Import.h"
#include "octet/Support/Message.h"
#include "octet/Support/Quote.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace llvm;
using namespace octet;

/// Parses "16" or "{16,32}"; empty if it is neither. A single size may be 0: that of a past before
/// there is one.
static SmallVector<int64_t> parseSizes(StringRef text) {
  SmallVector<int64_t> sizes;
  bool isList = text.consume_front("{");
  if (isList && !text.consume_back("}"))
    return {};
  for (StringRef part : split(text, ','))
    if (part.getAsInteger(10, sizes.emplace_back()) || sizes.back() < (isList ? 1 : 0))
      return {};
  return sizes;
}

/// The end of the first "name=shape": a comma that is neither in a name nor in braces.
static size_t findEnd(StringRef text) {
  bool isInBraces = false, isInShape = false;
  for (auto [place, c] : enumerate(text)) {
    isInBraces = c == '{' || (isInBraces && c != '}');
    isInShape |= c == '=';
    if (c == ',' && isInShape && !isInBraces)
      return place;
  }
  return text.size();
}

/// Parses one "name=shape".
static Error parseShapes(StringRef text, InputShapeLists &lists) {
  auto [name, dims] = text.rsplit('=');
  std::vector<SmallVector<int64_t>> axes;
  size_t numShapes = 1;
  for (StringRef part : split(dims, 'x'))
    axes.push_back(parseSizes(part));
  if (name.empty() || dims.empty() || any_of(axes, [](auto &sizes) { return sizes.empty(); }))
    return createStringError("--input-shape=" + escapeText(text) +
                             ": expected a name and positive sizes, as in x=1x3x224x224");
  for (ArrayRef<int64_t> sizes : axes) {
    size_t count = sizes.size();
    if (count > 1 && numShapes > 1 && count != numShapes)
      return makeRemedyError("--input-shape=" + escapeText(text) + ": lists of " +
                                 Twine(numShapes) + " and " + Twine(count) + " sizes",
                             "give every list one size for each bucket");
    numShapes = std::max(numShapes, count);
  }
  auto [it, isNew] = lists.try_emplace(name.str());
  if (!isNew)
    return createStringError("--input-shape gives the shape of " + quote(name) + " twice");
  for (size_t i = 0; i < numShapes; ++i)
    it->second.push_back(map_to_vector(
        axes, [&](ArrayRef<int64_t> sizes) { return sizes.size() == 1 ? sizes[0] : sizes[i]; }));
  return Error::success();
}

Error octet::parseInputShapes(StringRef text, InputShapeLists &lists) {
  do {
    size_t end = findEnd(text);
    if (Error error = parseShapes(text.take_front(end), lists))
      return error;
    text = text.drop_front(end);
  } while (text.consume_front(","));
  return Error::success();
}

std::string octet::printShapes(const InputShapes &shapes) {
  return join(map_range(shapes,
                        [](const auto &entry) {
                          return escapeText(entry.first) + "=" +
                                 join(map_range(entry.second,
                                                [](int64_t size) { return std::to_string(size); }),
                                      "x");
                        }),
              ", ");
}

/// All elements of the inputs, for an order of buckets.
static double countElements(const InputShapes &shapes) {
  double elements = 0;
  for (const auto &entry : shapes) {
    double product = 1;
    for (int64_t size : entry.second)
      product *= size;
    elements += product;
  }
  return elements;
}

Expected<std::vector<InputShapes>> octet::listBuckets(const InputShapeLists &lists) {
  const InputShapeLists::value_type *longest = nullptr;
  for (const auto &entry : lists) {
    if (longest && longest->second.size() > 1 && entry.second.size() > 1 &&
        longest->second.size() != entry.second.size())
      return makeRemedyError("--input-shape gives " + quote(longest->first) + " " +
                                 Twine(longest->second.size()) + " shapes, but " +
                                 quote(entry.first) + " " + Twine(entry.second.size()),
                             "give each of them one shape for each bucket");
    if (!longest || entry.second.size() > longest->second.size())
      longest = &entry;
  }
  std::vector<InputShapes> buckets(longest ? longest->second.size() : 1);
  for (const auto &[name, shapes] : lists)
    for (auto [number, bucket] : enumerate(buckets))
      bucket[name] = shapes.size() == 1 ? shapes[0] : shapes[number];
  stable_sort(buckets, [](const InputShapes &a, const InputShapes &b) {
    return countElements(a) > countElements(b);
  });
  for (auto bucket = buckets.begin(); bucket != buckets.end(); ++bucket)
    if (std::find(bucket + 1, buckets.end(), *bucket) != buckets.end())
      return makeRemedyError("--input-shape gives the bucket " + printShapes(*bucket) + " twice",
                             "omit one of them");
  return buckets;
}

Error octet::parseInputNumber(StringRef option, StringRef text, StringMap<double> &numbers) {
  auto [name, number] = text.rsplit('=');
  double value = 0;
  if (name.empty() || number.getAsDouble(value) || !std::isfinite(value))
    return createStringError(option + "=" + escapeText(text) +
                             ": expected a name and a number, as in sr=16000");
  if (!numbers.try_emplace(name, value).second)
    return createStringError(option + " gives the value of " + quote(name) + " twice");
  return Error::success();
}
