// RUN: octet-opt %s --split-input-file --octet-assign-layout --octet-emit-program=levels=avx512vnni,avx2 | FileCheck %s

// Levels that multiply words read the weights of several pixels as such; a model makes them when it is made, from panels that
// lie in the library (32 outputs) or that it has made itself (20), if their products do not fit in i16. A product of one pixel reads each weight once, as bytes.
!x = tensor<1x32x4x4x!quant.uniform<u8:f32, 0.5:128>>
!w1 = tensor<32x32x1x1x!quant.uniform<i8:f32, 0.5>>
!w2 = tensor<20x32x1x1x!quant.uniform<i8:f32, 0.5>>
!y = tensor<1x20x4x4x!quant.uniform<u8:f32, 0.5:128>>
!z = tensor<1x32x1x1x!quant.uniform<u8:f32, 0.5:128>>

// CHECK-LABEL: module @avx512vnni
// CHECK-NOT: @write_i16
// CHECK-NOT: kernel.dot2
// CHECK-LABEL: module @avx2
// CHECK: kernel.step @write_panels {{.*}} #kernel.arg<prepared [[WRITTEN:[0-9]+]]>]
// CHECK: kernel.step @write_i16 [#kernel.arg<weights [[PANELS:[0-9]+]]>, #kernel.arg<prepared [[I161:[0-9]+]]>] range 16
// CHECK: kernel.step @write_i16 [#kernel.arg<prepared [[WRITTEN]]>, #kernel.arg<prepared [[I162:[0-9]+]]>] range 16
// CHECK: } {
// CHECK: kernel.step @dense{{[^,]*}}, #kernel.arg<prepared [[I161]]>
// CHECK-NEXT: kernel.step @dense{{[^,]*}}, #kernel.arg<prepared [[I162]]>
// CHECK-NEXT: kernel.step @{{.*}}pool
// CHECK-NEXT: kernel.step @gemv{{[^,]*}}, #kernel.arg<weights [[PANELS]]>
// CHECK: func.func private @dense
// CHECK-COUNT-2: kernel.dot2
// CHECK: func.func private @gemv
// CHECK-NOT: kernel.dot2
// CHECK: kernel.dot4
func.func @main(%x: !x {nn.name = "x"}) -> (!y {nn.name = "y"}, !z {nn.name = "z"}) {
  %w1 = nn.constant dense<65> : tensor<32x32x1x1xi8> -> !w1
  %w2 = nn.constant dense<66> : tensor<20x32x1x1xi8> -> !w2
  %0 = nn.conv %x, %w1 : (!x, !w1) -> !x
  %1 = nn.conv %0, %w2 : (!x, !w2) -> !y
  %2 = nn.avg_pool %0 kernel [4, 4] : (!x) -> !z
  %3 = nn.conv %2, %w1 : (!z, !w1) -> !z
  return %1, %3 : !y, !z
}

// -----

// Sixteen pixels of a layer with 64 KB of weights wait for them: bytes.
!x = tensor<1x1024x4x4x!quant.uniform<u8:f32, 0.5:128>>
!w = tensor<64x1024x1x1x!quant.uniform<i8:f32, 0.5>>
!y = tensor<1x64x4x4x!quant.uniform<u8:f32, 0.5:128>>

// CHECK-LABEL: module @avx2
// CHECK-NOT: @write_i16
// CHECK: func.func private @dense
// CHECK-NOT: kernel.dot2
// CHECK: kernel.dot4
func.func @main(%x: !x {nn.name = "x"}) -> (!y {nn.name = "y"}) {
  %w = nn.constant dense<1> : tensor<64x1024x1x1xi8> -> !w
  %0 = nn.conv %x, %w : (!x, !w) -> !y
  return %0 : !y
}
