//===- octet-translate.cpp - from and to other formats --------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../DriverOutput.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "octet/Export/OnnxExport.h"
#include "octet/Import/Import.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  // mlir-translate's driver insists on one translation, so this is answered before it.
  for (llvm::StringRef argument : llvm::ArrayRef(argv + 1, argc - 1)) {
    if (argument.ltrim('-') == "list-operators") {
      octet::listOnnxOperators(llvm::outs());
      return 0;
    }
  }
  octet::registerOnnxExport();
  octet::registerOnnxImport();
  return octet::runDriver(argc, argv, [](int argc, char **argv) {
    return mlir::failed(mlir::mlirTranslateMain(argc, argv, "Octet translation driver"));
  });
}
