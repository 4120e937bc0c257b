//===- StepOrders.h - which steps are multiplied as bytes -------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An instruction that multiplies bytes and adds two products in i16 is exact where two weights are
// small enough for inputs of 255: |w0 + w1| <= 128. Which of a step's four weights are added is
// chosen where some do not fit, and two steps whose products fit together are added in i16, too.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_PRODUCTS_STEPORDERS_H
#define OCTET_LIB_CODEGEN_PRODUCTS_STEPORDERS_H

#include "llvm/ADT/ArrayRef.h"
#include <array>
#include <cstdint>
#include <vector>

namespace octet::codegen {

/// The orders of the steps of all runs of panels.
class StepOrders {
public:
  /// The orders of a step's four bytes, of which the first two and the last two are added.
  static constexpr std::array<std::array<int8_t, 4>, 3> kBytes = {
      {{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 3, 1, 2}}};
  /// A code is a step's number and, from this bit on, the order of its bytes.
  static constexpr int64_t kOrderBit = 14, kMostSteps = 1 << kOrderBit;

  /// Of panels [run][step][16][4 bytes], of so many steps a run.
  StepOrders(llvm::ArrayRef<int8_t> panels, int64_t steps);

  /// For each run how many couples of steps and how many steps are multiplied as bytes, and the
  /// codes of all steps: couples, other steps of bytes, the rest.
  llvm::ArrayRef<int16_t> getCodes() const { return codes; }
  /// The share of the time of all steps that is saved, as measured on Zen 3; at most where all are
  /// in couples.
  double getSaved() const { return saved; }
  /// In steps of i16. 16 x 4 bytes with 4 pixels take 12.2 cycles as i16, 9.3 as bytes,
  /// couples 14.9.
  static constexpr double kSavedByCouple = 0.78, kSavedByStep = 0.235;
  static constexpr double kMostSaved = kSavedByCouple / 2;

private:
  void addRun(llvm::ArrayRef<int8_t> weights, int64_t steps);

  std::vector<int16_t> codes;
  double saved = 0;
};

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_PRODUCTS_STEPORDERS_H
