//===- Magnitudes.h - how large observed values are -------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_DIALECT_OCTET_MAGNITUDES_H
#define OCTET_DIALECT_OCTET_MAGNITUDES_H

#include "octet/Dialect/Octet/Octet.h"

namespace octet {

/// [N.stat.peak] What the largest magnitude of half of the runs does not exceed; 0 where that is
/// not known.
float getTypicalPeak(MeanSquaredErrorObserverAttr observer, llvm::ArrayRef<char> state);
/// The mean of the squares of all values, as far as bins tell; 0 where it is not known.
double getMeanSquare(MeanSquaredErrorObserverAttr observer, llvm::ArrayRef<char> state);
/// [N.stat.power] What the mean square of half of the rows does not exceed; 0 where it is not
/// known.
float getTypicalPower(ColumnMinMaxObserverAttr observer, llvm::ArrayRef<char> state);

} // namespace octet

#endif // OCTET_DIALECT_OCTET_MAGNITUDES_H
