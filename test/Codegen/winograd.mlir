// RUN: octet-opt %s --split-input-file --octet-assign-layout --octet-emit-program=levels=avx512vnni,avx2 | FileCheck %s

!x = tensor<1x32x7x9x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<32x32x3x3x!quant.uniform<i8:f32, 0.5>>

// Where i16 are multiplied, tiles of 2 x 2 outputs come of sixteen products: input is transformed into memory, sums from there.
// CHECK-LABEL: module @avx512vnni
// CHECK-NOT: @write_winograd
// CHECK-LABEL: module @avx2
// CHECK: kernel.step @write_winograd_3x3_4x4 [#kernel.arg<weights {{[0-9]+}}>, #kernel.arg<prepared [[TRANSFORMED:[0-9]+]]>] {{.*}} range 64
// CHECK: kernel.step @dense{{[^,]*}}, #kernel.arg<prepared [[TRANSFORMED]]>
// CHECK: func.func private @dense
// CHECK-DAG: %[[INPUT:.*]] = memref.alloca() {{.*}} : memref<16384xi8>
// CHECK-DAG: %[[SUMS:.*]] = memref.alloca() {{.*}} : memref<4096xi32>
// CHECK-COUNT-16: vector.store %{{.*}}, %[[INPUT]]
// CHECK-COUNT-4: kernel.dot2
// CHECK-COUNT-4: vector.store %{{.*}}, %[[SUMS]]
// CHECK-COUNT-16: vector.load %[[SUMS]]
// CHECK-COUNT-4: arith.shrsi
func.func @main(%x: !x {nn.name = "x"}) -> (!x {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<32x32x3x3xi8> -> !w
  %0 = nn.conv %x, %w pads [1, 1, 1, 1] : (!x, !w) -> !x
  return %0 : !x
}

// -----

// Strides of two: 25 products of an input of 5 x 5. One axis of three taps: four or, with a stride, five of six, which is too little.
!x = tensor<1x32x16x16x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<32x32x3x3x!quant.uniform<i8:f32, 0.5>>
!v = tensor<32x32x1x3x!quant.uniform<i8:f32, 0.5>>
!y = tensor<1x32x8x8x!quant.uniform<u8:f32, 0.5:128>>
!z = tensor<1x32x16x8x!quant.uniform<u8:f32, 0.5:128>>

// CHECK-LABEL: module @avx2
// CHECK-NOT: @write_winograd
// CHECK: kernel.step @write_winograd_3x3_5x5
// CHECK-NOT: @write_winograd
// CHECK: kernel.step @write_winograd_1x3_1x4
// CHECK-NOT: kernel.step @write_winograd
// CHECK: func.func private
func.func @main(%x: !x {nn.name = "x"}) -> (!y {nn.name = "y"}, !x {nn.name = "u"}, !z {nn.name = "z"}) {
  %w = nn.constant dense<1> : tensor<32x32x3x3xi8> -> !w
  %v = nn.constant dense<1> : tensor<32x32x1x3xi8> -> !v
  %0 = nn.conv %x, %w strides [2, 2] pads [1, 1, 1, 1] : (!x, !w) -> !y
  %1 = nn.conv %x, %v pads [0, 1, 0, 1] : (!x, !v) -> !x
  %2 = nn.conv %x, %v strides [1, 2] pads [0, 1, 0, 1] : (!x, !v) -> !z
  return %0, %1, %2 : !y, !x, !z
}

// -----

// Too many channels would not lie on the stack.
!y = tensor<1x32x8x8x!quant.uniform<u8:f32, 0.5:128>>
!u = tensor<32x1024x3x3x!quant.uniform<i8:f32, 0.5>>
!z = tensor<1x1024x8x8x!quant.uniform<u8:f32, 0.5:128>>

// CHECK-LABEL: module @avx2
// CHECK-NOT: @write_winograd
func.func @main(%z: !z {nn.name = "z"}) -> (!y {nn.name = "y"}) {
  %u = nn.constant dense<1> : tensor<32x1024x3x3xi8> -> !u
  %0 = nn.conv %z, %u pads [1, 1, 1, 1] : (!z, !u) -> !y
  return %0 : !y
}
