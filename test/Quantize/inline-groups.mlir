// RUN: octet-opt %s --octet-inline-groups --split-input-file | FileCheck %s

// CHECK-LABEL: func @a_float_group_becomes_its_body
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>
// CHECK-NEXT: %[[R:.*]] = nn.relu %[[X]]
// CHECK-NEXT: %[[S:.*]] = nn.silu %[[R]]
// CHECK-NEXT: return %[[S]]
func.func @a_float_group_becomes_its_body(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = octet.group(%a = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    %1 = nn.relu %a : (tensor<4xf32>) -> tensor<4xf32>
    octet.yield %1 : tensor<4xf32>
  }
  %2 = octet.group(%b = %0) : (tensor<4xf32>) -> tensor<4xf32> {
    %3 = nn.silu %b : (tensor<4xf32>) -> tensor<4xf32>
    octet.yield %3 : tensor<4xf32>
  }
  return %2 : tensor<4xf32>
}

// -----

!q = !quant.uniform<u8:f32, 0.5>

// CHECK-LABEL: func @a_group_that_quantizes_stays
// CHECK: octet.group
func.func @a_group_that_quantizes_stays(%x: tensor<4x!q>) -> tensor<4x!q> {
  %0 = octet.group(%a = %x) : (tensor<4x!q>) -> tensor<4x!q> {
    %1 = octet.dequantize %a : (tensor<4x!q>) -> tensor<4xf32>
    %2 = nn.silu %1 : (tensor<4xf32>) -> tensor<4xf32>
    octet.yield %2 : tensor<4xf32>
  }
  return %0 : tensor<4x!q>
}
