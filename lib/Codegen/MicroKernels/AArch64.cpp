//===- AArch64.cpp - micro-kernel ops to AArch64 instructions -------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

namespace {

/// sdot multiplies signed bytes: u = s + 128 with s = u ^ 0x80, hence u . w = s . w + 128 * sum(w);
/// the second term is an sdot of the weights with -128, which all dot products with the same
/// weights share.
struct LowerDot4Sdot : OpRewritePattern<kernel::Dot4Op> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(kernel::Dot4Op op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto bytes = VectorType::get({64}, b.getI8Type());
    Value flip = arith::ConstantOp::create(
        b, DenseElementsAttr::get(bytes, (Attribute)b.getI8IntegerAttr(-128)));
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(op.getType()));
    Value shifted = arith::XOrIOp::create(b, op.getA(), flip);
    Value negatedTerm = dot(b, zero, flip, op.getB());
    rewriter.replaceOpWithNewOp<arith::SubIOp>(op, dot(b, op.getAcc(), shifted, op.getB()),
                                               negatedTerm);
    return success();
  }

private:
  static Value dot(ImplicitLocOpBuilder &b, Value acc, Value x, Value w) {
    SmallVector<Value> parts;
    for (int64_t i = 0; i < 4; ++i)
      parts.push_back(callIntrinsic(
          b, b.getLoc(), "llvm.aarch64.neon.sdot.v4i32.v16i8", VectorType::get({4}, b.getI32Type()),
          {sliceVector(b, b.getLoc(), acc, 4 * i, 4), sliceVector(b, b.getLoc(), x, 16 * i, 16),
           sliceVector(b, b.getLoc(), w, 16 * i, 16)}));
    return concatVectors(b, b.getLoc(), parts);
  }
};

} // namespace

void codegen::populateAArch64Lowering(RewritePatternSet &patterns, const CpuLevel &level) {
  if (level.hasFeature("dotprod"))
    patterns.add<LowerDot4Sdot>(patterns.getContext(), /*benefit=*/2);
}
