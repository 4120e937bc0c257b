//===- Compile.h - from a network's file to machine code --------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What octet-compile and the language bindings call: orders the stages, streams the calibration samples, says what was
// done. Nothing is written here but a file of statistics where one is asked for.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_PIPELINES_COMPILE_H
#define OCTET_PIPELINES_COMPILE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace octet {

enum class Stage {
#define OCTET_STAGE(enumerator, name, summary) enumerator,
#include "octet/Pipelines/Stages.def"
};

struct StageInfo {
  Stage stage;
  llvm::StringLiteral name, summary;
};
/// All stages, in order.
llvm::ArrayRef<StageInfo> getStages();
llvm::StringRef getName(Stage stage);

/// What is made of the network.
enum class Artifact {
  Library,  ///< a shared library
  Object,   ///< an object file and a C header
  LLVMIR,   ///< LLVM IR as text
  Assembly, ///< assembly
  MLIR,     ///< bytecode, and text beside it
  ONNX,     ///< the reference model as an ONNX file with QuantizeLinear and DequantizeLinear
};

enum class Precision { Int8, Float };

/// What is told while compiling; each function may be empty.
struct Progress {
  /// One line about a stage that ended.
  std::function<void(llvm::StringRef stage, llvm::StringRef text)> onStage;
  /// Samples seen so far, of how many, after how many seconds.
  std::function<void(int64_t done, int64_t total, double seconds)> onSamples;
};

struct CompileRequest {
  /// Path of an ONNX file, or of IR that an earlier compilation stopped at (.mlir, .mlirbc).
  std::string model;
  /// Shapes of inputs that the file leaves open, by name.
  llvm::StringMap<llvm::SmallVector<int64_t>> inputShapes;
  Precision precision = Precision::Int8;

  /// Files (.npz, .npy) of samples, or folders of them.
  std::vector<std::string> calibrationData;
  /// Files of statistics that earlier calibrations saved; they are merged with each other and with the samples'.
  std::vector<std::string> loadStatistics;
  std::string saveStatistics;

  std::string backend = "cpu";
  std::string qconfigMapping; ///< a file; empty: the backend's own
  bool isIoQuantized = false; ///< inputs and outputs are integers where the network quantizes them
  bool isStrict = false;      ///< what the policy wants quantized but is not, is an error

  std::string triple;              ///< empty: this machine
  std::vector<std::string> levels; ///< CPU levels in any order; empty: all of the target's architecture
  unsigned threads = 1;            ///< for calibration; never changes the result
  std::string name;                ///< symbols begin with it; empty: the model file's stem
  Artifact artifact = Artifact::Library;
  std::optional<Stage> stopAfter; ///< the result is IR (Artifact::MLIR)
  Progress progress;
};

struct CompileResult {
  llvm::SmallVector<char, 0> bytes;
  /// Text that belongs beside `bytes`: the C header of an object, the readable form of bytecode.
  std::string companion;
  /// What became of every operator, sizes and times.
  std::string reportJson;
  /// Warnings, one a line.
  std::string warnings;
};

/// The extension of what `compile` gives beside the result; empty if nothing.
llvm::StringRef getCompanionExtension(const CompileRequest &request);

/// Compiles a network. The error holds every diagnostic, each with the place it is about.
llvm::Expected<CompileResult> compile(const CompileRequest &request);

} // namespace octet

#endif // OCTET_PIPELINES_COMPILE_H
