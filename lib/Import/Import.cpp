//===- Import.cpp - what every source of networks shares -----------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Import/Import.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Support/Quote.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace octet;

llvm::Error octet::parseInputShape(StringRef text, ImportOptions &options) {
  auto [name, dims] = text.rsplit('=');
  bool isShape = !name.empty() && !dims.empty();
  SmallVector<int64_t> shape;
  for (StringRef part : llvm::split(dims, 'x'))
    isShape &= !part.getAsInteger(10, shape.emplace_back()) && shape.back() > 0;
  if (!isShape)
    return llvm::createStringError("--input-shape=" + escapeText(text) +
                                   ": expected a name and positive sizes, as in x=1x3x224x224");
  if (!options.inputShapes.try_emplace(name, shape).second)
    return llvm::createStringError("--input-shape gives the shape of " + quote(name) + " twice");
  return llvm::Error::success();
}

llvm::Error octet::parseInputValue(StringRef text, ImportOptions &options) {
  auto [name, number] = text.rsplit('=');
  double value = 0;
  if (name.empty() || number.getAsDouble(value) || !std::isfinite(value))
    return llvm::createStringError("--input-value=" + escapeText(text) +
                                   ": expected a name and a number, as in sr=16000");
  if (!options.inputValues.try_emplace(name, value).second)
    return llvm::createStringError("--input-value gives the value of " + quote(name) + " twice");
  return llvm::Error::success();
}

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
