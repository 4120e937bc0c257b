//===- Shadows.h - quantized units beside their float twins -----*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_PIPELINES_SHADOWS_H
#define OCTET_LIB_PIPELINES_SHADOWS_H

#include "octet/Backend/Backend.h"
#include "octet/Pipelines/Measure.h"

namespace octet {

/// A copy of a calibrated network in which every quantized unit has two float twins: the same
/// operators with weights that are not observed. In the reference model that octet-convert makes of
/// the copy, one reads the dequantized values that the unit reads, and one the values in front of
/// their quantization.
class ShadowedNetwork {
public:
  ShadowedNetwork(mlir::ModuleOp network, const Backend &backend);

  /// A unit of the network, and operators of the copy whose results are those of the unit, behind
  /// its quantization, and of its twins.
  struct Shadowed {
    Unit unit;
    mlir::Operation *result, *twin, *twinOfReals;
  };

  mlir::ModuleOp getModule() { return *copy; }
  llvm::ArrayRef<Shadowed> getUnits() const { return units; }

private:
  mlir::OwningOpRef<mlir::ModuleOp> copy;
  llvm::SmallVector<Shadowed, 0> units;
};

} // namespace octet

#endif // OCTET_LIB_PIPELINES_SHADOWS_H
