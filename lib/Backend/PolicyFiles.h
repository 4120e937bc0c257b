//===- PolicyFiles.h - policies as files ------------------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_BACKEND_POLICYFILES_H
#define OCTET_LIB_BACKEND_POLICYFILES_H

#include "mlir/IR/OwningOpRef.h"
#include "octet/Backend/Backend.h"
#include "octet/Support/Diagnostics.h"

namespace octet {

/// The built-in file of a name, or null.
const BuiltinFile *findBuiltin(llvm::StringRef name);

/// Checks that the operators of patterns, folds, float ops and mapping entries exist.
llvm::LogicalResult checkOperatorNames(mlir::Operation *policy);

/// A file, by its path or built-in name, with one backend or mapping, its inclusion resolved, but
/// not its chains. `including`: the chain of files to this one.
llvm::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
readBackend(mlir::Location loc, llvm::StringRef nameOrFile,
            llvm::SmallVector<std::string> &including);
llvm::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
readMapping(mlir::Location loc, llvm::StringRef nameOrFile,
            llvm::SmallVector<std::string> &including);

/// Adds the entries of the included mapping that are not overridden. `including`: the chain of
/// files to this mapping, which is last.
llvm::LogicalResult resolveInclusion(QConfigMappingOp mapping,
                                     llvm::SmallVector<std::string> &including);

/// The only policy of its kind in a file, or null with an error emitted.
template <typename OpTy> OpTy getOnly(mlir::ModuleOp file, llvm::StringRef where) {
  auto ops = llvm::to_vector(file.getOps<OpTy>());
  if (ops.size() == 1)
    return ops.front();
  file.emitError("expected one '")
      << OpTy::getOperationName() << "' in " << where << ", but got " << ops.size();
  return {};
}

} // namespace octet

#endif // OCTET_LIB_BACKEND_POLICYFILES_H
