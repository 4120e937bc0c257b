//===- LawOf.h - from an op to the law of its class -------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_DIALECT_NN_LAWOF_H
#define OCTET_DIALECT_NN_LAWOF_H

#include "octet/Dialect/NN/NN.h"
#include "llvm/ADT/ArrayRef.h"
#include <optional>
#include <tuple>

namespace octet::nn {

namespace detail {
/// Calls `law` with the op as its class, if there is one for it.
template <typename OpTy, typename Value, typename Law>
bool tryLaw(Law law, mlir::Operation *op, llvm::ArrayRef<Value> operands,
            std::optional<Value> &result) {
  if constexpr (std::is_invocable_v<Law, OpTy, llvm::ArrayRef<Value>>) {
    if (auto typed = llvm::dyn_cast<OpTy>(op)) {
      result = law(typed, operands);
      return true;
    }
  }
  return false;
}

template <typename Value, typename Law, typename... Ops>
std::optional<Value> applyLawTo(Law law, mlir::Operation *op, llvm::ArrayRef<Value> operands,
                                std::tuple<Ops...> *) {
  std::optional<Value> result;
  (void)(tryLaw<Ops>(law, op, operands, result) || ...);
  return result;
}

using AllOps = std::tuple<
#define GET_OP_LIST
#include "octet/Dialect/NN/NNOps.cpp.inc"
    >;
} // namespace detail

/// The result of `law`, which can be called with some classes of ops and `operands`, for `op`;
/// nothing if it cannot be called with the class of `op`.
template <typename Value, typename Law>
std::optional<Value> applyLawOf(Law law, mlir::Operation *op, llvm::ArrayRef<Value> operands) {
  return detail::applyLawTo<Value>(law, op, operands, static_cast<detail::AllOps *>(nullptr));
}

} // namespace octet::nn

#endif // OCTET_DIALECT_NN_LAWOF_H
