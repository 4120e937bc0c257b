// RUN: octet-opt %s --octet-fuse-rows --octet-assign-layout --octet-emit-program=levels=avx2 | FileCheck %s

// Equal normalizations have one kernel, whatever the addresses of their values are.
// CHECK-COUNT-6: kernel.step @rows_0
// CHECK: func.func private @rows_0
// CHECK-NOT: func.func private @rows_
func.func @main(%x: tensor<2x3x32xf32> {nn.name = "x"}) -> (tensor<2x3x32xf32> {nn.name = "y"}) {
  %w = nn.constant dense<0.5> : tensor<32x32xf32>
  %m0 = nn.reduce_mean %x axes [2] keep_dims : (tensor<2x3x32xf32>) -> tensor<2x3x1xf32>
  %d0 = nn.sub %x, %m0 : (tensor<2x3x32xf32>, tensor<2x3x1xf32>) -> tensor<2x3x32xf32>
  %s0 = nn.mul %d0, %d0 : (tensor<2x3x32xf32>, tensor<2x3x32xf32>) -> tensor<2x3x32xf32>
  %v0 = nn.reduce_mean %s0 axes [2] keep_dims : (tensor<2x3x32xf32>) -> tensor<2x3x1xf32>
  %r0 = nn.sqrt %v0 : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %y0 = nn.div %d0, %r0 : (tensor<2x3x32xf32>, tensor<2x3x1xf32>) -> tensor<2x3x32xf32>
  %l0 = nn.linear %y0, %w : (tensor<2x3x32xf32>, tensor<32x32xf32>) -> tensor<2x3x32xf32>
  %m1 = nn.reduce_mean %l0 axes [2] keep_dims : (tensor<2x3x32xf32>) -> tensor<2x3x1xf32>
  %d1 = nn.sub %l0, %m1 : (tensor<2x3x32xf32>, tensor<2x3x1xf32>) -> tensor<2x3x32xf32>
  %s1 = nn.mul %d1, %d1 : (tensor<2x3x32xf32>, tensor<2x3x32xf32>) -> tensor<2x3x32xf32>
  %v1 = nn.reduce_mean %s1 axes [2] keep_dims : (tensor<2x3x32xf32>) -> tensor<2x3x1xf32>
  %r1 = nn.sqrt %v1 : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %y1 = nn.div %d1, %r1 : (tensor<2x3x32xf32>, tensor<2x3x1xf32>) -> tensor<2x3x32xf32>
  %l1 = nn.linear %y1, %w : (tensor<2x3x32xf32>, tensor<32x32xf32>) -> tensor<2x3x32xf32>
  %m2 = nn.reduce_mean %l1 axes [2] keep_dims : (tensor<2x3x32xf32>) -> tensor<2x3x1xf32>
  %d2 = nn.sub %l1, %m2 : (tensor<2x3x32xf32>, tensor<2x3x1xf32>) -> tensor<2x3x32xf32>
  %s2 = nn.mul %d2, %d2 : (tensor<2x3x32xf32>, tensor<2x3x32xf32>) -> tensor<2x3x32xf32>
  %v2 = nn.reduce_mean %s2 axes [2] keep_dims : (tensor<2x3x32xf32>) -> tensor<2x3x1xf32>
  %r2 = nn.sqrt %v2 : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %y2 = nn.div %d2, %r2 : (tensor<2x3x32xf32>, tensor<2x3x1xf32>) -> tensor<2x3x32xf32>
  %l2 = nn.linear %y2, %w : (tensor<2x3x32xf32>, tensor<32x32xf32>) -> tensor<2x3x32xf32>
  %m3 = nn.reduce_mean %l2 axes [2] keep_dims : (tensor<2x3x32xf32>) -> tensor<2x3x1xf32>
  %d3 = nn.sub %l2, %m3 : (tensor<2x3x32xf32>, tensor<2x3x1xf32>) -> tensor<2x3x32xf32>
  %s3 = nn.mul %d3, %d3 : (tensor<2x3x32xf32>, tensor<2x3x32xf32>) -> tensor<2x3x32xf32>
  %v3 = nn.reduce_mean %s3 axes [2] keep_dims : (tensor<2x3x32xf32>) -> tensor<2x3x1xf32>
  %r3 = nn.sqrt %v3 : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %y3 = nn.div %d3, %r3 : (tensor<2x3x32xf32>, tensor<2x3x1xf32>) -> tensor<2x3x32xf32>
  %l3 = nn.linear %y3, %w : (tensor<2x3x32xf32>, tensor<32x32xf32>) -> tensor<2x3x32xf32>
  %m4 = nn.reduce_mean %l3 axes [2] keep_dims : (tensor<2x3x32xf32>) -> tensor<2x3x1xf32>
  %d4 = nn.sub %l3, %m4 : (tensor<2x3x32xf32>, tensor<2x3x1xf32>) -> tensor<2x3x32xf32>
  %s4 = nn.mul %d4, %d4 : (tensor<2x3x32xf32>, tensor<2x3x32xf32>) -> tensor<2x3x32xf32>
  %v4 = nn.reduce_mean %s4 axes [2] keep_dims : (tensor<2x3x32xf32>) -> tensor<2x3x1xf32>
  %r4 = nn.sqrt %v4 : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %y4 = nn.div %d4, %r4 : (tensor<2x3x32xf32>, tensor<2x3x1xf32>) -> tensor<2x3x32xf32>
  %l4 = nn.linear %y4, %w : (tensor<2x3x32xf32>, tensor<32x32xf32>) -> tensor<2x3x32xf32>
  %m5 = nn.reduce_mean %l4 axes [2] keep_dims : (tensor<2x3x32xf32>) -> tensor<2x3x1xf32>
  %d5 = nn.sub %l4, %m5 : (tensor<2x3x32xf32>, tensor<2x3x1xf32>) -> tensor<2x3x32xf32>
  %s5 = nn.mul %d5, %d5 : (tensor<2x3x32xf32>, tensor<2x3x32xf32>) -> tensor<2x3x32xf32>
  %v5 = nn.reduce_mean %s5 axes [2] keep_dims : (tensor<2x3x32xf32>) -> tensor<2x3x1xf32>
  %r5 = nn.sqrt %v5 : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %y5 = nn.div %d5, %r5 : (tensor<2x3x32xf32>, tensor<2x3x1xf32>) -> tensor<2x3x32xf32>
  %l5 = nn.linear %y5, %w : (tensor<2x3x32xf32>, tensor<32x32xf32>) -> tensor<2x3x32xf32>
  return %l5 : tensor<2x3x32xf32>
}
