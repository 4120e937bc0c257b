// RUN: octet-opt %s --octet-join-steps | FileCheck %s

// The steps of a sequence, in any order, reshaped or not, are multiplied at once.
// CHECK-LABEL: func.func @steps_share_a_weight
// CHECK-SAME: (%[[X:.*]]: tensor<3x1x4xf32>)
// CHECK: %[[W:.*]] = nn.constant dense<1.0{{.*}}> : tensor<2x4xf32>
// CHECK: %[[B:.*]] = nn.constant
// CHECK: %[[ALL:.*]] = nn.linear %[[X]], %[[W]], %[[B]] {{.*}} -> tensor<3x1x2xf32>
// CHECK: %[[S2:.*]] = nn.slice %[[ALL]] starts [2, 0, 0] sizes [1, 1, 2] steps [1, 1, 1]
// CHECK: nn.reshape %[[S2]] {{.*}} -> tensor<1x2xf32>
// CHECK: %[[S0:.*]] = nn.slice %[[ALL]] starts [0, 0, 0] sizes [1, 1, 2] steps [1, 1, 1]
// CHECK-NOT: nn.reshape
// CHECK-NOT: nn.linear
// CHECK: return %{{.*}}, %[[S0]]
func.func @steps_share_a_weight(%x: tensor<3x1x4xf32>) -> (tensor<1x2xf32>, tensor<1x1x2xf32>) {
  %w = nn.constant dense<1.0> : tensor<2x4xf32>
  %b = nn.constant dense<2.0> : tensor<2xf32>
  %s2 = nn.slice %x starts [2, 0, 0] sizes [1, 1, 4] steps [1, 1, 1] : (tensor<3x1x4xf32>) -> tensor<1x1x4xf32>
  %r2 = nn.reshape %s2 : (tensor<1x1x4xf32>) -> tensor<1x4xf32>
  %y2 = nn.linear %r2, %w, %b : (tensor<1x4xf32>, tensor<2x4xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  %s0 = nn.slice %x starts [0, 0, 0] sizes [1, 1, 4] steps [1, 1, 1] : (tensor<3x1x4xf32>) -> tensor<1x1x4xf32>
  %y0 = nn.linear %s0, %w, %b : (tensor<1x1x4xf32>, tensor<2x4xf32>, tensor<2xf32>) -> tensor<1x1x2xf32>
  return %y2, %y0 : tensor<1x2xf32>, tensor<1x1x2xf32>
}

// The dimension may be any but that of the rows' elements.
// CHECK-LABEL: func.func @batch_first
// CHECK: nn.linear %{{.*}} -> tensor<2x2x3xf32>
// CHECK: nn.slice {{.*}} starts [0, 1, 0] sizes [2, 1, 3]
// CHECK: nn.slice {{.*}} starts [0, 0, 0] sizes [2, 1, 3]
func.func @batch_first(%x: tensor<2x2x4xf32>) -> (tensor<2x1x3xf32>, tensor<2x1x3xf32>) {
  %w = nn.constant dense<1.0> : tensor<3x4xf32>
  %s1 = nn.slice %x starts [0, 1, 0] sizes [2, 1, 4] steps [1, 1, 1] : (tensor<2x2x4xf32>) -> tensor<2x1x4xf32>
  %y1 = nn.linear %s1, %w : (tensor<2x1x4xf32>, tensor<3x4xf32>) -> tensor<2x1x3xf32>
  %s0 = nn.slice %x starts [0, 0, 0] sizes [2, 1, 4] steps [1, 1, 1] : (tensor<2x2x4xf32>) -> tensor<2x1x4xf32>
  %y0 = nn.linear %s0, %w : (tensor<2x1x4xf32>, tensor<3x4xf32>) -> tensor<2x1x3xf32>
  return %y1, %y0 : tensor<2x1x3xf32>, tensor<2x1x3xf32>
}

// Few of many steps, steps twice, other weights, and cut rows.
// CHECK-LABEL: func.func @others_stay
// CHECK-NOT: -> tensor<5x2xf32>
// CHECK-COUNT-5: nn.linear {{.*}} -> tensor<1x2xf32>
// CHECK-NOT: nn.linear
func.func @others_stay(%x: tensor<5x4xf32>, %z: tensor<2x8xf32>) -> (tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>) {
  %w = nn.constant dense<1.0> : tensor<2x4xf32>
  %v = nn.constant dense<2.0> : tensor<2x4xf32>
  %s0 = nn.slice %x starts [0, 0] sizes [1, 4] steps [1, 1] : (tensor<5x4xf32>) -> tensor<1x4xf32>
  %s3 = nn.slice %x starts [3, 0] sizes [1, 4] steps [1, 1] : (tensor<5x4xf32>) -> tensor<1x4xf32>
  %cut = nn.slice %z starts [1, 0] sizes [1, 4] steps [1, 1] : (tensor<2x8xf32>) -> tensor<1x4xf32>
  %a = nn.linear %s0, %w : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<1x2xf32>
  %b = nn.linear %s3, %w : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<1x2xf32>
  %c = nn.linear %s3, %w : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<1x2xf32>
  %d = nn.linear %s3, %v : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<1x2xf32>
  %e = nn.linear %cut, %v : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<1x2xf32>
  return %a, %b, %c, %d, %e : tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>
}
