//===- AttachPolicy.cpp - backend and mapping become part of the module ---===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Backend/Backend.h"
#include "octet/Quantize/Passes.h"

using namespace mlir;
using namespace octet;

namespace octet {
#define GEN_PASS_DEF_ATTACHPOLICYPASS
#include "octet/Quantize/Passes.h.inc"
} // namespace octet

namespace {
struct AttachPolicy : octet::impl::AttachPolicyPassBase<AttachPolicy> {
  using AttachPolicyPassBase::AttachPolicyPassBase;

  void runOnOperation() override {
    if (failed(attachPolicy(getOperation(), backend, qconfigMapping)))
      signalPassFailure();
  }
};
} // namespace
