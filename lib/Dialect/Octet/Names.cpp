//===- Names.cpp - the source name of an operator -------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Dialect/Octet/Names.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

StringRef octet::getSourceName(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return name.getName();
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      if (StringRef name = getSourceName(part); !name.empty())
        return name;
  return "";
}
