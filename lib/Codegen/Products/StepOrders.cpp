//===- StepOrders.cpp - which steps are multiplied as bytes ---------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepOrders.h"
#include "llvm/ADT/STLExtras.h"
#include <cassert>
#include <optional>

using namespace octet;
using namespace octet::codegen;
using llvm::ArrayRef;

/// Of weights that are added, in magnitude: 255 * 128 fits in i16.
static constexpr int64_t kLargestSum = 128;
static constexpr int64_t kBytesPerStep = 64;

namespace {
/// A step whose products fit in the order in which they are.
struct Candidate {
  int64_t step;
  /// What the weights of each pair add up to if the others are multiplied by zero: above and below.
  std::array<int16_t, kBytesPerStep> sums;
  int16_t largest;

  bool fitsWith(const Candidate &other) const {
    int16_t most = 0;
    for (size_t i = 0; i < sums.size(); ++i)
      most = std::max<int16_t>(most, sums[i] + other.sums[i]);
    return most <= kLargestSum;
  }
};
} // namespace

static Candidate makeCandidate(ArrayRef<int8_t> weights, int64_t step) {
  Candidate candidate{step, {}, 0};
  for (int64_t at = 0; at < kBytesPerStep; at += 2) {
    int a = weights[at], b = weights[at + 1];
    candidate.sums[at] = std::max(a, 0) + std::max(b, 0);
    candidate.sums[at + 1] = -(std::min(a, 0) + std::min(b, 0));
  }
  candidate.largest = *llvm::max_element(candidate.sums);
  return candidate;
}

/// The first order of bytes in which a step's pairs fit.
static std::optional<int64_t> findOrder(ArrayRef<int8_t> weights) {
  for (auto [number, bytes] : llvm::enumerate(StepOrders::kBytes)) {
    bool fits = true;
    for (int64_t lane = 0; lane < kBytesPerStep; lane += 4)
      for (int64_t pair : {0, 2})
        fits &=
            std::abs(weights[lane + bytes[pair]] + weights[lane + bytes[pair + 1]]) <= kLargestSum;
    if (fits)
      return number;
  }
  return std::nullopt;
}

/// Couples of steps that fit together, each with the largest that does, of a few that may; sorted,
/// the largest first.
static std::vector<std::pair<int64_t, int64_t>> findCouples(ArrayRef<Candidate> candidates,
                                                            std::vector<bool> &isTaken) {
  // Sums that are largest in other lanes fit although these do not add up to so little.
  constexpr int64_t kMostTries = 32, kLargestTried = 192;
  std::vector<std::pair<int64_t, int64_t>> couples;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (isTaken[i])
      continue;
    const Candidate &first = candidates[i];
    size_t next = llvm::partition_point(candidates,
                                        [&](const Candidate &other) {
                                          return other.largest > kLargestTried - first.largest;
                                        }) -
                  candidates.begin();
    int64_t tries = 0;
    for (size_t j = std::max(next, i + 1); j < candidates.size() && tries < kMostTries; ++j) {
      if (isTaken[j])
        continue;
      ++tries;
      if (!first.fitsWith(candidates[j]))
        continue;
      isTaken[i] = isTaken[j] = true;
      couples.push_back({first.step, candidates[j].step});
      break;
    }
  }
  return couples;
}

StepOrders::StepOrders(ArrayRef<int8_t> panels, int64_t steps) {
  assert(steps < kMostSteps && "expected a step's number to fit in a code");
  int64_t size = steps * kBytesPerStep, runs = panels.size() / size;
  codes.reserve(runs * (steps + 2));
  for (int64_t run = 0; run < runs; ++run)
    addRun(panels.slice(run * size, size), steps);
  saved /= runs * steps;
}

void StepOrders::addRun(ArrayRef<int8_t> weights, int64_t steps) {
  std::vector<Candidate> candidates;
  std::vector<int16_t> single, words;
  for (int64_t step = 0; step < steps; ++step) {
    ArrayRef<int8_t> own = weights.slice(step * kBytesPerStep, kBytesPerStep);
    std::optional<int64_t> order = findOrder(own);
    if (!order)
      words.push_back((int16_t)step);
    else if (*order == 0)
      candidates.push_back(makeCandidate(own, step));
    else
      single.push_back((int16_t)(step | *order << kOrderBit));
  }
  llvm::stable_sort(candidates,
                    [](const Candidate &a, const Candidate &b) { return a.largest > b.largest; });
  std::vector<bool> isTaken(candidates.size());
  auto couples = findCouples(candidates, isTaken);
  for (size_t i = 0; i < candidates.size(); ++i)
    if (!isTaken[i])
      single.push_back((int16_t)candidates[i].step);
  codes.push_back((int16_t)couples.size());
  codes.push_back((int16_t)(2 * couples.size() + single.size()));
  for (auto [first, second] : couples)
    codes.insert(codes.end(), {(int16_t)first, (int16_t)second});
  codes.insert(codes.end(), single.begin(), single.end());
  codes.insert(codes.end(), words.begin(), words.end());
  saved += kSavedByCouple * couples.size() + kSavedByStep * single.size();
}
