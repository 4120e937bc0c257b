//===- Files.cpp - files written whole or not at all ------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Support/Files.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace octet;

static Error cannotWrite(StringRef path, std::error_code code) {
  return createStringError(code, "cannot write '" + path + "': " + code.message());
}

static Error writeAll(StringRef path, raw_fd_ostream &stream, ArrayRef<char> contents) {
  stream.write(contents.data(), contents.size());
  stream.close();
  std::error_code code = stream.error();
  stream.clear_error();
  return code ? cannotWrite(path, code) : Error::success();
}

Error octet::writeFileAtomically(StringRef path, ArrayRef<char> contents) {
  sys::fs::file_status status;
  std::error_code code = sys::fs::status(path, status);
  // A device or pipe (/dev/stdout) cannot be replaced.
  if (!code && !sys::fs::is_regular_file(status) && !sys::fs::is_directory(status)) {
    raw_fd_ostream stream(path, code);
    return code ? cannotWrite(path, code) : writeAll(path, stream, contents);
  }
  // What a link points to is replaced, not the link.
  SmallString<128> target(path), temporary;
  if (!code && sys::fs::is_regular_file(status) && (code = sys::fs::real_path(path, target)))
    return cannotWrite(path, code);
  int descriptor;
  if ((code = sys::fs::createUniqueFile(target + ".%%%%%%%%.tmp", descriptor, temporary)))
    return cannotWrite(path, code);
  raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
  Error error = writeAll(path, stream, contents);
  if (!error && (code = sys::fs::rename(temporary, target)))
    error = cannotWrite(path, code);
  if (error)
    sys::fs::remove(temporary);
  return error;
}
