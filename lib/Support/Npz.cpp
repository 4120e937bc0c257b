//===- Npz.cpp - NumPy's array files ----------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Support/Npz.h"
#include "Zip.h"
#include "octet/Support/Message.h"
#include "octet/Support/Quote.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace octet;

namespace {
/// One row per element type: NumPy's code, name and size.
struct DTypeRow {
  NpyDType dtype;
  StringLiteral code;
  StringLiteral name;
  int64_t bytes;
};
constexpr DTypeRow dtypes[] = {
    {NpyDType::F32, "<f4", "float32", 4}, {NpyDType::F64, "<f8", "float64", 8},
    {NpyDType::F16, "<f2", "float16", 2}, {NpyDType::U8, "|u1", "uint8", 1},
    {NpyDType::I8, "|i1", "int8", 1},     {NpyDType::U16, "<u2", "uint16", 2},
    {NpyDType::I16, "<i2", "int16", 2},   {NpyDType::U32, "<u4", "uint32", 4},
    {NpyDType::I32, "<i4", "int32", 4},   {NpyDType::U64, "<u8", "uint64", 8},
    {NpyDType::I64, "<i8", "int64", 8},   {NpyDType::Bool, "|b1", "bool", 1},
};
constexpr StringLiteral magic("\x93NUMPY");
} // namespace

static const DTypeRow &getRow(NpyDType dtype) {
  return *find_if(dtypes, [&](const DTypeRow &row) { return row.dtype == dtype; });
}

StringRef octet::getDTypeName(NpyDType dtype) { return getRow(dtype).name; }
int64_t octet::getDTypeBytes(NpyDType dtype) { return getRow(dtype).bytes; }

NpyDType octet::getNpyDType(int32_t dtype) {
  constexpr NpyDType types[] = {
#define OCTET_DTYPE(suffix, c_type, npy, name) NpyDType::npy,
#include "octet/Runtime/DTypes.def"
  };
  return types[dtype];
}

std::string octet::listNames(ArrayRef<NpyArray> arrays) {
  constexpr size_t kMost = 8;
  std::string text;
  for (const NpyArray &array : arrays.take_front(kMost))
    text += (text.empty() ? "'" : ", '") + escapeText(array.name) + "'";
  return arrays.size() <= kMost ? text
                                : text + " and " + std::to_string(arrays.size() - kMost) + " more";
}

int64_t NpyArray::numElements() const {
  if (is_contained(shape, 0))
    return 0;
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

//===----------------------------------------------------------------------===//
// The header of an array
//===----------------------------------------------------------------------===//

namespace {
/// Reads the Python dictionary in an array's header, for example
/// `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.
class HeaderParser {
public:
  explicit HeaderParser(StringRef text) : text(text) {}

  Error parse(NpyArray &array) {
    if (!consume("{"))
      return malformed();
    while (!consume("}")) {
      StringRef key;
      if (!parseString(key) || !consume(":"))
        return malformed();
      if (Error error = parseValue(key, array))
        return error;
      if (!consume(",") && !text.ltrim().starts_with("}"))
        return malformed();
    }
    return seenType && seenOrder && seenShape ? Error::success() : malformed();
  }

private:
  Error malformed() { return createStringError("the header is malformed"); }

  bool consume(StringRef token) {
    text = text.ltrim();
    return text.consume_front(token);
  }

  bool parseString(StringRef &value) {
    StringRef quote = consume("'") ? "'" : consume("\"") ? "\"" : "";
    size_t end = quote.empty() ? StringRef::npos : text.find(quote);
    if (end == StringRef::npos)
      return false;
    value = text.take_front(end);
    text = text.drop_front(end + 1);
    return true;
  }

  Error parseValue(StringRef key, NpyArray &array) {
    if (key == "descr")
      return parseType(array.dtype);
    if (key == "fortran_order")
      return parseOrder();
    return key == "shape" ? parseShape(array.shape) : malformed();
  }

  Error parseType(NpyDType &dtype) {
    StringRef code;
    seenType = true;
    if (text.ltrim().starts_with("["))
      return createStringError("records are not supported");
    if (!parseString(code))
      return malformed();
    for (const DTypeRow &row : dtypes)
      if (row.code == code) {
        dtype = row.dtype;
        return Error::success();
      }
    if (code.starts_with(">"))
      return createStringError("big-endian numbers are not supported");
    return createStringError("elements of type '" + escapeText(code) + "' are not supported");
  }

  Error parseOrder() {
    seenOrder = true;
    columnMajor = consume("True");
    return columnMajor || consume("False") ? Error::success() : malformed();
  }

  Error parseShape(std::vector<int64_t> &shape) {
    seenShape = true;
    if (!consume("("))
      return malformed();
    while (!consume(")")) {
      int64_t size;
      text = text.ltrim();
      if (text.consumeInteger(10, size) || size < 0)
        return malformed();
      shape.push_back(size);
      if (!consume(",") && !text.ltrim().starts_with(")"))
        return malformed();
    }
    return Error::success();
  }

  StringRef text;
  bool seenType = false, seenOrder = false, seenShape = false;

public:
  bool columnMajor = false;
};
} // namespace

/// Size of the elements in bytes, or an error if there are too many.
static Expected<int64_t> getDataBytes(const NpyArray &array) {
  int64_t bytes = getDTypeBytes(array.dtype);
  if (is_contained(array.shape, 0))
    return 0;
  for (int64_t size : array.shape)
    if (MulOverflow(bytes, size, bytes))
      return createStringError("the shape is too large");
  return bytes;
}

/// Reads the header at the start of a stream of `size` bytes; the stream then stands at the data.
static Error readHeader(ZipStream &stream, int64_t size, NpyArray &array) {
  char start[12];
  if (size < 10)
    return createStringError("not a NumPy array");
  if (Error error = stream.read(start, 10))
    return error;
  if (StringRef(start, magic.size()) != magic)
    return createStringError("not a NumPy array");
  int version = start[6];
  int64_t length = support::endian::read16le(start + 8);
  if (version > 1) {
    if (Error error = stream.read(start + 10, 2))
      return error;
    length = support::endian::read32le(start + 8);
  }
  if (version < 1 || version > 3 || length > (1 << 20))
    return createStringError("the header is malformed");
  std::string text(length, 0);
  if (Error error = stream.read(text.data(), length))
    return error;
  HeaderParser parser(text);
  if (Error error = parser.parse(array))
    return error;
  if (parser.columnMajor && array.shape.size() > 1)
    return makeRemedyError("column-major order is not supported",
                           "save numpy.ascontiguousarray(array)");
  Expected<int64_t> bytes = getDataBytes(array);
  if (!bytes)
    return bytes.takeError();
  if (*bytes != size - stream.position())
    return createStringError("expected " + Twine(*bytes) + " bytes of data, but got " +
                             Twine(size - stream.position()));
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

struct NpzReader::Impl {
  std::string path;
  std::unique_ptr<RandomAccessFile> file;
  std::vector<NpyArray> headers;
  StringSet<> names;
  std::vector<std::unique_ptr<ZipStream>> streams;
  /// Where the data of an array begins in its stream.
  std::vector<int64_t> dataOffsets;

  Error fail(StringRef array, Error error) {
    return locate(std::move(error), {path, array.str(), {}, {}});
  }

  Error add(const ZipMember &member, StringRef name) {
    if (!names.insert(name).second)
      return createStringError("is there twice");
    NpyArray array;
    array.name = name.str();
    auto stream = std::make_unique<ZipStream>(*file, member);
    if (Error error = stream->restart())
      return error;
    if (Error error = readHeader(*stream, member.size, array))
      return error;
    dataOffsets.push_back(stream->position());
    if (Error error = stream->restart()) // holds no memory before its elements are read
      return error;
    streams.push_back(std::move(stream));
    headers.push_back(std::move(array));
    return Error::success();
  }

  Error addArchive() {
    auto members = readZipDirectory(*file);
    if (!members)
      return fail("", members.takeError());
    for (const ZipMember &member : *members) {
      StringRef name = member.name;
      if (!name.consume_back(".npy"))
        return fail("", createStringError("'" + escapeText(name) + "' is not a NumPy array"));
      if (Error error = add(member, name))
        return fail(name, std::move(error));
    }
    return Error::success();
  }
};

NpzReader::NpzReader(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
NpzReader::~NpzReader() = default;
const std::vector<NpyArray> &NpzReader::headers() const { return impl->headers; }

Expected<std::unique_ptr<NpzReader>> NpzReader::open(StringRef path) {
  auto impl = std::make_unique<Impl>();
  impl->path = path.str();
  auto file = RandomAccessFile::open(path);
  if (!file)
    return impl->fail("", file.takeError());
  impl->file = std::move(*file);
  if (isZip(*impl->file)) {
    if (Error error = impl->addArchive())
      return error;
  } else {
    ZipMember whole;
    whole.name = "the array";
    whole.size = whole.compressedSize = impl->file->size();
    if (Error error = impl->add(whole, ""))
      return impl->fail("", std::move(error));
  }
  return std::unique_ptr<NpzReader>(new NpzReader(std::move(impl)));
}

Error NpzReader::read(size_t index, int64_t begin, int64_t end, char *out) {
  const NpyArray &array = impl->headers[index];
  ZipStream &stream = *impl->streams[index];
  int64_t rows = array.shape.empty() ? 1 : array.shape[0];
  int64_t rowBytes = rows ? array.numElements() / rows * getDTypeBytes(array.dtype) : 0;
  int64_t start = impl->dataOffsets[index] + begin * rowBytes;
  if (stream.position() > start)
    if (Error error = stream.restart())
      return impl->fail(array.name, std::move(error));
  if (Error error = stream.read(nullptr, start - stream.position()))
    return impl->fail(array.name, std::move(error));
  if (Error error = stream.read(out, (end - begin) * rowBytes))
    return impl->fail(array.name, std::move(error));
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// A .npy of version 1.0, its data at a multiple of 64 bytes.
static std::string writeNpy(const NpyArray &array) {
  std::string shape;
  for (int64_t size : array.shape)
    shape += std::to_string(size) + ",";
  std::string header = ("{'descr': '" + getRow(array.dtype).code +
                        "', 'fortran_order': False, 'shape': (" + shape + "), }")
                           .str();
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  char length[2];
  support::endian::write16le(length, header.size());
  return magic.str() + std::string("\1\0", 2) + std::string(length, 2) + header +
         std::string(array.data.begin(), array.data.end());
}

Expected<std::string> octet::writeNpz(const std::vector<NpyArray> &arrays) {
  ZipWriter writer;
  for (const NpyArray &array : arrays)
    writer.add(array.name + ".npy", writeNpy(array));
  return writer.finish();
}
