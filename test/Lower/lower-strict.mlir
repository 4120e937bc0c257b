// RUN: octet-opt %s --octet-lower=strict=true --split-input-file --verify-diagnostics -o /dev/null
// RUN: octet-opt %s --octet-lower --split-input-file | FileCheck %s

!x = !quant.uniform<u8:f32, 0.5>
!w = !quant.uniform<i8:f32, 0.25>
!b = !quant.uniform<i32:f32, 0.125>

// CHECK-LABEL: func @quantized_in_vain
// CHECK: nn.linear {{.*}} {octet.decision = #octet.decision<verdict = float, reason = <"OCT307", "the 32-bit accumulator may overflow", "give filter or input a larger scale">, refused = true>}
func.func @quantized_in_vain(%xq: tensor<1x2x!x>) -> tensor<1x2xf32> {
  %wq = nn.constant dense<2> : tensor<2x2xi8> -> tensor<2x2x!w>
  %bq = nn.constant dense<2147483647> : tensor<2xi32> -> tensor<2x!b>
  %x = octet.dequantize %xq : (tensor<1x2x!x>) -> tensor<1x2xf32>
  %w = octet.dequantize %wq : (tensor<2x2x!w>) -> tensor<2x2xf32>
  %b = octet.dequantize %bq : (tensor<2x!b>) -> tensor<2xf32>
  // expected-error @below {{stays float [OCT307]: the 32-bit accumulator may overflow; give filter or input a larger scale}}
  %y = nn.linear %x, %w, %b : (tensor<1x2xf32>, tensor<2x2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  return %y : tensor<1x2xf32>
}

// -----

!x = !quant.uniform<u8:f32, 0.5>

// What the policy left float is no error.
// CHECK-LABEL: func @float_by_choice
// CHECK-NOT: octet.decision
func.func @float_by_choice(%xq: tensor<1x2x!x>) -> tensor<1x2xf32> {
  %x = octet.dequantize %xq : (tensor<1x2x!x>) -> tensor<1x2xf32>
  %y = nn.softmax %x axis 1 : (tensor<1x2xf32>) -> tensor<1x2xf32>
  return %y : tensor<1x2xf32>
}
