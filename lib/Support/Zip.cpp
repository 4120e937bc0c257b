//===- Zip.cpp - zip archives read as streams -------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Zip.h"
#include "octet/Support/Quote.h"
#include "llvm/Support/Endian.h"
#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

using namespace llvm;
using namespace llvm::support::endian;
using namespace octet;

// Layout of the records, from the .ZIP file format specification (APPNOTE), version 6.3.
static constexpr uint32_t localSignature = 0x04034b50, centralSignature = 0x02014b50,
                          endSignature = 0x06054b50, end64Signature = 0x06064b50,
                          locator64Signature = 0x07064b50;
static constexpr int64_t localSize = 30, centralSize = 46, endSize = 22, end64Size = 56,
                         locator64Size = 20;

static Error damaged(const Twine &what) { return createStringError("damaged archive: " + what); }

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

Expected<std::unique_ptr<RandomAccessFile>> RandomAccessFile::open(StringRef path) {
  auto file = std::make_unique<RandomAccessFile>();
  file->descriptor = ::open(path.str().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status;
  if (file->descriptor < 0 || fstat(file->descriptor, &status))
    return createStringError(Twine(std::strerror(errno)));
  if (!S_ISREG(status.st_mode))
    return createStringError("not a regular file");
  file->fileSize = status.st_size;
  return file;
}

RandomAccessFile::~RandomAccessFile() {
  if (descriptor >= 0)
    close(descriptor);
}

Error RandomAccessFile::read(int64_t offset, char *out, int64_t count) const {
  if (offset < 0 || count < 0 || offset > fileSize || count > fileSize - offset)
    return createStringError("the file is truncated");
  while (count > 0) {
    ssize_t got = pread(descriptor, out, count, offset);
    if (got == 0 || (got < 0 && errno != EINTR))
      return createStringError(got ? Twine(std::strerror(errno)) : Twine("the file is truncated"));
    if (got < 0)
      continue;
    out += got, offset += got, count -= got;
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// The directory
//===----------------------------------------------------------------------===//

bool octet::isZip(const RandomAccessFile &file) {
  char start[4];
  if (Error error = file.read(0, start, sizeof(start))) {
    consumeError(std::move(error));
    return false;
  }
  uint32_t signature = read32le(start);
  return signature == localSignature || signature == endSignature;
}

namespace {
struct Directory {
  uint64_t offset, size, count;
};
} // namespace

/// The end record stands last, behind at most a comment of 64 KiB.
static Expected<Directory> findDirectory(const RandomAccessFile &file) {
  int64_t size = std::min<int64_t>(file.size(), endSize + 0xffff), start = file.size() - size;
  std::string tail(size, 0);
  if (Error error = file.read(start, tail.data(), size))
    return error;
  int64_t at = size - endSize;
  while (at >= 0 && read32le(&tail[at]) != endSignature)
    --at;
  if (at < 0)
    return createStringError("the file is truncated: it has no archive directory");
  Directory directory{read32le(&tail[at + 16]), read32le(&tail[at + 12]), read16le(&tail[at + 10])};
  if (at < locator64Size || read32le(&tail[at - locator64Size]) != locator64Signature)
    return directory;
  char end64[end64Size];
  if (Error error = file.read(read64le(&tail[at - locator64Size + 8]), end64, end64Size))
    return error;
  if (read32le(end64) != end64Signature)
    return damaged("no directory where the locator says");
  return Directory{read64le(end64 + 48), read64le(end64 + 40), read64le(end64 + 32)};
}

/// Sizes and offset that do not fit into 32 bits stand in an extra field, in this order and only if
/// they are needed.
static void readZip64Fields(StringRef extra, ZipMember &member) {
  while (extra.size() >= 4) {
    uint16_t kind = read16le(extra.data()), size = read16le(extra.data() + 2);
    StringRef field = extra.substr(4, size);
    extra = extra.drop_front(std::min<size_t>(extra.size(), 4 + size));
    if (kind != 1)
      continue;
    for (int64_t *value : {&member.size, &member.compressedSize, &member.offset})
      if (*value == 0xffffffff && field.size() >= 8) {
        *value = read64le(field.data());
        field = field.drop_front(8);
      }
  }
}

/// Where a member ends at the earliest; its own header may hold more than the directory.
static int64_t getEnd(const ZipMember &member) {
  return member.offset + localSize + int64_t(member.name.size()) + member.compressedSize;
}

/// No byte of the file belongs to two members: else a small file could give one of them under any
/// number of names, each with memory of its own.
static Error checkOverlap(ArrayRef<ZipMember> members) {
  std::vector<const ZipMember *> sorted;
  for (const ZipMember &member : members)
    sorted.push_back(&member);
  llvm::sort(sorted, [](auto *a, auto *b) {
    return std::pair(a->offset, a->compressedSize) < std::pair(b->offset, b->compressedSize);
  });
  for (size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i]->offset < getEnd(*sorted[i - 1]))
      return damaged("'" + escapeText(sorted[i - 1]->name) + "' and '" +
                     escapeText(sorted[i]->name) + "' lie over one another");
  return Error::success();
}

Expected<std::vector<ZipMember>> octet::readZipDirectory(const RandomAccessFile &file) {
  Expected<Directory> directory = findDirectory(file);
  if (!directory)
    return directory.takeError();
  if (directory->size > uint64_t(file.size()))
    return damaged("the directory is larger than the file");
  std::string bytes(directory->size, 0);
  if (Error error = file.read(directory->offset, bytes.data(), bytes.size()))
    return error;
  std::vector<ZipMember> members;
  StringRef rest(bytes);
  for (uint64_t i = 0; i < directory->count; ++i) {
    if (int64_t(rest.size()) < centralSize || read32le(rest.data()) != centralSignature)
      return damaged("its directory ends early");
    const char *record = rest.data();
    uint64_t nameSize = read16le(record + 28), extraSize = read16le(record + 30),
             commentSize = read16le(record + 32);
    if (rest.size() < centralSize + nameSize + extraSize + commentSize)
      return damaged("its directory ends early");
    ZipMember member;
    member.name = rest.substr(centralSize, nameSize).str();
    if (read16le(record + 8) & 1)
      return createStringError("'" + escapeText(member.name) + "' is encrypted");
    member.method = read16le(record + 10);
    if (member.method != 0 && member.method != Z_DEFLATED)
      return createStringError("'" + escapeText(member.name) +
                               "' is compressed by an unknown method (" + Twine(member.method) +
                               ")");
    member.hasChecksum = true;
    member.checksum = read32le(record + 16);
    member.compressedSize = read32le(record + 20);
    member.size = read32le(record + 24);
    member.offset = read32le(record + 42);
    member.offsetIsOfHeader = true;
    readZip64Fields(rest.substr(centralSize + nameSize, extraSize), member);
    // Deflate makes 1032 bytes of one at most. Without this check a few bytes could ask for any
    // amount of memory.
    int64_t largest = member.method ? 1032 : 1;
    if (member.compressedSize < 0 || member.compressedSize > file.size() || member.size < 0 ||
        member.size > member.compressedSize * largest || member.offset < 0 ||
        member.offset > file.size())
      return damaged("'" + escapeText(member.name) + "' has an impossible size or place");
    members.push_back(std::move(member));
    rest = rest.drop_front(centralSize + nameSize + extraSize + commentSize);
  }
  if (Error error = checkOverlap(members))
    return std::move(error);
  return members;
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

struct ZipStream::Inflater {
  z_stream stream = {};
  char input[1 << 16];
  ~Inflater() { inflateEnd(&stream); }
};

ZipStream::ZipStream(const RandomAccessFile &file, ZipMember member)
    : file(file), member(std::move(member)) {}
ZipStream::~ZipStream() = default;

Error ZipStream::restart() {
  if (member.offsetIsOfHeader) {
    char header[localSize];
    if (Error error = file.read(member.offset, header, localSize))
      return error;
    if (read32le(header) != localSignature)
      return damaged("'" + escapeText(member.name) + "' is not where the directory says");
    member.offset += localSize + read16le(header + 26) + read16le(header + 28);
    member.offsetIsOfHeader = false;
  }
  done = consumed = 0;
  checksum = 0;
  inflater.reset();
  return Error::success();
}

Error ZipStream::inflateSome(char *out, int64_t count) {
  if (!inflater) {
    inflater = std::make_unique<Inflater>();
    if (inflateInit2(&inflater->stream, -MAX_WBITS) != Z_OK)
      return createStringError("out of memory");
  }
  z_stream &stream = inflater->stream;
  stream.next_out = reinterpret_cast<Bytef *>(out);
  stream.avail_out = count;
  while (stream.avail_out) {
    if (!stream.avail_in) {
      int64_t size = std::min<int64_t>(sizeof(inflater->input), member.compressedSize - consumed);
      if (Error error = file.read(member.offset + consumed, inflater->input, size))
        return error;
      consumed += size;
      stream.next_in = reinterpret_cast<Bytef *>(inflater->input);
      stream.avail_in = size;
    }
    int result = inflate(&stream, Z_NO_FLUSH);
    if ((result != Z_OK && result != Z_STREAM_END) || (result == Z_STREAM_END && stream.avail_out))
      return damaged("'" + escapeText(member.name) + "' cannot be decompressed");
  }
  return Error::success();
}

Error ZipStream::readSome(char *out, int64_t count) {
  Error error = member.method == Z_DEFLATED ? inflateSome(out, count)
                                            : file.read(member.offset + done, out, count);
  if (error)
    return error;
  done += count;
  if (!member.hasChecksum)
    return Error::success();
  checksum = crc32(checksum, reinterpret_cast<const Bytef *>(out), count);
  if (done == member.size && checksum != member.checksum)
    return damaged("the checksum of '" + escapeText(member.name) + "' is wrong");
  return Error::success();
}

Error ZipStream::read(char *out, int64_t count) {
  if (count > member.size - done)
    return createStringError("'" + escapeText(member.name) + "' is truncated");
  char skipped[1 << 14];
  int64_t step = out ? 1 << 30 : sizeof(skipped);
  for (int64_t size; count > 0; count -= size) {
    size = std::min(count, step);
    if (Error error = readSome(out ? out : skipped, size))
      return error;
    out = out ? out + size : nullptr;
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static void append16(std::string &text, uint16_t value) {
  char bytes[2];
  write16le(bytes, value);
  text.append(bytes, sizeof(bytes));
}

static void append32(std::string &text, uint32_t value) {
  char bytes[4];
  write32le(bytes, value);
  text.append(bytes, sizeof(bytes));
}

void ZipWriter::add(StringRef name, StringRef data) {
  constexpr uint16_t version = 20, utf8 = 1 << 11, stored = 0, midnight = 0, firstDayOf1980 = 0x21;
  tooLarge |= data.size() >= 0xffffffff || archive.size() >= 0xffffffff || name.size() > 0xffff ||
              count >= 0xffff;
  if (tooLarge)
    return;
  uint32_t checksum = crc32_z(0, reinterpret_cast<const Bytef *>(data.data()), data.size());
  uint64_t offset = archive.size();
  // The fields that both records have.
  std::string common;
  for (uint16_t value : {version, utf8, stored, midnight, firstDayOf1980})
    append16(common, value);
  for (uint32_t value : {checksum, uint32_t(data.size()), uint32_t(data.size())})
    append32(common, value);
  append16(common, name.size());
  append16(common, 0);

  append32(archive, localSignature);
  archive += common;
  archive += name;
  archive += data;

  append32(directory, centralSignature);
  append16(directory, version);
  directory += common;
  directory.append(10, 0); // No comment, first disk, no attributes.
  append32(directory, offset);
  directory += name;
  ++count;
}

Expected<std::string> ZipWriter::finish() {
  if (tooLarge || archive.size() + directory.size() >= 0xffffffff)
    return createStringError("an archive above 4 GiB cannot be written");
  uint32_t offset = archive.size();
  archive += directory;
  append32(archive, endSignature);
  append32(archive, 0);
  append16(archive, count);
  append16(archive, count);
  append32(archive, directory.size());
  append32(archive, offset);
  append16(archive, 0);
  return std::move(archive);
}
