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

/// Saturating packs over the four vectors, then one permutation of dwords to the natural order.
struct LowerPack512 : OpRewritePattern<kernel::PackOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(kernel::PackOp op, PatternRewriter &rewriter) const override {
    if (op.getInputs().size() != 4)
      return rewriter.notifyMatchFailure(op, "requires four vectors");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto words = VectorType::get({32}, b.getI16Type()), bytes = VectorType::get({64}, b.getI8Type());
    auto dwords = VectorType::get({16}, b.getI32Type());
    auto in = op.getInputs();
    Value low = callIntrinsic(b, b.getLoc(), "llvm.x86.avx512.packssdw.512", words, {in[0], in[1]});
    Value high = callIntrinsic(b, b.getLoc(), "llvm.x86.avx512.packssdw.512", words, {in[2], in[3]});
    Value packed = callIntrinsic(b, b.getLoc(), "llvm.x86.avx512.packuswb.512", bytes, {low, high});
    if (op.getInLanes()) {
      rewriter.replaceOp(op, packed);
      return success();
    }
    Value mixed = vector::BitCastOp::create(b, dwords, packed);
    SmallVector<int64_t> order;
    for (int64_t i = 0; i < 16; ++i)
      order.push_back(4 * (i % 4) + i / 4);
    Value ordered = vector::ShuffleOp::create(b, mixed, mixed, order);
    rewriter.replaceOpWithNewOp<vector::BitCastOp>(op, bytes, ordered);
    return success();
  }
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

/// Registers of eight lanes: halves of four vectors pack in lanes as they are; of two vectors, with a permutation.
struct LowerPack256 : OpRewritePattern<kernel::PackOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(kernel::PackOp op, PatternRewriter &rewriter) const override {
    if (op.getInputs().size() != 4)
      return rewriter.notifyMatchFailure(op, "requires four vectors");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto words = VectorType::get({16}, b.getI16Type()), bytes = VectorType::get({32}, b.getI8Type());
    auto dwords = VectorType::get({8}, b.getI32Type());
    auto half = [&](int64_t i, int64_t j) { return sliceVector(b, b.getLoc(), op.getInputs()[i], 8 * j, 8); };
    auto packWords = [&](Value low, Value high) { return callIntrinsic(b, b.getLoc(), "llvm.x86.avx2.packssdw", words, {low, high}); };
    auto packBytes = [&](Value low, Value high) { return callIntrinsic(b, b.getLoc(), "llvm.x86.avx2.packuswb", bytes, {low, high}); };
    SmallVector<Value> parts;
    for (int64_t i = 0; i < 2; ++i) {
      if (op.getInLanes()) {
        parts.push_back(packBytes(packWords(half(0, i), half(1, i)), packWords(half(2, i), half(3, i))));
        continue;
      }
      Value packed = packBytes(packWords(half(2 * i, 0), half(2 * i, 1)), packWords(half(2 * i + 1, 0), half(2 * i + 1, 1)));
      Value mixed = vector::BitCastOp::create(b, dwords, packed);
      Value ordered = vector::ShuffleOp::create(b, mixed, mixed, ArrayRef<int64_t>{0, 4, 1, 5, 2, 6, 3, 7});
      parts.push_back(vector::BitCastOp::create(b, bytes, ordered));
    }
    rewriter.replaceOp(op, concatVectors(b, b.getLoc(), parts));
    return success();
  }
};

/// Sixteen bytes from four registers of four lanes: in order without a permutation.
struct LowerPack128 : OpRewritePattern<kernel::PackOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(kernel::PackOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto words = VectorType::get({8}, b.getI16Type()), bytes = VectorType::get({16}, b.getI8Type());
    SmallVector<Value> parts;
    // The j-th four lanes of the i-th sixteen bytes.
    auto quarter = [&](int64_t i, int64_t j) {
      return op.getInLanes() ? sliceVector(b, b.getLoc(), op.getInputs()[j], 4 * i, 4)
                             : sliceVector(b, b.getLoc(), op.getInputs()[i], 4 * j, 4);
    };
    for (int64_t i = 0; i < (int64_t)op.getInputs().size(); ++i) {
      Value halves[2];
      for (int64_t j = 0; j < 2; ++j)
        halves[j] = callIntrinsic(b, b.getLoc(), "llvm.x86.sse2.packssdw.128", words, {quarter(i, 2 * j), quarter(i, 2 * j + 1)});
      parts.push_back(callIntrinsic(b, b.getLoc(), "llvm.x86.sse2.packuswb.128", bytes, {halves[0], halves[1]}));
    }
    rewriter.replaceOp(op, concatVectors(b, b.getLoc(), parts));
    return success();
  }
};

} // namespace

void codegen::populateX86Lowering(RewritePatternSet &patterns, const CpuLevel &level) {
  MLIRContext *context = patterns.getContext();
  if (level.features.contains("avx512vnni")) {
    patterns.add<LowerDot4Vnni, LowerPack512, LowerPackOne512, LowerScale512>(context, /*benefit=*/2);
    return;
  }
  patterns.add<LowerDot4Madd, LowerDot2>(context, level.features.contains("avx2"));
  patterns.add<LowerPack128>(context, /*benefit=*/2);
  if (level.features.contains("avx2"))
    patterns.add<LowerPack256>(context, /*benefit=*/3);
}
