//===- Runner.cpp - feeds a network -----------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Runner.h"
#include "octet/Support/Quote.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

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
  for (const octet_tensor &tensor : ArrayRef(descriptor().inputs, descriptor().num_inputs))
    inputs.emplace_back(tensor.bytes);
  for (const octet_tensor &tensor : ArrayRef(descriptor().outputs, descriptor().num_outputs))
    outputs.emplace_back(tensor.bytes);
  for (std::vector<char> &input : inputs)
    inputPointers.push_back(input.data());
  for (std::vector<char> &output : outputs)
    outputPointers.push_back(output.data());
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
};
} // namespace

/// An array is one sample, or has a leading axis of samples, in front of the shape or in place of a
/// leading 1.
static std::optional<Samples> findSamples(const NpyArray &array, const octet_tensor &tensor) {
  ArrayRef<int64_t> got(array.shape), expected = getShape(tensor);
  if (got == expected)
    return Samples{0, 1, expected.empty() ? 1 : expected[0], false};
  if (got.empty())
    return std::nullopt;
  bool replacesOne =
      !expected.empty() && expected[0] == 1 && got.drop_front() == expected.drop_front();
  if (replacesOne || got.drop_front() == expected)
    return Samples{0, got[0], 1, true};
  return std::nullopt;
}

static Expected<Samples> findInput(StringRef path, ArrayRef<NpyArray> arrays,
                                   const octet_tensor &tensor, bool isOnly) {
  const auto *array = find_if(arrays, [&](const NpyArray &array) {
    return array.name == tensor.name || (isOnly && array.name.empty());
  });
  if (array == arrays.end())
    return createStringError("'" + path + "': expected an array '" + escapeText(tensor.name) +
                             "', but got " + listNames(arrays));
  std::optional<Samples> samples = findSamples(*array, tensor);
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

static NpyArray makeOutput(const octet_tensor &tensor, int64_t count, bool hasAxis) {
  NpyArray array{tensor.name, getNpyDType(tensor.dtype), getShape(tensor).vec(), {}};
  if (hasAxis && !array.shape.empty() && array.shape[0] == 1)
    array.shape[0] = count;
  else if (hasAxis)
    array.shape.insert(array.shape.begin(), count);
  array.data.reserve(tensor.bytes * count);
  return array;
}

/// The layout of every input's samples in a file.
static Expected<std::vector<Samples>> findInputs(StringRef path, ArrayRef<NpyArray> arrays,
                                                 ArrayRef<octet_tensor> tensors) {
  std::vector<Samples> samples;
  for (const octet_tensor &tensor : tensors) {
    auto found = findInput(path, arrays, tensor, tensors.size() == 1);
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

Expected<std::vector<NpyArray>> Runner::runFile(StringRef path, bool resets) {
  std::unique_ptr<NpzReader> reader;
  std::vector<Samples> samples;
  ArrayRef<octet_tensor> tensors(descriptor().inputs, descriptor().num_inputs);
  if (!tensors.empty()) {
    if (Error error = NpzReader::open(path).moveInto(reader))
      return std::move(error);
    if (Error error = findInputs(path, reader->headers(), tensors).moveInto(samples))
      return std::move(error);
  }
  int64_t count = samples.empty() ? 1 : samples[0].count;
  std::vector<NpyArray> results;
  for (const octet_tensor &tensor : ArrayRef(descriptor().outputs, descriptor().num_outputs))
    results.push_back(makeOutput(tensor, count, !samples.empty() && samples[0].hasAxis));
  for (int64_t sample = 0; sample < count; ++sample) {
    for (auto [index, input] : enumerate(samples)) {
      int64_t row = sample * input.rowsPerSample;
      if (Error error =
              reader->read(input.array, row, row + input.rowsPerSample, inputs[index].data()))
        return error;
    }
    if (resets)
      api().reset(get());
    if (Error error = run())
      return std::move(error);
    for (auto [result, output] : zip(results, outputs))
      result.data.insert(result.data.end(), output.begin(), output.end());
  }
  return results;
}
