// RUN: octet-opt %s --octet-fold-into-weights | FileCheck %s

// A row within 3 x 3: 1, 2, 3, 4 + 10, 5 + 20, 6 + 30, 7, 8, 9, and 1 + 0.5.
// CHECK-LABEL: func.func @branches_are_merged
// CHECK-SAME: (%[[X:.*]]: tensor<1x1x4x4xf32>
func.func @branches_are_merged(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x2x2xf32> {
  %w = nn.constant dense<[[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]]]> : tensor<1x1x3x3xf32>
  %v = nn.constant dense<[[[[10.0, 20.0, 30.0]]]]> : tensor<1x1x1x3xf32>
  %b = nn.constant dense<1.0> : tensor<1xf32>
  %c = nn.constant dense<0.5> : tensor<1xf32>
  // CHECK: %[[W:.*]] = nn.constant dense_resource<constant.merged> : tensor<1x1x3x3xf32>
  // CHECK: %[[B:.*]] = nn.constant dense_resource<constant.merged_1> : tensor<1xf32>
  // CHECK-NEXT: %[[Y:.*]] = nn.conv %[[X]], %[[W]], %[[B]] strides [2, 2] pads [1, 1, 1, 1] :
  // CHECK-NEXT: return %[[Y]]
  %y = nn.conv %x, %w, %b strides [2, 2] pads [1, 1, 1, 1] : (tensor<1x1x4x4xf32>, tensor<1x1x3x3xf32>, tensor<1xf32>) -> tensor<1x1x2x2xf32>
  %z = nn.conv %x, %v, %c strides [2, 2] pads [0, 1, 0, 1] : (tensor<1x1x4x4xf32>, tensor<1x1x1x3xf32>, tensor<1xf32>) -> tensor<1x1x2x2xf32>
  %s = nn.add %z, %y : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  return %s : tensor<1x1x2x2xf32>
}

// A bias of one is that of the sum; one tap has any dilation.
// CHECK-LABEL: func.func @dilated_branches_are_merged
func.func @dilated_branches_are_merged(%x: tensor<1x1x5x5xf32>) -> tensor<1x1x5x5xf32> {
  %w = nn.constant dense<1.0> : tensor<1x1x3x3xf32>
  %v = nn.constant dense<2.0> : tensor<1x1x1x1xf32>
  %b = nn.constant dense<1.0> : tensor<1xf32>
  // CHECK: %[[B:.*]] = nn.constant dense<1.0{{.*}}> : tensor<1xf32>
  // CHECK: nn.conv %{{.*}}, %{{.*}}, %[[B]] pads [2, 2, 2, 2] dilations [2, 2] :
  // CHECK-NOT: nn.add
  %y = nn.conv %x, %w pads [2, 2, 2, 2] dilations [2, 2] : (tensor<1x1x5x5xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x5x5xf32>
  %z = nn.conv %x, %v, %b : (tensor<1x1x5x5xf32>, tensor<1x1x1x1xf32>, tensor<1xf32>) -> tensor<1x1x5x5xf32>
  %s = nn.add %y, %z : (tensor<1x1x5x5xf32>, tensor<1x1x5x5xf32>) -> tensor<1x1x5x5xf32>
  return %s : tensor<1x1x5x5xf32>
}

// A row and a column have six weights, 3 x 3 has nine.
// CHECK-LABEL: func.func @crossed_kernels_stay
func.func @crossed_kernels_stay(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32> {
  %w = nn.constant dense<1.0> : tensor<1x1x3x1xf32>
  %v = nn.constant dense<2.0> : tensor<1x1x1x3xf32>
  // CHECK: nn.add
  %y = nn.conv %x, %w pads [1, 0, 1, 0] : (tensor<1x1x4x4xf32>, tensor<1x1x3x1xf32>) -> tensor<1x1x4x4xf32>
  %z = nn.conv %x, %v pads [0, 1, 0, 1] : (tensor<1x1x4x4xf32>, tensor<1x1x1x3xf32>) -> tensor<1x1x4x4xf32>
  %s = nn.add %y, %z : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
  return %s : tensor<1x1x4x4xf32>
}

// CHECK-LABEL: func.func @kernels_of_unlike_dilations_stay
func.func @kernels_of_unlike_dilations_stay(%x: tensor<1x1x5x5xf32>) -> tensor<1x1x5x5xf32> {
  %w = nn.constant dense<1.0> : tensor<1x1x3x3xf32>
  // CHECK: nn.add
  %y = nn.conv %x, %w pads [2, 2, 2, 2] dilations [2, 2] : (tensor<1x1x5x5xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x5x5xf32>
  %z = nn.conv %x, %w pads [1, 1, 1, 1] : (tensor<1x1x5x5xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x5x5xf32>
  %s = nn.add %y, %z : (tensor<1x1x5x5xf32>, tensor<1x1x5x5xf32>) -> tensor<1x1x5x5xf32>
  return %s : tensor<1x1x5x5xf32>
}

// CHECK-LABEL: func.func @branches_of_two_values_stay
func.func @branches_of_two_values_stay(%x: tensor<1x1x4x4xf32>, %u: tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32> {
  %w = nn.constant dense<1.0> : tensor<1x1x1x1xf32>
  // CHECK: nn.add
  %y = nn.conv %x, %w : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32>
  %z = nn.conv %u, %w : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32>
  %s = nn.add %y, %z : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
  return %s : tensor<1x1x4x4xf32>
}

// CHECK-LABEL: func.func @branch_that_another_reads_stays
func.func @branch_that_another_reads_stays(%x: tensor<1x1x4x4xf32>) -> (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) {
  %w = nn.constant dense<1.0> : tensor<1x1x1x1xf32>
  // CHECK: nn.add
  %y = nn.conv %x, %w : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32>
  %z = nn.conv %x, %w : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32>
  %s = nn.add %y, %z : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
  return %s, %y : tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>
}

// CHECK: constant.merged: "0x{{.*}}0000803F0000004000004040000060410000C841000010420000E0400000004100001041"
// CHECK: constant.merged_1: "0x{{.*}}0000C03F"
// CHECK: constant.merged_2: "0x{{.*}}0000803F0000803F0000803F0000803F000040400000803F0000803F0000803F0000803F"
