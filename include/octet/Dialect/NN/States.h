//===- States.h - values kept from run to run -------------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A state is an argument of a network and the result that takes its place in the next run. Both
// carry the attribute `nn.state` with the state's name. Every stage treats them as the input and
// the output that they are; code generation places the value in the model's memory and leaves both
// out of the library's interface.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_DIALECT_NN_STATES_H
#define OCTET_DIALECT_NN_STATES_H

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace octet::nn {

/// Name of the attribute of an argument and a result that are one state.
inline constexpr llvm::StringLiteral kStateAttr = "nn.state";

struct State {
  mlir::StringAttr name;
  unsigned argument, result;
};

/// The states of a network, in the order of its arguments.
llvm::SmallVector<State> getStates(mlir::FunctionOpInterface network);

/// The name of the state that an argument or a result is, or null.
mlir::StringAttr getStateOfArgument(mlir::FunctionOpInterface network, unsigned argument);
mlir::StringAttr getStateOfResult(mlir::FunctionOpInterface network, unsigned result);

/// Checks one `nn.state` of a function: one argument and one result of one type. Emits an error.
llvm::LogicalResult verifyState(mlir::Operation *function, mlir::Attribute name);

} // namespace octet::nn

#endif // OCTET_DIALECT_NN_STATES_H
