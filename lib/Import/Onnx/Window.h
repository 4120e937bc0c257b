//===- Window.h - windows of convolutions and pools -------------*- C++ -*- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_IMPORT_ONNX_WINDOW_H
#define OCTET_LIB_IMPORT_ONNX_WINDOW_H

#include "Compose.h"

namespace octet::onnx_import {

/// A window over one to three spatial dimensions; `pads` are all begins, then all ends, as nn ops
/// have them.
struct Window {
  Shape kernel, strides, pads, dilations;

  /// Elements that the dilated kernel spans in dimension i.
  int64_t extent(unsigned i) const { return dilations[i] * (kernel[i] - 1) + 1; }
};

/// Reads strides, dilations, pads and auto_pad of `node` for a kernel that slides over `input`
/// (spatial sizes only).
llvm::FailureOr<Window> readWindow(Node &node, ShapeRef input, ShapeRef kernel);
/// Reports a filter, input 1, that is no constant or does not fit the input or kernel_shape of a
/// convolution over one to three dimensions.
llvm::LogicalResult checkFilter(Node &node);
/// The same of its shape alone.
llvm::LogicalResult checkFilterShape(Node &node);
/// A convolution over one or two dimensions by a filter that is no constant, in two dimensions; of
/// its inputs without the bias.
MaybeValue convolveByComputed(Node &node, const Window &window);
/// Reports a window that is larger than `input` with its pads.
llvm::LogicalResult checkFits(Node &node, const Window &window, ShapeRef input);

/// [N, C, W] as [N, C, 1, W], and the same for windows and filters; rank 4 stays.
Shape toTwoDimensional(ShapeRef shape);
Window toTwoDimensional(const Window &window);

/// The part of a window over `count` of its dimensions from `first` on.
Window takeDimensions(const Window &window, unsigned first, unsigned count);

/// A convolution of volumes [N, C, D, H, W] with a filter [O, C / groups, kd, kh, kw], as one over
/// two dimensions.
llvm::FailureOr<mlir::Value> convolveVolumes(Node &node, mlir::Value input,
                                             const HostTensor &filter, mlir::Value bias,
                                             const Window &window, int64_t groups);

/// Where in `input` the largest element of each window is, as MaxPool numbers elements; of the
/// shape `out` of a pool's result.
llvm::FailureOr<mlir::Value> findMaxima(Node &node, mlir::Value input, const Window &window,
                                        ShapeRef out);

} // namespace octet::onnx_import

#endif // OCTET_LIB_IMPORT_ONNX_WINDOW_H
