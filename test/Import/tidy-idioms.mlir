// RUN: octet-opt %s --octet-tidy | FileCheck %s

// An idiom is one operator before reshapes and transposes move behind it: it is fused with its convolution.
// CHECK-LABEL: func @behind_moves
// CHECK: %[[SUM:.*]] = nn.conv
// CHECK-NEXT: %[[SILU:.*]] = nn.silu %[[SUM]]
// CHECK-NEXT: nn.reshape %[[SILU]]
// CHECK-NEXT: nn.transpose
// CHECK-NEXT: return
func.func @behind_moves(%x: tensor<1x1x3x3xf32>) -> tensor<1x9x2xf32> {
  %w = nn.constant dense<1.0> : tensor<2x1x1x1xf32>
  %c = nn.conv %x, %w : (tensor<1x1x3x3xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x3x3xf32>
  %r = nn.reshape %c : (tensor<1x2x3x3xf32>) -> tensor<1x2x9xf32>
  %t = nn.transpose %r permutation [0, 2, 1] : (tensor<1x2x9xf32>) -> tensor<1x9x2xf32>
  %s = nn.sigmoid %t : (tensor<1x9x2xf32>) -> tensor<1x9x2xf32>
  %y = nn.mul %t, %s : (tensor<1x9x2xf32>, tensor<1x9x2xf32>) -> tensor<1x9x2xf32>
  return %y : tensor<1x9x2xf32>
}
