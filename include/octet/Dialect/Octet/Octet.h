//===- Octet.h - the octet dialect ------------------------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_DIALECT_OCTET_OCTET_H
#define OCTET_DIALECT_OCTET_OCTET_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Quant/IR/Quant.h"
#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <optional>

namespace octet {

/// The smallest and the largest integer of a storage type; signless ones are signed.
std::pair<int64_t, int64_t> getStorageRange(mlir::IntegerType type);

/// The known properties of the quantized types that an observer gives
/// (ObserverAttrInterface::getSpec). An empty member is not known before calibration.
struct ObserverSpec {
  mlir::IntegerType dtype;
  /// Instead of `dtype`: the values stay floats of this type.
  mlir::FloatType floatType;
  /// Scale and zero point are chosen in each run, for each row or for all elements.
  bool isDynamic = false, isPerRow = false;
  /// Instead of `dtype`: the result has the observer of the inputs.
  bool reusesInput = false;
  /// Zero points are real numbers (ObserverAttrInterface::getFloatQParams).
  bool hasFloatZeroPoints = false;
  std::optional<int64_t> quantMin, quantMax;
  /// The least scale.
  std::optional<double> eps;
  std::optional<int64_t> channelAxis;
  /// Constants, if the observer ignores the data.
  std::optional<double> fixedScale;
  std::optional<int64_t> fixedZeroPoint;
};

/// Scales and real zero points: one of each, or one per index of `axis`.
struct FloatQParams {
  llvm::SmallVector<float> scales, zeroPoints;
  int64_t axis = -1; ///< -1: per tensor
};

/// What a QConfig mapping's entry is about: its attributes but the QConfig. Entries of one kind
/// with one subject exclude each other.
mlir::DictionaryAttr getEntrySubject(mlir::Operation *entry);

/// Whether an attribute can hold an observer's state: a vector of i8, i64, f32 or f64.
bool isStatistics(mlir::Attribute attribute);

/// Whether a leaf of a pattern stands for all remaining operands.
bool isVariadicLeaf(mlir::Operation *leaf);

/// A unit, on an argument or a result of a function: octet-quantize-signature makes it integers.
inline constexpr llvm::StringLiteral kQuantizedAttr = "octet.quantized";

// Discardable attributes of modules, with which one compilation goes on from another.
/// A string: the stage that the network has passed, a row of Stages.def.
inline constexpr llvm::StringLiteral kStageAttr = "octet.stage";
/// A string: the report up to there, as JSON.
inline constexpr llvm::StringLiteral kReportAttr = "octet.report";
/// A unit: the network was prepared for quantized inputs and outputs.
inline constexpr llvm::StringLiteral kQuantizedIoAttr = "octet.quantized_io";
/// A float: the network is compiled for several shapes, which share their weights; the largest part
/// of multiply-adds that products of two activations have in one of them.
inline constexpr llvm::StringLiteral kBucketAttr = "octet.bucket";
/// A unit: recipes give no scales of each run, which files of ONNX do not hold.
inline constexpr llvm::StringLiteral kStaticScalesAttr = "octet.static_scales";

} // namespace octet

#include "octet/Dialect/Octet/OctetAttrInterfaces.h.inc"
#include "octet/Dialect/Octet/OctetDialect.h.inc"
#include "octet/Dialect/Octet/OctetEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "octet/Dialect/Octet/OctetAttrs.h.inc"

#define GET_OP_CLASSES
#include "octet/Dialect/Octet/OctetOps.h.inc"

#endif // OCTET_DIALECT_OCTET_OCTET_H
