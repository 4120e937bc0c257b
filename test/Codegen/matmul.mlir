// RUN: octet-opt %s --octet-emit-program=levels=avx512vnni,reference --split-input-file | FileCheck %s

// Two matrices of 30 rows in tiles of rows and vectors: the range counts rows of tiles. The scalar level computes elements.
// CHECK-LABEL: module @avx512vnni
// CHECK: kernel.step @matmul{{.*}} range 10
// CHECK: func.func private @matmul
// CHECK-COUNT-24: math.fma {{.*}} : vector<16xf32>
// CHECK-NOT: math.fma
// CHECK-LABEL: module @reference
// CHECK: kernel.step @matmul{{.*}} range 60
// CHECK: math.fma {{.*}} : f32
// CHECK-NOT: math.fma
func.func @main(%x: tensor<2x30x8xf32> {nn.name = "x"}, %y: tensor<8x64xf32> {nn.name = "y"}) -> (tensor<2x30x64xf32> {nn.name = "z"}) {
  %0 = nn.matmul %x, %y : (tensor<2x30x8xf32>, tensor<8x64xf32>) -> tensor<2x30x64xf32>
  return %0 : tensor<2x30x64xf32>
}

// -----

// Columns that do not lie side by side: element by element.
!y = tensor<1x4x8x32xf32, #nn.layout<nhwc, channels = 4, pads = [0, 0, 0, 0]>>
// CHECK-LABEL: module @avx512vnni
// CHECK: func.func private @matmul
// CHECK: math.fma {{.*}} : f32
// CHECK-NOT: math.fma
// CHECK-LABEL: module @reference
func.func @main(%x: tensor<1x4x5x8xf32> {nn.name = "x"}, %y: tensor<1x4x8x32xf32> {nn.name = "y"}) -> (tensor<1x4x5x32xf32> {nn.name = "z"}) {
  %0 = nn.relayout %y : (tensor<1x4x8x32xf32>) -> !y
  %1 = nn.matmul %x, %0 : (tensor<1x4x5x8xf32>, !y) -> tensor<1x4x5x32xf32>
  return %1 : tensor<1x4x5x32xf32>
}
