//===- octet-opt.cpp - runs passes on IR ----------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Driver.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "octet/Dialect/Kernel/Kernel.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/Octet/Octet.h"
#include "octet/Pipelines/Library.h"
#include "octet/Pipelines/Pipeline.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllPasses();
  octet::registerOctetDialects(
      registry); // With what octet-calibrate needs to translate the network.
  octet::registerOctetPasses();
  return octet::runDriver(argc, argv, [&](int argc, char **argv) {
    return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Octet pass driver\n", registry));
  });
}
