//===- Recurrence.h - recurrent operators ------------------------*- C++ -*- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_IMPORT_ONNX_RECURRENCE_H
#define OCTET_LIB_IMPORT_ONNX_RECURRENCE_H

#include "Quantization.h"
#include "RecurrentActivations.h"
#include "llvm/ADT/StringMap.h"

namespace octet::onnx_import {

enum class Cell { rnn, gru, lstm };

/// Of a step: what the next step reads.
struct State {
  MaybeValue hidden = llvm::failure(), cell = llvm::failure();
  bool isZero = false; ///< both are zero, and not there
};

/// One RNN, GRU or LSTM.
class Recurrence {
public:
  Recurrence(Node &node, Cell cell, bool isDynamic = false)
      : node(node), cell(cell), isDynamic(isDynamic) {}
  llvm::LogicalResult run();

private:
  enum {
    kInput,
    kWeights,
    kRecurrent,
    kBias,
    kLengths,
    kHidden,
    kCellState,
    kPeepholes,
    kWeightScale, ///< of DynamicQuantizeLSTM, as what follows: zero points, the same of kRecurrent
    kRecurrentScale = kWeightScale + 2
  };

  llvm::LogicalResult readSizes();
  llvm::LogicalResult checkConstant(unsigned i, ShapeRef expected, llvm::StringRef role,
                                    bool isStored = false);
  llvm::LogicalResult readLengths();
  llvm::LogicalResult readActivations();

  /// Rows [begin, begin + count) of direction `d` of constant `i`.
  MaybeValue getPart(unsigned i, int64_t d, llvm::StringRef role, int64_t begin, int64_t count);
  /// The same of weights that the file holds as integers, [inputs, rows].
  MaybeValue getStoredPart(unsigned i, int64_t d, llvm::StringRef key, int64_t begin,
                           int64_t count);
  /// Both biases of the gates, as far as they may be added to the input's product.
  MaybeValue getBias(int64_t d);
  State getInitialState(int64_t d);
  MaybeValue runDirection(int64_t d, mlir::Value input, State &state);
  State step(int64_t d, MaybeValue projected, const State &before);
  State stepGru(int64_t d, MaybeValue projected, const State &before);
  State stepLstm(int64_t d, MaybeValue projected, const State &before);
  /// Where sequences have ended, the state before; `t` is the step.
  MaybeValue keepEnded(MaybeValue now, MaybeValue before, int64_t t);
  bool hasEnded(int64_t t) const {
    return llvm::any_of(lengths, [&](int64_t length) { return t >= length; });
  }

  MaybeValue getOne();
  MaybeValue take(MaybeValue x, int64_t axis, int64_t start, int64_t count);
  MaybeValue gate(MaybeValue x, int64_t i, int64_t count = 1) {
    return take(x, 1, i * size, count * size);
  }
  MaybeValue linear(MaybeValue x, MaybeValue filter, MaybeValue bias = mlir::Value()) {
    if (llvm::failed(x) || llvm::failed(filter) || llvm::failed(bias))
      return llvm::failure();
    return node.create<nn::LinearOp>(isDynamic ? roundInEachRun(node, *x) : *x, *filter, *bias);
  }
  /// Activation `i` of direction `d`.
  MaybeValue apply(int64_t d, unsigned i, MaybeValue x);
  /// The same of clipped values; as in onnxruntime, the cell's state is not clipped.
  MaybeValue activate(int64_t d, unsigned i, MaybeValue x);
  /// The sum; one that is not there is zero.
  MaybeValue add(MaybeValue x, std::optional<MaybeValue> y) {
    return y ? node.compute<nn::AddOp>(x, *y) : x;
  }

  bool isReverse(int64_t d) const { return d == 1 || direction == "reverse"; }
  int64_t numGates() const { return cell == Cell::rnn ? 1 : cell == Cell::gru ? 3 : 4; }
  llvm::LogicalResult setStates(llvm::ArrayRef<State> states, bool isCell, unsigned output);
  llvm::LogicalResult setSequence(llvm::ArrayRef<mlir::Value> directions);

  Node &node;
  Cell cell;
  bool isDynamic; ///< weights are integers, and products quantize what they read in each run
  llvm::StringRef direction;
  int64_t steps = 0, batch = 0, width = 0, size = 0, directions = 1;
  bool isBatchFirst = false;
  llvm::SmallVector<int64_t> lengths; ///< of each sequence
  llvm::SmallVector<Activation> activations;
  llvm::StringMap<mlir::Value> parts; ///< constants by direction and role
};

} // namespace octet::onnx_import

#endif // OCTET_LIB_IMPORT_ONNX_RECURRENCE_H
