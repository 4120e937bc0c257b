// RUN: octet-opt %s --octet-assign-layout --octet-emit-program=levels=avx2,reference | FileCheck %s
// RUN: octet-opt %s --octet-codegen=levels=sse2 | FileCheck %s --check-prefix=LLVM

!x = tensor<1x16x8x8x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<16x16x3x3x!quant.uniform<i8:f32, 0.5>>
!b = tensor<16x!quant.uniform<i32:f32, 0.25>>

// One module per level, in order. The first two convolutions have the same shape: one function, two steps. The third writes
// without a border. No step writes where it reads, and none passes what its kernel does not use (the scale of the result).
// CHECK: module @avx2
// CHECK: kernel.program @main level "avx2" arena {{[0-9]+}} state 0 prepared {{[0-9]+}} inputs [#kernel.tensor<"x",
// CHECK: kernel.step @[[CONV:dense[_a-z0-9]+]] [#kernel.arg<arena [[A:[0-9]+]]>, {{.*}}#kernel.arg<arena [[B:[0-9]+]]>{{.*}}] range 4
// CHECK: kernel.step @[[CONV]] [#kernel.arg<arena [[B]]>, {{.*}}#kernel.arg<arena [[A]]>{{.*}}] range 4
// CHECK: kernel.step @[[LAST:dense[_a-z0-9]+]] [#kernel.arg<arena [[A]]>,
// CHECK-COUNT-2: func.func private @dense
// CHECK-NOT: func.func private @dense
// CHECK: module @reference
// CHECK: kernel.program @main level "reference"
// CHECK-NOT: kernel.step @dense

// LLVM: module @sse2
// LLVM: kernel.program @main level "sse2"
// LLVM: kernel.step @[[KERNEL:dense[_a-z0-9]+]] [{{(#kernel.arg<[a-z]+ [0-9]+>(, )?){6}\] bounds}} [{{[0-9]+, [0-9]+, [0-9]+}}] range 4
// LLVM: llvm.func {{.*}}@[[KERNEL]]({{(%[^ ]*: !llvm.ptr {llvm.noalias}, ){6}(%[^ ]*: i64(, )?){5}\)}}
// LLVM-NOT: func.func
func.func @main(%x: !x {nn.name = "x"}) -> (!x {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<16x16x3x3xi8> -> !w
  %b = nn.constant dense<7> : tensor<16xi32> -> !b
  %0 = nn.conv %x, %w, %b pads [1, 1, 1, 1] {octet.origin = #octet.origin<"conv1">} : (!x, !w, !b) -> !x
  %1 = nn.conv %0, %w, %b pads [1, 1, 1, 1] {octet.origin = #octet.origin<"conv2">} : (!x, !w, !b) -> !x
  %2 = nn.conv %1, %w, %b pads [1, 1, 1, 1] {octet.origin = #octet.origin<"conv3">} : (!x, !w, !b) -> !x
  return %2 : !x
}
