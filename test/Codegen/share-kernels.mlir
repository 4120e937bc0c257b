// RUN: octet-opt %s --octet-share-kernels --split-input-file | FileCheck %s

// @fill_0 and @fill_7 are the same for other CPUs: a function of the last level, scheduled for the core of one. @dense_1 multiplies otherwise,
// @exp_2 calls a function, and @unused_3 is called by no step.
// CHECK-LABEL: module @i8mm
module @i8mm {
  // CHECK: kernel.step @[[$FILL:shared_[0-9]+_fill_7]] [#kernel.arg<arena 0>] range 1 of "dotprod"
  // CHECK: kernel.step @dense_1 [#kernel.arg<arena 0>] range 1{{$}}
  // CHECK: kernel.step @exp_2 [#kernel.arg<arena 0>] range 1{{$}}
  kernel.program @main level "i8mm" arena 0 state 0 prepared 0 inputs [] outputs [] {
    kernel.step @fill_0 [#kernel.arg<arena 0>] range 1
    kernel.step @dense_1 [#kernel.arg<arena 0>] range 1
    kernel.step @exp_2 [#kernel.arg<arena 0>] range 1
  }
  // CHECK: llvm.func @[[$FILL]]({{.*}}) attributes {target_features = #llvm.target_features<["+dotprod"]>, tune_cpu = "neoverse-n1"}
  llvm.func @fill_0(%to: !llvm.ptr {llvm.noalias}, %begin: i64, %end: i64) attributes {target_features = #llvm.target_features<["+i8mm"]>} {
    %byte = llvm.mlir.constant(7 : i8) : i8
    llvm.store %byte, %to : i8, !llvm.ptr
    llvm.return
  }
  // CHECK: llvm.func @dense_1
  llvm.func @dense_1(%to: !llvm.ptr {llvm.noalias}, %begin: i64, %end: i64) {
    %byte = llvm.mlir.constant(8 : i8) : i8
    llvm.store %byte, %to : i8, !llvm.ptr
    llvm.return
  }
  llvm.func @helper()
  // CHECK: llvm.func @exp_2
  llvm.func @exp_2(%to: !llvm.ptr {llvm.noalias}, %begin: i64, %end: i64) {
    llvm.call @helper() : () -> ()
    llvm.return
  }
  // CHECK: llvm.func @unused_3
  llvm.func @unused_3() {
    llvm.return
  }
}
// CHECK-LABEL: module @dotprod
module @dotprod {
  // CHECK: kernel.step @dense_1 [#kernel.arg<arena 0>] range 1{{$}}
  // CHECK: kernel.step @exp_2 [#kernel.arg<arena 0>] range 1{{$}}
  // CHECK: kernel.step @[[$FILL]] [#kernel.arg<arena 0>] range 2 of "dotprod"
  kernel.program @main level "dotprod" arena 0 state 0 prepared 0 inputs [] outputs [] {
    kernel.step @dense_1 [#kernel.arg<arena 0>] range 1
    kernel.step @exp_2 [#kernel.arg<arena 0>] range 1
    kernel.step @fill_7 [#kernel.arg<arena 0>] range 2
  }
  llvm.func @dense_1(%to: !llvm.ptr {llvm.noalias}, %begin: i64, %end: i64) {
    %byte = llvm.mlir.constant(9 : i8) : i8
    llvm.store %byte, %to : i8, !llvm.ptr
    llvm.return
  }
  llvm.func @helper()
  llvm.func @exp_2(%to: !llvm.ptr {llvm.noalias}, %begin: i64, %end: i64) {
    llvm.call @helper() : () -> ()
    llvm.return
  }
  llvm.func @unused_3() {
    llvm.return
  }
  // CHECK: llvm.func @[[$FILL]]({{.*}}) attributes {kernel.mergeable, target_features = #llvm.target_features<["+dotprod"]>, tune_cpu = "neoverse-n1"}
  llvm.func @fill_7(%to: !llvm.ptr {llvm.noalias}, %begin: i64, %end: i64) attributes {kernel.mergeable, target_features = #llvm.target_features<["+dotprod"]>, tune_cpu = "neoverse-n1"} {
    %byte = llvm.mlir.constant(7 : i8) : i8
    llvm.store %byte, %to : i8, !llvm.ptr
    llvm.return
  }
}

// -----

// Functions of the same name are other functions at other levels: each shared one has a name of its own.
// CHECK-LABEL: module @i8mm
// CHECK: kernel.step @[[$WITH_NEON:shared_[0-9]+_fill_1]] [#kernel.arg<arena 0>] range 1 of "neon"
// CHECK: kernel.step @[[$WITH_DOTPROD:shared_[0-9]+_fill_1]] [#kernel.arg<arena 0>] range 2 of "dotprod"
// CHECK-LABEL: module @dotprod
// CHECK: kernel.step @[[$WITH_DOTPROD]] [#kernel.arg<arena 0>] range 2 of "dotprod"
// CHECK-LABEL: module @neon
// CHECK: kernel.step @[[$WITH_NEON]] [#kernel.arg<arena 0>] range 1 of "neon"
module @i8mm {
  kernel.program @main level "i8mm" arena 0 state 0 prepared 0 inputs [] outputs [] {
    kernel.step @fill_1 [#kernel.arg<arena 0>] range 1
    kernel.step @fill_2 [#kernel.arg<arena 0>] range 2
  }
  llvm.func @fill_1(%to: !llvm.ptr, %begin: i64, %end: i64) {
    %byte = llvm.mlir.constant(1 : i8) : i8
    llvm.store %byte, %to : i8, !llvm.ptr
    llvm.return
  }
  llvm.func @fill_2(%to: !llvm.ptr, %begin: i64, %end: i64) {
    llvm.return
  }
}
module @dotprod {
  kernel.program @main level "dotprod" arena 0 state 0 prepared 0 inputs [] outputs [] {
    kernel.step @fill_1 [#kernel.arg<arena 0>] range 2
  }
  llvm.func @fill_1(%to: !llvm.ptr, %begin: i64, %end: i64) {
    llvm.return
  }
}
module @neon {
  kernel.program @main level "neon" arena 0 state 0 prepared 0 inputs [] outputs [] {
    kernel.step @fill_1 [#kernel.arg<arena 0>] range 1
  }
  llvm.func @fill_1(%to: !llvm.ptr, %begin: i64, %end: i64) {
    %byte = llvm.mlir.constant(1 : i8) : i8
    llvm.store %byte, %to : i8, !llvm.ptr
    llvm.return
  }
}

// -----

// Levels of x86 do not share: LLVM makes other instructions of the same code.
// CHECK-LABEL: module @avx2
// CHECK: kernel.step @fill_0 [#kernel.arg<arena 0>] range 1{{$}}
// CHECK: llvm.func @fill_0
// CHECK-LABEL: module @sse2
// CHECK: kernel.step @fill_0 [#kernel.arg<arena 0>] range 1{{$}}
// CHECK: llvm.func @fill_0
module @avx2 {
  kernel.program @main level "avx2" arena 0 state 0 prepared 0 inputs [] outputs [] {
    kernel.step @fill_0 [#kernel.arg<arena 0>] range 1
  }
  llvm.func @fill_0(%to: !llvm.ptr, %begin: i64, %end: i64) attributes {target_features = #llvm.target_features<["+avx2"]>} {
    llvm.return
  }
}
module @sse2 {
  kernel.program @main level "sse2" arena 0 state 0 prepared 0 inputs [] outputs [] {
    kernel.step @fill_0 [#kernel.arg<arena 0>] range 1
  }
  llvm.func @fill_0(%to: !llvm.ptr, %begin: i64, %end: i64) {
    llvm.return
  }
}
