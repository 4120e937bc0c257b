//===- BackendJson.h - backends in PyTorch's dictionary form ----*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The keys are those of BackendConfig.to_dict(). A configuration is an octet.chain of the classes
// in its pattern; what Octet does not read is kept in `fx` and written back.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_BACKEND_BACKENDJSON_H
#define OCTET_LIB_BACKEND_BACKENDJSON_H

#include "octet/Backend/Backend.h"
#include "llvm/Support/JSON.h"

namespace octet {

/// A module with the backend of a JSON text, chains unresolved; null, with an error emitted at
/// `file`, if it is none.
/// The value that a text is; fails with an error emitted.
llvm::FailureOr<llvm::json::Value> parseJson(mlir::Location loc, llvm::StringRef text);

mlir::OwningOpRef<mlir::ModuleOp> parseJsonBackend(llvm::StringRef text, mlir::MLIRContext *context,
                                                   llvm::StringRef file);

/// Writes a backend whose inclusion is resolved, but not its chains.
llvm::LogicalResult writeJsonBackend(BackendOp backend, llvm::raw_ostream &os);

/// The names of PyTorch's data types and observation types.
mlir::Type parseFxType(mlir::MLIRContext *context, llvm::StringRef name);
llvm::StringRef getFxName(mlir::Type type);
std::optional<Observation> parseFxObservation(llvm::StringRef name);
llvm::StringRef getFxName(Observation observation);

/// JSON as attributes: objects, lists, texts, numbers, truth values; null is a unit.
mlir::Attribute toAttribute(mlir::Builder &builder, const llvm::json::Value &value);
llvm::json::Value toJson(mlir::Attribute attribute);

} // namespace octet

#endif // OCTET_LIB_BACKEND_BACKENDJSON_H
