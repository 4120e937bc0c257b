//===- octet-translate.cpp - from and to other formats --------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "octet/Export/OnnxExport.h"
#include "octet/Import/Import.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

/// The argument behind `-o`, or null.
static char **findOutput(int argc, char **argv) {
  for (int i = 1; i + 1 < argc; ++i)
    if (llvm::StringRef(argv[i]).ltrim('-') == "o")
      return &argv[i + 1];
  return nullptr;
}

/// Runs the driver on a file beside the output, which takes the output's place when all went well: mlir-translate's
/// driver would remove an earlier output after an error.
static int translateTo(char *&output, int argc, char **argv) {
  std::string path = output;
  std::string partial = path + ".partial";
  output = partial.data();
  int status = mlir::failed(mlir::mlirTranslateMain(argc, argv, "Octet translation driver"));
  if (!llvm::sys::fs::exists(partial))
    return status;
  if (status != 0) {
    (void)llvm::sys::fs::remove(partial);
    return status;
  }
  if (std::error_code error = llvm::sys::fs::rename(partial, path)) {
    llvm::errs() << path << ": error: cannot be written: " << error.message() << "\n";
    return 1;
  }
  return status;
}

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
  char **output = findOutput(argc, argv);
  bool isFile = output && llvm::StringRef(*output) != "-" &&
                (llvm::sys::fs::is_regular_file(*output) || !llvm::sys::fs::exists(*output));
  if (isFile)
    return translateTo(*output, argc, argv);
  return mlir::failed(mlir::mlirTranslateMain(argc, argv, "Octet translation driver"));
}
