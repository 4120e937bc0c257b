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
  /// An operator: its origin, its kind, and its number among those of both.
  using Key = std::tuple<mlir::Attribute, mlir::OperationName, unsigned>;
  struct KeyLess {
    bool operator()(const Key &a, const Key &b) const;
  };
  /// In the order of the network.
  template <typename T>
  using ByOperator = llvm::MapVector<Key, T, std::map<Key, unsigned, KeyLess>>;
  /// The constants that an operator reads, null for other operands.
  using Constants = llvm::SmallVector<mlir::ElementsAttr, 4>;
  struct Change {
    Key op;
    unsigned operand;
    mlir::ElementsAttr before, after; ///< `before` is null if the operator had no such operand
  };

  static ByOperator<mlir::Operation *> listOperators(mlir::ModuleOp module);
  static ByOperator<Constants> listConstants(mlir::ModuleOp module);
  llvm::Error applyChange(mlir::Operation *op, const Change &change) const;
  llvm::Error applyStatistics(mlir::ModuleOp module) const;

  ByOperator<Constants> before;
  std::vector<Change> changes;
  bool hasOtherChanges = false; ///< the recipe changed more than constants
  llvm::StringMap<std::pair<ObserverAttrInterface, mlir::DenseIntElementsAttr>> statistics;
};

} // namespace octet

#endif // OCTET_LIB_PIPELINES_TRANSFERCALIBRATION_H
