//===- octet-translate.cpp - from and to other formats --------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Driver.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "octet/Backend/Backend.h"
#include "octet/Export/OnnxExport.h"
#include "octet/Import/Import.h"

int main(int argc, char **argv) {
  octet::registerBackendTranslations();
  octet::registerOnnxExport();
  octet::registerImports();
  return octet::runDriver(argc, argv, [](int argc, char **argv) {
    return mlir::failed(mlir::mlirTranslateMain(argc, argv, "Octet translation driver"));
  });
}
