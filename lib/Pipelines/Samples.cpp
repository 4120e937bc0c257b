//===- Samples.cpp - calibration data, one sample at a time ---------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Samples.h"
#include "octet/Support/Message.h"
#include "octet/Support/Quote.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"
#include <cmath>
#include <map>

using namespace llvm;
using namespace octet;

static std::string formatShape(ArrayRef<int64_t> shape) {
  return "[" + join(map_range(shape, [](int64_t size) { return std::to_string(size); }), ", ") +
         "]";
}

static ArrayRef<int64_t> getShape(const octet_tensor &input) {
  return {input.shape, (size_t)input.rank};
}

/// The index of the element with a given number in row-major order.
static SmallVector<int64_t> getIndex(ArrayRef<int64_t> shape, int64_t number) {
  SmallVector<int64_t> index(shape.size());
  for (size_t axis = shape.size(); axis-- > 0; number /= shape[axis])
    index[axis] = number % shape[axis];
  return index;
}

static Error makeError(StringRef path, const Twine &text, const Twine &remedy = "") {
  return makeSampleError({path.str(), "", {}, {}}, text, remedy);
}

static Error makeError(StringRef path, const NpyArray &array, const Twine &text,
                       const Twine &remedy = "") {
  return makeSampleError({path.str(), array.name, {}, {}}, text, remedy);
}

/// The number of samples in `array` for `input`: one per row if there is a leading sample axis,
/// else concatenated batches, or the one number of a scalar. Zero if the shapes do not fit.
static int64_t countSamples(const NpyArray &array, const octet_tensor &input) {
  ArrayRef<int64_t> wanted = getShape(input), shape = array.shape;
  if (shape.size() == wanted.size() + 1 && shape.drop_front() == wanted)
    return shape[0];
  if (shape.size() != wanted.size())
    return 0;
  if (shape.empty())
    return 1;
  bool isBatches = wanted[0] > 0 && shape.drop_front() == wanted.drop_front();
  return isBatches && shape[0] % wanted[0] == 0 ? shape[0] / wanted[0] : 0;
}

/// The array for an input: the one of its name; in a .npy, which has no names, the only one.
static Expected<size_t> findArray(StringRef path, ArrayRef<NpyArray> arrays,
                                  const octet_tensor &input, size_t numInputs) {
  for (auto [i, array] : enumerate(arrays))
    if (array.name == input.name || (array.name.empty() && numInputs == 1))
      return i;
  return makeError(path,
                   "expected an array '" + escapeText(input.name) +
                       "' for the network's input, but got " + listNames(arrays),
                   "name the arrays as the network's inputs");
}

static Expected<int64_t> checkArray(StringRef path, const NpyArray &array,
                                    const octet_tensor &input) {
  StringRef wanted = getDTypeName(getNpyDType(input.dtype));
  if (array.dtype != getNpyDType(input.dtype))
    return makeError(path, array, "expected " + wanted + ", but got " + getDTypeName(array.dtype),
                     "convert the array with .astype(numpy." + wanted + ")");
  if (array.numElements() == 0)
    return makeError(path, array, "the array is empty");
  if (int64_t count = countSamples(array, input))
    return count;
  return makeSampleError(
      {path.str(), array.name, std::vector<int64_t>(getShape(input)), array.shape},
      "expected shape " + formatShape(getShape(input)) +
          ", with or without a leading axis of samples, but got " + formatShape(array.shape),
      "give every sample the shape of the input");
}

Error Samples::addFile(StringRef path) {
  Expected<std::unique_ptr<NpzReader>> reader = NpzReader::open(path);
  if (!reader)
    return reader.takeError();
  const std::vector<NpyArray> &arrays = (*reader)->headers();
  File file{path.str(), {}, total, 0};
  for (const octet_tensor &input : inputs) {
    Expected<size_t> array = findArray(path, arrays, input, inputs.size());
    if (!array)
      return array.takeError();
    Expected<int64_t> count = checkArray(path, arrays[*array], input);
    if (!count)
      return count.takeError();
    if (!file.arrayOfInput.empty() && *count != file.numSamples)
      return makeError(path, Twine("expected as many samples in every array, but got ") +
                                 Twine(file.numSamples) + " and " + Twine(*count));
    file.numSamples = *count;
    file.arrayOfInput.push_back(*array);
  }
  for (auto [i, array] : enumerate(arrays))
    if (!is_contained(file.arrayOfInput, i) && !is_contained(array.shape, 0))
      return makeError(path, "the network has no input '" + escapeText(array.name) + "'",
                       "omit that array");
  total += file.numSamples;
  files.push_back(std::move(file));
  return Error::success();
}

/// The files of samples at `path`.
static Expected<std::vector<std::string>> listFiles(StringRef path) {
  if (!sys::fs::exists(path))
    return makeError(path, "no such file or folder");
  if (!sys::fs::is_directory(path))
    return std::vector<std::string>{path.str()};
  std::vector<std::string> files;
  std::error_code error;
  for (sys::fs::directory_iterator it(path, error), end; it != end && !error; it.increment(error)) {
    StringRef extension = sys::path::extension(it->path());
    if (extension == ".npz" || extension == ".npy")
      files.push_back(it->path());
  }
  if (error)
    return makeError(path, error.message());
  if (files.empty())
    return makeError(path, "the folder holds no .npz or .npy file");
  sort(files);
  return files;
}

Expected<Samples> Samples::open(ArrayRef<std::string> paths, ArrayRef<octet_tensor> inputs) {
  Samples samples;
  samples.inputs = inputs;
  for (const std::string &path : paths) {
    Expected<std::vector<std::string>> files = listFiles(path);
    if (!files)
      return files.takeError();
    for (const std::string &file : *files)
      if (Error error = samples.addFile(file))
        return std::move(error);
  }
  return samples;
}

/// The number of the first element of type T that is NaN or infinite.
template <typename T> static std::optional<int64_t> findNotFiniteOf(ArrayRef<char> bytes) {
  ArrayRef<T> values(reinterpret_cast<const T *>(bytes.data()), bytes.size() / sizeof(T));
  auto wrong = find_if_not(values, [](T x) { return std::isfinite(x); });
  return wrong == values.end() ? std::nullopt : std::optional(int64_t(wrong - values.begin()));
}

/// Of floats of 16 bits, whose exponent has all bits of `exponent` set.
static std::optional<int64_t> findNotFiniteHalf(ArrayRef<char> bytes, uint16_t exponent) {
  ArrayRef<uint16_t> values(reinterpret_cast<const uint16_t *>(bytes.data()), bytes.size() / 2);
  auto wrong = find_if(values, [=](uint16_t x) { return (x & exponent) == exponent; });
  return wrong == values.end() ? std::nullopt : std::optional(int64_t(wrong - values.begin()));
}

/// The same for any octet_dtype; integers are finite.
static std::optional<int64_t> findNotFinite(ArrayRef<char> bytes, int32_t dtype) {
  switch (dtype) {
  case OCTET_F32:
    return findNotFiniteOf<float>(bytes);
  case OCTET_F64:
    return findNotFiniteOf<double>(bytes);
  case OCTET_F16:
    return findNotFiniteHalf(bytes, 0x7C00);
  case OCTET_BF16:
    return findNotFiniteHalf(bytes, 0x7F80);
  default:
    return std::nullopt;
  }
}

Error Samples::readFile(const File &file, function_ref<Error(int64_t, Sample)> use) const {
  Expected<std::unique_ptr<NpzReader>> reader = NpzReader::open(file.path);
  if (!reader)
    return reader.takeError();
  std::vector<std::vector<char>> buffers;
  SmallVector<const void *> pointers;
  for (const octet_tensor &input : inputs)
    pointers.push_back(buffers.emplace_back(input.bytes).data());
  for (int64_t sample = 0; sample < file.numSamples; ++sample) {
    for (auto [i, buffer] : enumerate(buffers)) {
      size_t array = file.arrayOfInput[i];
      const NpyArray &header = (*reader)->headers()[array];
      int64_t rows = header.shape.empty() ? 1 : header.shape[0] / file.numSamples;
      if (Error error = (*reader)->read(array, sample * rows, (sample + 1) * rows, buffer.data()))
        return error;
      if (std::optional<int64_t> wrong = findNotFinite(buffer, inputs[i].dtype))
        return makeError(file.path,
                         Twine("sample ") + Twine(sample) + " of input '" +
                             escapeText(inputs[i].name) + "' holds NaN or infinity at " +
                             formatShape(getIndex(getShape(inputs[i]), *wrong)),
                         "remove or repair that sample");
    }
    if (Error error = use(file.first + sample, pointers))
      return error;
  }
  return Error::success();
}

Error Samples::forEach(function_ref<Error(int64_t, Sample)> use) const {
  for (const File &file : files)
    if (Error error = readFile(file, use))
      return error;
  return Error::success();
}

const Samples::File &Samples::findFile(int64_t index) const {
  return *std::prev(partition_point(files, [&](const File &file) { return file.first <= index; }));
}

std::pair<std::string, int64_t> Samples::locate(int64_t index) const {
  const File &file = findFile(index);
  return {file.path, index - file.first};
}

std::vector<const void *> SampleCopy::getPointers() const {
  std::vector<const void *> pointers;
  for (const std::vector<char> &input : inputs)
    pointers.push_back(input.data());
  return pointers;
}

SampleCopy Samples::copy(Sample sample) const {
  SampleCopy copy;
  for (auto [data, input] : zip_equal(sample, inputs)) {
    auto *bytes = static_cast<const char *>(data);
    copy.inputs.emplace_back(bytes, bytes + input.bytes);
  }
  return copy;
}

Expected<std::vector<SampleCopy>> Samples::choose(size_t count, GetStates getStates) const {
  std::multimap<uint64_t, SampleCopy> chosen;
  Error error = forEach([&](int64_t index, Sample sample) -> Error {
    SampleCopy copy = this->copy(sample);
    uint64_t hash = 0;
    if (Error failure = getStates(index, sample).moveInto(copy.states))
      return failure;
    for (const std::vector<char> &input : copy.inputs)
      hash = hash * 31 + xxh3_64bits(StringRef(input.data(), input.size()));
    if (!copy.states.empty())
      hash = hash * 31 + xxh3_64bits(StringRef(copy.states.data(), copy.states.size()));
    chosen.emplace(hash, std::move(copy));
    if (chosen.size() > count)
      chosen.erase(std::prev(chosen.end()));
    return Error::success();
  });
  if (error)
    return std::move(error);
  std::vector<SampleCopy> result;
  for (auto &[hash, sample] : chosen)
    result.push_back(std::move(sample));
  return result;
}
