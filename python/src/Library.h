//===- Library.h - a compiled network in this process -----------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loading of networks for the Python package. It needs the C interface and libc only: a machine
// that runs networks from Python has no LLVM. (`octet/Support/ModelLibrary.h` is the same for the
// tools, which do.)
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_PYTHON_LIBRARY_H
#define OCTET_PYTHON_LIBRARY_H

#include "octet/Runtime/octet.h"
#include <memory>
#include <string>
#include <string_view>

namespace octet::python {

/// A shared library of a network, loaded from bytes; unloads it when destroyed.
class Library {
public:
  /// Loads a library; `name` is what messages call it. Throws std::runtime_error if the bytes are
  /// no library for this machine, none that Octet made, or one for another OCTET_ABI.
  static std::shared_ptr<Library> load(std::string_view bytes, const std::string &name);

  Library(const Library &) = delete;
  Library &operator=(const Library &) = delete;
  ~Library();

  const octet_model_api &api() const { return *table; }

private:
  Library() = default;
  int descriptor = -1; // of the memory that holds the file; its number is the name under which the
                       // loader knows it
  void *handle = nullptr;
  const octet_model_api *table = nullptr;
};

} // namespace octet::python

#endif // OCTET_PYTHON_LIBRARY_H
