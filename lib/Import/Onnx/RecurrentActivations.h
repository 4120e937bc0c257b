//===- RecurrentActivations.h - functions of recurrent cells ----*- C++ -*- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_IMPORT_ONNX_RECURRENTACTIVATIONS_H
#define OCTET_LIB_IMPORT_ONNX_RECURRENTACTIVATIONS_H

#include "Compose.h"

namespace octet::onnx_import {

/// A function that a cell applies, with its parameters.
class Activation {
public:
  using MakeFn = MaybeValue (*)(Node &, mlir::Value x, float alpha, float beta);

  Activation(MakeFn make, float alpha, float beta) : make(make), alpha(alpha), beta(beta) {}
  MaybeValue apply(Node &node, mlir::Value x) const { return make(node, x, alpha, beta); }

private:
  MakeFn make;
  float alpha, beta;
};

/// The functions that the node names, or `usual` for each direction.
llvm::FailureOr<llvm::SmallVector<Activation>>
readActivations(Node &node, llvm::ArrayRef<llvm::StringRef> usual, int64_t directions);

/// The function `name`, with its parameters where they are given.
llvm::FailureOr<Activation> findActivation(Node &node, llvm::StringRef name,
                                           std::optional<float> alpha, std::optional<float> beta);

} // namespace octet::onnx_import

#endif // OCTET_LIB_IMPORT_ONNX_RECURRENTACTIVATIONS_H
