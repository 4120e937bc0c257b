//===- ModelLibrary.h - loads a compiled network ----------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_SUPPORT_MODELLIBRARY_H
#define OCTET_SUPPORT_MODELLIBRARY_H

#include "octet/Runtime/octet.h"
#include "octet/Support/Files.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <memory>

namespace octet {

/// A loaded shared library of a network, unloaded by the destructor. Its models must be destroyed
/// before.
class ModelLibrary {
public:
  /// Loads a copy of the file. Errors: not a library for this machine, not made by Octet, made for
  /// another OCTET_ABI.
  static llvm::Expected<std::unique_ptr<ModelLibrary>> load(llvm::StringRef path);

  /// Loads a library that lies in memory, without a file on disk. `weights` are those that it
  /// leaves out (EmitOptions::leavesWeightsOut).
  static llvm::Expected<std::unique_ptr<ModelLibrary>>
  loadBytes(llvm::ArrayRef<char> bytes, const MemoryFile *weights = nullptr);

  ~ModelLibrary();

  const octet_model_api &api() const { return *table; }
  const octet_descriptor &descriptor() const { return *table->descriptor; }

private:
  ModelLibrary(void *handle, const octet_model_api *table, int descriptorNumber)
      : handle(handle), table(table), descriptorNumber(descriptorNumber) {}
  void *handle;
  const octet_model_api *table;
  int descriptorNumber;
};

/// Destroys a model of the given library.
struct ModelDeleter {
  const octet_model_api *api = nullptr;
  void operator()(octet_model *model) const { api->destroy(model); }
};
using ModelPtr = std::unique_ptr<octet_model, ModelDeleter>;

/// Creates a model; `level` empty = OCTET_CPU_LEVEL or the best. The runtime's message becomes the
/// error.
llvm::Expected<ModelPtr> createModel(const ModelLibrary &library, int threads = 1,
                                     llvm::StringRef level = "");

/// The error that `run` or `run_steps` of a model with this program returned, if it did.
llvm::Error checkRun(int32_t code, const octet_program &program);

} // namespace octet

#endif // OCTET_SUPPORT_MODELLIBRARY_H
