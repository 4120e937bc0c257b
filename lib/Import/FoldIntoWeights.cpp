//===- FoldIntoWeights.cpp - pads, biases and branches in one layer ----------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ApplyPatterns.h"
#include "mlir/IR/PatternMatch.h"
#include "octet/Dialect/NN/Constants.h"
#include "octet/Import/Passes.h"
#include "octet/Numerics/FloatOps.h"

namespace octet {
#define GEN_PASS_DEF_FOLDINTOWEIGHTSPASS
#include "octet/Import/Passes.h.inc"
} // namespace octet

using namespace mlir;
using namespace octet;

namespace {

/// A pad of H and W with zeros in front of a convolution becomes part of the convolution's own
/// pads.
struct FoldPad : OpRewritePattern<nn::ConvOp> {
  FoldPad(MLIRContext *context, Pass::Statistic &counter)
      : OpRewritePattern(context), counter(counter) {}

  LogicalResult matchAndRewrite(nn::ConvOp conv, PatternRewriter &rewriter) const override {
    auto pad = conv.getInput().getDefiningOp<nn::PadOp>();
    if (!pad || !pad->hasOneUse() || !pad.getValue().isZero())
      return rewriter.notifyMatchFailure(conv, "requires a zero pad of its own in front");
    auto low = pad.getLow(), high = pad.getHigh();
    if (low[0] || low[1] || high[0] || high[1])
      return rewriter.notifyMatchFailure(conv, "requires a pad of spatial dimensions only");
    auto pads = llvm::to_vector(conv.getPads());
    for (unsigned i = 0; i < 2; ++i) {
      pads[i] += low[2 + i];
      pads[2 + i] += high[2 + i];
    }
    rewriter.modifyOpInPlace(conv, [&] {
      conv.setPads(pads);
      conv.getInputMutable().assign(pad.getInput());
    });
    rewriter.eraseOp(pad);
    ++counter;
    return success();
  }
  Pass::Statistic &counter;
};

/// The numbers of outer kernel rows or columns that meet only padding which can go with them.
struct DeadTaps {
  DeadTaps(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t low, int64_t high,
           int64_t dilation) {
    auto isDead = [&](int64_t tap) {
      int64_t at =
          tap * dilation -
          low; // of the first result, then of the first one that is not in the padding before
      int64_t o = at < 0 ? llvm::divideCeil(-at, stride) : 0;
      return o >= out || at + o * stride >= in;
    };
    while (first + 1 < kernel && (first + 1) * dilation <= low && isDead(first))
      ++first;
    while (first + last + 1 < kernel && (last + 1) * dilation <= high && isDead(kernel - 1 - last))
      ++last;
  }
  int64_t first = 0, last = 0;
};

/// Crops outer kernel rows and columns that only meet padding: 3 x 3 with a dilation of the image's
/// size becomes 1 x 1.
struct CropKernel : OpRewritePattern<nn::ConvOp> {
  CropKernel(MLIRContext *context, Pass::Statistic &counter)
      : OpRewritePattern(context), counter(counter) {}

  LogicalResult matchAndRewrite(nn::ConvOp conv, PatternRewriter &rewriter) const override {
    auto filter = conv.getFilter().getDefiningOp<nn::ConstantOp>();
    auto values = nn::getConstantValues<float>(conv.getFilter());
    if (!filter || failed(values))
      return rewriter.notifyMatchFailure(conv, "requires a constant filter");
    auto pads = llvm::to_vector(conv.getPads()), dilations = llvm::to_vector(conv.getDilations());
    SmallVector<int64_t> shape(filter.getType().getShape());
    auto getDead = [&](unsigned i) {
      return DeadTaps(conv.getInput().getType().getDimSize(2 + i), conv.getType().getDimSize(2 + i),
                      shape[2 + i], conv.getStrides()[i], pads[i], pads[2 + i], dilations[i]);
    };
    DeadTaps rows = getDead(0), columns = getDead(1);
    if (rows.first + rows.last + columns.first + columns.last == 0)
      return rewriter.notifyMatchFailure(conv,
                                         "requires kernel rows or columns that only meet padding");
    int64_t kernelRows = shape[2], kernelColumns = shape[3];
    for (auto [i, dead] : llvm::enumerate(std::array{rows, columns})) {
      pads[i] -= dead.first * dilations[i];
      pads[2 + i] -= dead.last * dilations[i];
      shape[2 + i] -= dead.first + dead.last;
      if (shape[2 + i] == 1)
        dilations[i] = 1;
    }
    SmallVector<float, 0> cropped;
    for (int64_t matrix = 0; matrix < shape[0] * shape[1]; ++matrix)
      for (int64_t row = 0; row < shape[2]; ++row) {
        const float *from = values->data() +
                            (matrix * kernelRows + rows.first + row) * kernelColumns +
                            columns.first;
        cropped.append(from, from + shape[3]);
      }
    std::string name = (nn::getConstantName(filter) + ".cropped").str();
    Value constant = nn::createConstant<float>(rewriter, filter.getLoc(), name,
                                               filter.getType().clone(shape), cropped);
    rewriter.modifyOpInPlace(conv, [&] {
      conv.setPads(pads);
      conv.setDilations(dilations);
      conv.getFilterMutable().assign(constant);
    });
    ++counter;
    return success();
  }
  Pass::Statistic &counter;
};

/// The kernel of a convolution along one dimension.
struct Taps {
  int64_t low, size, high, dilation, first = 0; ///< `first`: where it begins in a joined kernel

  static Taps get(nn::ConvOp conv, unsigned i) {
    ArrayRef<int64_t> pads = conv.getPads();
    return {pads[i], conv.getFilter().getType().getDimSize(2 + i), pads[2 + i],
            conv.getDilations()[i]};
  }
};

/// The kernel that has the taps of both; none if one's lie between the other's.
std::optional<Taps> joinTaps(Taps &a, Taps &b) {
  if (a.size == 1)
    a.dilation = b.dilation;
  int64_t dilation = b.size == 1 ? a.dilation : b.dilation;
  if (a.dilation != dilation || (a.low - b.low) % dilation)
    return std::nullopt;
  int64_t low = std::max(a.low, b.low);
  a.first = (low - a.low) / dilation;
  b.first = (low - b.low) / dilation;
  int64_t size = std::max(a.first + a.size, b.first + b.size);
  return Taps{low, size, a.high + (size - a.first - a.size) * dilation, dilation};
}

/// Whether only one operator reads a layer or a batch norm, whose parameters are constants.
bool isBranch(Operation *op) {
  return op->hasOneUse() && llvm::all_of(op->getOperands().drop_front(), [](Value value) {
           return value.getDefiningOp<nn::ConstantOp>() &&
                  cast<RankedTensorType>(value.getType()).getElementType().isF32();
         });
}

/// A constant that stands for another of the same layer.
Value createMerged(Value original, ArrayRef<int64_t> shape, ArrayRef<float> values,
                   PatternRewriter &rewriter) {
  auto constant = original.getDefiningOp<nn::ConstantOp>();
  return nn::createConstant<float>(rewriter, constant.getLoc(),
                                   (nn::getConstantName(constant) + ".merged").str(),
                                   constant.getType().clone(shape), values);
}

/// The sum of two convolutions of one value becomes one convolution, unless that has more to
/// multiply. Networks are trained so, with branches that are one layer afterwards.
struct MergeConvolutions : OpRewritePattern<nn::AddOp> {
  MergeConvolutions(MLIRContext *context, Pass::Statistic &counter)
      : OpRewritePattern(context), counter(counter) {}

  LogicalResult matchAndRewrite(nn::AddOp add, PatternRewriter &rewriter) const override {
    auto a = add.getLhs().getDefiningOp<nn::ConvOp>(), b = add.getRhs().getDefiningOp<nn::ConvOp>();
    if (!a || !b || !isBranch(a) || !isBranch(b) || a.getInput() != b.getInput() ||
        a.getType() != b.getType() || a.getStrides() != b.getStrides() ||
        a.getGroups() != b.getGroups())
      return rewriter.notifyMatchFailure(add, "requires two convolutions of one value");
    Taps rowsOfA = Taps::get(a, 0), rowsOfB = Taps::get(b, 0), columnsOfA = Taps::get(a, 1),
         columnsOfB = Taps::get(b, 1);
    auto rows = joinTaps(rowsOfA, rowsOfB), columns = joinTaps(columnsOfA, columnsOfB);
    if (!rows || !columns ||
        rows->size * columns->size >
            rowsOfA.size * columnsOfA.size + rowsOfB.size * columnsOfB.size)
      return rewriter.notifyMatchFailure(add, "requires kernels that cover each other");
    SmallVector<int64_t> shape(a.getFilter().getType().getShape());
    shape[2] = rows->size;
    shape[3] = columns->size;
    SmallVector<float, 0> filter(ShapedType::getNumElements(shape), 0.0f);
    addFilter(filter, shape, a, rowsOfA.first, columnsOfA.first);
    addFilter(filter, shape, b, rowsOfB.first, columnsOfB.first);
    Value merged = createMerged(a.getFilter(), shape, filter, rewriter);
    Value bias = addBiases(a, b, rewriter);
    rewriter.replaceOpWithNewOp<nn::ConvOp>(
        add, add.getType(), a.getInput(), merged, bias, a.getStrides(),
        ArrayRef<int64_t>{rows->low, columns->low, rows->high, columns->high},
        ArrayRef<int64_t>{rows->dilation, columns->dilation}, a.getGroups());
    ++counter;
    return success();
  }

  /// Adds the weights of a convolution to `filter`, where they begin at a row and a column.
  static void addFilter(MutableArrayRef<float> filter, ArrayRef<int64_t> shape, nn::ConvOp conv,
                        int64_t firstRow, int64_t firstColumn) {
    auto values = *nn::getConstantValues<float>(conv.getFilter());
    ArrayRef<int64_t> own = conv.getFilter().getType().getShape();
    for (int64_t i = 0; i < (int64_t)values.size(); ++i) {
      int64_t matrix = i / (own[2] * own[3]), row = i / own[3] % own[2], column = i % own[3];
      filter[(matrix * shape[2] + firstRow + row) * shape[3] + firstColumn + column] += values[i];
    }
  }

  /// The sum of the biases; null if there are none.
  static Value addBiases(nn::ConvOp a, nn::ConvOp b, PatternRewriter &rewriter) {
    if (!a.getBias() || !b.getBias())
      return a.getBias() ? a.getBias() : b.getBias();
    auto sum = *nn::getConstantValues<float>(a.getBias());
    auto other = *nn::getConstantValues<float>(b.getBias());
    for (auto [value, addend] : llvm::zip_equal(sum, other))
      value += addend;
    return createMerged(a.getBias(), a.getBias().getType().getShape(), sum, rewriter);
  }
  Pass::Statistic &counter;
};

/// [N.batch_norm] A batch norm that is added to a convolution of the same value becomes a tap of
/// it.
struct MergeBatchNorm : OpRewritePattern<nn::AddOp> {
  MergeBatchNorm(MLIRContext *context, Pass::Statistic &counter)
      : OpRewritePattern(context), counter(counter) {}

  LogicalResult matchAndRewrite(nn::AddOp add, PatternRewriter &rewriter) const override {
    Operation *lhs = add.getLhs().getDefiningOp(), *rhs = add.getRhs().getDefiningOp();
    auto conv = dyn_cast_or_null<nn::ConvOp>(isa_and_present<nn::ConvOp>(lhs) ? lhs : rhs);
    auto norm = dyn_cast_or_null<nn::BatchNormOp>(conv == lhs ? rhs : lhs);
    if (!conv || !norm || !isBranch(conv) || !isBranch(norm) ||
        conv.getInput() != norm.getInput() || conv.getType() != norm.getType())
      return rewriter.notifyMatchFailure(add, "requires a convolution and a batch norm of a value");
    std::optional<int64_t> row = getTap(conv, 0), column = getTap(conv, 1);
    if (!row || !column)
      return rewriter.notifyMatchFailure(add, "requires a tap at the result's own place");
    SmallVector<numerics::Affine> affine = getAffine(norm);
    auto filter = *nn::getConstantValues<float>(conv.getFilter());
    if (!canJoin(filter, affine))
      return rewriter.notifyMatchFailure(add,
                                         "requires weights that 8 bits hold beside the others");
    ArrayRef<int64_t> shape = conv.getFilter().getType().getShape();
    SmallVector<float, 0> bias(affine.size(), 0.0f);
    if (conv.getBias())
      bias = *nn::getConstantValues<float>(conv.getBias());
    for (auto [c, k] : llvm::enumerate(affine)) {
      int64_t matrix = c * shape[1] + c % shape[1];
      filter[(matrix * shape[2] + *row) * shape[3] + *column] += k.scale;
      bias[c] += (float)k.shift;
    }
    Value merged = createMerged(conv.getFilter(), shape, filter, rewriter);
    Value shift = createMerged(norm.getBias(), {(int64_t)bias.size()}, bias, rewriter);
    rewriter.replaceOpWithNewOp<nn::ConvOp>(add, add.getType(), conv.getInput(), merged, shift,
                                            conv.getStrides(), conv.getPads(), conv.getDilations(),
                                            conv.getGroups());
    ++counter;
    return success();
  }

  /// The tap that meets the element at the place of the result, which has the input's size; none
  /// with strides.
  static std::optional<int64_t> getTap(nn::ConvOp conv, unsigned i) {
    Taps taps = Taps::get(conv, i);
    bool isThere = conv.getStrides()[i] == 1 && taps.low % taps.dilation == 0;
    return isThere ? std::optional(taps.low / taps.dilation) : std::nullopt;
  }

  static SmallVector<numerics::Affine> getAffine(nn::BatchNormOp norm) {
    auto get = [](Value value) { return *nn::getConstantValues<float>(value); };
    auto scale = get(norm.getScale()), shift = get(norm.getBias()), mean = get(norm.getMean()),
         variance = get(norm.getVariance());
    double epsilon = norm.getEpsilon().convertToFloat();
    SmallVector<numerics::Affine> affine;
    for (size_t c = 0; c < scale.size(); ++c)
      affine.push_back(numerics::batchNorm(scale[c], shift[c], mean[c], variance[c], epsilon));
    return affine;
  }

  /// One scale for a large weight and many small ones would cost these their bits: a kernel is
  /// small, or the batch norm's factor at most twice as large as what is there already.
  static bool canJoin(ArrayRef<float> filter, ArrayRef<numerics::Affine> affine) {
    size_t size = filter.size() / affine.size();
    double factors = 0, largest = 0;
    for (auto [c, k] : llvm::enumerate(affine)) {
      float most = 0;
      for (float w : filter.slice(c * size, size))
        most = std::max(most, std::abs(w));
      largest += (double)most * most;
      factors += (double)k.scale * k.scale;
    }
    return size <= 25 || factors <= 4 * largest;
  }
  Pass::Statistic &counter;
};

/// Whether `value` is a constant that has one value per element of dimension `channelAxis` of
/// `result`, counted from the end, and is the same along all others.
bool isChannelVector(Value value, RankedTensorType result, int64_t channelAxis) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!value.getDefiningOp<nn::ConstantOp>() || !type.getElementType().isF32() ||
      type.getRank() > result.getRank())
    return false;
  int64_t fromEnd = result.getRank() - channelAxis;
  for (auto [i, size] : llvm::enumerate(type.getShape()))
    if (size != (type.getRank() - (int64_t)i == fromEnd ? result.getDimSize(channelAxis) : 1))
      return false;
  return type.getRank() >= fromEnd;
}

/// Turns a constant vector that is added to a layer without bias into the bias, for every backend:
/// the value keeps its name and its bits. Addition to an existing bias is a fold of the backend.
template <typename LayerOp> struct FoldBias : OpRewritePattern<nn::AddOp> {
  FoldBias(MLIRContext *context, Pass::Statistic &counter)
      : OpRewritePattern(context), counter(counter) {}

  LogicalResult matchAndRewrite(nn::AddOp add, PatternRewriter &rewriter) const override {
    for (auto [sum, vector] :
         {std::pair(add.getLhs(), add.getRhs()), std::pair(add.getRhs(), add.getLhs())}) {
      auto layer = sum.template getDefiningOp<LayerOp>();
      if (!layer || !layer->hasOneUse() || layer.getBias() || layer.getType() != add.getType())
        continue;
      int64_t axis = std::is_same_v<LayerOp, nn::ConvOp> ? 1 : layer.getType().getRank() - 1;
      if (!isChannelVector(vector, layer.getType(), axis))
        continue;
      setBias(layer, vector.template getDefiningOp<nn::ConstantOp>(), add, rewriter);
      ++counter;
      return success();
    }
    return rewriter.notifyMatchFailure(add, "requires a layer without bias plus a constant vector");
  }

  /// Moves the layer behind the vector, which may be defined after it.
  static void setBias(LayerOp layer, nn::ConstantOp vector, nn::AddOp add,
                      PatternRewriter &rewriter) {
    rewriter.setInsertionPoint(add);
    Value bias = vector;
    if (vector.getType().getRank() != 1) {
      auto values = *nn::getConstantValues<float>(vector);
      auto type = RankedTensorType::get({(int64_t)values.size()}, rewriter.getF32Type());
      std::string name = nn::getConstantName(vector).str();
      bias = nn::createConstant<float>(rewriter, vector.getLoc(), name, type, values);
    }
    rewriter.moveOpBefore(layer, add);
    rewriter.modifyOpInPlace(layer, [&] { layer.getBiasMutable().assign(bias); });
    rewriter.replaceOp(add, layer);
  }
  Pass::Statistic &counter;
};

struct FoldIntoWeightsPass : octet::impl::FoldIntoWeightsPassBase<FoldIntoWeightsPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FoldPad>(&getContext(), numPads);
    patterns.add<CropKernel>(&getContext(), numCropped);
    patterns.add<MergeConvolutions, MergeBatchNorm>(&getContext(), numMerged);
    patterns.add<FoldBias<nn::ConvOp>, FoldBias<nn::LinearOp>>(&getContext(), numBiases);
    if (failed(applyToNetwork(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
