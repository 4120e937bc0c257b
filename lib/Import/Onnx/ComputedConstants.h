//===- ComputedConstants.h - how many there may be --------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_IMPORT_ONNX_COMPUTEDCONSTANTS_H
#define OCTET_LIB_IMPORT_ONNX_COMPUTEDCONSTANTS_H

#include "HostTensor.h"

namespace octet::onnx_import {

/// Counts elements of constants: those in the file, and those computed from them. Networks compute
/// few, or their weights after a few casts and transpositions.
class ComputedConstants {
public:
  void addStored(int64_t elements) { storedElements += elements; }

  /// Counts a constant for as long as what is returned lives; null if there are too many. Small
  /// ones may come behind one that is too large.
  std::shared_ptr<void> add(int64_t elements) {
    allElements += elements;
    int64_t most = kMaxConstantElements + 8 * storedElements, present = *presentElements + elements;
    bool isSmall = elements <= kMaxSmallElements && present <= 2 * most;
    if (!isSmall && (present > most || allElements > kMostTimes * most)) {
      exhausted = true;
      return nullptr;
    }
    *presentElements = present;
    auto release = [counted = presentElements, elements](void *) { *counted -= elements; };
    return std::shared_ptr<void>(presentElements.get(), release);
  }
  /// Whether there was one too many.
  bool isExhausted() const { return exhausted; }

private:
  /// Those of which nothing is left are computed again and again at most so often.
  static constexpr int64_t kMostTimes = 64;

  int64_t storedElements = 0, allElements = 0;
  std::shared_ptr<int64_t> presentElements = std::make_shared<int64_t>(0);
  bool exhausted = false;
};

} // namespace octet::onnx_import

#endif // OCTET_LIB_IMPORT_ONNX_COMPUTEDCONSTANTS_H
