//===- Options.h - what a compilation is asked for --------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One struct of options for each part of the compiler; each part receives only its own.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_PIPELINES_OPTIONS_H
#define OCTET_PIPELINES_OPTIONS_H

#include "mlir/IR/BuiltinOps.h"
#include "octet/Import/Import.h"
#include "octet/Pipelines/Stages.h"
#include "llvm/Support/JSON.h"
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace octet {

enum class Precision {
  Int8,
  Float,
  AsInFile, ///< int8 if the network is quantized in its file, else float
};

/// Which operators run in int8, and how.
struct PolicyOptions {
  Precision precision = Precision::Int8;
  /// Names of built-in policies or files; empty: the policy of the IR, else "cpu" and its mapping.
  std::string backend, qconfigMapping;
  bool isIoQuantized = false; ///< inputs and outputs are integers where the network quantizes them
  bool isStrict = false;      ///< an operator that stays float against the policy is an error
  bool hasStaticScales = false; ///< recipes give no scales of each run; implied for Artifact::ONNX
  bool keepsOperators = false;  ///< the policy is about operators as the source has them
};

/// The sources of the observers' statistics.
struct CalibrationOptions {
  /// Files (.npz, .npy) of samples, or folders of them.
  std::vector<std::string> calibrationData;
  /// Files of statistics that earlier calibrations saved; they are merged with each other and with
  /// the samples'.
  std::vector<std::string> loadStatistics;
  std::string saveStatistics; ///< a file to write; empty: none
  /// Of a run and of a measurement; 0: one for each core. They never change the result.
  unsigned threads = 0;
  bool comparesLayers = false; ///< figures of octet-compare-layers for the report

  bool hasSource() const { return !calibrationData.empty() || !loadStatistics.empty(); }
};

/// The machines that code is generated for.
struct TargetOptions {
  std::string triple; ///< empty: this machine
  /// CPU levels in any order; empty: the default ones of the target's architecture.
  std::vector<std::string> levels;
};

/// The kind of output.
enum class Artifact {
  Library,  ///< a shared library
  Object,   ///< an object file and a C header
  LLVMIR,   ///< LLVM IR as text
  Assembly, ///< assembly
  MLIR,     ///< bytecode, and text beside it
  ONNX,     ///< the reference model as an ONNX file with QuantizeLinear and DequantizeLinear
};

struct OutputOptions {
  std::string name; ///< symbols begin with it; empty: the model file's stem
  Artifact artifact = Artifact::Library;
  std::optional<Stage> stopAfter; ///< the result is IR (Artifact::MLIR)
  bool hasUnwindTables = false;   ///< EmitOptions::hasUnwindTables
};

/// How far work has come that may take long.
struct WorkDone {
  llvm::StringRef stage, unit; ///< "calibrate", "samples"
  int64_t done, total;
  double seconds; ///< since the start
};

/// Callbacks during a compilation; each may be empty.
struct Progress {
  /// A stage has ended: its name and a line about it.
  std::function<void(llvm::StringRef stage, llvm::StringRef text)> onStage;
  /// One more unit of work is done.
  std::function<void(const WorkDone &work)> onWork;
  /// A pass has a figure for the report.
  std::function<void(llvm::StringRef key, llvm::json::Value value)> onFigure;
  /// A calibration has ended: the text of its file of statistics.
  std::function<void(std::string text)> onStatistics;
  /// The same, also without observers: the network with statistics, in front of its recipe.
  std::function<void(mlir::ModuleOp network)> onCalibrated;
};

struct CompileRequest {
  /// Registers dialects beside Octet's own, such as those of plugins; may be empty.
  std::function<void(mlir::DialectRegistry &)> registerDialects;
  /// Path of a file of a kind in `getSources()`.
  std::string model;
  ImportOptions import;
  /// Input shapes of each bucket, the largest first (listBuckets); empty: those of `import` alone.
  std::vector<InputShapes> buckets;
  /// Paths of the same network for further shapes, each a bucket; such networks fix their shapes.
  std::vector<std::string> furtherBuckets;
  /// Numbers by the names of inputs with which values are filled up to a bucket's shape.
  llvm::StringMap<double> paddings;
  /// Inputs and outputs that the library keeps, as in "h=hn", or "auto" (octet-keep-states).
  std::vector<std::string> states;
  PolicyOptions policy;
  CalibrationOptions calibration;
  TargetOptions target;
  OutputOptions output;
  Progress progress;
};

} // namespace octet

#endif // OCTET_PIPELINES_OPTIONS_H
