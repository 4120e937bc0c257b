//===- Import.cpp - what every source of networks shares -----------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Import/Import.h"
#include "octet/Dialect/NN/NN.h"

using namespace mlir;
using namespace octet;

void octet::printElided(ModuleOp module, llvm::raw_ostream &os) {
  module->print(
      os,
      OpPrintingFlags().enableDebugInfo().elideLargeResourceString(0).elideLargeElementsAttrs(16));
  os << "\n";
}

ImportSummary octet::summarize(ModuleOp module) {
  ImportSummary summary;
  summary.multiplyAdds = nn::countMultiplyAdds(module);
  module.walk([&](Operation *op) {
    if (!isa<nn::NNDialect>(op->getDialect()))
      return;
    if (auto constant = dyn_cast<nn::ConstantOp>(op)) {
      auto type = cast<ShapedType>(constant.getValue().getType());
      summary.constantBytes += type.getNumElements() * (type.getElementTypeBitWidth() / 8);
      return;
    }
    ++summary.operators;
  });
  return summary;
}
