//===- StridedCopy.cpp - elements from one place to another ---------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StridedCopy.h"
#include "Emitters.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

StridedCopy StridedCopy::normalized() const {
  SmallVector<size_t> order;
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] != 1)
      order.push_back(d);
  llvm::stable_sort(order, [&](size_t a, size_t b) { return resultSteps[a] > resultSteps[b]; });
  StridedCopy copy;
  copy.inputBase = inputBase;
  copy.resultBase = resultBase;
  copy.mayReadBetween = mayReadBetween;
  for (size_t d : order) {
    bool isPixel = pitch && shape[d] == channels && inputSteps[d] == 1 && resultSteps[d] == 1;
    int64_t size = isPixel ? pitch : shape[d];
    bool merges = !copy.shape.empty() && copy.resultSteps.back() == size * resultSteps[d] &&
                  copy.inputSteps.back() == size * inputSteps[d];
    if (!merges) {
      copy.addDimension(size, inputSteps[d], resultSteps[d]);
      continue;
    }
    copy.shape.back() *= size;
    copy.inputSteps.back() = inputSteps[d];
    copy.resultSteps.back() = resultSteps[d];
  }
  if (copy.shape.empty())
    copy.addDimension(1, 1, 1);
  return copy;
}

/// n rows of n elements become columns: log2(n) times, rows i and i + n / 2 are interleaved.
static SmallVector<Value> transposeSquare(KernelBuilder &b, SmallVector<Value> rows) {
  int64_t n = rows.size();
  SmallVector<int64_t> low, high;
  for (int64_t i = 0; i < n / 2; ++i) {
    low.append({i, n + i});
    high.append({n / 2 + i, n + n / 2 + i});
  }
  for (int64_t stage = 1; stage < n; stage *= 2) {
    SmallVector<Value> next;
    for (int64_t i = 0; i < n / 2; ++i) {
      next.push_back(vector::ShuffleOp::create(b, rows[i], rows[i + n / 2], low));
      next.push_back(vector::ShuffleOp::create(b, rows[i], rows[i + n / 2], high));
    }
    rows = next;
  }
  return rows;
}

SmallVector<Value> codegen::loadRowsAsLanes(KernelBuilder &b, Value memory, Value first,
                                            int64_t step) {
  // Quarter q of vector i is of row 4 q + i.
  SmallVector<Value> rows;
  for (int64_t i = 0; i < kElementsTogether; ++i) {
    Value at = b.addIndex(first, i * step);
    rows.push_back(b.lanes == kElementsTogether
                       ? b.load(memory, at)
                       : b.loadQuarters(memory, at, kElementsTogether * step));
  }
  // Twice, vectors i and i + 2 are interleaved, within the quarters.
  auto interleave = [&](Value low, Value high, int64_t half) {
    SmallVector<int64_t> order;
    for (int64_t lane = half; lane < b.lanes; lane += kElementsTogether)
      for (int64_t i = lane; i < lane + kElementsTogether / 2; ++i)
        order.append({i, b.lanes + i});
    return vector::ShuffleOp::create(b, low, high, order).getResult();
  };
  constexpr int64_t kHalf = kElementsTogether / 2;
  for (int64_t stage = 1; stage < kElementsTogether; stage *= 2)
    rows = {interleave(rows[0], rows[2], 0), interleave(rows[0], rows[2], kHalf),
            interleave(rows[1], rows[3], 0), interleave(rows[1], rows[3], kHalf)};
  return rows;
}

Transposition::Transposition(const StridedCopy &copy, Type element)
    : copy(copy), columns(16 / (element.getIntOrFloatBitWidth() / 8)),
      type(VectorType::get({columns}, element)),
      rowAxis(llvm::find(copy.inputSteps, 1) - copy.inputSteps.begin()),
      columnAxis(copy.shape.size() - 1) {
  if (rowAxis >= columnAxis)
    return;
  rows = copy.shape[rowAxis] >= kMostRows ? kMostRows : columns;
  blocks.assign(copy.shape.begin(), copy.shape.end() - 1);
  blocks[rowAxis] = llvm::divideCeil(copy.shape[rowAxis], rows);
}

bool Transposition::isOne() const {
  return rowAxis < columnAxis && copy.resultSteps.back() == 1 && copy.shape[rowAxis] >= rows &&
         copy.shape.back() >= columns;
}

void Transposition::emit(KernelBuilder &b, ValueRange args, Value begin, Value end) const {
  b.loop(begin, end, 1, [&](Value unit) {
    SmallVector<Value> indices = b.splitIndex(unit, blocks);
    Value firstRow = b.getBlock(indices[rowAxis], copy.shape[rowAxis], rows);
    int64_t squares = countSquares();
    b.loopOverBlocks(copy.shape.back(), squares * columns, [&](Value column) {
      SmallVector<Value> at(indices);
      at.push_back(column);
      for (int64_t row = 0; row < rows; row += columns) {
        at[rowAxis] = b.addIndex(firstRow, row);
        b.loop(0, squares, [&](Value square) {
          at.back() = b.addIndex(column, b.mulIndex(square, columns));
          emitSquare(b, args, at);
        });
      }
    });
  });
}

int64_t Transposition::countSquares() const {
  constexpr int64_t kOfLine = 4;
  bool isFar = copy.resultSteps[rowAxis] > copy.inputSteps[columnAxis];
  return isFar && copy.shape.back() >= kOfLine * columns ? kOfLine : 1;
}

void Transposition::emitSquare(KernelBuilder &b, ValueRange args, ArrayRef<Value> at) const {
  Value from = b.linearIndex(at, copy.inputSteps, copy.inputBase);
  Value to = b.linearIndex(at, copy.resultSteps, copy.resultBase);
  SmallVector<Value> square;
  for (int64_t i = 0; i < columns; ++i)
    square.push_back(vector::LoadOp::create(
        b, type, args[0], ValueRange{b.addIndex(from, i * copy.inputSteps[columnAxis])}));
  for (auto [i, value] : llvm::enumerate(transposeSquare(b, square)))
    vector::StoreOp::create(b, value, args[1],
                            ValueRange{b.addIndex(to, i * copy.resultSteps[rowAxis])});
}
