//===- Generic.cpp - micro-kernel ops in plain vector arithmetic ----------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

Value codegen::callIntrinsic(OpBuilder &b, Location loc, StringRef name, Type result,
                             ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(b, loc, result, b.getStringAttr(name), operands)
      .getResult(0);
}

Value codegen::sliceVector(OpBuilder &b, Location loc, Value vector, int64_t offset, int64_t size) {
  return vector::ExtractStridedSliceOp::create(b, loc, vector, ArrayRef<int64_t>{offset},
                                               ArrayRef<int64_t>{size}, ArrayRef<int64_t>{1});
}

namespace {

struct LowerBroadcast4 : OpRewritePattern<kernel::Broadcast4Op> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(kernel::Broadcast4Op op, PatternRewriter &b) const override {
    Location loc = op.getLoc();
    Value bytes = vector::LoadOp::create(b, loc, VectorType::get({4}, b.getI8Type()), op.getBase(),
                                         ValueRange{op.getIndex()});
    Value word = vector::BitCastOp::create(b, loc, VectorType::get({1}, b.getI32Type()), bytes);
    Value lanes = vector::BroadcastOp::create(b, loc, VectorType::get({16}, b.getI32Type()), word);
    b.replaceOpWithNewOp<vector::BitCastOp>(op, op.getResult().getType(), lanes);
    return success();
  }
};

struct LowerReload : OpRewritePattern<kernel::ReloadOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(kernel::ReloadOp op, PatternRewriter &b) const override {
    b.replaceOpWithNewOp<vector::LoadOp>(op, cast<VectorType>(op.getType()), op.getBase(),
                                         ValueRange{op.getIndex()});
    return success();
  }
};

struct LowerRound : OpRewritePattern<kernel::RoundOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(kernel::RoundOp op, PatternRewriter &b) const override {
    std::string name = "llvm.lrint.i32.f32";
    if (auto vector = dyn_cast<VectorType>(op.getInput().getType())) {
      std::string lanes = std::to_string(vector.getNumElements());
      name = "llvm.lrint.v" + lanes + "i32.v" + lanes + "f32";
    }
    b.replaceOp(op, callIntrinsic(b, op.getLoc(), name, op.getResult().getType(), op.getInput()));
    return success();
  }
};

/// Into the exponent.
struct LowerScale : OpRewritePattern<kernel::ScaleOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(kernel::ScaleOp op, PatternRewriter &rewriter) const override {
    KernelBuilder b(op.getLoc(), rewriter, *lookupCpuLevel("reference"));
    auto vector = dyn_cast<VectorType>(op.getInput().getType());
    b.lanes = vector ? vector.getNumElements() : 1;
    Value bits = b.add(b.bitcast(op.getInput(), b.getI32Type()),
                       arith::ShLIOp::create(b, op.getExponent(), b.constI(23)));
    rewriter.replaceOp(op, b.bitcast(bits, b.getF32Type()));
    return success();
  }
};

/// Four 32-bit products per lane.
struct LowerDot4 : OpRewritePattern<kernel::Dot4Op> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(kernel::Dot4Op op, PatternRewriter &rewriter) const override {
    KernelBuilder b(op.getLoc(), rewriter, *lookupCpuLevel("reference"));
    b.lanes = 16;
    Value a = vector::BitCastOp::create(b, b.i32(), op.getA()),
          w = vector::BitCastOp::create(b, b.i32(), op.getB()), acc = op.getAcc();
    for (int byte = 0; byte < 4; ++byte) {
      auto extend = [&](Value bytes, bool isSigned) -> Value {
        if (!isSigned)
          return arith::AndIOp::create(b, arith::ShRUIOp::create(b, bytes, b.constI(8 * byte)),
                                       b.constI(255));
        Value top = arith::ShLIOp::create(b, bytes, b.constI(24 - 8 * byte));
        return arith::ShRSIOp::create(b, top, b.constI(24));
      };
      Value x = extend(a, op.getIsSigned()), y = extend(w, /*isSigned=*/true);
      acc = b.add(acc, b.mul(x, y));
    }
    rewriter.replaceOp(op, acc);
    return success();
  }
};

/// Even and odd elements, widened.
struct LowerAddPairs : OpRewritePattern<kernel::AddPairsOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(kernel::AddPairsOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value sum = op.getAcc();
    for (int64_t first : {0, 1}) {
      SmallVector<int64_t> order;
      for (int64_t lane = 0; lane < 32; ++lane)
        order.push_back(2 * lane + first);
      Value half = vector::ShuffleOp::create(b, op.getX(), op.getX(), order);
      sum = arith::AddIOp::create(b, sum, arith::ExtSIOp::create(b, op.getType(), half));
    }
    rewriter.replaceOp(op, sum);
    return success();
  }
};

/// Clamp and truncate, vector by vector.
struct LowerPack : OpRewritePattern<kernel::PackOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(kernel::PackOp op, PatternRewriter &rewriter) const override {
    KernelBuilder b(op.getLoc(), rewriter, *lookupCpuLevel("reference"));
    b.lanes = 16;
    SmallVector<Value> parts;
    int32_t low = op.getIsSigned() ? -128 : 0;
    for (Value input : op.getInputs()) {
      Value clamped = arith::MinSIOp::create(b, arith::MaxSIOp::create(b, input, b.constI(low)),
                                             b.constI(low + 255));
      parts.push_back(arith::TruncIOp::create(b, b.ofLanes(b.getI8Type()), clamped));
    }
    Value packed = concatVectors(b, op.getLoc(), parts);
    if (op.getInLanes()) {
      SmallVector<int64_t> order;
      for (int64_t i = 0; i < 64; ++i)
        order.push_back(i % 16 / 4 * 16 + i / 16 * 4 + i % 4);
      packed = vector::ShuffleOp::create(b, packed, packed, order);
    }
    rewriter.replaceOp(op, packed);
    return success();
  }
};

} // namespace

void codegen::populateGenericLowering(RewritePatternSet &patterns) {
  patterns.add<LowerBroadcast4, LowerReload, LowerRound, LowerScale, LowerDot4, LowerAddPairs,
               LowerPack>(patterns.getContext(),
                          /*benefit=*/1);
}
