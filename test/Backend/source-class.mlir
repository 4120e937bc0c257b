// Patterns tell apart classes of the source; operators without one match by what they compute.
// RUN: octet-opt %s --octet-attach-policy=backend=native --octet-fuse | FileCheck %s

// Batch norm disappears into modules, not into functions; relu joins the convolution of each.
// CHECK-LABEL: func.func @module
// CHECK-NOT: nn.batch_norm
// CHECK: octet.group @native::@conv2d
func.func @module(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = nn.constant dense<1.0> : tensor<2x1x1x1xf32>
  %v = nn.constant dense<1.0> : tensor<2xf32>
  %c = nn.conv %x, %w, %v {octet.origin = #octet.origin<"c", "torch.nn.Conv2d", 0>} : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %n = nn.batch_norm %c, %v, %v, %v, %v epsilon 1.0e-5 {octet.origin = #octet.origin<"n", "torch.nn.BatchNorm2d", 0>} : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %y = nn.relu %n {octet.origin = #octet.origin<"r", "torch.nn.ReLU", 0>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  return %y : tensor<1x2x4x4xf32>
}

// CHECK-LABEL: func.func @function
// CHECK: nn.conv
// CHECK: octet.group @native::@batch_norm_relu
func.func @function(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = nn.constant dense<1.0> : tensor<2x1x1x1xf32>
  %v = nn.constant dense<1.0> : tensor<2xf32>
  %c = nn.conv %x, %w, %v {octet.origin = #octet.origin<"c", "torch.nn.functional.conv2d", 0>} : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %n = nn.batch_norm %c, %v, %v, %v, %v epsilon 1.0e-5 {octet.origin = #octet.origin<"n", "torch.nn.BatchNorm2d", 0>} : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %y = nn.relu %n {octet.origin = #octet.origin<"r", "torch.nn.functional.relu", 0>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  return %y : tensor<1x2x4x4xf32>
}

// Without classes, and with those of ONNX.
// CHECK-LABEL: func.func @unknown
// CHECK: octet.group @native::@conv2d_relu
func.func @unknown(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = nn.constant dense<1.0> : tensor<2x1x1x1xf32>
  %c = nn.conv %x, %w {octet.origin = #octet.origin<"c", "Conv", 0>} : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %y = nn.relu %c : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  return %y : tensor<1x2x4x4xf32>
}

// A class that no pattern has.
// CHECK-LABEL: func.func @other
// CHECK-NOT: octet.group
// CHECK: return
func.func @other(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = nn.constant dense<1.0> : tensor<2x1x1x1xf32>
  %c = nn.conv %x, %w {octet.origin = #octet.origin<"c", "torchvision.Conv", 0>} : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %y = nn.relu %c {octet.origin = #octet.origin<"r", "torch.nn.ReLU", 0>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  return %y : tensor<1x2x4x4xf32>
}
