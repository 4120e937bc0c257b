//===- Driver.h - inputs and outputs of MLIR's drivers ----------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR's drivers read devices and pipes without end, and remove an earlier output after an error.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_TOOLS_DRIVER_H
#define OCTET_TOOLS_DRIVER_H

#include "octet/Support/Files.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"
#include <string>
#include <vector>

namespace octet {

/// Whether an input is a device, a pipe or a file of unbounded size, with a message. Missing files
/// and folders are left to the driver; "-", the standard input, may be a pipe.
inline bool hasEndlessInput(llvm::ArrayRef<std::string> arguments) {
  for (size_t i = 1; i < arguments.size(); ++i) {
    llvm::StringRef path = arguments[i];
    bool isOutput = path == "-o" || path == "--o";
    i += isOutput; // and its value
    bool isFile = llvm::sys::fs::exists(path) && !llvm::sys::fs::is_directory(path);
    if (isOutput || path.starts_with("-") || !isFile)
      continue;
    if (llvm::Error error = checkFile(path, kMostNetworkBytes)) {
      llvm::errs() << path << ": error: cannot be read: " << llvm::toString(std::move(error))
                   << "\n";
      return true;
    }
  }
  return false;
}

/// Runs `driver` with the file of `-o` replaced by a new one beside it, which takes the file's
/// place if all went well. Only the driver makes it: where it ends the process instead (an unknown
/// option), nothing is left. Returns the exit code.
template <typename DriverFn> int runDriver(int argc, char **argv, DriverFn driver) {
  std::vector<std::string> arguments(argv, argv + argc);
  if (hasEndlessInput(arguments))
    return 1;
  llvm::SmallString<128> target;
  std::string temporary;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef argument = llvm::StringRef(arguments[i]).ltrim('-');
    bool isSeparate = argument == "o" && i + 1 < argc;
    if (arguments[i][0] != '-' || !(isSeparate || argument.starts_with("o=")))
      continue;
    target = isSeparate ? llvm::StringRef(arguments[i + 1]) : argument.drop_front(2);
    // The target of a link is replaced, not the link; devices and "-" are left to the driver.
    if (llvm::sys::fs::is_regular_file(target))
      (void)llvm::sys::fs::real_path(llvm::SmallString<128>(target), target);
    else if (target == "-" || llvm::sys::fs::exists(target))
      break;
    llvm::StringRef folder = llvm::sys::path::parent_path(target);
    if (llvm::sys::fs::access(folder.empty() ? "." : folder, llvm::sys::fs::AccessMode::Write))
      break; // the driver says why it cannot be written
    temporary = reserveTemporaryFile(target + ".%%%%%%%%.tmp");
    arguments[i + isSeparate] = (isSeparate ? "" : "-o=") + temporary;
    break;
  }
  std::vector<char *> pointers;
  for (std::string &argument : arguments)
    pointers.push_back(argument.data());
  int status = driver(argc, pointers.data());
  if (temporary.empty())
    return status;
  std::error_code error;
  if (status == 0 && llvm::sys::fs::exists(temporary)) // not after --show-dialects
    error = llvm::sys::fs::rename(temporary, target);
  if (error)
    llvm::errs() << target << ": error: cannot be written: " << error.message() << "\n";
  (void)llvm::sys::fs::remove(temporary);
  llvm::sys::DontRemoveFileOnSignal(temporary);
  return error ? 1 : status;
}

} // namespace octet

#endif // OCTET_TOOLS_DRIVER_H
