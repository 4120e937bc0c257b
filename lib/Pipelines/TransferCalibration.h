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
/// How many operators of an origin and a kind there are.
using OperatorCounts = std::map<std::pair<const void *, const void *>, unsigned>;
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
  const OperatorCounts &getCounts() const { return counts; }

private:
  llvm::MapVector<OperatorKey, mlir::Operation *, std::map<OperatorKey, unsigned>> operators;
  llvm::DenseMap<mlir::Operation *, OperatorKey> keys;
  OperatorCounts counts;
};

/// The constants that each operator reads, null for other operands.
using OperatorConstants = std::map<OperatorKey, llvm::SmallVector<mlir::ElementsAttr, 4>>;

/// The result of calibrating a network for one set of input shapes, for the same network with
/// others: the observers' statistics, and the constants that the backend's recipe changed. The
/// recipe runs in every bucket, but its passes have samples in the calibrated one only. Constants
/// are compared by identity: those of equal content are one (SharedConstants).
class CalibrationTransfer {
public:
  /// In front of octet-prepare and its recipe, in every bucket.
  void noteFloat(mlir::ModuleOp module, bool isCalibrated);
  /// In the calibrated bucket, in front of the recipe behind octet-calibrate.
  void noteStatistics(mlir::ModuleOp module);
  /// Behind that recipe.
  void noteConstants(mlir::ModuleOp module);

  /// Give another bucket what was noted, at the same places. An error says in which way it differs.
  llvm::Error applyStatistics(mlir::ModuleOp module) const;
  llvm::Error applyConstants(mlir::ModuleOp module) const;

private:
  struct Change {
    OperatorKey op;
    mlir::StringAttr name; ///< the operator's
    unsigned operand;
    mlir::ElementsAttr before, after; ///< `before` is null if the operator had no such constant
  };
  /// The operators that there are in front of octet-prepare, and what each reads.
  struct FloatNetwork {
    OperatorConstants constants;
    OperatorCounts counts;
  };

  /// An error if what the recipe has added so far is not what it had added there, where it gave
  /// `changed`.
  llvm::Error checkAdded(const OperatorIndex &index, const OperatorCounts &changed) const;
  static llvm::Error checkParts(const OperatorCounts &counts, const OperatorIndex &index,
                                OperatorKey key, llvm::StringRef name);
  llvm::Error applyChange(const OperatorIndex &index, const Change &change) const;

  FloatNetwork before, here; ///< of the calibrated bucket, and of the present one
  OperatorCounts prepared,
      improved; ///< of the calibrated one, with statistics and behind the recipe
  std::vector<Change> changes;
  /// By the value and the kind of observer.
  std::map<std::pair<ValueKey, const void *>, mlir::DenseElementsAttr> statistics;
};

} // namespace octet

#endif // OCTET_LIB_PIPELINES_TRANSFERCALIBRATION_H
