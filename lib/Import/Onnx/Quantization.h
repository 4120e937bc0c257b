//===- Quantization.h - quantized values of ONNX files ----------*- C++ -*- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor of integers that stand for real numbers is a value of a quantized type, made by
// octet.quantize; as a constant it is a host tensor of integers. ONNX gives scale and zero point to
// each operator that reads such a tensor; here they belong to the tensor, and readers must agree.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_IMPORT_ONNX_QUANTIZATION_H
#define OCTET_LIB_IMPORT_ONNX_QUANTIZATION_H

#include "Node.h"
#include "octet/Numerics/Quantize.h"

namespace octet::onnx_import {

/// Which inputs of a node hold scale and zero point of a tensor, and the axis of several of them.
struct ParameterInputs {
  unsigned scale, zeroPoint;
  int64_t axis = 0;
};

/// The quantized type that a node gives to a tensor of `shape`, whose integers have `elementType`;
/// 0: that of the zero point, or UINT8 without one.
llvm::FailureOr<mlir::quant::QuantizedType> readQuantizedType(Node &node, ParameterInputs inputs,
                                                              int32_t elementType, ShapeRef shape);

/// Refuses integers that values are not quantized to.
llvm::LogicalResult refuseIntegers(Node &node, int32_t elementType);
/// The type of integers of `elementType` that are the real numbers which they stand for.
mlir::quant::QuantizedType makeUnitType(mlir::Builder &builder, int32_t elementType);
/// The type of integers of `elementType` with these scales and zero points.
llvm::FailureOr<mlir::quant::QuantizedType> makeQuantizedType(Node &node, int32_t elementType,
                                                              numerics::QuantParams params);

/// Whether an element type of ONNX is one of 16-bit integers.
bool isWide(int32_t elementType);
/// Whether quantized types have integers of this element type for values that are no biases.
bool holdsActivations(int32_t elementType);

/// The quantized type of a value, or null.
mlir::quant::QuantizedType getQuantizedType(const Entry &entry);
/// The element type in the file of the integers of `type`, such as INT8.
int32_t getElementType(mlir::quant::QuantizedType type);

/// The real numbers that integers stand for; of a constant another constant, which knows its
/// integers.
llvm::FailureOr<Entry> dequantize(Node &node, const Entry &integers, ParameterInputs inputs);
Entry dequantize(Node &node, const HostTensor &integers, mlir::quant::QuantizedType type);
/// The real numbers that the integers of a quantized value stand for with the parameters of another
/// type.
llvm::FailureOr<mlir::Value> reinterpret(Node &node, mlir::Value integers,
                                         mlir::quant::QuantizedType type);
/// Real numbers as integers of `type`.
llvm::FailureOr<Entry> quantize(Node &node, const Entry &reals, mlir::quant::QuantizedType type);

/// Real numbers as the integers of [N.dynamic] stand for them.
mlir::Value roundInEachRun(Node &node, mlir::Value x);

/// A quantized value as f32.
mlir::Value makeReal(Node &node, mlir::Value quantized);

/// Whether QuantizeLinear or DequantizeLinear is computed in f32, since there is no quantized type
/// for it.
bool quantizesInFloat(Node &node);
bool dequantizesInFloat(Node &node);
/// Whether DequantizeLinear reads constants of 4 or 2 bits with scales that a quantized type has.
bool hasFewBits(Node &node);
llvm::LogicalResult quantizeInFloat(Node &node);
llvm::LogicalResult dequantizeInFloat(Node &node);

/// A matrix that is quantized in blocks of its rows, as octet.dequantize_weights has it; null if it
/// is no such matrix any more.
mlir::Value makeOfBlocks(Node &node, const HostTensor &tensor);

/// Imports a node by `import`, an operator of real numbers. Where its inputs are quantized, it must
/// be one that only moves values, and its results have its inputs' type.
llvm::LogicalResult importOnReals(Node &node, llvm::LogicalResult (*import)(Node &));
/// Clip on integers: their type's bounds.
llvm::LogicalResult importClipOfIntegers(Node &node);
/// Cast of integers at run time to floats.
llvm::LogicalResult importCastOfIntegers(Node &node);

/// Makes bytes of 8-bit integers that are held as f32; false if `integers` has more bits.
bool storeIntegers(mlir::OpBuilder &builder, Entry &integers);

/// A constant of the integers that `tensor` was made from, and its dequantized value; null if its
/// values are not such integers.
mlir::Value makeDequantized(mlir::OpBuilder &builder, mlir::Location loc, const HostTensor &tensor);

} // namespace octet::onnx_import

#endif // OCTET_LIB_IMPORT_ONNX_QUANTIZATION_H
