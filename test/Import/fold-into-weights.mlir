// RUN: octet-opt %s --octet-fold-into-weights | FileCheck %s

// CHECK-LABEL: func.func @zero_pad_goes_into_the_convolution
// CHECK-SAME: (%[[X:.*]]: tensor<1x1x3x3xf32>
func.func @zero_pad_goes_into_the_convolution(%x: tensor<1x1x3x3xf32>) -> tensor<1x1x6x5xf32> {
  %w = nn.constant dense<1.0> : tensor<1x1x1x1xf32>
  // CHECK-NOT: nn.pad
  // CHECK: nn.conv %[[X]], %{{.*}} pads [1, 2, 2, 0]
  %p = nn.pad %x low [0, 0, 1, 1] high [0, 0, 1, 0] : (tensor<1x1x3x3xf32>) -> tensor<1x1x5x4xf32>
  %y = nn.conv %p, %w pads [0, 1, 1, 0] : (tensor<1x1x5x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x6x5xf32>
  return %y : tensor<1x1x6x5xf32>
}

// CHECK-LABEL: func.func @pad_with_another_value_stays
func.func @pad_with_another_value_stays(%x: tensor<1x1x3x3xf32>) -> tensor<1x1x4x4xf32> {
  %w = nn.constant dense<1.0> : tensor<1x1x1x1xf32>
  // CHECK: nn.pad
  %p = nn.pad %x low [0, 0, 1, 1] high [0, 0, 0, 0] value 1.0 : (tensor<1x1x3x3xf32>) -> tensor<1x1x4x4xf32>
  %y = nn.conv %p, %w : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32>
  return %y : tensor<1x1x4x4xf32>
}

// CHECK-LABEL: func.func @pad_of_channels_stays
func.func @pad_of_channels_stays(%x: tensor<1x1x3x3xf32>) -> tensor<1x1x3x3xf32> {
  %w = nn.constant dense<1.0> : tensor<1x2x1x1xf32>
  // CHECK: nn.pad
  %p = nn.pad %x low [0, 1, 0, 0] high [0, 0, 0, 0] : (tensor<1x1x3x3xf32>) -> tensor<1x2x3x3xf32>
  %y = nn.conv %p, %w : (tensor<1x2x3x3xf32>, tensor<1x2x1x1xf32>) -> tensor<1x1x3x3xf32>
  return %y : tensor<1x1x3x3xf32>
}

// CHECK-LABEL: func.func @pad_read_twice_stays
func.func @pad_read_twice_stays(%x: tensor<1x1x3x3xf32>) -> (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) {
  %w = nn.constant dense<1.0> : tensor<1x1x1x1xf32>
  // CHECK: nn.pad
  %p = nn.pad %x low [0, 0, 1, 1] high [0, 0, 0, 0] : (tensor<1x1x3x3xf32>) -> tensor<1x1x4x4xf32>
  %y = nn.conv %p, %w : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32>
  return %y, %p : tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>
}

// CHECK-LABEL: func.func @vector_behind_a_convolution_is_its_bias
func.func @vector_behind_a_convolution_is_its_bias(%x: tensor<1x1x3x3xf32>) -> tensor<1x2x3x3xf32> {
  %w = nn.constant dense<1.0> : tensor<2x1x1x1xf32>
  %y = nn.conv %x, %w : (tensor<1x1x3x3xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x3x3xf32>
  // CHECK: %[[B:.*]] = nn.constant {{.*}} : tensor<2xf32>
  // CHECK: nn.conv %{{.*}}, %{{.*}}, %[[B]]
  // CHECK-NOT: nn.add
  %b = nn.constant dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32>
  %z = nn.add %b, %y : (tensor<2x1x1xf32>, tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  return %z : tensor<1x2x3x3xf32>
}

// CHECK-LABEL: func.func @vector_behind_a_linear_layer_is_its_bias
func.func @vector_behind_a_linear_layer_is_its_bias(%x: tensor<4x3xf32>) -> tensor<4x2xf32> {
  %w = nn.constant dense<1.0> : tensor<2x3xf32>
  // CHECK: %[[B:.*]] = nn.constant dense<{{.*}}> : tensor<2xf32>
  // CHECK: nn.linear %{{.*}}, %{{.*}}, %[[B]]
  // CHECK-NOT: nn.add
  %b = nn.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %y = nn.linear %x, %w : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  %z = nn.add %y, %b : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  return %z : tensor<4x2xf32>
}

// A value per row is no bias.
// CHECK-LABEL: func.func @column_stays
func.func @column_stays(%x: tensor<2x3xf32>) -> tensor<2x2xf32> {
  %w = nn.constant dense<1.0> : tensor<2x3xf32>
  %b = nn.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %y = nn.linear %x, %w : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
  // CHECK: nn.add
  %z = nn.add %y, %b : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  return %z : tensor<2x2xf32>
}

// A dilation of the image's height: only the middle row ever meets the image. All columns do.
// CHECK-LABEL: func.func @kernel_that_meets_padding_is_cropped
func.func @kernel_that_meets_padding_is_cropped(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32> {
  %w = nn.constant dense<[[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]]]> : tensor<1x1x3x3xf32>
  // CHECK: %[[W:.*]] = nn.constant dense_resource<constant.cropped> : tensor<1x1x1x3xf32>
  // CHECK: nn.conv %{{.*}}, %[[W]] pads [0, 3, 0, 3] dilations [1, 3] :
  // CHECK: constant.cropped: "0x{{.*}}000080400000A0400000C040"
  %y = nn.conv %x, %w pads [4, 3, 4, 3] dilations [4, 3] : (tensor<1x1x4x4xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x4x4xf32>
  return %y : tensor<1x1x4x4xf32>
}
