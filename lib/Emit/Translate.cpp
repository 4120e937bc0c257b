//===- Translate.cpp - LLVM dialect to LLVM IR ------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Target/LLVMIR/Dialect/ArmNeon/ArmNeonToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "octet/Emit/Emit.h"
#include "llvm/IR/Module.h"

using namespace octet;

void octet::registerEmitTranslations(mlir::DialectRegistry &registry) {
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  mlir::registerArmNeonDialectTranslation(registry);
}

llvm::Expected<OwnedModule> octet::translateLevel(mlir::ModuleOp module) {
  auto context = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> translated = mlir::translateModuleToLLVMIR(module, *context);
  if (!translated)
    return llvm::createStringError("the module cannot be translated to LLVM IR");
  return OwnedModule(std::move(context), std::move(translated));
}
