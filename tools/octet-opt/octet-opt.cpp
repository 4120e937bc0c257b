//===- octet-opt.cpp - runs passes on IR ----------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../DriverOutput.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "octet/Codegen/Codegen.h"
#include "octet/Dialect/Kernel/Kernel.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/Octet/Octet.h"
#include "octet/Import/Passes.h"
#include "octet/Lower/Passes.h"
#include "octet/Pipelines/Library.h"
#include "octet/Pipelines/Passes.h"
#include "octet/Quantize/Passes.h"

/// `--octet-codegen=levels=...`: the whole way from the integer program to the LLVM dialect.
static void registerCodegenPipeline() {
  struct Options : mlir::PassPipelineOptions<Options> {
    ListOption<std::string> levels{*this, "levels", llvm::cl::desc("CPU levels, best first")};
  };
  mlir::PassPipelineRegistration<Options>(
      "octet-codegen", "integer program to one LLVM-dialect module per CPU level",
      [](mlir::OpPassManager &pm, const Options &options) {
        pm.addNestedPass<mlir::func::FuncOp>(octet::createExpandBatchNorm());
        octet::buildCodegenPipeline(pm, llvm::SmallVector<std::string>(options.levels.begin(), options.levels.end()));
      });
}

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllPasses();
  octet::registerOctetDialects(registry); // With what octet-calibrate needs to translate the network.
  octet::registerQuantizePasses();
  octet::registerImportPasses();
  octet::registerLowerPasses();
  octet::registerCodegenPasses();
  octet::registerPipelinesPasses();
  registerCodegenPipeline();
  return octet::runDriver(argc, argv, [&](int argc, char **argv) {
    return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Octet pass driver\n", registry));
  });
}
