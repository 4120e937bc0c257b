// RUN: octet-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(octet-assign-layout),octet-emit-program{levels=avx512vnni,avx2,sse2,reference},builtin.module(octet-merge-kernels))' | FileCheck %s
// RUN: octet-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(octet-assign-layout),octet-emit-program{levels=dotprod,neon,reference},builtin.module(octet-merge-kernels))' | FileCheck %s --check-prefix=ARM

!i = tensor<1x16x32x32x!quant.uniform<u8:f32, 0.5:128>>
!x = tensor<1x16x16x16x!quant.uniform<u8:f32, 0.5:128>>
!y = tensor<1x16x8x8x!quant.uniform<u8:f32, 0.5:128>>
!z = tensor<1x2048x8x8x!quant.uniform<u8:f32, 0.5:128>>
!d = tensor<16x1x3x3x!quant.uniform<i8:f32, 0.5>>
!w = tensor<16x16x3x3x!quant.uniform<i8:f32, 0.5>>
!v = tensor<2048x16x1x1x!quant.uniform<i8:f32, 0.5>>
!b = tensor<16x!quant.uniform<i32:f32, 0.25>>
!c = tensor<2048x!quant.uniform<i32:f32, 0.25>>

// Dense and depthwise kernels of different shapes. Where registers are many, only the depthwise ones become one.
// CHECK: module @avx512vnni
// CHECK: func.func private @dense
// CHECK: func.func private @depthwise
// CHECK: func.func private @dense
// CHECK: func.func private @dense
// CHECK-NOT: func.func private @{{depthwise|dense}}
// CHECK: module @avx2
// CHECK: func.func private @dense
// CHECK: func.func private @depthwise
// CHECK: func.func private @dense
// CHECK-NOT: func.func private @{{depthwise|dense}}
// CHECK: module @sse2
// CHECK: func.func private @dense
// CHECK: func.func private @depthwise
// CHECK: func.func private @dense
// CHECK-NOT: func.func private @{{depthwise|dense}}
// ARM: module @dotprod
// ARM: func.func private @dense
// ARM: func.func private @depthwise
// ARM: func.func private @dense
// ARM: func.func private @dense
// ARM-NOT: func.func private @{{depthwise|dense}}
// ARM: module @neon
// ARM: func.func private @dense
// ARM: func.func private @depthwise
// ARM: func.func private @dense
// ARM-NOT: func.func private @{{depthwise|dense}}
// ARM: module @reference
// CHECK: module @reference
// CHECK-NOT: kernel.mergeable
func.func @main(%x: !i {nn.name = "x"}) -> (!z {nn.name = "y"}) {
  %d = nn.constant dense<1> : tensor<16x1x3x3xi8> -> !d
  %w = nn.constant dense<1> : tensor<16x16x3x3xi8> -> !w
  %v = nn.constant dense<1> : tensor<2048x16x1x1xi8> -> !v
  %b = nn.constant dense<7> : tensor<16xi32> -> !b
  %c = nn.constant dense<7> : tensor<2048xi32> -> !c
  %0 = nn.conv %x, %w, %b strides [2, 2] pads [1, 1, 0, 0] {octet.origin = #octet.origin<"dense1">} : (!i, !w, !b) -> !x
  %1 = nn.conv %0, %d, %b pads [1, 1, 1, 1] groups 16 {octet.origin = #octet.origin<"depthwise1">} : (!x, !d, !b) -> !x
  %2 = nn.conv %1, %w, %b strides [2, 2] pads [1, 1, 0, 0] {octet.origin = #octet.origin<"dense2">} : (!x, !w, !b) -> !y
  %3 = nn.conv %2, %d, %b pads [1, 1, 1, 1] groups 16 {octet.origin = #octet.origin<"depthwise2">} : (!y, !d, !b) -> !y
  %4 = nn.conv %3, %v, %c {octet.origin = #octet.origin<"dense3">} : (!y, !v, !c) -> !z
  return %4 : !z
}

// -----

!x = tensor<1x16x16x16x!quant.uniform<u8:f32, 0.5:128>>
!y = tensor<1x16x8x8x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<16x16x3x3x!quant.uniform<i8:f32, 0.5>>
!b = tensor<16x!quant.uniform<i32:f32, 0.25>>

// Two kernels would be large beside these weights: they become one at every level.
// CHECK: module @avx512vnni
// CHECK: func.func private @dense
// CHECK-NOT: func.func private @dense
// CHECK: module @avx2
func.func @main(%x: !x {nn.name = "x"}) -> (!y {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<16x16x3x3xi8> -> !w
  %b = nn.constant dense<7> : tensor<16xi32> -> !b
  %0 = nn.conv %x, %w, %b pads [1, 1, 1, 1] : (!x, !w, !b) -> !x
  %1 = nn.conv %0, %w, %b strides [2, 2] pads [1, 1, 0, 0] : (!x, !w, !b) -> !y
  return %1 : !y
}
