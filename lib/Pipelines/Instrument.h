//===- Instrument.h - copies of a network with taps --------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_PIPELINES_INSTRUMENT_H
#define OCTET_LIB_PIPELINES_INSTRUMENT_H

#include "RunNetwork.h"
#include "octet/Pipelines/Measure.h"
#include "octet/Support/ConstantMemory.h"

namespace octet {

/// The symbol of a tap's observer.
std::string getTapName(size_t tap);

/// A copy of a network with an octet.observe behind every tapped value.
class Instrument {
public:
  Instrument(mlir::ModuleOp network, llvm::ArrayRef<Tap> taps);

  /// Turns the copy into the float network or the reference model.
  mlir::LogicalResult makeFloat();
  mlir::LogicalResult makeReference();

  /// Compiles the copy with an observer for each tap and, in the reference model, an input for each
  /// offset.
  llvm::Expected<LoadedNetwork> load(bool hasOffsets);

private:
  mlir::LogicalResult inlineGroups();
  ObserveOp observe(size_t tap, mlir::Value value);
  mlir::Value addOffset(ObserveOp op, int64_t axis);

  llvm::ArrayRef<Tap> taps;
  mlir::OwningOpRef<mlir::ModuleOp> copy;
  TemporaryConstants constants; ///< of the copy
};

} // namespace octet

#endif // OCTET_LIB_PIPELINES_INSTRUMENT_H
