//===- RecurrentCells.cpp - one step of RNN, GRU, LSTM ------------------------ ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// [N.recurrent] says which operators these are, in which order.
//
//===----------------------------------------------------------------------===//

#include "Recurrence.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

State Recurrence::stepGru(int64_t d, MaybeValue projected, const State &before) {
  bool isLinearFirst = node.getInt("linear_before_reset", 0);
  std::optional<MaybeValue> gates, candidate;
  if (!before.isZero) {
    auto both = getPart(kRecurrent, d, "recurrent_gates", 0, 2 * size);
    gates = linear(before.hidden, both);
  }
  auto opened = activate(d, 0, add(gate(projected, 0, 2), gates));
  auto update = gate(opened, 0), reset = gate(opened, 1);
  auto filter = getPart(kRecurrent, d, "recurrent_candidate", 2 * size, size);
  if (isLinearFirst && (node.has(kBias) || !before.isZero)) {
    auto bias =
        node.has(kBias) ? getPart(kBias, d, "recurrent_bias", 5 * size, size) : MaybeValue(Value());
    auto inner = before.isZero ? bias : linear(before.hidden, filter, bias);
    candidate = node.compute<nn::MulOp>(reset, inner);
  } else if (!before.isZero) {
    candidate = linear(node.compute<nn::MulOp>(reset, before.hidden), filter);
  }
  auto fresh = activate(d, 1, add(gate(projected, 2), candidate));
  auto share = node.compute<nn::SubOp>(getOne(), update);
  State after;
  after.hidden = node.compute<nn::MulOp>(share, fresh);
  if (!before.isZero)
    after.hidden =
        node.compute<nn::AddOp>(after.hidden, node.compute<nn::MulOp>(update, before.hidden));
  after.cell = Value();
  return after;
}

/// The gates are input, output, forget and candidate.
State Recurrence::stepLstm(int64_t d, MaybeValue projected, const State &before) {
  std::optional<MaybeValue> recurrent;
  if (!before.isZero)
    recurrent = linear(before.hidden, getPart(kRecurrent, d, "recurrent", 0, 4 * size));
  auto sums = add(projected, recurrent);
  bool hasPeepholes = node.has(kPeepholes);
  auto look = [&](int64_t i, MaybeValue state) -> std::optional<MaybeValue> {
    if (!hasPeepholes || (succeeded(state) && !*state))
      return std::nullopt;
    auto weights = getPart(kPeepholes, d, ("peephole" + Twine(i)).str(), i * size, size);
    return node.compute<nn::MulOp>(state, weights);
  };
  MaybeValue cellBefore = before.isZero ? MaybeValue(Value()) : before.cell;
  MaybeValue opened = hasPeepholes ? MaybeValue(Value()) : activate(d, 0, gate(sums, 0, 3));
  auto open = [&](int64_t i, int64_t peephole, MaybeValue state) {
    return hasPeepholes ? activate(d, 0, add(gate(sums, i), look(peephole, state)))
                        : gate(opened, i);
  };
  auto input = open(0, 0, cellBefore);
  auto forget = node.getInt("input_forget", 0) ? node.compute<nn::SubOp>(getOne(), input)
                                               : open(2, 2, cellBefore);
  State after;
  after.cell = node.compute<nn::MulOp>(input, activate(d, 1, gate(sums, 3)));
  if (!before.isZero)
    after.cell = node.compute<nn::AddOp>(node.compute<nn::MulOp>(forget, before.cell), after.cell);
  auto output = open(1, 1, after.cell);
  after.hidden = node.compute<nn::MulOp>(output, apply(d, 2, after.cell));
  return after;
}

State Recurrence::step(int64_t d, MaybeValue projected, const State &before) {
  if (cell == Cell::gru)
    return stepGru(d, projected, before);
  if (cell == Cell::lstm)
    return stepLstm(d, projected, before);
  std::optional<MaybeValue> recurrent;
  if (!before.isZero)
    recurrent = linear(before.hidden, getPart(kRecurrent, d, "recurrent", 0, size));
  State after;
  after.hidden = activate(d, 0, add(projected, recurrent));
  after.cell = Value();
  return after;
}
