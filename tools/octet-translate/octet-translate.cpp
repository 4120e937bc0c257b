//===- octet-translate.cpp - from and to other formats --------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "octet/Export/OnnxExport.h"

int main(int argc, char **argv) {
  octet::registerOnnxExport();
  return mlir::failed(mlir::mlirTranslateMain(argc, argv, "Octet translation driver"));
}
