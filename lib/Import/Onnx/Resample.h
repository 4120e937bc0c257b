//===- Resample.h - samples between samples ---------------------*- C++ -*- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One axis resampled at places that are known at import: elements that are gathered, or a product
// with a constant matrix. If the places are computed in the run, so is the matrix.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_IMPORT_ONNX_RESAMPLE_H
#define OCTET_LIB_IMPORT_ONNX_RESAMPLE_H

#include "Compose.h"

namespace octet::onnx_import {

/// What all axes have in common; names are those of the attributes of ONNX Resize.
struct Resampling {
  llvm::StringRef mode, coordinates;
  nn::NearestMode nearest;
  double cubic = -0.75;
  bool antialias = false, excludesOutside = false;
};

struct ResampledAxis {
  int64_t axis, in, out;
  double scale;
  double start = 0, end = 1; ///< the part of the input, of tf_crop_and_resize
  mlir::Value from, to;      ///< the same, one number each, where it is computed in the run
};

MaybeValue resample(Node &node, MaybeValue x, const Resampling &how, const ResampledAxis &along);

/// For every result along the axis, whether it is outside of the input, where tf_crop_and_resize
/// has another value.
std::vector<int64_t> findOutside(const Resampling &how, const ResampledAxis &along);

/// `matrix` [out, in] times `x` along `axis`.
MaybeValue multiplyAlong(Node &node, MaybeValue x, int64_t axis, HostTensor matrix);
MaybeValue multiplyAlong(Node &node, MaybeValue x, int64_t axis, MaybeValue matrix);

/// The same as `resample` and `findOutside`, of a part that is computed in the run; linear.
MaybeValue resampleComputed(Node &node, MaybeValue x, const ResampledAxis &along);
MaybeValue findComputedOutside(Node &node, const ResampledAxis &along);

} // namespace octet::onnx_import

#endif // OCTET_LIB_IMPORT_ONNX_RESAMPLE_H
