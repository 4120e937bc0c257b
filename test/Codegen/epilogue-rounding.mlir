// RUN: octet-opt %s --octet-assign-layout --octet-emit-program=levels=avx2,sse2 --split-input-file | FileCheck %s

!x = tensor<1x8x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<16x8x!quant.uniform<i8:f32, 0.25>>
!p = tensor<1x16x!quant.uniform<u8:f32, 0.5:100>>
!r = tensor<1x16x!quant.uniform<u8:f32, 0.125:3>>
!y = tensor<1x16x!quant.uniform<u8:f32, 0.75:120>>
!f = tensor<1x16xf32>

// What is quantized and dequantized in front of a sum stays in registers: it is clamped and rounded, without its zero point.
// CHECK-LABEL: module @avx2
// CHECK: [[PRODUCT:%[0-9]+]] = arith.mulf
// CHECK: arith.cmpf olt, {{.*}}[[PRODUCT]]
// CHECK: [[BELOW:%[0-9]+]] = arith.select
// CHECK: arith.cmpf olt
// CHECK: [[CLAMPED:%[0-9]+]] = arith.select
// CHECK: [[ROUNDED:%[0-9]+]] = math.roundeven [[CLAMPED]]
// CHECK: math.fma [[ROUNDED]],
// CHECK: arith.addf
// CHECK-LABEL: module @sse2
// CHECK-NOT: math.roundeven
// CHECK: arith.addf
func.func @main(%x: !x, %r: !r) -> !y {
  %w = nn.constant dense<30> : tensor<16x8xi8> -> !w
  %y = octet.group(%0 = %x, %1 = %w, %2 = %r) : (!x, !w, !r) -> !y {
    %p = nn.linear %0, %1 : (!x, !w) -> !f
    %q = octet.quantize %p : (!f) -> !p
    %3 = octet.dequantize %q : (!p) -> !f
    %4 = octet.dequantize %2 : (!r) -> !f
    %s = nn.add %3, %4 : (!f, !f) -> !f
    octet.yield %s : !f
  }
  return %y : !y
}

// -----

!x = tensor<1x8x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<16x8x!quant.uniform<i8:f32, 0.25>>
!p = tensor<1x16x!quant.uniform<u8:f32, 0.5:128>>
!r = tensor<1x16x!quant.uniform<u8:f32, 0.125:3>>
!y = tensor<1x16x!quant.uniform<u8:f32, 0.75>>
!f = tensor<1x16xf32>

// From its lower bound on, -64, no number of the other operand, at most 31.5, brings the sum above zero, where the result begins:
// that clamp changes nothing. The other one does.
// CHECK-LABEL: module @avx2
// CHECK: [[PRODUCT:%[0-9]+]] = arith.mulf
// CHECK-NOT: arith.cmpf
// CHECK: arith.cmpf olt, [[PRODUCT]],
// CHECK: [[CLAMPED:%[0-9]+]] = arith.select {{%[0-9]+}}, [[PRODUCT]],
// CHECK-NOT: arith.cmpf
// CHECK: math.roundeven [[CLAMPED]]
func.func @main(%x: !x, %r: !r) -> !y {
  %w = nn.constant dense<30> : tensor<16x8xi8> -> !w
  %y = octet.group(%0 = %x, %1 = %w, %2 = %r) : (!x, !w, !r) -> !y {
    %p = nn.linear %0, %1 : (!x, !w) -> !f
    %q = octet.quantize %p : (!f) -> !p
    %3 = octet.dequantize %q : (!p) -> !f
    %4 = octet.dequantize %2 : (!r) -> !f
    %s = nn.add %3, %4 : (!f, !f) -> !f
    octet.yield %s : !f
  }
  return %y : !y
}

// -----

!x = tensor<1x8x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<16x8x!quant.uniform<i8:f32, 0.25>>
!p = tensor<1x16x!quant.uniform<u8:f32, 2.0:128>>
!r = tensor<1x16x!quant.uniform<u8:f32, 0.125:3>>
!y = tensor<1x16x!quant.uniform<u8:f32, 0.75:120>>
!f = tensor<1x16xf32>

// 8 * 128 * 1 / 8 / 2: the product does not get to its bounds.
// CHECK-LABEL: module @avx2
// CHECK: [[PRODUCT:%[0-9]+]] = arith.mulf
// CHECK-NOT: arith.cmpf
// CHECK: math.roundeven [[PRODUCT]]
func.func @main(%x: !x, %r: !r) -> !y {
  %w = nn.constant dense<1> : tensor<16x8xi8> -> !w
  %y = octet.group(%0 = %x, %1 = %w, %2 = %r) : (!x, !w, !r) -> !y {
    %p = nn.linear %0, %1 : (!x, !w) -> !f
    %q = octet.quantize %p : (!f) -> !p
    %3 = octet.dequantize %q : (!p) -> !f
    %4 = octet.dequantize %2 : (!r) -> !f
    %s = nn.add %3, %4 : (!f, !f) -> !f
    octet.yield %s : !f
  }
  return %y : !y
}
