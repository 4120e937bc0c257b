//===- Code.h - loops over indices, emitted or done at once -----*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An order of weights is a function that is written once, over `Code`: with EmittedCode it becomes
// a function of a prologue or a part of a kernel, with HostCode the compiler orders constants.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_CODE_H
#define OCTET_LIB_CODEGEN_CODE_H

#include "KernelBuilder.h"

namespace octet::codegen {

/// An index in emitted code, with plain operators. Indices are never negative.
class Index {
public:
  Index(KernelBuilder &b, mlir::Value value) : b(&b), value(value) {}
  operator mlir::Value() const { return value; }
  KernelBuilder &builder() const { return *b; }

  template <typename T> Index operator+(T rhs) const { return apply<mlir::arith::AddIOp>(rhs); }
  template <typename T> Index operator-(T rhs) const { return apply<mlir::arith::SubIOp>(rhs); }
  template <typename T> Index operator*(T rhs) const { return apply<mlir::arith::MulIOp>(rhs); }
  template <typename T> Index operator/(T rhs) const { return apply<mlir::arith::DivUIOp>(rhs); }
  template <typename T> Index operator%(T rhs) const { return apply<mlir::arith::RemUIOp>(rhs); }
  template <typename T> Index operator&(T rhs) const { return apply<mlir::arith::AndIOp>(rhs); }
  template <typename T> Index operator>>(T rhs) const { return apply<mlir::arith::ShRUIOp>(rhs); }

  template <typename OpTy> Index apply(Index rhs) const {
    return {*b, b->createIndex<OpTy>(value, rhs.value)};
  }
  template <typename OpTy> Index apply(int64_t rhs) const { return apply<OpTy>(constant(rhs)); }
  Index constant(int64_t number) const { return {*b, b->index(number)}; }
  /// Whether it equals `number`: an i1.
  mlir::Value operator==(int64_t number) const {
    return mlir::arith::CmpIOp::create(*b, mlir::arith::CmpIPredicate::eq, value,
                                       constant(number).value);
  }

private:
  KernelBuilder *b;
  mlir::Value value;
};

/// Emits what an order does. Memory is a memref of one dimension.
class EmittedCode {
public:
  using Index = codegen::Index;

  explicit EmittedCode(KernelBuilder &b) : b(b) {}

  Index index(int64_t number) { return {b, b.index(number)}; }
  Index min(Index lhs, Index rhs) { return lhs.apply<mlir::arith::MinUIOp>(rhs); }
  Index max(Index lhs, Index rhs) { return lhs.apply<mlir::arith::MaxUIOp>(rhs); }
  Index select(mlir::Value condition, Index yes, Index no) {
    return {b, mlir::arith::SelectOp::create(b, condition, yes, no)};
  }
  template <typename Fn> void loop(Index lower, Index upper, Fn body) {
    b.loop(lower, upper, 1, [&](mlir::Value i) { body(Index(b, i)); });
  }
  /// `to[at] = from[place]`, with its sign where the target is wider.
  void copy(mlir::Value to, Index at, mlir::Value from, Index place) {
    mlir::Value element = b.load(from, place);
    mlir::Type wanted = llvm::cast<mlir::MemRefType>(to.getType()).getElementType();
    if (element.getType() != wanted)
      element = mlir::arith::ExtSIOp::create(b, wanted, element);
    b.store(element, to, at);
  }

  KernelBuilder &b;
};

/// Does at once what an order does. Memory is an array.
class HostCode {
public:
  using Index = int64_t;

  Index index(int64_t number) { return number; }
  Index min(Index lhs, Index rhs) { return std::min(lhs, rhs); }
  Index max(Index lhs, Index rhs) { return std::max(lhs, rhs); }
  template <typename Fn> void loop(Index lower, Index upper, Fn body) {
    for (Index i = lower; i < upper; ++i)
      body(i);
  }
  template <typename T>
  void copy(llvm::MutableArrayRef<T> to, Index at, llvm::ArrayRef<T> from, Index place) {
    to[at] = from[place];
  }
};

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_CODE_H
