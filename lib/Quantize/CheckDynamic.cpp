//===- CheckDynamic.cpp - data types and QConfigs that are dynamic --------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plan.h"

using namespace mlir;
using namespace octet;

std::optional<Reason> octet::checkKind(DTypesOp dtypes, QConfigAttr qconfig) {
  bool isDynamic = qconfig.getActivation().getSpec().isDynamic;
  if (isDynamic == dtypes.getDynamic())
    return std::nullopt;
  return Reason{"OCT215",
                isDynamic ? "the activation observer is dynamic, but the pattern's data types are "
                            "not"
                          : "the pattern's data types are dynamic, but the activation observer is "
                            "not",
                isDynamic ? "add an octet.dtypes with `dynamic` to the pattern, or give the "
                            "QConfig an observer such as #octet.min_max"
                          : "give the QConfig the activation observer #octet.placeholder<dtype = "
                            "ui8, dynamic = true>"};
}

std::optional<Reason> octet::checkDynamic(const Unit &unit, const ObserverSpec &spec) {
  OpOperand *activation = unit.getWeightedActivation();
  if (!activation)
    return Reason{"OCT217", "it multiplies no activation by a weight, as units that are dynamic do",
                  "give the pattern data types without `dynamic`, and the QConfig an observer such "
                  "as #octet.min_max"};
  if (spec.isPerRow && !cast<ShapedType>(activation->get().getType()).hasStaticShape())
    return Reason{"OCT216",
                  "the activation observer has one scale per row, and the rows are known at run "
                  "time only",
                  "omit per_row in the activation observer"};
  return std::nullopt;
}
