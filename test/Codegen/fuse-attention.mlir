// RUN: octet-opt %s -split-input-file --octet-fuse-attention | FileCheck %s

!q = !quant.uniform<u8:f32, 0.5:3>
!e = !quant.uniform<u8:f32, 0.25>

// A mask and a quantize of the result are parts; the memory for packed columns comes last: 2 * (2 * (2 * 128 + 64) + 8 * 128 + 64).
// CHECK-LABEL: func @attention
// CHECK-SAME: (%[[X:.*]]: tensor<2x5x8x{{.*}}>, %[[K:.*]]: tensor<2x8x32x{{.*}}>, %[[V:.*]]: tensor<2x32x16x{{.*}}>, %[[MASK:.*]]: tensor<32xf32>)
// CHECK: %[[Q:.*]] = nn.transpose {{.*}} -> tensor<2x5x8x
// CHECK: %[[MEMORY:.*]] = tensor.empty() {octet.origin = #octet.origin<"out">} : tensor<3456xi8>
// CHECK-NEXT: %[[Y:.*]] = octet.group(%{{.*}} = %[[Q]], %{{.*}} = %[[K]], %{{.*}} = %[[MASK]], %{{.*}} = %[[V]], %{{.*}} = %[[MEMORY]]) attributes {octet.origin = #octet.origin<"out">}
// CHECK-SAME: -> tensor<2x5x16x!quant.uniform<u8:f32, 5.000000e-01:3>> {
// CHECK: nn.matmul
// CHECK: nn.add
// CHECK: nn.reduce_max
// CHECK: nn.sub
// CHECK: nn.exp
// CHECK: octet.quantize
// CHECK: nn.matmul
// CHECK: nn.reduce_sum
// CHECK: %[[R:.*]] = nn.div
// CHECK: octet.yield %[[R]] : tensor<2x5x16xf32>
// CHECK: nn.transpose %[[Y]]
func.func @attention(%x: tensor<2x5x8x!q>, %k: tensor<2x8x32x!q>, %v: tensor<2x32x16x!q>, %mask: tensor<32xf32>) -> tensor<2x16x5x!q> {
  %t = nn.transpose %x permutation [0, 2, 1] : (tensor<2x5x8x!q>) -> tensor<2x8x5x!q>
  %a = nn.transpose %t permutation [0, 2, 1] : (tensor<2x8x5x!q>) -> tensor<2x5x8x!q>
  %s = nn.matmul %a, %k : (tensor<2x5x8x!q>, tensor<2x8x32x!q>) -> tensor<2x5x32xf32>
  %n = nn.add %s, %mask : (tensor<2x5x32xf32>, tensor<32xf32>) -> tensor<2x5x32xf32>
  %m = nn.reduce_max %n axes [2] keep_dims : (tensor<2x5x32xf32>) -> tensor<2x5x1xf32>
  %d = nn.sub %n, %m : (tensor<2x5x32xf32>, tensor<2x5x1xf32>) -> tensor<2x5x32xf32>
  %e = nn.exp %d : (tensor<2x5x32xf32>) -> tensor<2x5x32xf32>
  %w = octet.quantize %e : (tensor<2x5x32xf32>) -> tensor<2x5x32x!e>
  %p = nn.matmul %w, %v : (tensor<2x5x32x!e>, tensor<2x32x16x!q>) -> tensor<2x5x16xf32>
  %c = nn.reduce_sum %w axes [2] keep_dims : (tensor<2x5x32x!e>) -> tensor<2x5x1xf32>
  %y = nn.div %p, %c : (tensor<2x5x16xf32>, tensor<2x5x1xf32>) -> tensor<2x5x16xf32>
  %z = octet.quantize %y {octet.origin = #octet.origin<"out">} : (tensor<2x5x16xf32>) -> tensor<2x5x16x!q>
  %r = nn.transpose %z permutation [0, 2, 1] : (tensor<2x5x16x!q>) -> tensor<2x16x5x!q>
  return %r : tensor<2x16x5x!q>
}

// -----

!q = !quant.uniform<u8:f32, 0.5:3>
!e = !quant.uniform<u8:f32, 0.25>

// Scores that something else reads.
// CHECK-LABEL: func @read_elsewhere
// CHECK-NOT: octet.group
func.func @read_elsewhere(%x: tensor<8x8x!q>, %k: tensor<8x32x!q>, %v: tensor<32x16x!q>) -> (tensor<8x16xf32>, tensor<8x32xf32>) {
  %t = nn.transpose %x permutation [1, 0] : (tensor<8x8x!q>) -> tensor<8x8x!q>
  %s = nn.matmul %t, %k : (tensor<8x8x!q>, tensor<8x32x!q>) -> tensor<8x32xf32>
  %m = nn.reduce_max %s axes [1] keep_dims : (tensor<8x32xf32>) -> tensor<8x1xf32>
  %d = nn.sub %s, %m : (tensor<8x32xf32>, tensor<8x1xf32>) -> tensor<8x32xf32>
  %e = nn.exp %d : (tensor<8x32xf32>) -> tensor<8x32xf32>
  %w = octet.quantize %e : (tensor<8x32xf32>) -> tensor<8x32x!e>
  %p = nn.matmul %w, %v : (tensor<8x32x!e>, tensor<32x16x!q>) -> tensor<8x16xf32>
  %c = nn.reduce_sum %w axes [1] keep_dims : (tensor<8x32x!e>) -> tensor<8x1xf32>
  %y = nn.div %p, %c : (tensor<8x16xf32>, tensor<8x1xf32>) -> tensor<8x16xf32>
  return %y, %s : tensor<8x16xf32>, tensor<8x32xf32>
}

// -----

!q = !quant.uniform<u8:f32, 0.5:3>
!e = !quant.uniform<u8:f32, 0.25>

// Scores that f reads beside the differences, and the caller's memory on the left, which is not read beyond its end.
// CHECK-LABEL: func @other_forms
// CHECK-NOT: octet.group
func.func @other_forms(%x: tensor<8x8x!q>, %k: tensor<8x32x!q>, %v: tensor<32x16x!q>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %t = nn.transpose %x permutation [1, 0] : (tensor<8x8x!q>) -> tensor<8x8x!q>
  %s = nn.matmul %t, %k : (tensor<8x8x!q>, tensor<8x32x!q>) -> tensor<8x32xf32>
  %m = nn.reduce_max %s axes [1] keep_dims : (tensor<8x32xf32>) -> tensor<8x1xf32>
  %d = nn.sub %s, %m : (tensor<8x32xf32>, tensor<8x1xf32>) -> tensor<8x32xf32>
  %f = nn.mul %d, %s : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>
  %w = octet.quantize %f : (tensor<8x32xf32>) -> tensor<8x32x!e>
  %p = nn.matmul %w, %v : (tensor<8x32x!e>, tensor<32x16x!q>) -> tensor<8x16xf32>
  %c = nn.reduce_sum %w axes [1] keep_dims : (tensor<8x32x!e>) -> tensor<8x1xf32>
  %y = nn.div %p, %c : (tensor<8x16xf32>, tensor<8x1xf32>) -> tensor<8x16xf32>
  %s1 = nn.matmul %x, %k : (tensor<8x8x!q>, tensor<8x32x!q>) -> tensor<8x32xf32>
  %m1 = nn.reduce_max %s1 axes [1] keep_dims : (tensor<8x32xf32>) -> tensor<8x1xf32>
  %d1 = nn.sub %s1, %m1 : (tensor<8x32xf32>, tensor<8x1xf32>) -> tensor<8x32xf32>
  %w1 = octet.quantize %d1 : (tensor<8x32xf32>) -> tensor<8x32x!e>
  %p1 = nn.matmul %w1, %v : (tensor<8x32x!e>, tensor<32x16x!q>) -> tensor<8x16xf32>
  %c1 = nn.reduce_sum %w1 axes [1] keep_dims : (tensor<8x32x!e>) -> tensor<8x1xf32>
  %y1 = nn.div %p1, %c1 : (tensor<8x16xf32>, tensor<8x1xf32>) -> tensor<8x16xf32>
  return %y, %y1 : tensor<8x16xf32>, tensor<8x16xf32>
}

// -----

!q = !quant.uniform<u8:f32, 0.5:3>
!e = !quant.uniform<u8:f32, 0.25>

// Quotients that are NaN, in rows that are masked altogether, become zeros within the step; not those that something else reads.
// CHECK-LABEL: func @masked_altogether
// CHECK: octet.group
// CHECK: %[[Y:.*]] = nn.div
// CHECK: %[[C:.*]] = nn.compare equal %[[Y]], %[[Y]]
// CHECK: %[[Z:.*]] = nn.select %[[C]], %[[Y]],
// CHECK: octet.yield %[[Z]]
// CHECK: octet.group
// CHECK: %[[Y1:.*]] = nn.div
// CHECK-NEXT: octet.yield %[[Y1]]
func.func @masked_altogether(%x: tensor<8x8x!q>, %k: tensor<8x32x!q>, %v: tensor<32x16x!q>) -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) {
  %t = nn.transpose %x permutation [1, 0] : (tensor<8x8x!q>) -> tensor<8x8x!q>
  %zero = nn.constant dense<0.0> : tensor<f32>
  %s = nn.matmul %t, %k : (tensor<8x8x!q>, tensor<8x32x!q>) -> tensor<8x32xf32>
  %m = nn.reduce_max %s axes [1] keep_dims : (tensor<8x32xf32>) -> tensor<8x1xf32>
  %d = nn.sub %s, %m : (tensor<8x32xf32>, tensor<8x1xf32>) -> tensor<8x32xf32>
  %w = octet.quantize %d : (tensor<8x32xf32>) -> tensor<8x32x!e>
  %p = nn.matmul %w, %v : (tensor<8x32x!e>, tensor<32x16x!q>) -> tensor<8x16xf32>
  %c = nn.reduce_sum %w axes [1] keep_dims : (tensor<8x32x!e>) -> tensor<8x1xf32>
  %y = nn.div %p, %c : (tensor<8x16xf32>, tensor<8x1xf32>) -> tensor<8x16xf32>
  %n = nn.compare equal %y, %y : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xi1>
  %z = nn.select %n, %y, %zero : (tensor<8x16xi1>, tensor<8x16xf32>, tensor<f32>) -> tensor<8x16xf32>
  %s1 = nn.matmul %t, %k : (tensor<8x8x!q>, tensor<8x32x!q>) -> tensor<8x32xf32>
  %m1 = nn.reduce_max %s1 axes [1] keep_dims : (tensor<8x32xf32>) -> tensor<8x1xf32>
  %d1 = nn.sub %s1, %m1 : (tensor<8x32xf32>, tensor<8x1xf32>) -> tensor<8x32xf32>
  %w1 = octet.quantize %d1 : (tensor<8x32xf32>) -> tensor<8x32x!e>
  %p1 = nn.matmul %w1, %v : (tensor<8x32x!e>, tensor<32x16x!q>) -> tensor<8x16xf32>
  %c1 = nn.reduce_sum %w1 axes [1] keep_dims : (tensor<8x32x!e>) -> tensor<8x1xf32>
  %y1 = nn.div %p1, %c1 : (tensor<8x16xf32>, tensor<8x1xf32>) -> tensor<8x16xf32>
  %n1 = nn.compare equal %y1, %y1 : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xi1>
  %z1 = nn.select %n1, %y1, %zero : (tensor<8x16xi1>, tensor<8x16xf32>, tensor<f32>) -> tensor<8x16xf32>
  return %z, %z1, %y1 : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>
}
