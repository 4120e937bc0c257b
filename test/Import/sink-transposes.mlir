// RUN: octet-opt %s --octet-sink-transposes | FileCheck %s
// RUN: octet-opt %s --octet-sink-transposes | FileCheck %s --check-prefix=VALUES

// A normalization of channels that come last, and a residual, between two convolutions.
// CHECK-LABEL: func @channels_last
// CHECK-NOT: nn.transpose
// CHECK: %[[X:.*]] = nn.conv %arg0
// CHECK: %[[Z:.*]] = nn.conv %arg0
// CHECK: %[[C:.*]] = nn.constant dense_resource<constant.channels> : tensor<1x2x1x1xf32>
// CHECK: %[[S:.*]] = nn.sub %[[X]], %[[C]] : (tensor<1x2x4x4xf32>, tensor<1x2x1x1xf32>)
// CHECK: %[[M:.*]] = nn.mul %{{.*}}, %[[S]]
// CHECK: %[[A:.*]] = nn.add %[[M]], %[[Z]]
// CHECK: %[[R:.*]] = nn.relu %[[A]]
// CHECK: nn.conv %[[R]]
// CHECK-NOT: nn.transpose
// CHECK: return
func.func @channels_last(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32> {
  %c = nn.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %h = nn.constant dense<0.5> : tensor<1x1x1xf32>
  %0 = nn.conv %x, %w : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = nn.conv %x, %w : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %2 = nn.transpose %0 permutation [0, 2, 3, 1] : (tensor<1x2x4x4xf32>) -> tensor<1x4x4x2xf32>
  %3 = nn.transpose %1 permutation [0, 2, 3, 1] : (tensor<1x2x4x4xf32>) -> tensor<1x4x4x2xf32>
  %4 = nn.sub %2, %c : (tensor<1x4x4x2xf32>, tensor<2xf32>) -> tensor<1x4x4x2xf32>
  %5 = nn.mul %h, %4 : (tensor<1x1x1xf32>, tensor<1x4x4x2xf32>) -> tensor<1x4x4x2xf32>
  %6 = nn.add %5, %3 : (tensor<1x4x4x2xf32>, tensor<1x4x4x2xf32>) -> tensor<1x4x4x2xf32>
  %7 = nn.relu %6 : (tensor<1x4x4x2xf32>) -> tensor<1x4x4x2xf32>
  %8 = nn.transpose %7 permutation [0, 3, 1, 2] : (tensor<1x4x4x2xf32>) -> tensor<1x2x4x4xf32>
  %9 = nn.conv %8, %w : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  return %9 : tensor<1x2x4x4xf32>
}

// What is transposed is no image; others read it, too; the other operand is not transposed alike, or has numbers along two dimensions.
// CHECK-LABEL: func @stays
// CHECK: nn.transpose %arg1
// CHECK-NEXT: nn.relu
// CHECK: %[[T:.*]] = nn.transpose
// CHECK-NEXT: nn.relu %[[T]]
// CHECK: %[[U:.*]] = nn.transpose
// CHECK-NEXT: nn.add %[[U]], %arg1
// CHECK: %[[V:.*]] = nn.transpose
// CHECK-NEXT: nn.mul %[[V]]
func.func @stays(%x: tensor<1x2x4x4xf32>, %y: tensor<1x4x4x2xf32>, %w: tensor<2x2x1x1xf32>)
    -> (tensor<1x2x4x4xf32>, tensor<1x4x4x2xf32>, tensor<1x4x4x2xf32>, tensor<1x4x4x2xf32>, tensor<1x4x4x2xf32>) {
  %c = nn.constant dense<1.0> : tensor<4x2xf32>
  %0 = nn.transpose %y permutation [0, 3, 1, 2] : (tensor<1x4x4x2xf32>) -> tensor<1x2x4x4xf32>
  %1 = nn.relu %0 : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %2 = nn.conv %x, %w : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %3 = nn.transpose %2 permutation [0, 2, 3, 1] : (tensor<1x2x4x4xf32>) -> tensor<1x4x4x2xf32>
  %4 = nn.relu %3 : (tensor<1x4x4x2xf32>) -> tensor<1x4x4x2xf32>
  %5 = nn.transpose %2 permutation [0, 2, 3, 1] : (tensor<1x2x4x4xf32>) -> tensor<1x4x4x2xf32>
  %6 = nn.add %5, %y : (tensor<1x4x4x2xf32>, tensor<1x4x4x2xf32>) -> tensor<1x4x4x2xf32>
  %7 = nn.transpose %2 permutation [0, 2, 3, 1] : (tensor<1x2x4x4xf32>) -> tensor<1x4x4x2xf32>
  %8 = nn.mul %7, %c : (tensor<1x4x4x2xf32>, tensor<4x2xf32>) -> tensor<1x4x4x2xf32>
  return %1, %3, %4, %6, %8 : tensor<1x2x4x4xf32>, tensor<1x4x4x2xf32>, tensor<1x4x4x2xf32>, tensor<1x4x4x2xf32>, tensor<1x4x4x2xf32>
}

// A concatenation of images that are transposed alike, of which one is a resized image and one a shuffled one.
// CHECK-LABEL: func @concatenated
// CHECK-SAME: (%[[X:.*]]: tensor<1x2x4x4xf32>
// CHECK: %[[R:.*]] = nn.resize
// CHECK: permutation [0, 1, 4, 2, 5, 3]
// CHECK-NEXT: %[[S:.*]] = nn.reshape
// CHECK-NOT: nn.transpose
// CHECK: %[[C:.*]] = nn.concat %[[R]], %[[S]] axis 1
// CHECK-NEXT: %[[A:.*]] = nn.relu %[[C]]
// CHECK-NEXT: return %[[A]]
func.func @concatenated(%x: tensor<1x2x4x4xf32>, %w: tensor<8x2x1x1xf32>, %v: tensor<4x2x1x1xf32>) -> tensor<1x6x8x8xf32> {
  %0 = nn.conv %x, %v : (tensor<1x2x4x4xf32>, tensor<4x2x1x1xf32>) -> tensor<1x4x4x4xf32>
  %1 = nn.resize %0 size [8, 8] scales [2.0, 2.0] linear half_pixel floor : (tensor<1x4x4x4xf32>) -> tensor<1x4x8x8xf32>
  %2 = nn.transpose %1 permutation [0, 2, 3, 1] : (tensor<1x4x8x8xf32>) -> tensor<1x8x8x4xf32>
  %3 = nn.conv %x, %w : (tensor<1x2x4x4xf32>, tensor<8x2x1x1xf32>) -> tensor<1x8x4x4xf32>
  %4 = nn.reshape %3 : (tensor<1x8x4x4xf32>) -> tensor<1x2x2x2x4x4xf32>
  %5 = nn.transpose %4 permutation [0, 1, 4, 2, 5, 3] : (tensor<1x2x2x2x4x4xf32>) -> tensor<1x2x4x2x4x2xf32>
  %6 = nn.reshape %5 : (tensor<1x2x4x2x4x2xf32>) -> tensor<1x2x8x8xf32>
  %7 = nn.transpose %6 permutation [0, 2, 3, 1] : (tensor<1x2x8x8xf32>) -> tensor<1x8x8x2xf32>
  %8 = nn.concat %2, %7 axis 3 : (tensor<1x8x8x4xf32>, tensor<1x8x8x2xf32>) -> tensor<1x8x8x6xf32>
  %9 = nn.relu %8 : (tensor<1x8x8x6xf32>) -> tensor<1x8x8x6xf32>
  %10 = nn.transpose %9 permutation [0, 3, 1, 2] : (tensor<1x8x8x6xf32>) -> tensor<1x6x8x8xf32>
  return %10 : tensor<1x6x8x8xf32>
}

// Concatenations of what is no image, or is transposed otherwise.
// CHECK-LABEL: func @not_concatenated
// CHECK: nn.concat {{.*}} axis 3
// CHECK-NEXT: nn.transpose
// CHECK-NEXT: nn.concat {{.*}} axis 3
// CHECK-NEXT: return
func.func @not_concatenated(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>) -> (tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>) {
  %0 = nn.conv %x, %w : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = nn.transpose %0 permutation [0, 2, 3, 1] : (tensor<1x2x4x4xf32>) -> tensor<1x4x4x2xf32>
  %2 = nn.transpose %x permutation [0, 2, 3, 1] : (tensor<1x2x4x4xf32>) -> tensor<1x4x4x2xf32>
  %3 = nn.concat %1, %2 axis 3 : (tensor<1x4x4x2xf32>, tensor<1x4x4x2xf32>) -> tensor<1x4x4x4xf32>
  %4 = nn.transpose %0 permutation [0, 3, 2, 1] : (tensor<1x2x4x4xf32>) -> tensor<1x4x4x2xf32>
  %5 = nn.concat %1, %4 axis 3 : (tensor<1x4x4x2xf32>, tensor<1x4x4x2xf32>) -> tensor<1x4x4x4xf32>
  return %3, %5 : tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>
}

// An output of half precision, which nn.transpose does not move.
// CHECK-LABEL: func @half
// CHECK: %[[T:.*]] = nn.transpose
// CHECK-NEXT: nn.cast %[[T]]
func.func @half(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>) -> tensor<1x4x4x2xf16> {
  %0 = nn.conv %x, %w : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = nn.transpose %0 permutation [0, 2, 3, 1] : (tensor<1x2x4x4xf32>) -> tensor<1x4x4x2xf32>
  %2 = nn.cast %1 : (tensor<1x4x4x2xf32>) -> tensor<1x4x4x2xf16>
  return %2 : tensor<1x4x4x2xf16>
}

// VALUES: constant.channels: "0x{{[0-9A-F]*}}0000803F00000040"
