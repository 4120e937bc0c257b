//===- toy-dialect.cpp - a dialect that the compiler loads ----------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plugin that uses MLIR only: `octet-compile --load-dialect-plugin`.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Dialect.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"

namespace {
/// Refuses `toy.refused` on any operation.
class ToyDialect : public mlir::Dialect {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ToyDialect)
  static constexpr llvm::StringLiteral getDialectNamespace() { return "toy"; }
  explicit ToyDialect(mlir::MLIRContext *context)
      : Dialect(getDialectNamespace(), context, mlir::TypeID::get<ToyDialect>()) {}

  llvm::LogicalResult verifyOperationAttribute(mlir::Operation *op,
                                               mlir::NamedAttribute attribute) override {
    if (attribute.getName() != "toy.refused")
      return mlir::success();
    return op->emitError("the toy dialect refuses this");
  }
};
} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK mlir::DialectPluginLibraryInfo mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "Toy", "0.1.0",
          [](mlir::DialectRegistry *registry) { registry->insert<ToyDialect>(); }};
}
