// RUN: octet-opt %s --octet-lower --split-input-file | FileCheck %s
// RUN: octet-opt %s --octet-lower=strict=true --split-input-file -o /dev/null
// RUN: octet-opt %s --octet-lower --split-input-file --remarks-filter=octet-lower --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// 30000 is 117 * 256 + 48.
!x = !quant.uniform<u16:f32, 0.25:30000>
!w = !quant.uniform<i8:f32, 0.5>

// Both layers read the same bytes; what is behind the first one's sum stays there.
// CHECK-LABEL: func @two_layers
// CHECK-SAME: (%[[X:.*]]: tensor<1x4x8x8xf32>)
// CHECK: %[[Q:.*]] = octet.quantize %[[X]]
// CHECK-DAG: %[[HALF:.*]] = nn.constant dense_resource<half_a_byte> : tensor<f32>
// CHECK: %[[H:.*]] = octet.group(%[[A:.*]] = %[[Q]], %[[OFFSET:.*]] = %[[HALF]]) : {{.*}} -> tensor<1x4x8x8x!quant.uniform<u8:f32, 6.400000e+01:117>> {
// CHECK-NEXT: %[[R:.*]] = octet.dequantize %[[A]]
// CHECK-NEXT: nn.sub %[[R]], %[[OFFSET]]
// CHECK: %[[L:.*]] = octet.group(%[[B:.*]] = %[[Q]], %[[C:.*]] = %[[H]]) : {{.*}} -> tensor<1x4x8x8x!quant.uniform<u8:f32, 2.500000e-01:48>> {
// CHECK-NEXT: %[[S:.*]] = octet.dequantize %[[B]]
// CHECK-NEXT: %[[T:.*]] = octet.dequantize %[[C]]
// CHECK-NEXT: nn.sub %[[S]], %[[T]]
// CHECK: %[[UPPER:.*]] = nn.conv %[[H]], %[[W:.*]] : {{.*}} -> tensor<1x2x8x8xf32>
// CHECK: octet.group(%[[X0:.*]] = %[[L]], %[[X1:.*]] = %[[W]], %[[X2:.*]] = %{{.*}}, %[[X3:.*]] = %[[UPPER]])
// CHECK-NEXT: %[[LOWER:.*]] = nn.conv %[[X0]], %[[X1]], %[[X2]]
// CHECK-NEXT: %[[SUM:.*]] = nn.add %[[LOWER]], %[[X3]]
// CHECK-NEXT: nn.relu %[[SUM]]
// CHECK: nn.conv %[[H]], %{{.*}} pads [1, 1, 1, 1] groups 4
// CHECK: octet.group({{.*}} = %[[L]],
// CHECK-NEXT: nn.conv
// CHECK-NEXT: nn.add
// CHECK-NOT: octet.dequantize
func.func @two_layers(%x: tensor<1x4x8x8xf32>) -> (tensor<1x2x8x8xf32>, tensor<1x4x8x8xf32>) {
  %wq = nn.constant dense<3> : tensor<2x4x1x1xi8> -> tensor<2x4x1x1x!w>
  %vq = nn.constant dense<5> : tensor<4x1x3x3xi8> -> tensor<4x1x3x3x!w>
  %b = nn.constant dense<0.5> : tensor<2xf32>
  %xq = octet.quantize %x : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8x!x>
  %xd = octet.dequantize %xq : (tensor<1x4x8x8x!x>) -> tensor<1x4x8x8xf32>
  %w = octet.dequantize %wq : (tensor<2x4x1x1x!w>) -> tensor<2x4x1x1xf32>
  %v = octet.dequantize %vq : (tensor<4x1x3x3x!w>) -> tensor<4x1x3x3xf32>
  %y = octet.group(%0 = %xd, %1 = %w, %2 = %b) : (tensor<1x4x8x8xf32>, tensor<2x4x1x1xf32>, tensor<2xf32>) -> tensor<1x2x8x8xf32> {
    %c = nn.conv %0, %1, %2 : (tensor<1x4x8x8xf32>, tensor<2x4x1x1xf32>, tensor<2xf32>) -> tensor<1x2x8x8xf32>
    %r = nn.relu %c : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
    octet.yield %r : tensor<1x2x8x8xf32>
  }
  %z = nn.conv %xd, %v pads [1, 1, 1, 1] groups 4 : (tensor<1x4x8x8xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x8x8xf32>
  return %y, %z : tensor<1x2x8x8xf32>, tensor<1x4x8x8xf32>
}

// -----

// Signed integers count from -32768 on: -5 becomes 127 * 256 + 251.
!x = !quant.uniform<i16:f32, 0.25:-5>
!w = !quant.uniform<i8:f32, 0.5>

// CHECK-LABEL: func @signed
// CHECK: octet.group({{.*}}) : {{.*}} -> tensor<2x8x!quant.uniform<u8:f32, 6.400000e+01:127>>
// CHECK: octet.group({{.*}}) : {{.*}} -> tensor<2x8x!quant.uniform<u8:f32, 2.500000e-01:251>>
func.func @signed(%xq: tensor<2x8x!x>) -> tensor<2x4xf32> {
  %wq = nn.constant dense<3> : tensor<4x8xi8> -> tensor<4x8x!w>
  %xd = octet.dequantize %xq : (tensor<2x8x!x>) -> tensor<2x8xf32>
  %w = octet.dequantize %wq : (tensor<4x8x!w>) -> tensor<4x8xf32>
  %y = nn.linear %xd, %w : (tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// -----

!x = !quant.uniform<u16:f32, 0.25>

// A product with weights that are real numbers stays float.
// REMARK: remark: [Missed] OCT301
// CHECK-LABEL: func @real_weights
// CHECK-NOT: octet.group
// CHECK: nn.linear {{.*}} -> tensor<2x4xf32>
func.func @real_weights(%xq: tensor<2x8x!x>, %w: tensor<4x8xf32>) -> tensor<2x4xf32> {
  %xd = octet.dequantize %xq : (tensor<2x8x!x>) -> tensor<2x8xf32>
  %y = nn.linear %xd, %w : (tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}
