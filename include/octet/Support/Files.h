//===- Files.h - files read and written -------------------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_SUPPORT_FILES_H
#define OCTET_SUPPORT_FILES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <utility>

namespace octet {

/// The largest files that are read: networks, and text about them.
constexpr uint64_t kMostNetworkBytes = uint64_t(1) << 36, kMostTextBytes = uint64_t(1) << 28;

/// Whether a path is that of a regular file of at most `mostBytes`: devices and pipes may have no
/// end. The error is the reason alone ("No such file or directory").
llvm::Error checkFile(llvm::StringRef path, uint64_t mostBytes);

/// Reads a file that `checkFile` accepts.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readFile(llvm::StringRef path, uint64_t mostBytes, llvm::Align alignment = llvm::Align());

/// The path and the contents of a file to write.
struct FileContents {
  llvm::StringRef path;
  llvm::ArrayRef<char> bytes;
};

/// Writes files completely, and all or none of them: each to a temporary file beside its path; when
/// all are written, they are renamed in order. (If a rename fails, the files before it stay.)
/// Signals that end the process remove the temporary files. The error names the file.
llvm::Error writeFiles(llvm::ArrayRef<FileContents> files);

/// The same for one file.
llvm::Error writeFileAtomically(llvm::StringRef path, llvm::ArrayRef<char> contents);

/// A path at which no file exists: `model` with a random digit for each %. A signal that ends the
/// process, except SIGKILL, removes a file written there, until sys::DontRemoveFileOnSignal.
std::string reserveTemporaryFile(const llvm::Twine &model);

/// A file in memory, outside of any folder, that ends with the process: for libraries that take
/// only paths.
class MemoryFile {
public:
  /// Of pieces, one behind the other.
  static llvm::Expected<MemoryFile> create(llvm::ArrayRef<llvm::ArrayRef<char>> pieces);
  MemoryFile(MemoryFile &&other) : descriptor(std::exchange(other.descriptor, -1)) {}
  MemoryFile &operator=(MemoryFile &&) = delete;
  ~MemoryFile();

  /// Its path, in this process.
  std::string getPath() const;
  /// Puts its first `size` bytes in place of the whole pages from `address` on, to be read only.
  llvm::Error mapTo(const void *address, size_t size) const;

private:
  explicit MemoryFile(int descriptor) : descriptor(descriptor) {}

  int descriptor;
};

} // namespace octet

#endif // OCTET_SUPPORT_FILES_H
