// RUN: octet-opt %s --octet-attach-policy --octet-fuse --octet-equalize -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: octet-opt %s --octet-attach-policy --octet-fuse --octet-equalize=threshold=1000 -o - | FileCheck %s
// RUN: octet-opt %s --octet-attach-policy --octet-fuse --octet-equalize=iterations=1 -o - | FileCheck %s

// The ranges of the channels are 4 and 1 in the first layer, 1 and 4 in the second one: the factors are 2 and 1/2.
// CHECK-LABEL: func.func @linear_relu_linear
// CHECK: %[[W1:.*]] = nn.constant dense_resource<w1.equalized>
// CHECK: %[[B1:.*]] = nn.constant dense_resource<b1.equalized>
// CHECK: octet.group {{.*}} = %[[W1]], %{{.*}} = %[[B1]])
// CHECK: nn.relu
// CHECK: %[[W2:.*]] = nn.constant dense_resource<w2.equalized>
// CHECK: nn.linear %{{.*}}, %[[W2]]
func.func @linear_relu_linear(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %w1 = nn.constant dense_resource<w1> : tensor<2x2xf32>
  %b1 = nn.constant dense_resource<b1> : tensor<2xf32>
  %w2 = nn.constant dense_resource<w2> : tensor<2x2xf32>
  %c = nn.linear %x, %w1, %b1 : (tensor<1x2xf32>, tensor<2x2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  %r = nn.relu %c : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %y = nn.linear %r, %w2 : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  return %y : tensor<1x2xf32>
}

// A depthwise convolution and pools are a part of the chain.
// CHECK-LABEL: func.func @depthwise_and_pools
// CHECK-COUNT-3: .equalized
func.func @depthwise_and_pools(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32> {
  %w = nn.constant dense<[[[[0.5]], [[1.0]]], [[[3.0]], [[-1.0]]]]> : tensor<2x2x1x1xf32>
  %d = nn.constant dense<[[[[-0.5, 0.25]]], [[[0.125, 0.0]]]]> : tensor<2x1x1x2xf32>
  %a = nn.conv %x, %w : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %p = nn.avg_pool %a kernel [2, 2] strides [2, 2] : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  %b = nn.conv %p, %d pads [0, 0, 0, 1] groups 2 : (tensor<1x2x2x2xf32>, tensor<2x1x1x2xf32>) -> tensor<1x2x2x2xf32>
  %l = nn.leaky_relu %b alpha 0.1 : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  %y = nn.conv %l, %w : (tensor<1x2x2x2xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x2x2xf32>
  return %y : tensor<1x2x2x2xf32>
}

// A bound at 6 moves with a factor, one at 0 does not.
// CHECK-LABEL: func.func @clip_at_0
// CHECK: .equalized
func.func @clip_at_0(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %w = nn.constant dense<[[1.0, 2.0], [0.5, -0.5]]> : tensor<2x2xf32>
  %c = nn.linear %x, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %r = nn.clip %c min 0.0 max 0x7F800000 : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %y = nn.linear %r, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  return %y : tensor<1x2xf32>
}

// CHECK-LABEL: func.func @clip_at_6
// CHECK-NOT: .equalized
// CHECK: return
func.func @clip_at_6(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %w = nn.constant dense<[[1.0, 2.0], [0.5, -0.5]]> : tensor<2x2xf32>
  %c = nn.linear %x, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %r = nn.clip %c min 0.0 max 6.0 : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %y = nn.linear %r, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  return %y : tensor<1x2xf32>
}

// CHECK-LABEL: func.func @two_readers
// CHECK-NOT: .equalized
// CHECK: return
func.func @two_readers(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %w = nn.constant dense<[[1.0, 2.0], [0.5, -0.5]]> : tensor<2x2xf32>
  %c = nn.linear %x, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %y = nn.linear %c, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %s = nn.add %y, %c : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  return %s : tensor<1x2xf32>
}
{-#
  dialect_resources: { builtin: {
    w1: "0x04000000000000C000000040000000BF0000003F",
    b1: "0x040000000000803F0000803F",
    w2: "0x040000000000003F000000C0000000BF00000040"
  } }
#-}
