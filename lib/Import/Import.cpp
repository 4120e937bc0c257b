//===- Import.cpp - networks from ONNX files ---------------------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Import/Import.h"
#include "GraphImporter.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "octet/Import/Passes.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace octet;

static OwningOpRef<ModuleOp> importBytes(MLIRContext *context, StringRef bytes, StringRef name, StringRef folder,
                                         const ImportOptions &options) {
  context->loadDialect<func::FuncDialect, nn::NNDialect>();
  Location loc = FileLineColLoc::get(context, name, 0, 0);
  onnx::ModelProto model;
  if (failed(onnx_import::parseModel(loc, bytes, model)))
    return nullptr;
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(context));
  onnx_import::TensorReader reader(folder);
  onnx_import::GraphImporter importer(*module, loc, model, reader, options);
  if (failed(importer.run()) || failed(verify(*module)))
    return nullptr;
  PassManager passes(context);
  passes.addNestedPass<func::FuncOp>(createSinkReshapes());
  passes.addNestedPass<func::FuncOp>(createFoldIntoWeights());
  passes.addNestedPass<func::FuncOp>(createRaiseIdioms());
  return succeeded(passes.run(*module)) ? std::move(module) : nullptr;
}

OwningOpRef<ModuleOp> octet::importOnnx(MLIRContext *context, StringRef path, const ImportOptions &options) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer) {
    emitError(FileLineColLoc::get(context, path, 0, 0)) << "cannot be read: " << buffer.getError().message();
    return nullptr;
  }
  StringRef folder = llvm::sys::path::parent_path(path);
  return importBytes(context, (*buffer)->getBuffer(), path, folder.empty() ? "." : folder, options);
}

OwningOpRef<ModuleOp> octet::importOnnxBuffer(MLIRContext *context, StringRef bytes, StringRef name, StringRef folder,
                                              const ImportOptions &options) {
  return importBytes(context, bytes, name, folder, options);
}

ImportSummary octet::summarize(ModuleOp module) {
  ImportSummary summary;
  module.walk([&](Operation *op) {
    if (!isa<nn::NNDialect>(op->getDialect()))
      return;
    if (auto constant = dyn_cast<nn::ConstantOp>(op)) {
      auto type = cast<ShapedType>(constant.getValue().getType());
      summary.constantBytes += type.getNumElements() * (type.getElementTypeBitWidth() / 8);
      return;
    }
    ++summary.operators;
    if (auto conv = dyn_cast<nn::ConvOp>(op))
      summary.multiplyAdds += conv.getNumMultiplyAdds();
    else if (auto linear = dyn_cast<nn::LinearOp>(op))
      summary.multiplyAdds += linear.getNumMultiplyAdds();
    else if (auto matmul = dyn_cast<nn::MatmulOp>(op))
      summary.multiplyAdds += matmul.getNumMultiplyAdds();
  });
  return summary;
}
