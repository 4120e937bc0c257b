//===- NNInterfaces.td - shape inference of nn ops ------------*- tablegen -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_DIALECT_NN_NNINTERFACES_TD
#define OCTET_DIALECT_NN_NNINTERFACES_TD

include "mlir/IR/OpBase.td"

def NN_InferShape : OpInterface<"InferShapeOpInterface"> {
  let cppNamespace = "::octet::nn";
  let description = [{
    The op's result shape follows from its operands' shapes and its attributes. The element type does not (the same
    op stands on float and on quantized tensors), so results are typed explicitly and the shape is verified here:
    another one is an error.
  }];
  let methods = [
    InterfaceMethod<[{
      The shape of the only result, or failure after an error was emitted on the op.
    }], "::llvm::FailureOr<::llvm::SmallVector<int64_t>>", "inferResultShape">
  ];
  let verify = [{ return ::octet::nn::verifyInferredShape($_op); }];
}

#endif // OCTET_DIALECT_NN_NNINTERFACES_TD
