//===- ElementTypes.h - ONNX's types of elements and ours -------*- C++ -*- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_IMPORT_ONNX_ELEMENTTYPES_H
#define OCTET_LIB_IMPORT_ONNX_ELEMENTTYPES_H

#include "mlir/IR/BuiltinTypes.h"

namespace octet::onnx_import {

/// The type in which a caller holds elements of a TensorProto::DataType, or null if there is none.
mlir::Type getCallersType(mlir::MLIRContext *context, int32_t type);
/// The type in which the program holds them: all floats are f32.
mlir::Type getProgramType(mlir::MLIRContext *context, int32_t type);
/// The TensorProto::DataType of elements in the program.
int32_t getOnnxType(mlir::Type element);
/// An integer as a type of fewer bits holds it.
int64_t wrapInteger(int64_t value, int32_t type);

} // namespace octet::onnx_import

#endif // OCTET_LIB_IMPORT_ONNX_ELEMENTTYPES_H
