// RUN: octet-opt %s --pass-pipeline='builtin.module(builtin.module(octet-merge-kernels))' --split-input-file | FileCheck %s

// Functions that differ in bounds only become one. What differs is an argument once (%a), or a multiple of one (%b = 4 a);
// what is the same in both (2) stays. The memory is the larger one.
module {
  // CHECK-LABEL: kernel.program @main
  // CHECK: kernel.step @copy1 [#kernel.arg<arena 0>] bounds [8, 3] range 1
  // CHECK: kernel.step @copy1 [#kernel.arg<arena 64>] bounds [16, 5] range 2
  // CHECK: kernel.step @other [#kernel.arg<arena 0>] range 1
  // CHECK: func.func private @copy1(%[[X:.*]]: memref<32xi8> {llvm.noalias}, %[[A:.*]]: index, %[[C:.*]]: index, %[[BEGIN:.*]]: index, %[[END:.*]]: index) attributes {kernel.mergeable, passthrough = ["optsize"]}
  // CHECK-DAG: %[[FOUR:.*]] = arith.constant 4 : index
  // CHECK-DAG: %[[B:.*]] = arith.muli %[[A]], %[[FOUR]] : index
  // CHECK-DAG: %[[TWO:.*]] = arith.constant 2 : index
  // CHECK: arith.addi %[[A]], %[[B]]
  // CHECK: arith.addi %{{.*}}, %[[TWO]]
  // CHECK: arith.addi %{{.*}}, %[[C]]
  // CHECK-NOT: @copy2
  // CHECK: func.func private @other
  module @avx2 {
    kernel.program @main level "avx2" arena 0 state 0 prepared 0 inputs [] outputs [] {
      kernel.step @copy1 [#kernel.arg<arena 0>] range 1
      kernel.step @copy2 [#kernel.arg<arena 64>] range 2
      kernel.step @other [#kernel.arg<arena 0>] range 1
    }
    func.func private @copy1(%x: memref<16xi8> {llvm.noalias}, %begin: index, %end: index) attributes {kernel.mergeable} {
      %a = arith.constant 8 : index
      %b = arith.constant 32 : index
      %two = arith.constant 2 : index
      %c = arith.constant 3 : index
      %v = arith.constant 1 : i8
      %0 = arith.addi %a, %b : index
      %1 = arith.addi %0, %two : index
      %2 = arith.addi %1, %c : index
      memref.store %v, %x[%2] : memref<16xi8>
      return
    }
    func.func private @copy2(%x: memref<32xi8> {llvm.noalias}, %begin: index, %end: index) attributes {kernel.mergeable} {
      %a = arith.constant 16 : index
      %b = arith.constant 64 : index
      %two = arith.constant 2 : index
      %c = arith.constant 5 : index
      %v = arith.constant 1 : i8
      %0 = arith.addi %a, %b : index
      %1 = arith.addi %0, %two : index
      %2 = arith.addi %1, %c : index
      memref.store %v, %x[%2] : memref<32xi8>
      return
    }
    // Not marked.
    func.func private @other(%x: memref<16xi8> {llvm.noalias}, %begin: index, %end: index) {
      %a = arith.constant 16 : index
      %b = arith.constant 64 : index
      %two = arith.constant 2 : index
      %c = arith.constant 5 : index
      %v = arith.constant 1 : i8
      %0 = arith.addi %a, %b : index
      %1 = arith.addi %0, %two : index
      %2 = arith.addi %1, %c : index
      memref.store %v, %x[%2] : memref<16xi8>
      return
    }
  }
}

// -----

// Other constants, operations, operands, successors, attributes or memory of their own are another structure.
module {
  // CHECK-LABEL: module @sse2
  // CHECK: kernel.step @base [] range 1
  // CHECK: kernel.step @value [] range 1
  // CHECK: kernel.step @operand [] range 1
  // CHECK: kernel.step @operation [] range 1
  // CHECK: kernel.step @attribute [] range 1
  // CHECK: kernel.step @minsize [] range 1
  // CHECK: kernel.step @features [] range 1
  // CHECK: kernel.step @forward [] range 1
  // CHECK: kernel.step @backward [] range 1
  // CHECK: kernel.step @few [] range 1
  // CHECK: kernel.step @many [] range 1
  // CHECK-COUNT-11: func.func private
  module @sse2 {
    kernel.program @main level "sse2" arena 0 state 0 prepared 0 inputs [] outputs [] {
      kernel.step @base [] range 1
      kernel.step @value [] range 1
      kernel.step @operand [] range 1
      kernel.step @operation [] range 1
      kernel.step @attribute [] range 1
      kernel.step @minsize [] range 1
      kernel.step @features [] range 1
      kernel.step @forward [] range 1
      kernel.step @backward [] range 1
      kernel.step @few [] range 1
      kernel.step @many [] range 1
    }
    func.func private @base(%begin: index, %end: index) attributes {kernel.mergeable} {
      %v = arith.constant 1 : i32
      %0 = arith.addi %begin, %begin : index
      return
    }
    func.func private @value(%begin: index, %end: index) attributes {kernel.mergeable} {
      %v = arith.constant 2 : i32
      %0 = arith.addi %begin, %begin : index
      return
    }
    func.func private @operand(%begin: index, %end: index) attributes {kernel.mergeable} {
      %v = arith.constant 1 : i32
      %0 = arith.addi %begin, %end : index
      return
    }
    func.func private @operation(%begin: index, %end: index) attributes {kernel.mergeable} {
      %v = arith.constant 1 : i32
      %0 = arith.subi %begin, %begin : index
      return
    }
    func.func private @attribute(%begin: index, %end: index) attributes {kernel.mergeable} {
      %v = arith.constant 1 : i32
      %0 = arith.addi %begin, %begin overflow<nsw> : index
      return
    }
    func.func private @minsize(%begin: index, %end: index) attributes {kernel.mergeable, passthrough = ["minsize"]} {
      %v = arith.constant 1 : i32
      %0 = arith.addi %begin, %begin : index
      return
    }
    func.func private @features(%begin: index, %end: index) attributes {kernel.mergeable, target_features = "+avx2"} {
      %v = arith.constant 1 : i32
      %0 = arith.addi %begin, %begin : index
      return
    }
    func.func private @forward(%begin: index, %end: index) attributes {kernel.mergeable} {
      cf.br ^bb1
    ^bb1:
      cf.br ^bb2
    ^bb2:
      return
    }
    func.func private @few(%begin: index, %end: index) attributes {kernel.mergeable} {
      %memory = memref.alloca() : memref<64xi8>
      return
    }
    func.func private @many(%begin: index, %end: index) attributes {kernel.mergeable} {
      %memory = memref.alloca() : memref<128xi8>
      return
    }
    func.func private @backward(%begin: index, %end: index) attributes {kernel.mergeable} {
      cf.br ^bb1
    ^bb1:
      cf.br ^bb1
    ^bb2:
      return
    }
  }
}

// -----

// A bound that a step cannot hold stays a constant.
module {
  // CHECK-LABEL: module @neon
  // CHECK: kernel.step @small [] bounds [2147483647] range 1
  // CHECK: kernel.step @small [] bounds [-2147483648] range 1
  // CHECK: kernel.step @large1 [] range 1
  // CHECK: kernel.step @large2 [] range 1
  module @neon {
    kernel.program @main level "neon" arena 0 state 0 prepared 0 inputs [] outputs [] {
      kernel.step @small [] range 1
      kernel.step @small2 [] range 1
      kernel.step @large1 [] range 1
      kernel.step @large2 [] range 1
    }
    func.func private @small(%begin: index, %end: index) attributes {kernel.mergeable} {
      %a = arith.constant 2147483647 : index
      %0 = arith.addi %begin, %a : index
      return
    }
    func.func private @small2(%begin: index, %end: index) attributes {kernel.mergeable} {
      %a = arith.constant -2147483648 : index
      %0 = arith.addi %begin, %a : index
      return
    }
    func.func private @large1(%begin: index, %end: index) attributes {kernel.mergeable} {
      %a = arith.constant 2147483648 : index
      %0 = arith.addi %begin, %a : index
      return
    }
    func.func private @large2(%begin: index, %end: index) attributes {kernel.mergeable} {
      %a = arith.constant 4294967296 : index
      %0 = arith.addi %begin, %a : index
      return
    }
  }
}
