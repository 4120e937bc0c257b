//===- Zip.h - zip archives read as streams ---------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_SUPPORT_ZIP_H
#define OCTET_LIB_SUPPORT_ZIP_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace octet {

/// An open file that is read at any place.
class RandomAccessFile {
public:
  static llvm::Expected<std::unique_ptr<RandomAccessFile>> open(llvm::StringRef path);
  ~RandomAccessFile();
  int64_t size() const { return fileSize; }
  /// Exactly `count` bytes from `offset`.
  llvm::Error read(int64_t offset, char *out, int64_t count) const;

private:
  int descriptor = -1;
  int64_t fileSize = 0;
};

/// A member of an archive, or a whole file (method 0, no checksum).
struct ZipMember {
  std::string name;
  int method = 0;
  bool hasChecksum = false;
  uint32_t checksum = 0;
  /// Where the data begins, once known (`ZipStream` looks behind the member's own header).
  int64_t offset = 0;
  bool offsetIsOfHeader = false;
  int64_t compressedSize = 0;
  int64_t size = 0;
};

bool isZip(const RandomAccessFile &file);
llvm::Expected<std::vector<ZipMember>> readZipDirectory(const RandomAccessFile &file);

/// Reads a member from front to back; checks its checksum when the end is reached.
class ZipStream {
public:
  ZipStream(const RandomAccessFile &file, ZipMember member);
  ~ZipStream();
  /// Back to the front; memory for decompressing is there from the next read on.
  llvm::Error restart();
  /// The next `count` bytes; `out` null skips them.
  llvm::Error read(char *out, int64_t count);
  int64_t position() const { return done; }

private:
  llvm::Error readSome(char *out, int64_t count);
  llvm::Error inflateSome(char *out, int64_t count);

  const RandomAccessFile &file;
  ZipMember member;
  int64_t done = 0, consumed = 0;
  uint32_t checksum = 0;
  struct Inflater;
  std::unique_ptr<Inflater> inflater;
};

/// Appends members to an archive, stored.
class ZipWriter {
public:
  void add(llvm::StringRef name, llvm::StringRef data);
  /// The archive; an error if it is larger than the format without extensions allows.
  llvm::Expected<std::string> finish();

private:
  std::string archive, directory;
  uint64_t count = 0;
  bool tooLarge = false;
};

} // namespace octet

#endif // OCTET_LIB_SUPPORT_ZIP_H
