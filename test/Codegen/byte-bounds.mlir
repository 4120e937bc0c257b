// RUN: octet-opt %s --octet-assign-layout --octet-emit-program=levels=avx512vnni,reference --split-input-file | FileCheck %s

!x = tensor<1x16x4x4x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<64x16x1x1x!quant.uniform<i8:f32, 0.5>>
!y = tensor<1x64x4x4x!quant.uniform<u8<128:255>:f32, 0.5:128>>

// Bounds from the zero point on: the pack clamps from below, and the zero point is added to 64 bytes at once. Single elements are
// clamped as they are.
// CHECK-LABEL: module @avx512vnni
// CHECK: func.func private @dense
// CHECK: [[ROUNDED:%.+]] = kernel.round
// CHECK-NOT: arith.add{{.*}}[[ROUNDED]]
// CHECK: [[BYTES:%.+]] = kernel.pack [[ROUNDED]]{{.*}} : vector<64xi8>
// CHECK: [[MOST:%.+]] = arith.subi
// CHECK: [[BELOW:%.+]] = arith.minui [[BYTES]],
// CHECK: arith.addi [[BELOW]], {{.*}} : vector<64xi8>
// CHECK-NOT: arith.maxsi {{.*}} : vector
// CHECK-LABEL: module @reference
// CHECK: func.func private @conv_loops
// CHECK: [[ONE:%.+]] = kernel.round
// CHECK: [[SUM:%.+]] = arith.addi [[ONE]],
// CHECK: arith.maxsi [[SUM]],
// CHECK: arith.minsi
func.func @main(%x: !x {nn.name = "x"}) -> (!y {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<64x16x1x1xi8> -> !w
  %y = nn.conv %x, %w : (!x, !w) -> !y
  return %y : !y
}

// -----

!x = tensor<1x16x4x4x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<64x16x1x1x!quant.uniform<i8:f32, 0.5>>
!y = tensor<1x64x4x4x!quant.uniform<u8<100:200>:f32, 0.5:128>>

// Others: the zero point is added in lanes, the bytes are clamped.
// CHECK-LABEL: module @avx512vnni
// CHECK: func.func private @dense
// CHECK: [[ROUNDED:%.+]] = kernel.round
// CHECK: [[STORED:%.+]] = arith.addi [[ROUNDED]],
// CHECK: [[BYTES:%.+]] = kernel.pack [[STORED]]{{.*}} : vector<64xi8>
// CHECK: [[ABOVE:%.+]] = arith.maxui [[BYTES]],
// CHECK: arith.minui [[ABOVE]],
func.func @main(%x: !x {nn.name = "x"}) -> (!y {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<64x16x1x1xi8> -> !w
  %y = nn.conv %x, %w : (!x, !w) -> !y
  return %y : !y
}
