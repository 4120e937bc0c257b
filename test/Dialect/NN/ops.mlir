// RUN: octet-opt %s | octet-opt | FileCheck %s

// CHECK-LABEL: func @convolution
func.func @convolution(%x: tensor<1x4x8x8xf32> {nn.name = "x"}, %w: tensor<8x2x3x3xf32>, %b: tensor<8xf32>) -> (tensor<1x8x4x4xf32> {nn.name = "y"}) {
  // CHECK: nn.conv %{{.*}}, %{{.*}}, %{{.*}} strides [2, 2] pads [1, 1, 1, 1] groups 2 :
  %y = nn.conv %x, %w, %b strides [2, 2] pads [1, 1, 1, 1] groups 2 : (tensor<1x4x8x8xf32>, tensor<8x2x3x3xf32>, tensor<8xf32>) -> tensor<1x8x4x4xf32>
  return %y : tensor<1x8x4x4xf32>
}

// A constant of quantized type says so; any other has its value's type.
// CHECK-LABEL: func @constants
func.func @constants() {
  // CHECK: nn.constant dense<1> : tensor<2xi8> -> tensor<2x!quant.uniform<i8:f32:0, {
  %q = nn.constant dense<1> : tensor<2xi8> -> tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  // CHECK: nn.constant dense<1.000000e+00> : tensor<2xf32>
  %f = nn.constant dense<1.0> : tensor<2xf32>
  return
}

// CHECK-LABEL: func @windows_and_movement
func.func @windows_and_movement(%x: tensor<1x2x6x6xf32>) -> tensor<1x2x6x6xf32> {
  // CHECK: nn.max_pool %{{.*}} kernel [3, 3] strides [2, 2] pads [1, 1, 1, 1]
  %m = nn.max_pool %x kernel [3, 3] strides [2, 2] pads [1, 1, 1, 1] : (tensor<1x2x6x6xf32>) -> tensor<1x2x3x3xf32>
  // CHECK: nn.avg_pool %{{.*}} kernel [3, 3] count_include_pad
  %a = nn.avg_pool %m kernel [3, 3] count_include_pad : (tensor<1x2x3x3xf32>) -> tensor<1x2x1x1xf32>
  // CHECK: nn.concat %{{.*}}, %{{.*}} axis 1
  %c = nn.concat %m, %m axis 1 : (tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>) -> tensor<1x4x3x3xf32>
  // CHECK: nn.slice %{{.*}} starts [0, 3, 0, 0] sizes [1, 2, 3, 3] steps [1, -1, 1, 1]
  %s = nn.slice %c starts [0, 3, 0, 0] sizes [1, 2, 3, 3] steps [1, -1, 1, 1] : (tensor<1x4x3x3xf32>) -> tensor<1x2x3x3xf32>
  // CHECK: nn.pad %{{.*}} low [0, 0, 1, 1] high [0, 0, 2, 2]
  %p = nn.pad %s low [0, 0, 1, 1] high [0, 0, 2, 2] : (tensor<1x2x3x3xf32>) -> tensor<1x2x6x6xf32>
  // CHECK: nn.clip %{{.*}} min 0.000000e+00 max 6.000000e+00
  %r = nn.clip %p min 0.0 max 6.0 : (tensor<1x2x6x6xf32>) -> tensor<1x2x6x6xf32>
  // CHECK: nn.add
  %t = nn.add %r, %a : (tensor<1x2x6x6xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x6x6xf32>
  return %t : tensor<1x2x6x6xf32>
}
