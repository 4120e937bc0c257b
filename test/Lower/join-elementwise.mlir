// RUN: octet-opt %s --octet-join-elementwise | FileCheck %s

!x = tensor<1x16x4x4x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<16x16x1x1x!quant.uniform<i8:f32, 0.25>>
!p = tensor<1x16x4x4x!quant.uniform<u8:f32, 0.75:100>>
!r = tensor<1x16x4x4x!quant.uniform<u8:f32, 0.125>>
!y = tensor<1x16x4x4x!quant.uniform<u8<10:255>:f32, 1.5:10>>
!f = tensor<1x16x4x4xf32>

// CHECK-LABEL: func @sum
// CHECK-SAME: ([[X:%.+]]: tensor{{.*}}, [[R:%.+]]: tensor
// CHECK: [[W:%.+]] = nn.constant
// CHECK-NEXT: octet.group([[A:%.+]] = [[X]], [[B:%.+]] = [[W]], [[C:%.+]] = [[R]])
// CHECK-SAME: octet.origin = #octet.origin<"product">
// CHECK-NEXT: [[P:%.+]] = nn.conv [[A]], [[B]]
// CHECK-SAME: octet.decision
// CHECK-SAME: -> tensor<1x16x4x4xf32>
// CHECK-NEXT: [[Q:%.+]] = octet.quantize [[P]] {{.*}} -> tensor<1x16x4x4x!quant.uniform<u8:f32, 7.500000e-01:100>>
// CHECK-NEXT: [[S:%.+]] = octet.dequantize [[C]]
// CHECK-NEXT: [[T:%.+]] = octet.dequantize [[Q]]
// CHECK-NEXT: [[U:%.+]] = nn.add [[S]], [[T]]
// CHECK-NEXT: octet.yield [[U]]
// CHECK-NOT: octet.group
func.func @sum(%x: !x, %r: !r) -> !y {
  %w = nn.constant dense<1> : tensor<16x16x1x1xi8> -> !w
  %p = nn.conv %x, %w {octet.decision = #octet.decision<number = 2, verdict = int8>, octet.origin = #octet.origin<"product">} : (!x, !w) -> !p
  %y = octet.group(%0 = %r, %1 = %p) attributes {octet.origin = #octet.origin<"sum">} : (!r, !p) -> !y {
    %2 = octet.dequantize %0 : (!r) -> !f
    %3 = octet.dequantize %1 : (!p) -> !f
    %4 = nn.add %2, %3 : (!f, !f) -> !f
    octet.yield %4 : !f
  }
  return %y : !y
}

// Of two products the last one takes the sum.
// CHECK-LABEL: func @two_products
// CHECK: [[FIRST:%.+]] = nn.conv {{.*}} -> tensor<1x16x4x4x!quant.uniform<u8:f32, 1.250000e-01>>
// CHECK-NOT: nn.conv
// CHECK: octet.group({{.*}} = [[FIRST]])
// CHECK: nn.conv {{.*}} -> tensor<1x16x4x4xf32>
func.func @two_products(%x: !x) -> !y {
  %w = nn.constant dense<1> : tensor<16x16x1x1xi8> -> !w
  %r = nn.conv %x, %w : (!x, !w) -> !r
  %p = nn.conv %x, %w : (!x, !w) -> !p
  %y = octet.group(%0 = %p, %1 = %r) : (!p, !r) -> !y {
    %2 = octet.dequantize %0 : (!p) -> !f
    %3 = octet.dequantize %1 : (!r) -> !f
    %4 = nn.add %2, %3 : (!f, !f) -> !f
    octet.yield %4 : !f
  }
  return %y : !y
}

// CHECK-LABEL: func @second_reader
// CHECK: nn.conv {{.*}} -> tensor<1x16x4x4x!quant.uniform<u8:f32, 7.500000e-01:100>>
// CHECK: octet.group
// CHECK-NOT: nn.conv
func.func @second_reader(%x: !x, %r: !r) -> (!y, !p) {
  %w = nn.constant dense<1> : tensor<16x16x1x1xi8> -> !w
  %p = nn.conv %x, %w : (!x, !w) -> !p
  %y = octet.group(%0 = %r, %1 = %p) : (!r, !p) -> !y {
    %2 = octet.dequantize %0 : (!r) -> !f
    %3 = octet.dequantize %1 : (!p) -> !f
    %4 = nn.add %2, %3 : (!f, !f) -> !f
    octet.yield %4 : !f
  }
  return %y, %p : !y, !p
}

!gate = tensor<1x16x1x1x!quant.uniform<u8:f32, 0.125>>

// An epilogue reads what has the shape of its result.
// CHECK-LABEL: func @another_shape
// CHECK: nn.conv {{.*}} -> tensor<1x16x4x4x!quant.uniform<u8:f32, 7.500000e-01:100>>
// CHECK: octet.group
// CHECK-NOT: nn.conv
func.func @another_shape(%x: !x, %r: !gate) -> !y {
  %w = nn.constant dense<1> : tensor<16x16x1x1xi8> -> !w
  %p = nn.conv %x, %w : (!x, !w) -> !p
  %y = octet.group(%0 = %r, %1 = %p) : (!gate, !p) -> !y {
    %2 = octet.dequantize %0 : (!gate) -> tensor<1x16x1x1xf32>
    %3 = octet.dequantize %1 : (!p) -> !f
    %4 = nn.mul %2, %3 : (tensor<1x16x1x1xf32>, !f) -> !f
    octet.yield %4 : !f
  }
  return %y : !y
}

!wide = tensor<1x16x4x4x!quant.uniform<i16:f32, 1.5>>

// Products give bytes.
// CHECK-LABEL: func @other_storage
// CHECK: nn.conv {{.*}} -> tensor<1x16x4x4x!quant.uniform<u8:f32, 7.500000e-01:100>>
// CHECK: octet.group
// CHECK-NOT: nn.conv
func.func @other_storage(%x: !x, %r: !r) -> !wide {
  %w = nn.constant dense<1> : tensor<16x16x1x1xi8> -> !w
  %p = nn.conv %x, %w : (!x, !w) -> !p
  %y = octet.group(%0 = %r, %1 = %p) : (!r, !p) -> !wide {
    %2 = octet.dequantize %0 : (!r) -> !f
    %3 = octet.dequantize %1 : (!p) -> !f
    %4 = nn.add %2, %3 : (!f, !f) -> !f
    octet.yield %4 : !f
  }
  return %y : !wide
}

// A scaled image beside the image, without a product: one group, in which the scaled image is rounded.
// CHECK-LABEL: func @scaled_image
// CHECK-SAME: ([[X:%.+]]: tensor{{.*}}, [[G:%.+]]: tensor
// CHECK-NEXT: octet.group([[A:%.+]] = [[X]], [[B:%.+]] = [[G]])
// CHECK-SAME: octet.origin = #octet.origin<"scaled">
// CHECK: [[P:%.+]] = nn.mul
// CHECK-NEXT: [[Q:%.+]] = octet.quantize [[P]] {{.*}} -> tensor<1x16x4x4x!quant.uniform<u8:f32, 7.500000e-01:100>>
// CHECK: [[D:%.+]] = octet.dequantize [[Q]]
// CHECK-NEXT: [[S:%.+]] = nn.add {{.*}}, [[D]]
// CHECK-NEXT: octet.yield [[S]]
// CHECK-NOT: octet.group
!g = tensor<1x16x1x1x!quant.uniform<u8:f32, 0.004>>
!gf = tensor<1x16x1x1xf32>
func.func @scaled_image(%x: !x, %g: !g) -> !y {
  %p = octet.group(%0 = %x, %1 = %g) attributes {octet.origin = #octet.origin<"scaled">} : (!x, !g) -> !p {
    %2 = octet.dequantize %0 : (!x) -> !f
    %3 = octet.dequantize %1 : (!g) -> !gf
    %4 = nn.mul %2, %3 : (!f, !gf) -> !f
    octet.yield %4 : !f
  }
  %y = octet.group(%0 = %x, %1 = %p) attributes {octet.origin = #octet.origin<"sum">} : (!x, !p) -> !y {
    %2 = octet.dequantize %0 : (!x) -> !f
    %3 = octet.dequantize %1 : (!p) -> !f
    %4 = nn.add %2, %3 : (!f, !f) -> !f
    octet.yield %4 : !f
  }
  return %y : !y
}

// One byte's function is a table, and what is read twice stays.
// CHECK-LABEL: func @apart
// CHECK-COUNT-4: octet.group
func.func @apart(%x: !x, %r: !r) -> (!y, !y, !p) {
  %s = octet.group(%0 = %x) : (!x) -> !p {
    %2 = octet.dequantize %0 : (!x) -> !f
    %4 = nn.silu %2 : (!f) -> !f
    octet.yield %4 : !f
  }
  %y = octet.group(%0 = %r, %1 = %s) : (!r, !p) -> !y {
    %2 = octet.dequantize %0 : (!r) -> !f
    %3 = octet.dequantize %1 : (!p) -> !f
    %4 = nn.add %2, %3 : (!f, !f) -> !f
    octet.yield %4 : !f
  }
  %p = octet.group(%0 = %x, %1 = %r) : (!x, !r) -> !p {
    %2 = octet.dequantize %0 : (!x) -> !f
    %3 = octet.dequantize %1 : (!r) -> !f
    %4 = nn.mul %2, %3 : (!f, !f) -> !f
    octet.yield %4 : !f
  }
  %z = octet.group(%0 = %x, %1 = %p) : (!x, !p) -> !y {
    %2 = octet.dequantize %0 : (!x) -> !f
    %3 = octet.dequantize %1 : (!p) -> !f
    %4 = nn.add %2, %3 : (!f, !f) -> !f
    octet.yield %4 : !f
  }
  return %y, %z, %p : !y, !y, !p
}
