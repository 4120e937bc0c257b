//===- Import.h - what every source of networks shares ---------*- C++ -*- ===//
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
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <functional>
#include <map>

namespace octet {

/// The treatment of an input whose only unknown dimension is the first one.
enum class UnknownBatch {
  Error, ///< an error that names the input and `--input-shape`
  One,   ///< the batch is 1, with a remark
};

/// Shapes of inputs by name.
using InputShapes = std::map<std::string, llvm::SmallVector<int64_t>, std::less<>>;
/// The shapes of an input in every bucket, by name; one shape if it is the same in all.
using InputShapeLists = std::map<std::string, std::vector<llvm::SmallVector<int64_t>>, std::less<>>;

struct ImportOptions {
  /// Needed where the file leaves a dimension open.
  InputShapes inputShapes;
  /// Inputs that are constants, by name: every element is this number.
  llvm::StringMap<double> inputValues;
  UnknownBatch unknownBatch = UnknownBatch::Error;
  /// The bytes of the result of a network without inputs. With it, operators that need the value of
  /// an operand at the import get it wherever it follows from constants, whatever is between them.
  std::function<llvm::Expected<std::vector<char>>(mlir::ModuleOp)> evaluate = {};
};

/// A kind of file that networks are read from: one row of the table in Sources.cpp.
struct Source {
  llvm::StringLiteral summary;     ///< for help and messages
  llvm::StringLiteral extensions;  ///< separated by spaces
  llvm::StringLiteral magic;       ///< first bytes, for files with another extension; may be empty
  llvm::StringLiteral translation; ///< option of octet-translate; empty if there is none
  bool isIR; ///< takes no import options; a compilation may have written it behind any stage
  /// Reads a network; null after an error, which is emitted at the file or a place in it. External
  /// data must lie in the folder of the buffer's identifier, a path.
  mlir::OwningOpRef<mlir::ModuleOp> (*read)(mlir::MLIRContext *context,
                                            const llvm::MemoryBuffer &file,
                                            const ImportOptions &options);
};

llvm::ArrayRef<Source> getSources();

/// "ONNX networks (.onnx), MLIR as text or bytecode (.mlir, .mlirbc)"
std::string listSources();

/// An open file and its kind.
struct NetworkFile {
  const Source *source;
  std::unique_ptr<llvm::MemoryBuffer> buffer;
};

/// Opens a file and determines its kind by its extension, else by its first bytes. Emits an error
/// if the file cannot be read or its kind is unknown.
llvm::FailureOr<NetworkFile> openNetwork(mlir::MLIRContext *context, llvm::StringRef path);

/// Registers `octet-translate --import-…` for every source with a translation.
void registerImports();

/// Parses "x=1x3x224x224" or "ids=1x{16,32},mask=1x{16,32}", the value of `--input-shape`.
llvm::Error parseInputShapes(llvm::StringRef text, InputShapeLists &lists);

/// The shapes of inputs in each bucket, the largest bucket first; at least one.
llvm::Expected<std::vector<InputShapes>> listBuckets(const InputShapeLists &lists);

/// "ids=1x16, mask=1x16"
std::string printShapes(const InputShapes &shapes);

/// Parses "sr=16000", the value of an option for an input such as `--input-value`.
llvm::Error parseInputNumber(llvm::StringRef option, llvm::StringRef text,
                             llvm::StringMap<double> &numbers);

/// Prints readable IR: with locations, without the contents of weights.
void printElided(mlir::ModuleOp module, llvm::raw_ostream &os);

/// Figures of an imported network.
struct ImportSummary {
  int64_t operators = 0;     ///< nn ops without constants
  int64_t multiplyAdds = 0;  ///< of convolutions and matrix products, one run
  int64_t constantBytes = 0; ///< of weights and other constants
};
ImportSummary summarize(mlir::ModuleOp module);

} // namespace octet

#endif // OCTET_IMPORT_IMPORT_H
