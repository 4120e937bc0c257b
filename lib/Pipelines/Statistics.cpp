//===- Statistics.cpp - files of statistics -------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file of statistics is IR: the calibrated `octet.observer`s and nothing else.
//
//===----------------------------------------------------------------------===//

#include "Calibrate.h"
#include "mlir/Parser/Parser.h"
#include "octet/Emit/Emit.h"

using namespace mlir;
using namespace octet;

static llvm::Error makeError(StringRef path, const llvm::Twine &message) {
  return llvm::createStringError("'" + path + "': " + message);
}

llvm::Error octet::saveStatistics(ModuleOp module, const Statistics &statistics, StringRef path) {
  OwningOpRef<ModuleOp> file(ModuleOp::create(UnknownLoc::get(module.getContext())));
  OpBuilder builder = OpBuilder::atBlockBegin(file->getBody());
  for (auto &[symbol, state] : statistics) {
    auto observer = module.lookupSymbol<ObserverOp>(symbol);
    ObserverOp::create(builder, observer.getLoc(), observer.getSymNameAttr(), observer.getObserver(), nullptr);
  }
  attachStatistics(*file, statistics);
  std::string text;
  llvm::raw_string_ostream os(text);
  file->print(os, OpPrintingFlags().enableDebugInfo(false));
  os << '\n';
  return writeFileAtomically(path, text);
}

llvm::Expected<Statistics> octet::loadStatistics(ModuleOp module, StringRef path) {
  OwningOpRef<ModuleOp> file = parseSourceFile<ModuleOp>(path, ParserConfig(module.getContext()));
  if (!file)
    return makeError(path, "expected a file of statistics");
  Statistics statistics, expected = initStatistics(module);
  for (auto saved : file->getOps<ObserverOp>()) {
    auto it = expected.find(saved.getSymName().str());
    if (it == expected.end())
      return makeError(path, "the network has no observer '" + saved.getSymName() + "'");
    auto observer = module.lookupSymbol<ObserverOp>(saved.getSymName());
    if (observer.getObserver() != saved.getObserver())
      return makeError(path, "observer '" + saved.getSymName() + "' is of another kind than the network's");
    DenseIntElementsAttr values = saved.getStatisticsAttr();
    if (!values || values.getNumElements() != (int64_t)it->second.bytes.size())
      return makeError(path, "the statistics of observer '" + saved.getSymName() + "' do not fit");
    ObserverState &state = statistics[it->first];
    state.observed = it->second.observed;
    for (int8_t byte : values.getValues<int8_t>())
      state.bytes.push_back(byte);
  }
  for (auto &[symbol, state] : expected)
    if (!statistics.count(symbol))
      return makeError(path, "observer '" + symbol + "' is missing");
  return statistics;
}

llvm::Error octet::mergeStatistics(ModuleOp module, Statistics &statistics, const Statistics &other, StringRef path) {
  for (auto &[symbol, state] : statistics) {
    ObserverAttrInterface observer = module.lookupSymbol<ObserverOp>(symbol).getObserver();
    if (failed(observer.mergeState(state.observed, state.bytes, other.at(symbol).bytes)))
      return makeError(path, "the statistics of observer '" + symbol + "' depend on the order of samples and cannot be merged");
  }
  return llvm::Error::success();
}
