//===- listing.cpp - the operators of a network, for Python -----------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ir.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Quant/IR/Quant.h"
#include "mlir/Parser/Parser.h"
#include "octet/Dialect/NN/Constants.h"
#include "octet/Dialect/Octet/Origin.h"
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace mlir;
using namespace octet;

template <typename T> static std::string print(T value) {
  std::string text;
  llvm::raw_string_ostream os(text);
  value.print(os);
  return text;
}

namespace {
/// Numbers values in the order in which they are seen.
struct Numbers {
  std::vector<int64_t> get(ValueRange values) {
    std::vector<int64_t> numbers;
    for (Value value : values)
      numbers.push_back(known.try_emplace(value, known.size()).first->second);
    return numbers;
  }
  /// Two names of one value.
  void join(Value value, Value same) { known[value] = get(same).front(); }
  llvm::DenseMap<Value, int64_t> known;
};
} // namespace

/// The source's name of what computes a value, or of a constant.
static std::string getName(Operation *op) {
  if (auto constant = dyn_cast<nn::ConstantOp>(op))
    return nn::getConstantName(constant).str();
  return getSourceName(op).str();
}

static nb::dict describe(Operation &op, Numbers &numbers) {
  nb::dict result;
  result["op"] = op.getName().getStringRef().str();
  result["operands"] = numbers.get(op.getOperands());
  result["results"] = numbers.get(op.getResults());
  result["name"] = getName(&op);
  OriginAttr origin = getOrigin(&op);
  result["class"] = origin && origin.getSourceClass() ? origin.getSourceClass().str() : "";
  result["index"] = origin ? origin.getIndex().value_or(0) : 0;
  auto observe = dyn_cast<ObserveOp>(op);
  result["observer"] = observe ? observe.getObserver().str() : std::string();
  nb::list types;
  for (Type type : op.getResultTypes())
    types.append(print(type));
  result["types"] = types;
  return result;
}

/// The operators of a block; of a group, those inside.
static void listBlock(Block &block, Numbers &numbers, nb::list &operators) {
  for (Operation &op : block) {
    auto group = dyn_cast<GroupOp>(op);
    if (!group) {
      operators.append(describe(op, numbers));
      continue;
    }
    Block &body = group.getBody().front();
    for (auto [argument, operand] : llvm::zip_equal(body.getArguments(), group->getOperands()))
      numbers.join(argument, operand);
    listBlock(body, numbers, operators);
    for (auto [result, yielded] :
         llvm::zip_equal(group->getResults(), body.getTerminator()->getOperands()))
      numbers.join(result, yielded);
  }
}

/// {"inputs": the numbers of the function's arguments, "operators": …, "observers": texts of
/// observers by symbol}
static nb::dict list(nb::bytes bytecode) {
  DialectRegistry registry;
  registry.insert<func::FuncDialect, quant::QuantDialect, nn::NNDialect, OctetDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  auto module = parseSourceString<ModuleOp>(StringRef(bytecode.c_str(), bytecode.size()), &context);
  auto main = module ? module->lookupSymbol<func::FuncOp>("main") : func::FuncOp();
  if (!main)
    throw nb::value_error("the bytecode holds no function 'main'");
  Numbers numbers;
  nb::dict result, observers;
  result["inputs"] = numbers.get(main.getArguments());
  nb::list operators;
  listBlock(main.front(), numbers, operators);
  for (auto observer : module->getOps<ObserverOp>())
    observers[nb::str(observer.getSymName().str().c_str())] = print(observer.getObserver());
  result["operators"] = operators;
  result["observers"] = observers;
  return result;
}

void octet::python::defineListing(nb::module_ &module) {
  module.def("list_operators", &list, nb::arg("bytecode"),
             "The operators of a network, in their order: operands and results are numbers of "
             "values.");
}
