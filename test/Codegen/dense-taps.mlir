// RUN: octet-opt %s --split-input-file --octet-assign-layout --octet-emit-program=levels=avx512vnni | FileCheck %s

// Kernel rows and columns that lie beyond the input for all pixels of a tile are left out.
!x = tensor<1x16x16x16xf32>
!w = tensor<16x16x3x3xf32>
// CHECK-LABEL: func.func private @dense_f32
// CHECK: arith.maxsi %{{.*}} : index
// CHECK: arith.divui
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} iter_args
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} iter_args
// CHECK: func.func private @transpose
func.func @main(%x: !x {nn.name = "x"}) -> (!x {nn.name = "y"}) {
  %w = nn.constant dense<1.0> : !w -> !w
  %0 = nn.conv %x, %w pads [12, 12, 12, 12] dilations [12, 12] : (!x, !w) -> !x
  return %0 : !x
}

// -----

// So are those of integers whose border is zero.
!x = tensor<1x16x7x7x!quant.uniform<u8:f32, 0.5>>
!w = tensor<16x16x3x3x!quant.uniform<i8:f32, 0.5>>
// CHECK-LABEL: func.func private @dense_
// CHECK: arith.maxsi %{{.*}} : index
// CHECK: func.func private @transpose
func.func @main(%x: !x {nn.name = "x"}) -> (!x {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<16x16x3x3xi8> -> !w
  %0 = nn.conv %x, %w pads [1, 1, 1, 1] : (!x, !w) -> !x
  return %0 : !x
}

// -----

// The initial sums count on a border of another zero point, and few taps lie beyond a large image.
!x = tensor<1x16x7x7x!quant.uniform<u8:f32, 0.5:128>>
!y = tensor<1x16x64x64x!quant.uniform<u8:f32, 0.5>>
!w = tensor<16x16x3x3x!quant.uniform<i8:f32, 0.5>>
// CHECK-LABEL: func.func private @dense_
// CHECK-NOT: arith.maxsi %{{.*}} : index
// CHECK-LABEL: func.func private @dense_
// CHECK-NOT: arith.maxsi %{{.*}} : index
// CHECK: }
func.func @main(%x: !x {nn.name = "x"}, %y: !y {nn.name = "y"}) -> (!x {nn.name = "z"}, !y {nn.name = "r"}) {
  %w = nn.constant dense<1> : tensor<16x16x3x3xi8> -> !w
  %0 = nn.conv %x, %w pads [1, 1, 1, 1] : (!x, !w) -> !x
  %1 = nn.conv %y, %w pads [1, 1, 1, 1] : (!y, !w) -> !y
  return %0, %1 : !x, !y
}
