// RUN: octet-opt %s --octet-sink-reshapes | FileCheck %s

!line = tensor<1x4x9xf32>
!image = tensor<1x4x1x9xf32>

// Operators between two convolutions over one dimension.
// CHECK-LABEL: func.func @between_convolutions
// CHECK-SAME: (%[[X:.*]]: tensor<1x4x1x9xf32>
func.func @between_convolutions(%x: !image) -> !image {
  // CHECK-NEXT: %[[R:.*]] = nn.relu %[[X]] {{.*}} -> tensor<1x4x1x9xf32>
  // CHECK-NEXT: return %[[R]]
  %0 = nn.reshape %x : (!image) -> !line
  %1 = nn.relu %0 : (!line) -> !line
  %2 = nn.reshape %1 : (!line) -> !image
  return %2 : !image
}

// CHECK-LABEL: func.func @residual_and_constant
func.func @residual_and_constant(%x: !image, %z: !image) -> !line {
  // CHECK: %[[C:.*]] = nn.constant
  // CHECK: %[[S:.*]] = nn.add %arg0, %arg1 {{.*}} -> tensor<1x4x1x9xf32>
  // CHECK: %[[M:.*]] = nn.mul %[[S]], %[[C]] : (tensor<1x4x1x9xf32>, tensor<1xf32>) -> tensor<1x4x1x9xf32>
  // CHECK: %[[R:.*]] = nn.reshape %[[M]] : (tensor<1x4x1x9xf32>) -> tensor<1x4x9xf32>
  // CHECK: return %[[R]]
  %c = nn.constant dense<2.0> : tensor<1xf32>
  %0 = nn.reshape %x : (!image) -> !line
  %1 = nn.reshape %z : (!image) -> !line
  %2 = nn.add %0, %1 : (!line, !line) -> !line
  %3 = nn.mul %2, %c : (!line, tensor<1xf32>) -> !line
  return %3 : !line
}

// A constant per channel would stand on another axis, another shape has other elements side by side, and a reshape that joins
// dimensions stays.
// CHECK-LABEL: func.func @stays
func.func @stays(%x: !image, %z: !line, %p: tensor<1x4x3x3xf32>) -> (!line, !line, !line) {
  // CHECK: nn.reshape
  // CHECK: nn.mul {{.*}} -> tensor<1x4x9xf32>
  // CHECK: nn.add {{.*}} -> tensor<1x4x9xf32>
  // CHECK: nn.reshape
  // CHECK: nn.relu {{.*}} -> tensor<1x4x9xf32>
  %c = nn.constant dense<2.0> : tensor<4x1xf32>
  %0 = nn.reshape %x : (!image) -> !line
  %1 = nn.mul %0, %c : (!line, tensor<4x1xf32>) -> !line
  %2 = nn.add %0, %z : (!line, !line) -> !line
  %3 = nn.reshape %p : (tensor<1x4x3x3xf32>) -> !line
  %4 = nn.relu %3 : (!line) -> !line
  return %1, %2, %4 : !line, !line, !line
}

// The outputs of a detector: boxes of images of several sizes, channels last.
!big = tensor<1x5x4x4xf32>
!small = tensor<1x5x2x2xf32>
// CHECK-LABEL: func.func @channels_last
func.func @channels_last(%x: !big, %z: !small) -> tensor<1x20x5xf32> {
  // CHECK-DAG: %[[X:.*]] = nn.reshape %arg0
  // CHECK-DAG: %[[Z:.*]] = nn.reshape %arg1
  // CHECK-DAG: %[[XT:.*]] = nn.transpose %[[X]] permutation [0, 2, 1] : (tensor<1x5x16xf32>) -> tensor<1x16x5xf32>
  // CHECK-DAG: %[[ZT:.*]] = nn.transpose %[[Z]] permutation [0, 2, 1] : (tensor<1x5x4xf32>) -> tensor<1x4x5xf32>
  // CHECK: %[[R:.*]] = nn.concat %[[XT]], %[[ZT]] axis 1
  // CHECK-NEXT: return %[[R]]
  %0 = nn.reshape %x : (!big) -> tensor<1x5x16xf32>
  %1 = nn.reshape %z : (!small) -> tensor<1x5x4xf32>
  %2 = nn.concat %0, %1 axis 2 : (tensor<1x5x16xf32>, tensor<1x5x4xf32>) -> tensor<1x5x20xf32>
  %3 = nn.transpose %2 permutation [0, 2, 1] : (tensor<1x5x20xf32>) -> tensor<1x20x5xf32>
  return %3 : tensor<1x20x5xf32>
}

// CHECK-LABEL: func.func @read_twice
func.func @read_twice(%x: !big, %z: !small) -> (tensor<1x20x5xf32>, tensor<1x5x20xf32>) {
  // CHECK: nn.concat {{.*}} axis 2
  // CHECK-NEXT: nn.transpose
  %0 = nn.reshape %x : (!big) -> tensor<1x5x16xf32>
  %1 = nn.reshape %z : (!small) -> tensor<1x5x4xf32>
  %2 = nn.concat %0, %1 axis 2 : (tensor<1x5x16xf32>, tensor<1x5x4xf32>) -> tensor<1x5x20xf32>
  %3 = nn.transpose %2 permutation [0, 2, 1] : (tensor<1x5x20xf32>) -> tensor<1x20x5xf32>
  return %3, %2 : tensor<1x20x5xf32>, tensor<1x5x20xf32>
}
