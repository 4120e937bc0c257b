//===- PreparedWeights.h - what a model makes of weights --------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_TEST_UNIT_CODEGEN_PREPAREDWEIGHTS_H
#define OCTET_TEST_UNIT_CODEGEN_PREPAREDWEIGHTS_H

#include "Emitters/Packing.h"
#include "octet/Support/ModelLibrary.h"

namespace octet::test {

/// A library that only prepares weights: its prologue is emitted, compiled and run.
class PreparedWeights {
public:
  /// The prologue is that of this level; it runs everywhere.
  explicit PreparedWeights(llvm::StringRef level = "reference");

  /// A constant of signed bytes.
  nn::ConstantOp addConstant(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int8_t> values);
  /// The same as an argument, whatever bytes lie before it.
  codegen::KernelArgument addWeights(llvm::ArrayRef<int8_t> values);

  /// What a model holds where an argument of the emitter is, once everything is emitted.
  llvm::StringRef read(codegen::KernelArgument argument);

private:
  void makeModel();

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  kernel::ProgramOp program;
  codegen::MemoryPlan plan;
  codegen::WeightsPool pool;
  std::unique_ptr<ModelLibrary> library;
  ModelPtr model;

public:
  std::unique_ptr<codegen::ProgramEmitter> emitter;
};

} // namespace octet::test

#endif // OCTET_TEST_UNIT_CODEGEN_PREPAREDWEIGHTS_H
