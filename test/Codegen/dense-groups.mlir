// RUN: octet-opt %s --split-input-file --octet-assign-layout --octet-emit-program=levels=avx2 | FileCheck %s

// Of several images each row of each is a unit of the range.
!x = tensor<3x16x8x8x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<16x16x5x5x!quant.uniform<i8:f32, 0.5>>
// CHECK-LABEL: module @avx2
// CHECK: kernel.step @dense{{.*}} range 24
// CHECK: func.func private @dense
// CHECK: arith.divui
func.func @main(%x: !x {nn.name = "x"}) -> (!x {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<16x16x5x5xi8> -> !w
  %0 = nn.conv %x, %w pads [2, 2, 2, 2] : (!x, !w) -> !x
  return %0 : !x
}

// -----

// Pixels of a 1x1 convolution are counted through all images, as the rows of a linear layer through all its dimensions.
!x = tensor<3x16x8x8x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<16x16x1x1x!quant.uniform<i8:f32, 0.5>>
!r = tensor<2x5x16x!quant.uniform<u8:f32, 0.5:128>>
!v = tensor<16x16x!quant.uniform<i8:f32, 0.5>>
// CHECK-LABEL: module @avx2
// CHECK: kernel.step @dense{{.*}} range 48
// CHECK: kernel.step @dense{{.*}} range 3
func.func @main(%x: !x {nn.name = "x"}, %r: !r {nn.name = "r"}) -> (!x {nn.name = "y"}, !r {nn.name = "s"}) {
  %w = nn.constant dense<1> : tensor<16x16x1x1xi8> -> !w
  %v = nn.constant dense<1> : tensor<16x16xi8> -> !v
  %0 = nn.conv %x, %w : (!x, !w) -> !x
  %1 = nn.linear %r, %v : (!r, !v) -> !r
  return %0, %1 : !x, !r
}

// -----

// A linear layer reads a dense copy of an image's NHWC buffer, whose rows are in another order, and what it reads and writes
// otherwise is dense.
!x = tensor<1x16x8x8x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<16x16x1x1x!quant.uniform<i8:f32, 0.5>>
!v = tensor<8x8x!quant.uniform<i8:f32, 0.5>>
// CHECK-LABEL: module @avx2
// CHECK: kernel.step @dense
// CHECK: kernel.step @{{copy|transpose}}
// CHECK: kernel.step @dense
// CHECK: kernel.step @dense
// CHECK-NOT: kernel.step @{{copy|transpose}}
func.func @main(%x: !x {nn.name = "x"}) -> (!x {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<16x16x1x1xi8> -> !w
  %v = nn.constant dense<1> : tensor<8x8xi8> -> !v
  %0 = nn.conv %x, %w : (!x, !w) -> !x
  %1 = nn.linear %0, %v : (!x, !v) -> !x
  %2 = nn.linear %1, %v : (!x, !v) -> !x
  return %2 : !x
}

// -----

// Two groups whose outputs fill panels: two products. Eight groups of four outputs: of four groups each, with zeros between.
!x = tensor<1x32x8x8x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<32x16x1x1x!quant.uniform<i8:f32, 0.5>>
!v = tensor<32x4x1x1x!quant.uniform<i8:f32, 0.5>>
// CHECK-LABEL: module @avx2
// CHECK: kernel.step @write_i16 [#kernel.arg<weights {{[0-9]+}}>, {{.*}}] range 8
// CHECK: kernel.step @write_i16 [#kernel.arg<weights {{[0-9]+}}>, {{.*}}] range 8
// CHECK: kernel.step @dense
// CHECK-NEXT: kernel.step @dense
func.func @main(%x: !x {nn.name = "x"}) -> (!x {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<32x16x1x1xi8> -> !w
  %v = nn.constant dense<1> : tensor<32x4x1x1xi8> -> !v
  %0 = nn.conv %x, %w groups 2 : (!x, !w) -> !x
  %1 = nn.conv %0, %v groups 8 : (!x, !v) -> !x
  return %1 : !x
}

// -----

// Of floats each group is a product: zeros times infinity would be NaN. Groups that fill no panels have biases in natural
// order, among the weights.
!x = tensor<1x32x8x8xf32>
!w = tensor<32x16x1x1xf32>
!v = tensor<32x4x1x1xf32>
// CHECK-LABEL: module @avx2
// CHECK: kernel.step @dense_f32{{.*}} [#kernel.arg<arena 0>, #kernel.arg<weights {{[0-9]+}}>, #kernel.arg<prepared 0>,
// CHECK: kernel.step @dense_f32{{.*}} [#kernel.arg<arena {{[0-9]+}}>, #kernel.arg<weights {{[0-9]+}}>, #kernel.arg<weights {{[0-9]+}}>,
func.func @main(%x: !x {nn.name = "x"}) -> (!x {nn.name = "y"}) {
  %w = nn.constant dense<1.0> : !w -> !w
  %v = nn.constant dense<1.0> : !v -> !v
  %0 = nn.conv %x, %w groups 2 : (!x, !w) -> !x
  %1 = nn.conv %0, %v groups 8 : (!x, !v) -> !x
  return %1 : !x
}

// -----

// A sequence, as an image of one column, is walked over as one row: a tile is of several of its elements.
// CHECK-LABEL: module @avx2
// CHECK: kernel.step @dense_f32{{.*}} range 11
func.func @main(%x: tensor<1x16x66x1xf32> {nn.name = "x"}) -> (tensor<1x32x64x1xf32> {nn.name = "y"}) {
  %w = nn.constant dense<0.5> : tensor<32x16x3x1xf32>
  %y = nn.conv %x, %w : (tensor<1x16x66x1xf32>, tensor<32x16x3x1xf32>) -> tensor<1x32x64x1xf32>
  return %y : tensor<1x32x64x1xf32>
}
