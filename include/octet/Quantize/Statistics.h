//===- Statistics.h - what a network's observers have seen ------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_QUANTIZE_STATISTICS_H
#define OCTET_QUANTIZE_STATISTICS_H

#include "mlir/IR/BuiltinOps.h"
#include "octet/Dialect/Octet/Octet.h"
#include "llvm/Support/Error.h"
#include <map>

namespace octet {

/// The statistics of one observer and the type of the values that it sees.
struct ObserverState {
  mlir::RankedTensorType observed;
  std::vector<char> bytes;
};
/// By the observers' symbols.
using Statistics = std::map<std::string, ObserverState>;

/// Initial statistics for every observer of an activation that keeps statistics.
Statistics initStatistics(mlir::ModuleOp module);
/// Whether the network's observers or, where it has none yet, its QConfig mapping ask for
/// statistics: those that are dynamic or leave values float do not. Without a mapping it is not
/// known, and true.
bool needsSamples(mlir::ModuleOp module);
/// The type that an observer gives values by its statistics; null if it gives none, of which
/// octet-convert tells the reason.
mlir::quant::QuantizedType getTypeByStatistics(ObserverAttrInterface observer,
                                               mlir::RankedTensorType observed,
                                               llvm::ArrayRef<char> state);
/// The same where the observed value is a constant with these elements.
mlir::quant::QuantizedType getTypeOfConstant(ObserveOp op, llvm::ArrayRef<float> values);
/// Stores statistics in the observers.
void attachStatistics(mlir::ModuleOp module, const Statistics &statistics);
/// Merges `other`, which has the same observers, into `statistics`; an observer whose statistics
/// cannot merge is an error.
llvm::Error mergeStatistics(mlir::ModuleOp module, Statistics &statistics, const Statistics &other,
                            llvm::StringRef path);

/// The text of a file of statistics: the observers of a calibrated network.
std::string printStatistics(mlir::ModuleOp module);

/// Several such files: all are parsed before the observers of the network see anything.
class StatisticsFiles {
public:
  static llvm::Expected<StatisticsFiles> open(mlir::MLIRContext *context,
                                              llvm::ArrayRef<std::string> paths);
  /// Merges those of each file that passes `check` into `statistics`.
  llvm::Error
  merge(mlir::ModuleOp module, Statistics &statistics,
        llvm::function_ref<llvm::Error(const Statistics &, llvm::StringRef path)> check = {}) const;

private:
  std::vector<std::pair<std::string, mlir::OwningOpRef<mlir::ModuleOp>>> files;
};

} // namespace octet

#endif // OCTET_QUANTIZE_STATISTICS_H
