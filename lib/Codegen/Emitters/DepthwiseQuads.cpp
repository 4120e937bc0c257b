//===- DepthwiseQuads.cpp - four input rows, interleaved ------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DepthwiseQuads.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

/// The elements of two vectors in turn.
static Value zip(KernelBuilder &b, Value x, Value y) {
  SmallVector<int64_t> order;
  int64_t size = cast<VectorType>(x.getType()).getNumElements();
  for (int64_t i = 0; i < size; ++i)
    order.append({i, size + i});
  return vector::ShuffleOp::create(b, x, y, order);
}

/// Unpacks bytes, then words, inside each 16-byte lane: vector g holds bytes 4g..4g+3 of every
/// lane, four rows each.
SmallVector<Value> DepthwiseQuads::interleave(KernelBuilder &b, ArrayRef<Value> rows) const {
  int64_t size = shape.partSize();
  if (shape.kind == BlockKind::rows8) {
    auto zipAsWords = [&](Value x, Value y) { return b.bitcast(zip(b, x, y), b.getI16Type()); };
    Value words = zip(b, zipAsWords(rows[0], rows[1]), zipAsWords(rows[2], rows[3]));
    return {b.bitcast(words, b.getI8Type())};
  }
  auto bytes = VectorType::get({size}, b.getI8Type()),
       words = VectorType::get({size / 2}, b.getI16Type());
  auto unpack = [&](Value x, Value y, int64_t perLane, bool isHigh) -> Value {
    int64_t total = size / (16 / perLane);
    SmallVector<int64_t> order;
    for (int64_t lane = 0; lane < total; lane += perLane)
      for (int64_t i = 0; i < perLane / 2; ++i) {
        int64_t from = lane + i + (isHigh ? perLane / 2 : 0);
        order.append({from, total + from});
      }
    return vector::ShuffleOp::create(b, x, y, order);
  };
  auto asI16 = [&](Value x) -> Value { return vector::BitCastOp::create(b, words, x); };
  Value low01 = asI16(unpack(rows[0], rows[1], 16, false)),
        high01 = asI16(unpack(rows[0], rows[1], 16, true));
  Value low23 = asI16(unpack(rows[2], rows[3], 16, false)),
        high23 = asI16(unpack(rows[2], rows[3], 16, true));
  SmallVector<Value> quads;
  for (auto [x, y] : {std::make_pair(low01, low23), std::make_pair(high01, high23)})
    for (bool isHigh : {false, true})
      quads.push_back(vector::BitCastOp::create(b, bytes, unpack(x, y, 8, isHigh)));
  if (size == 64)
    return quads;
  // Sixteen bytes: the four parts are one vector in natural order.
  return {concatVectors(b, b.getLoc(), quads)};
}

/// The input under one kernel row and column: bytes side by side or, in flat rows of stride 2, of
/// every other pixel.
Value DepthwiseQuads::loadBytes(KernelBuilder &b, Value input, Value at) const {
  auto load = [&](Value at) -> Value {
    auto type = VectorType::get({shape.partSize() / shape.multiplier}, b.getI8Type());
    return vector::LoadOp::create(b, type, input, ValueRange{at});
  };
  if (!shape.isFlat() || shape.columnStride == 1)
    return shape.repeatChannels(b, load(at));
  // The second vector begins with the first one's last pixel, so that it ends with the last pixel
  // that is wanted.
  int64_t pixels = shape.pixelsPerBlock(), channels = shape.channels / shape.multiplier;
  SmallVector<int64_t> order;
  for (int64_t pixel = 0; pixel < 2 * pixels; pixel += 2)
    for (int64_t channel = 0; channel < channels; ++channel)
      order.push_back((pixel < pixels ? pixel : pixel + 1) * channels + channel);
  Value first = load(at), second = load(b.addIndex(at, (pixels - 1) * channels));
  return shape.repeatChannels(b, vector::ShuffleOp::create(b, first, second, order));
}

/// Rows are in the order of getDepthwiseWeights.
SmallVector<Value> DepthwiseQuads::loadColumn(KernelBuilder &b, Value input, Value base) const {
  SmallVector<Value> rows, result;
  for (int64_t row = 0; row < shape.inputRows(); ++row)
    rows.push_back(loadBytes(b, input, b.addIndex(base, row * shape.rowDilation * shape.inRow)));
  // Weights are zero at the rows that are there twice.
  if (rows.size() % 4 == 2)
    rows.insert(rows.end() - 1, rows.back());
  while (rows.size() % 4)
    rows.push_back(rows.back());
  for (int64_t quad = 0; quad < shape.quads(); ++quad)
    for (Value bytes : interleave(b, ArrayRef(rows).slice(4 * quad, 4))) {
      SmallVector<Value> parts = products.split(b, bytes);
      llvm::append_range(result, ArrayRef(parts).take_front(usedParts(quad)));
    }
  return result;
}

void DepthwiseQuads::addProducts(KernelBuilder &b, Value weights, MutableArrayRef<Value> sums,
                                 ArrayRef<Value> column, Value at) const {
  int64_t vectors = shape.vectors(), parts = products.parts();
  for (auto [number, sum] : llvm::enumerate(sums))
    for (int64_t quad = 0; quad < shape.quads(); ++quad)
      for (int64_t part = 0; part < usedParts(quad); ++part) {
        int64_t before = quad * vectors * parts, vector = number % vectors;
        int64_t place = number / vectors * bytesPerRow() + (before + vector * parts + part) * 64;
        Value w = products.load(b, weights, b.addIndex(at, place));
        Value x = column[before + vector * usedParts(quad) + part];
        if (shape.kind == BlockKind::rows8)
          x = concatVectors(b, b.getLoc(), {x, x});
        sum = products.multiplyAdd(b, sum, x, w);
      }
}
