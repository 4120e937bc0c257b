//===- InlineGroups.cpp - replaces float groups by their bodies -----------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/TypeUtilities.h"
#include "octet/Quantize/Passes.h"

using namespace mlir;
using namespace octet;

namespace octet {
#define GEN_PASS_DEF_INLINEGROUPSPASS
#include "octet/Quantize/Passes.h.inc"
} // namespace octet

static bool isQuantized(Type type) { return isa<quant::QuantizedType>(getElementTypeOrSelf(type)); }

namespace {
struct InlineGroups : octet::impl::InlineGroupsPassBase<InlineGroups> {
  void runOnOperation() override {
    getOperation()->walk([&](GroupOp group) {
      bool readsStored = !group.getBody().getOps<DequantizeWeightsOp>().empty();
      if (readsStored || llvm::any_of(group->getOperandTypes(), isQuantized) ||
          llvm::any_of(group->getResultTypes(), isQuantized))
        return;
      group.inlineBody();
      group.erase();
      ++numInlined;
    });
  }
};
} // namespace
