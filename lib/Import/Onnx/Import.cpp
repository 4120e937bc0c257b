//===- Import.cpp - networks from ONNX files ---------------------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphImporter.h"
#include "mlir/IR/Verifier.h"
#include "octet/Import/Onnx.h"

using namespace mlir;
using namespace octet;

OwningOpRef<ModuleOp> octet::importOnnx(MLIRContext *context, StringRef bytes, StringRef name,
                                        StringRef folder, const ImportOptions &options) {
  context->loadDialect<func::FuncDialect, nn::NNDialect, OctetDialect>();
  Location loc = FileLineColLoc::get(context, name, 0, 0);
  onnx::ModelProto model;
  if (failed(onnx_import::parseModel(loc, bytes, model)))
    return nullptr;
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(context));
  onnx_import::TensorReader reader(folder);
  onnx_import::GraphImporter importer(*module, loc, model, reader, options);
  if (failed(importer.run()) || failed(verify(*module)))
    return nullptr;
  return module;
}
