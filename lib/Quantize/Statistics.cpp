//===- Statistics.cpp - what a network's observers have seen ---------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file of statistics is IR: the calibrated `octet.observer`s and nothing else.
//
//===----------------------------------------------------------------------===//

#include "octet/Quantize/Statistics.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Parser/Parser.h"
#include "octet/Backend/Backend.h"
#include "octet/Support/Constants.h"
#include "octet/Support/Files.h"
#include "octet/Support/Message.h"
#include "octet/Support/Quote.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace octet;

Statistics octet::initStatistics(ModuleOp module) {
  Statistics statistics;
  module.walk([&](ObserveOp op) {
    auto observer = SymbolTable::lookupNearestSymbolFrom<ObserverOp>(op, op.getObserverAttr());
    if (observer->getParentOp() != module)
      return; // of a module inside
    RankedTensorType type = op.getObservedType();
    int64_t bytes = observer.getObserver().getStateBytes(type);
    if (bytes == 0 || getConstantElements(op.getInput()))
      return;
    auto [it, isNew] = statistics.try_emplace(op.getObserver().str());
    if (!isNew)
      return;
    it->second = {type, std::vector<char>(bytes)};
    observer.getObserver().initState(type, it->second.bytes);
  });
  return statistics;
}

/// Whether an observer's scales come from what it sees ahead of time.
static bool asksForSamples(ObserverAttrInterface observer) {
  ObserverSpec spec = observer.getSpec();
  return !spec.isDynamic && !spec.floatType;
}

bool octet::needsSamples(ModuleOp module) {
  if (!module.getOps<ObserverOp>().empty())
    return !initStatistics(module).empty();
  auto asks = [](Operation &entry) {
    QConfigAttr qconfig = getQConfig(&entry);
    if (!qconfig || qconfig.getActivation().getSpec().isDynamic) // results are float then
      return false;
    return asksForSamples(qconfig.getActivation()) ||
           (qconfig.getResult() && asksForSamples(qconfig.getResult()));
  };
  auto mappings = module.getOps<QConfigMappingOp>();
  return mappings.empty() || llvm::any_of(mappings, [&](QConfigMappingOp mapping) {
           return llvm::any_of(mapping.getBody().front(), asks);
         });
}

quant::QuantizedType octet::getTypeByStatistics(ObserverAttrInterface observer,
                                                RankedTensorType observed, ArrayRef<char> state) {
  auto type = observer.getQuantizedType([] { return InFlightDiagnostic(); }, observed, state);
  return failed(type) ? quant::QuantizedType() : *type;
}

quant::QuantizedType octet::getTypeOfConstant(ObserveOp op, ArrayRef<float> values) {
  auto symbol = SymbolTable::lookupNearestSymbolFrom<ObserverOp>(op, op.getObserverAttr());
  ObserverAttrInterface observer = symbol.getObserver();
  RankedTensorType observed = op.getObservedType();
  std::vector<char> state(observer.getStateBytes(observed));
  observer.initState(observed, state);
  observer.updateState(observed, values, state);
  return getTypeByStatistics(observer, observed, state);
}

void octet::attachStatistics(ModuleOp module, const Statistics &statistics) {
  for (auto &[symbol, state] : statistics)
    module.lookupSymbol<ObserverOp>(symbol).setState(state.bytes);
}

static llvm::Error makeError(StringRef path, const llvm::Twine &message) {
  return llvm::createStringError("'" + path + "': " + message);
}

/// The statistics of another network, or of another policy.
static llvm::Error makeMismatch(StringRef path, const llvm::Twine &message) {
  return makeRemedyError("'" + path + "': " + message,
                         "give statistics that were saved with this network, backend and QConfig "
                         "mapping");
}

std::string octet::printStatistics(ModuleOp module) {
  std::map<StringRef, ObserverOp> observers; // in an order of their own, not the network's
  for (auto observer : module.getOps<ObserverOp>())
    if (observer.getStatistics())
      observers[observer.getSymName()] = observer;
  OwningOpRef<ModuleOp> file(ModuleOp::create(UnknownLoc::get(module.getContext())));
  OpBuilder builder = OpBuilder::atBlockBegin(file->getBody());
  for (auto &[symbol, observer] : observers)
    ObserverOp::create(builder, observer.getLoc(), observer.getSymNameAttr(),
                       observer.getObserver(), observer.getStatisticsAttr());
  std::string text;
  llvm::raw_string_ostream os(text);
  file->print(os, OpPrintingFlags().enableDebugInfo(false));
  os << '\n';
  return text;
}

/// Parses a file; the error is the parser's first message.
static llvm::Expected<OwningOpRef<ModuleOp>> parseFile(MLIRContext *context, StringRef path) {
  auto buffer = readFile(path, kMostTextBytes);
  if (!buffer)
    return makeError(path, llvm::toString(buffer.takeError()));
  if (isBytecode(**buffer))
    return makeError(path, "expected statistics as text, but got bytecode");
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*buffer), {});
  std::string problem;
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    if (problem.empty())
      problem = diagnostic.str();
  });
  OwningOpRef<ModuleOp> file = parseSourceFile<ModuleOp>(sources, ParserConfig(context));
  if (!file)
    return makeError(path, "expected a file of statistics; " + escapeText(problem));
  return std::move(file);
}

/// The statistics in `file` for the observers of `module`.
static llvm::Expected<Statistics> readStatistics(ModuleOp module, ModuleOp file, StringRef path) {
  Statistics statistics, expected = initStatistics(module);
  for (auto saved : file.getOps<ObserverOp>()) {
    auto it = expected.find(saved.getSymName().str());
    if (it == expected.end())
      return makeMismatch(path,
                          "the network has no observer '" + escapeText(saved.getSymName()) + "'");
    auto observer = module.lookupSymbol<ObserverOp>(saved.getSymName());
    if (observer.getObserver() != saved.getObserver())
      return makeMismatch(path, "observer '" + escapeText(saved.getSymName()) +
                                    "' is of another kind than the network's");
    SmallVector<char> bytes = saved.getState();
    if (bytes.size() != it->second.bytes.size())
      return makeMismatch(path, "the statistics of observer '" + escapeText(saved.getSymName()) +
                                    "' do not fit");
    statistics[it->first] = {it->second.observed, {bytes.begin(), bytes.end()}};
  }
  for (auto &[symbol, state] : expected)
    if (!statistics.count(symbol))
      return makeMismatch(path, "observer '" + escapeText(symbol) + "' is missing");
  return statistics;
}

llvm::Error octet::mergeStatistics(ModuleOp module, Statistics &statistics, const Statistics &other,
                                   StringRef path) {
  for (auto &[symbol, state] : statistics) {
    ObserverAttrInterface observer = module.lookupSymbol<ObserverOp>(symbol).getObserver();
    if (failed(observer.mergeState(state.observed, state.bytes, other.at(symbol).bytes)))
      return makeError(path, "the statistics of observer '" + escapeText(symbol) +
                                 "' depend on the order of samples and cannot be merged");
  }
  return llvm::Error::success();
}

llvm::Expected<StatisticsFiles> StatisticsFiles::open(MLIRContext *context,
                                                      ArrayRef<std::string> paths) {
  StatisticsFiles opened;
  for (const std::string &path : paths) {
    llvm::Expected<OwningOpRef<ModuleOp>> file = parseFile(context, path);
    if (!file)
      return file.takeError();
    opened.files.emplace_back(path, std::move(*file));
  }
  return std::move(opened);
}

llvm::Error StatisticsFiles::merge(
    ModuleOp module, Statistics &statistics,
    llvm::function_ref<llvm::Error(const Statistics &, StringRef path)> check) const {
  for (const auto &[path, file] : files) {
    llvm::Expected<Statistics> loaded = readStatistics(module, *file, path);
    if (!loaded)
      return loaded.takeError();
    if (check)
      if (llvm::Error error = check(*loaded, path))
        return error;
    if (llvm::Error error = mergeStatistics(module, statistics, *loaded, path))
      return error;
  }
  return llvm::Error::success();
}
