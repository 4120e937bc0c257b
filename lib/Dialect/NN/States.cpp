//===- States.cpp - values kept from run to run ---------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Dialect/NN/States.h"

using namespace mlir;
using namespace octet;

StringAttr nn::getStateOfArgument(FunctionOpInterface network, unsigned argument) {
  return network.getArgAttrOfType<StringAttr>(argument, kStateAttr);
}

StringAttr nn::getStateOfResult(FunctionOpInterface network, unsigned result) {
  return network.getResultAttrOfType<StringAttr>(result, kStateAttr);
}

SmallVector<nn::State> nn::getStates(FunctionOpInterface network) {
  SmallVector<State> states;
  for (unsigned argument = 0; argument < network.getNumArguments(); ++argument)
    if (StringAttr name = getStateOfArgument(network, argument))
      for (unsigned result = 0; result < network.getNumResults(); ++result)
        if (getStateOfResult(network, result) == name)
          states.push_back({name, argument, result});
  return states;
}

LogicalResult nn::verifyState(Operation *function, Attribute name) {
  if (!isa<StringAttr>(name))
    return function->emitOpError("expected a string for 'nn.state', but got ") << name;
  auto network = cast<FunctionOpInterface>(function); // no other op has results with attributes
  SmallVector<Type> read, written;
  for (unsigned i = 0; i < network.getNumArguments(); ++i)
    if (getStateOfArgument(network, i) == name)
      read.push_back(network.getArgumentTypes()[i]);
  for (unsigned i = 0; i < network.getNumResults(); ++i)
    if (getStateOfResult(network, i) == name)
      written.push_back(network.getResultTypes()[i]);
  if (read.size() != 1 || written.size() != 1)
    return function->emitOpError("expected one argument and one result for the state ")
           << name << ", but got " << read.size() << " and " << written.size();
  if (read != written)
    return function->emitOpError("expected one type for the state ")
           << name << ", but got " << read[0] << " and " << written[0];
  return success();
}
