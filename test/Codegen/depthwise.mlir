// RUN: octet-opt %s --split-input-file --octet-assign-layout --octet-emit-program=levels=avx512vnni,sse2 | FileCheck %s

// Weights of a depthwise convolution lie in the library once and are written in each level's order when a model is made:
// two output rows of 64 channels at a time where registers allow, one row of 16 elsewhere, and as
// words where these are multiplied. Layers with the same weights share them.
!dx = tensor<1x16x8x8x!quant.uniform<u8:f32, 0.5:128>>
!dw = tensor<16x1x3x3x!quant.uniform<i8:f32, 0.5>>
!db = tensor<16x!quant.uniform<i32:f32, 0.25>>

// CHECK-LABEL: module @avx512vnni
// CHECK: kernel.program @main level "avx512vnni" {{.*}} prepared 1536
// CHECK: kernel.depthwise_filter from [[$SOURCE:[0-9]+]] to 0 channels 16 blocks 1 parts 1 vectors 4 strip 2 stride 1 kernel 3 3
// CHECK: kernel.step @depthwise{{.*}}#kernel.arg<prepared 0>
// CHECK-NOT: kernel.depthwise_filter
// CHECK: kernel.step @depthwise{{.*}}#kernel.arg<prepared 0>
// CHECK-LABEL: module @sse2
// CHECK: kernel.program @main level "sse2" {{.*}} prepared 2304
// CHECK: kernel.depthwise_filter from [[$SOURCE]] to 0 channels 16 blocks 1 parts 4 vectors 1 strip 1 stride 1 kernel 3 3
// CHECK-NEXT: kernel.widen from <prepared 0> to 768 groups 12
// CHECK-NEXT: kernel.step @depthwise{{.*}}#kernel.arg<prepared 768>
// CHECK-NEXT: kernel.step @depthwise{{.*}}#kernel.arg<prepared 768>
func.func @main(%x: !dx {nn.name = "x"}) -> (!dx {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<16x1x3x3xi8> -> !dw
  %b = nn.constant dense<7> : tensor<16xi32> -> !db
  %0 = nn.conv %x, %w, %b pads [1, 1, 1, 1] groups 16 : (!dx, !dw, !db) -> !dx loc("depthwise1")
  %1 = nn.conv %0, %w, %b pads [1, 1, 1, 1] groups 16 : (!dx, !dw, !db) -> !dx loc("depthwise2")
  return %1 : !dx
}

// -----

// A kernel of one row is walked over as one of one column: dot products are of four rows. Threads share the columns.
!tx = tensor<1x64x1x32x!quant.uniform<u8:f32, 0.5:128>>
!tw = tensor<64x1x1x9x!quant.uniform<i8:f32, 0.5>>
// CHECK-LABEL: module @avx512vnni
// CHECK: kernel.depthwise_filter from {{[0-9]+}} to 0 channels 64 blocks 1 parts 1 vectors 4 strip 2 stride 1 kernel 9 1
// CHECK: kernel.step @depthwise{{.*}} range 16
func.func @main(%x: !tx {nn.name = "x"}) -> (!tx {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<64x1x1x9xi8> -> !tw
  %0 = nn.conv %x, %w pads [0, 4, 0, 4] groups 64 : (!tx, !tw) -> !tx
  return %0 : !tx
}
