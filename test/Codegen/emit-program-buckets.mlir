// RUN: octet-opt %s --octet-assign-layout --octet-emit-program=levels=avx2,reference | FileCheck %s
// RUN: octet-opt %s --octet-codegen=levels=avx2 | FileCheck %s --check-prefix=LLVM

!w = tensor<16x16x3x3x!quant.uniform<i8:f32, 0.5>>
!b = tensor<16x!quant.uniform<i32:f32, 0.25>>
!large = tensor<1x16x16x16x!quant.uniform<u8:f32, 0.5:128>>
!small = tensor<1x16x8x8x!quant.uniform<u8:f32, 0.5:128>>

// Each level has a program of both functions, `main` first. They read the same weights and the same prepared memory, which the
// first one's prologue writes.
// CHECK: module @avx2
// CHECK: kernel.program @main level "avx2" arena {{[0-9]+}} state 0 prepared [[PREPARED:[0-9]+]] inputs [#kernel.tensor<"x", tensor<1x16x16x16x
// CHECK-SAME: weights [[WEIGHTS:dense_resource<[a-z0-9_]+>]] {{.*}}prologue {
// CHECK: kernel.step @dense{{[_a-z0-9]*}} [#kernel.arg<arena 0>, #kernel.arg<prepared [[FILTER:[0-9]+]]>, {{.*}}] range 8
// CHECK: kernel.program @bucket1 level "avx2" arena {{[0-9]+}} state 0 prepared [[PREPARED]] inputs [#kernel.tensor<"x", tensor<1x16x8x8x
// CHECK-SAME: weights [[WEIGHTS]]
// CHECK-NOT: prologue {
// CHECK: kernel.step @dense{{[_a-z0-9]*}} [#kernel.arg<arena 0>, #kernel.arg<prepared [[FILTER]]>, {{.*}}] range 4
// CHECK: module @reference
// CHECK: kernel.program @main level "reference"
// CHECK: kernel.program @bucket1 level "reference"

// The kernel of both is one.
// LLVM: kernel.program @main
// LLVM: kernel.step @[[KERNEL:dense[_a-z0-9]+]] [{{.*}}] bounds {{.*}} range 8
// LLVM: llvm.func {{.*}}@[[KERNEL]](
// LLVM-NOT: llvm.func {{.*}}@dense
// LLVM: kernel.program @bucket1
// LLVM: kernel.step @[[KERNEL]] [{{.*}}] bounds {{.*}} range 4
// LLVM-NOT: llvm.func {{.*}}@dense
func.func @bucket1(%x: !small {nn.name = "x"}) -> (!small {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<16x16x3x3xi8> -> !w
  %b = nn.constant dense<7> : tensor<16xi32> -> !b
  %0 = nn.conv %x, %w, %b pads [1, 1, 1, 1] {octet.origin = #octet.origin<"conv">} : (!small, !w, !b) -> !small
  return %0 : !small
}
func.func @main(%x: !large {nn.name = "x"}) -> (!large {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<16x16x3x3xi8> -> !w
  %b = nn.constant dense<7> : tensor<16xi32> -> !b
  %0 = nn.conv %x, %w, %b pads [1, 1, 1, 1] {octet.origin = #octet.origin<"conv">} : (!large, !w, !b) -> !large
  return %0 : !large
}
