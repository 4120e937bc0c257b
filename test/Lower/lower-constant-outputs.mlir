// RUN: octet-opt %s --octet-lower | FileCheck %s

!x = tensor<1x1x2x2x!quant.uniform<u8:f32, 0.5>>
!w = tensor<4x1x1x1x!quant.uniform<i8:f32:0, {0.5, 0.5, 0x3EB0000000000000, 0x3EB0000000000000}>>
!b = tensor<4x!quant.uniform<i32:f32:0, {0.25, 0.25, 0x3EA0000000000000, 0x3EA0000000000000}>>
!y = tensor<1x4x2x2x!quant.uniform<u8:f32, 1.0:10>>

// The second output is the lower bound whatever is read, the third 18, of a sum of 2^24: both get no weights, their value less the zero
// point as a bias, and scales by which they are multiplied by one. The fourth comes near a half, so that it depends on what is read.
// CHECK-LABEL: func @constant_outputs
// CHECK-SAME: %[[X:.*]]: tensor
// CHECK: %[[W:.*]] = nn.constant dense_resource<[[$WEIGHTS:.*]]> : tensor<4x1x1x1xi8> -> {{.*}}{5.000000e-01,2.000000e+00,2.000000e+00,9.5367431640625E-7}>>
// CHECK: %[[B:.*]] = nn.constant dense_resource<[[$BIASES:.*]]> : tensor<4xi32> -> {{.*}}{2.500000e-01,1.000000e+00,1.000000e+00,4.76837158203125E-7}>>
// CHECK: nn.conv %[[X]], %[[W]], %[[B]]
// CHECK-LABEL: func @one_scale
// CHECK: nn.constant dense<1> : tensor<4x1x1x1xi8>
// CHECK: [[$WEIGHTS]]: "0x1000000001000003"
// CHECK: [[$BIASES]]: "0x1000000000000000F6FFFFFF0800000000FF0F01"
func.func @constant_outputs(%x: !x) -> !y {
  %w = nn.constant dense<[[[[1]]], [[[1]]], [[[3]]], [[[3]]]]> : tensor<4x1x1x1xi8> -> !w
  %b = nn.constant dense<[0, -2000, 16777216, 17825536]> : tensor<4xi32> -> !b
  %y = nn.conv %x, %w, %b : (!x, !w, !b) -> !y
  return %y : !y
}

// A scale for all outputs: it stays, though the second output is the lower bound.
func.func @one_scale(%x: !x) -> !y {
  %w = nn.constant dense<1> : tensor<4x1x1x1xi8> -> tensor<4x1x1x1x!quant.uniform<i8:f32, 0.5>>
  %b = nn.constant dense<[0, -2000, 0, 0]> : tensor<4xi32> -> tensor<4x!quant.uniform<i32:f32, 0.25>>
  %y = nn.conv %x, %w, %b : (!x, tensor<4x1x1x1x!quant.uniform<i8:f32, 0.5>>, tensor<4x!quant.uniform<i32:f32, 0.25>>) -> !y
  return %y : !y
}
