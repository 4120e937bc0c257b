//===- Taps.h - elements next to places that are computed -------*- C++ -*- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Samples at places that are computed at run time are weighted elements next to them, axis by axis.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_IMPORT_ONNX_TAPS_H
#define OCTET_LIB_IMPORT_ONNX_TAPS_H

#include "Compose.h"

namespace octet::onnx_import {

/// The share of an element in a sample along one axis: a position in the flattened input, and a
/// weight; without one, it is 1.
struct Tap {
  mlir::Value position, weight;
};
using Taps = llvm::SmallVector<Tap>;

enum class Samples { sum, max };

/// The image [N, C, ...] as rows [N * ..., C].
MaybeValue makeRows(Node &node, MaybeValue image);

/// The sum (or the largest) of the elements of `rows` [S, C] at `base` plus one position of each
/// axis, times their weights, all of which broadcast: [samples, C].
MaybeValue combineTaps(Node &node, mlir::Value rows, mlir::Value base, llvm::ArrayRef<Taps> axes,
                       Samples samples);

/// `place`, a number of f32, as a position in elements of `stride`; those outside of [0, size) are
/// the nearest inside.
MaybeValue toPosition(Node &node, MaybeValue place, int64_t size, int64_t stride);

/// The elements before and behind `place`, which is any f32, of `size`; outside there are zeros.
llvm::FailureOr<Taps> interpolate(Node &node, MaybeValue place, int64_t size, int64_t stride);

} // namespace octet::onnx_import

#endif // OCTET_LIB_IMPORT_ONNX_TAPS_H
