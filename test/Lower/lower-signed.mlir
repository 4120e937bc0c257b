// RUN: octet-opt %s --octet-lower --split-input-file | FileCheck %s

!x = !quant.uniform<i8:f32, 0.5:-3>
!w = !quant.uniform<i8:f32, 0.25>

// CHECK-LABEL: func @signed_activations_become_unsigned
// CHECK: %[[W:.*]] = nn.constant {{.*}} -> tensor<2x2x!quant.uniform<i8:f32, 2.500000e-01>>
// CHECK: %[[X:.*]] = octet.quantize {{.*}} -> tensor<1x2x!quant.uniform<u8:f32, 5.000000e-01:125>>
// CHECK: %[[Y:.*]] = nn.linear %[[X]], %[[W]] : {{.*}} -> tensor<1x2x!quant.uniform<u8:f32, 5.000000e-01:125>>
// CHECK: octet.dequantize %[[Y]]
func.func @signed_activations_become_unsigned(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %wq = nn.constant dense<3> : tensor<2x2xi8> -> tensor<2x2x!w>
  %w = octet.dequantize %wq : (tensor<2x2x!w>) -> tensor<2x2xf32>
  %xq = octet.quantize %x : (tensor<1x2xf32>) -> tensor<1x2x!x>
  %xd = octet.dequantize %xq : (tensor<1x2x!x>) -> tensor<1x2xf32>
  %y = nn.linear %xd, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %yq = octet.quantize %y : (tensor<1x2xf32>) -> tensor<1x2x!x>
  %yd = octet.dequantize %yq : (tensor<1x2x!x>) -> tensor<1x2xf32>
  return %yd : tensor<1x2xf32>
}

// -----

!x = !quant.uniform<i8<-127:127>:f32:1, {0.5:-3, 0.25:127}>
!w = !quant.uniform<i8:f32, 0.25>

// A filter in a group stays signed; storage bounds and the zero points of channels move along.
// CHECK-LABEL: func @channels_and_bounds
// CHECK: nn.constant {{.*}} -> tensor<2x1x1x1x!quant.uniform<i8:f32, 2.500000e-01>>
// CHECK: octet.quantize {{.*}} -> tensor<1x2x4x4x!quant.uniform<u8<1:255>:f32:1, {5.000000e-01:125,2.500000e-01:255}>>
// CHECK: octet.group
// CHECK: nn.conv
func.func @channels_and_bounds(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %wq = nn.constant dense<3> : tensor<2x1x1x1xi8> -> tensor<2x1x1x1x!w>
  %w = octet.dequantize %wq : (tensor<2x1x1x1x!w>) -> tensor<2x1x1x1xf32>
  %xq = octet.quantize %x : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4x!x>
  %xd = octet.dequantize %xq : (tensor<1x2x4x4x!x>) -> tensor<1x2x4x4xf32>
  %y = octet.group(%a = %xd, %b = %w) : (tensor<1x2x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32> {
    %c = nn.conv %a, %b groups 2 : (tensor<1x2x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
    %s = nn.sigmoid %c : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
    octet.yield %s : tensor<1x2x4x4xf32>
  }
  return %y : tensor<1x2x4x4xf32>
}

// -----

!x = !quant.uniform<i8:f32, 0.5:-3>

// Tables flip the sign bit of what the caller gives and gets.
// CHECK-LABEL: func @arguments_and_results_keep_their_types
// CHECK-SAME: (%[[X:.*]]: tensor<1x2x!quant.uniform<i8:f32, 5.000000e-01:-3>>) -> tensor<2x1x!quant.uniform<i8:f32, 5.000000e-01:-3>>
// CHECK-NEXT: %[[U:.*]] = nn.table %[[X]], [-128, -127, {{.*}}, 126, 127] : {{.*}} -> tensor<1x2x!quant.uniform<u8:f32, 5.000000e-01:125>>
// CHECK-NEXT: %[[R:.*]] = nn.reshape %[[U]]
// CHECK-NEXT: %[[Y:.*]] = nn.table %[[R]], {{.*}} -> tensor<2x1x!quant.uniform<i8:f32, 5.000000e-01:-3>>
// CHECK-NEXT: return %[[Y]]
func.func @arguments_and_results_keep_their_types(%xq: tensor<1x2x!x>) -> tensor<2x1x!x> {
  %x = octet.dequantize %xq : (tensor<1x2x!x>) -> tensor<1x2xf32>
  %y = nn.reshape %x : (tensor<1x2xf32>) -> tensor<2x1xf32>
  %yq = octet.quantize %y : (tensor<2x1xf32>) -> tensor<2x1x!x>
  return %yq : tensor<2x1x!x>
}

// -----

!x = !quant.uniform<i8:f32, 0.5:-3>

// CHECK-LABEL: func @constants
// CHECK: %[[C:.*]] = nn.constant {{.*}} -> tensor<1x2x!quant.uniform<u8:f32, 5.000000e-01:125>>
// CHECK: nn.concat %{{.*}}, %[[C]]
// CHECK: constant.u8: "0x{{[0-9A-F]+}}0085"
func.func @constants(%x: tensor<1x2xf32>) -> tensor<1x4xf32> {
  %cq = nn.constant dense<[[-128, 5]]> : tensor<1x2xi8> -> tensor<1x2x!x>
  %c = octet.dequantize %cq : (tensor<1x2x!x>) -> tensor<1x2xf32>
  %xq = octet.quantize %x : (tensor<1x2xf32>) -> tensor<1x2x!x>
  %xd = octet.dequantize %xq : (tensor<1x2x!x>) -> tensor<1x2xf32>
  %y = nn.concat %xd, %c axis 1 : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x4xf32>
  %yq = octet.quantize %y : (tensor<1x4xf32>) -> tensor<1x4x!x>
  %yd = octet.dequantize %yq : (tensor<1x4x!x>) -> tensor<1x4xf32>
  return %yd : tensor<1x4xf32>
}
