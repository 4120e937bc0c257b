//===- StoredLinear.cpp - linear layers with weights in few bits ----------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The library holds the weights in panels of sixteen outputs, step by step along the input: sixteen
// bytes, or eight with the weights of the first eight outputs in their lower halves. A tile
// dequantizes the weights of a step once for several rows of the input; where there are many rows,
// the weights of many steps are dequantized for all of them, and sums wait in the result.
//
//===----------------------------------------------------------------------===//

#include "StoredRows.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

static constexpr int64_t kLanes = 16, kMostPanels = 4;
/// Dequantized steps that lie on the stack: 64 KB at most.
static constexpr int64_t kStepsTogether = 256;

namespace {
class StoredLinear {
public:
  StoredLinear(ProgramEmitter &emitter, GroupOp group, DequantizeWeightsOp weights,
               nn::LinearOp linear);
  void emit();

private:
  bool isHalf() const { return isa<FloatType>(element); }
  bool isPacked() const { return !isHalf() && element.getIntOrFloatBitWidth() <= 4; }
  int64_t panels() const { return llvm::divideCeil(outputs, kLanes); }
  int64_t blocks() const { return llvm::divideCeil(depth, block); }
  int64_t stepSize() const { return isPacked() ? kLanes / 2 : kLanes; }

  void chooseTile(int64_t accumulators);
  template <typename T> std::vector<T> orderWeights(nn::ConstantOp constant) const;
  std::vector<float> orderParameters(nn::ConstantOp constant, int64_t rowsOfBlock) const;
  int addParameters(Value inner, int64_t rowsOfBlock);

  Value loadWeights(KernelBuilder &b, ValueRange args, Value panel, Value step) const;
  Value loadWeight(KernelBuilder &b, ValueRange args, Value output, Value step) const;
  Value dequantize(KernelBuilder &b, ValueRange args, Value panel, Value step, Value scale,
                   Value zeroPoint) const;
  void emitTile(KernelBuilder &b, ValueRange args, Value firstRow, Value firstPanel) const;
  bool hasManyRows() const { return rows > tileRows && outputs % kLanes == 0; }
  void emitSteps(KernelBuilder &b, ValueRange args, Value panel, Value begin, Value end,
                 Value weights) const;
  void emitSums(KernelBuilder &b, ValueRange args, Value firstRow, int64_t numRows, Value panel,
                Value begin, Value end, Value weights) const;
  void emitManyRows(KernelBuilder &b, ValueRange args, Value firstPanel, Value weights) const;
  void storeTile(KernelBuilder &b, ValueRange args, ArrayRef<Value> sums, Value firstRow,
                 Value firstPanel) const;
  void emitOutput(KernelBuilder &b, ValueRange args, Value row, Value output) const;

  ProgramEmitter &emitter;
  GroupOp group;
  Signature signature;
  Type element;
  int64_t outputs, depth, rows, block;
  int64_t tileRows, tilePanels = 1;
  int input, memory, scales = -1, zeroPoints = -1, bias = -1, result;
};
} // namespace

template <typename T> std::vector<T> StoredLinear::orderWeights(nn::ConstantOp constant) const {
  std::vector<char> bytes = nn::getConstantBytes(constant);
  const T *stored = reinterpret_cast<const T *>(bytes.data());
  std::vector<T> ordered(panels() * depth * stepSize());
  for (int64_t output = 0; output < outputs; ++output)
    for (int64_t step = 0; step < depth; ++step) {
      int64_t lane = output % kLanes, first = (output / kLanes * depth + step) * stepSize();
      T weight = stored[output * depth + step];
      if (isPacked())
        ordered[first + lane % 8] |= (weight & 15) << (lane / 8 * 4);
      else
        ordered[first + lane] = weight;
    }
  return ordered;
}

/// By panel, block and output.
std::vector<float> StoredLinear::orderParameters(nn::ConstantOp constant,
                                                 int64_t rowsOfBlock) const {
  SmallVector<float, 0> values = *nn::getConstantValues<float>(constant.getResult());
  std::vector<float> ordered(panels() * blocks() * kLanes);
  for (int64_t output = 0; output < outputs; ++output)
    for (int64_t i = 0; i < blocks(); ++i)
      ordered[(output / kLanes * blocks() + i) * kLanes + output % kLanes] =
          values[output / rowsOfBlock * blocks() + i];
  return ordered;
}

int StoredLinear::addParameters(Value inner, int64_t rowsOfBlock) {
  auto constant = group.getOuter(inner).getDefiningOp<nn::ConstantOp>();
  std::string key = "panels/" + std::to_string(rowsOfBlock) + "/" + getConstantKey(constant);
  return signature.addWeights<float>(key, [&] { return orderParameters(constant, rowsOfBlock); });
}

StoredLinear::StoredLinear(ProgramEmitter &emitter, GroupOp group, DequantizeWeightsOp weights,
                           nn::LinearOp linear)
    : emitter(emitter), group(group), signature(emitter),
      element(weights.getWeights().getType().getElementType()),
      outputs(weights.getWeights().getType().getDimSize(0)),
      depth(weights.getWeights().getType().getDimSize(1)) {
  rows = linear.getInput().getType().getNumElements() / depth;
  block = isHalf() ? depth : weights.getBlockSize(1);
  chooseTile(emitter.getLevel().accumulators);
  auto constant = group.getOuter(weights.getWeights()).getDefiningOp<nn::ConstantOp>();
  std::string key = "stored-panels/" + getConstantKey(constant);
  input = signature.add(emitter.getBuffer(group.getOuter(linear.getInput())));
  memory = isHalf()
               ? signature.addWeights<int16_t>(key, [&] { return orderWeights<int16_t>(constant); })
               : signature.addWeights<int8_t>(key, [&] { return orderWeights<int8_t>(constant); });
  if (!isHalf())
    scales = addParameters(weights.getScales(), weights.getBlockSize(0));
  if (weights.getZeroPoints())
    zeroPoints = addParameters(weights.getZeroPoints(), weights.getBlockSize(0));
  if (linear.getBias())
    bias = signature.add(
        emitter.getRowMajor(group.getOuter(linear.getBias()).getDefiningOp<nn::ConstantOp>()));
  result = signature.add(emitter.getBuffer(group.getResult()));
}

/// Few rows read weights that are dequantized for them alone, so that a tile has as many rows as it
/// can. Of many, whose weights lie on the stack, a tile has rather more outputs: it waits less for
/// rows, which lie far apart.
void StoredLinear::chooseTile(int64_t accumulators) {
  tileRows = std::min(rows, std::max<int64_t>(1, accumulators / 2));
  if (hasManyRows() && accumulators >= 4 * kMostPanels && panels() % kMostPanels == 0)
    tileRows = accumulators / kMostPanels;
  while (tilePanels * 2 <= kMostPanels && tilePanels * 2 * tileRows <= accumulators &&
         panels() % (tilePanels * 2) == 0)
    tilePanels *= 2;
}

/// Sixteen outputs' weights of a step, without scale and zero point.
Value StoredLinear::loadWeights(KernelBuilder &b, ValueRange args, Value panel, Value step) const {
  Value at = b.mulIndex(b.addIndex(b.mulIndex(panel, depth), step), stepSize());
  if (!isPacked())
    return widenStored(b, b.load(args[memory], at), element);
  auto type = VectorType::get({kLanes / 2}, b.getI8Type());
  auto [lower, upper] =
      splitNibbles(b, vector::LoadOp::create(b, type, args[memory], ValueRange{at}));
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, kLanes));
  return widenStored(b, vector::ShuffleOp::create(b, lower, upper, order), element);
}

/// One weight, from the same memory.
Value StoredLinear::loadWeight(KernelBuilder &b, ValueRange args, Value output, Value step) const {
  Value panel = b.createIndex<arith::DivUIOp>(output, b.index(kLanes)),
        lane = b.createIndex<arith::RemUIOp>(output, b.index(kLanes));
  Value first = b.mulIndex(b.addIndex(b.mulIndex(panel, depth), step), stepSize());
  if (!isPacked())
    return widenStored(b, b.load(args[memory], b.addIndex(first, lane)), element);
  Value place = b.createIndex<arith::RemUIOp>(lane, b.index(kLanes / 2));
  auto [lower, upper] = splitNibbles(b, b.load(args[memory], b.addIndex(first, place)));
  Value isUpper = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, lane, b.index(kLanes / 2));
  return widenStored(b, arith::SelectOp::create(b, isUpper, upper, lower), element);
}

Value StoredLinear::dequantize(KernelBuilder &b, ValueRange args, Value panel, Value step,
                               Value scale, Value zeroPoint) const {
  Value weights = loadWeights(b, args, panel, step);
  weights = zeroPoint ? b.sub(weights, zeroPoint) : weights;
  return scale ? b.mul(weights, scale) : weights;
}

void StoredLinear::emitTile(KernelBuilder &b, ValueRange args, Value firstRow,
                            Value firstPanel) const {
  b.lanes = kLanes;
  auto panelOf = [&](int64_t p) { return b.addIndex(firstPanel, p); };
  auto oneBlock = [&](Value i, ValueRange carried) {
    SmallVector<Value> scale, zeroPoint;
    for (int64_t p = 0; p < tilePanels; ++p) {
      Value at = b.mulIndex(b.addIndex(b.mulIndex(panelOf(p), blocks()), i), kLanes);
      scale.push_back(scales < 0 ? Value() : b.load(args[scales], at));
      zeroPoint.push_back(zeroPoints < 0 ? Value() : b.load(args[zeroPoints], at));
    }
    Value begin = b.mulIndex(i, block);
    Value end = b.createIndex<arith::MinUIOp>(b.addIndex(begin, block), b.index(depth));
    return b.loop(begin, end, 1, carried, [&](Value step, ValueRange inner) {
      SmallVector<Value> sums(inner), weights;
      for (int64_t p = 0; p < tilePanels; ++p)
        weights.push_back(dequantize(b, args, panelOf(p), step, scale[p], zeroPoint[p]));
      for (int64_t r = 0; r < tileRows; ++r) {
        Value x =
            b.loadSplat(args[input], b.addIndex(b.mulIndex(b.addIndex(firstRow, r), depth), step));
        for (int64_t p = 0; p < tilePanels; ++p)
          sums[r * tilePanels + p] = b.fma(x, weights[p], sums[r * tilePanels + p]);
      }
      return sums;
    });
  };
  SmallVector<Value> sums(tileRows * tilePanels, b.constF(0));
  sums = b.loop(b.index(0), b.index(blocks()), 1, sums, [&](Value i, ValueRange carried) {
    return SmallVector<Value>(oneBlock(i, carried));
  });
  storeTile(b, args, sums, firstRow, firstPanel);
  b.lanes = 1;
}

/// The last panel may have fewer outputs.
void StoredLinear::storeTile(KernelBuilder &b, ValueRange args, ArrayRef<Value> sums,
                             Value firstRow, Value firstPanel) const {
  auto store = [&](int64_t count, int64_t p) {
    Value output = b.mulIndex(b.addIndex(firstPanel, p), kLanes);
    auto type = VectorType::get({count}, b.getF32Type());
    for (int64_t r = 0; r < tileRows; ++r) {
      Value sum = b.slice(sums[r * tilePanels + p], 0, count);
      if (bias >= 0)
        sum = b.add(sum, vector::LoadOp::create(b, type, args[bias], ValueRange{output}));
      Value at = b.addIndex(b.mulIndex(b.addIndex(firstRow, r), outputs), output);
      vector::StoreOp::create(b, sum, args[result], ValueRange{at});
    }
  };
  int64_t rest = outputs % kLanes;
  for (int64_t p = 0; p < tilePanels; ++p) {
    if (rest == 0 || p + 1 < tilePanels) {
      store(kLanes, p);
      continue;
    }
    Value isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, b.addIndex(firstPanel, p),
                                         b.index(panels() - 1));
    auto branch = scf::IfOp::create(b, isLast, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    store(rest, p);
    b.setInsertionPointToStart(branch.elseBlock());
    store(kLanes, p);
  }
}

/// Dequantizes the weights of some steps.
void StoredLinear::emitSteps(KernelBuilder &b, ValueRange args, Value firstPanel, Value begin,
                             Value end, Value weights) const {
  b.loop(begin, end, 1, [&](Value step) {
    Value i = b.createIndex<arith::DivUIOp>(step, b.index(block));
    Value first = b.mulIndex(b.createIndex<arith::SubIOp>(step, begin), tilePanels * kLanes);
    for (int64_t p = 0; p < tilePanels; ++p) {
      Value panel = b.addIndex(firstPanel, p);
      Value at = b.mulIndex(b.addIndex(b.mulIndex(panel, blocks()), i), kLanes);
      Value scale = scales < 0 ? Value() : b.load(args[scales], at);
      Value zeroPoint = zeroPoints < 0 ? Value() : b.load(args[zeroPoints], at);
      b.store(dequantize(b, args, panel, step, scale, zeroPoint), weights,
              b.addIndex(first, p * kLanes));
    }
  });
}

/// Adds the products of these steps to the sums of some rows.
void StoredLinear::emitSums(KernelBuilder &b, ValueRange args, Value firstRow, int64_t numRows,
                            Value firstPanel, Value begin, Value end, Value weights) const {
  auto is = [&](Value a, int64_t number) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, a, b.index(number));
  };
  auto choose = [&](Value condition, Value yes, Value no) -> Value {
    return arith::SelectOp::create(b, condition, yes, no);
  };
  Value output = b.mulIndex(firstPanel, kLanes), isFirst = is(begin, 0), isLast = is(end, depth);
  auto place = [&](int64_t r, int64_t p) {
    Value row = b.addIndex(firstRow, r);
    return b.addIndex(b.addIndex(b.mulIndex(row, outputs), output), p * kLanes);
  };
  SmallVector<Value> sums;
  for (int64_t r = 0; r < numRows; ++r)
    for (int64_t p = 0; p < tilePanels; ++p)
      sums.push_back(choose(isFirst, b.constF(0), b.load(args[result], place(r, p))));
  sums = b.loop(begin, end, 1, sums, [&](Value step, ValueRange carried) {
    SmallVector<Value> next(carried), loaded;
    Value first = b.mulIndex(b.createIndex<arith::SubIOp>(step, begin), tilePanels * kLanes);
    for (int64_t p = 0; p < tilePanels; ++p)
      loaded.push_back(b.load(weights, b.addIndex(first, p * kLanes)));
    for (int64_t r = 0; r < numRows; ++r) {
      Value at = b.addIndex(b.mulIndex(b.addIndex(firstRow, r), depth), step);
      Value x = b.loadSplat(args[input], at);
      for (int64_t p = 0; p < tilePanels; ++p)
        next[r * tilePanels + p] = b.fma(x, loaded[p], next[r * tilePanels + p]);
    }
    return next;
  });
  for (int64_t r = 0; r < numRows; ++r)
    for (int64_t p = 0; p < tilePanels; ++p) {
      Value sum = sums[r * tilePanels + p];
      if (bias >= 0) {
        Value terms = b.load(args[bias], b.addIndex(output, p * kLanes));
        sum = choose(isLast, b.add(sum, terms), sum);
      }
      b.store(sum, args[result], place(r, p));
    }
}

void StoredLinear::emitManyRows(KernelBuilder &b, ValueRange args, Value firstPanel,
                                Value weights) const {
  b.lanes = kLanes;
  b.loop(b.index(0), b.index(depth), kStepsTogether, [&](Value begin) {
    Value end = b.createIndex<arith::MinUIOp>(b.addIndex(begin, kStepsTogether), b.index(depth));
    emitSteps(b, args, firstPanel, begin, end, weights);
    int64_t rest = rows % tileRows;
    b.loop(b.index(0), b.index(rows - rest), tileRows,
           [&](Value row) { emitSums(b, args, row, tileRows, firstPanel, begin, end, weights); });
    if (rest > 0)
      emitSums(b, args, b.index(rows - rest), rest, firstPanel, begin, end, weights);
  });
  b.lanes = 1;
}

/// One output of one row: the reference path.
void StoredLinear::emitOutput(KernelBuilder &b, ValueRange args, Value row, Value output) const {
  Value panel = b.createIndex<arith::DivUIOp>(output, b.index(kLanes)),
        lane = b.createIndex<arith::RemUIOp>(output, b.index(kLanes));
  Value sum = b.loop(
      b.index(0), b.index(depth), 1, ValueRange{b.constF(0)}, [&](Value step, ValueRange carried) {
        Value i = b.createIndex<arith::DivUIOp>(step, b.index(block));
        Value at = b.addIndex(b.mulIndex(b.addIndex(b.mulIndex(panel, blocks()), i), kLanes), lane);
        Value w = loadWeight(b, args, output, step);
        w = zeroPoints < 0 ? w : b.sub(w, b.load(args[zeroPoints], at));
        w = scales < 0 ? w : b.mul(w, b.load(args[scales], at));
        Value x = b.load(args[input], b.addIndex(b.mulIndex(row, depth), step));
        return SmallVector<Value>{b.fma(x, w, carried[0])};
      })[0];
  if (bias >= 0)
    sum = b.add(sum, b.load(args[bias], output));
  b.store(sum, args[result], b.addIndex(b.mulIndex(row, outputs), output));
}

void StoredLinear::emit() {
  bool isScalar = emitter.getLevel().isScalar();
  int64_t range = isScalar ? outputs : panels() / tilePanels;
  emitter.addStep(group, kernel::Kernels::linear_stored, signature.arguments, range,
                  [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
                    Value weights;
                    if (!isScalar && hasManyRows())
                      weights = b.allocateOnStack(
                          std::min(depth, kStepsTogether) * tilePanels * kLanes, b.getF32Type());
                    b.loop(begin, end, 1, [&](Value i) {
                      if (weights)
                        return emitManyRows(b, args, b.mulIndex(i, tilePanels), weights);
                      if (isScalar)
                        return b.loop(0, rows, [&](Value row) { emitOutput(b, args, row, i); });
                      b.loopOverBlocks(rows, tileRows, [&](Value row) {
                        emitTile(b, args, row, b.mulIndex(i, tilePanels));
                      });
                    });
                  });
}

void codegen::emitStoredLinear(ProgramEmitter &emitter, GroupOp group, DequantizeWeightsOp weights,
                               nn::LinearOp linear) {
  StoredLinear(emitter, group, weights, linear).emit();
}
