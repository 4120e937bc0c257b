// RUN: octet-opt %s --octet-flush-weights | FileCheck %s

// 2^-100 of the largest stays, what is below becomes zero; the bias and other readers keep theirs.
// CHECK-LABEL: func.func @subnormal_weights
func.func @subnormal_weights(%x: tensor<1x4xf32>) -> (tensor<1x1xf32>, tensor<1x4xf32>, tensor<1x1xf32>) {
  // CHECK-DAG: %[[OLD:.*]] = nn.constant dense_resource<w> : tensor<1x4xf32>
  // CHECK-DAG: %[[NEW:.*]] = nn.constant dense_resource<w.flushed> : tensor<1x4xf32>
  %w = nn.constant dense_resource<w> : tensor<1x4xf32>
  %b = nn.constant dense<1.0e-40> : tensor<1xf32>
  // CHECK: nn.linear %{{.*}}, %[[NEW]], %{{.*}} :
  %y = nn.linear %x, %w, %b : (tensor<1x4xf32>, tensor<1x4xf32>, tensor<1xf32>) -> tensor<1x1xf32>
  // CHECK: nn.add %{{.*}}, %[[OLD]]
  %z = nn.add %x, %w : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  // CHECK: nn.linear %{{.*}}, %[[NEW]] :
  %u = nn.linear %x, %w : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x1xf32>
  return %y, %z, %u : tensor<1x1xf32>, tensor<1x4xf32>, tensor<1x1xf32>
}

// Beside one another, subnormal numbers matter; an infinite weight stays alone.
// CHECK-LABEL: func.func @small_or_infinite
// CHECK-DAG: %[[SMALL:.*]] = nn.constant dense_resource<small>
// CHECK-DAG: %[[INFINITE:.*]] = nn.constant dense_resource<infinite>
// CHECK: nn.linear %{{.*}}, %[[SMALL]] :
// CHECK: nn.linear %{{.*}}, %[[INFINITE]] :
func.func @small_or_infinite(%x: tensor<1x2xf32>) -> (tensor<1x1xf32>, tensor<1x1xf32>) {
  %w = nn.constant dense_resource<small> : tensor<1x2xf32>
  %v = nn.constant dense_resource<infinite> : tensor<1x2xf32>
  %y = nn.linear %x, %w : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x1xf32>
  %z = nn.linear %x, %v : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x1xf32>
  return %y, %z : tensor<1x1xf32>, tensor<1x1xf32>
}

// The weights: 2.0, 2^-99, the float below it, and -1.0e-40.
// CHECK: w.flushed: "0x10000000000000400000000E0000000000000000"
{-#
  dialect_resources: { builtin: {
    w: "0x04000000000000400000000EFFFFFF0DC2160180",
    small: "0x040000000100000002000000",
    infinite: "0x040000000000807F01000000"
  } }
#-}
