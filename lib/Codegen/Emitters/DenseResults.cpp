//===- DenseResults.cpp - sums of a dense tile become results -------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DenseKernel.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

/// Up to four vectors of stored values: packed together, then written; those that join the one
/// before are written with it.
void DenseKernel::storeBytes(KernelBuilder &b, ValueRange args, ArrayRef<Value> values,
                             Value memory, ArrayRef<StoredVector> vectors) {
  SmallVector<Value> four(values);
  while (four.size() < 4)
    four.push_back(four.back());
  Value packed = epilogue->pack(b, args, four);
  for (size_t i = 0; i < vectors.size(); ++i) {
    size_t first = i;
    if (vectors[i].isOfTwoPixels) {
      storePixels(b, b.slice(packed, first * 16, 16), memory, vectors[i].place);
      continue;
    }
    int64_t size = usedLanes();
    for (; i + 1 < vectors.size() && vectors[i + 1].joins; ++i)
      size += 16;
    vector::StoreOp::create(b, b.slice(packed, first * 16, size), memory,
                            ValueRange{vectors[first].place});
  }
}

/// Eight outputs of two pixels.
void DenseKernel::storePixels(KernelBuilder &b, Value vector, Value memory, Value place) {
  constexpr int64_t kHalf = kPanelOutputs / 2;
  for (int64_t pixel : {0, 1})
    vector::StoreOp::create(b, b.slice(vector, pixel * kHalf, kHalf), memory,
                            ValueRange{b.addIndex(place, pixel * shape.outPixel)});
}

/// Where the element of a channel and a pixel of the tile's row is in the result.
SmallVector<Value> DenseKernel::getIndices(KernelBuilder &b, const Origin &origin, Value row,
                                           Value pixel, Value channel) {
  if (!isa<nn::ConvOp>(fused.product)) {
    SmallVector<Value> indices(getTensorType(fused.getResult()).getRank() - 1, b.index(0));
    indices.back() = pixel;
    indices.push_back(channel);
    return indices;
  }
  // One long row of pixels stands for all rows and images: their indices stay zero and columns run
  // through.
  SmallVector<Value> indices{origin.image ? origin.image : b.index(0), channel, row, pixel};
  if (shape.isTransposed)
    std::swap(indices[2], indices[3]);
  return indices;
}

/// The vectors of a tile in the order in which they are stored.
SmallVector<DenseKernel::StoredVector> DenseKernel::getStoredVectors(KernelBuilder &b,
                                                                     ArrayRef<Value> acc,
                                                                     const Origin &origin,
                                                                     Panels panels) {
  SmallVector<Value> positions = getPositions(b, origin, panels.first, panels.count),
                     channels = getOutputs(b, origin, panels.first, panels.count);
  SmallVector<StoredVector> vectors;
  for (int64_t i = 0; i < storedVectors(); ++i)
    for (int64_t p = 0; p < panels.count; ++p) {
      bool joins = (p > 0 || shape.pixelsPerVector > 1) && !mayOverlap(b, p, panels.count);
      vectors.push_back(
          {acc[i * panels.count + p], positions[p], channels[p], i * shape.pixelsPerVector, joins});
    }
  for (auto [i, sums] : llvm::enumerate(acc.drop_front(vectors.size())))
    vectors.push_back({sums, getHalfPosition(b), b.index(wholePanels() * kPanelOutputs),
                       int64_t(2 * i), /*joins=*/false, /*isOfTwoPixels=*/true});
  return vectors;
}

void DenseKernel::storeTile(KernelBuilder &b, ValueRange args, ArrayRef<Value> acc,
                            const Origin &origin, Value row, Value column, Panels panels) {
  TensorView result = epilogue->getResult(args);
  int64_t laneAxis = fused.getProduct().getResultChannelAxis();
  Value outBase = b.addIndex(
      b.addIndex(b.mulIndex(row, shape.outRow), b.mulIndex(column, shape.outPixel)), shape.outBase);
  if (origin.out)
    outBase = b.addIndex(outBase, origin.out);
  SmallVector<StoredVector> vectors = getStoredVectors(b, acc, origin, panels);
  for (size_t first = 0; first < vectors.size(); first += 4) {
    MutableArrayRef<StoredVector> four =
        MutableArrayRef(vectors).slice(first, std::min<size_t>(4, vectors.size() - first));
    SmallVector<Value> values;
    Interleaving interleaving(b);
    four[0].joins = false;
    for (StoredVector &vector : four) {
      Value pixel = b.addIndex(column, vector.pixel);
      epilogue->readRepeated(vector.isOfTwoPixels ? kPanelOutputs / 2 : 0);
      Value value = epilogue->emit(b, args, vector.sums, vector.position,
                                   getIndices(b, origin, row, pixel, vector.channel), laneAxis);
      vector.place = b.addIndex(b.addIndex(outBase, vector.channel), vector.pixel * shape.outPixel);
      values.push_back(value);
      if (epilogue->isQuantizedResult())
        interleaving.next();
      else if (vector.isOfTwoPixels)
        storePixels(b, value, result.memory, vector.place);
      else
        vector::StoreOp::create(b, b.slice(value, 0, usedLanes()), result.memory,
                                ValueRange{vector.place});
    }
    if (!epilogue->isQuantizedResult())
      continue;
    if (epilogue->isLong())
      interleaving.finish();
    storeBytes(b, args, values, result.memory, four);
  }
}
