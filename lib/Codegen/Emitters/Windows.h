//===- Windows.h - windows of convolutions and pools ------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_EMITTERS_WINDOWS_H
#define OCTET_LIB_CODEGEN_EMITTERS_WINDOWS_H

#include "../KernelBuilder.h"
#include "llvm/ADT/Sequence.h"

namespace octet::codegen {

/// One dimension of a window over an input.
struct Window {
  int64_t size, kernel, stride, pad, dilation, outputs;

  /// No output's window reaches beyond the input.
  bool isAlwaysInside() const {
    return pad == 0 && (outputs - 1) * stride + (kernel - 1) * dilation < size;
  }
  /// Some output's window has no tap inside the input.
  bool mayMiss() const {
    auto hasTap = [&](int64_t output) {
      return llvm::any_of(llvm::seq(kernel), [&](int64_t tap) {
        int64_t position = output * stride - pad + tap * dilation;
        return position >= 0 && position < size;
      });
    };
    return !llvm::all_of(llvm::seq(outputs), hasTap);
  }
  /// The part of the taps of blocks of outputs that lie inside the input for one of the block.
  double getShareInside(int64_t block) const {
    int64_t inside = 0, blocks = 0;
    for (int64_t first = 0; first < outputs; first += block, ++blocks)
      inside += llvm::count_if(llvm::seq(kernel), [&](int64_t tap) {
        int64_t low = first * stride - pad + tap * dilation;
        return low < size && low + (std::min(block, outputs - first) - 1) * stride >= 0;
      });
    return (double)inside / (double)(blocks * kernel);
  }
};

/// Positions inside the input for output position `out`: taps [low, high) and the input position of
/// tap 0.
struct Taps {
  mlir::Value low, high, origin;
};

inline Taps getTaps(KernelBuilder &b, const Window &window, mlir::Value out) {
  using namespace mlir;
  Value origin = b.addIndex(b.mulIndex(out, window.stride), -window.pad);
  if (window.isAlwaysInside())
    return {b.index(0), b.index(window.kernel), origin};
  // First tap with origin + tap * dilation >= 0, first with origin + tap * dilation >= size.
  auto firstAtLeast = [&](int64_t bound) -> Value {
    Value distance = b.createIndex<arith::SubIOp>(b.index(bound), origin);
    distance = b.createIndex<arith::MaxSIOp>(distance, b.index(0));
    if (window.dilation > 1)
      distance = b.createIndex<arith::DivUIOp>(b.addIndex(distance, window.dilation - 1),
                                               b.index(window.dilation));
    return b.createIndex<arith::MinSIOp>(distance, b.index(window.kernel));
  };
  return {firstAtLeast(0), firstAtLeast(window.size), origin};
}

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_EMITTERS_WINDOWS_H
