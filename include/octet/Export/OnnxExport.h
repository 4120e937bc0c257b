//===- OnnxExport.h - the reference model as an ONNX file -------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_EXPORT_ONNXEXPORT_H
#define OCTET_EXPORT_ONNXEXPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

namespace octet {

/// Writes the function `main` of `module`, float or with octet.quantize / octet.dequantize, as an
/// ONNX model (opset 20: QuantizeLinear and DequantizeLinear, per tensor or per
/// axis, with u8, i8 and i32 constants). Groups are written op by op; observers are omitted. A node
/// has the name of its op's location, an output the name of its op; the tensors of a quantize and
/// dequantize pair are `<x>_quantized` and `<x>_dequantized`. Fails after one error per op without
/// a counterpart in ONNX.
llvm::LogicalResult exportOnnx(mlir::ModuleOp module, llvm::raw_ostream &os);

/// Registers `octet-translate --export-onnx`.
void registerOnnxExport();

} // namespace octet

#endif // OCTET_EXPORT_ONNXEXPORT_H
