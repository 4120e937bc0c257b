//===- octet-plugin.cpp - the quantization passes for a stock mlir-opt ----===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   mlir-opt-22 --load-dialect-plugin=OctetPlugin.so --load-pass-plugin=OctetPlugin.so
//     --pass-pipeline='builtin.module(octet-attach-policy,octet-fuse)' network.mlir
//
//===----------------------------------------------------------------------===//

#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/Octet/Octet.h"
#include "octet/Import/Passes.h"
#include "octet/Lower/Passes.h"
#include "octet/Quantize/Passes.h"

static constexpr const char *version = "0.1.0";

extern "C" LLVM_ATTRIBUTE_WEAK mlir::DialectPluginLibraryInfo mlirGetDialectPluginInfo() {
  return {
      MLIR_PLUGIN_API_VERSION, "Octet", version, [](mlir::DialectRegistry *registry) {
        registry->insert<mlir::quant::QuantDialect, octet::nn::NNDialect, octet::OctetDialect>();
      }};
}

extern "C" LLVM_ATTRIBUTE_WEAK mlir::PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "Octet", version, [] {
            octet::registerImportPasses();
            octet::registerTidyPipeline();
            octet::registerQuantizePasses();
            octet::registerLowerPasses();
          }};
}
