//===- InlineCalls.cpp - replaces calls by the functions' bodies ----------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "octet/Quantize/Passes.h"
#include "octet/Support/Diagnostics.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace octet;

namespace octet {
#define GEN_PASS_DEF_INLINECALLSPASS
#include "octet/Quantize/Passes.h.inc"
} // namespace octet

/// Puts a copy of the function's only block in the place of the call.
static void inlineCall(CallOpInterface call, FunctionOpInterface function) {
  Block &body = function.getFunctionBody().front();
  IRMapping mapping;
  mapping.map(body.getArguments(), call.getArgOperands());
  OpBuilder builder(call);
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  for (auto [result, value] :
       llvm::zip_equal(call->getResults(), body.getTerminator()->getOperands()))
    result.replaceAllUsesWith(mapping.lookupOrDefault(value));
  call->erase();
}

namespace {
/// Inlines into functions of one module.
class Inliner {
public:
  explicit Inliner(ModuleOp module) : module(module) {}

  /// First into the functions that are called, then into this one.
  LogicalResult inlineInto(FunctionOpInterface function);
  /// Removes what nobody calls any more and nobody else can.
  void eraseCalled();

  int64_t numInlined = 0;

private:
  FunctionOpInterface getCallee(CallOpInterface call);

  ModuleOp module;
  SymbolTableCollection symbols;
  /// Functions that are being read, that are finished, and that calls have named.
  SetVector<Operation *> path, done, called;
};

struct InlineCalls : octet::impl::InlineCallsPassBase<InlineCalls> {
  void runOnOperation() override {
    Inliner inliner(getOperation());
    for (auto function : getOperation().getOps<FunctionOpInterface>())
      if (failed(inliner.inlineInto(function)))
        return signalPassFailure();
    inliner.eraseCalled();
    numInlined += inliner.numInlined;
  }
};
} // namespace

/// The function that a call names, if its body can take the place of the call.
FunctionOpInterface Inliner::getCallee(CallOpInterface call) {
  auto callee = dyn_cast_or_null<FunctionOpInterface>(call.resolveCallableInTable(&symbols));
  bool fits =
      callee && callee->getParentOp() == module && llvm::hasSingleElement(callee.getFunctionBody());
  return fits ? callee : FunctionOpInterface();
}

LogicalResult Inliner::inlineInto(FunctionOpInterface function) {
  if (done.contains(function))
    return success();
  if (!path.insert(function))
    return function.emitError("expected a function that does not call itself")
           << Remedy("unroll the recursion");
  SmallVector<std::pair<CallOpInterface, FunctionOpInterface>> calls;
  function->walk([&](CallOpInterface call) {
    if (FunctionOpInterface callee = getCallee(call))
      calls.push_back({call, callee});
  });
  for (auto [call, callee] : calls) {
    if (failed(inlineInto(callee)))
      return failure();
    inlineCall(call, callee);
    called.insert(callee);
    ++numInlined;
  }
  path.remove(function);
  done.insert(function);
  return success();
}

void Inliner::eraseCalled() {
  for (Operation *function : llvm::reverse(called.getArrayRef()))
    if (SymbolTable::getSymbolVisibility(function) == SymbolTable::Visibility::Private &&
        SymbolTable::symbolKnownUseEmpty(function, module))
      function->erase();
}
