// The numbers behind the names of constants follow the order of the functions.
// RUN: octet-opt %s --mlir-disable-threading --octet-fold-into-weights | FileCheck %s

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

// Scale 6, variance 9: 2 is added to the tap at the result's own place, and 10 - 2 * 1.5 + 1 is the bias.
// CHECK-LABEL: func.func @batch_norm_beside_a_depthwise_convolution_is_a_tap
// CHECK-SAME: (%[[X:.*]]: tensor<1x2x4x4xf32>
func.func @batch_norm_beside_a_depthwise_convolution_is_a_tap(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = nn.constant dense<[[[[1.0, 2.0, 3.0]]], [[[4.0, 5.0, 6.0]]]]> : tensor<2x1x1x3xf32>
  %b = nn.constant dense<1.0> : tensor<2xf32>
  %scale = nn.constant dense<6.0> : tensor<2xf32>
  %shift = nn.constant dense<10.0> : tensor<2xf32>
  %mean = nn.constant dense<1.5> : tensor<2xf32>
  %variance = nn.constant dense<9.0> : tensor<2xf32>
  // CHECK: %[[W:.*]] = nn.constant dense_resource<constant.merged_3> : tensor<2x1x1x3xf32>
  // CHECK: %[[B:.*]] = nn.constant dense_resource<constant.merged_4> : tensor<2xf32>
  // CHECK-NEXT: %[[Y:.*]] = nn.conv %[[X]], %[[W]], %[[B]] pads [0, 2, 0, 0] groups 2 :
  // CHECK-NEXT: return %[[Y]]
  %y = nn.conv %x, %w, %b pads [0, 2, 0, 0] groups 2 : (tensor<1x2x4x4xf32>, tensor<2x1x1x3xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %n = nn.batch_norm %x, %scale, %shift, %mean, %variance epsilon 0.0 : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %s = nn.add %n, %y : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  return %s : tensor<1x2x4x4xf32>
}

// Two groups of two channels: each output channel reads its own input channel, which is the group's first or second.
// CHECK-LABEL: func.func @batch_norm_beside_a_convolution_of_groups
func.func @batch_norm_beside_a_convolution_of_groups(%x: tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32> {
  %w = nn.constant dense<1.0> : tensor<4x2x1x1xf32>
  %scale = nn.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %zero = nn.constant dense<0.0> : tensor<4xf32>
  %one = nn.constant dense<1.0> : tensor<4xf32>
  // CHECK: nn.conv
  // CHECK-NOT: nn.add
  %y = nn.conv %x, %w groups 2 : (tensor<1x4x4x4xf32>, tensor<4x2x1x1xf32>) -> tensor<1x4x4x4xf32>
  %n = nn.batch_norm %x, %scale, %zero, %zero, %one epsilon 0.0 : (tensor<1x4x4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4x4x4xf32>
  %s = nn.add %y, %n : (tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  return %s : tensor<1x4x4x4xf32>
}

// 27 weights share a scale: a factor of 3 beside weights of 1 would leave these fewer steps, one of 2 is merged.
// CHECK-LABEL: func.func @large_factor_beside_a_large_kernel_stays
func.func @large_factor_beside_a_large_kernel_stays(%x: tensor<1x3x4x4xf32>) -> (tensor<1x3x4x4xf32>, tensor<1x3x4x4xf32>) {
  %w = nn.constant dense<1.0> : tensor<3x3x3x3xf32>
  %two = nn.constant dense<2.0> : tensor<3xf32>
  %three = nn.constant dense<3.0> : tensor<3xf32>
  %zero = nn.constant dense<0.0> : tensor<3xf32>
  %one = nn.constant dense<1.0> : tensor<3xf32>
  // CHECK: %[[NORM:.*]] = nn.batch_norm
  // CHECK-NOT: nn.batch_norm
  // CHECK: nn.add %{{.*}}, %[[NORM]]
  // CHECK-NOT: nn.add
  // CHECK: return
  %y = nn.conv %x, %w pads [1, 1, 1, 1] : (tensor<1x3x4x4xf32>, tensor<3x3x3x3xf32>) -> tensor<1x3x4x4xf32>
  %z = nn.conv %x, %w pads [1, 1, 1, 1] : (tensor<1x3x4x4xf32>, tensor<3x3x3x3xf32>) -> tensor<1x3x4x4xf32>
  %n = nn.batch_norm %x, %three, %zero, %zero, %one epsilon 0.0 : (tensor<1x3x4x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<1x3x4x4xf32>
  %m = nn.batch_norm %x, %two, %zero, %zero, %one epsilon 0.0 : (tensor<1x3x4x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<1x3x4x4xf32>
  %s = nn.add %y, %n : (tensor<1x3x4x4xf32>, tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32>
  %t = nn.add %z, %m : (tensor<1x3x4x4xf32>, tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32>
  return %s, %t : tensor<1x3x4x4xf32>, tensor<1x3x4x4xf32>
}

// Between the taps of dilations, and with strides.
// CHECK-LABEL: func.func @batch_norm_without_a_tap_stays
func.func @batch_norm_without_a_tap_stays(%x: tensor<1x1x1x4xf32>) -> (tensor<1x1x1x4xf32>, tensor<1x1x1x4xf32>) {
  %w = nn.constant dense<1.0> : tensor<1x1x1x3xf32>
  %one = nn.constant dense<1.0> : tensor<1xf32>
  // CHECK-COUNT-2: nn.add
  %y = nn.conv %x, %w pads [0, 1, 0, 3] dilations [1, 2] : (tensor<1x1x1x4xf32>, tensor<1x1x1x3xf32>) -> tensor<1x1x1x4xf32>
  %z = nn.conv %x, %w strides [2, 1] pads [0, 1, 0, 1] : (tensor<1x1x1x4xf32>, tensor<1x1x1x3xf32>) -> tensor<1x1x1x4xf32>
  %n = nn.batch_norm %x, %one, %one, %one, %one : (tensor<1x1x1x4xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x1x4xf32>
  %m = nn.batch_norm %x, %one, %one, %one, %one : (tensor<1x1x1x4xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x1x4xf32>
  %s = nn.add %y, %n : (tensor<1x1x1x4xf32>, tensor<1x1x1x4xf32>) -> tensor<1x1x1x4xf32>
  %t = nn.add %z, %m : (tensor<1x1x1x4xf32>, tensor<1x1x1x4xf32>) -> tensor<1x1x1x4xf32>
  return %s, %t : tensor<1x1x1x4xf32>, tensor<1x1x1x4xf32>
}

// CHECK-LABEL: func.func @batch_norm_of_another_value_stays
func.func @batch_norm_of_another_value_stays(%x: tensor<1x1x4x4xf32>, %u: tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32> {
  %w = nn.constant dense<1.0> : tensor<1x1x1x1xf32>
  %one = nn.constant dense<1.0> : tensor<1xf32>
  // CHECK: nn.add
  %y = nn.conv %x, %w : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32>
  %n = nn.batch_norm %u, %one, %one, %one, %one : (tensor<1x1x4x4xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x4x4xf32>
  %s = nn.add %y, %n : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
  return %s : tensor<1x1x4x4xf32>
}

// CHECK: constant.merged: "0x{{.*}}0000803F0000004000004040000060410000C841000010420000E0400000004100001041"
// CHECK: constant.merged_1: "0x{{.*}}0000C03F"
// CHECK: constant.merged_2: "0x{{.*}}0000803F0000803F0000803F0000803F000040400000803F0000803F0000803F0000803F"
// CHECK: constant.merged_3: "0x{{.*}}0000803F000000400000A040000080400000A04000000041"
// CHECK: constant.merged_4: "0x{{.*}}0000004100000041"
// CHECK: constant.merged_5: "0x{{.*}}000000400000803F0000803F00004040000080400000803F0000803F0000A040"
