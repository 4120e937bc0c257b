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

// -----

!a = !quant.uniform<u8:f32, 0.5:3>
!b = !quant.uniform<u8:f32, 0.25:130>

// Bytes of the arena: a unit packs columns, sums them, and multiplies rows by them. What the caller's memory holds is not read
// beyond its end: element by element.
// CHECK-LABEL: module @avx512vnni
// CHECK: kernel.step @matmul{{.*}} range 2
// CHECK: kernel.step @matmul{{.*}} range 60
// CHECK: func.func private @matmul
// CHECK: memref.alloca() {{.*}} : memref<{{[0-9]+}}xi8>
// CHECK: vector.shuffle
// CHECK: kernel.dot4
// CHECK: vector.store
// CHECK: vector.reduction <add>
// CHECK: kernel.dot4
// CHECK-LABEL: module @reference
// CHECK: kernel.step @matmul{{.*}} range 60
// CHECK-NOT: kernel.dot4
func.func @main(%x: tensor<2x5x8x!a> {nn.name = "x"}, %y: tensor<2x8x6x!b> {nn.name = "y"}, %w: tensor<2x8x64x!b> {nn.name = "w"}) -> (tensor<2x5x64xf32> {nn.name = "z"}, tensor<2x5x6x!a> {nn.name = "u"}) {
  %t = nn.transpose %x permutation [0, 2, 1] : (tensor<2x5x8x!a>) -> tensor<2x8x5x!a>
  %s = nn.transpose %t permutation [0, 2, 1] : (tensor<2x8x5x!a>) -> tensor<2x5x8x!a>
  %0 = nn.matmul %s, %w : (tensor<2x5x8x!a>, tensor<2x8x64x!b>) -> tensor<2x5x64xf32>
  %1 = nn.matmul %x, %y : (tensor<2x5x8x!a>, tensor<2x8x6x!b>) -> tensor<2x5x6x!a>
  return %0, %1 : tensor<2x5x64xf32>, tensor<2x5x6x!a>
}
