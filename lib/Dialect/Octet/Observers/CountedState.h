//===- CountedState.h - ranges, and how many numbers they are of -*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_DIALECT_OCTET_OBSERVERS_COUNTEDSTATE_H
#define OCTET_LIB_DIALECT_OCTET_OBSERVERS_COUNTEDSTATE_H

#include "octet/Dialect/Octet/Octet.h"

namespace octet {

/// The state of another observer, then a count, 64 bits, to which each run adds a number.
class CountedState {
public:
  CountedState(ObserverAttrInterface keeper, mlir::RankedTensorType observed, int64_t ofRun)
      : keeper(keeper), observed(observed), ofRun(ofRun) {}

  int64_t getBytes() const;
  void init(llvm::MutableArrayRef<char> state) const;
  void update(llvm::ArrayRef<float> data, llvm::MutableArrayRef<char> state) const;
  mlir::LogicalResult merge(llvm::MutableArrayRef<char> state, llvm::ArrayRef<char> other) const;
  void emitUpdate(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value data,
                  mlir::Value state) const;

  /// The other observer's part.
  static llvm::ArrayRef<char> getKept(llvm::ArrayRef<char> state);
  static int64_t getCount(llvm::ArrayRef<char> state);

private:
  ObserverAttrInterface keeper;
  mlir::RankedTensorType observed;
  int64_t ofRun;
};

} // namespace octet

#endif // OCTET_LIB_DIALECT_OCTET_OBSERVERS_COUNTEDSTATE_H
