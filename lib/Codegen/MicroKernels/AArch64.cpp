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

/// A vector as one of SVE, whose length the function knows: no instruction.
static Value toScalable(ImplicitLocOpBuilder &b, Value fixed) {
  constexpr int64_t kBits = 128; // of a vector, times its length
  Type element = getElementTypeOrSelf(fixed.getType());
  auto type =
      VectorType::get({kBits / element.getIntOrFloatBitWidth()}, element, /*scalableDims=*/true);
  return vector::ScalableInsertOp::create(b, fixed, LLVM::PoisonOp::create(b, type), /*pos=*/0);
}

/// An SVE intrinsic on fixed vectors that fill registers.
static Value callScalable(ImplicitLocOpBuilder &b, StringRef name, VectorType type,
                          ValueRange operands) {
  auto scalable =
      llvm::map_to_vector(operands, [&](Value operand) { return toScalable(b, operand); });
  Value result = callIntrinsic(b, b.getLoc(), name, scalable[0].getType(), scalable);
  return vector::ScalableExtractOp::create(b, type, result, /*pos=*/0);
}

namespace {

/// Of signed bytes.
struct LowerDot4 : OpRewritePattern<kernel::Dot4Op> {
  LowerDot4(MLIRContext *context, const CpuLevel &level)
      : OpRewritePattern(context, /*benefit=*/2), hasSdot(level.hasFeature("dotprod")),
        isOneRegister(level.scalableBits == 512) {}
  LogicalResult matchAndRewrite(kernel::Dot4Op op, PatternRewriter &rewriter) const override {
    if (!op.getIsSigned())
      return rewriter.notifyMatchFailure(op, "requires signed bytes");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op, dot(b, op.getAcc(), op.getA(), op.getB()));
    return success();
  }

private:
  Value dot(ImplicitLocOpBuilder &b, Value acc, Value x, Value w) const {
    if (isOneRegister)
      return callScalable(b, "llvm.aarch64.sve.sdot.nxv4i32", cast<VectorType>(acc.getType()),
                          {acc, w, x});
    SmallVector<Value> parts;
    for (int64_t i = 0; i < 4; ++i) {
      auto slice = [&](Value vector, int64_t size) {
        return sliceVector(b, b.getLoc(), vector, size * i, size);
      };
      parts.push_back(
          (hasSdot ? dotOfQuad : multiplyQuad)(b, slice(acc, 4), slice(x, 16), slice(w, 16)));
    }
    return concatVectors(b, b.getLoc(), parts);
  }
  /// The input last: LLVM takes it from a lane where it is the same in all.
  static Value dotOfQuad(ImplicitLocOpBuilder &b, Value acc, Value x, Value w) {
    return callIntrinsic(b, b.getLoc(), "llvm.aarch64.neon.sdot.v4i32.v16i8", acc.getType(),
                         {acc, w, x});
  }
  /// Products in i16, which are added in pairs twice.
  static Value multiplyQuad(ImplicitLocOpBuilder &b, Value acc, Value x, Value w) {
    SmallVector<Value> pairs;
    for (int64_t half : {0, 8})
      pairs.push_back(callIntrinsic(
          b, b.getLoc(), "llvm.aarch64.neon.saddlp.v4i32.v8i16", acc.getType(),
          callIntrinsic(
              b, b.getLoc(), "llvm.aarch64.neon.smull.v8i16", VectorType::get({8}, b.getI16Type()),
              {sliceVector(b, b.getLoc(), x, half, 8), sliceVector(b, b.getLoc(), w, half, 8)})));
    Value sums = callIntrinsic(b, b.getLoc(), "llvm.aarch64.neon.addp.v4i32", acc.getType(), pairs);
    return arith::AddIOp::create(b, acc, sums);
  }

  bool hasSdot, isOneRegister;
};

/// More than sixteen bytes fill a register of SVE.
struct LowerDot8 : OpRewritePattern<kernel::Dot8Op> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(kernel::Dot8Op op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto type = cast<VectorType>(op.getType());
    if (type.getNumElements() > 4)
      rewriter.replaceOp(op,
                         callScalable(b, "llvm.aarch64.sve.smmla.nxv4i32", type, op.getOperands()));
    else
      rewriter.replaceOp(op, callIntrinsic(b, op.getLoc(), "llvm.aarch64.neon.smmla.v4i32.v16i8",
                                           type, op.getOperands()));
    return success();
  }
};

/// A volatile load: LLVM keeps no other in the loop that it is in, but copies registers.
struct LowerReloadVolatile : OpRewritePattern<kernel::ReloadOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(kernel::ReloadOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto type = LLVM::LLVMPointerType::get(b.getContext());
    Value base = arith::IndexCastOp::create(
              b, b.getI64Type(), memref::ExtractAlignedPointerAsIndexOp::create(b, op.getBase())),
          index = arith::IndexCastOp::create(b, b.getI64Type(), op.getIndex());
    Value pointer = LLVM::GEPOp::create(b, type, getElementTypeOrSelf(op.getType()),
                                        LLVM::IntToPtrOp::create(b, type, base), index);
    unsigned alignment = getElementTypeOrSelf(op.getType()).getIntOrFloatBitWidth() / 8;
    rewriter.replaceOpWithNewOp<LLVM::LoadOp>(op, op.getType(), pointer, alignment,
                                              /*isVolatile=*/true);
    return success();
  }
};

struct LowerAddPairs : OpRewritePattern<kernel::AddPairsOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(kernel::AddPairsOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto type = VectorType::get({4}, b.getI32Type());
    SmallVector<Value> parts;
    for (int64_t lane = 0; lane < 32; lane += 4) {
      Value sums = callIntrinsic(b, b.getLoc(), "llvm.aarch64.neon.saddlp.v4i32.v8i16", type,
                                 sliceVector(b, b.getLoc(), op.getX(), 2 * lane, 8));
      parts.push_back(
          arith::AddIOp::create(b, sliceVector(b, b.getLoc(), op.getAcc(), lane, 4), sums));
    }
    rewriter.replaceOp(op, concatVectors(b, b.getLoc(), parts));
    return success();
  }
};

/// Rounds and converts in one instruction, ties to even whatever the mode.
struct LowerRoundFcvtns : OpRewritePattern<kernel::RoundOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(kernel::RoundOp op, PatternRewriter &rewriter) const override {
    if (op.getInput().getType() != VectorType::get({16}, rewriter.getF32Type()))
      return rewriter.notifyMatchFailure(op, "requires sixteen lanes");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    SmallVector<Value> parts;
    for (int64_t i = 0; i < 4; ++i)
      parts.push_back(callIntrinsic(b, b.getLoc(), "llvm.aarch64.neon.fcvtns.v4i32.v4f32",
                                    VectorType::get({4}, b.getI32Type()),
                                    sliceVector(b, b.getLoc(), op.getInput(), 4 * i, 4)));
    rewriter.replaceOp(op, concatVectors(b, b.getLoc(), parts));
    return success();
  }
};

/// Two saturating narrowings: to i16, then to bytes. Of i16 that were widened, the second is
/// enough.
struct LowerPackNarrow : OpRewritePattern<kernel::PackOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(kernel::PackOp op, PatternRewriter &rewriter) const override {
    if (op.getInLanes())
      return rewriter.notifyMatchFailure(op, "requires the order of the inputs");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto narrow = [&](StringRef name, Type type, Value from) {
      return callIntrinsic(b, b.getLoc(), name,
                           VectorType::get({8 / (type.isInteger(16) ? 2 : 1)}, type), from);
    };
    StringRef toBytes =
        op.getIsSigned() ? "llvm.aarch64.neon.sqxtn.v8i8" : "llvm.aarch64.neon.sqxtun.v8i8";
    SmallVector<Value> bytes;
    for (Value input : op.getInputs())
      for (int64_t half = 0; half < 16; half += 8) {
        SmallVector<Value> words;
        if (Value narrower = getWords(input)) {
          bytes.push_back(
              narrow(toBytes, b.getI8Type(), sliceVector(b, b.getLoc(), narrower, half, 8)));
          continue;
        }
        for (int64_t lane = half; lane < half + 8; lane += 4)
          words.push_back(narrow("llvm.aarch64.neon.sqxtn.v4i16", b.getI16Type(),
                                 sliceVector(b, b.getLoc(), input, lane, 4)));
        bytes.push_back(narrow(toBytes, b.getI8Type(), concatVectors(b, b.getLoc(), words)));
      }
    rewriter.replaceOp(op, concatVectors(b, b.getLoc(), bytes));
    return success();
  }

private:
  static Value getWords(Value input) {
    auto widened = input.getDefiningOp<arith::ExtSIOp>();
    bool hasWords = widened && getElementTypeOrSelf(widened.getIn().getType()).isInteger(16);
    return hasWords ? widened.getIn() : Value();
  }
};

} // namespace

void codegen::populateAArch64Lowering(RewritePatternSet &patterns, const CpuLevel &level) {
  patterns.add<LowerAddPairs, LowerReloadVolatile, LowerRoundFcvtns, LowerPackNarrow>(
      patterns.getContext(),
      /*benefit=*/2);
  if (level.hasFeature("i8mm"))
    patterns.add<LowerDot8>(patterns.getContext());
  patterns.add<LowerDot4>(patterns.getContext(), level);
}
