//===- TransferCalibration.h - one calibration for all buckets --*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_PIPELINES_TRANSFERCALIBRATION_H
#define OCTET_LIB_PIPELINES_TRANSFERCALIBRATION_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "octet/Dialect/Octet/Octet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/Error.h"
#include <map>

namespace octet {

/// An operator of a network: its origin and its kind, as opaque pointers, and its number among
/// those of both.
using OperatorKey = std::tuple<const void *, const void *, unsigned>;
/// A value: the operator and the number of its result.
using ValueKey = std::pair<OperatorKey, unsigned>;

/// The operators of a network, in its order, without constants, groups and observers.
class OperatorIndex {
public:
  explicit OperatorIndex(mlir::ModuleOp module);

  const llvm::MapVector<OperatorKey, mlir::Operation *, std::map<OperatorKey, unsigned>> &
  get() const {
    return operators;
  }
  /// Of the value that is computed inside, if a group computes it.
  ValueKey getKey(mlir::Value value) const;
  /// How many there are of the operator's origin and kind.
  unsigned count(OperatorKey key) const;

private:
  llvm::MapVector<OperatorKey, mlir::Operation *, std::map<OperatorKey, unsigned>> operators;
  llvm::DenseMap<mlir::Operation *, OperatorKey> keys;
  std::map<std::pair<const void *, const void *>, unsigned> counts;
};

/// The result of calibrating a network for one set of input shapes, for the same network with
/// others: the observers' statistics, and the constants that the backend's recipe changed.
class CalibrationTransfer {
public:
  /// In front of octet-prepare and its recipe.
  void noteFloat(mlir::ModuleOp module);
  /// Behind octet-calibrate and its recipe.
  void noteCalibrated(mlir::ModuleOp module);

  /// Gives a prepared network what was noted. An error says in which way it differs.
  llvm::Error apply(mlir::ModuleOp module) const;

private:
  /// The constants that an operator reads, null for other operands.
  using Constants = llvm::SmallVector<mlir::ElementsAttr, 4>;
  struct Change {
    OperatorKey op;
    mlir::StringAttr name; ///< the operator's
    unsigned operand;
    mlir::ElementsAttr before, after; ///< `before` is null if the operator had no such operand
  };

  void noteChanges(const OperatorIndex &index);
  llvm::Error checkParts(const OperatorIndex &index, OperatorKey key, llvm::StringRef name) const;
  llvm::Error applyChange(const OperatorIndex &index, const Change &change) const;
  llvm::Error applyStatistics(mlir::ModuleOp module, const OperatorIndex &index) const;

  std::map<OperatorKey, Constants> before;
  std::map<OperatorKey, unsigned> counts; ///< OperatorIndex::count in the calibrated network
  std::vector<Change> changes;
  bool hasOtherChanges = false; ///< the recipe changed more than constants
  /// By the value and the kind of observer.
  std::map<std::pair<ValueKey, const void *>, mlir::DenseElementsAttr> statistics;
};

} // namespace octet

#endif // OCTET_LIB_PIPELINES_TRANSFERCALIBRATION_H
