//===- octet-opt.cpp - runs passes on IR ----------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "octet/Dialect/Kernel/Kernel.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/Octet/Octet.h"
#include "octet/Lower/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::func::FuncDialect, mlir::quant::QuantDialect, octet::nn::NNDialect, octet::OctetDialect,
                  octet::kernel::KernelDialect>();
  mlir::registerTransformsPasses();
  octet::registerLowerPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Octet pass driver\n", registry));
}
