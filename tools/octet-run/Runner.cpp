//===- Runner.cpp - feeds a network -----------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Runner.h"
#include "Padding.h"
#include "octet/Support/Quote.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace llvm;
using namespace octet;

static ArrayRef<int64_t> getShape(const octet_tensor &tensor) {
  return ArrayRef<int64_t>(tensor.shape, tensor.rank);
}

std::string octet::describeType(NpyDType dtype, ArrayRef<int64_t> shape) {
  std::string text = getDTypeName(dtype).str() + "[";
  for (auto [axis, size] : enumerate(shape))
    text += (axis ? "," : "") + std::to_string(size);
  return text + "]";
}

std::string octet::describeType(const octet_tensor &tensor) {
  return describeType(getNpyDType(tensor.dtype), getShape(tensor));
}

Runner::Runner(const ModelLibrary &library, ModelPtr model)
    : library(library), model(std::move(model)) {
  select(0);
}

ArrayRef<octet_tensor> Runner::getInputs(int32_t bucket) const {
  const octet_buckets *buckets = descriptor().buckets;
  return {buckets ? buckets->list[bucket].inputs : descriptor().inputs,
          (size_t)descriptor().num_inputs};
}

ArrayRef<octet_tensor> Runner::getOutputs(int32_t bucket) const {
  const octet_buckets *buckets = descriptor().buckets;
  return {buckets ? buckets->list[bucket].outputs : descriptor().outputs,
          (size_t)descriptor().num_outputs};
}

double Runner::getPadding(size_t input) const {
  const double *paddings = descriptor().buckets ? descriptor().buckets->paddings : nullptr;
  return paddings ? paddings[input] : std::nan("");
}

void Runner::select(int32_t bucket) {
  if (descriptor().buckets) {
    auto shapes = map_to_vector(getInputs(bucket), [](const octet_tensor &t) { return t.shape; });
    api().select(get(), shapes.data());
  }
  inputs.clear(), outputs.clear(), inputPointers.clear(), outputPointers.clear();
  for (const octet_tensor &tensor : getInputs(bucket))
    inputPointers.push_back(inputs.emplace_back(tensor.bytes).data());
  for (const octet_tensor &tensor : getOutputs(bucket))
    outputPointers.push_back(outputs.emplace_back(tensor.bytes).data());
}

//===----------------------------------------------------------------------===//
// Inputs from files
//===----------------------------------------------------------------------===//

namespace {
/// The layout of a tensor's samples in an array.
struct Samples {
  size_t array = 0;
  int64_t count = 1, rowsPerSample = 1;
  bool hasAxis = false;
  std::vector<int64_t> shape; ///< of one
};
} // namespace

/// Whether values of a shape are the input's, or can be filled up to it.
static bool fits(ArrayRef<int64_t> got, ArrayRef<int64_t> expected, bool canPad) {
  return got.size() == expected.size() && all_of(zip(got, expected), [&](auto sizes) {
           auto [size, most] = sizes;
           return size == most || (canPad && size > 0 && size < most);
         });
}

/// An array is one sample, or has a leading axis of samples, in front of the shape or in place of a
/// leading 1.
static std::optional<Samples> findSamples(const NpyArray &array, const octet_tensor &tensor,
                                          bool canPad) {
  ArrayRef<int64_t> got(array.shape), expected = getShape(tensor);
  if (fits(got, expected, canPad))
    return Samples{0, 1, expected.empty() ? 1 : got[0], false, got};
  if (got.empty())
    return std::nullopt;
  bool replacesOne = !expected.empty() && expected[0] == 1 &&
                     fits(got.drop_front(), expected.drop_front(), canPad);
  if (!replacesOne && !fits(got.drop_front(), expected, canPad))
    return std::nullopt;
  std::vector<int64_t> shape = got.drop_front();
  if (replacesOne)
    shape.insert(shape.begin(), 1);
  return Samples{0, got[0], 1, true, shape};
}

static Expected<Samples> findInput(StringRef path, ArrayRef<NpyArray> arrays,
                                   const octet_tensor &tensor, bool isOnly, bool canPad) {
  const auto *array = find_if(arrays, [&](const NpyArray &array) {
    return array.name == tensor.name || (isOnly && array.name.empty());
  });
  if (array == arrays.end())
    return createStringError("'" + path + "': expected an array '" + escapeText(tensor.name) +
                             "', but got " + listNames(arrays));
  std::optional<Samples> samples = findSamples(*array, tensor, canPad);
  if (array->dtype != getNpyDType(tensor.dtype) || !samples)
    return createStringError("'" + path + "': array '" + escapeText(tensor.name) + "': expected " +
                             describeType(tensor) + " or a leading axis over samples, but got " +
                             describeType(array->dtype, array->shape));
  if (samples->count == 0)
    return createStringError("'" + path + "': array '" + escapeText(tensor.name) +
                             "' holds no samples");
  samples->array = array - arrays.begin();
  return *samples;
}

/// For a message: "int64[1,64], int64[1,32]".
static std::string listTypes(const Runner &runner, size_t input) {
  std::string text;
  for (int32_t bucket = 0; bucket < runner.numBuckets(); ++bucket)
    text += (bucket ? ", " : "") + describeType(runner.getInputs(bucket)[input]);
  return text;
}

/// An array for `count` outputs of a shape.
static NpyArray makeOutput(const octet_tensor &tensor, std::vector<int64_t> shape, int64_t count,
                           bool hasAxis) {
  NpyArray array{tensor.name, getNpyDType(tensor.dtype), std::move(shape), {}};
  if (hasAxis && !array.shape.empty() && array.shape[0] == 1)
    array.shape[0] = count;
  else if (hasAxis)
    array.shape.insert(array.shape.begin(), count);
  array.data.reserve(tensor.bytes * count);
  return array;
}

/// The layout of every input's samples in a file.
static Expected<std::vector<Samples>> findInputs(StringRef path, ArrayRef<NpyArray> arrays,
                                                 const Runner &runner, int32_t bucket) {
  ArrayRef<octet_tensor> tensors = runner.getInputs(bucket);
  std::vector<Samples> samples;
  for (auto [number, tensor] : enumerate(tensors)) {
    bool canPad = !std::isnan(runner.getPadding(number));
    auto found = findInput(path, arrays, tensor, tensors.size() == 1, canPad);
    if (!found)
      return found.takeError();
    if (!samples.empty() &&
        (found->count != samples[0].count || found->hasAxis != samples[0].hasAxis))
      return createStringError("'" + path + "': '" + escapeText(tensors[0].name) + "' has " +
                               Twine(samples[0].count) + " samples, but '" +
                               escapeText(tensor.name) + "' has " + Twine(found->count));
    samples.push_back(*found);
  }
  return samples;
}

Expected<int32_t> Runner::findBucket(StringRef path, ArrayRef<NpyArray> arrays) const {
  for (int32_t bucket = numBuckets(); bucket-- > 0;) {
    Expected<std::vector<Samples>> samples = findInputs(path, arrays, *this, bucket);
    if (samples)
      return bucket;
    if (bucket == 0 && numBuckets() == 1)
      return samples.takeError();
    consumeError(samples.takeError());
  }
  std::string text = "'" + path.str() + "': the arrays have the shapes of no bucket";
  for (auto [number, tensor] : enumerate(getInputs(0))) {
    const auto *array = find_if(arrays, [&](const NpyArray &a) { return a.name == tensor.name; });
    text += "; '" + escapeText(tensor.name) + "': expected one of " + listTypes(*this, number);
    if (array != arrays.end())
      text += ", but got " + describeType(array->dtype, array->shape);
  }
  return createStringError(text);
}

Expected<std::vector<NpyArray>> Runner::runFile(StringRef path, bool resets) {
  std::unique_ptr<NpzReader> reader;
  std::vector<Samples> samples;
  int32_t bucket = 0;
  if (descriptor().num_inputs > 0) {
    if (Error error = NpzReader::open(path).moveInto(reader))
      return std::move(error);
    if (Error error = findBucket(path, reader->headers()).moveInto(bucket))
      return std::move(error);
    samples = cantFail(findInputs(path, reader->headers(), *this, bucket));
    select(bucket);
  }
  int64_t count = samples.empty() ? 1 : samples[0].count;
  auto shapes = map_to_vector(samples, [](const Samples &s) { return s.shape; });
  std::vector<NpyArray> results;
  std::vector<std::vector<int64_t>> outputShapes;
  for (auto [number, tensor] : enumerate(getOutputs(bucket))) {
    outputShapes.push_back(getOutputShape(*this, bucket, number, shapes));
    results.push_back(
        makeOutput(tensor, outputShapes.back(), count, !samples.empty() && samples[0].hasAxis));
  }
  for (int64_t sample = 0; sample < count; ++sample) {
    for (auto [index, input] : enumerate(samples)) {
      const octet_tensor &tensor = getInputs(bucket)[index];
      bool isWhole = ArrayRef<int64_t>(input.shape) == getShape(tensor);
      std::vector<char> part(isWhole ? 0 : tensor.bytes);
      int64_t row = sample * input.rowsPerSample;
      if (Error error = reader->read(input.array, row, row + input.rowsPerSample,
                                     isWhole ? inputs[index].data() : part.data()))
        return error;
      if (!isWhole)
        fillUp(part.data(), input.shape, tensor, getPadding(index), inputs[index].data());
    }
    if (resets)
      api().reset(get());
    if (Error error = run())
      return std::move(error);
    for (auto [number, result, output] : enumerate(results, outputs))
      appendCorner(output.data(), getShape(getOutputs(bucket)[number]), outputShapes[number],
                   getDTypeBytes(result.dtype), result.data);
  }
  return results;
}
