//===- NNInterfaces.td - shapes and products of nn ops --------*- tablegen -*-===//
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
    op takes float and quantized tensors), so results are typed explicitly, and a result type of another shape is an error.
  }];
  let methods = [
    InterfaceMethod<[{
      The shape of the only result, or failure after an error was emitted on the op.
    }], "::llvm::FailureOr<::llvm::SmallVector<int64_t>>", "inferResultShape">
  ];
  let verify = [{ return ::octet::nn::verifyInferredShape($_op); }];
}

def NN_ProductOp : OpInterface<"ProductOpInterface"> {
  let cppNamespace = "::octet::nn";
  let description = [{
    Every element of the only result is a sum of products: a convolution, a linear layer, a matrix product. The first
    operand is the input. Weights hold their output channels along dimension 0; a product of two activations has none.
  }];
  let methods = [
    InterfaceMethod<"The weights, or null for a product of two activations.",
      "::mlir::OpOperand *", "getWeightOperand", (ins), "", [{ return &$_op.getFilterMutable(); }]>,
    InterfaceMethod<"The bias, or null where there is none.",
      "::mlir::OpOperand *", "getBiasOperand", (ins), "", [{
        return $_op.getBias() ? &*$_op.getBiasMutable().begin() : nullptr;
      }]>,
    InterfaceMethod<"Sets or replaces the bias; only for ops with weights.",
      "void", "setBias", (ins "::mlir::Value":$bias), "", [{ $_op.getBiasMutable().assign(bias); }]>,
    InterfaceMethod<"The dimension of the input that holds the channels, over which sums are taken.",
      "int64_t", "getInputChannelAxis", (ins), "", [{
        return ::llvm::cast<::mlir::RankedTensorType>($_op->getOperand(0).getType()).getRank() - 1;
      }]>,
    InterfaceMethod<"The dimension of the result that holds the output channels.",
      "int64_t", "getResultChannelAxis", (ins), "", [{
        return ::llvm::cast<::mlir::RankedTensorType>($_op->getResult(0).getType()).getRank() - 1;
      }]>,
    InterfaceMethod<"Whether every output channel reads only one of several input channels.",
      "bool", "isDepthwise", (ins), "", [{ return false; }]>,
    InterfaceMethod<"Multiply-adds of one run.", "int64_t", "getNumMultiplyAdds">
  ];
}

def NN_Fill : OpInterface<"FillOpInterface"> {
  let cppNamespace = "::octet::nn";
  let description = [{
    Data movement whose result holds, beside elements of the operand, a number that the operator brings in: the range and the
    quantization of the operand need not suit that number.
  }];
  let methods = [
    InterfaceMethod<"The real number.", "float", "getFill", (ins), "", [{ return $_op.getValue().convertToFloat(); }]>
  ];
}

#endif // OCTET_DIALECT_NN_NNINTERFACES_TD
