//===- X86.cpp - micro-kernel ops to x86 instructions ---------------------===//
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

/// AVX-512 VNNI: one instruction.
struct LowerDot4Vnni : OpRewritePattern<kernel::Dot4Op> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(kernel::Dot4Op op, PatternRewriter &b) const override {
    b.replaceOp(op, callIntrinsic(b, op.getLoc(), "llvm.x86.avx512.vpdpbusd.512", op.getType(),
                                  {op.getAcc(), op.getA(), op.getB()}));
    return success();
  }
};

/// AVX-512 scales by a power of two in one instruction, rounding once.
struct LowerScale512 : OpRewritePattern<kernel::ScaleOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(kernel::ScaleOp op, PatternRewriter &rewriter) const override {
    if (!isa<VectorType>(op.getType()))
      return rewriter.notifyMatchFailure(op, "requires a vector");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value exponent = arith::SIToFPOp::create(b, op.getType(), op.getExponent());
    Value all = arith::ConstantOp::create(b, b.getI16IntegerAttr(-1));
    Value currentRounding = arith::ConstantOp::create(b, b.getI32IntegerAttr(4));
    rewriter.replaceOp(op, callIntrinsic(b, b.getLoc(), "llvm.x86.avx512.mask.scalef.ps.512", op.getType(),
                                         {op.getInput(), exponent, op.getInput(), all, currentRounding}));
    return success();
  }
};

/// Without VNNI: a multiply-add of words.
struct LowerDot2 : OpRewritePattern<kernel::Dot2Op> {
  LowerDot2(MLIRContext *context, bool isAvx2) : OpRewritePattern(context, /*benefit=*/2), isAvx2(isAvx2) {}

  LogicalResult matchAndRewrite(kernel::Dot2Op op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOpWithNewOp<arith::AddIOp>(op, op.getAcc(), multiplyAdd(b, op.getA(), op.getB(), isAvx2));
    return success();
  }

  static Value multiplyAdd(ImplicitLocOpBuilder &b, Value x, Value y, bool isAvx2) {
    int64_t lanes = isAvx2 ? 16 : 8;
    StringRef name = isAvx2 ? "llvm.x86.avx2.pmadd.wd" : "llvm.x86.sse2.pmadd.wd";
    auto type = VectorType::get({lanes / 2}, b.getI32Type());
    SmallVector<Value> parts;
    for (int64_t i = 0; i < 32; i += lanes)
      parts.push_back(callIntrinsic(b, b.getLoc(), name, type, {sliceVector(b, b.getLoc(), x, i, lanes), sliceVector(b, b.getLoc(), y, i, lanes)}));
    return concatVectors(b, b.getLoc(), parts);
  }

  bool isAvx2;
};

/// Without VNNI: even and odd bytes widened to 16 bits inside their lanes, two multiply-adds. The saturating vpmaddubsw
/// would change results.
struct LowerDot4Madd : OpRewritePattern<kernel::Dot4Op> {
  LowerDot4Madd(MLIRContext *context, bool isAvx2) : OpRewritePattern(context, /*benefit=*/2), isAvx2(isAvx2) {}

  LogicalResult matchAndRewrite(kernel::Dot4Op op, PatternRewriter &rewriter) const override {
    KernelBuilder b(op.getLoc(), rewriter, *lookupCpuLevel("reference"));
    auto [aEven, aOdd] = b.widenBytes(op.getA(), /*isSigned=*/false);
    auto [wEven, wOdd] = b.widenBytes(op.getB(), /*isSigned=*/true);
    Value sum = arith::AddIOp::create(b, LowerDot2::multiplyAdd(b, aEven, wEven, isAvx2), LowerDot2::multiplyAdd(b, aOdd, wOdd, isAvx2));
    rewriter.replaceOpWithNewOp<arith::AddIOp>(op, op.getAcc(), sum);
    return success();
  }

  bool isAvx2;
};

/// Saturating packs of registers of `lanes` 32-bit lanes. They work inside 16-byte lanes: registers that hold more than one of
/// these need a permutation of dwords, unless that order is wanted.
struct LowerPack : OpRewritePattern<kernel::PackOp> {
  LowerPack(MLIRContext *context, int64_t lanes, StringRef packWords, StringRef packBytes, PatternBenefit benefit)
      : OpRewritePattern(context, benefit), lanes(lanes), packWords(packWords), packBytes(packBytes) {}

  LogicalResult matchAndRewrite(kernel::PackOp op, PatternRewriter &rewriter) const override {
    int64_t count = op.getInputs().size() * 16 / (4 * lanes);
    if (count == 0)
      return rewriter.notifyMatchFailure(op, "requires four registers");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto words = VectorType::get({2 * lanes}, b.getI16Type()), bytes = VectorType::get({4 * lanes}, b.getI8Type());
    auto dwords = VectorType::get({lanes}, b.getI32Type());
    SmallVector<int64_t> order = llvm::map_to_vector(llvm::seq(lanes), [&](int64_t i) { return 4 * (i % (lanes / 4)) + i / (lanes / 4); });
    SmallVector<Value> parts;
    for (int64_t part = 0; part < count; ++part) {
      auto getRegister = [&](int64_t i) {
        int64_t first = (4 * part + i) * lanes;
        return op.getInLanes() ? sliceVector(b, b.getLoc(), op.getInputs()[i], part * lanes, lanes)
                               : sliceVector(b, b.getLoc(), op.getInputs()[first / 16], first % 16, lanes);
      };
      Value low = callIntrinsic(b, b.getLoc(), packWords, words, {getRegister(0), getRegister(1)});
      Value high = callIntrinsic(b, b.getLoc(), packWords, words, {getRegister(2), getRegister(3)});
      Value packed = callIntrinsic(b, b.getLoc(), packBytes, bytes, {low, high});
      if (!op.getInLanes() && lanes > 4) {
        Value mixed = vector::BitCastOp::create(b, dwords, packed);
        packed = vector::BitCastOp::create(b, bytes, vector::ShuffleOp::create(b, mixed, mixed, order));
      }
      parts.push_back(packed);
    }
    rewriter.replaceOp(op, concatVectors(b, b.getLoc(), parts));
    return success();
  }

  int64_t lanes;
  StringRef packWords, packBytes;
};

/// One vector: saturation from above comes with the narrowing.
struct LowerPackOne512 : OpRewritePattern<kernel::PackOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(kernel::PackOp op, PatternRewriter &rewriter) const override {
    if (op.getInputs().size() != 1)
      return rewriter.notifyMatchFailure(op, "requires one vector");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto bytes = VectorType::get({16}, b.getI8Type());
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(op.getInputs()[0].getType()));
    Value none = arith::ConstantOp::create(b, b.getZeroAttr(bytes)), all = arith::ConstantOp::create(b, b.getI16IntegerAttr(-1));
    Value positive = arith::MaxSIOp::create(b, op.getInputs()[0], zero);
    rewriter.replaceOp(op, callIntrinsic(b, b.getLoc(), "llvm.x86.avx512.mask.pmovus.db.512", bytes, {positive, none, all}));
    return success();
  }
};

} // namespace

void codegen::populateX86Lowering(RewritePatternSet &patterns, const CpuLevel &level) {
  MLIRContext *context = patterns.getContext();
  if (level.features.contains("avx512vnni")) {
    patterns.add<LowerDot4Vnni, LowerPackOne512, LowerScale512>(context, /*benefit=*/2);
    patterns.add<LowerPack>(context, 16, "llvm.x86.avx512.packssdw.512", "llvm.x86.avx512.packuswb.512", /*benefit=*/2);
    return;
  }
  patterns.add<LowerDot4Madd, LowerDot2>(context, level.features.contains("avx2"));
  patterns.add<LowerPack>(context, 4, "llvm.x86.sse2.packssdw.128", "llvm.x86.sse2.packuswb.128", /*benefit=*/2);
  if (level.features.contains("avx2"))
    patterns.add<LowerPack>(context, 8, "llvm.x86.avx2.packssdw", "llvm.x86.avx2.packuswb", /*benefit=*/3);
}
