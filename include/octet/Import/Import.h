//===- Import.h - networks from ONNX files ---------------------*- C++ -*- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_IMPORT_IMPORT_H
#define OCTET_IMPORT_IMPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"

namespace octet {

/// What to do about an input whose only unknown dimension is the first one.
enum class UnknownBatch {
  Error, ///< an error that names the input and `--input-shape`
  One,   ///< the batch is 1, said in a remark
};

struct ImportOptions {
  /// Shapes of inputs by name; needed where the file leaves a dimension open.
  llvm::StringMap<llvm::SmallVector<int64_t>> inputShapes;
  UnknownBatch unknownBatch = UnknownBatch::Error;
};

/// Imports a network into one `func.func @main` of nn ops. Errors go to the context's diagnostic handlers, located at the
/// node they are about (or at the file); the result is then null. External data must lie in the file's folder.
mlir::OwningOpRef<mlir::ModuleOp> importOnnx(mlir::MLIRContext *context, llvm::StringRef path,
                                             const ImportOptions &options = {});

/// The same from memory. `name` is what messages call the network; `folder` holds external data (none if empty).
mlir::OwningOpRef<mlir::ModuleOp> importOnnxBuffer(mlir::MLIRContext *context, llvm::StringRef bytes,
                                                   llvm::StringRef name, llvm::StringRef folder = {},
                                                   const ImportOptions &options = {});

/// Prints the table of ONNX operators that can be imported, with their attributes.
void listOnnxOperators(llvm::raw_ostream &os);

/// Reads "x=1x3x224x224" into the options; on failure `error` says what was expected.
llvm::LogicalResult parseInputShape(llvm::StringRef text, ImportOptions &options, std::string &error);

/// Prints IR for people: with locations, without the contents of weights.
void printElided(mlir::ModuleOp module, llvm::raw_ostream &os);

/// Registers `octet-translate --import-onnx`.
void registerOnnxImport();

/// Figures of an imported network.
struct ImportSummary {
  int64_t operators = 0;     ///< nn ops without constants
  int64_t multiplyAdds = 0;  ///< of convolutions and matrix products, one run
  int64_t constantBytes = 0; ///< of weights and other constants
};
ImportSummary summarize(mlir::ModuleOp module);

} // namespace octet

#endif // OCTET_IMPORT_IMPORT_H
