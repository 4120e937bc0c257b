//===- BuilderFunctions.cpp - networks that networks call ----------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BuilderState.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Parser/Parser.h"
#include "octet/Backend/FunctionMapping.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

/// The networks have contexts of their own, so that one reaches the other as bytecode.
llvm::Error NetworkBuilder::addFunction(StringRef symbol, const NetworkBuilder &network,
                                        StringRef mapping) {
  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  if (failed(writeBytecodeToFile(network.getModule(), os)))
    return llvm::createStringError("the function cannot be read");
  auto module = parseSourceString<ModuleOp>(bytes, &state->context);
  auto function = module ? module->lookupSymbol<func::FuncOp>("main") : func::FuncOp();
  if (!function || state->module->lookupSymbol(symbol))
    return state->takeError();
  function.setSymName(symbol);
  function.setPrivate();
  function.removeArgAttrsAttr();
  function.removeResAttrsAttr();
  if (!mapping.empty() && failed(addMappingOfFunction(*module, function, mapping)))
    return state->takeError();
  state->module->getBody()->getOperations().splice(state->module->getBody()->begin(),
                                                   module->getBody()->getOperations());
  return llvm::Error::success();
}

llvm::Expected<std::vector<NetworkBuilder::Id>> NetworkBuilder::call(StringRef symbol,
                                                                     ArrayRef<Id> operands) {
  auto function = state->module->lookupSymbol<func::FuncOp>(symbol);
  if (!function)
    return llvm::createStringError("there is no such function");
  SmallVector<Value> values;
  for (Id id : operands)
    values.push_back(state->getValue(id));
  if (TypeRange(ValueRange(values)) != TypeRange(function.getArgumentTypes()))
    return llvm::createStringError("the operands are not those of the function");
  auto made = func::CallOp::create(state->importer->builder, state->loc, function, values);
  octet::setOrigin(made, state->originAttr);
  std::vector<Id> ids;
  for (Value result : made.getResults()) {
    BuiltValue value;
    value.entry.value = result;
    ids.push_back(state->push(std::move(value)));
  }
  return ids;
}
