// RUN: octet-opt %s --split-input-file --octet-lower | FileCheck %s

// [N.coarse] Which silu, gelu and exp are coarse.

!x = !quant.uniform<u8:f32, 0.5>
!w = !quant.uniform<i8:f32, 0.25>
!y = !quant.uniform<u8:f32, 0.03125:2>

// Into a group and out of it.
// CHECK-LABEL: func @of_a_group
// CHECK: nn.silu %{{.*}} {coarse}
func.func @of_a_group(%xq: tensor<1x2x!x>) -> tensor<1x2x!y> {
  %wq = nn.constant dense<1> : tensor<2x2xi8> -> tensor<2x2x!w>
  %x = octet.dequantize %xq : (tensor<1x2x!x>) -> tensor<1x2xf32>
  %w = octet.dequantize %wq : (tensor<2x2x!w>) -> tensor<2x2xf32>
  %y = octet.group(%0 = %x, %1 = %w) : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32> {
    %c = nn.linear %0, %1 : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
    %r = nn.silu %c : (tensor<1x2xf32>) -> tensor<1x2xf32>
    octet.yield %r : tensor<1x2xf32>
  }
  %z = octet.group(%0 = %y, %1 = %x) : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32> {
    %s = nn.sub %1, %0 : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
    %r = nn.relu %s : (tensor<1x2xf32>) -> tensor<1x2xf32>
    octet.yield %r : tensor<1x2xf32>
  }
  %yq = octet.quantize %z : (tensor<1x2xf32>) -> tensor<1x2x!y>
  return %yq : tensor<1x2x!y>
}

// -----

!y = !quant.uniform<u8:f32:1, {0.03125, 0.000691}>

// Scales of channels, of which errors are a step on average (of squares) at most; the product before is none of integers.
// CHECK-LABEL: func @of_floats
// CHECK: nn.gelu %arg0 tanh {coarse}
func.func @of_floats(%x: tensor<1x2xf32>) -> tensor<1x2x!y> {
  %y = nn.gelu %x tanh : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %yq = octet.quantize %y : (tensor<1x2xf32>) -> tensor<1x2x!y>
  return %yq : tensor<1x2x!y>
}

// -----

!y = !quant.uniform<u8:f32:1, {0.03125, 0.00069}>
!z = !quant.uniform<u8:f32, 0.25>
!h = !quant.uniform<u16:f32, 0.25>

// Small steps, two readers, 16 bits, a product behind it, a result that is f32; a table.
// CHECK-LABEL: func @exact
// CHECK-NOT: coarse
// CHECK: return
func.func @exact(%x: tensor<1x2xf32>, %q: tensor<1x2x!z>) -> (tensor<1x2x!y>, tensor<1x2x!z>, tensor<1x2x!h>, tensor<1x2x!z>, tensor<1x2xf32>, tensor<1x2x!z>) {
  %0 = nn.gelu %x none : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %q0 = octet.quantize %0 : (tensor<1x2xf32>) -> tensor<1x2x!y>
  %1 = nn.gelu %x tanh : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %q1 = octet.quantize %1 : (tensor<1x2xf32>) -> tensor<1x2x!z>
  %2 = nn.silu %x : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %q2 = octet.quantize %2 : (tensor<1x2xf32>) -> tensor<1x2x!h>
  %3 = nn.silu %x : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %4 = nn.mul %3, %x : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  %q4 = octet.quantize %4 : (tensor<1x2xf32>) -> tensor<1x2x!z>
  %d = octet.dequantize %q : (tensor<1x2x!z>) -> tensor<1x2xf32>
  %5 = octet.group(%a = %d, %b = %x) : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32> {
    %6 = nn.silu %a : (tensor<1x2xf32>) -> tensor<1x2xf32>
    %7 = nn.add %6, %b : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
    octet.yield %7 : tensor<1x2xf32>
  }
  %q5 = octet.quantize %5 : (tensor<1x2xf32>) -> tensor<1x2x!z>
  return %q0, %q1, %q2, %q4, %1, %q5 : tensor<1x2x!y>, tensor<1x2x!z>, tensor<1x2x!h>, tensor<1x2x!z>, tensor<1x2xf32>, tensor<1x2x!z>
}

// -----

!y = !quant.uniform<u8:f32, 0.03125>

// Products with constants of f32, the largest of which says what becomes of errors: 32 of them are a step.
// CHECK-LABEL: func @factors
// CHECK: nn.silu %{{.*}} {coarse}
// CHECK: nn.gelu %arg0 none :
// CHECK: nn.exp %arg0 :
// CHECK: nn.gelu %arg0 tanh :
func.func @factors(%x: tensor<1x2xf32>) -> (tensor<1x2x!y>, tensor<1x2x!y>, tensor<1x2x!y>, tensor<1x2x!y>) {
  %k = nn.constant dense<[-4.0, 1.0]> : tensor<2xf32> -> tensor<2xf32>
  %8 = nn.constant dense<8.0> : tensor<f32> -> tensor<f32>
  %9 = nn.constant dense<8.0625> : tensor<f32> -> tensor<f32>
  %s = octet.group(%a = %x, %b = %k, %c = %8) : (tensor<1x2xf32>, tensor<2xf32>, tensor<f32>) -> tensor<1x2xf32> {
    %r = nn.silu %a : (tensor<1x2xf32>) -> tensor<1x2xf32>
    %0 = nn.mul %b, %r : (tensor<2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
    %1 = nn.add %0, %a : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
    %2 = nn.mul %1, %c : (tensor<1x2xf32>, tensor<f32>) -> tensor<1x2xf32>
    octet.yield %2 : tensor<1x2xf32>
  }
  %q = octet.quantize %s : (tensor<1x2xf32>) -> tensor<1x2x!y>
  %g = nn.gelu %x none : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %3 = nn.mul %g, %k : (tensor<1x2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  %4 = nn.mul %3, %9 : (tensor<1x2xf32>, tensor<f32>) -> tensor<1x2xf32>
  %q4 = octet.quantize %4 : (tensor<1x2xf32>) -> tensor<1x2x!y>
  %e = nn.exp %x : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %5 = nn.mul %e, %k : (tensor<1x2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  %q5 = octet.quantize %5 : (tensor<1x2xf32>) -> tensor<1x2x!y>
  %i = nn.constant dense<32> : tensor<2xui8> -> tensor<2x!y>
  %d = octet.dequantize %i : (tensor<2x!y>) -> tensor<2xf32>
  %h = nn.gelu %x tanh : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %6 = nn.mul %h, %d : (tensor<1x2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  %q6 = octet.quantize %6 : (tensor<1x2xf32>) -> tensor<1x2x!y>
  return %q, %q4, %q5, %q6 : tensor<1x2x!y>, tensor<1x2x!y>, tensor<1x2x!y>, tensor<1x2x!y>
}

// -----

!y = !quant.uniform<u8:f32, 0.03125>

// Errors of an exp are parts of its value, which a difference may make smaller.
// CHECK-LABEL: func @exponentials
// CHECK: %[[C:.*]] = nn.exp %arg0 {coarse}
// CHECK: octet.quantize %[[C]]
// CHECK: nn.exp %arg1 :
func.func @exponentials(%x: tensor<1x2xf32>, %y: tensor<1x2xf32>) -> (tensor<1x2x!y>, tensor<1x2x!y>) {
  %0 = nn.exp %x : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %q0 = octet.quantize %0 : (tensor<1x2xf32>) -> tensor<1x2x!y>
  %1 = nn.exp %y : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %2 = nn.sub %1, %x : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  %q2 = octet.quantize %2 : (tensor<1x2xf32>) -> tensor<1x2x!y>
  return %q0, %q2 : tensor<1x2x!y>, tensor<1x2x!y>
}
