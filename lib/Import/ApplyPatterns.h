//===- ApplyPatterns.h - rewriting imported networks ------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_IMPORT_APPLYPATTERNS_H
#define OCTET_LIB_IMPORT_APPLYPATTERNS_H

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "octet/Dialect/Octet/Origin.h"

namespace octet {

/// Applies patterns until none matches. New operators have the origin of the one that was matched;
/// constants keep their locations, and so are neither folded nor merged.
inline llvm::LogicalResult applyToNetwork(mlir::Operation *network,
                                          mlir::RewritePatternSet patterns) {
  OriginPropagation origins;
  mlir::GreedyRewriteConfig config;
  config.setListener(&origins);
  config.enableFolding(false).enableConstantCSE(false);
  return mlir::applyPatternsGreedily(network, std::move(patterns), config);
}

} // namespace octet

#endif // OCTET_LIB_IMPORT_APPLYPATTERNS_H
