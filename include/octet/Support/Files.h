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

/// The most that is read of a file: of networks, and of text that people or tools write about them.
constexpr uint64_t kMostNetworkBytes = uint64_t(1) << 36, kMostTextBytes = uint64_t(1) << 28;

/// Reads a regular file of at most `mostBytes`: devices and pipes may have no end. The error is the
/// reason alone ("No such file or directory").
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readFile(llvm::StringRef path, uint64_t mostBytes, llvm::Align alignment = llvm::Align());

/// What is to be in a file.
struct FileContents {
  llvm::StringRef path;
  llvm::ArrayRef<char> bytes;
};

/// Writes files whole, and all or none of them: each to a new name beside its place, and when all
/// are written, they are renamed in order. (Should a rename fail, those before it have happened.)
/// Signals that end the process remove the new names. The error names the file.
llvm::Error writeFiles(llvm::ArrayRef<FileContents> files);

/// The same for one file.
llvm::Error writeFileAtomically(llvm::StringRef path, llvm::ArrayRef<char> contents);

/// A name of which no file is there, made of `model` with a random digit for each %; a signal that
/// ends the process removes the file that is then written there. (LLVM's list of such files: it
/// holds until sys::DontRemoveFileOnSignal, and not against SIGKILL.)
std::string reserveTemporaryFile(const llvm::Twine &model);

/// A file in memory that no folder holds, and that is gone with the process: for libraries that
/// take nothing but paths.
class MemoryFile {
public:
  static llvm::Expected<MemoryFile> create(llvm::ArrayRef<char> contents);
  MemoryFile(MemoryFile &&other) : descriptor(std::exchange(other.descriptor, -1)) {}
  MemoryFile &operator=(MemoryFile &&) = delete;
  ~MemoryFile();

  /// Its path, in this process.
  std::string getPath() const;

private:
  explicit MemoryFile(int descriptor) : descriptor(descriptor) {}

  int descriptor;
};

} // namespace octet

#endif // OCTET_SUPPORT_FILES_H
