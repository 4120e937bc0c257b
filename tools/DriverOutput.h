//===- DriverOutput.h - outputs of MLIR's drivers ---------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR's drivers remove an earlier output after an error.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_TOOLS_DRIVEROUTPUT_H
#define OCTET_TOOLS_DRIVEROUTPUT_H

#include "octet/Support/Files.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"
#include <string>
#include <vector>

namespace octet {

/// Runs `driver` with the file of `-o` replaced by a new one beside it, which takes the file's
/// place if all went well. Only the driver makes it: where it ends the process instead (an unknown
/// option), nothing is left. Returns the exit code.
template <typename DriverFn> int runDriver(int argc, char **argv, DriverFn driver) {
  std::vector<std::string> arguments(argv, argv + argc);
  llvm::SmallString<128> target;
  std::string temporary;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef argument = llvm::StringRef(arguments[i]).ltrim('-');
    bool isSeparate = argument == "o" && i + 1 < argc;
    if (arguments[i][0] != '-' || !(isSeparate || argument.starts_with("o=")))
      continue;
    target = isSeparate ? llvm::StringRef(arguments[i + 1]) : argument.drop_front(2);
    // A link's target is replaced, not the link; what is no file (a device, "-") is left to the
    // driver.
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

#endif // OCTET_TOOLS_DRIVEROUTPUT_H
