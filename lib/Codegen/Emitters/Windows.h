//===- Windows.h - windows of convolutions and pools ------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_EMITTERS_WINDOWS_H
#define OCTET_LIB_CODEGEN_EMITTERS_WINDOWS_H

#include "../KernelBuilder.h"
#include "octet/Dialect/NN/NN.h"
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

/// The window of a convolution or pool along rows (0) or columns (1).
template <typename OpTy> Window getWindow(OpTy op, int i) {
  int64_t kernel;
  if constexpr (std::is_same_v<OpTy, nn::ConvOp>)
    kernel = op.getFilter().getType().getDimSize(2 + i);
  else
    kernel = op.getKernel()[i];
  return {op.getInput().getType().getDimSize(2 + i),
          kernel,
          op.getStrides()[i],
          op.getPads()[i],
          op.getDilations()[i],
          op.getResult().getType().getDimSize(2 + i)};
}

/// Taps [low, high) that are inside the input for one of some output positions, and the input
/// position of tap 0 for the first of these.
struct Taps {
  mlir::Value low, high, origin;
};

/// Those of `count` outputs from `out` on.
inline Taps getTaps(KernelBuilder &b, const Window &window, mlir::Value out, int64_t count = 1) {
  using namespace mlir;
  Value origin = b.addIndex(b.mulIndex(out, window.stride), -window.pad);
  if (window.isAlwaysInside())
    return {b.index(0), b.index(window.kernel), origin};
  // First tap with from + tap * dilation >= 0, first with from + tap * dilation >= size.
  auto firstAtLeast = [&](int64_t bound, Value from) -> Value {
    Value distance = b.createIndex<arith::SubIOp>(b.index(bound), from);
    distance = b.createIndex<arith::MaxSIOp>(distance, b.index(0));
    if (window.dilation > 1)
      distance = b.createIndex<arith::DivUIOp>(b.addIndex(distance, window.dilation - 1),
                                               b.index(window.dilation));
    return b.createIndex<arith::MinSIOp>(distance, b.index(window.kernel));
  };
  Value last = count == 1 ? origin : b.addIndex(origin, (count - 1) * window.stride);
  return {firstAtLeast(0, last), firstAtLeast(window.size, origin), origin};
}

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_EMITTERS_WINDOWS_H
