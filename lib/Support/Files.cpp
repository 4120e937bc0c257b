//===- Files.cpp - files read and written -----------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Support/Files.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"
#include <csignal>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

using namespace llvm;
using namespace octet;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

Error octet::checkFile(StringRef path, uint64_t mostBytes) {
  sys::fs::file_status status;
  if (std::error_code code = sys::fs::status(path, status))
    return createStringError(code, code.message());
  if (sys::fs::is_directory(status))
    return createStringError("is a folder");
  if (!sys::fs::is_regular_file(status))
    return createStringError("is not a regular file");
  if (status.getSize() > mostBytes)
    return createStringError("has " + Twine(status.getSize()) + " bytes, more than the " +
                             Twine(mostBytes) + " that are read of such a file");
  return Error::success();
}

Expected<std::unique_ptr<MemoryBuffer>> octet::readFile(StringRef path, uint64_t mostBytes,
                                                        Align alignment) {
  if (Error error = checkFile(path, mostBytes))
    return std::move(error);
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/true,
                                      /*IsVolatile=*/false, alignment);
  if (!buffer)
    return createStringError(buffer.getError(), buffer.getError().message());
  return std::move(*buffer);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static Error cannotWrite(StringRef path, std::error_code code) {
  return createStringError(code, "cannot write '" + path + "': " + code.message());
}

/// Removes the file if a signal ends the process. Signals that were ignored, as under nohup, stay
/// so.
static void removeOnSignal(StringRef name) {
  static constexpr int signals[] = {SIGHUP, SIGINT, SIGTERM};
  struct sigaction before[std::size(signals)];
  for (auto [number, action] : llvm::zip(signals, before))
    sigaction(number, nullptr, &action);
  sys::RemoveFileOnSignal(name);
  for (auto [number, action] : llvm::zip(signals, before))
    if (action.sa_handler == SIG_IGN)
      sigaction(number, &action, nullptr);
}

std::string octet::reserveTemporaryFile(const Twine &model) {
  SmallString<128> name;
  do
    sys::fs::createUniquePath(model, name, /*MakeAbsolute=*/false);
  while (sys::fs::exists(name));
  // Before the file is there: a signal in between would leave it.
  removeOnSignal(name);
  return std::string(name);
}

namespace {
/// A file that is written beside its path until all are. Devices and pipes, which cannot be
/// replaced, are written when the files are put in place.
class PendingFile {
public:
  explicit PendingFile(const FileContents &file) : file(file), target(file.path) {}
  PendingFile(PendingFile &&other) = default;
  ~PendingFile() {
    if (temporary.empty())
      return;
    sys::fs::remove(temporary);
    sys::DontRemoveFileOnSignal(temporary);
  }

  Error write();
  bool isReplaced() const { return !temporary.empty(); }
  Error putInPlace();

private:
  Error writeTo(StringRef path, sys::fs::CreationDisposition disposition);

  FileContents file;
  SmallString<128> target;
  std::string temporary;
};
} // namespace

Error PendingFile::writeTo(StringRef path, sys::fs::CreationDisposition disposition) {
  std::error_code code;
  raw_fd_ostream stream(path, code, disposition);
  if (code)
    return cannotWrite(file.path, code);
  stream.write(file.bytes.data(), file.bytes.size());
  stream.close();
  code = stream.error();
  stream.clear_error();
  return code ? cannotWrite(file.path, code) : Error::success();
}

Error PendingFile::write() {
  sys::fs::file_status status;
  std::error_code code = sys::fs::status(file.path, status);
  if (!code && !sys::fs::is_regular_file(status) && !sys::fs::is_directory(status))
    return Error::success();
  // The target of a link is replaced, not the link.
  if (!code && sys::fs::is_regular_file(status) && (code = sys::fs::real_path(file.path, target)))
    return cannotWrite(file.path, code);
  temporary = reserveTemporaryFile(target + ".%%%%%%%%.tmp");
  return writeTo(temporary, sys::fs::CD_CreateNew);
}

Error PendingFile::putInPlace() {
  if (!isReplaced())
    return writeTo(file.path, sys::fs::CD_OpenExisting);
  if (std::error_code code = sys::fs::rename(temporary, target))
    return cannotWrite(file.path, code);
  sys::DontRemoveFileOnSignal(temporary);
  temporary.clear();
  return Error::success();
}

Error octet::writeFiles(ArrayRef<FileContents> files) {
  std::vector<PendingFile> pending;
  pending.reserve(files.size());
  for (const FileContents &file : files)
    pending.emplace_back(file);
  for (PendingFile &file : pending)
    if (Error error = file.write())
      return error;
  // Devices first: they can still be full.
  for (bool isReplaced : {false, true})
    for (PendingFile &file : pending)
      if (file.isReplaced() == isReplaced)
        if (Error error = file.putInPlace())
          return error;
  return Error::success();
}

Error octet::writeFileAtomically(StringRef path, ArrayRef<char> contents) {
  return writeFiles({{path, contents}});
}

//===----------------------------------------------------------------------===//
// In memory
//===----------------------------------------------------------------------===//

static Error failInMemory() {
  std::error_code code(errno, std::generic_category());
  return createStringError(code, "cannot make a file in memory: " + code.message());
}

Expected<MemoryFile> MemoryFile::create(ArrayRef<ArrayRef<char>> pieces) {
  MemoryFile file(memfd_create("octet", MFD_CLOEXEC));
  if (file.descriptor < 0)
    return failInMemory();
  for (ArrayRef<char> piece : pieces)
    while (!piece.empty()) {
      ssize_t count = write(file.descriptor, piece.data(), piece.size());
      if (count < 0 && errno != EINTR)
        return failInMemory();
      piece = piece.drop_front(std::max<ssize_t>(count, 0));
    }
  return std::move(file);
}

Error MemoryFile::mapTo(const void *address, size_t size) const {
  void *place = const_cast<void *>(address);
  if (size && mmap(place, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, descriptor, 0) != place)
    return failInMemory();
  return Error::success();
}

MemoryFile::~MemoryFile() {
  if (descriptor >= 0)
    close(descriptor);
}

std::string MemoryFile::getPath() const { return "/proc/self/fd/" + std::to_string(descriptor); }
