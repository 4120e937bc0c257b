// RUN: sed 's/octet.float_sums length = 18/octet.float_sums length = 3/' %S/../../lib/Backend/backends/cpu.mlir > %t.mlir
// RUN: octet-opt %s --octet-attach-policy=backend=%t.mlir --octet-fuse --octet-explain | FileCheck %s
// RUN: octet-opt %s --octet-attach-policy=backend=%t.mlir --octet-fuse | FileCheck %s --check-prefix=FUSE
// RUN: octet-opt %s --octet-attach-policy --octet-fuse --octet-explain | FileCheck %s --check-prefix=SHORT

// Three sums, each of which adds to the one before, clamped, pooled and with further channels: they stay float, and so does what is added
// to one of them elsewhere. The layers compute floats, and those that read the sums have integers.
// CHECK: stem {{.*}}nn.conv {{.*}}int8
// CHECK: a {{.*}}nn.conv {{.*}}int8 to float
// CHECK: first {{.*}}nn.add {{.*}}float {{.*}}OCT127 many residual sums follow on each other
// CHECK: clamp {{.*}}nn.relu {{.*}}float {{.*}}OCT127
// CHECK: b {{.*}}nn.conv {{.*}}int8 to float
// CHECK: second {{.*}}nn.add {{.*}}float {{.*}}OCT127
// CHECK: pool {{.*}}nn.max_pool {{.*}}float {{.*}}OCT127
// CHECK: c {{.*}}nn.conv {{.*}}int8 to float
// CHECK: third {{.*}}nn.add {{.*}}float {{.*}}OCT127
// CHECK: d {{.*}}nn.conv {{.*}}int8 to float
// CHECK: beside {{.*}}nn.add {{.*}}float {{.*}}OCT127
// Nothing is added to what this one adds: both of its operands come from layers.
// CHECK: f {{.*}}nn.conv+nn.add {{.*}}int8

// FUSE: nn.conv %arg0
// FUSE: %[[A:.*]] = nn.conv
// FUSE: nn.add %[[A]]

// SHORT-NOT: OCT127
// SHORT: a {{.*}}nn.conv+nn.add+nn.relu {{.*}}int8
// SHORT-NOT: OCT127
func.func @main(%x: tensor<1x2x8x8xf32> {nn.name = "x"}) -> (tensor<1x4x4x4xf32>, tensor<1x2x8x8xf32>) {
  %w1 = nn.constant dense<0.1> : tensor<2x2x1x1xf32>
  %w2 = nn.constant dense<0.2> : tensor<2x2x1x1xf32>
  %w3 = nn.constant dense<0.3> : tensor<2x2x1x1xf32>
  %w4 = nn.constant dense<0.4> : tensor<4x2x1x1xf32>
  %w5 = nn.constant dense<0.5> : tensor<2x2x1x1xf32>
  %w6 = nn.constant dense<0.6> : tensor<4x4x1x1xf32>
  %w7 = nn.constant dense<0.7> : tensor<4x4x1x1xf32>
  %w8 = nn.constant dense<0.8> : tensor<4x4x1x1xf32>
  %w9 = nn.constant dense<0.9> : tensor<2x2x1x1xf32>
  %s = nn.conv %x, %w1 {octet.origin = #octet.origin<"stem">} : (tensor<1x2x8x8xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x8x8xf32>
  %a = nn.conv %s, %w2 {octet.origin = #octet.origin<"a">} : (tensor<1x2x8x8xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x8x8xf32>
  %0 = nn.add %a, %s {octet.origin = #octet.origin<"first">} : (tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %1 = nn.relu %0 {octet.origin = #octet.origin<"clamp">} : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %b = nn.conv %1, %w3 {octet.origin = #octet.origin<"b">} : (tensor<1x2x8x8xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x8x8xf32>
  %2 = nn.add %1, %b {octet.origin = #octet.origin<"second">} : (tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %3 = nn.max_pool %2 kernel [2, 2] strides [2, 2] {octet.origin = #octet.origin<"pool">} : (tensor<1x2x8x8xf32>) -> tensor<1x2x4x4xf32>
  %4 = nn.pad %3 low [0, 0, 0, 0] high [0, 2, 0, 0] : (tensor<1x2x4x4xf32>) -> tensor<1x4x4x4xf32>
  %c = nn.conv %2, %w4 strides [2, 2] {octet.origin = #octet.origin<"c">} : (tensor<1x2x8x8xf32>, tensor<4x2x1x1xf32>) -> tensor<1x4x4x4xf32>
  %5 = nn.add %c, %4 {octet.origin = #octet.origin<"third">} : (tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  %d = nn.conv %2, %w5 {octet.origin = #octet.origin<"d">} : (tensor<1x2x8x8xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x8x8xf32>
  %6 = nn.add %d, %2 {octet.origin = #octet.origin<"beside">} : (tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %e = nn.conv %5, %w6 {octet.origin = #octet.origin<"e">} : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
  %f = nn.conv %4, %w7 {octet.origin = #octet.origin<"f">} : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
  %7 = nn.add %f, %e {octet.origin = #octet.origin<"join">} : (tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  %g = nn.conv %7, %w8 {octet.origin = #octet.origin<"g">} : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
  %h = nn.conv %6, %w9 {octet.origin = #octet.origin<"h">} : (tensor<1x2x8x8xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x8x8xf32>
  return %g, %h : tensor<1x4x4x4xf32>, tensor<1x2x8x8xf32>
}
