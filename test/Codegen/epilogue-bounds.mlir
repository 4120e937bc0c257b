// RUN: octet-opt %s --octet-emit-program=levels=avx2 --split-input-file | FileCheck %s

!x = tensor<1x8x!quant.uniform<u8:f32, 0.5>>
!w = tensor<16x8x!quant.uniform<i8:f32, 0.25>>
!y = tensor<1x16x!quant.uniform<u8:f32, 0.5:3>>

// Numbers of an accumulator and a constant are numbers: quantizing does not ask.
// CHECK-LABEL: module @avx2
// CHECK: arith.addf
// CHECK-NOT: arith.cmpf ord
func.func @main(%x: !x) -> !y {
  %w = nn.constant dense<1> : tensor<16x8xi8> -> !w
  %k = nn.constant dense<1.0> : tensor<16xf32>
  %y = octet.group(%0 = %x, %1 = %w, %2 = %k) : (!x, !w, tensor<16xf32>) -> !y {
    %p = nn.linear %0, %1 : (!x, !w) -> tensor<1x16xf32>
    %s = nn.add %p, %2 : (tensor<1x16xf32>, tensor<16xf32>) -> tensor<1x16xf32>
    octet.yield %s : tensor<1x16xf32>
  }
  return %y : !y
}

// -----

!x = tensor<1x8x!quant.uniform<u8:f32, 0.5>>
!w = tensor<16x8x!quant.uniform<i8:f32, 0.25>>
!y = tensor<1x16x!quant.uniform<u8:f32, 0.5:3>>

// A constant that is NaN has no bound.
// CHECK-LABEL: module @avx2
// CHECK: arith.addf
// CHECK: arith.cmpf ord
func.func @main(%x: !x) -> !y {
  %w = nn.constant dense<1> : tensor<16x8xi8> -> !w
  %k = nn.constant dense<0x7FC00000> : tensor<16xf32>
  %y = octet.group(%0 = %x, %1 = %w, %2 = %k) : (!x, !w, tensor<16xf32>) -> !y {
    %p = nn.linear %0, %1 : (!x, !w) -> tensor<1x16xf32>
    %s = nn.add %p, %2 : (tensor<1x16xf32>, tensor<16xf32>) -> tensor<1x16xf32>
    octet.yield %s : tensor<1x16xf32>
  }
  return %y : !y
}

// -----

!x = tensor<1x8x!quant.uniform<u8:f32, 0.5>>
!w = tensor<16x8x!quant.uniform<i8:f32, 0.25>>
!b = tensor<16x!quant.uniform<i32:f32, 0.125>>
!y = tensor<1x16x!quant.uniform<u8:f32, 0.5:3>>

// Neither has an accumulator whose bias is not known.
// CHECK-LABEL: module @avx2
// CHECK: func.func private @linear_loops_0
// CHECK: arith.cmpf ord
func.func @main(%x: !x, %b: !b) -> !y {
  %w = nn.constant dense<1> : tensor<16x8xi8> -> !w
  %y = nn.linear %x, %w, %b : (!x, !w, !b) -> !y
  return %y : !y
}
