//===- Images.cpp - values that lie as images -----------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Images.h"
#include "Buffers.h"
#include "octet/Dialect/Kernel/Kernels.h"
#include "octet/Dialect/Octet/Octet.h"
#include "llvm/ADT/SmallVector.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

namespace {
/// The layout that kernels of `op`, plain or fused, want: whether channels lie side by side, and
/// whether they are the last dimension.
struct WantedLayout {
  bool channelsLast = false, inRows = false;

  explicit WantedLayout(Operation *op) {
    if (auto group = dyn_cast_or_null<GroupOp>(op)) {
      auto products = group.getBody().front().getOps<nn::ProductOpInterface>();
      op = products.empty() ? nullptr : (*products.begin()).getOperation();
    }
    if (!op || kernel::getOperatorRow(op).layout != kernel::Layout::channels_last)
      return;
    channelsLast = true;
    auto product = dyn_cast<nn::ProductOpInterface>(op);
    inRows =
        product && product.getResultChannelAxis() == getTensorType(op->getResult(0)).getRank() - 1;
  }
};
} // namespace

bool codegen::wantsImages(Operation *op) {
  WantedLayout wanted(op);
  return wanted.channelsLast && !wanted.inRows;
}

bool codegen::wantsRows(Operation *op) { return WantedLayout(op).inRows; }

static bool canLieAsImage(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() == 4 && !value.getDefiningOp<nn::ConstantOp>();
}

/// What is quantized in each run, with a scale for each row.
static bool isOfRows(Operation *op) {
  auto isScalar = [](Value scale) {
    return cast<RankedTensorType>(scale.getType()).getRank() == 0;
  };
  if (auto choose = dyn_cast<ChooseQParamsOp>(op))
    return !isScalar(choose.getScale());
  return isa<QuantizeDynamicOp, DequantizeDynamicOp>(op) && !isScalar(op->getOperand(1));
}

/// Whether the values that `op` reads and writes had better lie alike.
static bool keepsLayout(Operation *op) {
  return !isa<nn::ReshapeOp, nn::TransposeOp, nn::RelayoutOp>(op) && !isOfRows(op) &&
         !wantsRows(op) && !op->hasTrait<OpTrait::IsTerminator>();
}

llvm::DenseSet<Value> codegen::findImages(func::FuncOp func) {
  llvm::DenseSet<Value> images;
  SmallVector<Operation *> reached;
  for (Operation &op : func.getBody().front())
    if (wantsImages(&op))
      reached.push_back(&op);
  auto reach = [&](Value value) {
    if (!canLieAsImage(value) || !images.insert(value).second)
      return;
    if (Operation *producer = value.getDefiningOp(); producer && keepsLayout(producer))
      reached.push_back(producer);
    for (Operation *user : value.getUsers())
      if (keepsLayout(user))
        reached.push_back(user);
  };
  while (!reached.empty()) {
    Operation *op = reached.pop_back_val();
    llvm::for_each(op->getOperands(), reach);
    llvm::for_each(op->getResults(), reach);
  }
  return images;
}
