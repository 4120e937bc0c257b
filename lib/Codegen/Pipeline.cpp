//===- Pipeline.cpp - the order of the codegen passes ---------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "octet/Codegen/Passes.h"

using namespace mlir;

void octet::buildLevelPipeline(OpPassManager &pm) {
  OpPassManager &nested = pm.nest<ModuleOp>();
  nested.addPass(createMergeKernelsPass());
  nested.addPass(createLowerKernelPass());
  // By function where a pass allows it, on all cores: one level often has most of the code.
  OpPassManager &functions = nested.nest<func::FuncOp>();
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
  functions.addPass(createSCFToControlFlowPass());
  functions.addPass(createConvertVectorToLLVMPass());
  functions.addPass(createConvertMathToLLVMPass());
  nested.addPass(createFinalizeMemRefToLLVMConversionPass());
  ConvertFuncToLLVMPassOptions funcOptions;
  funcOptions.useBarePtrCallConv = true;
  nested.addPass(createConvertFuncToLLVMPass(funcOptions));
  nested.addNestedPass<LLVM::LLVMFuncOp>(createArithToLLVMConversionPass());
  nested.addPass(createConvertControlFlowToLLVMPass());
  nested.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createShareKernelsPass());
}
