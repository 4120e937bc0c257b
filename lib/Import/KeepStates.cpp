//===- KeepStates.cpp - inputs and outputs that the library keeps ---------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StateNames.h"
#include "octet/Dialect/NN/States.h"
#include "octet/Import/Passes.h"
#include "octet/Support/Diagnostics.h"
#include "octet/Support/Quote.h"

namespace octet {
#define GEN_PASS_DEF_KEEPSTATESPASS
#include "octet/Import/Passes.h.inc"
} // namespace octet

using namespace mlir;
using namespace octet;

namespace {
/// An input or output: its number and its name, `input0` and the like without one of its own.
struct End {
  unsigned number;
  std::string name;
  Type type;
  bool isKept; ///< it belongs to a state
};

/// See Passes.td.
struct KeepStates : octet::impl::KeepStatesPassBase<KeepStates> {
  using KeepStatesPassBase::KeepStatesPassBase;

  void runOnOperation() override {
    network = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!network) {
      getOperation().emitError("expected a function named 'main'");
      return signalPassFailure();
    }
    collectEnds();
    // Those that are named come first.
    for (const std::string &state : states)
      if (state != "auto" && failed(keepNamed(state)))
        return signalPassFailure();
    if (llvm::is_contained(states, "auto") && failed(keepFound()))
      return signalPassFailure();
  }

private:
  void collectEnds();
  LogicalResult keepNamed(StringRef state);
  LogicalResult keepFound();
  LogicalResult keep(End &input, End &output);
  FailureOr<End *> find(SmallVectorImpl<End> &ends, StringRef role, StringRef name);
  InFlightDiagnostic error() { return emitError(network.getLoc()); }

  func::FuncOp network;
  SmallVector<End> inputs, outputs;
};
} // namespace

void KeepStates::collectEnds() {
  auto make = [](unsigned number, StringRef role, Attribute name, Type type, bool isKept) {
    return End{number, name ? cast<StringAttr>(name).str() : (role + llvm::Twine(number)).str(),
               type, isKept};
  };
  for (auto [i, type] : llvm::enumerate(network.getArgumentTypes()))
    inputs.push_back(make(i, "input", network.getArgAttr(i, nn::kNameAttr), type,
                          (bool)nn::getStateOfArgument(network, i)));
  for (auto [i, type] : llvm::enumerate(network.getResultTypes()))
    outputs.push_back(make(i, "output", network.getResultAttr(i, nn::kNameAttr), type,
                           (bool)nn::getStateOfResult(network, i)));
}

FailureOr<End *> KeepStates::find(SmallVectorImpl<End> &ends, StringRef role, StringRef name) {
  auto *end = llvm::find_if(ends, [&](const End &other) { return other.name == name; });
  if (end != ends.end() && !end->isKept)
    return &*end;
  if (end != ends.end())
    return error() << "the " << role << " " << quote(name) << " belongs to a state already"
                   << Remedy("give each input and output once");
  InFlightDiagnostic diagnostic = error() << "a state names the " << role << " " << quote(name)
                                          << ", but the " << role << "s are";
  for (const End &other : ends)
    diagnostic << " " << quote(other.name);
  return diagnostic;
}

LogicalResult KeepStates::keep(End &input, End &output) {
  if (input.type != output.type)
    return error() << "the state " << quote(input.name) << " is a " << input.type
                   << ", but its output " << quote(output.name) << " is a " << output.type;
  if (isa<quant::QuantizedType>(getElementTypeOrSelf(input.type)))
    return error() << "the state " << quote(input.name)
                   << " is quantized; a state starts as zeros, which stand for other numbers there"
                   << Remedy("leave it in the interface");
  auto name = StringAttr::get(&getContext(), input.name);
  network.setArgAttr(input.number, nn::kStateAttr, name);
  network.setResultAttr(output.number, nn::kStateAttr, name);
  input.isKept = output.isKept = true;
  ++numStates;
  return success();
}

LogicalResult KeepStates::keepNamed(StringRef state) {
  auto [inputName, outputName] = state.split('=');
  if (inputName.empty() || outputName.empty())
    return error() << "the state " << quote(state)
                   << ": expected an input and an output, as in h=hn, or auto";
  FailureOr<End *> input = find(inputs, "input", inputName);
  if (failed(input))
    return failure();
  FailureOr<End *> output = find(outputs, "output", outputName);
  return failed(output) ? failure() : keep(**input, **output);
}

LogicalResult KeepStates::keepFound() {
  bool any = false;
  for (End &input : inputs) {
    End *found = nullptr;
    for (End &output : outputs) {
      if (input.isKept || output.isKept || input.type != output.type ||
          !areNamesOfState(input.name, output.name))
        continue;
      if (found)
        return error() << "the input " << quote(input.name) << " may be a state with the output "
                       << quote(found->name) << " or " << quote(output.name)
                       << Remedy("name the right one instead of auto");
      found = &output;
    }
    if (found && failed(keep(input, *found)))
      return failure();
    any |= (bool)found;
  }
  if (any)
    return success();
  return error() << "no input and output have names of one state, such as h and hn, and one type"
                 << Remedy("name them instead of auto, as in h=hn");
}
