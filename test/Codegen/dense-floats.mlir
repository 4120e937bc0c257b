// RUN: octet-opt %s --split-input-file --octet-assign-layout --octet-emit-program=levels=avx2,avxvnni | FileCheck %s

// Six pixels and one panel, or two and two: more sums would not stay in sixteen registers beside the weights.
// CHECK-LABEL: module @avx2
// CHECK: func.func private @dense_f32
// CHECK: scf.for {{.*}} iter_args
// CHECK-COUNT-6: math.fma
// CHECK-NOT: math.fma
// CHECK-LABEL: module @avxvnni
// CHECK: func.func private @dense_f32
// CHECK: scf.for {{.*}} iter_args
// CHECK-COUNT-6: math.fma
// CHECK-NOT: math.fma
func.func @main(%x: tensor<24x64xf32> {nn.name = "x"}) -> (tensor<24x32xf32> {nn.name = "y"}) {
  %w = nn.constant dense<0.5> : tensor<32x64xf32> -> tensor<32x64xf32>
  %0 = nn.linear %x, %w : (tensor<24x64xf32>, tensor<32x64xf32>) -> tensor<24x32xf32>
  return %0 : tensor<24x32xf32>
}

// -----

// CHECK-LABEL: module @avx2
// CHECK: func.func private @dense_f32
// CHECK: scf.for {{.*}} iter_args
// CHECK-COUNT-4: math.fma
// CHECK-NOT: math.fma
// CHECK-LABEL: module @avxvnni
func.func @main(%x: tensor<2x64xf32> {nn.name = "x"}) -> (tensor<2x32xf32> {nn.name = "y"}) {
  %w = nn.constant dense<0.5> : tensor<32x64xf32> -> tensor<32x64xf32>
  %0 = nn.linear %x, %w : (tensor<2x64xf32>, tensor<32x64xf32>) -> tensor<2x32xf32>
  return %0 : tensor<2x32xf32>
}
