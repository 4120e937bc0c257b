// RUN: octet-opt %s -split-input-file --octet-fuse-rows | FileCheck %s

// Both reductions, what is between them and what reads them are one step, up to a quantize.
// CHECK-LABEL: func @layer_norm
// CHECK: octet.group({{.*}} = %arg0) {{.*}} -> tensor<2x3x32x!quant.uniform<u8:f32, 5.000000e-01>> {
// CHECK-NEXT: nn.reduce_mean
// CHECK-NEXT: nn.sub
// CHECK-NEXT: nn.mul
// CHECK-NEXT: nn.reduce_mean
// CHECK-NEXT: nn.sqrt
// CHECK-NEXT: nn.div
// CHECK-NEXT: nn.mul
// CHECK-NEXT: octet.yield
// CHECK-NOT: octet.quantize
func.func @layer_norm(%x: tensor<2x3x32xf32>) -> tensor<2x3x32x!quant.uniform<u8:f32, 0.5>> {
  %w = nn.constant dense<2.0> : tensor<32xf32>
  %m = nn.reduce_mean %x axes [2] keep_dims : (tensor<2x3x32xf32>) -> tensor<2x3x1xf32>
  %d = nn.sub %x, %m : (tensor<2x3x32xf32>, tensor<2x3x1xf32>) -> tensor<2x3x32xf32>
  %s = nn.mul %d, %d : (tensor<2x3x32xf32>, tensor<2x3x32xf32>) -> tensor<2x3x32xf32>
  %v = nn.reduce_mean %s axes [2] keep_dims : (tensor<2x3x32xf32>) -> tensor<2x3x1xf32>
  %r = nn.sqrt %v : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %n = nn.div %d, %r : (tensor<2x3x32xf32>, tensor<2x3x1xf32>) -> tensor<2x3x32xf32>
  %y = nn.mul %n, %w : (tensor<2x3x32xf32>, tensor<32xf32>) -> tensor<2x3x32xf32>
  %q = octet.quantize %y : (tensor<2x3x32xf32>) -> tensor<2x3x32x!quant.uniform<u8:f32, 0.5>>
  return %q : tensor<2x3x32x!quant.uniform<u8:f32, 0.5>>
}

// -----

// A long chain in front of a reduction is computed once, and so is a sum that a product's epilogue takes.
// CHECK-LABEL: func @in_front
// CHECK: %[[E:.*]] = nn.exp %arg0
// CHECK: octet.group({{.*}}%[[E]]
// CHECK-NEXT: nn.reduce_sum
// CHECK-NEXT: nn.div
// CHECK-NEXT: octet.yield
// CHECK: %[[L:.*]] = nn.linear
// CHECK: %[[A:.*]] = nn.add %[[L]], %arg0
// CHECK: octet.group({{.*}}%[[A]]
// CHECK-NEXT: nn.reduce_max
// CHECK-NEXT: nn.sub
// CHECK-NEXT: octet.yield
func.func @in_front(%x: tensor<4x16xf32>, %z: tensor<4x16x!quant.uniform<u8:f32, 0.5>>,
    %w: tensor<16x16x!quant.uniform<i8:f32, 0.5>>) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
  %e = nn.exp %x : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %s = nn.reduce_sum %e axes [1] keep_dims : (tensor<4x16xf32>) -> tensor<4x1xf32>
  %d = nn.div %e, %s : (tensor<4x16xf32>, tensor<4x1xf32>) -> tensor<4x16xf32>
  %l = nn.linear %z, %w : (tensor<4x16x!quant.uniform<u8:f32, 0.5>>, tensor<16x16x!quant.uniform<i8:f32, 0.5>>) -> tensor<4x16xf32>
  %a = nn.add %l, %x : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  %m = nn.reduce_max %a axes [1] keep_dims : (tensor<4x16xf32>) -> tensor<4x1xf32>
  %b = nn.sub %a, %m : (tensor<4x16xf32>, tensor<4x1xf32>) -> tensor<4x16xf32>
  return %d, %b : tensor<4x16xf32>, tensor<4x16xf32>
}

// -----

// Left as they are: short rows, another dimension, a reduction that is read elsewhere.
// CHECK-LABEL: func @left
// CHECK-NOT: octet.group
func.func @left(%x: tensor<32x8xf32>, %z: tensor<4x16xf32>) -> (tensor<32x8xf32>, tensor<32x8xf32>, tensor<4x16xf32>, tensor<4x1xf32>) {
  %a = nn.reduce_max %x axes [1] keep_dims : (tensor<32x8xf32>) -> tensor<32x1xf32>
  %b = nn.sub %x, %a : (tensor<32x8xf32>, tensor<32x1xf32>) -> tensor<32x8xf32>
  %c = nn.reduce_max %x axes [0] keep_dims : (tensor<32x8xf32>) -> tensor<1x8xf32>
  %d = nn.sub %x, %c : (tensor<32x8xf32>, tensor<1x8xf32>) -> tensor<32x8xf32>
  %e = nn.reduce_max %z axes [1] keep_dims : (tensor<4x16xf32>) -> tensor<4x1xf32>
  %f = nn.sub %z, %e : (tensor<4x16xf32>, tensor<4x1xf32>) -> tensor<4x16xf32>
  return %b, %d, %f, %e : tensor<32x8xf32>, tensor<32x8xf32>, tensor<4x16xf32>, tensor<4x1xf32>
}
