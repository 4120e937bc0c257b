//===- TensorReader.cpp - tensors of an ONNX file ----------------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorReader.h"
#include "octet/Support/Message.h"
#include "octet/Support/Quote.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"

using namespace octet;
using namespace octet::onnx_import;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using onnx::TensorProto;

Error octet::onnx_import::makeError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

namespace {

/// One row per element type: where its values lie if not in `raw_data`, and how a stored element is
/// converted.
struct ElementType {
  int32_t type;
  int64_t bits;
  int (TensorProto::*typedSize)() const;
  HostTensor::Data (*decode)(StringRef raw);
  HostTensor::Data (*decodeTyped)(const TensorProto &tensor);
};

template <typename Stored, typename Held> HostTensor::Data decodeRaw(StringRef raw) {
  std::vector<Held> values(raw.size() / sizeof(Stored));
  for (size_t i = 0; i < values.size(); ++i) {
    Stored stored;
    memcpy(&stored, raw.data() + i * sizeof(Stored), sizeof(Stored));
    values[i] = (Held)stored;
  }
  return values;
}

float toFloat(uint64_t bits, const llvm::fltSemantics &semantics) {
  unsigned size = llvm::APFloat::semanticsSizeInBits(semantics);
  llvm::APFloat value(semantics, llvm::APInt(size, bits, /*isSigned=*/false,
                                             /*implicitTrunc=*/true));
  bool losesInfo;
  value.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return value.convertToFloat();
}

template <const llvm::fltSemantics &(*semantics)()> HostTensor::Data decodeHalf(StringRef raw) {
  std::vector<float> values(raw.size() / 2);
  for (size_t i = 0; i < values.size(); ++i) {
    uint16_t bits;
    memcpy(&bits, raw.data() + 2 * i, 2);
    values[i] = toFloat(bits, semantics());
  }
  return values;
}

template <typename Held, typename Field, Field (TensorProto::*field)() const>
HostTensor::Data decodeField(const TensorProto &tensor) {
  const auto &values = (tensor.*field)();
  return std::vector<Held>(values.begin(), values.end());
}

template <const llvm::fltSemantics &(*semantics)()>
HostTensor::Data decodeHalfField(const TensorProto &tensor) {
  std::vector<float> values;
  for (int32_t bits : tensor.int32_data())
    values.push_back(toFloat((uint16_t)bits, semantics()));
  return values;
}

/// Integers of a few bits, the first in the lowest ones of a byte; behind the last there may be
/// others.
template <unsigned bits, bool isSigned> HostTensor::Data decodePacked(StringRef raw) {
  std::vector<int64_t> values;
  for (unsigned char byte : raw)
    for (unsigned shift = 0; shift < 8; shift += bits) {
      uint64_t value = byte >> shift & llvm::maskTrailingOnes<uint64_t>(bits);
      values.push_back(isSigned ? llvm::SignExtend64<bits>(value) : (int64_t)value);
    }
  return values;
}

template <unsigned bits, bool isSigned>
HostTensor::Data decodePackedField(const TensorProto &tensor) {
  const auto &bytes = tensor.int32_data();
  return decodePacked<bits, isSigned>(std::string(bytes.begin(), bytes.end()));
}

/// Floats of 8 or 4 bits, packed like integers.
template <unsigned bits, const llvm::fltSemantics &(*semantics)()>
HostTensor::Data decodeSmall(StringRef raw) {
  HostTensor::Data stored = decodePacked<bits, false>(raw);
  std::vector<float> values;
  for (int64_t bitPattern : std::get<std::vector<int64_t>>(stored))
    values.push_back(toFloat(bitPattern, semantics()));
  return values;
}

template <unsigned bits, const llvm::fltSemantics &(*semantics)()>
HostTensor::Data decodeSmallField(const TensorProto &tensor) {
  const auto &bytes = tensor.int32_data();
  return decodeSmall<bits, semantics>(std::string(bytes.begin(), bytes.end()));
}

using Repeated32 = const google::protobuf::RepeatedField<int32_t> &;
using Repeated64 = const google::protobuf::RepeatedField<int64_t> &;
using RepeatedU64 = const google::protobuf::RepeatedField<uint64_t> &;
using RepeatedFloat = const google::protobuf::RepeatedField<float> &;
using RepeatedDouble = const google::protobuf::RepeatedField<double> &;

template <typename Stored> constexpr ElementType smallInteger(int32_t type) {
  return {type, 8 * sizeof(Stored), &TensorProto::int32_data_size, decodeRaw<Stored, int64_t>,
          decodeField<int64_t, Repeated32, &TensorProto::int32_data>};
}

template <unsigned bits, bool isSigned> constexpr ElementType packedInteger(int32_t type) {
  return {type, bits, &TensorProto::int32_data_size, decodePacked<bits, isSigned>,
          decodePackedField<bits, isSigned>};
}

template <unsigned bits, const llvm::fltSemantics &(*semantics)()>
constexpr ElementType smallFloat(int32_t type) {
  return {type, bits, &TensorProto::int32_data_size, decodeSmall<bits, semantics>,
          decodeSmallField<bits, semantics>};
}

const ElementType kElementTypes[] = {
    {TensorProto::FLOAT, 32, &TensorProto::float_data_size, decodeRaw<float, float>,
     decodeField<float, RepeatedFloat, &TensorProto::float_data>},
    {TensorProto::DOUBLE, 64, &TensorProto::double_data_size, decodeRaw<double, double>,
     decodeField<double, RepeatedDouble, &TensorProto::double_data>},
    {TensorProto::FLOAT16, 16, &TensorProto::int32_data_size, decodeHalf<llvm::APFloat::IEEEhalf>,
     decodeHalfField<llvm::APFloat::IEEEhalf>},
    {TensorProto::BFLOAT16, 16, &TensorProto::int32_data_size, decodeHalf<llvm::APFloat::BFloat>,
     decodeHalfField<llvm::APFloat::BFloat>},
    {TensorProto::INT64, 64, &TensorProto::int64_data_size, decodeRaw<int64_t, int64_t>,
     decodeField<int64_t, Repeated64, &TensorProto::int64_data>},
    smallInteger<int32_t>(TensorProto::INT32),
    smallInteger<int16_t>(TensorProto::INT16),
    smallInteger<int8_t>(TensorProto::INT8),
    smallInteger<uint16_t>(TensorProto::UINT16),
    smallInteger<uint8_t>(TensorProto::UINT8),
    smallInteger<uint8_t>(TensorProto::BOOL),
    packedInteger<4, false>(kUInt4),
    packedInteger<4, true>(kInt4),
    packedInteger<2, false>(kUInt2),
    packedInteger<2, true>(kInt2),
    smallFloat<8, llvm::APFloat::Float8E4M3FN>(kFloat8E4M3FN),
    smallFloat<8, llvm::APFloat::Float8E4M3FNUZ>(kFloat8E4M3FNUZ),
    smallFloat<8, llvm::APFloat::Float8E5M2>(kFloat8E5M2),
    smallFloat<8, llvm::APFloat::Float8E5M2FNUZ>(kFloat8E5M2FNUZ),
    smallFloat<8, llvm::APFloat::Float8E8M0FNU>(kFloat8E8M0),
    smallFloat<4, llvm::APFloat::Float4E2M1FN>(kFloat4E2M1),
    {TensorProto::UINT32, 32, &TensorProto::uint64_data_size, decodeRaw<uint32_t, int64_t>,
     decodeField<int64_t, RepeatedU64, &TensorProto::uint64_data>},
    {TensorProto::UINT64, 64, &TensorProto::uint64_data_size, decodeRaw<uint64_t, int64_t>,
     decodeField<int64_t, RepeatedU64, &TensorProto::uint64_data>},
};

const ElementType *findElementType(int32_t type) {
  for (const ElementType &row : kElementTypes)
    if (row.type == type)
      return &row;
  return nullptr;
}

bool isExternal(const TensorProto &tensor) {
  return tensor.data_location() == TensorProto::EXTERNAL;
}
bool isRaw(const TensorProto &tensor) { return isExternal(tensor) || tensor.has_raw_data(); }

/// The value of one `external_data` entry, or empty.
StringRef getEntry(const TensorProto &tensor, StringRef key) {
  for (const auto &entry : tensor.external_data())
    if (StringRef(entry.key()) == key)
      return entry.value();
  return {};
}

} // namespace

bool octet::onnx_import::isElementTypeSupported(int32_t type) { return findElementType(type); }

bool octet::onnx_import::isSmallFloat(int32_t type) {
  return (type >= kFloat8E4M3FN && type <= kFloat8E5M2FNUZ) || type == kFloat4E2M1 ||
         type == kFloat8E8M0;
}

/// Types that ONNX's messages of this build do not name, from kFloat8E4M3FN on.
static constexpr llvm::StringLiteral kNewerTypes[] = {
    "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ", "UINT4",
    "INT4",         "FLOAT4E2M1",     "FLOAT8E8M0", "UINT2",          "INT2"};

std::string octet::onnx_import::printElementType(int32_t type) {
  if (TensorProto::DataType_IsValid(type))
    return TensorProto::DataType_Name((TensorProto::DataType)type);
  size_t newer = type - kFloat8E4M3FN;
  return newer < std::size(kNewerTypes) ? kNewerTypes[newer].str()
                                        : "number " + std::to_string(type);
}

Expected<llvm::MemoryBuffer *> TensorReader::openExternal(StringRef location) {
  if (folder.empty())
    return makeError("has its data in the file " + quote(location) +
                     ", which a network from memory cannot have");
  auto &buffer = files[location];
  if (buffer)
    return buffer.get();
  llvm::SmallString<256> path(folder), realFolder, realPath;
  llvm::sys::path::append(path, location);
  auto refuse = [&](const llvm::Twine &reason, const llvm::Twine &remedy) {
    return makeRemedyError("has its data in " + quote(location) + ", " + reason, remedy);
  };
  if (llvm::sys::path::is_absolute(location))
    return refuse("outside the network's folder", "move it beside the network");
  if (llvm::sys::fs::real_path(folder, realFolder) || llvm::sys::fs::real_path(path, realPath))
    return refuse("which is not there", "put it beside the network");
  if (!StringRef(realPath).starts_with((realFolder + llvm::sys::path::get_separator()).str()))
    return refuse("outside the network's folder", "move it beside the network");
  if (!llvm::sys::fs::is_regular_file(realPath))
    return makeError("has its data in " + quote(location) + ", which is not a regular file");
  auto opened =
      llvm::MemoryBuffer::getFile(realPath, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!opened)
    return makeError("has its data in " + quote(location) + ": " + opened.getError().message());
  buffer = std::move(*opened);
  return buffer.get();
}

Expected<StringRef> TensorReader::getExternalBytes(const TensorProto &tensor) {
  auto file = openExternal(getEntry(tensor, "location"));
  if (!file)
    return file.takeError();
  StringRef bytes = (*file)->getBuffer();
  uint64_t offset = 0, length = 0;
  StringRef offsetText = getEntry(tensor, "offset"), lengthText = getEntry(tensor, "length");
  if ((!offsetText.empty() && offsetText.getAsInteger(10, offset)) || offset > bytes.size())
    return makeError("has its data at offset " + quote(offsetText) + " of a file of " +
                     llvm::Twine(bytes.size()) + " bytes");
  bytes = bytes.drop_front(offset);
  if (lengthText.empty())
    return bytes;
  if (lengthText.getAsInteger(10, length) || length > bytes.size())
    return makeError("has its data in " + escapeText(lengthText) + " bytes of a file that has " +
                     llvm::Twine(bytes.size()) + " there");
  return bytes.take_front(length);
}

/// The raw bytes; empty, but checked, if the values lie in a typed field.
Expected<StringRef> TensorReader::getBytes(const TensorProto &tensor) {
  const ElementType *row = findElementType(tensor.data_type());
  if (!row)
    return makeError("has the element type " + printElementType(tensor.data_type()) +
                     ", which is not supported");
  Shape shape(tensor.dims().begin(), tensor.dims().end());
  auto count = countElements(shape);
  if (!count)
    return makeError("has the shape " + printShape(shape) +
                     "; dimensions must not be negative nor their product above " +
                     llvm::Twine(kMaxElements));
  if (tensor.has_segment())
    return makeError("is stored in segments, which is not supported");
  if (!isRaw(tensor)) {
    int64_t stored = (tensor.*row->typedSize)();
    if (stored == (int64_t)llvm::divideCeil(*count, row->bits < 8 ? 8 / row->bits : 1))
      return StringRef();
    return makeError("has " + llvm::Twine(stored) + " values, but its shape " + printShape(shape) +
                     " needs " + llvm::Twine(*count) + "; the file is damaged");
  }
  Expected<StringRef> bytes =
      isExternal(tensor) ? getExternalBytes(tensor) : StringRef(tensor.raw_data());
  int64_t needed = llvm::divideCeil(*count * row->bits, 8);
  if (bytes && (int64_t)bytes->size() != needed)
    return makeError("has " + llvm::Twine(bytes->size()) + " bytes, but its shape " +
                     printShape(shape) + " needs " + llvm::Twine(needed) + "; the file is damaged");
  return bytes;
}

Expected<HostTensorRef> TensorReader::read(const TensorProto &tensor) {
  auto bytes = getBytes(tensor);
  if (!bytes)
    return bytes.takeError();
  const ElementType *row = findElementType(tensor.data_type());
  auto result = std::make_shared<HostTensor>();
  result->name = tensor.name();
  result->type = tensor.data_type();
  result->shape.assign(tensor.dims().begin(), tensor.dims().end());
  result->data = isRaw(tensor) ? row->decode(*bytes) : row->decodeTyped(tensor);
  std::visit([&](auto &values) { values.resize(*countElements(result->shape)); }, result->data);
  return result;
}
