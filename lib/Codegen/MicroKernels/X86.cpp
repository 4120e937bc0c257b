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

/// The instructions on vector registers of one width. Wider ones are preferred.
struct Registers {
  int64_t bits;
  StringLiteral dot4, multiplyAdd, packI32, packI16, maximum;

  int64_t lanes() const { return bits / 32; }
  PatternBenefit benefit() const { return bits == 128 ? 2 : bits == 256 ? 3 : 4; }
};
constexpr Registers registers[] = {
    {128, "llvm.x86.avx512.vpdpbusd.128", "llvm.x86.sse2.pmadd.wd", "llvm.x86.sse2.packssdw.128",
     "llvm.x86.sse2.packuswb.128", "llvm.x86.sse.max.ps"},
    {256, "llvm.x86.avx512.vpdpbusd.256", "llvm.x86.avx2.pmadd.wd", "llvm.x86.avx2.packssdw",
     "llvm.x86.avx2.packuswb", "llvm.x86.avx.max.ps.256"},
    {512, "llvm.x86.avx512.vpdpbusd.512", "llvm.x86.avx512.pmaddw.d.512",
     "llvm.x86.avx512.packssdw.512", "llvm.x86.avx512.packuswb.512", "llvm.x86.avx512.max.ps.512"},
};

/// A pattern that works register by register.
template <typename Op> struct RegisterPattern : OpRewritePattern<Op> {
  RegisterPattern(MLIRContext *context, const Registers &with)
      : OpRewritePattern<Op>(context, with.benefit()), with(with) {}

  /// Calls `makePart` with the first lane of each register; the sixteen lanes of all.
  static Value forRegisters(ImplicitLocOpBuilder &b, const Registers &with,
                            function_ref<Value(int64_t lane)> makePart) {
    SmallVector<Value> parts;
    for (int64_t lane = 0; lane < 16; lane += with.lanes())
      parts.push_back(makePart(lane));
    return concatVectors(b, b.getLoc(), parts);
  }

  const Registers &with;
};

/// VNNI: one instruction.
struct LowerDot4Vnni : RegisterPattern<kernel::Dot4Op> {
  using RegisterPattern::RegisterPattern;
  LogicalResult matchAndRewrite(kernel::Dot4Op op, PatternRewriter &rewriter) const override {
    if (op.getIsSigned())
      return rewriter.notifyMatchFailure(op, "requires unsigned bytes");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto type = VectorType::get({with.lanes()}, b.getI32Type());
    auto slice = [&](Value vector, int64_t lane, int64_t perLane) {
      return with.bits == 512
                 ? vector
                 : sliceVector(b, b.getLoc(), vector, lane * perLane, with.lanes() * perLane);
    };
    rewriter.replaceOp(op, forRegisters(b, with, [&](int64_t lane) {
                         return callIntrinsic(b, b.getLoc(), with.dot4, type,
                                              {slice(op.getAcc(), lane, 1),
                                               slice(op.getA(), lane, 4),
                                               slice(op.getB(), lane, 4)});
                       }));
    return success();
  }
};

/// The exponent as a float. One that was rounded stays a float, which also takes the place of what
/// was made of the integer: -0 instead of 0 changes no result of an exponential.
Value makeFloatExponent(ImplicitLocOpBuilder &b, PatternRewriter &rewriter, Value exponent,
                        Type type) {
  auto call = exponent.getDefiningOp<LLVM::CallIntrinsicOp>();
  if (!call || !call.getIntrin().starts_with("llvm.lrint"))
    return arith::SIToFPOp::create(b, type, exponent);
  rewriter.setInsertionPointAfter(call);
  Value rounded =
      callIntrinsic(rewriter, call.getLoc(), "llvm.roundeven.v16f32", type, call.getArgs());
  for (Operation *user : llvm::to_vector(exponent.getUsers()))
    if (isa<arith::SIToFPOp>(user))
      rewriter.replaceAllUsesWith(user->getResult(0), rounded);
  return rounded;
}

/// AVX-512 scales by a power of two in one instruction, rounding once.
struct LowerScale512 : OpRewritePattern<kernel::ScaleOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(kernel::ScaleOp op, PatternRewriter &rewriter) const override {
    auto type = dyn_cast<VectorType>(op.getType());
    if (!type || type.getNumElements() != 16)
      return rewriter.notifyMatchFailure(op, "requires sixteen lanes");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value exponent = makeFloatExponent(b, rewriter, op.getExponent(), op.getType());
    rewriter.setInsertionPoint(op);
    Value all = arith::ConstantOp::create(b, b.getI16IntegerAttr(-1));
    Value currentRounding = arith::ConstantOp::create(b, b.getI32IntegerAttr(4));
    rewriter.replaceOp(
        op, callIntrinsic(b, b.getLoc(), "llvm.x86.avx512.mask.scalef.ps.512", op.getType(),
                          {op.getInput(), exponent, op.getInput(), all, currentRounding}));
    return success();
  }
};

/// Without VNNI: a multiply-add of i16.
struct LowerDot2 : RegisterPattern<kernel::Dot2Op> {
  using RegisterPattern::RegisterPattern;
  LogicalResult matchAndRewrite(kernel::Dot2Op op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOpWithNewOp<arith::AddIOp>(op, op.getAcc(),
                                               multiplyAdd(b, op.getA(), op.getB(), with));
    return success();
  }

  static Value multiplyAdd(ImplicitLocOpBuilder &b, Value x, Value y, const Registers &with) {
    auto type = VectorType::get({with.lanes()}, b.getI32Type());
    auto slice = [&](Value words, int64_t lane) {
      return sliceVector(b, b.getLoc(), words, 2 * lane, 2 * with.lanes());
    };
    return forRegisters(b, with, [&](int64_t lane) {
      return callIntrinsic(b, b.getLoc(), with.multiplyAdd, type, {slice(x, lane), slice(y, lane)});
    });
  }
};

/// Without VNNI: even and odd bytes widened to 16 bits inside their lanes, two multiply-adds. The
/// saturating vpmaddubsw would change results.
struct LowerDot4Madd : RegisterPattern<kernel::Dot4Op> {
  using RegisterPattern::RegisterPattern;
  LogicalResult matchAndRewrite(kernel::Dot4Op op, PatternRewriter &rewriter) const override {
    if (op.getIsSigned())
      return rewriter.notifyMatchFailure(op, "requires unsigned bytes");
    KernelBuilder b(op.getLoc(), rewriter, *lookupCpuLevel("reference"));
    auto [aEven, aOdd] = b.widenBytes(op.getA(), /*isSigned=*/false);
    auto [wEven, wOdd] = b.widenBytes(op.getB(), /*isSigned=*/true);
    Value even = LowerDot2::multiplyAdd(b, aEven, wEven, with),
          odd = LowerDot2::multiplyAdd(b, aOdd, wOdd, with);
    rewriter.replaceOpWithNewOp<arith::AddIOp>(op, op.getAcc(),
                                               arith::AddIOp::create(b, even, odd));
    return success();
  }
};

/// Half of the bytes of sixteen lanes.
static Value getHalf(ImplicitLocOpBuilder &b, Value bytes, int64_t lane) {
  return sliceVector(b, b.getLoc(), bytes, 4 * lane, 32);
}

struct LowerPairs : RegisterPattern<kernel::PairsOp> {
  using RegisterPattern::RegisterPattern;
  LogicalResult matchAndRewrite(kernel::PairsOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto words = VectorType::get({16}, b.getI16Type());
    rewriter.replaceOp(op, forRegisters(b, with, [&](int64_t lane) {
                         return callIntrinsic(
                             b, b.getLoc(), "llvm.x86.avx2.pmadd.ub.sw", words,
                             {getHalf(b, op.getA(), lane), getHalf(b, op.getB(), lane)});
                       }));
    return success();
  }
};

/// Indices of bytes count inside sixteen bytes, whose first lane all lanes are like.
struct LowerReorder4 : RegisterPattern<kernel::Reorder4Op> {
  using RegisterPattern::RegisterPattern;
  LogicalResult matchAndRewrite(kernel::Reorder4Op op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto bytes = VectorType::get({32}, b.getI8Type());
    Value order = vector::BitCastOp::create(
        b, bytes,
        vector::BroadcastOp::create(b, VectorType::get({8}, b.getI32Type()), op.getOrder()));
    rewriter.replaceOp(op, forRegisters(b, with, [&](int64_t lane) {
                         return callIntrinsic(b, b.getLoc(), "llvm.x86.avx2.pshuf.b", bytes,
                                              {getHalf(b, op.getInput(), lane), order});
                       }));
    return success();
  }
};

/// `0 < x ? x : 0`, of which LLVM makes a comparison and a mask.
struct LowerMaxWithZero : RegisterPattern<arith::SelectOp> {
  using RegisterPattern::RegisterPattern;
  LogicalResult matchAndRewrite(arith::SelectOp op, PatternRewriter &rewriter) const override {
    auto compare = op.getCondition().getDefiningOp<arith::CmpFOp>();
    Value x = op.getTrueValue(), zero = op.getFalseValue();
    auto type = dyn_cast<VectorType>(op.getType());
    if (!compare || compare.getPredicate() != arith::CmpFPredicate::OLT ||
        compare.getLhs() != zero || compare.getRhs() != x || !matchPattern(zero, m_PosZeroFloat()))
      return rewriter.notifyMatchFailure(op, "requires the larger one of a value and zero");
    if (!type || type.getShape() != ArrayRef<int64_t>{16} || !type.getElementType().isF32())
      return rewriter.notifyMatchFailure(op, "requires sixteen f32");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto part = VectorType::get({with.lanes()}, b.getF32Type());
    auto slice = [&](Value value, int64_t lane) {
      return sliceVector(b, b.getLoc(), value, lane, with.lanes());
    };
    rewriter.replaceOp(op, forRegisters(b, with, [&](int64_t lane) {
                         SmallVector<Value> operands{slice(x, lane), slice(zero, lane)};
                         if (with.bits == 512) // the current rounding
                           operands.push_back(arith::ConstantOp::create(b, b.getI32IntegerAttr(4)));
                         return callIntrinsic(b, b.getLoc(), with.maximum, part, operands);
                       }));
    return success();
  }
};

/// Saturating packs. They work inside 16-byte lanes: registers
/// that hold more than one of these need a permutation of 32-bit lanes, unless that order is
/// wanted.
struct LowerPack : RegisterPattern<kernel::PackOp> {
  using RegisterPattern::RegisterPattern;
  LogicalResult matchAndRewrite(kernel::PackOp op, PatternRewriter &rewriter) const override {
    int64_t lanes = with.lanes(), count = op.getInputs().size() * 16 / (4 * lanes);
    if (count == 0 || op.getIsSigned())
      return rewriter.notifyMatchFailure(op, "requires four registers of unsigned bytes");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto words = VectorType::get({2 * lanes}, b.getI16Type()),
         bytes = VectorType::get({4 * lanes}, b.getI8Type());
    auto dwords = VectorType::get({lanes}, b.getI32Type());
    SmallVector<int64_t> order = llvm::map_to_vector(
        llvm::seq(lanes), [&](int64_t i) { return 4 * (i % (lanes / 4)) + i / (lanes / 4); });
    SmallVector<Value> parts;
    for (int64_t part = 0; part < count; ++part) {
      auto getRegister = [&](int64_t i) {
        int64_t first = (4 * part + i) * lanes;
        return op.getInLanes()
                   ? sliceVector(b, b.getLoc(), op.getInputs()[i], part * lanes, lanes)
                   : sliceVector(b, b.getLoc(), op.getInputs()[first / 16], first % 16, lanes);
      };
      Value low =
          callIntrinsic(b, b.getLoc(), with.packI32, words, {getRegister(0), getRegister(1)});
      Value high =
          callIntrinsic(b, b.getLoc(), with.packI32, words, {getRegister(2), getRegister(3)});
      Value packed = callIntrinsic(b, b.getLoc(), with.packI16, bytes, {low, high});
      if (!op.getInLanes() && lanes > 4) {
        Value mixed = vector::BitCastOp::create(b, dwords, packed);
        packed =
            vector::BitCastOp::create(b, bytes, vector::ShuffleOp::create(b, mixed, mixed, order));
      }
      parts.push_back(packed);
    }
    rewriter.replaceOp(op, concatVectors(b, b.getLoc(), parts));
    return success();
  }
};

/// One vector: saturation from above comes with the narrowing.
struct LowerPackOne512 : OpRewritePattern<kernel::PackOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(kernel::PackOp op, PatternRewriter &rewriter) const override {
    if (op.getInputs().size() != 1 || op.getIsSigned())
      return rewriter.notifyMatchFailure(op, "requires one vector of unsigned bytes");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto bytes = VectorType::get({16}, b.getI8Type());
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(op.getInputs()[0].getType()));
    Value none = arith::ConstantOp::create(b, b.getZeroAttr(bytes)),
          all = arith::ConstantOp::create(b, b.getI16IntegerAttr(-1));
    Value positive = arith::MaxSIOp::create(b, op.getInputs()[0], zero);
    rewriter.replaceOp(op, callIntrinsic(b, b.getLoc(), "llvm.x86.avx512.mask.pmovus.db.512", bytes,
                                         {positive, none, all}));
    return success();
  }
};

} // namespace

void codegen::populateX86Lowering(RewritePatternSet &patterns, const CpuLevel &level) {
  MLIRContext *context = patterns.getContext();
  for (const Registers &with : registers)
    if (with.bits <= level.registerBits)
      patterns.add<LowerPack>(context, with);
  const Registers &widest =
      *llvm::find_if(registers, [&](auto &with) { return with.bits == level.registerBits; });
  if (level.hasFeature("avx512vnni") || level.hasFeature("avxvnni"))
    patterns.add<LowerDot4Vnni>(context, widest);
  else
    patterns.add<LowerDot4Madd, LowerDot2>(context, widest);
  if (widest.bits == 256)
    patterns.add<LowerPairs, LowerReorder4>(context, widest);
  patterns.add<LowerMaxWithZero>(context, widest);
  if (level.hasFeature("avx512f"))
    patterns.add<LowerPackOne512, LowerScale512>(context, /*benefit=*/5);
}
