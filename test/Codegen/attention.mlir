// RUN: octet-opt %s --octet-fuse-attention --octet-emit-program=levels=avx512vnni,avx2,reference | FileCheck %s --implicit-check-not=0x7F800000

!q = !quant.uniform<u8:f32, 0.5:3>
!e = !quant.uniform<u8:f32, 0.25>

// Two panels of 32 and one of 16 columns in each of two matrices; ten rows at a time. The scalar level computes one row after
// the other, from the operands as they are. No exponential of a difference to the largest number is infinite.
// CHECK-LABEL: module @avx512vnni
// CHECK: kernel.step @pack_columns{{.*}} range 4
// CHECK: kernel.step @pack_columns{{.*}} range 2
// CHECK: kernel.step @attention{{.*}} range 4
// CHECK: func.func private @attention
// CHECK-DAG: memref.alloca() {{.*}} : memref<320xf32>
// CHECK-DAG: memref.alloca() {{.*}} : memref<640xi8>
// CHECK: vector.reduction <add>
// CHECK-COUNT-20: kernel.dot4
// CHECK: kernel.scale
// CHECK: kernel.dot4
// CHECK-LABEL: module @avx2
// CHECK: kernel.step @pack_columns
// CHECK: kernel.dot2
// CHECK-LABEL: module @reference
// CHECK-NOT: pack_columns
// CHECK: kernel.step @attention{{.*}} range 40
// CHECK: memref.alloca() {{.*}} : memref<32xf32>
// CHECK-NOT: vector<
func.func @main(%x: tensor<2x8x20x!q> {nn.name = "x"}, %k: tensor<2x8x32x!q> {nn.name = "k"}, %v: tensor<2x32x16x!q> {nn.name = "v"}) -> (tensor<2x20x16x!q> {nn.name = "y"}) {
  %t = nn.transpose %x permutation [0, 2, 1] : (tensor<2x8x20x!q>) -> tensor<2x20x8x!q>
  %s = nn.matmul %t, %k : (tensor<2x20x8x!q>, tensor<2x8x32x!q>) -> tensor<2x20x32xf32>
  %m = nn.reduce_max %s axes [2] keep_dims : (tensor<2x20x32xf32>) -> tensor<2x20x1xf32>
  %d = nn.sub %s, %m : (tensor<2x20x32xf32>, tensor<2x20x1xf32>) -> tensor<2x20x32xf32>
  %f = nn.constant dense<0.5> : tensor<1xf32>
  %g = nn.mul %d, %f : (tensor<2x20x32xf32>, tensor<1xf32>) -> tensor<2x20x32xf32>
  %e = nn.exp %g : (tensor<2x20x32xf32>) -> tensor<2x20x32xf32>
  %w = octet.quantize %e : (tensor<2x20x32xf32>) -> tensor<2x20x32x!e>
  %p = nn.matmul %w, %v : (tensor<2x20x32x!e>, tensor<2x32x16x!q>) -> tensor<2x20x16xf32>
  %c = nn.reduce_sum %w axes [2] keep_dims : (tensor<2x20x32x!e>) -> tensor<2x20x1xf32>
  %y = nn.div %p, %c : (tensor<2x20x16xf32>, tensor<2x20x1xf32>) -> tensor<2x20x16xf32>
  %z = octet.quantize %y : (tensor<2x20x16xf32>) -> tensor<2x20x16x!q>
  return %z : tensor<2x20x16x!q>
}
